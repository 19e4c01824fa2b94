"""Random accesses and random sources: the RTL against the reference model hw/pic/model.py, in every cycle.

The same run carries models with a planted fault each, and every one of them has to be found out.
"""

import random

import cocotb
import pytest

from hw.pic.controller import highest
from hw.pic.model import Command, Model, bits
from hw.pic.registers import CONTEXT, IPI_SOURCE, REGISTERS, SOURCES
from tests.hw import bench
from tests.hw.pic_dut import Pic, build, offset

CYCLES = 1500   # of a phase
TIMES = ("read_latency", "write_latency", "delivery_delay", "jitter")
# Per phase: the link's times; chance per cycle of a change of wires, and of an access; weight of LEVEL among accesses.
PHASES = (
    ((0, 0, 0, 0), 0.1, 0.5, 8),
    ((3, 7, 20, 0), 0.02, 0.2, 8),
    ((1, 0, 3, 9), 0.5, 1.0, 8),
    ((0, 2, 40, 2), 0.3, 0.9, 90),
)


class Stimulus:
    """Random commands and wires; looks into the model to choose accesses that do something."""

    def __init__(self, rng, model):
        self.rng = rng
        self.model = model
        self.wires = 0
        self.levels = 0     # weight of setting the level among all accesses

    def sources(self, chance):
        """The wires in the next cycle: some toggle, some together, and one likes to rise while it is being claimed."""
        access = self.model.access
        if access and access.effect == self.model.cycle and not access.command.write and self.rng.random() < 0.3:
            name, _ = self.model.decode(access.hart, access.command.address)
            best = self.model.best(self.model.candidates)
            if name == "CLAIM" and best is not None:
                self.wires |= 1 << best
        if self.rng.random() < chance:
            for _ in range(self.rng.choice((1, 1, 1, 2, 8))):
                self.wires ^= 1 << self.rng.randrange(SOURCES)
        return self.wires

    def mask(self):
        """A mask of sources, of any density."""
        return self.rng.choice((1 << self.rng.randrange(32), self.rng.getrandbits(32),
                                self.rng.getrandbits(32) | self.rng.getrandbits(32), 0xffff_ffff))

    def command(self, hart):
        """The next access of a hart."""
        rng = self.rng
        own = rng.choice([None] * 4 + list(self.model.harts))  # whose context, by which alias
        byte_mask = rng.choice((0xf,) * 6 + (rng.getrandbits(4),))

        def load(name, index=0):
            return Command(False, offset(name, own if name in CONTEXT else None, index))

        def store(name, data, index=0):
            return Command(True, offset(name, own if name in CONTEXT else None, index), data, byte_mask)

        # Mostly what the context serves itself, sometimes what another one does.
        server = (hart if own is None else own) if rng.random() < 0.7 else rng.choice(self.model.harts)
        served = list(bits(self.model.in_service[server]))
        number = rng.randrange(64) if rng.random() < 0.1 else rng.randrange(SOURCES)
        fields = REGISTERS["SOURCE"]
        source = (fields["PRIORITY"].put(rng.choice((0, 1, 2, 3, 7, 14, 15))) | fields["EDGE"].put(rng.getrandbits(1))
                  | fields["ROUTE"].put(rng.randrange(len(self.model.harts) + 1))
                  | fields["ANY"].put(rng.random() < 0.3))
        level = rng.choice((0, 0, 0, 15, 15, 1, 2, 3, 6, 14))
        choices = (
            (30, lambda: load("CLAIM")),
            (25, lambda: store("EOI", rng.choice(served) if served and rng.random() < 0.9 else number)),
            (self.levels, lambda: store("LEVEL", level | rng.getrandbits(32) & ~0xf)),
            (10, lambda: store("SOURCE", source | rng.getrandbits(32) & ~fields.mask, rng.randrange(SOURCES))),
            (3, lambda: store("ENABLE", self.mask())),
            (4, lambda: store("MASK", number)),
            (6, lambda: store("UNMASK", number)),
            (4, lambda: store("RAISE", self.mask())),
            (4, lambda: store("IPI", rng.getrandbits(9))),
            (3, lambda: store("CLEAR", self.mask())),
            (6, lambda: load(rng.choice(("LEVEL", "ENABLE", "DELIVERABLE", "INSERVICE", "PENDING", "ID")))),
            (2, lambda: load("SOURCE", rng.randrange(SOURCES))),
            (1, lambda: Command(bool(rng.getrandbits(1)), 4 * rng.getrandbits(14), rng.getrandbits(32))),
        )
        return rng.choices([make_command for _, make_command in choices], [weight for weight, _ in choices])[0]()


