"""The cluster's device ports (hw/cpu) on Verilator, with LiteX's masters: data, order, speed.

The harts wait for ever for their first instruction: tests/system/cpu tests what they see of it."""

import random
from pathlib import Path

import cocotb
from litedram.frontend.dma import LiteDRAMDMAReader, LiteDRAMDMAWriter
from litex.gen import LiteXModule

from hw.cpu.core import InterlockCluster
from hw.cpu.generate import ClusterParameters
from hw.ram.core import MainRAM
from tests.hw import bench
from tests.hw.native_port import NativePort

WORDS = 1024
LONG = 256       # words of a long transfer

in_simulator = cocotb.test(timeout_time=1, timeout_unit="ms")  # simulated time: a test that hangs fails


class Platform:
    """Takes the name of the cluster's Verilog."""
    def __init__(self, files):
        self.files = files

    def add_source(self, path):
        self.files[Path(path).name] = Path(path).read_text()


class Cluster(InterlockCluster):
    parameters = ClusterParameters(device_ports=3)


def make():
    top = LiteXModule()
    top.other_verilog = {}
    top.cpu = cpu = Cluster(Platform(top.other_verilog))
    top.ram = ram = MainRAM(8 * WORDS, modes=("read", "both"))
    top.comb += [cpu.ibus.connect(ram.ports[0]), cpu.dbus.connect(ram.ports[1])]
    port, to, out = cpu.device_ports
    top.writer = writer = LiteDRAMDMAWriter(to, fifo_depth=16)
    top.reader = reader = LiteDRAMDMAReader(out, fifo_depth=64)
    return top, {"p0_cmd": port.cmd, "p0_wdata": port.wdata, "p0_rdata": port.rdata, "busy": port.busy,
                 "writer": writer.sink, "writer_busy": to.busy, "reader": reader.sink, "read": reader.source}


class Port(NativePort):
    """A port that gets the data of its writes some time after, or before, their commands."""

    def __init__(self, dut, clock, slow=0):
        self.data, self.random, self.slow = [], random.Random(3), slow
        super().__init__(dut, 0, clock)

    def move_data(self):
        if self.wdata_valid.value:
            if not self.wdata_ready.value:
                return
            self.data.pop(0)
        self.wdata_valid.value = 0
        if self.data and not self.random.random() < self.slow:
            self.wdata_data.value, self.wdata_we.value = self.data[0]
            self.wdata_valid.value = 1

    async def write(self, address, data, mask=0xff):
        """Have a write taken; its data follows by itself."""
        self.data.append((data, mask))
        await self.command(address, 1)


async def start(dut, slow=0):
    clock = await bench.start(dut)
    for name in ("writer", "reader"):
        getattr(dut, name + "_valid").value = 0
    dut.read_ready.value = 1
    port = Port(dut, clock, slow)
    await clock.tick(50)     # the caches are emptied
    return clock, port


async def until_visible(clock, port, busy):
    await clock.tick(2)
    while port.data or busy.value:
        await clock.tick()


def merged(old, new, mask):
    """The word `old` with those bytes of `new` that the bits of `mask` choose."""
    chosen = sum(0xff << 8 * byte for byte in range(8) if mask >> byte & 1)
    return old & ~chosen | new & chosen


@in_simulator
async def reads_and_writes_of_all_lengths_match_a_model(dut):
    clock, port = await start(dut, slow=0.3)
    chance = random.Random(5)
    model = {}
    for address in range(64):
        model[address] = chance.getrandbits(64)
        await port.write(address, model[address])
    wanted = []
    for _ in range(250):
        first, length, write = chance.randrange(64), chance.choice((1, 1, 2, 3, 5, 8, 9, 17)), chance.random() < 0.5
        for address in range(first, min(first + length, 64)):
            if write:
                data, mask = chance.getrandbits(64), chance.choice((0xff, 0xff, 0, 0x0f, chance.getrandbits(8)))
                await port.write(address, data, mask)
                model[address] = merged(model[address], data, mask)
            else:
                wanted.append(model[address])
                await port.ask(address)
        if chance.random() < 0.2:
            await clock.tick(chance.randrange(30))
    found = [data for _, _, data in await port.answers()]
    clock.equal("how many words were read", len(found), len(wanted))
    clock.check(found == wanted, "a word is not what was written before")


@in_simulator
async def busy_falls_when_writes_are_in_memory(dut):
    clock, port = await start(dut)
    clock.equal("busy of a port that is left alone", dut.busy.value, 0)
    await port.write(3, 77)
    await clock.tick()
    clock.equal("busy behind the command", dut.busy.value, 1)
    await until_visible(clock, port, dut.busy)
    clock.equal("the word in memory", int(dut.main_ram_storage[3].value), 77)
    await port.ask(3)
    await clock.tick()
    clock.equal("busy of a port that reads", dut.busy.value, 0)
    clock.equal("the word", (await port.answers())[0][2], 77)


@in_simulator
async def nothing_is_lost_where_the_memory_ends(dut):
    """Pieces that begin and end anywhere in a line, and the region's last line."""
    clock, port = await start(dut)
    end = 1 << 27
    for first in (*range(8, 16), end - 8, end - 3):
        for length in range(1, 1 + min(9, end - first)):
            for i in range(length):
                await port.write(first + i, first * 16 + length * 1000 + i)
            for i in range(length):
                await port.ask(first + i)
            found = [data for _, _, data in await port.answers()]
            clock.equal(f"{length} words from {first}", found, [first * 16 + length * 1000 + i for i in range(length)])


@in_simulator
async def litex_engines_reach_nine_tenths_of_a_word_a_cycle(dut):
    """LiteDRAMDMAWriter and LiteDRAMDMAReader, on ports of their own: what one has written the other reads."""
    clock, _ = await start(dut)
    begin = clock.cycle
    for address in range(LONG):
        dut.writer_payload_address.value, dut.writer_payload_data.value = address, address * 3 + 1
        dut.writer_valid.value = 1
        await clock.tick()
        while not dut.writer_ready.value:
            await clock.tick()
    dut.writer_valid.value = 0
    await clock.tick(20)     # the engine's queue
    while dut.writer_busy.value:
        await clock.tick()
    written = clock.cycle - begin
    clock.check(written < LONG / 0.8 + 60, f"{LONG} words took {written} cycles to write")

    async def read():
        while len(found) < LONG:
            await clock.tick()
            if dut.read_valid.value:
                found.append(int(dut.read_payload_data.value))

    found, begin = [], clock.cycle
    reading = cocotb.start_soon(read())
    for address in range(LONG):
        dut.reader_payload_address.value, dut.reader_valid.value = address, 1
        await clock.tick()
        while not dut.reader_ready.value:
            await clock.tick()
    dut.reader_valid.value = 0
    await reading
    clock.check(found == [address * 3 + 1 for address in range(LONG)], "the reader does not find what was written")
    clock.check(clock.cycle - begin < LONG / 0.8 + 60, f"{LONG} words took {clock.cycle - begin} cycles to read")


def test_device_port():
    bench.simulate(make)
