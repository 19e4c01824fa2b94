"""Main RAM behind LiteDRAM (hw/ram/dram.py) on LiteDRAM's models of SDRAMs whose words are narrower and wider than the
cluster's: its contents, that no read misses a completed write, and the delays in front of it."""

import random

import cocotb
import pytest
from litedram import modules
from litedram.core import LiteDRAMCore
from litedram.core.controller import ControllerSettings
from litex.gen import LiteXModule

from hw.pic.model import Xorshift
from hw.ram.core import OUTSTANDING, SALTS
from hw.ram.dram import DRAMPorts
from soc.boards.dram_model import DRAMModel
from support.cache import REPO
from tests.hw import bench
from tests.hw.native_port import NativePort

CLOCK_HZ = 60_000_000
ALL = (1 << 64) - 1
README = REPO / "hw" / "ram" / "README.md"

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


class SDR(modules.MT48LC16M16):
    nrows = 2048    # a smaller chip of the kind


class DDR3(modules.MT41K64M16):
    nrows = 2048


def make(kind, width, refresh):
    chip = {"SDR": SDR, "DDR3": DDR3}[kind](CLOCK_HZ, {"SDR": "1:1", "DDR3": "1:4"}[kind])
    top = LiteXModule()
    top.phy = DRAMModel(chip, width, CLOCK_HZ)
    top.core = LiteDRAMCore(top.phy, chip.geom_settings, chip.timing_settings, CLOCK_HZ,
                            controller_settings=ControllerSettings(with_refresh=refresh))
    top.ram = DRAMPorts(top.core.crossbar, modes=("read", "both"))
    top.bank = bench.CsrBank(top.ram)
    ios = {"csr": top.bank.bus}
    for i, port in enumerate(top.ram.ports):
        ios |= {f"p{i}_cmd": port.cmd, f"p{i}_wdata": port.wdata, f"p{i}_rdata": port.rdata}
    return top, ios


class Port(NativePort):
    """A port as the cluster uses it: data comes with its command, and may be taken later. `done` is called for
    each write whose data was taken."""

    def __init__(self, dut, index, clock, done=lambda: None):
        self.done = done
        self.data = []
        super().__init__(dut, index, clock)

    def move_data(self):
        if self.wdata_ready.value:      # LiteDRAM takes what is there, valid or not
            self.clock.check(self.wdata_valid.value, "data of a write is taken before it is there")
            self.data.pop(0)
            self.done()
        self.offer()

    def offer(self):
        self.wdata_valid.value = bool(self.data)
        if self.data:
            self.wdata_data.value, self.wdata_we.value = self.data[0]

    def busy(self):
        return bool(self.waiting or self.data)

    async def write(self, address, data, mask=0xff):
        """Have a write taken; `mask` has a bit for each byte."""
        self.data.append((data, mask))
        self.offer()
        await self.command(address, 1)


async def start(dut, done=lambda: None):
    """Reset; the clock, the CSRs, the port that reads and the one that writes too."""
    clock = await bench.start(dut)
    top, _ = make(*bench.arguments())
    return clock, bench.CsrBus(dut, clock, bench.csr_layout(top.ram)), Port(dut, 0, clock), Port(dut, 1, clock, done)


