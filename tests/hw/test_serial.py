"""The serial port (hw/serial) on Verilator: registers, line, FIFOs, interrupts; and its README against the code.

The bench acts only on falling clock edges, half a cycle away from those on which the port acts; only the
line's peer has a clock of its own. Times are in cycles of the port's clock.
"""

import random
import re
from collections import namedtuple
from fractions import Fraction

import cocotb
import pytest
from cocotb.simtime import get_sim_time
from cocotb.triggers import FallingEdge, Timer, with_timeout
from cocotbext.uart import UartSink, UartSource
from litex.gen import LiteXModule

from hw.serial import Serial16550
from hw.serial.events import trigger_levels
from hw.serial.registers import REGISTERS
from tests.hw import bench
from tests.hw.readme import check_example, readme

CLOCK_HZ = 60_000_000
DEPTH = 16
PERIOD_PS = 1000 * bench.PERIOD_NS
SETTLE = 4  # cycles from the peer's line to the registers, beyond the half of a bit that is sampled in its middle
in_simulator = cocotb.test(timeout_time=5, timeout_unit="ms")  # simulated time: a test that hangs fails


def make():
    """Two ports: `fifo` is the default build, `plain` one of depth 1."""
    top, ios = LiteXModule(), {}
    for prefix, depth in (("fifo", DEPTH), ("plain", 1)):
        port = Serial16550(CLOCK_HZ, depth)
        setattr(top, prefix, port)
        ios |= {f"{prefix}_bus": port.bus, f"{prefix}_pads": port.pads, f"{prefix}_irq": port.irq,
                f"{prefix}_rts": port.rts}
    return top, ios


# The bench ------------------------------------------------------------------------------------------------------------

def bits(register, **fields):
    """The value of a register with these fields set and all others 0."""
    return sum(REGISTERS[register][name].put(value) for name, value in fields.items())


IDENTITY = REGISTERS["IIR"]["ID"].values
FIFO_ON = bits("IIR", FIFO=3)
RX, TX, LINE, MODEM = (bits("IER", **{name: 1}) for name in ("RX", "TX", "LINE", "MODEM"))
DR, OE, PE, FE, BI, THRE, TEMT, FIFO_ERROR = (
    bits("LSR", **{name: 1}) for name in ("DR", "OE", "PE", "FE", "BI", "THRE", "TEMT", "FIFO_ERROR"))
IDLE = THRE | TEMT
MSR = REGISTERS["MSR"]
MODEM_ON = bits("MSR", CTS=1, DSR=1, DCD=1)
FIFOS = bits("FCR", ENABLE=1)


class Format(namedtuple("Format", "word parity stop", defaults=(8, None, 0))):
    """The format of characters on the line: data bits, parity None/odd/even/mark/space, LCR.STOP."""

    PARITY = {None: {}, "odd": {"PARITY": 1}, "even": {"PARITY": 1, "EVEN": 1},
              "mark": {"PARITY": 1, "STICK": 1}, "space": {"PARITY": 1, "STICK": 1, "EVEN": 1}}

    @property
    def lcr(self):
        return bits("LCR", WORD=self.word - 5, STOP=self.stop, **self.PARITY[self.parity])

    @property
    def stop_bits(self):
        return (1.5 if self.word == 5 else 2) if self.stop else 1

    @property
    def length(self):
        """Bit times of a character."""
        return 1 + self.word + (self.parity is not None) + self.stop_bits

    def wave(self, character, errors=0):
        """The character as [(level, bit times)]; `errors` as in LSR. With FE or BI the line rises late, for one bit."""
        data = [character >> n & 1 for n in range(self.word)]
        if errors & BI:
            return [(0, self.length + 1), (1, 1)]
        wave = [(bit, 1) for bit in [0] + data]
        if self.parity:
            odd = sum(data) % 2
            level = {"odd": 1 - odd, "even": odd, "mark": 1, "space": 0}[self.parity]
            wave.append((level ^ bool(errors & PE), 1))
        return wave + ([(0, 1), (1, 1)] if errors & FE else [(1, self.stop_bits)])


EIGHT_BITS = Format()
FORMATS = [Format(word, parity, stop) for word in range(5, 9) for parity in Format.PARITY for stop in (0, 1)]


def now():
    """The time in cycles, exact."""
    return Fraction(int(get_sim_time("ps")), PERIOD_PS)


async def cycles(count):
    await Timer(round(count * PERIOD_PS), "ps")


