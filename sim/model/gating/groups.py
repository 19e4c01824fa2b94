"""All statements in an order that is allowed: the pieces of sim/model/gating/supernodes.py one after the other."""

import heapq
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

from sim.model.gating.gates import Group
from sim.model.gating.harts import contracted
from sim.model.gating.order import Node


def grouped(nodes: Sequence[Node], after: Sequence[set[int]], families: Sequence[tuple[int, ...]],
            pieces: Sequence[tuple[bool, Collection[int]]], seldom: Collection[int] = ()) -> list[Group]:
    """Groups of nodes, those that harts share contiguous as far as possible.

    `pieces`: whether each has a gate, and its units; a unit is a family's first node, or a node that is in none. Those
    of `seldom` units are contiguous where possible: one test of all their gates skips them."""
    shared = {family[0] for family in families}
    _, follows = contracted(families, nodes, after)
    piece_of = {unit: i for i, (gated, units) in enumerate(pieces) if gated for unit in units}
    apart = {unit: len(pieces) + unit for _, units in pieces for unit in units if unit not in piece_of}
    of = piece_of | apart
    units: dict[int, list[int]] = defaultdict(list)
    for unit in follows:
        units[of[unit]].append(unit)
    comes: dict[int, set[int]] = defaultdict(set)
    waits: dict[int, int] = dict.fromkeys(units, 0)
    for unit, others in follows.items():
        comes[of[unit]] |= {of[other] for other in others} - {of[unit]}
    for others in comes.values():
        for other in others:
            waits[other] += 1
    ready: dict[tuple[bool, bool], list[tuple[int, int]]] = defaultdict(list)

    def add(piece: int):
        first = min(units[piece])
        heapq.heappush(ready[units[piece][0] in shared, units[piece][0] in seldom], (first, piece))

    for piece, n in waits.items():
        if not n:
            add(piece)
    groups: list[Group] = []
    side = (False, False)
    while any(ready.values()):
        if not ready[side]:
            side = max((one for one, waiting in ready.items() if waiting),
                       key=lambda one: (one[0] == side[0], not one[1]))
        _, piece = heapq.heappop(ready[side])
        gated, taken = piece < len(pieces), sorted(units[piece])
        taken = _in_order(taken, follows)
        if not gated and groups and not groups[-1].gated and groups[-1].shared == side[0]:
            groups[-1] = Group(side[0], False, (*groups[-1].nodes, *taken))
        else:
            groups.append(Group(side[0], gated, tuple(taken), side[1]))
        for other in comes[piece]:
            waits[other] -= 1
            if not waits[other]:
                add(other)
    if sum(len(group.nodes) for group in groups) != len(follows):
        raise AssertionError("pieces that wait for each other")
    return groups


def _in_order(units: list[int], follows: Mapping[int, Collection[int]]) -> list[int]:
    """The units of a piece, each after those that it has to follow."""
    mine = set(units)
    waits = dict.fromkeys(units, 0)
    for unit in units:
        for other in follows[unit]:
            if other in mine:
                waits[other] += 1
    ready = [unit for unit in units if not waits[unit]]
    out = []
    while ready:
        out.append(heapq.heappop(ready))
        for other in follows[out[-1]]:
            if other in mine:
                waits[other] -= 1
                if not waits[other]:
                    heapq.heappush(ready, other)
    return out
