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
ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "a": "\a", "e": "\x1b", "\\": "\\",
           '"': '"', "'": "'", "`": '"'}
ESCAPE = re.compile(r"\\(x[0-9a-fA-F]{1,2}|[0-7]{1,3}|.)")
COMMENT = re.compile(r'"(?:[^"\\\n]|\\[^\n])*"|\'(?:[^\'\\\n]|\\[^\n][0-9a-fA-F]*)\'|#[^\n]*|/\*|"')
STRAY = re.compile(r"[^\t\n\f\r -~\x80-\xff]")     # a file's bytes are its characters
BRACKET = re.compile(r"/\*|\*/")
ENDS = {"NAME", "NUMBER", "REAL", "STRING", "CHAR", "TRUTH", "NULL", "TYPE", "INCR", "DECR", "CIRCUMFLEX", "RPAR",
        "RSQB", "RBRACE", "SKIP", "STOP", "REPLY", "EXIT", "NEXT", "RETURN", "OC", "NI", "END", "SEPARATE", "ANY"}
BEGINS = {"NAME", "TYPE", "RESOURCE", "GLOBAL", "BODY", "IMPORT", "EXTEND", "OP", "EXTERNAL", "PROCEDURE", "PROC",
          "PROCESS", "FINAL", "SEM", "CONST", "TYPEDEF", "OPTYPE", "ENUM", "REC", "UNION", "PTR", "CAP", "SKIP", "STOP",
          "CALL", "SEND", "FORWARD", "REPLY", "RECEIVE", "DESTROY", "CREATE", "P", "V", "IF", "WHILE", "DO", "FOR",
          "CO", "IN", "EXIT", "NEXT", "RETURN", "LBRACE", "INCR", "DECR"}
OPEN, CLOSE = {"LPAR", "LSQB", "LBRACE"}, {"RPAR", "RSQB", "RBRACE"}


@dataclass(frozen=True)
class Mistake:
    at: Position
    what: str


class CompileError(Exception):
    """What is wrong with a program, in the order of its text."""

    def __init__(self, mistakes: list[Mistake]):
        self.mistakes = sorted(set(mistakes), key=lambda one: (one.at.file, one.at, one.what))
        super().__init__(self.of("mpd"))

    def of(self, file: str) -> str:
        """The messages, a line each: file:line:column: what. `file` stands where a mistake does not say its own."""
        return "\n".join(f"{one.at.file or file}:{one.at.line}:{one.at.column}: {one.what}" for one in self.mistakes)


def fail(at: Position, what: str) -> CompileError:
    return CompileError([Mistake(at, what)])


class Source:
    """A text without comments, and where its tokens stand."""

    def __init__(self, text: str, file: str):
        self.file = file
        if stray := STRAY.search(text):
            raise self.stray(text, stray.start())
        self.text, code = self.without_comments(text)
        if not code.isascii():
            raise self.stray(text, next(at for at, letter in enumerate(code) if not letter.isascii()))

    def stray(self, text: str, offset: int) -> CompileError:
        return fail(self.position(text, offset), f"the character {ascii(text[offset])} has no place in a program")

    def position(self, text: str, offset: int) -> Position:
        return Position(text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset), self.file)

    def without_comments(self, text: str) -> tuple[str, str]:
        """Comments become blanks, so that all the rest stays where it is. Bracketed ones nest and may hold newlines.
        And the same without what stands between quotes, where any character may be."""
        parts, code, at = [], [], 0
        while found := COMMENT.search(text, at):
            begin, end = found.span()
            if found[0] == '"':
                raise fail(self.position(text, begin), "a string has no end in its line")
            if found[0] == "/*":
                depth = 1
                while depth:
                    bracket = BRACKET.search(text, end)
                    if not bracket:
                        raise fail(self.position(text, begin), "a comment has no end")
                    depth += 1 if bracket[0] == "/*" else -1
                    end = bracket.end()
            parts.append(text[at:begin])
            comment = found[0][0] not in "\"'"
            blank = re.sub(r"[^\n]", " ", text[begin:end])
            code += [text[at:begin], blank]
            parts.append(blank if comment else text[begin:end])
            at = end
        return "".join(parts) + text[at:], "".join(code) + text[at:]


