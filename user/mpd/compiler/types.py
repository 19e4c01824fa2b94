"""The types of MPD, what fits what, and what is constant."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from user.mpd.compiler.tree import Expression, Resource

DIMENSIONS = 4      # of an array: MPD_DIMENSIONS of run-time/mpd.h


class Type:
    """`str` of one is what messages call it."""


@dataclass(frozen=True)
class Basic(Type):
    name: str

    def __str__(self) -> str:
        return self.name


INT, BOOL, CHAR, REAL, FILE = (Basic(name) for name in ("int", "bool", "char", "real", "file"))
NULL, ANY = Basic("null"), Basic("any")


@dataclass(frozen=True)
class String(Type):
    """`maximum` is None for string[*], and for what expressions give."""

    maximum: int | None = None

    def __str__(self) -> str:
        return "string"


@dataclass(eq=False)
class Enum(Type):
    literals: list[str]
    name: str = ""

    def __str__(self) -> str:
        return self.name or "an enumeration"


@dataclass(eq=False)
class Record(Type):
    union: bool
    number: int                 # of its structure in C
    fields: list[tuple[str, Type]] = field(default_factory=list)
    name: str = ""

    def __str__(self) -> str:
        return self.name or ("a union" if self.union else "a record")

    def field(self, name: str) -> Type | None:
        return dict(self.fields).get(name)


@dataclass(frozen=True)
class Pointer(Type):
    to: Type

    def __str__(self) -> str:
        return f"ptr {self.to}"


@dataclass(eq=False)
class Dimension:
    """Bounds are None where they are a star; `of` is the type of subscripts. `known`: the bounds, if constant."""

    first: Expression | None
    last: Expression | None
    of: Type = INT
    known: tuple[int, int] | None = None


@dataclass(eq=False)
class Array(Type):
    dims: list[Dimension]
    of: Type

    def __str__(self) -> str:
        return f"[{', '.join('*' for _ in self.dims)}] {self.of}"

    @property
    def known(self) -> bool:
        return all(dim.known for dim in self.dims)

    @property
    def starred(self) -> bool:
        return any(dim.first is None or dim.last is None for dim in self.dims)

    @property
    def count(self) -> int:
        total = 1
        for dim in self.dims:
            assert dim.known
            total *= max(dim.known[1] - dim.known[0] + 1, 0)
        return total


@dataclass(eq=False)
class Formal:
    name: str
    mode: str                   # val, var, res, ref
    type: Type | None


@dataclass(eq=False)
class Signature(Type):
    formals: list[Formal]
    result: Type | None         # None: nothing
    result_name: str = ""
    restriction: str = ""       # call or send: only that

    def __str__(self) -> str:
        return "an operation"


@dataclass(frozen=True)
class Capability(Type):
    of: Signature

    def __str__(self) -> str:
        return "a capability of an operation"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Capability) and same_signature(self.of, other.of)

    def __hash__(self) -> int:
        return hash(len(self.of.formals))


@dataclass(frozen=True)
class ResourceCapability(Type):
    of: Resource

    def __str__(self) -> str:
        return f"cap {self.of.name.text}"


def ordered(one: Type | None) -> bool:
    return one in (INT, BOOL, CHAR, REAL) or isinstance(one, Enum)


def discrete(one: Type | None) -> bool:
    return ordered(one) and one != REAL


def same(a: Type | None, b: Type | None) -> bool:
    """Of one type; unknown types fit everything, so that a mistake is told once."""
    if a is None or b is None:
        return True
    if isinstance(a, String) and isinstance(b, String):
        return True
    if isinstance(a, Array) and isinstance(b, Array):
        return len(a.dims) == len(b.dims) and same(a.of, b.of) and all(
            x.of == y.of for x, y in zip(a.dims, b.dims, strict=True) if x.first and y.first)
    if isinstance(a, Pointer) and isinstance(b, Pointer):
        return a.to == ANY or b.to == ANY or same(a.to, b.to)
    if isinstance(a, ResourceCapability) and isinstance(b, ResourceCapability):
        return a.of is b.of
    if isinstance(a, Capability) and isinstance(b, Capability):
        return same_signature(a.of, b.of)
    return a == b


def same_signature(a: Signature, b: Signature) -> bool:
    return (len(a.formals) == len(b.formals) and (a.result is None) == (b.result is None) and same(a.result, b.result)
            and all(x.mode == y.mode and same(x.type, y.type) for x, y in zip(a.formals, b.formals, strict=True)))


def _extends(one: Resource, other: Resource) -> bool:
    return one is other or any(_extends(each, other) for each in one.extended)


def assignable(to: Type | None, value: Type | None) -> bool:
    if to is None or value is None:
        return True
    if to == REAL and value == INT:
        return True
    if value == NULL:
        return isinstance(to, Pointer | Capability | ResourceCapability) or to == FILE
    if isinstance(to, String) and value == CHAR:
        return False
    if isinstance(to, ResourceCapability) and isinstance(value, ResourceCapability):
        return _extends(value.of, to.of)
    if isinstance(to, Capability) and isinstance(value, Signature):
        return same_signature(to.of, value)
    if isinstance(to, Array) and isinstance(value, Array):
        return len(to.dims) == len(value.dims) and assignable(to.of, value.of)
    return same(to, value)
