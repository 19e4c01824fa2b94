"""Boards through synthesis, place and route and their timing gate: the smallest SoC, and each FPGA of each board as the
catalog lists it. All are long tests; the controller's own chip is a short one (test_picchip.py)."""

import json

import pytest

from soc.boards import bitstream
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from soc.fpga.placement import GateError, PlacementOptions
from soc.fpga.synthesis import SynthesisOptions

SMALLEST = {"harts": 1, "clock_hz": 25_000_000, "serial_fifo": 1, "trace_depth": 2, "icache_bytes": 1024,
            "dcache_bytes": 1024}
SEEDS = 3
TARGETS = [(board.name, device) for board in BOARDS.values() if board.oscillator_hz
           for device in board.devices]


@pytest.fixture
def build(tmp_path, monkeypatch):
    """Makes a bitstream in a folder apart from the user's: gives its file and the record of the build."""
    monkeypatch.setattr(bitstream, "board_folder", lambda board: tmp_path / board)

    def make(config, seeds):
        placements = [PlacementOptions(seed + 1) for seed in range(seeds)]
        made = bitstream.make_bitstream(config, SynthesisOptions(), placements)
        return made, json.loads((made.parent / "record.json").read_text())
    return make


def check(made, record, config):
    """A bitstream of a chip's size, and figures that are of the SoC asked for."""
    assert made.stat().st_size > 100_000
    assert record["met"] and all(clock["mhz"] >= clock["wanted_mhz"] for clock in record["clocks"].values())
    assert record["clocks"]["sys"]["wanted_mhz"] == pytest.approx(config.clock_hz / 1e6, rel=.01)
    cores = record["cores"]
    assert sum(core.startswith("hart ") for core in cores) == config.harts
    assert all(cores[core]["lut"] > 0 and cores[core]["ff"] > 0 for core in ("hart 0", "interconnect", "pic", "uart0"))
    total = {column: sum(core[column] for core in cores.values()) for column in record["use"]}
    assert total["ff"] == pytest.approx(record["use"]["ff"]["used"], rel=.02)   # the pins' flip-flops are counted apart
    assert cores.get("others", {"lut": 0})["lut"] < .05 * total["lut"]


@pytest.mark.board_long
def test_the_smallest_board_meets_its_clock(build, tmp_path, monkeypatch):
    monkeypatch.setattr(bitstream, "records_folder", lambda: tmp_path)   # the page should not show it
    config = board_config("ulx3s", "85F", **SMALLEST)
    made, record = build(config, 1)
    check(made, record, config)


@pytest.mark.board_long
@pytest.mark.parametrize("board, device", TARGETS)
def test_a_board_of_the_catalog_meets_its_clocks_or_is_known_not_to_fit(build, board, device):
    config = board_config(board, device)
    if BOARDS[board].devices[device].fits:
        made, record = build(config, SEEDS)
        check(made, record, config)
    else:
        with pytest.raises(GateError, match="does not fit"):
            build(config, 1)