class Separators:
    """Drops the newlines that separate nothing, and puts a separator behind a `}` that another statement follows."""

    always_accept = ("_NL",)

    def process(self, stream: Iterator[Token]) -> Iterator[Token]:
        tokens = list(stream)
        depth = 0
        last: Token | None = None
        before = ""     # what is before the last one
        newline = False
        for number, token in enumerate(tokens):
            if token.type == "_NL":
                newline = True
                continue
            if last is not None and token.type in BEGINS:
                # The braces of a restriction end a type, whose variable may follow.
                ends = last.type == "RBRACE" and not (token.type == "NAME" and before in ("CALL", "SEND"))
                if ends or newline and last.type in ENDS:
                    yield Token.new_borrow_pos("_NL", "\n", token)
            newline = False
            if token.type in OPEN:
                depth += 1
                if depth > DEEPEST:
                    raise fail(Position(token.line or 0, token.column or 0),
                               f"more than {DEEPEST} brackets within each other")
            elif token.type in CLOSE:
                depth -= 1
            before, last = last.type if last is not None else "", token
            if token.type == "SEMICOLON":
                behind = next((one for one in tokens[number + 1:number + 20] if one.type != "_NL"), None)
                if behind is not None and behind.type == "ELSE":
                    continue
            yield token


@dataclass(frozen=True)
class _Marked:
    """What a rule found, marked with what it is, for the rule around."""

    what: str
    of: Any


def _take(children: list, what: str, otherwise: Any = None) -> Any:
    """The one child that is marked so, taken away."""
    for one in children:
        if isinstance(one, _Marked) and one.what == what:
            children.remove(one)
            return one.of
    return otherwise


def _named(fields: list[tree.Parameter]) -> list[tree.Parameter]:
    """`int a, b`: what looks like a type alone behind a named one is another name of that type."""
    made: list[tree.Parameter] = []
    for one in fields:
        before = made[-1] if made else None
        of: tree.TypeSource = one.of
        dims = one.dims
        if before and before.name and one.name is None and one.mode == "val":
            if isinstance(of, tree.Index) and isinstance(of.of, tree.Use):
                dims = of.bounds
                of = of.of
            if isinstance(of, tree.Use):
                one = tree.Parameter(one.at, before.mode, before.of, of.name, dims)
        made.append(one)
    return made


