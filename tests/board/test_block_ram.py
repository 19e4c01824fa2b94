"""Memories for block RAM are in block RAM: FIFOs of few words, and what a small FPGA needs there."""

import json
from collections import Counter

import pytest
from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect import stream
from migen import ClockDomain

from hw.common.fifo import BlockFIFO
from hw.common.memory import block_rams, with_block_rams
from hw.serial.fifo import CharacterFifo
from soc.fpga.design import Design
from soc.fpga.synthesis import SynthesisOptions, synthesise

# Written at one address and read at two, as a cache's tags are.
TAGS = """
module cache (input clk, input we, input [5:0] to, input [5:0] a, input [5:0] b, input [21:0] data,
              output reg [21:0] at_a, output reg [21:0] at_b);
    reg [21:0] ways_0_tags [0:63];
    always @(posedge clk) begin
        if (we) ways_0_tags[to] <= data;
        at_a <= ways_0_tags[a];
        at_b <= ways_0_tags[b];
    end
endmodule
"""


@pytest.fixture
def cells(tmp_path, monkeypatch):
    """The number of cells of each kind that yosys makes of a module."""
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))

    def synthesised(text, top, **design):
        (tmp_path / "top.v").write_text(text)
        netlist = synthesise(Design(top, top, (tmp_path / "top.v",), tmp_path / "none.lpf", "", "25k", "", "6",
                                    25_000_000, **design), SynthesisOptions())
        module = json.loads((netlist / "netlist.json").read_text())["modules"][top]
        return Counter(cell["type"] for cell in module["cells"].values())
    return synthesised


class Top(LiteXModule):
    def __init__(self, fifo):
        self.cd_sys = ClockDomain()
        self.fifo = fifo


def verilog(fifo, ios):
    """The Verilog of a module with `fifo` in it, with and without the marks for block RAM."""
    top = Top(fifo)
    output = convert(top, {*ios, top.cd_sys.clk, top.cd_sys.rst}, name="top")
    text = output.main_source
    return text, with_block_rams(text, block_rams(top, output.ns.get_name))


def stream_ios(fifo):
    return [*fifo.sink.flatten(), *fifo.source.flatten()]


@pytest.mark.parametrize("depth, blocks", [(32, 3), (16, 0)])
def test_a_wide_fifo_of_more_words_than_a_table_lies_in_block_ram(cells, depth, blocks):
    """As wide as data from RAM: 84 bits are 3 block RAMs of 36."""
    fifo = BlockFIFO([("data", 84)], depth)
    found = cells(verilog(fifo, stream_ios(fifo))[1], "top")
    assert found["DP16KD"] == blocks and bool(found["TRELLIS_DPR16X4"]) == (not blocks)


def test_litex_fifo_would_lie_in_tables(cells):
    fifo = stream.SyncFIFO([("data", 84)], 32)
    found = cells(verilog(fifo, stream_ios(fifo))[1], "top")
    assert found["DP16KD"] == 0 and found["TRELLIS_DPR16X4"] > 40


def test_the_characters_of_a_serial_port_lie_in_block_ram(cells):
    fifo = CharacterFifo(8, 128)
    unmarked, marked = verilog(fifo, [fifo.push, fifo.data, fifo.pop, fifo.head, fifo.count, fifo.clear])
    assert cells(unmarked, "top")["TRELLIS_DPR16X4"] > 0
    found = cells(marked, "top")
    assert found["DP16KD"] == 1 and found["TRELLIS_DPR16X4"] == 0


def test_only_a_small_chip_has_tags_in_block_ram(cells):
    pattern = ("*/m:ways_*_tags",)
    assert cells(TAGS, "cache", in_block_ram=pattern)["TRELLIS_DPR16X4"] > 0
    found = cells(TAGS, "cache", in_block_ram=pattern, small=True)
    assert found["DP16KD"] == 2 and found["TRELLIS_DPR16X4"] == 0


def test_a_memory_that_is_not_there_is_told():
    with pytest.raises(RuntimeError, match="memory words is declared 0 times in the Verilog, not once"):
        with_block_rams("module top; endmodule", ["words"])
