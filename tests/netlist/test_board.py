"""The netlist of a whole board runs its boot ROM's self-test as the RTL does: same console, same pins in all cycles."""

import re
import subprocess

import pytest

from sim.model.toolchain import find
from soc.boards.config import board_config
from soc.sim import TOP
from tests.netlist.board_bench import QUIET, run, simulator, sources

CYCLES = 32 << 16       # digests come every 2^16; at 40 MHz the self-test ends after 29 of them


@pytest.fixture
def config():
    """The smallest board with the controller in it."""
    return board_config("ulx3s", "45F", harts=1)


def test_every_cell_that_the_board_asks_for_has_a_model(config, tmp_path):
    files = sources(config, "rtl")
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    result = subprocess.run([find("verilator"), "--lint-only", *QUIET, "--top-module", TOP, *files], cwd=tmp_path,
                            capture_output=True, text=True)
    assert result.returncode == 0, [line for line in result.stderr.splitlines() if line.startswith("%Error")]


@pytest.mark.board_long
def test_netlist_passes_the_self_test_as_the_rtl_does(config):
    netlist, rtl = (simulator(config, level) for level in ("netlist", "rtl"))     # both of the same sources
    expected_console, expected_pins = run(rtl, CYCLES)
    console, pins = run(netlist, CYCLES)
    text = "".join(character for _, character in console)
    assert text == "".join(character for _, character in expected_console)
    differ = [ours[0] for ours, theirs in zip(pins, expected_pins, strict=True) if ours != theirs]
    assert not differ, f"pins differ before cycle {differ[0]}"
    assert console == expected_console
    assert len(pins) == CYCLES >> 16
    assert f"Interlock boot ROM: 1 hart at {config.clock_hz / 1e6:.3f} MHz" in text
    assert re.findall(r"^(\w+) (ok|absent|failed)", text, re.MULTILINE) == [
        *((name, "ok") for name in ("harts", "memory", "caches", "pic", "serial")), ("sd", "absent"),
        ("ethernet", "absent")]