class Port:
    """A port of the bench: its bus as the master, its line as the peer."""

    def __init__(self, dut, prefix):
        self.access = bench.TimedBus(dut, f"{prefix}_bus").access
        self.tx, self.rx = getattr(dut, f"{prefix}_pads_tx"), getattr(dut, f"{prefix}_pads_rx")
        self.clk, self.irq_wire = dut.sys_clk, getattr(dut, f"{prefix}_irq")
        self.rts = getattr(dut, f"{prefix}_rts")
        self.bit, self.format = None, EIGHT_BITS
        self.edges = []  # (cycle, level) of the transmit line

    @classmethod
    async def start(cls, dut, prefix="fifo"):
        """A port after reset, with the clock running."""
        await bench.start(dut, fifo_pads_rx=1, plain_pads_rx=1)
        port = cls(dut, prefix)
        cocotb.start_soon(port.watch())
        await FallingEdge(port.clk)
        return port

    async def watch(self):
        while True:
            await self.tx.value_change
            self.edges.append((now(), int(self.tx.value)))

    async def read(self, name):
        return (await self.access(REGISTERS[name].offset))[0]

    async def write(self, name, value):
        await self.access(REGISTERS[name].offset, value)

    async def divide(self, latch, fraction):
        """Set the divisor latch and its fraction; leaves DLAB 0."""
        await self.write("LCR", bits("LCR", DLAB=1) | self.format.lcr)
        await self.write("DLL", latch & 0xff)
        await self.write("DLM", latch >> 8)
        await self.write("DLF", fraction)
        await self.write("LCR", self.format.lcr)

    async def configure(self, bit=16, format=EIGHT_BITS, fcr=FIFOS, ier=0):
        """`bit` cycles a bit, and the FIFOs on unless `fcr` says otherwise."""
        self.bit, self.format = bit, format
        await self.divide(*divmod(bit, 16))
        await self.write("FCR", fcr)
        await self.write("IER", ier)

    async def send(self, *characters, bit=None):
        """Let the peer send characters, or pairs (character, errors), at `bit` cycles a bit; the port has them then."""
        for character in characters:
            character, errors = character if isinstance(character, tuple) else (character, 0)
            for level, length in self.format.wave(character, errors):
                self.rx.value = level
                await cycles(length * (bit or self.bit))
        await cycles(SETTLE)
        await FallingEdge(self.clk)

    async def sent(self):
        """Wait until the transmitter is empty."""
        while not await self.read("LSR") & TEMT:
            await cycles(self.bit)

    async def irq_after(self, limit):
        """The cycles until the interrupt line rises, at most `limit`."""
        begin = now()
        await with_timeout(self.irq_wire.rising_edge, round(limit * PERIOD_PS), "ps")
        took = now() - begin
        await FallingEdge(self.clk)
        return took

    @property
    def irq(self):
        return int(self.irq_wire.value)

    async def expect(self, **registers):
        """Read registers in this order and compare."""
        for name, value in registers.items():
            got = await self.read(name)
            assert got == value, f"{name}: 0x{got:02x} instead of 0x{value:02x}"

    def expect_line(self, *characters):
        """The transmit line has carried exactly these characters, without gaps; then drops them."""
        expected, level, at = [], 1, 0
        for character in characters:
            for to, length in self.format.wave(character):
                if to != level:
                    expected.append((at, to))
                level, at = to, at + length * self.bit
        got = [(when - self.edges[0][0], to) for when, to in self.edges]
        assert got == expected, f"{self.format}, {self.bit} cycles a bit, {characters}"
        self.edges.clear()


# Registers ------------------------------------------------------------------------------------------------------------

async def access_any(port, register, value=None):
    """An access to a register with DLAB as it needs it: (word, cycles). Leaves LCR at 0."""
    lcr = bits("LCR", DLAB=register.name in ("DLL", "DLM"))
    if register.name != "LCR":
        await port.write("LCR", lcr)
    return await port.access(register.offset, value)


def writable():
    return [register for register in REGISTERS.registers if register.access == "rw" and register.name != "DEPTH"]


@in_simulator
async def registers_reset(dut):
    port = await Port.start(dut)
    for register in REGISTERS.registers:
        if register.access != "wo":
            word, _ = await access_any(port, register)
            assert word == register.reset, register.name
    assert not port.irq


@in_simulator
async def registers_hold_their_bits(dut):
    port = await Port.start(dut)
    for register in writable():
        for value in [0xffffffff, 0, *(1 << n for n in range(32)), register.reset]:
            await access_any(port, register, value)
            word, _ = await port.access(register.offset)
            assert word == value & register.mask, f"{register.name} after 0x{value:x}"


@in_simulator
async def registers_do_not_alias(dut):
    port = await Port.start(dut)
    rng = random.Random(1)
    values = {register.name: rng.getrandbits(32) & register.mask for register in writable() if register.name != "LCR"}
    values["MCR"] &= ~bits("MCR", LOOP=1)
    for register in writable():
        if register.name in values:
            await access_any(port, register, values[register.name])
    for register in writable():
        if register.name in values:
            assert (await access_any(port, register))[0] == values[register.name], register.name
    assert (await port.read("LSR")) == IDLE and (await port.read("RXCOUNT")) == 0


@in_simulator
async def registers_read_only(dut):
    port = await Port.start(dut)
    for register in REGISTERS.registers:
        if register.access == "ro" and register.name not in ("RBR", "IIR"):
            await port.access(register.offset, 0xffffffff)
            assert (await port.access(register.offset))[0] == register.reset, register.name
    for offset in range(0x34, REGISTERS.size, 4):
        assert (await port.access(offset))[0] == 0, hex(offset)


@in_simulator
async def writes_need_the_bytes_of_their_fields(dut):
    """A store of fewer does nothing: of `DEPTH`, which has two, and of all others, which have one."""
    port = await Port.start(dut)
    for select in range(16):
        await port.access(REGISTERS["DEPTH"].offset, 0x0004_0404 if select & 3 != 3 else 4, sel=select)
        await port.expect(DEPTH=4 if select & 3 == 3 else DEPTH)
        await port.write("DEPTH", DEPTH)
        for name, value in (("IER", 5), ("MCR", 2), ("LCR", 3), ("SCR", 0x99), ("DLF", 7)):
            await port.write(name, 0)
            await port.access(REGISTERS[name].offset, value * 0x0101_0101, sel=select)
            await port.expect(**{name: value if select & 1 else 0})
    await port.write("SCR", 0x5a)
    await port.access(REGISTERS["SCR"].offset, 0xffffffff, sel=0b1110)
    await port.expect(SCR=0x5a)
    await port.access(REGISTERS["SCR"].offset, 0xa5, sel=0b0001)
    await port.expect(SCR=0xa5)


