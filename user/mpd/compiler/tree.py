"""The tree of a program. `check` fills in what says so; the rest is what the source says."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, order=True)
class Position:
    line: int
    column: int


@dataclass(frozen=True)
class Name:
    text: str
    at: Position


@dataclass(eq=False)
class Symbol:
    """What a name stands for. `code` is how C calls it; `kind` is variable, constant, sem or op."""

    name: str
    kind: str
    at: Position
    type: str | None = None
    code: str = ""
    why_constant: str = ""      # it cannot be assigned to: why
    op: Operation | None = None


# Expressions: `type` is int, bool or string, or None where there is a mistake (check).

@dataclass(eq=False)
class Expression:
    at: Position
    type: str | None = field(default=None, init=False)


@dataclass(eq=False)
class Literal(Expression):
    value: int | bool | str


@dataclass(eq=False)
class Use(Expression):
    name: Name
    symbol: Symbol | None = field(default=None, init=False)


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
class Call(Expression):
    name: Name
    arguments: list[Expression]
    symbol: Symbol | None = field(default=None, init=False)


# Statements

@dataclass(eq=False)
class Statement:
    at: Position


@dataclass(eq=False)
class Variable(Statement):
    name: Name
    of: str | None              # its type; a constant may leave it to its value
    value: Expression | None
    constant: bool
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Sem(Statement):
    name: Name
    value: Expression | None
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Several(Statement):
    """The declarations of one line, which are of the scope around."""

    of: list[Statement]


@dataclass(eq=False)
class Skip(Statement):
    pass


@dataclass(eq=False)
class Assign(Statement):
    to: Name
    operator: str               # "", or what x op= y does
    value: Expression
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Swap(Statement):
    names: tuple[Name, Name]
    symbols: list[Symbol | None] = field(default_factory=list, init=False)


@dataclass(eq=False)
class Invoke(Statement):
    how: str                    # call or send
    call: Call


@dataclass(eq=False)
class Create(Statement):
    name: Name
    arguments: list[Expression]
    resource: Resource | None = field(default=None, init=False)


@dataclass(eq=False)
class Semaphore(Statement):
    how: str                    # P or V
    name: Name
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class If(Statement):
    condition: Expression
    then: Statement
    otherwise: Statement | None


@dataclass(eq=False)
class While(Statement):
    condition: Expression
    body: Statement


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
class Arm:
    quantifiers: list[Quantifier]
    to: Name | None
    call: Call
    symbol: Symbol | None = field(default=None, init=False)      # of `to`


@dataclass(eq=False)
class Co(Statement):
    arms: list[Arm]


@dataclass(eq=False)
class Jump(Statement):
    how: str                    # exit, next or return


@dataclass(eq=False)
class Block(Statement):
    body: list[Statement]


# What a resource consists of, beside statements

@dataclass(eq=False)
class Parameter:
    name: Name
    mode: str
    type: str | None
    symbol: Symbol | None = field(default=None, init=False)


@dataclass(eq=False)
class Operation(Statement):
    """An op, with its code if it is a proc's: of a procedure, proc or process, or none if it is external."""

    name: Name
    parameters: list[Parameter]
    result: Parameter | None
    external: bool = False
    body: Block | None = None
    quantifiers: list[Quantifier] = field(default_factory=list)      # of a process
    is_process: bool = False


@dataclass(eq=False)
class Proc(Statement):
    """The code of an op that is declared apart."""

    name: Name
    names: list[Name]
    result: Name | None
    body: Block


@dataclass(eq=False)
class Final(Statement):
    body: Block


@dataclass(eq=False)
class Import(Statement):
    names: list[Name]


@dataclass(eq=False)
class Resource:
    name: Name
    parameters: list[Parameter]
    items: list[Statement]
    names: list[Name]               # at `body` and `end`: the same
    fields: list[Symbol] = field(default_factory=list, init=False)
    operations: list[Operation] = field(default_factory=list, init=False)
    final: Final | None = field(default=None, init=False)
