"""The body of a function that Verilator wrote, as statements that can be taken apart and put in another order.

Verilator writes a small part of C++: declarations, assignments, `if`, and a few macros. NotUnderstood for anything
else: a body is rewritten correctly, or not at all."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

TOKEN = re.compile(r'(?P<skip>\s+|/\*.*?\*/|//[^\n]*)|"(?:[^"\\]|\\.)*"|[A-Za-z_]\w*|\d\w*|->|::|<<|>>|&&|\|\||'
                   r'[-+*/&|^<>=!]=|.', re.DOTALL)
SELF = "vlSelfRef"
TYPES = {"CData", "SData", "IData", "QData", "VlWide"}
# Names without a place in memory. Macros in capitals compute from their arguments, except those below.
WORDS = {"IData", "QData", "CData", "SData", "true", "false", "vlSymsp", "__FILE__", "__LINE__"}
WRITTEN = {"VL_ZERO_W": 1, "VL_ADD_W": 1, "VL_SUB_W": 1}   # which argument a macro writes
TOLD = re.compile(r"VL_(WRITEF|FINISH|STOP|FATAL)")         # macros with an effect outside the model
PURE = re.compile(r"VL_(EXTENDS?|SHIFT[LR]S?|MULS?|DIVS?|MODDIVS?|GTS?|GTES?|LTS?|LTES?|REDXOR|COUNTONES|UNLIKELY|"
                  r"LIKELY|CLOG2|STREAML|ONEHOT0?)(_[IQ]+|_\d+)?$")
CONSTANTS = "ConstPool"
Tokens = Sequence[str]


class NotUnderstood(Exception):
    """The text has a form that this does not handle."""


@dataclass(frozen=True)
class Names:
    """The variables that a statement reads and writes: `.name` is a member of the model, `name` a local variable."""

    reads: frozenset[str] = frozenset()
    writes: frozenset[str] = frozenset()

    def __or__(self, other: "Names") -> "Names":
        return Names(self.reads | other.reads, self.writes | other.writes)


@dataclass(frozen=True)
class Statement:
    """An assignment or a macro: its text, and the place in it of its target, if any."""

    tokens: tuple[str, ...]
    names: Names
    whole: str = ""   # the variable that it always writes as a whole
    equals: int = 0   # the place of an assignment's =


@dataclass(frozen=True)
class If:
    condition: tuple[str, ...]
    then: tuple["Statement | If", ...]
    other: tuple["Statement | If", ...]
    names: Names


Any = Statement | If


def variables(tokens: Tokens, local: Mapping[str, str]) -> Iterator[tuple[int, int, str]]:
    """Each variable in an expression: its first token, the token after it, and its name. NotUnderstood as above."""
    at = 0
    while at < len(tokens):
        token = tokens[at]
        if token == SELF:
            yield at, at + 3, "." + tokens[at + 2]
            at += 3
            continue
        if token in local:
            yield at, at + 1, token
        elif (re.match(r"[A-Za-z_]", token) and token not in WORDS and token not in WRITTEN and CONSTANTS not in token
              and not PURE.match(token) and not TOLD.match(token)):
            raise NotUnderstood(f"{token!r} in {' '.join(tokens[max(0, at - 5):at + 5])!r}")
        at += 1


def read(tokens: Tokens, local: Mapping[str, str]) -> frozenset[str]:
    return frozenset(name for _, _, name in variables(tokens, local))


def branch(condition: Tokens, then: Sequence[Any], other: Sequence[Any], local: Mapping[str, str]) -> If:
    names = Names(read(condition, local))
    for one in (*then, *other):
        names |= one.names
    return If(tuple(condition), tuple(then), tuple(other), names)


def write_out(one: Any, rename: Callable[[Tokens], str], indent: int, of: Callable[[Statement], str]) -> str:
    """The C++ of a statement: its conditions with their variables named by `rename`, the rest by `of`."""
    space = "    " * indent
    if isinstance(one, Statement):
        return f"{space}{of(one)};\n"

    def side(statements: Sequence[Any]) -> str:
        return "".join(write_out(s, rename, indent + 1, of) for s in statements)

    text = f"{space}if ({rename(one.condition)}) {{\n{side(one.then)}"
    return text + (f"{space}}} else {{\n{side(one.other)}" if one.other else "") + space + "}\n"


def all_tokens(one: Any) -> list[str]:
    """The tokens of a statement in a row: two statements are alike if these are."""
    if isinstance(one, Statement):
        return [*one.tokens, ";"]
    then = [token for s in one.then for token in all_tokens(s)]
    other = [token for s in one.other for token in all_tokens(s)]
    return ["if", *one.condition, "{", *then, "}", *other, "}"]


class Body:
    """The statements of a function's body, and the types of its local variables. NotUnderstood as above."""

    def __init__(self, text: str):
        self.tokens = [m.group() for m in TOKEN.finditer(text) if not m.group("skip")]
        self.at = 0
        self.local: dict[str, str] = {}
        self.statements: list[Any] = []
        while self.at < len(self.tokens):
            self.statements += self._statement()

    def _statement(self) -> list[Any]:
        token = self.tokens[self.at]
        if token == "{":
            return self._block()
        if token == ";":
            self.at += 1
            return []
        if token == "if":
            self.at += 2
            condition = self._until(")")
            then = self._block()
            other = []
            if self.tokens[self.at:self.at + 1] == ["else"]:
                self.at += 1
                other = self._block()
            return [branch(condition, then, other, self.local)]
        if token == "VL_DEBUG_IF":
            self.at += 2
            self._until(")")
            return []
        text = self._until(";")
        if token == "auto" or token.endswith("__Syms"):
            return []
        if token in TYPES:
            if not re.match(r"[A-Za-z_]\w*$", text[-1]):
                raise NotUnderstood(f"declaration {' '.join(text)!r}")
            self.local[text[-1]] = "".join(text[:-1])
            return []
        return [self._macro(text) if token.startswith("VL_") else self._assignment(text)]

    def _block(self) -> list[Any]:
        if self.tokens[self.at] != "{":
            return self._statement()
        self.at += 1
        inside = []
        while self.tokens[self.at] != "}":
            inside += self._statement()
        self.at += 1
        return inside

    def _until(self, stop: str) -> list[str]:
        """The tokens up to `stop` outside brackets; continues after it."""
        depth, begin = 0, self.at
        while depth or self.tokens[self.at:self.at + 1] != [stop]:
            if self.at == len(self.tokens):
                raise NotUnderstood(f"no {stop!r} behind {' '.join(self.tokens[begin:begin + 9])!r}")
            depth += (self.tokens[self.at] in "([{") - (self.tokens[self.at] in ")]}")
            self.at += 1
        self.at += 1
        return self.tokens[begin:self.at - 1]

    def _macro(self, text: list[str]) -> Statement:
        if TOLD.match(text[0]):
            return Statement(tuple(text), Names(read(text, self.local)))
        if text[0] not in WRITTEN:
            raise NotUnderstood(f"{' '.join(text[:9])!r}")
        arguments: list[list[str]] = [[]]
        depth = 0
        for token in text[2:-1]:
            depth += (token in "([{") - (token in ")]}")
            if token == "," and not depth:
                arguments.append([])
            else:
                arguments[-1].append(token)
        written = arguments.pop(WRITTEN[text[0]])
        reads = frozenset().union(*(read(argument, self.local) for argument in arguments))
        return Statement(tuple(text), Names(reads, read(written, self.local)))

    def _assignment(self, text: list[str]) -> Statement:
        depth = at = 0
        while depth or text[at] != "=":
            depth += (text[at] in "([{") - (text[at] in ")]}")
            at += 1
            if at == len(text):
                raise NotUnderstood(f"{' '.join(text[:9])!r}")
        found = [(begin, end, name) for begin, end, name in variables(text[:at], self.local) if begin == 0]
        if not found:
            raise NotUnderstood(f"an assignment to {' '.join(text[:at])!r}")
        (_, end, target), = found
        reads = read(text[end:at], self.local) | read(text[at + 1:], self.local)
        return Statement(tuple(text), Names(reads, frozenset({target})), target if end == at else "", at)