@v_args(meta=True)
class Builder(Transformer):
    """Calls of Lark, one for each rule of the grammar."""

    def __init__(self, file: str):
        super().__init__()
        self.file = file

    def at(self, meta) -> Position:
        return Position(getattr(meta, "line", 1), getattr(meta, "column", 1), self.file)

    def token(self, token: Token) -> Position:
        return Position(token.line or 1, token.column or 1, self.file)

    def id(self, token: Token) -> Name:
        return Name(str(token), self.token(token))

    def ids(self, children: list) -> list[Name]:
        return [self.id(one) for one in children if isinstance(one, Token) and one.type == "NAME"]

    # Components

    def start(self, meta, components):
        return components

    def _component(self, children, kind, parts, apart=False):
        """`parts`: how many of the lists among the children are what: spec, then body."""
        names = self.ids(children)
        parameters = next((one.of for one in children if isinstance(one, _Marked) and one.what == "parameters"), [])
        lists = [one for one in children if isinstance(one, list)]
        spec = lists[0] if parts != "body" else []
        body = lists[-1] if "body" in parts else None
        return tree.Resource(names[0], kind, parameters, spec, body, apart, names[1:])

    def simple(self, meta, children):
        return self._component(children, "resource", "body")

    def general(self, meta, children):
        return self._component(children, "resource", "spec body")

    def apart(self, meta, children):
        return self._component(children, "resource", "spec", apart=True)

    def abstract(self, meta, children):
        return self._component(children, "resource", "spec")

    def general_global(self, meta, children):
        return self._component(children, "global", "spec body")

    def apart_global(self, meta, children):
        return self._component(children, "global", "spec", apart=True)

    def simple_global(self, meta, children):
        made = self._component(children, "global", "spec")
        made.body = []
        return made

    def body_apart(self, meta, children):
        return self._component(children, "body", "body")

    def items(self, meta, children):
        return children

    def spec(self, meta, children):
        return children[0] if children else []

    def import_(self, meta, children):
        return tree.Import(self.at(meta), self.ids(children))

    def extend(self, meta, children):
        return tree.Extend(self.at(meta), self.ids(children))

    # Operations

    def several(self, meta, children):
        return tree.Several(self.at(meta), children)

    ops = externals = sems = several

    def _signature(self, meta, children):
        parameters = _take(children, "parameters", [])
        result = _take(children, "result")
        restriction = _take(children, "restriction", "")
        return tree.SignatureSource(self.at(meta), parameters, result, restriction)

    def op(self, meta, children):
        signature = self._signature(meta, children)
        return tree.OpDeclaration(self.at(meta), self.id(children[0]), _take(children, "dims", []), signature)

    def op_of_type(self, meta, children):
        dims = _take(children, "dims", [])
        name, *of = self.ids(children)
        made: tree.Expression = tree.Use(of[0].at, of[0])
        if of[1:]:
            made = tree.Field(of[1].at, made, of[1])
        return tree.OpDeclaration(self.at(meta), name, dims, None, made)

    def external(self, meta, children):
        return tree.External(self.at(meta), self.id(children[0]), self._signature(meta, children))

    def how_call(self, meta, children):
        return "call"

    def how_send(self, meta, children):
        return "send"

    def restriction(self, meta, children):
        return _Marked("restriction", children[0] if len(set(children)) == 1 else "")

    def procedure(self, meta, children):
        signature = self._signature(meta, children)
        name, body = children
        names = [one.name or Name("", one.at) for one in signature.parameters]
        result = (signature.result.name or Name("", signature.result.at)) if signature.result else None
        return tree.Proc(self.at(meta), self.id(name), names, result, body, signature)

    def proc(self, meta, children):
        name, names, *result, body = children
        return tree.Proc(self.at(meta), self.id(name), names, self.id(result[0]) if result else None, body)

    def process(self, meta, children):
        quantifiers = _take(children, "quantifiers", [])
        name, body = children
        return tree.Proc(self.at(meta), self.id(name), [], None, body, quantifiers=quantifiers, is_process=True)

    def final(self, meta, children):
        return tree.Final(self.at(meta), children[0])

    def sem(self, meta, children):
        dims = _take(children, "dims", [])
        return tree.Sem(self.token(children[0]), self.id(children[0]), dims, children[1] if children[1:] else None)

    def names(self, meta, children):
        return self.ids(children)

    def parameters(self, meta, children):
        return _Marked("parameters", _named(children))

    def parameter(self, meta, children):
        dims = _take(children, "dims", [])
        mode = "val"
        if isinstance(children[0], Token) and children[0].type == "MODE":
            mode = str(children.pop(0))
        return tree.Parameter(self.at(meta), mode, children[0], self.id(children[1]) if children[1:] else None, dims)

    def result(self, meta, children):
        return _Marked("result", self.parameter(meta, children))

    cap_result = result
    field = parameter

    # Declarations and types

    def typedef(self, meta, children):
        return tree.TypeDeclaration(self.at(meta), self.id(children[0]), children[1])

    def optype(self, meta, children):
        return tree.OpType(self.at(meta), self.id(children[0]), self._signature(meta, children))

    def variable(self, meta, children):
        dims = _take(children, "dims", [])
        return self.id(children[0]), dims, children[1] if children[1:] else None

    constant = variable

    def variables(self, meta, children):
        of, *rest = children
        return tree.Several(self.at(meta), [tree.Variable(name.at, name, of, dims, value, False)
                                            for name, dims, value in rest])

    def constants(self, meta, children):
        of, *rest = children
        return tree.Several(self.at(meta), [tree.Variable(name.at, name, of, dims, value, True)
                                            for name, dims, value in rest])

    def untyped_constants(self, meta, children):
        return tree.Several(self.at(meta), [tree.Variable(name.at, name, None, dims, value, True)
                                            for name, dims, value in children])

    def array_type(self, meta, children):
        return tree.ArrayOf(self.at(meta), _take(children, "dims"), children[0])

    def enum_type(self, meta, children):
        return tree.EnumOf(self.at(meta), children[0])

    def rec_type(self, meta, children):
        return tree.RecordOf(self.at(meta), children[0], False)

    def union_type(self, meta, children):
        return tree.RecordOf(self.at(meta), children[0], True)

    def fields(self, meta, children):
        return _named(children)

    def ptr_type(self, meta, children):
        return tree.PointerTo(self.at(meta), children[0])

    def ptr_any(self, meta, children):
        return tree.PointerTo(self.at(meta), None)

    def cap_type(self, meta, children):
        return tree.CapabilityOf(self.at(meta), children[0])

    def cap_sem(self, meta, children):
        return tree.CapabilityOf(self.at(meta), None)

    def cap_of(self, meta, children):
        return tree.CapabilityOf(self.at(meta), self._signature(meta, children))

    def qualified_name(self, meta, children):
        first, second = self.ids(children)
        return tree.Field(second.at, tree.Use(first.at, first), second)

    def dims(self, meta, children):
        return _Marked("dims", children)

    def one(self, meta, children):
        return tree.Bounds(self.at(meta), "one", None, children[0])

    def from_to(self, meta, children):
        return tree.Bounds(self.at(meta), "range", *children)

    def all(self, meta, children):
        return tree.Bounds(self.at(meta), "all", None, None)

    def from_on(self, meta, children):
        return tree.Bounds(self.at(meta), "range", children[0], None)

    def up_to(self, meta, children):
        return tree.Bounds(self.at(meta), "range", None, children[1])

    # Statements

    def block(self, meta, children):
        return tree.Block(self.at(meta), children[0])

    arm_items = block

    def skip(self, meta, children):
        return tree.Simple(self.at(meta), "skip")

    def reply(self, meta, children):
        return tree.Simple(self.at(meta), "reply")

    def stop(self, meta, children):
        return tree.Stop(self.at(meta), children[0] if children else None)

    def expression_statement(self, meta, children):
        return tree.Evaluate(self.at(meta), children[0])

    def _as_statement(self, meta, expression):
        return tree.Evaluate(self.at(meta), expression)

    def assign(self, meta, children):
        return self._as_statement(meta, tree.Assign(self.at(meta), children[0], "", children[1]))

    def chained(self, meta, children):
        return tree.Assign(self.at(meta), children[0], "", children[1])

    def augment(self, meta, children):
        return self._as_statement(meta, tree.Assign(self.at(meta), children[0], str(children[1])[:-1], children[2]))

    def _step(self, meta, of, operator, after=False):
        at = self.at(meta)
        return tree.Assign(at, of, operator, tree.Literal(at, 1), after)

    def increment(self, meta, children):
        return self._step(meta, children[0], "+", True)

    def decrement(self, meta, children):
        return self._step(meta, children[0], "-", True)

    def increment_first(self, meta, children):
        return self._step(meta, children[0], "+")

    def decrement_first(self, meta, children):
        return self._step(meta, children[0], "-")

    def swap(self, meta, children):
        return tree.Swap(self.at(meta), *children)

    def call_statement(self, meta, children):
        return tree.Invoke(self.at(meta), "call", children[0])

    def send_statement(self, meta, children):
        return tree.Invoke(self.at(meta), "send", children[0])

    def forward(self, meta, children):
        return tree.Invoke(self.at(meta), "forward", children[0])

    def receive(self, meta, children):
        return tree.Receive(self.at(meta), children[0])

    def destroy(self, meta, children):
        return tree.Destroy(self.at(meta), children[0])

    def p(self, meta, children):
        return tree.Semaphore(self.at(meta), "P", children[-1])

    def v(self, meta, children):
        return tree.Semaphore(self.at(meta), "V", children[-1])

    def if_(self, meta, children):
        return tree.If(self.at(meta), children[0], self.body(children[1]),
                       self.body(children[2]) if children[2:] else None)

    def body(self, one) -> tree.Statement:
        """`++x` alone is an expression where a statement stands."""
        return one if isinstance(one, tree.Statement) else tree.Evaluate(one.at, one)

    def while_(self, meta, children):
        return tree.While(self.at(meta), children[0], self.body(children[1]))

    def do_(self, meta, children):
        return tree.While(self.at(meta), children[1], children[0], first=True)

    def for_(self, meta, children):
        quantifiers = _take(children, "quantifiers")
        return tree.For(self.at(meta), quantifiers, self.body(children[-1]))

    def co(self, meta, children):
        return tree.Co(self.at(meta), [one for one in children if not isinstance(one, Token)])

    def co_call(self, meta, children):
        return _Marked("invocation", ("call", children[-1], None))

    def co_send(self, meta, children):
        return _Marked("invocation", ("send", children[-1], None))

    def co_assign(self, meta, children):
        return _Marked("invocation", ("call", children[1], children[0]))

    def co_arm(self, meta, children):
        quantifiers = _take(children, "quantifiers", [])
        invocation = _take(children, "invocation")
        how, call, to = invocation
        then = next((one for one in children if isinstance(one, list)), None)
        return tree.CoArm(quantifiers, how, call, to, tree.Block(call.at, then) if then is not None else None)

    def such_that(self, meta, children):
        return _Marked("st", children[0])

    def by(self, meta, children):
        return _Marked("by", children[0])

    def in_arm(self, meta, children):
        quantifiers = _take(children, "quantifiers", [])
        such_that, by = _take(children, "st"), _take(children, "by")
        children = [one for one in children if not (isinstance(one, Token) and one.type != "NAME")]
        call, *result, body = children
        if not isinstance(call, tree.Call):
            raise fail(self.at(meta), "an operation and its parameters' names stand here: name(names)")
        return tree.InArm(self.at(meta), quantifiers, call, self.id(result[0]) if result else None, such_that, by, body)

    def in_(self, meta, children):
        arms = [one for one in children if isinstance(one, tree.InArm)]
        otherwise = next((one for one in children if isinstance(one, tree.Block)), None)
        return tree.In(self.at(meta), arms, otherwise)

    def exit(self, meta, children):
        return tree.Jump(self.at(meta), "exit")

    def next(self, meta, children):
        return tree.Jump(self.at(meta), "next")

    def return_(self, meta, children):
        return tree.Jump(self.at(meta), "return")

    def quantifiers(self, meta, children):
        return _Marked("quantifiers", children)

    def quantifier(self, meta, children):
        such_that, step = _take(children, "st"), _take(children, "by")
        name, first, direction, last = children
        return tree.Quantifier(self.id(name), first, direction == "downto", last, step, such_that)

    # Expressions

    def binary(self, meta, children):
        left, operator, right = children
        return tree.Binary(self.token(operator), str(operator), left, right)

    def binary_and(self, meta, children):
        return tree.Binary(self.at(meta), "and", children[0], children[-1])

    def unary(self, meta, children):
        return tree.Unary(self.at(meta), str(children[0]), children[1])

    def arguments(self, meta, children):
        return children

    def call(self, meta, children):
        return tree.Call(children[0].at, children[0], children[1])

    def index(self, meta, children):
        return tree.Index(children[0].at, children[0], children[1:])

    def field_of(self, meta, children):
        name = self.id(children[1])
        return tree.Field(name.at, children[0], name)

    def dereference(self, meta, children):
        return tree.Dereference(self.at(meta), children[0])

    def number(self, meta, children):
        text = str(children[0])
        base = {"q": 8, "x": 16}.get(text[-1].lower(), 10)
        digits = text if base == 10 else text[:-1]
        # Octal and hexadecimal ones are patterns of 32 bits.
        value = int(digits, base) if len(digits) < 40 else 2**99
        if value > (LARGEST if base == 10 else 2**32 - 1):
            raise fail(self.at(meta), f"the number is more than {LARGEST}")
        return tree.Literal(self.at(meta), value if value <= LARGEST else value - 2**32)

    def real(self, meta, children):
        value = float(children[0])
        if value > 1e308:
            raise fail(self.at(meta), "the number is more than 1e308")
        return tree.Literal(self.at(meta), value)

    def _unescaped(self, token: Token) -> str:
        def one(found: re.Match) -> str:
            text = found[1]
            if text[0] in "01234567":
                return chr(int(text, 8) & 255)
            if text[0] == "x" and text[1:]:
                return chr(int(text[1:], 16))
            if text not in ESCAPES:
                at = self.token(token)
                raise fail(Position(at.line, at.column + 1 + found.start(), self.file),
                           f"'\\{text}' stands for no character")
            return ESCAPES[text]
        return ESCAPE.sub(one, token[1:-1])

    def string(self, meta, children):
        return tree.Literal(self.at(meta), self._unescaped(children[0]))

    def char(self, meta, children):
        text = self._unescaped(children[0])
        if len(text) != 1:
            raise fail(self.at(meta), "one character stands between apostrophes")
        return tree.Literal(self.at(meta), text, is_char=True)

    def truth(self, meta, children):
        return tree.Literal(self.at(meta), children[0] == "true")

    def null(self, meta, children):
        return tree.Null(self.at(meta), children[0] == "noop")

    def type_name(self, meta, children):
        return tree.TypeName(self.at(meta), str(children[0]))

    def name(self, meta, children):
        return tree.Use(self.at(meta), self.id(children[0]))

    def create(self, meta, children):
        name, arguments, *on = children
        return tree.Create(self.at(meta), self.id(name), arguments, on[0] if on else None)

    def repeated(self, meta, children):
        return children[0], children[1]

    def parenthesised(self, meta, children):
        if len(children) == 1 and not isinstance(children[0], tuple):
            return children[0]
        return tree.Constructor(self.at(meta), [one if isinstance(one, tuple) else (None, one) for one in children])