def stall_table():
    """The README's table of access cycles: {"read" or "write": {register: cycles}}."""
    section = readme("serial").split("## Cycles of an access")[1].split("\n## ")[0]
    table = {"read": {}, "write": {}}
    for kind, names, count in re.findall(r"^\| (read|write) \| (.*?) \| (\d+) \|$", section, re.M):
        table[kind] |= dict.fromkeys(re.findall(r"`(\w+)`", names), int(count))
    return table


@in_simulator
async def access_cycles(dut):
    port = await Port.start(dut)
    table = stall_table()
    assert set(table["read"]) == {register.name for register in REGISTERS.registers if register.access != "wo"}
    assert set(table["write"]) == {register.name for register in REGISTERS.registers if register.access != "ro"}
    for kind, value in (("read", None), ("write", 0)):
        for name, count in table[kind].items():
            _, measured = await access_any(port, REGISTERS[name], value)
            assert measured == count, f"{kind} of {name}"


# Line: times and formats ----------------------------------------------------------------------------------------------

@in_simulator
async def reset_bit_rate(dut):
    port = await Port.start(dut)
    port.bit = round(CLOCK_HZ / 115_200)
    await port.write("LCR", port.format.lcr)
    await port.write("THR", 0x55)
    await port.sent()
    port.expect_line(0x55)


@in_simulator
async def bit_times(dut):
    """From the PC's slowest rate to the clock's fourth, each exact to the cycle, both ways."""
    port = await Port.start(dut)
    format = Format(5)
    for rate in (300, 1_200, 9_600, 57_600, 115_200, 230_400, 921_600, 3_000_000, 7_500_000, 15_000_000):
        await port.configure(round(CLOCK_HZ / rate), format)
        await port.write("THR", 0x15)
        if rate > 300:
            await port.send(0x0a)
        await port.sent()
        port.expect_line(0x15)
        if rate > 300:
            await port.expect(LSR=IDLE | DR, RBR=0x0a)


@in_simulator
async def bit_fraction(dut):
    port = await Port.start(dut)
    for bit in [*range(4, 33), 0x5a3]:
        await port.configure(bit)
        await port.write("THR", 0x55)
        await port.send(0xa5)
        await port.sent()
        port.expect_line(0x55)
        await port.expect(RBR=0xa5)


@in_simulator
async def bit_at_least_four_cycles(dut):
    port = await Port.start(dut)
    for bit in range(4):
        await port.configure(bit)
        port.bit = 4
        await port.write("THR", 0x55)
        await port.send(0xa5)
        await port.sent()
        port.expect_line(0x55)
        await port.expect(RBR=0xa5)


@in_simulator
async def formats_sent(dut):
    """Every format, the characters without a gap between them."""
    port = await Port.start(dut)
    rng = random.Random(2)
    for format in FORMATS:
        await port.configure(rng.choice([8, 9, 10]) * 2, format)
        text = [rng.getrandbits(8) for _ in range(4)]
        for character in text:
            await port.write("THR", character)
        await port.sent()
        port.expect_line(*text)


@in_simulator
async def formats_received(dut):
    port = await Port.start(dut)
    rng = random.Random(3)
    for format in FORMATS:
        await port.configure(rng.choice([8, 9, 10]) * 2, format)
        text = [rng.getrandbits(format.word) for _ in range(4)]
        await port.send(*text)
        for character in text:
            await port.expect(LSR=IDLE | DR, RBR=character)
        await port.expect(LSR=IDLE)


@in_simulator
async def rate_tolerance(dut):
    """Characters back to back from a peer whose clock is 2 % off, in any phase to ours."""
    port = await Port.start(dut)
    rng = random.Random(4)
    for bit in (4, 5, 16, 521):
        for error in (-0.02, 0.02):
            await port.configure(bit, Format(8, "even"))
            text = [rng.getrandbits(8) for _ in range(16 if bit > 100 else 100)]
            cocotb.start_soon(port.send(*text, bit=bit * (1 + error)))
            for character in text:
                while not (status := await port.read("LSR")) & DR:
                    pass
                assert status & ~IDLE == DR, f"{bit} cycles a bit, {error:+}"
                await port.expect(RBR=character)
            await cycles(3 * bit)


@in_simulator
async def uart_peer(dut):
    """Both ways at once with a peer that is not ours (cocotbext-uart)."""
    port = await Port.start(dut)
    await port.configure(40)
    rate = 10**9 / (port.bit * bench.PERIOD_NS)
    source, sink = UartSource(port.rx, baud=rate), UartSink(port.tx, baud=rate)
    rng = random.Random(5)
    there, back = rng.randbytes(150), rng.randbytes(150)
    await source.write(back)
    got, left = bytearray(), list(there)
    while len(got) < len(back) or left:
        status = await port.read("LSR")
        assert not status & (OE | PE | FE | BI)
        if status & DR:
            got.append(await port.read("RBR"))
        if status & THRE and left:
            await port.write("THR", left.pop(0))
    await port.sent()
    assert bytes(got) == back
    assert bytes(sink.read_nowait()) == there


# Line: errors ---------------------------------------------------------------------------------------------------------

@in_simulator
async def errors_travel_with_their_character(dut):
    port = await Port.start(dut)
    await port.configure(8, Format(8, "odd"))
    break_errors = BI | FE | PE  # eight zeros and a zero are not odd
    text = [(0x41, 0), (0x42, PE), (0x43, 0), (0x44, FE), (0, break_errors), (0x45, PE | FE), (0x46, 0)]
    await port.send(*text)
    for n, (character, errors) in enumerate(text):
        more = FIFO_ERROR if any(errors for _, errors in text[n:]) else 0
        await port.expect(LSR=IDLE | DR | errors | more)
        more = FIFO_ERROR if any(errors for _, errors in text[n + 1:]) else 0
        await port.expect(LSR=IDLE | DR | more, RBR=character)
    await port.expect(LSR=IDLE)


