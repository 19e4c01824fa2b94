"""Resets of a board's SoC (soc/boards/restart.py): the start, a long break, a request, a button; and nothing else."""

import cocotb
from migen import ClockDomain, ClockSignal, Module

from soc.boards.restart import BREAK_SECONDS, HOLD_CYCLES, Restart
from tests.hw import bench

CLOCK_HZ = 20_000
BREAK = round(CLOCK_HZ * BREAK_SECONDS)
DELAY = 4           # cycles through the synchroniser and to the output

in_simulator = cocotb.test(timeout_time=1, timeout_unit="ms")


class Bench(Module):
    """Its clock is the one that never stops, without reset."""
    def __init__(self):
        self.clock_domains.cd_por = ClockDomain(reset_less=True)
        self.submodules.restart = Restart("por", CLOCK_HZ)


def make():
    top = Bench()
    names = ("line", "request", "button", "hold")
    top.comb += top.cd_por.clk.eq(ClockSignal("sys"))
    return top, {name: getattr(top.restart, name) for name in names}


async def start(dut):
    """The clock, when the reset at the start of the simulation, or what the test before left of one, is over."""
    clock = await bench.start(dut, line=1, request=0, button=0)
    await clock.tick(HOLD_CYCLES + DELAY)
    clock.equal("hold at rest", dut.hold, 0)
    return clock


async def holds(dut, clock):
    """Cycles until `hold` rises, and how many it lasts; (None, 0) if it does not rise within a break's time."""
    for waited in range(2 * BREAK):
        if dut.hold.value:
            lasted = 0
            while dut.hold.value:
                lasted += 1
                await clock.tick()
            return waited, lasted
        await clock.tick()
    return None, 0


@in_simulator
async def the_start_is_a_reset(dut):
    """First of all tests: the core has no reset of its own."""
    clock = await bench.start(dut, line=1, request=0, button=0)
    begun = clock.cycle
    _, lasted = await holds(dut, clock)
    clock.check(HOLD_CYCLES - DELAY <= begun + lasted <= HOLD_CYCLES + DELAY, f"reset for {lasted} cycles")


@in_simulator
async def a_long_break_resets_once(dut):
    clock = await start(dut)
    dut.line.value = 0
    waited, lasted = await holds(dut, clock)
    clock.check(BREAK <= waited <= BREAK + DELAY, f"reset after {waited} cycles of break, not {BREAK}")
    clock.equal("cycles of reset", lasted, HOLD_CYCLES)
    clock.equal("a second reset in the same break", await holds(dut, clock), (None, 0))
    dut.line.value = 1
    await clock.tick(10)
    dut.line.value = 0
    waited, _ = await holds(dut, clock)
    clock.check(waited is not None, "no reset at the next break")


@in_simulator
async def characters_do_not_reset(dut):
    clock = await start(dut)
    for low in (1, BREAK // 10, BREAK - DELAY, BREAK // 2, BREAK - 1):
        dut.line.value = 0
        await clock.tick(low)
        dut.line.value = 1
        for _ in range(DELAY):
            clock.equal(f"hold after {low} cycles low", dut.hold, 0)
            await clock.tick()
    clock.equal("reset afterwards", await holds(dut, clock), (None, 0))


@in_simulator
async def a_request_and_the_button_reset(dut):
    clock = await start(dut)
    for cause in (dut.request, dut.button):
        cause.value = 1
        await clock.tick(3)
        cause.value = 0     # the reset clears a request
        waited, lasted = await holds(dut, clock)
        clock.check(waited <= DELAY, f"reset only after {waited} cycles")
        clock.check(lasted >= HOLD_CYCLES, f"reset for {lasted} cycles only")
    dut.button.value = 1
    await clock.tick(3 * HOLD_CYCLES)
    clock.equal("hold while the button is down", dut.hold, 1)


def test_restart():
    bench.simulate(make)
