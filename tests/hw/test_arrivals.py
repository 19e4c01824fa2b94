"""Arrival player (hw/arrivals) on Verilator: cycles of every arrival, wires, losses, and the list."""

import random
import re

import cocotb
from litex.gen import LiteXModule

from hw.arrivals.core import ENTRIES, INTERVAL_BITS, MIN_INTERVAL, START_CYCLES, WIRES, ArrivalPlayer
from hw.common.csr import csr_registers
from support.cache import REPO
from tests.hw import bench
from tests.hw.register_storm import CsrWrites, Storm

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


def make():
    top = LiteXModule()
    top.player = player = ArrivalPlayer()
    top.bank = bank = bench.CsrBank(player, bridged=True)
    return top, {"csr": bank.bus, "wide": bank.wishbone, "seen": bank.seen, "irq": player.irq}


def entry(interval, wire=0):
    return wire << 28 | interval


class Player:
    """The core under test. `rises` has (cycle, wire) of each rise of a wire."""
    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock
        self.csr = bench.CsrBus(dut, clock, bench.csr_layout(ArrivalPlayer()))
        self.rises = []
        cocotb.start_soon(self.watch())

    async def watch(self):
        before = 0
        while True:
            await self.clock.tick()
            now = int(self.dut.irq.value)
            self.rises += [(self.clock.cycle, wire) for wire in range(WIRES) if now & ~before & 1 << wire]
            before = now

    async def load(self, *entries):
        await self.csr.write("index", 0)
        for each in entries:
            await self.csr.write("entry", each)
        await self.csr.write("entries", len(entries))

    async def play(self):
        """Start; the cycle in which the write of `run` is on the CSR bus."""
        self.rises.clear()
        written = self.clock.cycle + 1
        await self.csr.write("run", 1)
        return written

    async def expect(self, **values):
        for name, expected in values.items():
            self.clock.equal(name, await self.csr.read(name), expected)


async def start(dut):
    clock = await bench.start(dut)
    return clock, Player(dut, clock)


async def answer(player):
    """Acknowledges each wire as soon as it is seen up, with a write a cycle."""
    layout, dut = player.csr.layout, player.dut
    dut.csr_adr.value = layout["acknowledge"][0]
    while True:
        dut.csr_dat_w.value = int(dut.irq.value)
        dut.csr_we.value = 1
        await player.clock.tick()


def expected_rises(written, entries, rounds=1):
    cycle, rises = written + START_CYCLES, []
    for each in entries * rounds:
        cycle += max(each & (1 << 28) - 1, MIN_INTERVAL)
        rises.append((cycle, each >> 28))
    return rises


@in_simulator
async def registers_after_reset(dut):
    _, player = await start(dut)
    await player.expect(index=0, entries=ENTRIES, run=0, pending=0, arrivals=0, lost=0)


@in_simulator
async def arrivals_come_to_the_cycle(dut):
    clock, player = await start(dut)
    entries = [entry(100, 1), entry(7, 2), entry(3, 0), entry(2, 7), entry(1, 3), entry(0, 4), entry(40, 5)]
    await player.load(*entries)
    written = await player.play()
    await clock.tick(170)
    expected = expected_rises(written, entries)
    clock.equal("rises", player.rises, expected)
    await player.expect(pending=0b10111111, arrivals=7, lost=0)


@in_simulator
async def the_list_begins_anew(dut):
    clock, player = await start(dut)
    rng = random.Random(1)
    for length in (1, 2, 3, 5):
        entries = [entry(rng.choice((2, 4, 9, 30)) if length > 1 else 5, n) for n in range(length)]
        await player.load(*entries)
        written = await player.play()
        answering = cocotb.start_soon(answer(player))
        await clock.tick(400)
        answering.cancel()
        dut.csr_we.value = 0
        expected = [rise for rise in expected_rises(written, entries, 200) if rise[0] <= clock.cycle]
        assert len(expected) > 10
        clock.equal("rises", player.rises, expected)
        await player.csr.write("run", 0)


