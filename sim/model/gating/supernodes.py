"""Which statements share a gate: supernodes, found by what is cheapest in cycles in which the model was watched.

As in ESSENT (Beamer and Donofrio, "Efficiently Exploiting Low Activity Factors to Accelerate RTL Simulation", DAC 2020)
and GSIM (Chen et al., DAC 2025) a supernode is a piece of the graph that can be executed as a whole: no path leaves it
and enters it again. They estimate from size and structure how often a piece is active; here it is observed
(sim/model/gating/activity.py), so the cost of a piece is known: to test its gate, to compute it when the gate is open,
and to compare what it writes with the old values, if another piece depends on them."""

import heapq
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

# Estimates in instructions: of a gate; of an open one; of a compared variable; and the work possible during the
# misprediction of a gate. With one hart the processor predicts better than that.
HEAD, OPEN, COMPARISON, GUESS = 2.0, 2.0, 4.5, 15.0
FEW = 12      # readers of a variable that has more are not tried with each other
SELDOM = 0.002
# The probability per cycle that a variable changes that did not while the model was watched, as a watched run covers
# only some uses: so readers of many of those are not joined with large readers of others. Of 1e-4 to 6e-3, a kernel's
# boot took the fewest instructions with the largest.
DOUBT = 6e-3
BETTER = 0.01


@dataclass
class Piece:
    """Units that are executed together. `active`: a bit for each of the `cycles` watched, of every hart if they share
    it, when `harts` is their number, else 1. Costs are those of one of them; names are those of all."""

    units: list[int]
    cost: float
    active: int
    cycles: int
    harts: int
    core: str = ""     # its core: all that is known of pieces never seen active

    @property
    def shared(self) -> bool:
        return self.harts > 1

    @property
    def comparison(self) -> float:
        """The cost of comparing a variable that it writes: each hart compares only its own."""
        return COMPARISON / self.harts

    @property
    def rate(self) -> float:
        return self.active.bit_count() / self.cycles


