"""A build that misses its clock fails and leaves nothing to flash. On a design of a few cells, with the real tools."""

import json
import re
from types import SimpleNamespace

import pytest

from soc.boards import bitstream, resources
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from soc.fpga import placement
from soc.fpga.design import Design
from soc.fpga.pack import pack
from soc.fpga.placement import GateError, PlacementOptions, Watch, count, place
from soc.fpga.report import figures, summary
from soc.fpga.synthesis import SynthesisOptions, synthesise
from soc.fpga.tools import ToolError

VERILOG = """
module squares (input clk, output reg led);
    reg [31:0] core_a_count = 1, core_b_product = 0;
    always @(posedge clk) begin
        core_a_count <= core_a_count + 3;
        core_b_product <= core_a_count * core_b_product + 1;
        led <= ^core_b_product;
    end
endmodule
"""
PINS = 'LOCATE COMP "clk" SITE "G2";\nLOCATE COMP "led" SITE "B2";\n'
CORES = {"core_a_count": "a", "core_b_product": "b"}
EASY, HARD = 25_000_000, 300_000_000   # its multiplier reaches some 75 MHz


@pytest.fixture
def design(tmp_path, monkeypatch):
    """Makes the design for a clock rate in Hz; builds go to a cache of their own."""
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    (tmp_path / "squares.v").write_text(VERILOG)

    def make(clock_hz, constraint=True):
        lpf = tmp_path / "squares.lpf"
        lpf.write_text(PINS + (f'FREQUENCY PORT "clk" {clock_hz / 1e6} MHz;\n' if constraint else ""))
        return Design("squares", "squares", (tmp_path / "squares.v",), lpf, "LFE5U-25F-6BG381C", "25k", "CABGA381",
                      "6", clock_hz, CORES)
    return make


def test_a_met_clock_gives_a_bitstream_and_its_figures(design):
    easy = design(EASY)
    netlist = synthesise(easy)
    placed = place(easy, netlist)
    assert pack(easy, placed).stat().st_size > 10_000
    record = figures(easy, netlist, placed)
    assert record["met"] and record["margin"] > 1
    (clock,) = record["clocks"].values()
    assert clock["wanted_mhz"] == pytest.approx(25, rel=1e-3) and clock["mhz"] > 25
    assert clock["path"]["to"]["core"] == "b" and 0 < clock["path"]["wires_ns"] < clock["path"]["ns"]
    assert record["cores"]["a"]["ff"] == 32 and record["cores"]["b"]["mult"] > 0
    assert record["use"]["ff"]["used"] == sum(core["ff"] for core in record["cores"].values()) == 65
    assert record["longest_ns"]["b"] == pytest.approx(clock["path"]["ns"], abs=.05)
    assert 0 < record["longest_ns"]["a"] < record["longest_ns"]["b"]
    assert record["placement"]["memory"] > 0 and record["synthesis"]["processor"] > 0


def test_a_missed_clock_leaves_nothing_to_flash(design, tmp_path):
    hard = design(HARD)
    netlist = synthesise(hard)
    for _ in range(2):   # built, and found again
        placed = place(hard, netlist)
        record = figures(hard, netlist, placed)
        assert not record["met"] and re.search("MHz of 300, from [ab] to b ", summary(record))
        with pytest.raises(GateError, match="nothing to make a bitstream of"):
            pack(hard, placed)
    assert not [*(tmp_path / "build").rglob("*.config"), *(tmp_path / "build").rglob("*.bit")]


def test_a_design_whose_clock_is_not_held_to_its_rate_does_not_pass_the_gate(design, tmp_path):
    """The constraint is for another rate than the one that software gets."""
    slow = design(EASY)
    claimed = Design(**{**vars(slow), "clock_hz": HARD})
    with pytest.raises(ToolError, match="no clock of the design is held to 300 MHz"):
        place(claimed, synthesise(claimed))
    assert not [*(tmp_path / "build").rglob("*.config")]


def test_a_design_that_does_not_fit_is_told_before_it_is_placed(design, tmp_path):
    large = design(EASY)
    products = "".join(f"reg [31:0] p{i} = {i}; always @(posedge clk) p{i} <= p{i} * (core_a_count + {i});\n"
                       for i in range(16))
    large.verilog[0].write_text(VERILOG.replace("always", products + "always", 1).replace(
        "^core_b_product", "^{core_b_product" + "".join(f", p{i}" for i in range(16)) + "}"))
    netlist = synthesise(large)
    placed = place(large, netlist)
    record = figures(large, netlist, placed)
    assert not record["fits"] and not record["met"] and record["clocks"] == {}
    assert record["use"]["mult"]["used"] > record["use"]["mult"]["available"] == 28
    assert summary(record) == f"{record['use']['mult']['used']} MULT of 28"
    assert "analytic placement" not in (tmp_path / "build/log/squares-nextpnr.log").read_text()
    with pytest.raises(GateError):
        pack(large, placed)


