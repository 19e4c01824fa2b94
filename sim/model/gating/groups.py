"""All statements in an order that is allowed, in groups of which each is as active as a whole as its statements are."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from sim.model.gating.gates import Group
from sim.model.gating.harts import contracted
from sim.model.gating.order import Node

NEVER_QUIET = ()


def grouped(nodes: Sequence[Node], after: Sequence[set[int]], families: Sequence[tuple[int, ...]],
            kind: Callable[[int], Any]) -> list[Group]:
    """Groups of nodes of the same kind, as few as can be; those that harts share behind each other as far as can be.

    What is of the kind NEVER_QUIET has no gate."""
    shared = {family[0] for family in families}
    _, follows = contracted(families, nodes, after)
    before: dict[int, int] = defaultdict(int)
    for unit in follows:
        for there in follows[unit]:
            before[there] += 1
    ready: dict[bool, dict[Any, list[int]]] = {False: defaultdict(list), True: defaultdict(list)}

    def add(unit: int):
        heapq.heappush(ready[unit in shared][kind(unit)], unit)

    def take(from_: list[int]) -> tuple[int, ...]:
        taken = []
        while from_:
            taken.append(heapq.heappop(from_))
            for there in follows[taken[-1]]:
                before[there] -= 1
                if not before[there]:
                    add(there)
        return tuple(taken)

    for unit in follows:
        if not before[unit]:
            add(unit)
    groups, side = [], False
    while any(units for side in ready.values() for units in side.values()):
        waiting = {k: units for k, units in ready[side].items() if units}
        if not waiting:
            side = not side
            continue
        # The kind with the most to do: then others of the same come to it before it is its turn again.
        most = max(waiting, key=lambda k: (sum(len(nodes[unit].statements) for unit in waiting[k]), -min(waiting[k])))
        groups.append(Group(side, most != NEVER_QUIET, take(ready[side][most])))
    return groups
