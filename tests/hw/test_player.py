"""Line player (hw/player) on Verilator: every edge of the line to the cycle, bytes, slow memory, stops."""

import random

import cocotb
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import If, Memory, Signal

from hw.common.csr import csr_registers
from hw.player.core import LinePlayer
from tests.hw import bench
from tests.hw.register_storm import Storm

CLOCK_HZ = 60_000_000
WORDS = 64
CONTENT = random.Random(1).randbytes(8 * WORDS)

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


class SlowBus(LiteXModule):
    """`bus`, a slave, in front of `memory`: an access waits `delay` cycles first."""
    def __init__(self, memory):
        self.bus  = bus = wishbone.Interface(data_width=64, address_width=32, addressing="word")
        self.delay = delay = Signal(16)
        behind = wishbone.Interface(data_width=64, address_width=32, addressing="word")
        self.sram = wishbone.SRAM(memory, bus=behind)

        # # #

        waited = Signal(16)
        self.comb += [
            bus.connect(behind, omit={"stb"}),
            behind.stb.eq(bus.stb & (waited == delay)),
        ]
        self.sync += If(bus.ack | ~bus.stb,
            waited.eq(0)
        ).Elif(waited != delay,
            waited.eq(waited + 1)
        )


def make():
    top = LiteXModule()
    top.player = player = LinePlayer(CLOCK_HZ)
    memory = Memory(64, WORDS)
    top.slow = slow = SlowBus(memory)
    top.comb += player.bus.connect(slow.bus)
    port = memory.get_port(write_capable=True)
    top.specials += port
    top.bank = bank = bench.CsrBank(player, bridged=True)
    return top, {"csr": bank.bus, "wide": bank.wishbone, "go": player.go, "line": player.line, "delay": slow.delay,
                 "at": port.adr, "put": port.dat_w, "set": port.we}


class Player:
    """The core under test. `edges` has (cycle, level) of each change of the line."""
    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock
        self.csr = bench.CsrBus(dut, clock, bench.csr_layout(LinePlayer(CLOCK_HZ)))
        self.edges = []
        cocotb.start_soon(self.watch())

    async def watch(self):
        before = 1
        while True:
            await self.clock.tick()
            now = int(self.dut.line.value)
            if now != before:
                self.edges.append((self.clock.cycle, now))
            before = now

    async def arm(self, address, length, baud):
        self.edges.clear()
        for name, value in (("address", address), ("length", length), ("baud", baud), ("run", 1)):
            await self.csr.write(name, value)

    async def armed(self, address, length, baud):
        await self.arm(address, length, baud)
        while not await self.csr.read("ready"):
            pass

    async def begin(self):
        """Give the sign; the cycle in which it is up."""
        self.dut.go.value = 1
        await self.clock.tick()
        self.dut.go.value = 0
        return self.clock.cycle

    async def finish(self):
        while await self.csr.read("busy"):
            pass

    async def expect(self, **values):
        for name, expected in values.items():
            self.clock.equal(name, await self.csr.read(name), expected)


def bits_of(content):
    for byte in content:
        yield from (0, *(byte >> n & 1 for n in range(8)), 1)