@in_simulator
async def errors_stay_until_read(dut):
    """The error of a character that is gone is still shown, together with that of the next."""
    port = await Port.start(dut)
    await port.configure(8, Format(8, "even"))
    await port.send((1, PE), (2, FE), 3)
    await port.expect(RBR=1)
    await port.expect(RBR=2)
    await port.expect(LSR=IDLE | DR | PE | FE)
    await port.expect(LSR=IDLE | DR, RBR=3)


@in_simulator
async def framing_error_is_no_break(dut):
    """One high bit anywhere, that of parity too, makes it a framing error only."""
    port = await Port.start(dut)
    await port.configure(8, Format(8, "odd"))
    for character in (0, 1, 0x80):
        for errors in (FE, FE | PE):
            wave = port.format.wave(character, errors)[:-1]
            nothing_high = not any(level for level, _ in wave)
            assert nothing_high == (character == 0 and errors == FE | PE)
            await port.send((character, errors))
            await port.expect(LSR=IDLE | DR | errors | FIFO_ERROR | (BI if nothing_high else 0), RBR=character)


@in_simulator
async def errors_shown_once(dut):
    """In whatever cycle a read of LSR meets the arrival of a character, exactly one read shows its error."""
    port = await Port.start(dut)
    await port.configure(8)
    shown = set()
    for delay in range(12):
        sending = cocotb.start_soon(port.send((0x47, FE)))
        await cycles(9.5 * port.bit + delay - 4)
        reads = [await port.read("LSR") for _ in range(10)]
        await sending
        before = reads.index(IDLE | DR | FE | FIFO_ERROR)
        assert reads == [IDLE] * before + [IDLE | DR | FE | FIFO_ERROR] + [IDLE | DR] * (9 - before)
        shown.add(before)
        await port.expect(RBR=0x47)
        await port.expect(LSR=IDLE)
    assert len(shown) > 3


@in_simulator
async def parity_errors(dut):
    """The wrong parity bit is found in every format that has one."""
    port = await Port.start(dut)
    for format in FORMATS:
        if format.parity:
            await port.configure(8, format)
            await port.send((0x15, PE), 0x0a)
            await port.expect(LSR=IDLE | DR | PE | FIFO_ERROR, RBR=0x15)
            await port.expect(LSR=IDLE | DR, RBR=0x0a)


@in_simulator
async def break_received_once(dut):
    port = await Port.start(dut)
    await port.configure(8)
    port.rx.value = 0
    await cycles(35 * port.bit)
    await port.expect(RXCOUNT=1, LSR=IDLE | DR | BI | FE | FIFO_ERROR, RBR=0)
    port.rx.value = 1
    await cycles(port.bit)
    await port.send(0x5a)
    await port.expect(LSR=IDLE | DR, RBR=0x5a)


@in_simulator
async def break_sent(dut):
    port = await Port.start(dut)
    await port.configure(8)
    await port.write("LCR", port.format.lcr | bits("LCR", SET_BREAK=1))
    await cycles(200)
    await port.write("LCR", port.format.lcr)
    await cycles(2)
    (fell, low), (rose, high) = port.edges
    assert (low, high) == (0, 1) and rose - fell == 202
    await port.expect(LSR=IDLE)


@in_simulator
async def glitch_is_no_character(dut):
    port = await Port.start(dut)
    await port.configure(32)
    for length in (1, 8, 15):
        port.rx.value = 0
        await cycles(length)
        port.rx.value = 1
        await cycles(12 * port.bit)
    await port.expect(RXCOUNT=0, LSR=IDLE)
    await port.send(0x77)
    await port.expect(LSR=IDLE | DR, RBR=0x77)


# FIFOs ----------------------------------------------------------------------------------------------------------------

@in_simulator
async def receive_fifo_counts(dut):
    port = await Port.start(dut)
    await port.configure(4)
    for n in range(DEPTH):
        await port.expect(RXCOUNT=n)
        await port.send(n)
    for n in range(DEPTH):
        await port.expect(RXCOUNT=DEPTH - n, RBR=n)
    await port.expect(RXCOUNT=0, RBR=0, LSR=IDLE, DEPTH=DEPTH)


@in_simulator
async def overrun_with_fifo(dut):
    """The FIFO keeps what it holds; the flag is read once, the counter counts on."""
    port = await Port.start(dut)
    await port.configure(4)
    await port.send(*range(DEPTH))
    await port.expect(LSR=IDLE | DR, OVERRUNS=0)
    await port.send(0xf0, 0xf1, 0xf2)
    await port.expect(OVERRUNS=3, LSR=IDLE | DR | OE)
    await port.expect(OVERRUNS=3, LSR=IDLE | DR, RXCOUNT=DEPTH)
    for n in range(DEPTH):
        await port.expect(RBR=n)
    await port.send(0x99)
    await port.expect(LSR=IDLE | DR, RBR=0x99, OVERRUNS=3)


@in_simulator
async def overrun_without_fifo(dut):
    """The newest character replaces the one that was not read."""
    port = await Port.start(dut)
    await port.configure(4, fcr=0)
    await port.send(1)
    await port.expect(LSR=IDLE | DR)
    await port.send(2, 3)
    await port.expect(RXCOUNT=1, OVERRUNS=2, LSR=IDLE | DR | OE, RBR=3)
    await port.expect(LSR=IDLE, RXCOUNT=0)