async def compare(pic, rng, model, mutants):
    """Run all phases; AssertionError where the RTL is not like `model`. Returns the mutants that no cycle betrayed."""
    dut, harts = pic.dut, model.harts
    stimulus = Stimulus(rng, model)
    alive = list(mutants)
    offered = [None] * len(harts)
    waiting = [False] * len(harts)

    async def cycle(wires, accesses):
        sources = stimulus.sources(wires)
        dut.sources.value = sources
        for h in harts:
            if offered[h] is None and not waiting[h] and rng.random() < accesses:
                offered[h] = command = stimulus.command(h)
                port = pic.ports[h]
                port.cmd_write.value = int(command.write)
                port.cmd_address.value = command.address
                port.cmd_data.value = command.data
                port.cmd_mask.value = command.mask
                port.cmd_valid.value = 1
        await pic.clock.tick()
        ready = sum(int(pic.ports[h].cmd_ready.value) << h for h in harts)
        responses = {h: int(pic.ports[h].rsp_data.value) for h in harts if pic.ports[h].rsp_valid.value}
        irq = int(dut.irq.value)

        def matches(expected):
            return (expected.ready == ready and expected.irq == irq and expected.responses.keys() == responses.keys()
                    and all(data in (None, responses[h]) for h, data in expected.responses.items()))

        expected = model.step(sources, offered)
        pic.clock.check(matches(expected), f"{expected} is expected, but ready is {ready:#x}, irq is {irq:#x} and the "
                        f"responses are {responses}")
        for mutant in list(alive):
            try:
                found = not matches(mutant.step(sources, offered))
            except (KeyError, IndexError, TypeError):
                found = True  # it went so far astray that the accesses make no sense to it
            if found:
                alive.remove(mutant)
        for h in harts:
            if ready >> h & 1:
                pic.ports[h].cmd_valid.value = 0
                offered[h] = None
                waiting[h] = True
            if h in responses:
                waiting[h] = False

    def catch_up():
        """Let the models live through the cycles that reading and writing CSRs took."""
        while model.cycle < pic.clock.cycle - origin:
            for each in [model, *alive]:
                each.step(stimulus.wires, [None] * len(harts))

    origin = pic.clock.cycle
    for times, wires, accesses, stimulus.levels in PHASES:
        seed = rng.getrandbits(32)
        for name, time in zip(TIMES, times, strict=True):
            await pic.csr.write(name, time)
        await pic.csr.write("seed", seed)
        await pic.clock.tick(2)
        catch_up()
        for each in [model, *alive]:
            for name, time in zip(TIMES, times, strict=True):
                setattr(each, name, time)
            each.seed(seed)
        for _ in range(CYCLES):
            await cycle(wires, accesses)
        while any(offered) or any(waiting):
            await cycle(0, 0)
        for _ in range(50):  # until the accounting shows all of it, and all deliveries are through
            await cycle(0, 0)
        for source in range(SOURCES):
            seen = await pic.read_counters(source)
            for each in [model, *alive]:
                if each is model:
                    pic.clock.equal(f"accounting of source {source}", seen, each.counts[source])
                elif seen != each.counts[source]:
                    alive.remove(each)
        for name in model.totals:
            seen = await pic.csr.read(name)
            for each in [model, *alive]:
                if each is model:
                    pic.clock.equal(name, seen, each.totals[name])
                elif seen != each.totals[name]:
                    alive.remove(each)
        pic.clock.equal("accounting_lost", await pic.csr.read("accounting_lost"), 0)
    return alive


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
    def deliver(self, hart, up):
        now = super().deliver(hart, up)
        was, self.was = getattr(self, "was", {}).get(hart), {**getattr(self, "was", {}), hart: now}
        return now or bool(was)


class DelayGoesOnAfterFall(Model):
    def step(self, sources, commands):
        since = list(self.up_since)
        outputs = super().step(sources, commands)
        for h in self.harts:
            if self.up_since[h] is None and since[h] is not None and self.cycle - since[h] < self.delivery[h]:
                self.up_since[h] = since[h]
        return outputs


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


RTL_FAULTS = {  # what is replaced in the RTL's source, and by what
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
    alive = await compare(pic, random.Random(seed), Model(harts), mutants)
    pic.clock.equal("faults not found", [type(mutant).__name__ for mutant in alive], [])


@pytest.mark.parametrize("level, harts, seed", [*(("rtl", h, s) for s in (1, 2, 3) for h in (1, 2, 4)),
                                                ("netlist", 2, 1)])
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
