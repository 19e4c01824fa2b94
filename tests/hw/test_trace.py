"""The trace port (hw/trace) on Verilator: records, order, the buffer's two modes, costs; its README against the code.

The bench acts only on falling clock edges, half a cycle away from those on which the port acts. The
bench's cycle counter is the port's `cycle` input, started shortly before its low half overflows.
"""

import random
import re
from collections import namedtuple

import cocotb
import pytest
from cocotb.triggers import FallingEdge, Timer
from litex.gen import LiteXModule
from migen import Signal

from hw.common.csr import csr_registers
from hw.trace import TracePort
from hw.trace.registers import EVENTS, PORT, buffer_map, event_offset
from tests.hw import bench
from tests.hw.readme import check_example, readme
from tests.hw.register_storm import Storm

HARTS = 4
DEPTH = 16
FIRST_CYCLE = (5 << 32) - 50
in_simulator = cocotb.test(timeout_time=1, timeout_unit="ms")  # simulated time: a test that hangs fails
BUFFER = buffer_map(DEPTH)

Log = namedtuple("Log", "cycle hart event argument")


class Top(LiteXModule):
    """A trace port behind a CSR bus, with a cycle counter."""

    def __init__(self):
        self.trace = TracePort(HARTS, DEPTH)
        self.bank = bench.CsrBank(self.trace, bridged=True)
        self.cycle = Signal(64, reset=FIRST_CYCLE)
        self.sync += self.cycle.eq(self.cycle + 1)
        self.comb += self.trace.cycle.eq(self.cycle)


def make():
    top = Top()
    ports = {f"hart{i}": port for i, port in enumerate(top.trace.ports)}
    return top, {**ports, "bus": top.trace.bus, "csr": top.bank.bus, "wide": top.bank.wishbone,
                 "record": top.trace.record, "cycle": top.cycle, "clearing": top.trace.clear.re,
                 "enabled": top.trace.enable.storage, "stops": top.trace.mode.storage}


# The bench ------------------------------------------------------------------------------------------------------------

async def tick(count=1):
    if count:
        await Timer(count * bench.PERIOD_NS, "ns")