@in_simulator
async def overrun_meets_read(dut):
    """In whatever cycle a read makes room for a character: it is received, or its loss is counted."""
    port = await Port.start(dut)
    for fcr, depth in ((FIFOS, DEPTH), (0, 1)):
        await port.configure(4, fcr=fcr)
        lost = set()
        for delay in range(12):
            before = await port.read("OVERRUNS")
            await port.send(*range(depth))
            sending = cocotb.start_soon(port.send(0x5b))
            await cycles(9.5 * port.bit + delay - 4)
            got = [await port.read("RBR")]
            await sending
            while await port.read("LSR") & DR:
                got.append(await port.read("RBR"))
            overruns = await port.read("OVERRUNS") - before
            assert len(got) + overruns == depth + 1
            assert got == list(range(depth)) + [0x5b] * (not overruns) or depth == overruns == 1 and got == [0x5b]
            lost.add(overruns)
        assert lost == {0, 1}


@in_simulator
async def transmit_fifo_full(dut):
    """What does not fit is dropped, and what is in is sent. The first character is on the line at once."""
    port = await Port.start(dut)
    await port.configure(16)
    text = list(range(0x30, 0x30 + DEPTH + 1))
    for character in text + [0xee, 0xef]:
        await port.write("THR", character)
    await port.sent()
    port.expect_line(*text)


@in_simulator
async def transmit_without_fifo(dut):
    """One on the line, one waits, the next replaces that."""
    port = await Port.start(dut)
    await port.configure(16, fcr=0)
    for character in (1, 2, 3):
        await port.write("THR", character)
    await port.sent()
    port.expect_line(1, 3)


@in_simulator
async def fifo_resets(dut):
    """A reset empties its FIFO and no more: the characters on the line arrive."""
    port = await Port.start(dut)
    await port.configure(16)

    async def fill():
        for character in (0x11, 0x12, 0x13):
            await port.write("THR", character)
        await port.send(0x21, 0x22)
        sending = cocotb.start_soon(port.send(0x23))
        await cycles(5 * port.bit)
        return sending

    for fcr, received, sent in ((bits("FCR", ENABLE=1, RX_RESET=1), [0x23], [0x11, 0x12, 0x13]),
                                (bits("FCR", ENABLE=1, TX_RESET=1), [0x21, 0x22, 0x23], [0x11, 0x12, 0x13]),
                                (FIFOS, [0x21, 0x22, 0x23], [0x11, 0x12, 0x13])):
        sending = await fill()
        await port.write("FCR", fcr)
        await sending
        await port.sent()
        await port.expect(RXCOUNT=len(received))
        for character in received:
            await port.expect(RBR=character)
        port.expect_line(*sent)

    for fcr in (bits("FCR", ENABLE=1, TX_RESET=1), 0):  # while characters wait to be sent; then by switching off
        await port.write("FCR", FIFOS)
        for character in (0x31, 0x32, 0x33):
            await port.write("THR", character)
        await port.write("FCR", fcr)
        await port.sent()
        port.expect_line(0x31)

    await port.send(0x41)
    await port.expect(RXCOUNT=1, IIR=IDENTITY["NONE"])
    await port.write("FCR", FIFOS)  # switching on empties, too
    await port.expect(RXCOUNT=0, LSR=IDLE, IIR=FIFO_ON | IDENTITY["NONE"])


@in_simulator
async def reset_bits_need_enable(dut):
    port = await Port.start(dut)
    await port.configure(4, fcr=0)
    await port.send(0x51)
    await port.write("FCR", bits("FCR", RX_RESET=1, TX_RESET=1, TRIGGER=3))
    await port.expect(RBR=0x51)


# Interrupts -----------------------------------------------------------------------------------------------------------

@in_simulator
async def trigger_levels_interrupt(dut):
    port = await Port.start(dut)
    assert trigger_levels(DEPTH) == [1, 4, 8, 14]
    for trigger, level in enumerate(trigger_levels(DEPTH)):
        await port.configure(4, fcr=bits("FCR", ENABLE=1, RX_RESET=1, TRIGGER=trigger), ier=RX)
        for n in range(level):
            assert not port.irq
            await port.expect(IIR=FIFO_ON | IDENTITY["NONE"])
            await port.send(n)
        assert port.irq
        await port.expect(IIR=FIFO_ON | IDENTITY["RX"], RBR=0)
        assert not port.irq


@in_simulator
async def receive_interrupt_without_fifo(dut):
    port = await Port.start(dut)
    await port.configure(4, fcr=0, ier=RX)
    await port.send(0x61)
    assert port.irq
    await port.expect(IIR=IDENTITY["RX"], RBR=0x61)
    assert not port.irq
    await port.send(0x62)
    await cycles(50 * port.bit)
    await port.expect(IIR=IDENTITY["RX"])


@in_simulator
async def timeout_interrupt(dut):
    """Four character times after the last character (sampled in the middle of its stop bit) or the last read."""
    port = await Port.start(dut)
    for format in (EIGHT_BITS, Format(5, None, 1), Format(7, "even", 1)):
        for bit in (7, 16):
            await port.configure(bit, format, bits("FCR", ENABLE=1, RX_RESET=1, TRIGGER=2), RX)
            four = 4 * format.length * bit
            await port.send(1, 2)
            after_sample = (format.stop_bits - 0.5) * bit + SETTLE
            took = after_sample + await port.irq_after(2 * four)
            assert 0 <= took - four <= 6, f"{format}: {took} cycles instead of {four}"
            await port.expect(IIR=FIFO_ON | IDENTITY["TIMEOUT"])
            await port.expect(RBR=1)
            assert not port.irq
            took = await port.irq_after(2 * four)
            assert -2 <= took - four <= 2, f"{format} after a read: {took} cycles instead of {four}"
            await port.expect(IIR=FIFO_ON | IDENTITY["TIMEOUT"], RBR=2)
            await cycles(2 * four)
            assert not port.irq


