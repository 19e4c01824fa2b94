"""Decoding made from a register map (hw/common/decode.py): accesses that the declaration does not allow are refused,
and reads and writes reach their register, and no other."""

import random

import cocotb
import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import If, Signal

from hw.common.decode import Decoder, at, fields_record, index, packed
from hw.common.regmap import Field, Register, RegisterMap
from tests.hw import bench

MAP = RegisterMap("Example", 0x1000, "", (
    Register("MODE", 0x00, "rw", "", (Field("FAST", 0, 1, ""), Field("SIZE", 1, 5, "", 3))),
    Register("WIDE", 0x04, "rw", "", (Field("LOW", 4, 4, ""), Field("HIGH", 20, 8, "", 9))),
    Register("TOLD", 0x08, "ro", "", (Field("COUNT", 8, 8, ""),)),
    Register("GO", 0x0c, "wo", ""),
    Register("TABLE", 0x40, "rw", "", count=8),
    Register("PAIRS", 0x80, "ro", "", count=4, stride=8)))


class Example(LiteXModule):
    """Keeps written values, and counts writes of GO and reads of TOLD."""
    def __init__(self):
        self.bus = bus = wishbone.Interface(data_width=32)
        self.go, self.told = Signal(8), Signal(8)
        access = Signal()
        mode, low, high = fields_record(MAP["MODE"]), Signal(4), Signal(8, reset=9)
        words = [Signal(32, name=f"word{n}") for n in range(8)]
        decoder = Decoder(MAP, access, bus.adr[:10], bus.we, bus.sel, bus.dat_w)
        word = index(MAP["TABLE"], bus.adr[:10])
        self.comb += access.eq(bus.cyc & bus.stb & ~bus.ack)
        self.sync += [
            bus.ack.eq(access),
            If(decoder.writes("MODE"), mode.raw_bits().eq(decoder.value("MODE"))),
            If(decoder.writes("WIDE"), low.eq(decoder.field("WIDE", "LOW")), high.eq(decoder.field("WIDE", "HIGH"))),
            If(decoder.writes("GO"), self.go.eq(self.go + 1)),
            If(decoder.reads("TOLD"), self.told.eq(self.told + 1)),
            *[If(decoder.writes("TABLE") & (word == n), words[n].eq(bus.dat_w)) for n in range(8)],
            If(access,
                decoder.given(bus.dat_r, MODE=tuple(mode.flatten()), WIDE=(low, high), TOLD=self.told, TABLE=0,
                              PAIRS=0),
                *[If(at(MAP["TABLE"], bus.adr[:10]) & (word == n), bus.dat_r.eq(words[n])) for n in range(8)],
                If(at(MAP["PAIRS"], bus.adr[:10]), bus.dat_r.eq(index(MAP["PAIRS"], bus.adr[:10]) + 1))
            ),
        ]


def make():
    example = Example()
    return example, {"bus": example.bus, "go": example.go, "told": example.told}


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def each_place_is_its_register_and_no_other(dut):
    clock = await bench.start(dut)
    bus = bench.WishboneBus(dut, "bus", clock)
    chance = random.Random(1)
    kept = {offset: 0 for offset in range(0x40, 0x60, 4)} | {0x00: MAP["MODE"].reset, 0x04: MAP["WIDE"].reset}
    kept |= {0x80 + 8 * n: n + 1 for n in range(4)}
    lanes = {offset: 0xf for offset in range(0x40, 0x60, 4)} | {0x00: 0x1, 0x04: 0xd}
    masks = {0x00: 0x3f, 0x04: 0x0ff0_00f0}
    gone = told = 0
    for _ in range(600):
        offset, value, select = 4 * chance.randrange(48), chance.getrandbits(32), chance.randrange(16)
        if chance.randrange(2):
            await bus.write(offset, value, select)
            if offset in lanes and select & lanes[offset] == lanes[offset]:
                kept[offset] = value & masks.get(offset, 0xffff_ffff)
            gone += offset == 0x0c and select == 0xf
        else:
            expected = (told & 0xff) << 8 if offset == 0x08 else kept.get(offset, 0)
            clock.equal(f"read at {offset:#x}", await bus.read(offset), expected)
            told += offset == 0x08
    await clock.tick()
    clock.equal("writes of GO", dut.go, gone & 0xff)
    clock.equal("reads of TOLD", dut.told, told & 0xff)


def test_decode():
    bench.simulate(make)


def decoder():
    bus = wishbone.Interface(data_width=32)
    return Decoder(MAP, Signal(), bus.adr[:10], bus.we, bus.sel, bus.dat_w)


def test_what_is_not_declared_is_refused():
    with pytest.raises(KeyError, match="TOLD is not written"):
        decoder().writes("TOLD")
    with pytest.raises(KeyError, match="GO is not read"):
        decoder().reads("GO")
    with pytest.raises(KeyError, match="no register OTHER"):
        decoder().reads("OTHER")
    values = {"MODE": (0, 0), "WIDE": (0, 0), "TOLD": 0, "TABLE": 0, "PAIRS": 0}
    for wrong, name in (({**values, "GO": 0}, "GO"), ({k: v for k, v in values.items() if k != "TOLD"}, "TOLD")):
        with pytest.raises(ValueError, match=f"{name} cannot be read, or has no value"):
            decoder().given(Signal(32), **wrong)
    with pytest.raises(ValueError):
        packed(MAP["MODE"], 0)
    with pytest.raises(AssertionError, match="MODE.FAST has 1 bits"):
        packed(MAP["MODE"], Signal(2), 0)
    with pytest.raises(AssertionError, match="WIDE has gaps"):
        fields_record(MAP["WIDE"])
    with pytest.raises(AssertionError, match="no array of a power of two"):
        at(Register("ODD", 0, "rw", "", count=6), Signal(10))
    with pytest.raises(AssertionError, match="not at a multiple"):
        at(Register("HIGH", 4, "rw", "", count=4), Signal(10))
