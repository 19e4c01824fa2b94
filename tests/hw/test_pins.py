"""The controller on another chip: unrelated clocks, wires with errors, and cut wires."""

import random

import cocotb
import pytest
from cocotb.triggers import Combine

from hw.common.csr import csr_registers
from hw.pic.pins.courier import ATTEMPTS, patience
from hw.pic.pins.near import GONE, TIME_WIDTH, PinLink, RemotePIC
from hw.pic.pins.wires import Pads, Receiver, Sender
from hw.pic.registers import COUNTERS
from support.cache import REPO
from tests.hw import bench
from tests.hw.pic_dut import offset
from tests.hw.pins_dut import CLOCK_HZ, NEAR_PS, PinPic, build
from tests.hw.register_storm import Storm

HARTS = 2
README = REPO / "hw/pic/pins/README.md"
# Periods of the controller's chip beside the SoC's, in thousandths; phases in quarters of the SoC's period.
CLOCKS = ((1000, 0), (1000, 1), (1000, 2), (1000, 3), (1003, 1), (997, 1), (1500, 1), (667, 1), (1237, 3))


def make(harts, lanes=3, far_harts=None):
    return build(harts, lanes, far_harts=far_harts)


async def start(dut, **options):
    lanes = bench.arguments()[1] if len(bench.arguments()) > 1 else 3
    return await PinPic.start(dut, HARTS, lanes=lanes, **options)


async def pulses_are_counted(pic, source, number):
    """Raise the wire of an edge source `number` times, and claim each."""
    before = await pic.read_counters(source)
    for _ in range(number):
        await pic.pulse(source)
        pic.clock.equal("claimed", await pic.claim(), source)
        await pic.write("EOI", source)
    after = await pic.counters(source)
    pic.clock.equal("rises", after.rises - before.rises, number)
    pic.clock.equal("deliveries", after.deliveries - before.deliveries, number)


# Clocks and times -----------------------------------------------------------------------------------------------------