@in_simulator
async def timeout_waits_for_silence(dut):
    """A character every three and a half character times keeps the time-out away."""
    port = await Port.start(dut)
    await port.configure(8, fcr=bits("FCR", ENABLE=1, TRIGGER=3), ier=RX)
    for n in range(6):
        await port.send(n)
        await cycles(2.5 * port.format.length * port.bit)
        assert not port.irq
    await cycles(1.5 * port.format.length * port.bit)
    await port.expect(IIR=FIFO_ON | IDENTITY["TIMEOUT"])


@in_simulator
async def transmit_interrupt(dut):
    port = await Port.start(dut)
    await port.configure(16, ier=TX)
    nothing, empty = FIFO_ON | IDENTITY["NONE"], FIFO_ON | IDENTITY["THRE"]

    assert port.irq  # enabling it while empty interrupts; identifying it clears that
    await port.expect(IIR=empty)
    assert not port.irq
    await port.expect(IIR=nothing)

    await port.write("IER", 0)
    await port.write("IER", TX)
    assert port.irq
    await port.write("THR", 0x55)  # so does a write
    assert not port.irq
    await port.expect(LSR=0)
    await port.irq_after(20 * port.bit)  # a lone character: not before its last stop bit
    assert abs(now() - (port.edges[0][0] + 9 * port.bit)) <= 2
    await port.expect(LSR=THRE, IIR=empty)
    await port.expect(IIR=nothing)
    await port.sent()

    port.edges.clear()
    for character in (1, 2, 3):  # two wait at once: as soon as the FIFO is empty
        await port.write("THR", character)
    await port.irq_after(40 * port.bit)
    assert abs(now() - (port.edges[0][0] + 20 * port.bit)) <= 2
    await port.expect(LSR=THRE, IIR=empty)
    await port.sent()
    assert not port.irq


@in_simulator
async def transmit_interrupt_without_fifo(dut):
    port = await Port.start(dut)
    await port.configure(16, fcr=0, ier=TX)
    await port.expect(IIR=IDENTITY["THRE"])
    await port.write("THR", 1)  # goes on to the line
    await cycles(2)
    assert port.irq
    await port.write("THR", 2)  # waits for it
    assert not port.irq
    await port.irq_after(20 * port.bit)
    assert abs(now() - (port.edges[0][0] + 10 * port.bit)) <= 2


@in_simulator
async def interrupt_priorities(dut):
    """All causes at once: each mask shows the first of those it lets through, and each leaves in its own way."""
    port = await Port.start(dut)
    for trigger, third in ((0, "RX"), (3, "TIMEOUT")):
        await port.configure(4, fcr=bits("FCR", ENABLE=1, TRIGGER=trigger))
        await port.write("MCR", bits("MCR", LOOP=1))
        await port.write("MCR", 0)
        await port.send((0x71, FE))
        await cycles(50 * port.bit)
        order = [(LINE, "LINE"), (RX, third), (TX, "THRE"), (MODEM, "MODEM")]
        for mask in range(16):
            await port.write("IER", 0)
            await port.write("IER", mask)
            first = next((name for bit, name in order if mask & bit), "NONE")
            assert port.irq == (mask != 0)
            await port.expect(IIR=FIFO_ON | IDENTITY[first])
        await port.write("IER", 0)
        await port.write("IER", 15)
        deltas = bits("MSR", DCTS=1, DDSR=1, DDCD=1)
        await port.expect(IIR=FIFO_ON | IDENTITY["LINE"], LSR=IDLE | DR | FE | FIFO_ERROR)
        await port.expect(IIR=FIFO_ON | IDENTITY[third], RBR=0x71)
        await port.expect(IIR=FIFO_ON | IDENTITY["THRE"])
        await port.expect(IIR=FIFO_ON | IDENTITY["MODEM"], MSR=MODEM_ON | deltas)
        await port.expect(IIR=FIFO_ON | IDENTITY["NONE"], MSR=MODEM_ON)
        assert not port.irq


@in_simulator
async def overrun_interrupts(dut):
    port = await Port.start(dut)
    await port.configure(4, ier=LINE)
    await port.send(*range(DEPTH))
    assert not port.irq
    await port.send(0xff)
    assert port.irq
    await port.expect(IIR=FIFO_ON | IDENTITY["LINE"], LSR=IDLE | DR | OE)
    assert not port.irq


# Loop-back ------------------------------------------------------------------------------------------------------------

@in_simulator
async def loop_back(dut):
    """Characters come back inside, the pins are silent and deaf."""
    port = await Port.start(dut)
    await port.configure(8)
    await port.write("MCR", bits("MCR", LOOP=1))
    for character in (0xa1, 0xb2, 0xc3):
        await port.write("THR", character)
    await port.send(0x55, 0x55)
    await port.sent()
    await cycles(port.bit)
    await port.expect(RXCOUNT=3, LSR=IDLE | DR, RBR=0xa1)
    await port.expect(RBR=0xb2)
    await port.expect(RBR=0xc3)
    assert not port.edges
    await port.write("LCR", port.format.lcr | bits("LCR", SET_BREAK=1))
    await cycles(12 * port.bit)
    await port.write("LCR", port.format.lcr)
    await port.expect(LSR=IDLE | DR | BI | FE | FIFO_ERROR, RBR=0)


