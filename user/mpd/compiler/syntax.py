"""Source text to tree: Lark parses what it is given here, with comments away and newlines where they count."""

import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lark import Lark, Token, Transformer, v_args
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken, VisitError

from user.mpd.compiler import tree
from user.mpd.compiler.tree import Name, Position

LARGEST = 2**31 - 1
DEEPEST = 100       # brackets within brackets
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "\\": "\\", '"': '"', "'": "'"}
# What the language has and the compiler has not.
NOT_YET = {"real": "type real", "char": "type char", "rec": "records", "union": "unions", "enum": "enumerations",
           "ptr": "pointers", "file": "type file", "cap": "capabilities", "vm": "virtual machines", "type": "types",
           "optype": "operation types", "global": "globals", "extend": "extend", "separate": "bodies apart",
           "in": "input statements", "ni": "input statements", "receive": "receive", "reply": "reply",
           "forward": "forward", "destroy": "destroy", "stop": "stop", "do": "do loops", "null": "null",
           "noop": "noop", "any": "type any", "new": "new"}
COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|#[^\n]*|/\*|"')
BRACKET = re.compile(r"/\*|\*/")
ENDS = {"NAME", "NUMBER", "STRING", "TRUTH", "INCREMENT", "RPAR", "RSQB", "RBRACE", "SKIP", "EXIT", "NEXT", "RETURN",
        "OC", "END"}
BEGINS = {"NAME", "TYPE", "RESOURCE", "BODY", "IMPORT", "OP", "EXTERNAL", "PROCEDURE", "PROC", "PROCESS", "FINAL",
          "SEM", "CONST", "SKIP", "CALL", "SEND", "CREATE", "P", "V", "IF", "WHILE", "FOR", "CO", "EXIT", "NEXT",
          "RETURN", "LBRACE"}
OPEN, CLOSE = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}


@dataclass(frozen=True)
class Mistake:
    at: Position
    what: str


class CompileError(Exception):
    """What is wrong with a program, in the order of its text."""

    def __init__(self, mistakes: list[Mistake]):
        self.mistakes = sorted(set(mistakes), key=lambda one: (one.at, one.what))
        super().__init__(self.of("mpd"))

    def of(self, file: str) -> str:
        """The messages, a line each: file:line:column: what."""
        return "\n".join(f"{file}:{one.at.line}:{one.at.column}: {one.what}" for one in self.mistakes)


def _fail(at: Position, what: str) -> CompileError:
    return CompileError([Mistake(at, what)])


def _position(text: str, offset: int) -> Position:
    return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def without_comments(text: str) -> str:
    """Comments become blanks, so that all the rest stays where it is. Bracketed ones nest and may hold newlines."""
    parts, at = [], 0
    while found := COMMENT.search(text, at):
        begin, end = found.span()
        if found[0] == '"':
            raise _fail(_position(text, begin), "a string has no end in its line")
        if found[0] == "/*":
            depth = 1
            while depth:
                bracket = BRACKET.search(text, end)
                if not bracket:
                    raise _fail(_position(text, begin), "a comment has no end")
                depth += 1 if bracket[0] == "/*" else -1
                end = bracket.end()
        parts.append(text[at:begin])
        comment = found[0][0] != '"'
        parts.append(re.sub(r"[^\n]", " ", text[begin:end]) if comment else text[begin:end])
        at = end
    return "".join(parts) + text[at:]


