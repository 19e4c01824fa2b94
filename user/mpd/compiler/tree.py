"""The tree of a program. `check` fills in what says so; the rest is what the source says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from user.mpd.compiler.types import Array, Signature, Type


@dataclass(frozen=True, order=True)
class Position:
    line: int
    column: int
    file: str = field(default="", compare=False)


@dataclass(frozen=True)
class Name:
    text: str
    at: Position


@dataclass(eq=False)
class Symbol:
    """What a name stands for. `code` is how C calls it; `kind` is variable, constant, sem, op, type, literal, function,
    resource or global."""

    name: str
    kind: str
    at: Position
    type: Type | None = None
    code: str = ""
    why_constant: str = ""      # it cannot be assigned to: why
    op: Op | None = None
    value: int | None = None    # of a constant that is known here
    resource: Resource | None = None
    by_reference: bool = False
    source: Expression | None = None    # of a constant that a resource exports: other resources evaluate it themselves


@dataclass(eq=False)
class Op:
    """An operation, semaphores included. The flags decide how it is implemented (emit)."""

    name: Name
    signature: Signature
    resource: Resource
    dims: Array | None = None       # an array of operations
    local: bool = False             # declared in a block
    exported: bool = False
    is_sem: bool = False            # declared as one
    implemented: str = ""           # "proc", "in", "external", or nothing yet
    body: Proc | None = None
    apart: bool = False             # its proc replies or forwards: a process of its own executes it
    no_semaphore: str = ""          # why it cannot be a semaphore
    invoked: bool = False
    taken: bool = False             # its capability is a value somewhere
    code: str = ""
    export: int = -1                # its place among the exports
    quantifiers: list[Quantifier] = field(default_factory=list)     # of a process
    is_process: bool = False

    @property
    def semaphore(self) -> bool:
        return self.implemented in ("in", "") and not self.no_semaphore


# Expressions: `type` is None where there is a mistake (check).

@dataclass(eq=False)
class Expression:
    at: Position
    type: Type | None = field(default=None, init=False)


@dataclass(eq=False)
class Literal(Expression):
    value: int | bool | str | float
    is_char: bool = False


@dataclass(eq=False)
class Null(Expression):
    is_noop: bool


@dataclass(eq=False)
class Use(Expression):
    name: Name
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class TypeName(Expression):
    """int, bool, ... where an expression stands: a conversion, an argument of low, or a declaration's type."""

    name: str


@dataclass(eq=False)
class Unary(Expression):
    operator: str
    operand: Expression


@dataclass(eq=False)
class Binary(Expression):
    operator: str
    left: Expression
    right: Expression


@dataclass(eq=False)
class Assign(Expression):
    """`operator` is "" or what x op= y does. Expression and statement."""

    to: Expression
    operator: str
    value: Expression
    after: bool = False         # x++: the value is that of before


@dataclass(eq=False)
class Call(Expression):
    function: Expression
    arguments: list[Expression]
    kind: str = field(default="", init=False)   # op, predefined, conversion, record (check)
    op: Op | None = field(default=None, init=False)     # the operation, where its name is known
    signature: Signature | None = field(default=None, init=False)


@dataclass(eq=False)
class Bounds:
    """of: one, range, or all of a dimension; `first` or `last` is None for a star."""

    at: Position
    kind: str
    first: Expression | None
    last: Expression | None


@dataclass(eq=False)
class Index(Expression):
    of: Expression
    bounds: list[Bounds]


@dataclass(eq=False)
class Field(Expression):
    of: Expression
    name: Name
    symbol: Symbol | None = field(default=None, init=False)     # of a component's name
    place: int = field(default=-1, init=False)                  # of a capability's operation


@dataclass(eq=False)
class Dereference(Expression):
    of: Expression


@dataclass(eq=False)
class Create(Expression):
    name: Name
    arguments: list[Expression]
    on: Expression | None
    resource: Resource | None = field(default=None, init=False)


@dataclass(eq=False)
class Constructor(Expression):
    """The elements of an array, each with how often it stands there, or None for once."""

    elements: list[tuple[Expression | None, Expression]]


# Types, as written

@dataclass(eq=False)
class ArrayOf:
    at: Position
    dims: list[Bounds]
    of: TypeSource


@dataclass(eq=False)
class EnumOf:
    at: Position
    names: list[Name]


@dataclass(eq=False)
class RecordOf:
    at: Position
    fields: list[Parameter]
    union: bool


@dataclass(eq=False)
class PointerTo:
    at: Position
    of: TypeSource | None       # None: any


@dataclass(eq=False)
class CapabilityOf:
    at: Position
    of: Expression | SignatureSource | None     # None: of a semaphore


@dataclass(eq=False)
class SignatureSource:
    at: Position
    parameters: list[Parameter]
    result: Parameter | None
    restriction: str


TypeSource = Expression | ArrayOf | EnumOf | RecordOf | PointerTo | CapabilityOf


@dataclass(eq=False)
class Parameter:
    at: Position
    mode: str
    of: TypeSource
    name: Name | None
    dims: list[Bounds]


# Statements

@dataclass(eq=False)
class Statement:
    at: Position


