"""Which statements may share a gate: those that are as seldom active, and of the same core where that matters."""

from collections.abc import Callable, Sequence
from typing import Any

from sim.model.gating.activity import names_of
from sim.model.gating.cut import behind_gates
from sim.model.gating.gates import looked_at
from sim.model.gating.groups import NEVER_QUIET
from sim.model.gating.order import Node
from sim.model.gating.statements import all_tokens

# In how many of a thousand cycles those may be active that have a gate. All of the first share one: it stays shut. Of
# the second some are active in every other cycle, but those of one core, when something goes through it.
SELDOM, NOW_AND_THEN = 10, 100
WORDS = 2    # of a name say which core it is


def kinds(nodes: Sequence[Node], families: Sequence[tuple[int, ...]], rates: Sequence[int]) -> Callable[[int], Any]:
    """The kind of each node or, of a family, of its first (sim/model/gating/groups.py); `rates` of all nodes."""
    members: dict[int, tuple[int, ...]] = {k: (k,) for k in range(len(nodes))}
    for family in families:
        for k in family:
            del members[k]
        members[family[0]] = family
    rate = {unit: max(rates[k] for k in of) for unit, of in members.items()}
    cost = {unit: sum(len(all_tokens(s)) for k in of for s in nodes[k].statements) for unit, of in members.items()}
    written = {unit: {name for k in of for name in nodes[k].names.writes} for unit, of in members.items()}
    looked = {unit: {name for k in of for name in looked_at(nodes[k].statements)} for unit, of in members.items()}
    kind: dict[int, Any] = {}
    compared: set[str] = set()
    for limit in (SELDOM, NOW_AND_THEN):
        left = [unit for unit in members if unit not in kind]
        gated = behind_gates({unit: cost[unit] for unit in left}, {unit for unit in left if rate[unit] >= limit},
                             written, looked, compared)
        for unit in gated:
            kind[unit] = (limit, _core(nodes[unit]) if limit == NOW_AND_THEN else "")
            compared |= looked[unit]
    return lambda unit: kind.get(unit, NEVER_QUIET)


def _core(node: Node) -> str:
    names = names_of(node)
    path = names[0].removeprefix("harts_N_logic_").split("__DOT__") if names else [""]
    return "_".join("_".join(path).strip("_").split("_")[:WORDS])
