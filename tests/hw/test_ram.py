"""Main RAM (hw/ram) on Verilator: contents, latency, and that jitter keeps the order and is repeatable."""

import random

import cocotb
import pytest
from litex.gen import LiteXModule

from hw.common.csr import csr_registers
from hw.pic.model import Xorshift
from hw.ram.core import OUTSTANDING, READ_CYCLES, SALTS, MainRAM
from tests.hw import bench
from tests.hw.native_port import NativePort
from tests.hw.register_storm import CsrWrites, Storm

SIZE = 2048
WORDS = SIZE // 8
LATENCY = 8

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


def make():
    top = LiteXModule()
    top.ram = ram = MainRAM(SIZE, read_latency=LATENCY)
    top.bank = bank = bench.CsrBank(ram, bridged=True)
    ios = {"csr": bank.bus, "wide": bank.wishbone, "seen": bank.seen}
    top.reader = reader = MainRAM(SIZE, modes=("read",))
    for i, port in enumerate(ram.ports + reader.ports):
        ios |= {f"p{i}_cmd": port.cmd, f"p{i}_wdata": port.wdata, f"p{i}_rdata": port.rdata}
    return top, ios


class Port(NativePort):
    """A port that takes the data of a write with its command."""

    async def write(self, address, data, mask=0xff):
        """Store a word; `mask` has a bit for each byte."""
        self.wdata_data.value, self.wdata_we.value, self.wdata_valid.value = data, mask, 1
        await self.command(address, 1)
        self.wdata_valid.value = 0


async def start(dut):
    """Reset the RAMs; returns their clock, the CSRs of the first, its two ports and the read-only port of the other."""
    clock = await bench.start(dut)
    top, _ = make()
    return clock, bench.CsrBus(dut, clock, bench.csr_layout(top.ram)), [Port(dut, i, clock) for i in range(3)]


def pattern(address):
    return (address + 1) * 0x0101_0203_0507_0b0d & (1 << 64) - 1


async def fill(port):
    for address in range(WORDS):
        await port.write(address, pattern(address))


