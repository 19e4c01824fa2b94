"""Random accesses and random sources: the RTL against the reference model hw/pic/model.py, in every cycle.

The same run has models with a planted fault each, and must find every one of them.
"""

import random

import cocotb
import pytest

from hw.pic.controller import highest
from hw.pic.model import Model, bits
from hw.pic.registers import IPI_SOURCE
from tests.hw import bench
from tests.hw.pic_compare import compare
from tests.hw.pic_dut import Pic, build

CYCLES = 1500   # of a phase
PHASES = (      # as pic_compare.compare() takes them
    ((0, 0, 0, 0, 0, 0, 0), 0.1, 0.5, 8),
    ((3, 7, 20, 0, 2, 7, 0), 0.02, 0.2, 8),
    ((1, 0, 3, 9, 1, 5, 6), 0.5, 1.0, 8),
    ((0, 2, 40, 2, 0, 1, 30), 0.3, 0.9, 90),
    ((2, 1, 0, 0, 1, 0, 60), 0.3, 0.9, 90),
)


# Planted faults: each is a model that is wrong in one way -------------------------------------------------------------

class TieGoesToTheLast(Model):
    def best(self, candidates):
        return max(bits(candidates), key=lambda s: (self.get(s, "PRIORITY"), s), default=None)


class LowestPriorityFirst(Model):
    def best(self, candidates):
        return min(bits(candidates), key=lambda s: (self.get(s, "PRIORITY"), s), default=None)


class EqualPriorityIsEnough(Model):
    def exceeds(self, source, hart):
        return self.get(source, "PRIORITY") >= self.level[hart] and self.get(source, "PRIORITY") > 0


class LevelIgnored(Model):
    def exceeds(self, source, hart):
        return self.get(source, "PRIORITY") > 0


class AnyOnlyToItsRoute(Model):
    def offered(self, source, hart):
        return self.get(source, "ROUTE") == hart


class AnyOnlyToOthers(Model):
    def offered(self, source, hart):
        return self.get(source, "ANY") != (self.get(source, "ROUTE") == hart)


class ServedLevelIsOfferedAgain(Model):
    def blocked(self):
        return 0


class ServedEdgeIsHeldBack(Model):
    def blocked(self):
        return super().blocked() | sum(mask for mask in self.in_service[:1])


class ServedOnlyBlocksItsHart(Model):
    def blocked(self):
        return self.in_service[0] & ~self.edge


class ArrivalLostToClaim(Model):
    def latched(self, dropped, arrived):
        return (self.latch | arrived) & ~dropped


class ClaimKeepsLatch(Model):
    def claim(self, context):
        return super().claim(context)[0], 0


class ClaimDoesNotServe(Model):
    def claim(self, context):
        before = self.in_service[context]
        answer = super().claim(context)
        self.in_service[context] = before
        return answer


class EndEndsForAll(Model):
    def end(self, context, mask):
        for h in self.harts:
            self.in_service[h] &= ~mask


class EndIsForgotten(Model):
    def end(self, context, mask):
        pass


class RaiseOnlyEdges(Model):
    def store(self, hart, command):
        dropped, raises = super().store(hart, command)
        return dropped, raises & self.edge


class ClearIsIgnored(Model):
    def store(self, hart, command):
        return 0, super().store(hart, command)[1]


class MergedIsWhileWaiting(Model):
    def count_arrivals(self, rises, raises, pending):
        super().count_arrivals(rises, raises, pending & ~self.blocked())


class HartZeroFirst(Model):
    def next_hart(self, requests):
        return min(requests)


class FallIsLate(Model):
    def set_out(self, hart, arrival, up):
        super().set_out(hart, arrival + (not up), up)


class FallIsNeverLate(Model):
    def set_out(self, hart, arrival, up):
        super().set_out(hart, arrival if up else self.cycle, up)


class FallIsAsLateAsTheRise(Model):
    def set_out(self, hart, arrival, up):
        super().set_out(hart, arrival if up else self.cycle + self.delivery_delay + 1, up)


class FallDoesNotOvertake(Model):
    def set_out(self, hart, arrival, up):
        ways = self.changes[hart]
        super().set_out(hart, arrival if up or not ways else max(arrival, ways[-1][0] + 1), up)