ROUTER1 = "Info:     {0:6}000 |    28029     100395 |  539   461 | {1:9}|       1.31     124.63|"
ROUTER2 = "Info:     iter={0} wires=415275 overused={1} overuse={1} archfail=NA"


@pytest.mark.parametrize("router, line, conflicts, ended", [
    # A chip that is too full.
    ("router2", ROUTER2, [9000, 6000, 4000, 3000, 2500, 2400, 2380, 2370, 2400, 2450, 2500, 2560, 2600], 13),
    ("router1", ROUTER1, [9000, 6000, *[4000 + i % 7 for i in range(300)]], 103),
    # Slowly, but it makes progress.
    ("router2", ROUTER2, [9000 - 20 * i for i in range(300)], None),
    ("router1", ROUTER1, [9000 - i // 10 for i in range(900)], None),
    # The last ones take their time.
    ("router2", ROUTER2, [9000, 800, 90, *[8] * 60, 0], None),
    ("router1", ROUTER1, [9000, 800, 90, *[8] * 60, 0], None),
])
def test_routing_that_gets_nowhere_is_ended(router, line, conflicts, ended):
    watch, rounds = Watch(router), 0
    try:
        for wires in conflicts:
            rounds += 1
            watch(line.format(rounds, wires))
    except StopIteration:
        assert rounds == ended and watch.stuck
    else:
        assert ended is None and not watch.stuck


def test_what_cannot_be_routed_is_told_and_leaves_nothing_to_flash(design, tmp_path, monkeypatch):
    """With a design whose routing counts as stuck as soon as it has begun."""
    monkeypatch.setitem(placement.ROUTERS, "router1", (re.compile(r"Info: Routing (\d+) arcs"), 0, 0))
    easy = design(EASY)
    netlist = synthesise(easy)
    for _ in range(2):   # tried, and found again
        record = figures(easy, netlist, place(easy, netlist))
        assert record["fits"] and not record["routed"] and not record["met"] and record["conflicts"] > 0
        assert summary(record) == f"{record['conflicts']} wires stay in conflict"
    monkeypatch.setattr(bitstream, "generate_config", lambda config: SimpleNamespace(
        dir=tmp_path, description={"fingerprint": "0123456789abcdef"}))
    monkeypatch.setattr(bitstream, "design_of", lambda artifacts, config: easy)
    with pytest.raises(GateError, match=r"^squares cannot be routed: \d+ wires stay in conflict; give fewer HARTS, "):
        bitstream.make_bitstream(board_config("ulx3s"), SynthesisOptions(), [PlacementOptions()])
    bitstream.count_use(board_config("ulx3s"), SynthesisOptions())      # and does not say that there is room
    assert "| **not routed** |" in str(resources.Page.of(resources.read(bitstream.records_folder())))
    assert not [*(tmp_path / "build").rglob("*.config"), *(tmp_path / "build").rglob("*.bit")]


def test_what_is_only_counted_uses_the_same_and_has_no_clocks(design, tmp_path):
    easy = design(EASY)
    netlist = synthesise(easy)
    counted = figures(easy, netlist, count(easy, netlist))
    whole = figures(easy, netlist, place(easy, netlist))
    assert counted["use"] == whole["use"] and counted["cores"] == whole["cores"]
    assert (counted["fits"], counted["routed"], counted["met"], counted["clocks"]) == (True, False, False, {})
    assert whole["routed"]


def test_a_tool_that_fails_says_why_in_one_line(design, tmp_path):
    wrong = design(EASY)
    wrong.verilog[0].write_text(VERILOG.replace("endmodule", ""))
    with pytest.raises(ToolError, match=r"^yosys: .*ERROR: syntax error.*\(all of it in .*squares-yosys.log\)$"):
        synthesise(wrong)
    wrong.verilog[0].write_text(VERILOG)
    wrong.lpf.write_text(PINS.replace("B2", "B999"))
    with pytest.raises(ToolError, match=r"^nextpnr-ecp5: ERROR: .*B999"):
        place(wrong, synthesise(wrong))
    assert json.loads((synthesise(wrong) / "synthesis.json").read_text())["tool"].startswith("yosys ")


def test_make_bitstream_that_misses_removes_the_older_bitstream(design, tmp_path, monkeypatch, capsys):
    """`python -m soc.boards.bitstream`, for a board whose SoC is this design."""
    def build(clock_hz, arguments=("--seeds", "2")):
        made = SimpleNamespace(dir=tmp_path, description={"fingerprint": "0123456789abcdef"})
        monkeypatch.setattr(bitstream, "generate_config", lambda config: made)
        monkeypatch.setattr(bitstream, "design_of", lambda artifacts, config: design(clock_hz))
        monkeypatch.setattr("sys.argv", ["bitstream", "ulx3s", *arguments])
        bitstream.main()

    (tmp_path / "board.json").write_text("{}")
    build(EASY, ["--count"])
    assert re.fullmatch(r"\d+ LUT of 24288, 65 FF of 24288, 0 EBR of 56, \d+ MULT of 28\n", capsys.readouterr().out)
    (counted,) = resources.read(bitstream.records_folder())
    assert "| room |" in str(resources.Page.of([counted])) and not counted["routed"]
    build(EASY)
    assert bitstream.count_use(board_config("ulx3s"), SynthesisOptions())      # and keeps the whole build's output
    assert [record["routed"] for record in resources.read(bitstream.records_folder())] == [True]
    folder = bitstream.board_folder("ulx3s")
    assert capsys.readouterr().out == f"{folder / 'ulx3s.bit'}\n"
    assert {path.name for path in folder.iterdir()} == {"ulx3s.bit", "board.json", "record.json"}
    with pytest.raises(SystemExit) as stopped:
        build(HARD)
    assert re.fullmatch(r"error: squares misses timing: clk [\d.]+ MHz of 300, from [ab] to b \([\d.]+ ns\); give a "
                        r"lower CLOCK, fewer HARTS, or more SEEDS to try", stopped.value.code)
    assert "seed 1: " in (told := capsys.readouterr().err) and "seed 2: " in told
    assert {path.name for path in folder.iterdir()} == {"record.json"}
    assert not json.loads((folder / "record.json").read_text())["met"]
    page = resources.Page.of(resources.read(bitstream.records_folder()))
    assert ["| no |" in str(resources.Page.of([counted | {"mfs": mfs}])) for mfs in (True, False)] == [False, True]
    assert "| **missed** |" in str(page) and f"ulx3s 85F, {board_config('ulx3s').harts} harts" in page.by_core()


def test_the_page_keeps_the_builds_that_there_is_no_record_of():
    """Read as it was written, and only rows of new builds are replaced, each in its place."""
    by_core = resources.PAGE.with_name(resources.BY_CORE)
    older = resources.Page.read(resources.PAGE.read_text(), by_core.read_text())
    assert str(older) == resources.PAGE.read_text() and len(older.builds) >= len(BOARDS)
    assert older.by_core() == by_core.read_text()
    key, row = next((key, row) for key, row in older.builds.items() if key[2] == "-" and row[5] == "yes")
    name = f"{key[0]} {key[1]}, {key[3]} hart" + "s" * (key[3] != "1")
    anew = [*row[:4], "1.5 / 60", "**missed**", *row[6:]]
    other = ["orangecrab", "25F", "tlb_entries=2", "1", *row[4:]]
    page = older | resources.Page({key: anew, tuple(other[:4]): other}, {}, {}, {name: [["hart 0", *"12345"]]}, {"x 1"})
    before, after = (str(text).splitlines() for text in (older, page))
    added = [line for line in after if line not in before]
    assert added == [*map(resources.line, (anew, other)), "- x 1"]
    assert [line for line in before if line not in after] == [resources.line(row)]
    cores = page.by_core().splitlines()
    assert [line for line in cores if name in line] == [f'"{name}",hart 0,1,2,3,4,5']
    assert len(cores) == len(older.by_core().splitlines()) - len(older.cores[name]) + 1
    assert resources.Page.read(str(page), page.by_core()) == page


@pytest.mark.parametrize("network_mhz, told", [(130, "sys"), (120, "network")])
def test_a_row_tells_of_the_systems_clock_unless_another_is_missed(network_mhz, told):
    clocks = {"sys": {"mhz": 93, "wanted_mhz": 60}, "network": {"mhz": network_mhz, "wanted_mhz": 125}}
    assert resources.told({"clocks": clocks, "clock_hz": 60_000_000, "met": network_mhz > 125}) == (told, clocks[told])