class Bench:
    """Harts, the read-out bus, the CSRs and the simulator's view of a port."""

    def __init__(self, dut, clock):
        self.dut = dut
        self.word = bench.TimedBus(dut, "bus").access      # of the buffer, and the cycles of the access
        self.csr = bench.CsrBus(dut, clock, bench.csr_layout(TracePort(HARTS, DEPTH)))
        self.stored = []  # what should be logged, in the order in which stores were accepted
        self.seen = []    # what the simulator's outputs showed
        self.seen_before_clear = 0
        self.enabled = set()    # cycles in which stores are logged

    @classmethod
    async def start(cls, dut):
        self = cls(dut, await bench.start(dut))
        cocotb.start_soon(self.watch())
        await FallingEdge(dut.sys_clk)
        return self

    async def watch(self):
        while True:
            await FallingEdge(self.dut.sys_clk)
            if self.dut.enabled.value:
                self.enabled.add(self.cycle)
            if self.dut.clearing.value:
                self.seen_before_clear = len(self.seen)
            if self.dut.record_valid.value:
                self.seen.append(Log(*(int(getattr(self.dut, f"record_{name}").value) for name in Log._fields)))

    @property
    def cycle(self):
        return int(self.dut.cycle.value)

    async def access(self, hart, offset, value=None, mask=0xf):
        """An access of a hart: (word, cycles from that of the command to that of the response, both counted)."""
        port = {name: getattr(self.dut, f"hart{hart}_{name}") for name in (
            "cmd_valid", "cmd_ready", "cmd_write", "cmd_address", "cmd_data", "cmd_mask", "rsp_valid", "rsp_data")}
        port["cmd_valid"].value, port["cmd_write"].value = 1, int(value is not None)
        port["cmd_address"].value, port["cmd_data"].value, port["cmd_mask"].value = 0x1000000 + offset, value or 0, mask
        count = 2
        await Timer(1, "step")  # until the inputs have reached cmd_ready
        while not port["cmd_ready"].value:
            await tick()
            count += 1
        accepted = self.cycle
        if value is not None:
            lanes = sum(0xff << 8 * n for n in range(4) if mask >> n & 1)
            self.stored.append(Log(accepted, hart, offset // 4, value & lanes))
        await tick()
        port["cmd_valid"].value = 0
        assert port["rsp_valid"].value, "no response in the cycle after the command"
        word = int(port["rsp_data"].value)
        await FallingEdge(self.dut.sys_clk)
        assert not port["rsp_valid"].value, "more than one response"
        return word, count

    async def store(self, hart, event, argument, mask=0xf):
        """A store by one hart; its cycles."""
        return (await self.access(hart, event_offset(event), argument, mask))[1]

    async def drain(self):
        """Wait until all that was stored has been seen; compare, forget, and return it."""
        await tick(HARTS + 2)
        logged, self.stored, self.seen = sorted(self.stored), [], (seen := self.seen) and []
        assert seen == logged, f"{seen}\ninstead of\n{logged}"
        return logged

    async def buffer(self):
        """The records in the buffer's window; what is beyond the last has to be zero."""
        logs = []
        for n in range(DEPTH):
            low, high, source, argument = [
                (await self.word(BUFFER[name].at(n)))[0] for name in ("CYCLE_LOW", "CYCLE_HIGH", "SOURCE", "ARGUMENT")]
            fields = BUFFER["SOURCE"]
            assert source & ~fields.mask == 0
            logs.append(Log(high << 32 | low, fields["HART"].get(source), fields["EVENT"].get(source), argument))
        count = await self.read("count")
        assert not any(any(log) for log in logs[count:])
        return logs[:count]

    async def read(self, name):
        value = await self.csr.read(name)
        await FallingEdge(self.dut.sys_clk)
        return value

    async def write(self, name, value):
        await self.csr.write(name, value)
        await FallingEdge(self.dut.sys_clk)

    async def expect(self, **csrs):
        for name, value in csrs.items():
            assert (got := await self.read(name)) == value, f"{name}: {got} instead of {value}"


# Records --------------------------------------------------------------------------------------------------------------

@in_simulator
async def records_are_exact(dut):
    """Every event bit, hart and argument; the cycle is that of the store, beyond 32 bits."""
    port = await Bench.start(dut)
    rng = random.Random(1)
    for event in [0, EVENTS - 1, *(1 << n for n in range(10)), *(rng.randrange(EVENTS) for _ in range(20))]:
        await port.store(rng.randrange(HARTS), event, rng.getrandbits(32))
    first, *_, last = await port.drain()
    assert first.cycle < 5 << 32 <= last.cycle


@in_simulator
async def narrow_stores(dut):
    """Bytes that a store leaves out are 0 in its argument."""
    port = await Bench.start(dut)
    for mask in range(16):
        await port.store(0, 7, 0xd4c3b2a1, mask)
    assert [log.argument for log in await port.drain()][:3] == [0, 0xa1, 0xb200]


@in_simulator
async def simultaneous_stores(dut):
    """All harts store in one cycle, again and again: none waits, all cycles are right, the lowest hart goes first."""
    port = await Bench.start(dut)
    for event in range(8):
        stores = [cocotb.start_soon(port.store(hart, event, 100 * event + hart)) for hart in range(HARTS)]
        assert [await store for store in stores] == [2] * HARTS
        await tick(HARTS - 2)
    logged = await port.drain()
    assert [log.hart for log in logged] == list(range(HARTS)) * 8
    assert all(len({log.cycle for log in logged[n:n + HARTS]}) == 1 for n in range(0, len(logged), HARTS))


@in_simulator
async def order_under_load(dut):
    """Stores faster than records can leave: stores wait, none is lost, the log is in order, no hart is favoured."""
    port = await Bench.start(dut)
    rng = random.Random(2)
    longest = dict.fromkeys(range(HARTS), 0)

    async def run(hart, pauses):
        for n in range(100):
            longest[hart] = max(longest[hart], await port.store(hart, n, rng.getrandbits(32)))
            await tick(rng.randrange(pauses))

    for pauses in (1, 3, 12):
        for task in [cocotb.start_soon(run(hart, pauses)) for hart in range(HARTS)]:
            await task
        logged = await port.drain()
        assert len(logged) == 100 * HARTS
    assert max(longest.values()) == 2 + HARTS - 2, longest  # waits for the others, less the cycle the hart is away
    await port.expect(count=DEPTH, lost=300 * HARTS - DEPTH)


@in_simulator
async def loads(dut):
    """CYCLE reads the time of the load, everything else 0, and nothing is logged; stores of others do not delay it."""
    port = await Bench.start(dut)
    for offset in (PORT["CYCLE"].offset, *(4 << n for n in range(10))):
        before = port.cycle
        word, _ = await port.access(1, offset)
        assert word == (before & 0xffffffff if offset == PORT["CYCLE"].offset else 0), hex(offset)
    stores = [cocotb.start_soon(port.store(hart, 1, 0)) for hart in range(HARTS) if hart != 2]
    before = port.cycle
    assert await port.access(2, PORT["CYCLE"].offset) == (before & 0xffffffff, 2)
    for store in stores:
        await store
    assert len(await port.drain()) == HARTS - 1


@in_simulator
async def load_behind_a_store(dut):
    """A load is answered at once even while the hart's own record waits for its turn."""
    port = await Bench.start(dut)
    stores = [cocotb.start_soon(port.store(hart, 3, hart)) for hart in range(HARTS)]
    for store in stores:
        await store
    assert (await port.access(HARTS - 1, PORT["CYCLE"].offset))[1] == 2
    await port.drain()


# Buffer ---------------------------------------------------------------------------------------------------------------

async def fill(port, count):
    for n in range(count):
        await port.store(n % HARTS, n, 0x1000 + n)
    return await port.drain()


@in_simulator
async def csr_reset_values(dut):
    port = await Bench.start(dut)
    await port.expect(enable=1, mode=0, clear=0, count=0, lost=0)
    assert await port.buffer() == []


@in_simulator
async def buffer_before_full(dut):
    port = await Bench.start(dut)
    kept = []
    for n in range(1, DEPTH + 1, 5):
        kept += await fill(port, n)
        if len(kept) > DEPTH:
            break
        await port.expect(count=len(kept), lost=0)
        assert await port.buffer() == kept


@in_simulator
async def ring_keeps_the_newest(dut):
    port = await Bench.start(dut)
    logged = await fill(port, DEPTH)
    await port.expect(count=DEPTH, lost=0)
    assert await port.buffer() == logged
    for more in (1, 3, DEPTH, 2 * DEPTH + 5):
        lost = await port.read("lost")
        logged += await fill(port, more)
        await port.expect(count=DEPTH, lost=lost + more)
        assert await port.buffer() == logged[-DEPTH:]


@in_simulator
async def stop_keeps_the_oldest(dut):
    """What does not fit is lost to the buffer and counted; the simulator still sees it."""
    port = await Bench.start(dut)
    await port.write("mode", 1)
    logged = await fill(port, DEPTH + 7)
    assert len(logged) == DEPTH + 7
    await port.expect(count=DEPTH, lost=7, mode=1)
    assert await port.buffer() == logged[:DEPTH]
    await port.write("mode", 0)  # the ring goes on from here
    logged += await fill(port, 1)
    assert await port.buffer() == logged[1:DEPTH] + logged[-1:]


@in_simulator
async def clear_empties(dut):
    port = await Bench.start(dut)
    for mode in (0, 1):
        await port.write("mode", mode)
        await fill(port, DEPTH + 3)
        await port.write("clear", mode)
        await port.expect(count=0, lost=0)
        assert await port.buffer() == []
        logged = await fill(port, 5)
        await port.expect(count=5, lost=0)
        assert await port.buffer() == logged


@in_simulator
async def clear_under_load(dut):
    """Whatever cycle a clear falls into: the buffer holds what came in that cycle or later."""
    port = await Bench.start(dut)
    for mode in (0, 1):
        await port.write("mode", mode)
        counts = set()
        for pause in range(6):
            await fill(port, DEPTH)
            stores = [cocotb.start_soon(port.store(hart, pause, hart)) for hart in range(HARTS)]
            await tick(pause)
            await port.write("clear", 0)
            for store in stores:
                await store
            logged = await port.drain()
            since = logged[port.seen_before_clear:]
            counts.add(len(since))
            await port.expect(lost=0, count=len(since))
            assert await port.buffer() == since
        assert {0, 1} < counts  # some clears fell among the records


@in_simulator
async def disabled(dut):
    """Stores are answered in the same time and forgotten."""
    port = await Bench.start(dut)
    logged = await fill(port, 3)
    await port.write("enable", 0)
    for hart in range(HARTS):
        assert await port.store(hart, 9, hart) == 2
    await tick(8)
    assert port.seen == [] and len(port.stored) == HARTS
    port.stored.clear()
    await port.expect(count=3, lost=0, enable=0)
    assert await port.buffer() == logged
    await port.write("enable", 1)
    logged += await fill(port, 2)
    assert await port.buffer() == logged


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, at any time, in any CSR, while harts store: what is logged, kept and lost is what each
    store and each record found of them in its cycle."""
    port = await Bench.start(dut)
    clock = bench.Cycles(dut.sys_clk)
    rng = random.Random(9)
    bus = bench.WishboneBus(dut, "wide", clock)
    storm = Storm(clock, bus, csr_registers(bench.csrs_of(TracePort(HARTS, DEPTH))), seed=10, whole=True, harmless={
        "clear": lambda value, whole: value if not whole or rng.random() < .3 else None})
    kept, lost, stores, drops = [], 0, 0, 0

    async def follow():
        """README.md's buffer, from what the port shows of its records."""
        nonlocal lost, drops
        while True:
            await FallingEdge(dut.sys_clk)
            record = len(port.seen) and dut.record_valid.value and [port.seen[-1]] or []
            if dut.clearing.value:
                kept.clear()
                lost = 0
            if record and len(kept) == DEPTH:
                lost, drops = lost + 1, drops + 1
                if not dut.stops.value:
                    kept[:] = kept[1:] + record
            else:
                kept.extend(record)

    async def hart(number):
        nonlocal stores
        for _ in range(120):
            await FallingEdge(dut.sys_clk)
            await port.store(number, rng.randrange(EVENTS), rng.getrandbits(32), rng.randrange(16))
            await tick(rng.choice((0, 1, 5, 30, 80)))
            stores += 1

    cocotb.start_soon(follow())
    await storm.among(*(hart(number) for number in range(HARTS)), least=150)
    await FallingEdge(dut.sys_clk)
    await tick(HARTS + 2)
    logged = sorted(log for log in port.stored if log.cycle in port.enabled)
    assert port.seen == logged, "what is logged"
    assert 0 < len(logged) < stores and drops > 20
    await port.expect(count=len(kept), lost=lost)
    assert await port.buffer() == kept


# Costs ----------------------------------------------------------------------------------------------------------------

def stall_table():
    """The README's table of access cycles: {access: cycles}."""
    section = readme("trace").split("## Cycles of an access")[1].split("\n## ")[0]
    return {name: int(count) for name, count in re.findall(r"^\| ([^|]+) \| (\d+) \|$", section, re.M)}


@in_simulator
async def access_cycles(dut):
    port = await Bench.start(dut)
    measured = {
        "store, enabled": await port.store(0, 1, 2),
        "load of `CYCLE`": (await port.access(0, PORT["CYCLE"].offset))[1],
        "load elsewhere": (await port.access(0, event_offset(5)))[1],
        "read of the buffer": (await port.word(0))[1],
    }
    stores = [cocotb.start_soon(port.store(hart, 1, 2)) for hart in range(HARTS)]
    measured["store, in the cycle of a store of every other hart"] = max([await store for store in stores])
    await tick(HARTS)
    await port.write("enable", 0)
    measured["store, disabled"] = await port.store(0, 1, 2)
    assert measured == stall_table()


@in_simulator
@cocotb.parametrize(seed=[1, 2, 3])
async def random_against_model(dut, seed):
    """Random stores of all harts, modes, clears and disabling between bursts, against lists."""
    port = await Bench.start(dut)
    rng = random.Random(seed)
    kept, lost, mode, enable = [], 0, 0, 1

    async def run(hart):
        for _ in range(rng.randrange(12)):
            await port.store(hart, rng.randrange(EVENTS), rng.getrandbits(32), rng.randrange(16))
            await tick(rng.randrange(6))

    for _ in range(40):
        for task in [cocotb.start_soon(run(hart)) for hart in range(HARTS)]:
            await task
        if not enable:
            port.stored.clear()
        for log in await port.drain():
            if len(kept) < DEPTH or mode == 0:
                kept.append(log)
            else:
                lost += 1
        lost += max(0, len(kept) - DEPTH)
        kept = kept[-DEPTH:]
        await port.expect(count=len(kept), lost=lost)
        assert await port.buffer() == kept
        if rng.randrange(4) == 0:
            await port.write("clear", 1)
            kept, lost = [], 0
        mode, enable = rng.randrange(2), rng.randrange(4) != 0
        await port.write("mode", mode)
        await port.write("enable", int(enable))


# Under pytest ---------------------------------------------------------------------------------------------------------

def test_core():
    bench.simulate(make)


@pytest.mark.parametrize("harts, depth, words", [(0, 16, "0 harts"), (17, 16, "17 harts"), (1, 1, "depth 1 "),
                                                 (1, 24, "depth 24 "), (1, 8192, "depth 8192 ")])
def test_parameters_are_checked(harts, depth, words):
    with pytest.raises(ValueError, match=words):
        TracePort(harts, depth)


@pytest.mark.parametrize("event", [-1, EVENTS])
def test_event_offset_is_checked(event):
    with pytest.raises(ValueError, match=f"event {event} "):
        event_offset(event)


def test_readme_example_compiles(tmp_path):
    accessors = "".join(    # as LiteX makes them
        f"static inline uint32_t trace_{csr.name}_read(void) {{ return 0; }}\n"
        f"static inline void trace_{csr.name}_write(uint32_t value) {{ (void)value; }}\n"
        for csr in TracePort(1, 1024).get_csrs())
    check_example("trace", tmp_path, trace_regs=buffer_map(1024).c_header("TRACE_RECORDS"), csr=accessors)