class RiseOvertakesNoFall(Model):
    def set_out(self, hart, arrival, up):
        ways = self.changes[hart]
        super().set_out(hart, max(arrival, ways[-1][0] + 1) if up and ways else arrival, up)


class OneChangeOnItsWay(Model):
    def set_out(self, hart, arrival, up):
        if len(self.changes[hart]) == 1 and arrival > self.cycle + 1:
            self.changes[hart].pop()
        else:
            super().set_out(hart, arrival, up)


class ThreeChangesOnTheirWay(Model):
    def set_out(self, hart, arrival, up):
        ways = self.changes[hart]
        if len(ways) == 2 and ways[-1][0] < arrival:
            ways.append((arrival, up))
        else:
            super().set_out(hart, arrival, up)


class AllOfItIsBefore(Model):
    def ways(self, write):
        return super().ways(write)[0], 0


class AllOfItIsBehind(Model):
    def ways(self, write):
        return (super().ways(write)[0],) * 2


class WayBackComesOnTop(Model):
    def ways(self, write):
        latency, back = super().ways(write)
        return latency + back, back


class WaysBackSwapped(Model):
    def ways(self, write):
        latency, _ = super().ways(write)
        return latency, min(latency, self.read_back if write else self.write_back)


class MergesOnlyLatched(Model):
    def count_arrivals(self, rises, raises, pending):
        super().count_arrivals(rises, raises, pending & self.latch)


class WaitCountsFromOne(Model):
    def count_claim(self, source):
        super().count_claim(source)
        self.counts[source].total_wait += 1


class WaitGoesOnAfterClaim(Model):
    def step(self, sources, commands):
        was = self.was_waiting
        outputs = super().step(sources, commands)
        self.was_waiting |= was & self.waiting()
        return outputs


class ClaimSeesItsOwnCycle(Model):
    def claim(self, context):
        fresh = self.deliverable(context)
        self.candidates, self.candidates_since = fresh, list(self.waiting_since)
        return super().claim(context)


FAULTS = [fault for fault in list(globals().values())
          if isinstance(fault, type) and issubclass(fault, Model) and fault is not Model]


# Runs -----------------------------------------------------------------------------------------------------------------

def last_of_equals(priorities):
    """controller.highest, but wrong: of several that are equal, the last one."""
    priority, place = highest(priorities[::-1])
    return priority, len(priorities) - 1 - place


RTL_FAULTS = {  # text in the RTL's source, and its replacement
    "hw.pic.controller.highest": last_of_equals,
    "hw.pic.controller.IPI_SOURCE": IPI_SOURCE + 1,
}


def make(harts, seed, faults, late_accounting=False):
    return build(harts, late_accounting)


@cocotb.test()
async def matches_the_model(dut):
    harts, seed, faults, *_ = bench.arguments()
    pic = await Pic.start(dut, harts)
    mutants = [fault(harts) for fault in FAULTS] if faults else []
    alive = await compare(pic, random.Random(seed), Model(harts), PHASES, CYCLES, mutants)
    pic.clock.equal("faults not found", [type(mutant).__name__ for mutant in alive], [])


@pytest.mark.parametrize("level, harts, seed", [*(("rtl", h, s) for s in (1, 2, 3) for h in (1, 2, 4)),
                                                pytest.param("netlist", 2, 1, marks=pytest.mark.board_long)])
def test_random_traffic_matches_the_model(level, harts, seed):
    bench.simulate(make, harts, seed, False, level=level)


@pytest.mark.parametrize("harts, seed", [(1, 1), (4, 2)])
def test_counting_a_cycle_late_counts_the_same(harts, seed):
    bench.simulate(make, harts, seed, False, True)


@pytest.mark.parametrize("seed", [4, 5])
def test_every_planted_fault_is_found(seed):
    bench.simulate(make, 2, seed, True)


@pytest.mark.parametrize("part", RTL_FAULTS)
def test_a_planted_fault_of_the_rtl_is_found(part, monkeypatch):
    monkeypatch.setattr(part, RTL_FAULTS[part])
    with pytest.raises(pytest.fail.Exception, match=r"matches_the_model: cycle \d+: "):
        bench.simulate(make, 2, 6, False)