@in_simulator
async def an_arrival_at_a_wire_that_is_up_is_lost_and_counted(dut):
    clock, player = await start(dut)
    await player.load(entry(10, 1), entry(10, 1), entry(10, 2), entry(1000, 2), entry(5000))
    await player.play()
    await clock.tick(60)
    await player.expect(arrivals=3, lost=1, pending=0b110)
    await player.csr.write("acknowledge", 0b010)
    await player.expect(pending=0b100, lost=1)
    await clock.tick(1000)
    await player.expect(arrivals=4, lost=2, pending=0b100)


@in_simulator
async def an_arrival_that_meets_its_acknowledgement_is_new(dut):
    """At every distance of the two: an arrival is seen by a later one, or counted as lost, never neither."""
    clock, player = await start(dut)
    await player.load(entry(20), entry(20), entry(5000))
    outcomes = set()
    for wait in range(10, 40):
        await player.csr.write("acknowledge", 0xff)
        written = await player.play()
        await clock.tick(written + START_CYCLES + wait - clock.cycle)
        await player.csr.write("acknowledge", 1)
        await clock.tick(40)
        lost, pending = await player.csr.read("lost"), await player.csr.read("pending")
        await player.expect(arrivals=2)
        outcomes.add((len(player.rises), lost, pending))
        clock.check(len(player.rises) + lost == 2 or (lost, pending) == (0, 1), f"{wait}: {player.rises}, {lost}")
    # Before the first; between the two; in the cycle of the second, whose wire then just stays up; after the second.
    assert outcomes == {(1, 1, 1), (2, 0, 1), (1, 0, 1), (1, 1, 0)}, outcomes


@in_simulator
async def stopping_keeps_what_is_pending(dut):
    clock, player = await start(dut)
    await player.load(entry(10, 6), entry(10, 3))
    await player.play()
    await clock.tick(18)
    await player.csr.write("run", 0)
    await clock.tick(100)
    await player.expect(run=0, pending=0b1000000, arrivals=1)
    written = await player.play()       # from entry 0 on, and the counters too
    await clock.tick(14)
    await player.expect(arrivals=1, lost=1)
    clock.equal("rises", player.rises, [])
    await clock.tick(6)
    clock.equal("second", player.rises, [(written + START_CYCLES + 20, 3)])


@in_simulator
async def stopped_in_the_cycle_of_an_arrival(dut):
    """The write of 0 wins over the arrival of its cycle; the counter and the wire agree at every distance."""
    clock, player = await start(dut)
    await player.load(entry(15, 2), entry(1000))
    seen = set()
    for wait in range(8, 20):
        await player.csr.write("acknowledge", 0xff)
        written = await player.play()
        await clock.tick(written + START_CYCLES + wait - clock.cycle)
        stopped = clock.cycle + 1
        await player.csr.write("run", 0)
        await clock.tick(30)
        arrivals = await player.csr.read("arrivals")
        await player.expect(pending=4 * arrivals, lost=0)
        clock.equal(f"arrivals at {wait}", arrivals, int(written + START_CYCLES + 15 <= stopped + 1))
        seen.add(arrivals)
    assert seen == {0, 1}


@in_simulator
async def the_whole_list_can_be_played(dut):
    clock, player = await start(dut)
    rng = random.Random(2)
    entries = [entry(rng.randrange(8, 13), rng.randrange(WIRES)) for _ in range(ENTRIES)]
    await player.load(*entries)
    await player.expect(index=0)        # it has wrapped
    written = await player.play()
    answering = cocotb.start_soon(answer(player))
    await clock.tick(sum(each & 0xffff for each in entries) + 500)
    answering.cancel()
    dut.csr_we.value = 0
    expected = [rise for rise in expected_rises(written, entries, 2) if rise[0] <= clock.cycle]
    assert len(expected) > ENTRIES
    clock.equal("rises", player.rises, expected)
    await player.expect(arrivals=len(expected), lost=0)


@in_simulator
async def the_longest_interval_counts_down(dut):
    """Its 28 bits are all there: it can not be waited for, but the arrival must not come early."""
    clock, player = await start(dut)
    for bit in range(14, 28):
        await player.load(entry(1 << bit))
        await player.play()
        await clock.tick(1000)
        await player.expect(arrivals=0, run=1)