class Separators:
    """Drops the newlines that separate nothing, and puts a separator behind a `}` that another statement follows."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        tokens = list(stream)
        open_ones: list[Token] = []
        last: Token | None = None
        newline: Token | None = None
        for number, token in enumerate(tokens):
            at = Position(token.line or 0, token.column or 0)
            if token.type == "_NL":
                newline = newline or token
                continue
            if token.type == "NAME" and token in NOT_YET:
                raise _fail(at, f"'{token}': {NOT_YET[token]} cannot be compiled yet")
            if last is not None and token.type in BEGINS:
                if last.type == "RBRACE" or newline and last.type in ENDS:
                    yield Token.new_borrow_pos("_NL", "\n", token)
            newline = None
            if token.type in OPEN:
                open_ones.append(token)
                if len(open_ones) > DEEPEST:
                    raise _fail(at, f"more than {DEEPEST} brackets within each other")
            elif token.type in CLOSE and open_ones:
                open_ones.pop()
            last = token
            behind = next((one for one in tokens[number + 1:number + 20] if one.type != "_NL"), None)
            if token.type == "SEMICOLON" and behind is not None and behind.type == "ELSE":
                continue
            yield token


def _name(token: Token) -> Name:
    return Name(str(token), Position(token.line or 0, token.column or 0))


def _string(token: Token) -> str:
    def one(found: re.Match) -> str:
        if found[1] not in ESCAPES:
            raise _fail(Position(token.line or 0, (token.column or 0) + 1 + found.start()),
                        f"'\\{found[1]}' stands for no character")
        return ESCAPES[found[1]]
    return re.sub(r"\\(.)", one, token[1:-1])


def _text(child: Any) -> str | None:
    return str(child) if child is not None else None


@v_args(meta=True)
class Builder(Transformer):
    """Calls of Lark, one for each rule of the grammar."""

    @staticmethod
    def at(meta) -> Position:
        return Position(getattr(meta, "line", 1), getattr(meta, "column", 1))

    def start(self, meta, resources):
        return resources

    def simple_resource(self, meta, children):
        names = [_name(child) for child in children if isinstance(child, Token)]
        parameters = next((child.of for child in children if isinstance(child, _Parameters)), [])
        return tree.Resource(names[0], parameters, children[-1 - (len(names) > 1)], names[1:])

    def general_resource(self, meta, children):
        names = [_name(child) for child in children if isinstance(child, Token)]
        parameters = next((child.of for child in children if isinstance(child, _Parameters)), [])
        spec, body = (child for child in children if isinstance(child, list))
        return tree.Resource(names[0], parameters, [*spec, *body], names[1:])

    def items(self, meta, children):
        return children

    body = items

    def import_(self, meta, names):
        return tree.Import(self.at(meta), [_name(one) for one in names])

    def _operation(self, meta, children, **more):
        name, parameters, *rest = children
        result = next((one for one in rest if isinstance(one, tree.Parameter)), None)
        body = next((one for one in rest if isinstance(one, tree.Block)), None)
        return tree.Operation(self.at(meta), _name(name), parameters.of, result, body=body, **more)

    def op(self, meta, children):
        return self._operation(meta, children)

    procedure = op

    def external(self, meta, children):
        return self._operation(meta, children, external=True)

    def proc(self, meta, children):
        name, names, *result, body = children
        return tree.Proc(self.at(meta), _name(name), names, _name(result[0]) if result else None, body)

    def process(self, meta, children):
        name, *quantifiers, body = children
        return tree.Operation(self.at(meta), _name(name), [], None, body=body, is_process=True,
                              quantifiers=quantifiers[0] if quantifiers else [])

    def final(self, meta, children):
        return tree.Final(self.at(meta), children[0])

    def sems(self, meta, children):
        return tree.Several(self.at(meta), children)

    def sem(self, meta, children):
        return tree.Sem(self.at(meta), _name(children[0]), children[1] if children[1:] else None)

    def names(self, meta, names):
        return [_name(one) for one in names]

    def parameters(self, meta, children):
        return _Parameters(children)

    def parameter(self, meta, children):
        mode = next((str(one) for one in children if one.type == "MODE"), "val")
        if mode in ("var", "res"):
            raise _fail(self.at(meta), f"'{mode}': parameters that are copied back cannot be compiled yet")
        of = next((str(one) for one in children if one.type == "TYPE"), None)
        return tree.Parameter(_name(children[-1]), mode, of)

    def result(self, meta, children):
        return tree.Parameter(_name(children[1]), "res", str(children[0]))

    def variables(self, meta, children):
        of, *variables = children
        return tree.Several(self.at(meta), [
            tree.Variable(name.at, name, str(of), value, False) for name, value in variables])

    def variable(self, meta, children):
        return _name(children[0]), children[1] if children[1:] else None

    constant = variable

    def constants(self, meta, children):
        of = str(children.pop(0)) if isinstance(children[0], Token) else None
        return tree.Several(self.at(meta), [tree.Variable(name.at, name, of, value, True) for name, value in children])

    def block(self, meta, children):
        return tree.Block(self.at(meta), children[0])

    def skip(self, meta, children):
        return tree.Skip(self.at(meta))

    def assign(self, meta, children):
        return tree.Assign(self.at(meta), _name(children[0]), str(children[1])[:-1] if children[2:] else "",
                           children[-1])

    def increment(self, meta, children):
        at = self.at(meta)
        return tree.Assign(at, _name(children[0]), str(children[1])[0], tree.Literal(at, 1))

    def swap(self, meta, children):
        return tree.Swap(self.at(meta), (_name(children[0]), _name(children[1])))

    def call_statement(self, meta, children):
        return tree.Invoke(self.at(meta), "call", self.call(meta, children))

    def send_statement(self, meta, children):
        return tree.Invoke(self.at(meta), "send", self.call(meta, children))

    def create(self, meta, children):
        return tree.Create(self.at(meta), _name(children[0]), children[1])

    def p(self, meta, children):
        return tree.Semaphore(self.at(meta), "P", _name(children[0]))

    def v(self, meta, children):
        return tree.Semaphore(self.at(meta), "V", _name(children[0]))

    def if_(self, meta, children):
        return tree.If(self.at(meta), children[0], children[1], children[2] if children[2:] else None)

    def while_(self, meta, children):
        return tree.While(self.at(meta), *children)

    def for_(self, meta, children):
        return tree.For(self.at(meta), *children)

    def co(self, meta, arms):
        return tree.Co(self.at(meta), arms)

    def arm(self, meta, children):
        *quantifiers, name, arguments = children
        return tree.Arm(quantifiers[0] if quantifiers else [], None,
                        tree.Call(_name(name).at, _name(name), arguments))

    def arm_with_result(self, meta, children):
        *quantifiers, to, name, arguments = children
        return tree.Arm(quantifiers[0] if quantifiers else [], _name(to),
                        tree.Call(_name(name).at, _name(name), arguments))

    def exit(self, meta, children):
        return tree.Jump(self.at(meta), "exit")

    def next(self, meta, children):
        return tree.Jump(self.at(meta), "next")

    def return_(self, meta, children):
        return tree.Jump(self.at(meta), "return")

    def quantifiers(self, meta, children):
        return children

    def quantifier(self, meta, children):
        name, first, direction, last, *rest = children
        such_that = next((one.condition for one in rest if isinstance(one, _SuchThat)), None)
        step = next((one for one in rest if not isinstance(one, _SuchThat)), None)
        return tree.Quantifier(_name(name), first, direction == "downto", last, step, such_that)

    def such_that(self, meta, children):
        return _SuchThat(children[0])

    def arguments(self, meta, children):
        return children

    def binary(self, meta, children):
        return tree.Binary(_name(children[1]).at, str(children[1]), children[0], children[2])

    def unary(self, meta, children):
        return tree.Unary(self.at(meta), str(children[0]), children[1])

    def number(self, meta, children):
        digits = children[0].lstrip("0")
        if len(digits) > 10 or int(digits or "0") > LARGEST:
            raise _fail(self.at(meta), f"the number is more than {LARGEST}")
        return tree.Literal(self.at(meta), int(digits or "0"))

    def string(self, meta, children):
        return tree.Literal(self.at(meta), _string(children[0]))

    def truth(self, meta, children):
        return tree.Literal(self.at(meta), children[0] == "true")

    def name(self, meta, children):
        return tree.Use(self.at(meta), _name(children[0]))

    def call(self, meta, children):
        return tree.Call(_name(children[0]).at, _name(children[0]), children[1])


@dataclass(frozen=True)
class _Parameters:
    of: list[tree.Parameter]


@dataclass(frozen=True)
class _SuchThat:
    condition: tree.Expression


@functools.cache
def _lark() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text()
    return Lark(grammar, parser="lalr", lexer="basic", postlex=Separators(),
                propagate_positions=True, maybe_placeholders=False)


def parse(text: str) -> list[tree.Resource]:
    """The program's resources; CompileError at the first thing that is not MPD."""
    for offset, letter in enumerate(text):
        if letter != "\n" and letter not in "\t\r\f" and not " " <= letter <= "~":
            raise _fail(_position(text, offset), f"the character {ascii(letter)} has no place in a program")
    clean = without_comments(text)
    try:
        return Builder().transform(_lark().parse(clean))
    except VisitError as error:
        raise error.orig_exc from None
    except UnexpectedCharacters as error:
        raise _fail(Position(error.line, error.column), f"unexpected character {error.char!r}") from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise _fail(_position(text, len(text)), "the program ends too early") from None
        if error.token.type == "_NL":
            raise _fail(Position(error.line, error.column), "the line before is not complete") from None
        raise _fail(Position(error.line, error.column), f"unexpected '{error.token}'") from None
    except UnexpectedInput as error:
        raise _fail(Position(1, 1), str(error).splitlines()[0]) from None