@cocotb.test(timeout_time=4, timeout_unit="ms")
async def clocks_need_not_be_related(dut):
    numbers = random.Random(1)
    for thousandths, quarters in CLOCKS:
        pic = await start(dut, period_ps=NEAR_PS * thousandths // 1000, phase_ps=max(1, NEAR_PS * quarters // 4))
        await pic.configure(20, priority=5, edge=True)
        await pic.write("UNMASK", 20)
        for _ in range(8):
            value = numbers.getrandbits(32)
            await pic.write("ENABLE", value, hart=1)
            pic.clock.equal(f"what was written, at {thousandths}, {quarters}", await pic.read("ENABLE", 1), value)
        await pulses_are_counted(pic, 20, 4)
        for name in "resent", "dropped":
            pic.clock.equal(f"{name} at {thousandths}, {quarters}", await pic.csr.read(name), 0)
        pic.clock.equal("chip_clock", await pic.csr.read("chip_clock"), CLOCK_HZ)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def round_trips_are_measured_and_latencies_come_on_top(dut):
    pic = await start(dut)
    await pic.read("ID")
    await pic.csr.write("clear", 1)
    trips = []
    for latency in (0, 1, 100):
        await pic.csr.write("read_latency", latency)
        await pic.csr.write("write_latency", 2 * latency)
        for write, beyond in ((False, latency), (True, 2 * latency)):
            await pic.clock.tick(200)     # the wires are quiet
            _, stall = await pic.ports[0].access(write, offset("ENABLE"), 0)
            trips.append(await pic.csr.read("round_trip"))
            pic.clock.equal(f"stall, write {write}, latency {latency}", stall, 4 + beyond + trips[-1])
    pic.clock.equal("shortest", await pic.csr.read("shortest"), min(trips))
    pic.clock.equal("longest", await pic.csr.read("longest"), max(trips))
    for what, times in (("loads", trips[::2]), ("stores", trips[1::2])):
        pic.clock.check(max(times) - min(times) <= 1, f"equal {what} take from {min(times)} to {max(times)} cycles")
    await pic.csr.write("clear", 0)
    pic.clock.equal("longest", await pic.csr.read("longest"), 0)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, at any time: accesses give what they gave, and shortest and longest are of the round
    trips since a store to `clear`."""
    pic = await start(dut)
    link = PinLink(HARTS)
    registers = csr_registers(bench.csrs_of(link, RemotePIC(link, Pads(3))))
    numbers = random.Random(9)
    await pic.read("ID")
    await pic.csr.write("clear", 1)
    clears, trips = 0, []

    def cleared(_):
        nonlocal clears
        clears += 1
        trips.clear()

    times = {register.name: lambda value, _: value & ~0xff80 for register in registers    # or an access takes long
             if register.access == "rw" and register.mask == 0xffff}
    storm = Storm(pic.clock, bench.WishboneBus(dut, "wide", pic.clock), registers, seed=10, whole=True,
                  on={"clear": cleared}, harmless=times)
    storm.kept |= {"chip_clock": CLOCK_HZ, "resent": 0, "dropped": 0, "merged_rises": 0, "clear": 1}

    async def accesses():
        for _ in range(150):
            value, before = numbers.getrandbits(32), clears
            await pic.write("ENABLE", value, hart=1)
            pic.clock.equal("what was written", await pic.read("ENABLE", 1), value)
            async with storm.lock:
                if before != clears:
                    continue
                trips.append(await storm.load("round_trip"))
                shortest, longest = await storm.load("shortest"), await storm.load("longest")
                pic.clock.check(shortest <= min(trips) and max(trips) <= longest < 300,
                                f"shortest {shortest}, longest {longest}; some were {trips}")
                if not numbers.randrange(4):
                    await storm.store("clear", numbers.getrandbits(32))
                    pic.clock.equal("shortest of none", await storm.load("shortest"), (1 << TIME_WIDTH) - 1)
                    pic.clock.equal("longest of none", await storm.load("longest"), 0)

    await storm.among(accesses(), least=200)
    pic.clock.check(clears > 5, f"cleared only {clears} times")


def cost_table():
    """{(what, far clock as a part of the near one's): cycles} from the README's table of costs."""
    section = README.read_text().split("## Cost")[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines()
            if line.startswith("|")]
    return {(row[0], clock): int(cell) for row in rows[2:]
            for clock, cell in zip(rows[0][1:], row[1:], strict=True)}


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def costs_are_those_of_the_table(dut):
    measured = {}
    for clock, period_ps in (("the same clock", NEAR_PS), ("5/6 of it", NEAR_PS * 6 // 5)):
        pic = await start(dut, period_ps=period_ps)
        await pic.configure(20, priority=5)
        await pic.write("UNMASK", 20)

        async def quiet(pic=pic):
            await pic.settle()

        for what, write in (("load of a register", False), ("store to a register", True)):
            await quiet()
            await pic.ports[0].access(write, offset("ENABLE"), 1 << 20)
            measured[what, clock] = await pic.csr.read("round_trip")
        for what, value, wires in (("rise of a source's wire to the rise of the hart's", 1 << 20, 1),
                                   ("fall of a level source's wire to the fall of the hart's", 0, 0)):
            await quiet()
            dut.sources.value = value
            first = pic.clock.cycle + 1
            while pic.irq() != wires:
                await pic.clock.tick()
            measured[what, clock] = pic.clock.cycle - first
        await quiet()
        first = pic.clock.cycle
        await pic.bus.read(COUNTERS["RISES"].at(20))
        measured["load of a counter", clock] = pic.clock.cycle - first
    pic.clock.equal("table", cost_table(), measured)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def ways_and_late_changes_come_on_top(dut):
    """The way there before the wires', the way back behind; what the hart's wire does, later by the delays."""
    pic = await start(dut, read_latency=1000)
    await pic.configure(20, priority=5)
    await pic.write("UNMASK", 20)
    for back, seen in ((0, 20), (500, 20), (1000, None)):
        await pic.csr.write("read_back", back)
        claim = cocotb.start_soon(pic.ports[0].access(False, offset("CLAIM")))
        await pic.clock.tick(250)           # more than a load takes on the wires alone
        dut.sources.value = 1 << 20
        value, stall = await claim
        pic.clock.equal(f"claimed with {back} back", None if value >> 31 else value & 0x3f, seen)
        pic.clock.equal("stall", stall, 4 + 1000 + await pic.csr.read("round_trip"))
        dut.sources.value = 0
        await pic.settle()
        if seen is None:
            pic.clock.equal("claimed when it has gone", await pic.claim(), None)
        await pic.write("EOI", 20)
        await pic.settle()

    times = {}
    for delays in (0, 0), (300, 700):
        for name, delay in zip(("delivery_delay", "fall_delay"), delays, strict=True):
            await pic.csr.write(name, delay)
        for value in (1, 0):
            dut.sources.value = value << 20
            first = pic.clock.cycle
            while pic.irq() != value:
                await pic.clock.tick()
            times[delays, value] = pic.clock.cycle - first
            await pic.settle()
    for value, late in ((1, 300), (0, 700)):
        more = times[(300, 700), value] - times[(0, 0), value]
        pic.clock.check(abs(more - late) <= 30, f"a change to {value} is {more} cycles later, not {late}")


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def harts_take_turns(dut):
    pic = await start(dut)
    await Combine(*[cocotb.start_soon(pic.write("ENABLE", 0x11 << h, hart=h)) for h in range(HARTS)])
    for h in range(HARTS):
        pic.clock.equal(f"enable of {h}", await pic.read("ENABLE", h), 0x11 << h)
    pic.clock.equal("reads", await pic.csr.read("reads"), HARTS)
    pic.clock.equal("writes", await pic.csr.read("writes"), HARTS)


# Sources --------------------------------------------------------------------------------------------------------------

@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_wire_that_fell_before_an_access_has_fallen_there(dut):
    """A device that was served lowers its wire before the end of interrupt: it must not be pending again."""
    pic = await start(dut)
    await pic.configure(16, priority=3)
    await pic.write("UNMASK", 16)
    for gap in range(0, 200, 7):
        dut.sources.value = 1 << 16
        await pic.settle()
        pic.clock.equal("irq", pic.irq(), 1)
        pic.clock.equal("claimed", await pic.claim(), 16)
        dut.sources.value = 1 << 16 | 1 << 30       # changes under way when the wire falls
        await pic.clock.tick(gap + 1)
        dut.sources.value = 0
        await pic.clock.tick()
        await pic.write("EOI", 16)
        pic.clock.equal(f"claim after the fall, {gap} cycles on", await pic.claim(), None)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def rises_that_are_too_fast_are_merged_and_counted(dut):
    pic = await start(dut)
    for source in (20, 21):
        await pic.configure(source, priority=3, edge=True)
    await pic.settle()
    for _ in range(40):
        await pic.pulse(20, 21)
    await pic.settle()
    told = [(await pic.read_counters(source)).rises for source in (20, 21)]
    pic.clock.equal("rises of both", told[0], told[1])
    pic.clock.check(2 <= told[0] < 40, f"{told[0]} of 40 rises were told")
    pic.clock.equal("rises and merged rises", sum(told) + await pic.csr.read("merged_rises"), 80)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def busy_sources_hold_no_hart_up_for_long(dut):
    pic = await start(dut)
    await pic.read("ID")

    async def toggle():
        while True:
            dut.sources.value = ~int(dut.sources.value) & 0xffff_ffff
            await pic.clock.tick()

    noise = cocotb.start_soon(toggle())
    for _ in range(20):
        _, stall = await pic.ports[0].access(False, offset("ID"))
        pic.clock.check(stall < 2 * patience(3), f"an access stalled {stall} cycles")
    noise.cancel()
    await pic.settle()


# Errors on the wires --------------------------------------------------------------------------------------------------

@cocotb.test(timeout_time=4, timeout_unit="ms")
async def errors_change_nothing_but_the_time(dut):
    for seed, period_ps in ((1, NEAR_PS), (2, NEAR_PS * 1003 // 1000), (3, NEAR_PS * 1400 // 1000)):
        pic = await start(dut, period_ps=period_ps)
        numbers = random.Random(seed)
        await pic.configure(20, priority=5, edge=True)
        await pic.write("UNMASK", 20)
        noise = pic.disturb(mean_cycles=300, seed=seed)
        for _ in range(25):
            value = numbers.getrandbits(32)
            await pic.write("ENABLE", value, hart=1)
            pic.clock.equal("what was written", await pic.read("ENABLE", 1), value)
        await pulses_are_counted(pic, 20, 25)
        noise.cancel()
        dut.flip.value = 0
        await pic.settle()
        for name in "resent", "dropped":
            pic.clock.check(await pic.csr.read(name) > 5, f"{name} is {await pic.csr.read(name)}: was there no noise?")
        pic.clock.equal("state", await pic.state(), (1, 0, 0))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def every_wire_that_is_cut_ends_the_wait(dut):
    for cut in [1 << wire for wire in range(8)] + [0xff]:
        pic = await start(dut)
        pic.clock.equal("id", await pic.read("ID") & 0xff, 32)
        pic.clock.equal("state", await pic.state(), (1, 0, 0))
        dut.cut.value = cut
        # A data wire that is always low is right now and then: not with all numbers.
        stalls = [(await pic.ports[0].access(True, offset("ENABLE"), value))[1] for value in (0, 0xffff_ffff, 0)]
        pic.clock.check(max(stalls) < (ATTEMPTS + 1) * patience(3), f"cut {cut:#x}: an access stalled {max(stalls)}")
        pic.clock.equal(f"state with {cut:#x} cut", await pic.state(), (0, 1, 0))
        pic.clock.equal("irq", pic.irq(), (1 << HARTS) - 1)
        pic.clock.equal("load", await pic.read("CLAIM", 1), GONE)
        pic.clock.equal("counter", await pic.bus.read(COUNTERS["RISES"].at(3)), GONE)
        pic.clock.equal("irq of a hart that has not looked", pic.irq(), 1)
        dut.cut.value = 0
        await pic.settle()
        pic.clock.equal("state when it is mended", await pic.state(), (0, 1, 0))   # its registers are gone


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_reset_begins_anew(dut):
    pic = await start(dut)
    await pic.write("ENABLE", 0x1234)
    dut.sources.value = 1 << 20
    await pic.settle()
    pic = await start(dut)
    pic.clock.equal("enable", await pic.read("ENABLE"), 0)
    pic.clock.equal("rises", (await pic.counters(20)).rises, 0)
    pic.clock.equal("state", await pic.state(), (1, 0, 0))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_controller_that_restarts_is_noticed(dut):
    pic = await start(dut)
    await pic.write("ENABLE", 0x1234)
    dut.pic_rst.value = 1
    await pic.clock.tick(5)
    dut.pic_rst.value = 0
    pic.clock.equal("load", await pic.read("ENABLE"), GONE)
    pic.clock.equal("state", await pic.state(), (0, 1, 0))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_controller_that_comes_late_is_found(dut):
    pic = await start(dut, cut=0xff)
    _, stall = await pic.ports[0].access(False, offset("ID"))
    pic.clock.check(stall < 4 * (ATTEMPTS + 1) * patience(3), f"the first access stalled {stall} cycles")
    pic.clock.equal("state", await pic.state(), (0, 1, 0))
    dut.cut.value = 0
    await pic.clock.tick(6 * patience(3))
    pic.clock.equal("state", await pic.state(), (1, 0, 0))
    pic.clock.equal("irq", pic.irq(), 0)
    pic.clock.equal("id", await pic.read("ID") & 0xff, 32)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_plug_that_leads_back_is_not_a_controller(dut):
    pic = await start(dut, loop=1)
    await pic.read("ID")
    pic.clock.equal("state", await pic.state(), (0, 1, 0))


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def counters_are_fetched_while_harts_use_the_wires(dut):
    pic = await start(dut)
    await pic.configure(20, priority=5, edge=True)
    await pic.pulse(20)

    async def others():
        for value in range(10):
            await pic.write("ENABLE", value)
            pic.clock.equal("enable", await pic.read("ENABLE"), value)

    task = cocotb.start_soon(others())
    for _ in range(10):
        pic.clock.equal("rises", await pic.bus.read(COUNTERS["RISES"].at(20)), 1)
    await task


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_bus_that_gave_up_gets_no_old_value(dut):
    pic = await start(dut)
    await pic.configure(20, priority=5, edge=True)
    await pic.pulse(20)
    await pic.settle()
    for patience_cycles in (1, 20, 100, 150):
        dut.counters_adr.value = COUNTERS["RISES"].at(20) // 4
        dut.counters_cyc.value = dut.counters_stb.value = 1
        await pic.clock.tick(patience_cycles)
        dut.counters_cyc.value = dut.counters_stb.value = 0
        await pic.clock.tick()
        pic.clock.equal("rises of another source", await pic.bus.read(COUNTERS["RISES"].at(21)), 0)


@cocotb.test(timeout_time=4, timeout_unit="ms")
async def a_chip_for_fewer_harts_is_refused(dut):
    pic = await start(dut)
    pic.clock.equal("load", await pic.read("ID"), GONE)
    pic.clock.equal("state", await pic.state(), (0, 1, 1))


def test_two_chips():
    tests = {name for name, value in globals().items() if isinstance(value, type(harts_take_turns))}
    bench.simulate(make, HARTS, tests=sorted(tests - {"a_chip_for_fewer_harts_is_refused"}))


@pytest.mark.board_long
def test_a_chip_for_fewer_harts_is_refused():
    bench.simulate(make, HARTS, 3, HARTS - 1, tests=["a_chip_for_fewer_harts_is_refused"])


@pytest.mark.board_long
@pytest.mark.parametrize("lanes", [1, 2])
def test_fewer_wires(lanes):
    """A controller for more harts than the SoC has."""
    bench.simulate(make, HARTS, lanes, 2 * HARTS, tests=[
        "clocks_need_not_be_related", "round_trips_are_measured_and_latencies_come_on_top",
        "errors_change_nothing_but_the_time", "rises_that_are_too_fast_are_merged_and_counted"])


def parts_built_twice(module, path="top"):
    """Names that a module gives to two others: the first of them is built, and is not used."""
    names = [name for name, _ in module._submodules if name is not None]
    yield from (f"{path}.{name}" for name in names if names.count(name) > 1)
    for name, part in module._submodules:
        yield from parts_built_twice(part, f"{path}.{name}")


def test_nothing_is_built_twice():
    top, _ = build(HARTS)
    top.get_fragment()
    assert top.chip.courier.sender is not None
    assert list(parts_built_twice(top)) == []


@pytest.mark.parametrize("lanes, symbol_cycles, word", [
    (4, 4, "1, 2 or 3"), (3, 2, "even"), (3, 5, "even")])
def test_wires_that_cannot_be_built(lanes, symbol_cycles, word):
    for end in Sender, Receiver:
        with pytest.raises(ValueError, match=word):
            end(Pads(lanes), symbol_cycles)
