"""The controller's own board: its chip generates for each board that has the pins, and fits the SoC's wires."""

import json
import re
import subprocess
import sys

import pytest

from hw.pic.pins.wires import MAX_CLOCK_RATIO
from soc.boards import bitstream as soc_bitstream
from soc.boards import picchip
from soc.boards.build import generate_board
from soc.boards.catalog import BOARDS
from soc.boards.pic_wires import FROM_SOC, TO_SOC
from soc.boards.picchip import ChipConfig, generate_chip, make_bitstream
from soc.fpga.placement import GateError, count
from support.cache import REPO


def wires(constraints):
    """The pins of the wires by name, strobe first."""
    return {direction: [site for _, site in sorted(
        re.findall(rf'LOCATE COMP "pic_wires_{direction}_(strobe|data\[\d\])" SITE "(\w+)";', constraints),
        key=lambda pin: (pin[0] != "strobe", pin[0]))] for direction in ("tx", "rx")}


@pytest.mark.parametrize("board", FROM_SOC)
def test_it_generates_for_each_board(board):
    made = generate_chip(ChipConfig(board))
    constraints = (made / "picchip.lpf").read_text()
    text = (made / "picchip.v").read_text()
    ports = re.findall(r"(?:input|output)\s+(?:wire|reg)\s+(?:\[(\d+):0\]\s+)?(\w+)", text[:text.index(");")])
    pins = [f"{name}[{i}]" if high else name for high, name in ports for i in range(int(high or 0) + 1)]
    assert sorted(re.findall(r'LOCATE COMP "([^"]+)"', constraints)) == sorted(pins)
    assert [float(mhz) for mhz in re.findall(r"FREQUENCY PORT \"clk\d+\" ([\d.]+) MHz", constraints)] == [
        BOARDS[board].oscillator_hz / 1e6]
    assert all(f'"pic_wires_rx_{name}" PULLMODE=DOWN' in constraints for name in ("strobe", "data[0]", "data[2]"))
    assert json.loads((made / "board.json").read_text())["clock_hz"] == 50_000_000


def test_what_one_sends_on_the_other_receives_on():
    soc = wires(generate_board("ulx3s_pins", harts=1).constraints.read_text())
    chip = wires((generate_chip(ChipConfig("ulx3s")) / "picchip.lpf").read_text())
    assert len(soc["tx"]) == len(soc["rx"]) == 4
    assert (soc["tx"], soc["rx"]) == (chip["rx"], chip["tx"])


def test_no_pin_is_used_twice():
    for board in FROM_SOC:
        pins = FROM_SOC[board].split() + TO_SOC[board].split()
        assert len(set(pins)) == len(pins) == 8


def test_the_clocks_are_near_enough():
    for device in BOARDS["ulx3s_pins"].devices.values():
        ratio = ChipConfig("ulx3s").clock_hz / device.clock_hz
        assert 1 / MAX_CLOCK_RATIO <= ratio <= MAX_CLOCK_RATIO


@pytest.mark.parametrize("arguments, message", [
    (["orangecrab"], "board 'orangecrab' has no pins for the wires (valid: ulx3s, colorlight_i5, ecpix5)"),
    (["ulx3s", "--device", "12F"], "board ulx3s has no FPGA '12F' (valid: 85F, 45F, 25F)"),
    (["ulx3s", "--harts", "9"], "harts=9: give a whole number from 1 to 8"),
    (["ulx3s", "--clock-hz", "51234567"], "clock_hz=51234567: the board's PLL cannot make that from 25 MHz"),
])
def test_what_cannot_be_built_is_refused_in_one_line(arguments, message):
    done = subprocess.run([sys.executable, "-m", "soc.boards.picchip", *arguments], cwd=REPO, capture_output=True,
                          text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr.splitlines()[-1]


def test_its_chip_has_room(tmp_path, monkeypatch):
    """The small target that goes through synthesis in `make test`, for one hart, and its cells and pins through the
    packer. It is not placed: test_timing_gate.py has the tools behind that, on a design of a few cells."""
    monkeypatch.setattr(picchip, "board_folder", lambda name: tmp_path / name)     # the user's stay as they are
    monkeypatch.setattr(soc_bitstream, "records_folder", lambda: tmp_path)
    monkeypatch.setattr(picchip, "place", lambda design, netlist, options: count(design, netlist))
    with pytest.raises(GateError, match="^colorlight_i5_pic-25F-1 cannot be built: "):
        make_bitstream(ChipConfig("colorlight_i5", harts=1))
    assert not list(tmp_path.rglob("*.bit"))
    record = json.loads((tmp_path / "colorlight_i5_pic/record.json").read_text())
    assert record["fits"] and record["use"]["ebr"]["used"] > 0
    assert record["use"]["ff"]["used"] == sum(core["ff"] for core in record["cores"].values()) > 500


@pytest.mark.board_long
@pytest.mark.parametrize("harts", [1, ChipConfig.harts])
def test_its_bitstream_meets_its_clock(harts, tmp_path, monkeypatch):
    """Through place and route and its timing gate: a minute for one hart."""
    monkeypatch.setattr(picchip, "board_folder", lambda name: tmp_path / name)     # the user's stay as they are
    monkeypatch.setattr(soc_bitstream, "records_folder", lambda: tmp_path)
    bitstream = make_bitstream(ChipConfig("colorlight_i5", harts=harts))
    record = json.loads((bitstream.parent / "record.json").read_text())
    assert bitstream.stat().st_size > 0 and record["met"]
    assert record["clocks"]["crg_clkout"]["wanted_mhz"] == 50