def expected_edges(begin, content, baud):
    """Like the simulator's line: the edge between two bits is at the cycle nearest to its time since the first."""
    edges, before = [], 1
    for number, bit in enumerate(bits_of(content)):
        if bit != before:
            edges.append((begin + (2 * number * CLOCK_HZ + baud) // (2 * baud), bit))
        before = bit
    return edges


async def start(dut, delay=0):
    clock = await bench.start(dut, delay=delay, go=0, set=1)
    for word in range(WORDS):
        dut.at.value, dut.put.value = word, int.from_bytes(CONTENT[8 * word:8 * word + 8], "little")
        await clock.tick()
    dut.set.value = 0
    return clock, Player(dut, clock)


@in_simulator
async def registers_after_reset(dut):
    clock, player = await start(dut)
    await player.expect(address=0, length=0, baud=115_200, run=0, ready=0, busy=0, played=0, late=0)
    clock.equal("line", dut.line, 1)


@in_simulator
async def every_edge_is_at_its_cycle(dut):
    """For bit times that are whole cycles, that end in a half, and that are neither."""
    clock, player = await start(dut)
    for baud in (6_000_000, 15_000_000, 13_333_333, 8_000_000, 7_999_999, 1_000_001, 921_600):
        for address, length in ((0, 1), (8, 7), (16, 8), (64, 41)):
            await player.armed(address, length, baud)
            clock.equal("edges before the sign", player.edges, [])
            begin = await player.begin() + 1
            await player.finish()
            content = CONTENT[address:address + length]
            clock.equal(f"edges at {baud}", player.edges, expected_edges(begin, content, baud))
            await player.expect(played=length, late=0)


@in_simulator
async def no_error_adds_up(dut):
    """The last bits of all that fits in memory here, at a bit rate that is a cycle off every 23 bits."""
    clock, player = await start(dut)
    baud = 7_700_000
    await player.armed(0, 8 * WORDS, baud)
    begin = await player.begin() + 1
    await player.finish()
    clock.equal("edges", player.edges, expected_edges(begin, CONTENT, baud))


@in_simulator
async def bytes_that_come_late_are_sent_late_and_counted(dut):
    clock, player = await start(dut, delay=600)
    await player.armed(0, 24, 6_000_000)    # a word lasts 800 cycles on the line, and comes every 600: just in time
    begin = await player.begin() + 1
    await player.finish()
    clock.equal("edges", player.edges, expected_edges(begin, CONTENT[:24], 6_000_000))
    await player.expect(late=0, played=24)
    dut.delay.value = 2000
    await player.armed(0, 24, 6_000_000)
    begin = await player.begin() + 1
    await player.finish()
    late = await player.csr.read("late")
    clock.check(late > 100, f"late for {late} bits")
    await player.expect(played=24)
    # The bytes are all there, with pauses of whole bits between words.
    levels, edges = [], [(begin, 0), *player.edges[1:], (clock.cycle + 10, 1)]
    for (at, level), (until, _) in zip(edges, edges[1:], strict=False):
        levels += [level] * ((until - at) // 10)
    received = bytearray()
    while len(received) < 24:
        while levels[0]:
            levels.pop(0)
        clock.equal("stop bit", levels[9], 1)
        received.append(sum(levels[1 + n] << n for n in range(8)))
        del levels[:10]
    clock.equal("bytes", bytes(received), CONTENT[:24])


@in_simulator
async def the_sign_counts_only_when_ready(dut):
    clock, player = await start(dut, delay=100)
    await player.begin()                    # not armed
    await player.arm(0, 3, 6_000_000)
    await player.begin()                    # the first byte has not come
    await clock.tick(500)
    clock.equal("edges", player.edges, [])
    await player.expect(ready=1, busy=1)
    begin = await player.begin() + 1
    await clock.tick(25)
    await player.begin()                    # it plays already
    await player.finish()
    clock.equal("edges", player.edges, expected_edges(begin, CONTENT[:3], 6_000_000))
    await player.begin()                    # it is over
    await clock.tick(50)
    clock.equal("edges", len(player.edges), len(expected_edges(begin, CONTENT[:3], 6_000_000)))


@in_simulator
async def stopping_leaves_nothing_behind(dut):
    """Stopped at any moment, before the sign and after it, the line rises, and the next play is whole."""
    clock, player = await start(dut, delay=20)
    for wait in range(0, 450, 13):
        await player.armed(0, 40, 6_000_000)
        if wait > 100:
            await player.begin()
        await clock.tick(wait)
        await player.csr.write("run", 0)
        await clock.tick(2)
        clock.equal("line", dut.line, 1)
        await player.finish()
        clock.equal("line", dut.line, 1)
        await player.armed(16, 10, 10_000_000)
        begin = await player.begin() + 1
        await player.finish()
        clock.equal("edges", player.edges, expected_edges(begin, CONTENT[16:26], 10_000_000))
        await player.expect(played=10)


@in_simulator
async def what_is_under_way_is_not_begun_anew(dut):
    clock, player = await start(dut)
    await player.armed(0, 20, 6_000_000)
    begin = await player.begin() + 1
    await clock.tick(333)
    await player.csr.write("address", 64)
    await player.csr.write("length", 5)
    await player.csr.write("run", 1)
    await player.finish()
    clock.equal("edges", player.edges, expected_edges(begin, CONTENT[:20], 6_000_000))
    await player.arm(0, 0, 6_000_000)       # there is nothing to play
    await player.expect(busy=0, ready=0, played=20)


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """While it plays: address, length and another `run` count for the next time, whatever they are; the bit rate is
    left alone then. A read goes where the address says, in main RAM or not."""
    clock, player = await start(dut)
    chance = random.Random(3)
    phase = "idle"      # or "playing"; or "ending", when the effect of a write of `run` is open

    def run(value, whole):
        return {"idle": value & ~1, "playing": value | 1, "ending": None if whole else value}[phase]

    storm = Storm(clock, bench.WishboneBus(dut, "wide", clock), csr_registers(bench.csrs_of(LinePlayer(CLOCK_HZ))),
                  seed=4, whole=True, harmless={
                      "run": run, "baud": lambda value, whole: None if whole and phase != "idle" else value})
    storm.kept["baud"] = 115_200

    async def play():
        nonlocal phase
        for number in range(30):
            await clock.tick(chance.randrange(200))
            address, length = chance.getrandbits(32), chance.randint(2, 30)
            baud = chance.choice((6_000_000, 13_333_333, 7_999_999, 4_000_000))
            async with storm.lock:
                player.edges.clear()
                for name, value in (("address", address), ("length", length), ("baud", baud), ("run", 1)):
                    await storm.store(name, value)
                phase = "playing"
            while not await storm.read("ready"):
                pass
            begin = await player.begin() + 1
            while True:
                async with storm.lock:
                    if await storm.load("played") >= length - 1:
                        phase = "ending"
                        break
            while await storm.read("busy"):
                pass
            first = address % (8 * WORDS) & ~7
            content = (2 * CONTENT)[first:first + length]
            clock.equal(f"edges of play {number}", player.edges, expected_edges(begin, content, baud))
            clock.equal("played", await storm.read("played"), length)
            clock.equal("late", await storm.read("late"), 0)
            phase = "idle"

    await storm.among(play(), least=300)


def test_player():
    bench.simulate(make)