@functools.cache
def _lark() -> Lark:
    grammar = Path(__file__).with_name("grammar.lark").read_text()
    return Lark(grammar, parser="lalr", lexer="basic", postlex=Separators(),
                propagate_positions=True, maybe_placeholders=False)


def parse(text: str, file: str = "") -> list[tree.Resource]:
    """The components of a file; CompileError at the first thing that is not MPD. Positions name `file`."""
    source = Source(text.removeprefix("\xef\xbb\xbf"), file)     # UTF-8 may begin so
    try:
        return Builder(file).transform(_lark().parse(source.text))
    except VisitError as error:
        raise error.orig_exc from None
    except UnexpectedCharacters as error:
        at = Position(error.line, error.column, file)
        if error.char == "'":
            raise fail(at, "a character has no end") from None
        raise fail(at, f"unexpected character {error.char!r}") from None
    except UnexpectedToken as error:
        if error.token.type == "$END":
            raise fail(source.position(source.text, len(source.text)), "the program ends too early") from None
        at = Position(error.line, error.column, file)
        if error.token.type == "_NL":
            raise fail(at, "the line before is not complete") from None
        raise fail(at, f"unexpected '{error.token}'") from None
    except UnexpectedInput as error:
        raise fail(Position(1, 1, file), str(error).splitlines()[0]) from None
