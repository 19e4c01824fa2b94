"""Which groups of statements have to be executed again when a variable changes: the others need not be.

A group whose inputs are what they were when it was last executed would write what is there already. So a statement that
changes a variable wakes the groups that read it: those behind it in this cycle, those before it in the next."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sim.model.gating.order import Node
from sim.model.gating.statements import TOLD, Any, Statement, all_tokens


@dataclass(frozen=True)
class Group:
    """Nodes that are executed together. `shared`: they are hart 0's, and the others do the same. `gated`: only if
    something that they read changed; `seldom` if that is in few cycles."""

    shared: bool
    gated: bool
    nodes: tuple[int, ...]
    seldom: bool = False


@dataclass(frozen=True, order=True)
class Gate:
    """The gate of a group, for one hart if the harts share it: then each has a gate of its own."""

    group: int
    hart: int | None = None


def looked_at(statements: Iterable[Any]) -> frozenset[str]:
    """The variables whose values before these statements affect them.

    Not those that get a new value first; nor those that keep their old one if nothing else is written: writing the same
    value again changes nothing, as long as nothing reads them before the last possible write."""
    statements = list(statements)
    last = {name: i for i, one in enumerate(statements) for name in one.names.writes}
    given: set[str] = set()
    looked: set[str] = set()
    for i, one in enumerate(statements):
        looked |= {name for name in one.names.reads - given if last.get(name, -1) >= i or name not in last}
        if isinstance(one, Statement) and one.whole:
            given.add(one.whole)
    return frozenset(looked)


def always(statements: Iterable[Any]) -> bool:
    """Whether these have an effect outside the model, or none visible in it."""
    statements = list(statements)
    return (not any(one.names.writes for one in statements)
            or any(TOLD.match(token) for one in statements for token in all_tokens(one)))


def woken(groups: Sequence[Group], families: Mapping[int, Sequence[int]],
          nodes: Sequence[Node]) -> dict[str, set[Gate]]:
    """By variable, the gates to open when it changes. `families`: the nodes of all harts, by that of hart 0."""
    gates: dict[str, set[Gate]] = defaultdict(set)
    for g, group in enumerate(groups):
        if not group.gated:
            continue
        rows = zip(*(families[k] for k in group.nodes), strict=True) if group.shared else [group.nodes]
        for hart, row in enumerate(rows):
            for name in looked_at(s for k in row for s in nodes[k].statements):
                gates[name].add(Gate(g, hart if group.shared else None))
    return gates
