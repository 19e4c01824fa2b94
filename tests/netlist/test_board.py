"""The netlist of a whole board runs its boot ROM's self-test as the RTL does: same console, same pins in all cycles."""

import re

import pytest

from soc.boards.config import board_config
from tests.netlist.board_bench import run, simulator

CYCLES = 32 << 16       # digests come each 2^16; the self-test has said its last at 40 MHz after 29 of them


@pytest.mark.board_long
def test_netlist_passes_the_self_test_as_the_rtl_does():
    config = board_config("ulx3s", "25F")
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
