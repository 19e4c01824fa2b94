"""Statements made simpler, and alike for all harts, before they are put in another order; and joined again after it."""

from collections.abc import Mapping, Sequence

from sim.model.gating.harts import harts_of
from sim.model.gating.order import dependencies
from sim.model.gating.statements import SELF, Any, Body, If, Statement, Tokens, branch, read

ZERO = {"0", "0U", "0ULL"}


def simplified(body: Body, reset: str) -> list[Any]:
    """The statements of `body` while the input `reset` is 0."""
    statements = [s for one in body.statements for s in _after_reset(one, reset, body.local)]
    return _needed([s for one in statements for s in _taken_apart(one, body.local)], body.local)


def _after_reset(one: Any, reset: str, local: Mapping[str, str]) -> list[Any]:
    """A statement as it is when the input `reset` is 0."""
    def zero(tokens: Tokens) -> tuple[str, ...]:
        out: list[str] = []
        for token in tokens:
            out.append(token)
            if out[-3:] == [SELF, ".", reset]:
                out[-3:] = ["0U"]
        return tuple(out)

    if isinstance(one, Statement):
        return [Statement(zero(one.tokens), one.names, one.whole, one.equals)]
    then = [s for inner in one.then for s in _after_reset(inner, reset, local)]
    other = [s for inner in one.other for s in _after_reset(inner, reset, local)]
    condition = zero(one.condition)
    return other if condition == ("0U",) else [branch(condition, then, other, local)]


def _taken_apart(one: Any, local: Mapping[str, str]) -> list[Any]:
    """A branch of one hart as one for each thing that it writes: Verilator joins them as it finds them, not for every
    hart alike. Next to each other, the compiler joins them again."""
    if isinstance(one, Statement) or len(harts_of(one)) != 1:
        return [one]
    sides = [(s, k) for k, side in enumerate((one.then, one.other)) for inner in side
             for s in _taken_apart(inner, local)]
    written = frozenset().union(*(s.names.writes for s, _ in sides))
    nodes, _ = dependencies([s for s, _ in sides])
    if written & one.names.reads or len(nodes) < 2:   # what is written is read here, too: the order matters
        return [one]
    groups: dict[frozenset[str], list] = {node.names.writes: [] for node in nodes}
    for s, side in sides:
        next(group for writes, group in groups.items() if s.names.writes <= writes).append((s, side))
    apart: list[Statement | If] = []
    for group in groups.values():
        then, other = ([s for s, side in group if side == k] for k in (0, 1))
        apart.append(branch(one.condition, then, other, local) if then
                     else branch(("!", "(", *one.condition, ")"), other, (), local))
    return apart


def _needed(statements: Sequence[Any], local: Mapping[str, str]) -> list[Any]:
    """Without the zeros that local variables begin with where a value follows before anybody looks."""
    unneeded: set[int] = set()
    zeros: dict[str, int] = {}
    for i, one in enumerate(statements):
        for name in one.names.reads:
            zeros.pop(name, None)
        for name in one.names.writes:
            before = zeros.pop(name, None)
            if before is not None and isinstance(one, Statement) and one.whole == name:
                unneeded.add(before)
        if isinstance(one, Statement) and one.whole in local and one.tokens[1] == "=" and set(one.tokens[2:]) <= ZERO:
            zeros[one.whole] = i
    return [one for i, one in enumerate(statements) if i not in unneeded]


def joined(statements: Sequence[Any], local: Mapping[str, str]) -> list[Any]:
    """Branches that stand next to each other and have the same condition as one."""
    out: list[Any] = []
    for one in statements:
        last = out[-1] if out else None
        if (isinstance(one, If) and isinstance(last, If) and one.condition == last.condition
                and not last.names.writes & read(last.condition, local)):
            one = branch(one.condition, last.then + one.then, last.other + one.other, local)
            out.pop()
        out.append(one)
    return out