class Model:
    """The core as README.md describes it, a cycle at a time."""
    def __init__(self, entries):
        self.list = list(entries)
        self.csr = {"index": 0, "entries": ENTRIES}
        self.irq = self.arrivals = self.lost = 0
        self.begins = 0         # cycles until entry 0 is there
        self.position = 0       # of the entry that comes next
        self.left = None        # cycles until the arrival
        self.wire = 0
        self.written = None     # the write that the CSRs have from this cycle on

    def step(self, write):
        """Go on to the next cycle; `write` reaches the CSRs in this one."""
        name, value = self.written or (None, 0)
        restarts = name == "run"
        arrives = self.left == 0 and not restarts
        takes = not restarts and (arrives or self.begins == 1)
        up = self.irq & ~(value if name == "acknowledge" else 0)
        self.irq = up | (1 << self.wire if arrives else 0)
        self.arrivals += arrives
        self.lost += arrives and up >> self.wire & 1
        self.left = None if self.left is None else self.left - 1
        self.begins = max(self.begins - 1, 0)
        if takes:
            entry = self.list[self.position]
            self.left = max(entry & (1 << INTERVAL_BITS) - 1, MIN_INTERVAL) - 1
            self.wire = entry >> INTERVAL_BITS & WIRES - 1
            played = min(max(self.csr["entries"], 1), ENTRIES)
            self.position = 0 if self.position + 1 >= played else self.position + 1
        if restarts:
            self.left, self.position, self.begins = None, 0, 2 * value
            if value:
                self.arrivals = self.lost = 0
        if name == "entry":
            self.list[self.csr["index"]] = value
            self.csr["index"] = (self.csr["index"] + 1) % ENTRIES
        self.written = write
        if write:
            self.csr[write[0]] = write[1]


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, at any time, in any register: the wires are those of a model in every cycle."""
    clock, player = await start(dut)
    rng = random.Random(5)
    entries = [entry(rng.randrange(40), rng.randrange(WIRES)) for _ in range(ENTRIES)]
    await player.load(*entries)
    model = Model(entries)
    registers = csr_registers(bench.csrs_of(ArrivalPlayer()))
    writes = CsrWrites(dut, registers)
    arrivals = 0

    async def follow():
        nonlocal arrivals
        while True:
            clock.equal("wires", dut.irq, model.irq)
            before = model.arrivals
            model.step(writes.now())
            arrivals += max(model.arrivals - before, 0)
            await clock.tick()

    def next_index(_):
        storm.kept["index"] = (storm.kept["index"] + 1) % ENTRIES

    storm = Storm(clock, bench.WishboneBus(dut, "wide", clock), registers, seed=6, whole=True,
                  on={"entry": next_index},
                  harmless={"entry": lambda value, _: value & 0xf000_003f,       # or nothing arrives any more
                            "run": lambda value, _: value | (rng.random() < .5)})
    storm.kept |= {"entry": entries[-1], "entries": ENTRIES}
    cocotb.start_soon(follow())

    async def rounds():
        """Lists of any number of entries are played for a while."""
        for _ in range(25):
            await storm.write("entries", rng.choice((0, 1, 2, 3, 7, ENTRIES, ENTRIES + 1, 2 * ENTRIES - 1)))
            await storm.write("run", 1)
            await clock.tick(rng.randrange(400))

    await storm.among(rounds(), least=400)
    await storm.write("run", 0)
    await clock.tick(5)
    await player.expect(pending=model.irq, arrivals=model.arrivals, lost=model.lost)
    clock.check(arrivals > 200, f"only {arrivals} arrivals")


def test_arrivals():
    bench.simulate(make)


def test_the_readme_has_the_numbers():
    text = (REPO / "hw" / "arrivals" / "README.md").read_text()
    for number in (WIRES, ENTRIES, MIN_INTERVAL, START_CYCLES):
        assert re.search(rf"\b{number:,}\b", text), number