@in_simulator
async def holds_what_is_written(dut):
    clock, _, reader, port = await start(dut)
    top, _ = make(*bench.arguments())
    last = (1 << top.phy.module.geom_settings.bankbits) * 2048 * top.phy.module.ncols * top.phy.settings.databits // 64
    places = [0, 1, 2, 3, 7, 8, 255, 256, 4096, 70_000, last // 2, last - 2, last - 1]
    for place in places:
        await port.write(place, (place + 1) * 0x0123_4567_89ab_cdef & ALL)
    await port.answers()
    for place in places + places[::-1]:
        for each in (port, reader):
            clock.equal(f"word {place}", await each.read(place), (place + 1) * 0x0123_4567_89ab_cdef & ALL)
    for place in (4, 5):
        await port.write(place, 0)
        for byte in range(8):
            await port.write(place, 0x1122_3344_5566_7788, 1 << byte)
            await port.answers()
            expected = 0x1122_3344_5566_7788 & (1 << 8 * byte + 8) - 1
            clock.equal(f"bytes up to {byte} of word {place}", await reader.read(place), expected)


@in_simulator
async def a_line_is_read_in_order(dut):
    """As caches do it; a word asked for alone and in any other order, too."""
    clock, _, reader, port = await start(dut)
    for place in range(64):
        await port.write(place, place * 0x1_0001_0001)
    await port.answers()
    chosen = random.Random(1)
    for each in (port, reader):
        places = [*range(64), *range(63, -1, -1), *(chosen.randrange(64) for _ in range(200)), 5, 5, 4, 5, 4, 4, 5]
        for place in places:
            await each.ask(place)
            await clock.tick(chosen.choice((0, 0, 0, 0, 1, 40)))
        clock.equal("words", [data for *_, data in await each.answers()], [place * 0x1_0001_0001 for place in places])


@in_simulator
async def no_read_misses_a_write_that_is_done(dut):
    """Words count up. A read finds at least what was done (its data taken) when it was asked for, on the writing port
    what was commanded; and nothing that was not."""
    commanded, finished, under_way = [0] * 64, [0] * 64, []

    def done():
        place, value = under_way.pop(0)
        finished[place] = value

    clock, csrs, reader, port = await start(dut, done)
    for place in range(64):
        under_way.append((place, 0))
        await port.write(place, 0)
    await port.answers()
    spread = 2048   # so that some share a row, some a bank, and some nothing

    def address(place):
        return (place & 7) + (place >> 3) * spread

    for place in range(64):
        under_way.append((place, 0))
        await port.write(address(place), 0)
    await port.answers()
    await reader.answers()
    stale = []

    async def drive(each, known, seed, writes):
        chosen = random.Random(seed)
        asked = []
        for _ in range(1200):
            place = chosen.randrange(64)
            if writes and chosen.random() < 0.5:
                commanded[place] += 1
                under_way.append((place, commanded[place]))
                await each.write(address(place), commanded[place])
            else:
                least = known[place]
                await each.ask(address(place))
                asked.append((place, least))
            await clock.tick(chosen.choice((0, 0, 0, 1, 9)))
        for (place, least), (*_, data) in zip(asked, await each.answers(), strict=True):
            if not least <= data <= commanded[place]:
                stale.append(f"word {place} is {data}, not {least} to {commanded[place]}")

    for jitter in (0, 40):
        await csrs.write("jitter", jitter)
        drivers = [cocotb.start_soon(drive(reader, finished, 1, False)),
                   cocotb.start_soon(drive(port, commanded, 2, True))]
        for driver in drivers:
            await driver
    clock.equal("stale reads", stale, [])


@in_simulator
async def a_read_is_held_back_as_asked_for(dut):
    """The DRAM is without refresh and each read hits the open row: only the delay changes."""
    clock, csrs, reader, port = await start(dut)
    clock.equal("read_latency at reset", await csrs.read("read_latency"), 0)

    await port.write(0, 0)
    for salt, each in zip(SALTS, (reader, port), strict=False):
        await csrs.write("read_latency", 0)
        await csrs.write("jitter", 0)
        await each.read(0)
        fastest, again = await cycles(each, 2)
        clock.equal("cycles again", again, fastest)
        for latency in (1, 2, 31, 600):
            await csrs.write("read_latency", latency)
            queued, = await cycles(each, 1)
            clock.check(latency <= queued - fastest <= latency + 1, f"latency {latency} adds {queued - fastest}")
        await csrs.write("read_latency", 3)
        held, = await cycles(each, 1)
        await csrs.write("jitter", 50)
        for seed in (7, 8, 7):
            await csrs.write("seed", seed)
            expected = Xorshift(seed, salt)
            drawn = [expected.next(50) for _ in range(8)]
            clock.equal(f"cycles with seed {seed}", await cycles(each, 8), [held + more for more in drawn])


async def cycles(each, count):
    """From the command of each of `count` reads to its data."""
    taken = []
    for _ in range(count):
        await each.ask(0)
        (asked, answered, _), = await each.answers()
        taken.append(answered - asked)
    return taken


@in_simulator
async def reads_under_way_are_bounded(dut):
    clock, csrs, reader, port = await start(dut)
    for place in range(2 * OUTSTANDING):
        await port.write(place, place)
    await port.answers()
    await csrs.write("read_latency", 2000)
    for place in range(2 * OUTSTANDING):
        await reader.ask(place)
    clock.equal("words", [data for *_, data in await reader.answers()], list(range(2 * OUTSTANDING)))
    clock.equal("most under way", reader.most, OUTSTANDING)


@in_simulator
async def costs_what_the_readme_says(dut):
    """The fewest cycles of several: refresh and an open row of another place get in the way of some."""
    clock, _, reader, port = await start(dut)
    kind, width, _ = bench.arguments()
    await port.write(0, 0)
    await port.answers()
    words, lines, writes = [], [], []
    for _ in range(12):
        await reader.ask(0)
        (asked, answered, _), = await reader.answers()
        words.append(answered - asked)
        for place in range(8):
            await reader.ask(place)
        reads = await reader.answers()
        lines.append(reads[-1][1] - reads[0][0])
        await port.write(0, 1)
        taken = clock.cycle
        while port.data:
            await clock.tick()
        writes.append(clock.cycle - taken)
    measured = f"| {kind}, {width} bits | {min(words)} | {min(lines)} | {min(writes)} |"
    clock.check(f"\n{measured}\n" in README.read_text(), f"the README has no row {measured}")


HOLDS = ("holds_what_is_written", "a_line_is_read_in_order", "no_read_misses_a_write_that_is_done",
         "reads_under_way_are_bounded", "costs_what_the_readme_says")


@pytest.mark.parametrize("kind, width", [("SDR", 16), ("DDR3", 16)])
def test_dram(kind, width):
    bench.simulate(make, kind, width, True, tests=HOLDS)


def test_delay():
    bench.simulate(make, "SDR", 16, False, tests=("a_read_is_held_back_as_asked_for",))


def test_a_word_too_wide_is_refused():
    with pytest.raises(ValueError, match="128 is the most"):
        make("DDR3", 32, True)