@dataclass(eq=False)
class Variable(Statement):
    name: Name
    of: TypeSource | None       # a constant may leave it to its value
    dims: list[Bounds]
    value: Expression | None
    constant: bool
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Sem(Statement):
    name: Name
    dims: list[Bounds]
    value: Expression | None
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class OpDeclaration(Statement):
    name: Name
    dims: list[Bounds]
    signature: SignatureSource | None
    of: Expression | None = None        # an operation type's name
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class External(Statement):
    name: Name
    signature: SignatureSource
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class TypeDeclaration(Statement):
    name: Name
    of: TypeSource


@dataclass(eq=False)
class OpType(Statement):
    name: Name
    signature: SignatureSource


@dataclass(eq=False)
class Several(Statement):
    """The declarations of one line, which are of the scope around."""

    of: list[Statement]


@dataclass(eq=False)
class Simple(Statement):
    """skip, reply."""

    what: str


@dataclass(eq=False)
class Stop(Statement):
    value: Expression | None


@dataclass(eq=False)
class Evaluate(Statement):
    """An expression that is a statement: a call, an assignment, create."""

    expression: Expression


@dataclass(eq=False)
class Swap(Statement):
    left: Expression
    right: Expression


@dataclass(eq=False)
class Invoke(Statement):
    how: str                    # call, send, forward
    call: Expression


@dataclass(eq=False)
class Destroy(Statement):
    of: Expression


@dataclass(eq=False)
class Semaphore(Statement):
    how: str                    # P or V
    of: Expression
    op: Op | None = field(default=None, init=False)


@dataclass(eq=False)
class If(Statement):
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(eq=False)
class While(Statement):
    condition: Expression
    body: Statement
    first: bool = False         # do ... while: the body comes first


@dataclass(eq=False)
class Quantifier:
    name: Name
    first: Expression
    down: bool
    last: Expression
    step: Expression | None
    such_that: Expression | None
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class For(Statement):
    quantifiers: list[Quantifier]
    body: Statement


@dataclass(eq=False)
class CoArm:
    quantifiers: list[Quantifier]
    how: str                    # call or send
    call: Expression
    to: Expression | None
    then: Block | None


@dataclass(eq=False)
class Co(Statement):
    arms: list[CoArm]


@dataclass(eq=False)
class InArm:
    at: Position
    quantifiers: list[Quantifier]
    call: Call
    result: Name | None
    such_that: Expression | None
    by: Expression | None
    body: Block
    op: Op | None = field(default=None, init=False)
    signature: Signature | None = field(default=None, init=False)
    number: int = field(default=0, init=False)      # of the block's variable in C


@dataclass(eq=False)
class In(Statement):
    arms: list[InArm]
    otherwise: Block | None


@dataclass(eq=False)
class Receive(Statement):
    call: Expression
    op: Op | None = field(default=None, init=False)
    signature: Signature | None = field(default=None, init=False)


@dataclass(eq=False)
class Jump(Statement):
    how: str                    # exit, next, return


@dataclass(eq=False)
class Block(Statement):
    body: list[Statement]


def statements(one: Statement) -> Iterator[Statement]:
    """A statement and those in it."""
    yield one
    inner: list[Statement | None] = []
    match one:
        case Block():
            inner = [*one.body]
        case Several():
            inner = [*one.of]
        case If():
            inner = [one.then, one.otherwise]
        case While() | For():
            inner = [one.body]
        case Co():
            inner = [arm.then for arm in one.arms]
        case In():
            inner = [*(arm.body for arm in one.arms), one.otherwise]
    for each in inner:
        if each:
            yield from statements(each)


# What only components have

@dataclass(eq=False)
class Import(Statement):
    names: list[Name]


@dataclass(eq=False)
class Extend(Statement):
    names: list[Name]


@dataclass(eq=False)
class Proc(Statement):
    """A proc's code; of a procedure with its signature, of a process with its quantifiers."""

    name: Name
    names: list[Name]
    result: Name | None
    body: Block
    signature: SignatureSource | None = None
    quantifiers: list[Quantifier] = field(default_factory=list)
    is_process: bool = False
    op: Op | None = field(default=None, init=False)
    parameters: list[Symbol] = field(default_factory=list, init=False)
    result_symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Final(Statement):
    body: Block


@dataclass(eq=False)
class Resource:
    """A resource or a global; its specification and body may come from two places."""

    name: Name
    kind: str                   # resource or global
    parameters: list[Parameter]
    spec: list[Statement]
    body: list[Statement] | None        # None: none yet
    apart: bool = False                 # its body stands apart
    end: list[Name] = field(default_factory=list)   # names that stand behind body and end
    exports: list[Op] = field(default_factory=list, init=False)
    ops: list[Op] = field(default_factory=list, init=False)
    fields: list[Symbol] = field(default_factory=list, init=False)
    parameter_symbols: list[Symbol] = field(default_factory=list, init=False)
    procs: list[Proc] = field(default_factory=list, init=False)
    externals: list[Op] = field(default_factory=list, init=False)
    final: Final | None = field(default=None, init=False)
    imported: list[Resource] = field(default_factory=list, init=False)
    extended: list[Resource] = field(default_factory=list, init=False)
    replies: bool = field(default=False, init=False)    # its initial code does