class Supernodes:
    """Divides units into pieces with gates and those that are always executed.

    `pieces`: one for each unit, by its name; `follows`: the units that come after each, an order without loops;
    `written`: the variables that each writes, and no other; `looked`: those whose values from before it each
    reads; `never`: units that cannot be behind a gate."""

    def __init__(self, pieces: Mapping[int, Piece], follows: Mapping[int, Collection[int]],
                 written: Mapping[int, Iterable[str]], looked: Mapping[int, Collection[str]], never: Collection[int]):
        self.pieces = dict(pieces)
        self.after = {unit: set(others) for unit, others in follows.items()}
        self.before: dict[int, set[int]] = {unit: set() for unit in self.pieces}
        for unit, others in self.after.items():
            for other in others:
                self.before[other].add(unit)
        self.always = set(never)
        self.guess = GUESS if any(piece.shared for piece in pieces.values()) else 0.0
        self.version = dict.fromkeys(self.pieces, 0)
        self.reached = self._reached()
        anybody = frozenset().union(*looked.values())
        self.wrote = {unit: set(written[unit]) & anybody for unit in self.pieces}
        self.writer = {name: unit for unit, names in self.wrote.items() for name in names}
        self.looks: dict[int, set[str]] = {
            unit: {name for name in looked[unit] if name in self.writer} for unit in self.pieces}
        # Of a variable: the pieces that read it, after its writer and not in the same piece; and whether one reads its
        # value of the last cycle, and has to be woken even if it is the writer.
        self.lookers: dict[str, set[int]] = defaultdict(set)
        self.kept: set[str] = set()
        for unit, names in self.looks.items():
            if unit in self.always:
                continue
            for name in names:
                if self.reached[self.writer[name]] >> unit & 1:
                    self.lookers[name].add(unit)
                else:
                    self.kept.add(name)
        # The variables that each reads, others write, and that are not known to change.
        self.doubtful = {unit: {name for name in names if self.writer[name] != unit
                                and not (self.pieces[unit].active and self.pieces[self.writer[name]].active)}
                         for unit, names in self.looks.items()}
        self.told: dict[int, set[str]] = defaultdict(set)   # by writer: the variables to compare
        for name, unit in self.writer.items():
            if name in self.kept or self.lookers[name]:
                self.told[unit].add(name)
        self.heap: list[tuple[float, int, int, int, int]] = []

    def _reached(self) -> dict[int, int]:
        """The direct and indirect successors of each unit, as bits."""
        reached: dict[int, int] = {}
        for unit in reversed(self._order()):
            reached[unit] = 0
            for other in self.after[unit]:
                reached[unit] |= reached[other] | 1 << other
        return reached

    def _order(self) -> list[int]:
        waits = {unit: len(others) for unit, others in self.before.items()}
        ready = [unit for unit, n in waits.items() if not n]
        for unit in ready:
            for other in self.after[unit]:
                waits[other] -= 1
                if not waits[other]:
                    ready.append(other)
        return ready

    def _allowed(self, a: int, b: int) -> bool:
        """Whether no other piece is between the two in the order."""
        if self.reached[b] >> a & 1:
            a, b = b, a
        return (not self.reached[a] >> b & 1
                or not any(self.reached[other] >> b & 1 for other in self.after[a] if other != b))

    def _gate(self, active: int, cycles: int) -> float:
        """The cost of a piece's gate."""
        return HEAD + (OPEN * active.bit_count() + self.guess * (active ^ active >> 1).bit_count()) / cycles

    def _costs(self, unit: int) -> float:
        piece = self.pieces[unit]
        inside = piece.cost + piece.comparison * len(self.told[unit])
        if unit in self.always:
            return inside
        return (self._gate(piece.active, piece.cycles)
                + (piece.rate + DOUBT * len(self.doubtful[unit])) * inside)

    def _gain(self, a: int, b: int) -> float:
        """The gain from joining two pieces."""
        one, other = self.pieces[a], self.pieces[b]
        untold = sum(name not in self.kept and len(self.lookers[name]) == 1
                     for x, y in ((a, b), (b, a)) for name in self.told[x] & self.looks[y])
        inside = one.cost + other.cost + one.comparison * (len(self.told[a]) + len(self.told[b]) - untold)
        active = one.active | other.active
        rate = active.bit_count() / one.cycles + DOUBT * len(self._doubtful(a, b))
        return self._costs(a) + self._costs(b) - self._gate(active, one.cycles) - rate * inside

    def _doubtful(self, a: int, b: int) -> set[str]:
        """Of the variables that two pieces read and neither writes, those not known to change."""
        return {name for name in self.doubtful[a] | self.doubtful[b] if self.writer[name] not in (a, b)}

    def _offer(self, a: int, b: int):
        if a == b or a in self.always or b in self.always or self.pieces[a].shared != self.pieces[b].shared:
            return
        gain = self._gain(a, b)
        if gain > BETTER:
            heapq.heappush(self.heap, (-gain, a, b, self.version[a], self.version[b]))

    def _near(self, unit: int) -> set[int]:
        """Pieces that share a variable with one."""
        near: set[int] = set()
        for name in self.told[unit]:
            if len(self.lookers[name]) <= FEW:
                near |= self.lookers[name]
        for name in self.looks[unit]:
            near.add(self.writer[name])
            if len(self.lookers[name]) <= FEW:
                near |= self.lookers[name]
        return near - {unit}

    def _join(self, a: int, b: int):
        """Piece `b` becomes part of `a`."""
        self.doubtful[a] = self._doubtful(a, b)
        del self.doubtful[b]
        one, other = self.pieces[a], self.pieces.pop(b)
        self.pieces[a] = Piece(one.units + other.units, one.cost + other.cost, one.active | other.active, one.cycles,
                               one.harts, one.core)
        for near, mine in ((self.before, self.after), (self.after, self.before)):
            for unit in mine.pop(b):
                near[unit].discard(b)
                if unit != a:
                    near[unit].add(a)
                    mine[a].add(unit)
        both = 1 << a | 1 << b
        self.reached[a] = (self.reached[a] | self.reached.pop(b)) & ~both
        for unit, reached in self.reached.items():
            if unit != a and reached & both:
                self.reached[unit] = (reached | self.reached[a] | 1 << a) & ~(1 << b)
        self.told[a] |= self.told.pop(b, set())
        for name in self.wrote[b]:
            self.writer[name] = a
        self.wrote[a] |= self.wrote.pop(b)
        for name in self.looks[b]:
            if b in self.lookers[name]:
                self.lookers[name].discard(b)
                self.lookers[name].add(a)
        self.looks[a] |= self.looks.pop(b)
        for name in self.told[a] & self.looks[a]:
            self.lookers[name].discard(a)
            if name not in self.kept and not self.lookers[name]:
                self.told[a].discard(name)
        self.version[a] += 1

    def _join_seldom(self):
        """Joins units that are never active, into as few pieces of each core as an order allows."""
        waits = {unit: len(others) for unit, others in self.before.items()}
        after = {unit: sorted(others) for unit, others in self.after.items()}

        def kind(unit: int) -> tuple[bool, bool, str]:
            piece = self.pieces[unit]
            seldom = unit not in self.always and piece.rate < SELDOM
            return seldom, piece.shared, piece.core if seldom else ""

        ready: dict[tuple[bool, bool, str], list[int]] = defaultdict(list)
        for unit, n in waits.items():
            if not n:
                ready[kind(unit)].append(unit)
        pieces = []
        while any(ready.values()):
            # Active ones first: then more of the others are ready.
            now = max((one for one, units in ready.items() if units), key=lambda one: (not one[0], len(ready[one])))
            taken = []
            while ready[now]:
                taken.append(ready[now].pop())
                for other in after[taken[-1]]:
                    waits[other] -= 1
                    if not waits[other]:
                        ready[kind(other)].append(other)
            if now[0]:
                pieces.append(taken)
        for first, *others in pieces:
            for other in others:
                self._join(first, other)

    def divide(self) -> list[tuple[bool, list[int]]]:
        """Whether each piece has a gate, and its units."""
        self._join_seldom()
        while True:
            for a in sorted(self.pieces):
                for b in sorted(self._near(a)):
                    if a < b or a not in self._near(b):
                        self._offer(a, b)
            alike: dict[int, list[int]] = defaultdict(list)
            for unit in sorted(self.pieces):
                alike[self.pieces[unit].active].append(unit)
            for units in alike.values():
                for i, a in enumerate(units):
                    for b in units[i + 1:i + 4]:
                        self._offer(a, b)
            if not self._join_all():
                break
        self._open()
        return [(unit not in self.always, piece.units) for unit, piece in sorted(self.pieces.items())]

    def _join_all(self) -> int:
        joined = 0
        while self.heap:
            gain, a, b, *then = heapq.heappop(self.heap)
            if (a not in self.pieces or b not in self.pieces or then != [self.version[a], self.version[b]]
                    or not self._allowed(a, b)):
                continue
            now = self._gain(a, b)   # other readers of the same may have been joined meanwhile
            if now < BETTER:
                continue
            if now < -gain - 0.5:
                heapq.heappush(self.heap, (-now, a, b, self.version[a], self.version[b]))
                continue
            self._join(a, b)
            joined += 1
            for other in sorted(self._near(a)):
                self._offer(a, other)
        return joined

    def _open(self):
        """Removes the gates that cost more than they save: variables that only others read need not be compared."""
        while True:
            opened = 0
            for unit in sorted(self.pieces, key=lambda unit: -self.pieces[unit].rate):
                if unit in self.always:
                    continue
                piece = self.pieces[unit]
                untold = [name for name in self.looks[unit] if self.lookers[name] == {unit} and name not in self.kept]
                inside = piece.cost + piece.comparison * len(self.told[unit])
                saved = piece.cycles * (self._gate(piece.active, piece.cycles) + piece.rate * inside - inside) + sum(
                    writer.comparison * (writer.cycles if self.writer[name] in self.always
                                         else writer.active.bit_count())
                    for name in untold for writer in (self.pieces[self.writer[name]],))
                if saved <= 0:
                    continue
                self.always.add(unit)
                opened += 1
                for name in self.looks[unit]:
                    self.lookers[name].discard(unit)
                    if not self.lookers[name] and name not in self.kept:
                        self.told[self.writer[name]].discard(name)
            if not opened:
                return