@in_simulator
async def modem_loop_back(dut):
    """Every change of the outputs shows as inputs and their deltas; RI only when it goes off."""
    port = await Port.start(dut)
    await port.expect(MSR=MODEM_ON)
    await port.write("IER", MODEM)
    pins = {"RTS": ("CTS", "DCTS"), "DTR": ("DSR", "DDSR"), "OUT1": ("RI", "TERI"), "OUT2": ("DCD", "DDCD")}

    before = MODEM_ON
    rng = random.Random(6)
    for outputs in [*range(16), *rng.choices(range(16), k=40)]:
        await port.write("MCR", outputs | bits("MCR", LOOP=1))
        fields = {}
        for output, (status, delta) in pins.items():
            was, fields[status] = MSR[status].get(before), REGISTERS["MCR"][output].get(outputs)
            fields[delta] = int(was > fields[status] if status == "RI" else was != fields[status])
        value = bits("MSR", **fields)
        assert port.irq == bool(value & 0xf)
        await port.expect(MSR=value)
        await port.expect(MSR=value & 0xf0)
        assert not port.irq
        before = value


@in_simulator
async def rts_tells_the_far_end(dut):
    """By `MCR.RTS` alone, or with `MCR.AFE` off from the trigger level until the FIFO is empty; off in loop-back."""
    port = await Port.start(dut)
    await port.configure(4, fcr=FIFOS | bits("FCR", TRIGGER=2))
    for outputs, on in (({}, 0), ({"AFE": 1}, 0), ({"RTS": 1, "LOOP": 1}, 0), ({"RTS": 1}, 1),
                        ({"RTS": 1, "AFE": 1}, 1)):
        await port.write("MCR", bits("MCR", **outputs))
        assert port.rts.value == on, outputs
    for n in range(DEPTH):
        await port.send(n)
        assert port.rts.value == (n + 1 < DEPTH // 2), n
    for n in range(DEPTH):
        assert port.rts.value == 0
        await port.expect(RBR=n)
    await cycles(2)
    assert port.rts.value == 1
    await port.write("MCR", bits("MCR", RTS=1))
    await port.send(*range(DEPTH))
    assert port.rts.value == 1


# Depths ---------------------------------------------------------------------------------------------------------------

@in_simulator
async def depth_one(dut):
    """A 16450: FCR is ignored, one character each way, the newest wins, no time-out."""
    port = await Port.start(dut, "plain")
    await port.configure(4, fcr=bits("FCR", ENABLE=1, TRIGGER=3), ier=RX)
    await port.expect(DEPTH=1, IIR=IDENTITY["NONE"])
    await port.send(0x81)
    assert port.irq
    await port.expect(IIR=IDENTITY["RX"], RXCOUNT=1, RBR=0x81)
    assert not port.irq
    await port.send(0x82, 0x83, (0x84, FE))
    await cycles(50 * port.bit)
    await port.expect(IIR=IDENTITY["RX"], OVERRUNS=2, RXCOUNT=1, LSR=IDLE | DR | OE | FE)
    await port.expect(LSR=IDLE | DR, RBR=0x84)
    await port.expect(LSR=IDLE, RXCOUNT=0, RBR=0)
    for character in (1, 2, 3):
        await port.write("THR", character)
    await port.sent()
    port.expect_line(1, 3)


@in_simulator
async def depth_is_settable(dut):
    """Any depth up to what is built: overruns, trigger levels and the way out follow; other numbers are ignored."""
    port = await Port.start(dut)
    for depth in (1, 2, 5, 8, DEPTH):
        await port.configure(16)
        await port.write("DEPTH", depth)
        for wrong in (0, DEPTH + 1, 0xffff, 1 << 16):
            await port.write("DEPTH", wrong)
        await port.expect(DEPTH=depth, BUILT=DEPTH, RXCOUNT=0)
        before = await port.read("OVERRUNS")
        await port.send(*range(depth + 2))
        await port.expect(RXCOUNT=depth, OVERRUNS=before + 2)
        for n in range(depth):
            await port.expect(RBR=n)
        text = list(range(0x40, 0x40 + depth + 1))
        for character in text + [0xee]:
            await port.write("THR", character)
        await port.sent()
        port.expect_line(*text)
        for trigger, level in enumerate(trigger_levels(depth)):
            await port.configure(4, fcr=bits("FCR", ENABLE=1, RX_RESET=1, TRIGGER=trigger), ier=RX)
            for n in range(max(level, 1)):
                assert not port.irq
                await port.send(n)
            assert port.irq
            await port.expect(IIR=FIFO_ON | IDENTITY["RX"])


@in_simulator
async def depth_write_empties(dut):
    port = await Port.start(dut)
    await port.configure(16)
    await port.send(0x71)
    for character in (0x61, 0x62, 0x63):
        await port.write("THR", character)
    await port.write("DEPTH", DEPTH + 1)     # ignored
    await port.expect(RXCOUNT=1)
    await port.write("DEPTH", 4)
    await port.expect(RXCOUNT=0, LSR=THRE)   # the character on the line goes on
    await port.sent()
    port.expect_line(0x61)


# Random traffic against a model ---------------------------------------------------------------------------------------

class Model:
    """Software's view of a port whose line has been silent for more than four character times."""

    def __init__(self, depth):
        self.built, self.depth, self.fifo, self.trigger, self.ier, self.mcr = depth, depth, False, 0, 0, 0
        self.characters = []  # [character, its errors, whether a read of LSR has shown them]
        self.shown = self.overruns = 0
        self.empty_event = False
        self.msr = MODEM_ON

    def receive(self, character, errors):
        if len(self.characters) == (self.depth if self.fifo else 1):
            self.overruns += 1
            self.shown |= OE
            if self.fifo:
                return
            self.characters.pop()
        self.characters.append([character, errors, False])
        if len(self.characters) == 1:
            self.shown |= errors

    def write_fcr(self, value):
        fcr = REGISTERS["FCR"]
        enable = bool(fcr["ENABLE"].get(value))
        if self.built == 1:
            return
        if enable != self.fifo or enable and fcr["RX_RESET"].get(value):
            self.characters.clear()
        self.fifo = enable
        if enable:
            self.trigger = fcr["TRIGGER"].get(value)

    def write_depth(self, value):
        if self.built > 1 and 0 < value <= self.built:
            self.depth = value
            self.characters.clear()

    def write_ier(self, value):
        self.empty_event |= bool(value & TX and not self.ier & TX)
        self.ier = value

    def write_mcr(self, value):
        mcr, before = REGISTERS["MCR"], self.msr
        modem = MODEM_ON
        if mcr["LOOP"].get(value):
            modem = bits("MSR", CTS=mcr["RTS"].get(value), DSR=mcr["DTR"].get(value), RI=mcr["OUT1"].get(value),
                         DCD=mcr["OUT2"].get(value))
        changed = (before ^ modem) >> 4 & (0xf if before & bits("MSR", RI=1) else 0xb)
        self.mcr, self.msr = value, before & 0xf | changed | modem

    def read_msr(self):
        value, self.msr = self.msr, self.msr & 0xf0
        return value

    def read_rbr(self):
        if not self.characters:
            return 0
        character, _, _ = self.characters.pop(0)
        if self.characters:
            self.shown |= self.characters[0][1]
        return character

    def read_lsr(self):
        unseen = self.fifo and any(errors and not seen for _, errors, seen in self.characters)
        value = IDLE | self.shown | (DR if self.characters else 0) | (FIFO_ERROR if unseen else 0)
        self.shown = 0
        if self.characters:
            self.characters[0][2] = True
        return value

    def identity(self):
        count = len(self.characters)
        level = trigger_levels(self.depth)[self.trigger] if self.fifo else 1
        for mask, condition, name in ((LINE, self.shown, "LINE"), (RX, count and count >= level, "RX"),
                                      (RX, self.fifo and count, "TIMEOUT"), (TX, self.empty_event, "THRE"),
                                      (MODEM, self.msr & 0xf, "MODEM")):
            if self.ier & mask and condition:
                return IDENTITY[name]
        return IDENTITY["NONE"]

    def read_iir(self):
        identity = self.identity()
        if identity == IDENTITY["THRE"]:
            self.empty_event = False
        return identity | (FIFO_ON if self.fifo else 0)


async def random_traffic(dut, prefix, depth, seed):
    port = await Port.start(dut, prefix)
    model, rng = Model(depth), random.Random(seed)
    await port.configure(4, fcr=0)
    loop = bits("MCR", LOOP=1)

    async def receive():
        for _ in range(rng.randrange(1, 8)):
            errors = rng.choice([0, 0, 0, FE, BI | FE, PE if port.format.parity else 0])
            character = 0 if errors & BI else rng.choice([0, rng.getrandbits(port.format.word)])
            if errors & BI and port.format.parity in ("odd", "mark"):
                errors |= PE
            await port.send((character, errors))
            if errors & FE and not any(level for level, _ in port.format.wave(character, errors)[:-1]):
                errors |= BI  # nothing but low: that is what a break is
            if not model.mcr & loop:
                model.receive(character, errors)

    async def transmit():
        most = min(7, model.depth) if model.fifo else 1
        text = [rng.getrandbits(port.format.word) for _ in range(rng.randint(1, most))]
        for character in text:
            await port.write("THR", character)
        await cycles((len(text) * port.format.length + 2) * port.bit)
        model.empty_event = True
        if model.mcr & loop:
            for character in text:
                model.receive(character, 0)
        else:
            port.expect_line(*text)

    async def format():
        port.format = rng.choice(FORMATS)
        await port.write("LCR", port.format.lcr)

    async def read_some():
        for _ in range(rng.randrange(1, 8)):
            assert await port.read("RBR") == model.read_rbr()

    def write(name, width, into):
        async def action():
            value = rng.getrandbits(width)
            await port.write(name, value)
            into(value)
        return action

    def read(name, source):
        async def action():
            got, expected = await port.read(name), source()
            assert got == expected, f"{name}: 0x{got:02x} instead of 0x{expected:02x}"
        return action

    actions = [receive, receive, receive, transmit, format, read_some, write("IER", 4, model.write_ier),
               write("FCR", 8, model.write_fcr), write("DEPTH", 5, model.write_depth),
               write("MCR", 5, model.write_mcr), read("IIR", model.read_iir),
               read("LSR", model.read_lsr), read("MSR", model.read_msr)]
    for _ in range(400):
        await rng.choice(actions)()
        await cycles(5 * 12 * port.bit)
        assert port.irq == (model.identity() != IDENTITY["NONE"])
        await port.expect(RXCOUNT=len(model.characters), OVERRUNS=model.overruns)
        assert not port.edges


@in_simulator
@cocotb.parametrize(seed=[1, 2, 3, 4])
async def random_against_model(dut, seed):
    await random_traffic(dut, "fifo", DEPTH, seed)


@in_simulator
@cocotb.parametrize(seed=[5, 6])
async def random_against_model_depth_one(dut, seed):
    await random_traffic(dut, "plain", 1, seed)


# Under pytest ---------------------------------------------------------------------------------------------------------

def test_core():
    bench.simulate(make)


@pytest.mark.parametrize("clock_hz, depth, words", [(CLOCK_HZ, 0, "depth 0 "), (CLOCK_HZ, 24, "depth 24 "),
                                                    (CLOCK_HZ, 512, "depth 512 "), (400_000, 16, "clock of 400000 Hz"),
                                                    (200_000_000_000, 16, "clock of 200000000000 Hz")])
def test_parameters_are_checked(clock_hz, depth, words):
    with pytest.raises(ValueError, match=words):
        Serial16550(clock_hz, depth)


def test_readme_example_compiles(tmp_path):
    check_example("serial", tmp_path, serial_regs=REGISTERS.c_header("SERIAL"))
