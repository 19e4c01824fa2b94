"""The parts of a run of several nodes (sim/harness/run, sim/wires/nodes.py), each by itself, under sanitizers."""

import subprocess

import pytest

from sim.model.build import HARNESS
from sim.model.toolchain import compile_objects, link
from sim.wires.nodes import consoles, options, ring
from support.cache import REPO
from support.parameters.headers import harness_headers

PARTS = ("run/lookahead.cpp", "support/crew.cpp", "devices/serial.cpp")


@pytest.mark.parametrize("sanitizer", ["address,undefined", "thread"])
def test_the_parts_in_cpp(tmp_path, sanitizer):
    flags = ["-O1", "-g", "-Wall", "-Wextra", "-Werror", f"-fsanitize={sanitizer}", "-fno-sanitize-recover=all",
             f"-I{HARNESS}", f"-I{harness_headers()}"]
    sources = [REPO / "tests/unit/nodes.cpp", *(HARNESS / part for part in PARTS)]
    objects = compile_objects(tmp_path, dict.fromkeys(sources, flags))
    link(tmp_path, tmp_path / "test", objects, [f"-fsanitize={sanitizer}", "-pthread"])
    done = subprocess.run([tmp_path / "test"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_ring_goes_round():
    assert ring(3, 5) == ["0.uart1:1.uart1:5", "1.uart1:2.uart1:5", "2.uart1:0.uart1:5"]
    assert ring(1, 5) == []
    assert options(2, latency=7, each=["1:image=x"], jobs=3) == [
        "--nodes", "2", "--jobs", "3", "--wire", "0.uart1:1.uart1:7", "--wire", "1.uart1:0.uart1:7",
        "--node", "1:image=x"]
    assert "--wire" not in options(2, wired=True)


def test_consoles_are_told_apart(tmp_path):
    for node, text in enumerate(("a\nb\n", "c")):
        (tmp_path / f"node-{node}").mkdir()
        (tmp_path / f"node-{node}" / "console.txt").write_text(text)
    assert consoles(tmp_path, 3) == ["0: a", "0: b", "1: c"]