@in_simulator
async def holds_what_is_written(dut):
    clock, _, ports = await start(dut)
    await fill(ports[0])
    for address in (0, 1, WORDS // 2, WORDS - 1):
        for port in ports[:2]:
            clock.equal(f"word {address}", await port.read(address), pattern(address))
    await ports[0].write(3, 0)
    for byte in range(8):
        await ports[byte % 2].write(3, 0x1122_3344_5566_7788, 1 << byte)
        expected = 0x1122_3344_5566_7788 & (1 << 8 * byte + 8) - 1
        clock.equal(f"bytes up to {byte}", await ports[0].read(3), expected)
    clock.equal("the word beyond the last", await ports[1].read(WORDS), pattern(0))


@in_simulator
async def a_write_is_seen_from_the_cycle_after_it(dut):
    clock, _, (first, second, _) = await start(dut)
    await first.write(5, 1)
    await first.write(5, 2)
    await second.ask(5)
    await first.write(5, 3)
    await first.write(5, 4)
    clock.equal("data", (await second.answers())[0][2], 2)


@in_simulator
async def a_write_waits_for_its_data(dut):
    clock, _, (port, *_) = await start(dut)
    port.cmd_addr.value, port.cmd_we.value, port.cmd_valid.value = 7, 1, 1
    await clock.tick(5)
    clock.equal("ready without data", port.cmd_ready, 0)
    await port.write(7, 0x77)
    clock.equal("word", await port.read(7), 0x77)


@in_simulator
async def a_read_only_port_takes_no_write(dut):
    clock, _, (*_, port) = await start(dut)
    await port.ask(9)
    (_, _, before), = await port.answers()
    port.cmd_addr.value, port.cmd_we.value, port.cmd_valid.value = 9, 1, 1
    port.wdata_data.value, port.wdata_we.value, port.wdata_valid.value = before + 1, 0xff, 1
    for _ in range(20):
        await clock.tick()
        clock.equal("ready", port.cmd_ready, 0)
    port.cmd_valid.value = port.wdata_valid.value = 0
    clock.equal("word", await port.read(9), before)


@in_simulator
async def a_read_takes_the_cycles_asked_for(dut):
    clock, csrs, ports = await start(dut)
    clock.equal("read_latency at reset", await csrs.read("read_latency"), LATENCY)
    await fill(ports[0])
    for latency in (LATENCY, 0, 1, 2, 31, 600, 65535):
        await csrs.write("read_latency", latency)
        for port in ports[:2]:
            await port.ask(latency % WORDS)
            (asked, answered, data), = await port.answers()
            clock.equal(f"cycles at latency {latency}", answered - asked, READ_CYCLES + latency)
            clock.equal("data", data, pattern(latency % WORDS))


@in_simulator
async def reads_overlap(dut):
    clock, csrs, (port, *_) = await start(dut)
    await fill(port)
    for latency in (0, LATENCY, OUTSTANDING - READ_CYCLES - 1):
        await csrs.write("read_latency", latency)
        for address in range(3 * OUTSTANDING):
            await port.ask(address)
        reads = await port.answers()
        for i, (asked, answered, data) in enumerate(reads):
            clock.equal(f"read {i} asked", asked, reads[0][0] + i)
            clock.equal(f"read {i} cycles", answered - asked, READ_CYCLES + latency)
            clock.equal(f"read {i} data", data, pattern(i))


@in_simulator
async def reads_under_way_are_bounded(dut):
    clock, csrs, (port, *_) = await start(dut)
    await fill(port)
    await csrs.write("read_latency", 100)
    for address in range(2 * OUTSTANDING):
        await port.ask(address)
    reads = await port.answers()
    for i, (asked, answered, data) in enumerate(reads):
        clock.equal(f"read {i} cycles", answered - asked, READ_CYCLES + 100)
        clock.equal(f"read {i} data", data, pattern(i))
        if i >= OUTSTANDING:
            clock.equal(f"read {i} asked", asked, reads[i - OUTSTANDING][1] + 1)


@in_simulator
async def a_shorter_latency_does_not_overtake(dut):
    clock, csrs, (port, *_) = await start(dut)
    await fill(port)
    await csrs.write("read_latency", 50)
    await port.ask(1)
    await csrs.write("read_latency", 0)
    await port.ask(2)
    (asked, first, data), (_, second, next_data) = await port.answers()
    clock.equal("first", first - asked, READ_CYCLES + 50)
    clock.equal("second", second, first + 1)
    clock.equal("data", (data, next_data), (pattern(1), pattern(2)))


def expected_answers(asked, random, latency, limit):
    """Cycles of the answers to reads taken in the cycles `asked`."""
    answers, last = [], 0
    for cycle in asked:
        last = max(cycle + READ_CYCLES + latency + random.next(limit), last + 1)
        answers.append(last)
    return answers


@in_simulator
async def jitter_is_in_order_and_repeats(dut):
    clock, csrs, ports = await start(dut)
    await fill(ports[0])
    random.seed(4)
    runs = ((0, 8, 5), (2, 0, 100), (0xffff_ffff, 8, 65535), (SALTS[0], 3, 7), (0, 8, 5))
    for run, (seed, latency, limit) in enumerate(runs):
        await csrs.write("read_latency", latency)
        await csrs.write("jitter", limit)
        if run:   # after reset the sequence is that of seed 0
            await csrs.write("seed", seed)
        for salt, port in zip(SALTS[:2], ports[:2], strict=True):
            addresses = [random.randrange(WORDS) for _ in range(60)]
            for address in addresses:
                await port.ask(address)
                await clock.tick(random.choice((0, 0, 0, 3)))
            reads = await port.answers()
            what = f"seed {seed}, salt {salt:#x}"
            expected = expected_answers([asked for asked, _, _ in reads], Xorshift(seed, salt), latency, limit)
            clock.equal(f"{what}: answers", [answered for _, answered, _ in reads], expected)
            clock.equal(f"{what}: data", [data for _, _, data in reads], [pattern(a) for a in addresses])


@in_simulator
async def two_ports_share_one_memory(dut):
    """Random traffic on both ports against a model in which every command acts in the cycle that takes it."""
    clock, csrs, (*ports, _) = await start(dut)
    await fill(ports[0])
    await csrs.write("jitter", 20)
    model = [pattern(address) for address in range(WORDS)]
    expected = [[], []]

    async def record():
        while True:
            await clock.tick()
            writes = []
            for port, reads in zip(ports, expected, strict=True):
                if port.cmd_valid.value and port.cmd_ready.value:
                    address = int(port.cmd_addr.value)
                    if port.cmd_we.value:
                        writes.append((address, int(port.wdata_data.value), int(port.wdata_we.value)))
                    else:
                        reads.append(model[address])
            for address, data, mask in writes:
                bits = sum(0xff << 8 * byte for byte in range(8) if mask >> byte & 1)
                model[address] = model[address] & ~bits | data & bits

    async def drive(port, seed, own):
        """Words of which bit 3 is `own` are written by this port; the same ones are read by both."""
        choose = random.Random(seed)
        for _ in range(1500):
            address = choose.randrange(16)
            if choose.random() < 0.4:
                await port.write(address & ~8 | own << 3, choose.getrandbits(64), choose.getrandbits(8))
            else:
                await port.ask(address)
            await clock.tick(choose.choice((0, 0, 0, 1, 7)))

    cocotb.start_soon(record())
    drivers = [cocotb.start_soon(drive(port, 10 + i, i)) for i, port in enumerate(ports)]
    for driver in drivers:
        await driver
    for port, reads in zip(ports, expected, strict=True):
        clock.equal("data", [data for _, _, data in await port.answers()], reads)


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, at any time, in any register: each answer comes in the cycle that a model says."""
    clock, _, (*ports, _) = await start(dut)
    await fill(ports[0])
    top, _ = make()
    registers = csr_registers(bench.csrs_of(top.ram))
    writes = CsrWrites(dut, registers)
    csr = {"read_latency": LATENCY, "jitter": 0}
    sequences = [Xorshift(0, salt) for salt in SALTS[:2]]
    last, expected = [0, 0], ([], [])

    async def follow():
        written = None
        while True:
            await clock.tick()
            for i, port in enumerate(ports):
                if port.cmd_valid.value and port.cmd_ready.value and not port.cmd_we.value:
                    due = clock.cycle + READ_CYCLES + csr["read_latency"] + sequences[i].next(csr["jitter"])
                    last[i] = max(due, last[i] + 1)
                    expected[i].append((clock.cycle, last[i], pattern(int(port.cmd_addr.value))))
            if written and written[0] == "seed":
                sequences[:] = [Xorshift(written[1], salt) for salt in SALTS[:2]]
            written = writes.now()
            if written:
                csr[written[0]] = written[1]

    def short(value, _):
        """Bits beyond the field stay; the reads end soon."""
        return value & ~0xff80

    storm = Storm(clock, bench.WishboneBus(dut, "wide", clock), registers, seed=7, whole=True,
                  harmless={"read_latency": short, "jitter": short}, often=("seed",))
    cocotb.start_soon(follow())
    chance = random.Random(8)

    async def reads(port):
        for _ in range(1200):
            await port.ask(chance.randrange(WORDS))
            await clock.tick(chance.choice((0, 0, 0, 0, 1, 9)))

    await storm.among(*(reads(port) for port in ports), least=400)
    for port, wanted in zip(ports, expected, strict=True):
        clock.equal("reads: asked, answered, data", await port.answers(), wanted)


def test_ram():
    bench.simulate(make)


@pytest.mark.parametrize("size", [0, 8, 1000, SIZE + 8])
def test_a_size_that_is_no_power_of_two_is_refused(size):
    with pytest.raises(ValueError, match="power of two"):
        MainRAM(size)
