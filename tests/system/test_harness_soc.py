"""The simulator's harness on the real SoC with two harts: what harness and hardware must agree on."""

import csv
import os
import random
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sim.model.build import build_simulator
from sim.model.gating import EDGE
from sim.model.gating.watch import BOOT, CYCLES
from sim.model.toolchain import PROFILES, needed, tool_versions
from sim.model.verilate import verilate
from soc.build import generate_soc
from soc.config import SoCConfig
from support.cache import REPO
from support.tools import ToolError
from tests.kernel.machine import DEVICES, simulator_of
from tests.system import harness_player as player

CONFIG = SoCConfig(harts=2)
BAUD = 115_200
BYTE_CYCLES = 10 * CONFIG.clock_hz / BAUD
LINK = """SECTIONS {
    . = 0x40000000; .text : { *(.text.start) *(.text*) *(.rodata*) } .data : { *(.data*) *(.sdata*) }
    .bss (NOLOAD) : { *(.bss*) *(.sbss*) _end = .; } .interlock.probes 0 (INFO) : { *(.interlock.probes) }
}"""


def build_image(folder, config):
    (folder / "link.ld").write_text(LINK)
    source = Path(__file__).parent / "harness_program.c"
    image = folder / "program.elf"
    subprocess.run(["riscv64-unknown-elf-gcc", "-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-O1", "-ffreestanding",
                    "-nostdlib", "-static", "-fno-reorder-blocks", "-fno-unroll-loops", "-Wl,--no-warn-rwx-segments",
                    f"-I{generate_soc(config).include}", f"-I{REPO / 'kernel'}", "-T", folder / "link.ld", source,
                    "-o", image], check=True)
    return image


@pytest.fixture(scope="module")
def image(tmp_path_factory):
    return build_image(tmp_path_factory.mktemp("image"), CONFIG)


@pytest.fixture
def run(image, tmp_path):
    """Runs a case: `run("x03", options...)`."""
    binary = simulator_of(CONFIG)
    return lambda case, *options, out="out", **keywords: player.run(
        binary, image, tmp_path / out, "--bootargs", case, "--max-cycles", 20_000_000, *options, **keywords)


def trace(run):
    with open(run.out / "trace.csv") as file:
        return [{key: int(value) for key, value in row.items()} for row in csv.DictReader(file)]


@pytest.mark.parametrize(("case", "status", "code"), [("x00", 0, 0), ("x03", 1, 3), ("", 1, 99)])
def test_exit_code(run, case, status, code):
    ended = run(case)
    assert ended.status == status
    assert ended.record["exit"]["code"] == code


def test_console_to_the_last_character(run):
    ended = run("p", "--console", "tty")
    assert ended.stdout == "hello\n@sum of=2 is=0x10\n"
    assert ended.record["results"] == {"sum": [{"of": 2, "is": 16}]}


def test_console_at_another_bit_rate_is_no_text(run):
    ended = run("p", "--console", "tty", "--uart0-baud", 300_000)
    assert "hello" not in ended.stdout
    assert ended.record["results"] == {}


def test_serial_bytes_come_at_the_bit_rate(run, tmp_path):
    """Each byte of a file is seen when its stop bit has been sampled, to within a poll of the program; the bytes
    that come back are the same."""
    data = random.Random(1).randbytes(120)
    source = tmp_path / "in.bin"
    source.write_bytes(data)
    ended = run("e120", "--uart1-in", source)
    assert ended.status == 0, ended.stderr
    assert (ended.out / "blob-7.bin").read_bytes() == data
    assert (ended.out / "uart1.out").read_bytes() == data
    records = trace(ended)
    go = next(record["cycle"] for record in records if record["event"] == 1023)
    seen = [record for record in records if record["event"] == 2]
    assert [record["argument"] for record in seen] == list(data)
    for count, record in enumerate(seen):
        late = record["cycle"] - go - (BYTE_CYCLES * count + BYTE_CYCLES * 9.5 / 10)
        assert -10 < late < 250, f"byte {count} is {late:.0f} cycles late"


def test_feed_at_another_bit_rate_is_garbage(run, tmp_path):
    source = tmp_path / "in.bin"
    source.write_bytes(b"interlock" * 10)
    ended = run("e010", "--uart1-in", source, "--uart1-baud", 8 * BAUD, "--max-cycles", 300_000)
    assert (ended.out / "uart1.out").read_bytes() != b"interlocki"


def test_hang_report_names_functions(run):
    ended = run("h", "--hang-cycles", 100_000)
    assert ended.status == 4
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("hang: no sign of life for 100,000 cycles")
    assert lines[1].startswith("hart 0: pc 0x40000") and "stand_still" in lines[1]
    assert "machine mode, running" in lines[1]
    assert "through" in lines[1] and "start program stand_still" in lines[1]
    assert lines[2].startswith("    in stand_still < program"), lines[2]
    other = next(line for line in lines if line.startswith("hart 1: "))
    assert " program" in other and "waiting for an interrupt" in other


def test_software_interrupt_inside_a_section(run):
    ended = run("s")
    assert ended.status == 0, ended.stderr
    hart = ended.record["harts"][0]
    statistics = hart["statistics"]
    assert hart["at_end"]["trap_depth"] == hart["at_end"]["section_depth"] == 0
    assert (statistics["entered"], statistics["outermost"], statistics["interrupts_in_section"]) == (1, 1, 1)
    assert statistics["interrupts_by_cause"] == {"3": 1}
    assert statistics["unmatched_probes"] == 0
    gross, net = statistics["body_cycles"]["total"], statistics["body_net_cycles"]["total"]
    assert 20 <= net < gross
    assert gross - net >= 10        # just the handler's store takes more
    assert ended.record["harts"][1]["statistics"]["instructions"] == 0     # it waits
    assert ended.record["harts"][1]["statistics"]["wfi_cycles"] == ended.record["window"]["cycles"]


def test_harness_counts_the_cycles_that_the_hart_reads(run, tmp_path):
    """The cycle counter that a program reads, the cycle of a trace record and the harness's own number of a cycle
    differ by constants."""
    log = tmp_path / "log.csv"
    ended = run("c", "--probe-log", log)
    with open(log) as file:
        retired = [int(row["cycle"]) for row in csv.DictReader(file) if row["event"] == "window_begin"]
    read = [record["argument"] for record in trace(ended) if record["event"] == 3]
    stamped = [record["cycle"] for record in trace(ended) if record["event"] == 3]
    assert len(read) == len(retired) == len(stamped) == 4
    assert len({a - b for a, b in zip(read, retired, strict=True)}) == 1
    assert all(0 < b - a < 60 for a, b in zip(read, stamped, strict=True))


def test_repeats_exactly(run):
    first, second = (run("e003", "--max-cycles", 60_000, "--seed", 5, out=out) for out in "ab")
    a, b = first.record, second.record
    a.pop("host"), b.pop("host")
    assert a == b


@pytest.mark.parametrize("harts", [1, 2, 4])
@pytest.mark.parametrize("case", ["e003", "s", "p"])   # characters come back; a hart gets an interrupt; one prints
def test_the_edge_alone_is_as_good_as_both(tmp_path, harts, case):
    """And what it leaves out, behind closed gates, would have changed nothing: with busy and with idle devices."""
    config = SoCConfig(harts=harts)
    binary, image = simulator_of(config), build_image(tmp_path, config)
    (tmp_path / "feed").write_bytes(bytes(range(16)))  # so that inputs change too
    feed = ("--uart1-in", tmp_path / "feed", "--uart1-start", 500, "--uart1-baud", 1_000_000)
    # A poke writes to the model from outside, and a checkpoint replaces it: then all gates have to open.
    pokes = ("--poke", "ram_read_latency=3@20000", "--poke", "ram_read_latency=0@40000")
    ways = [(), ("--no-skip",), ("--evaluate-twice",), ("--evaluate-twice", "--no-skip")]
    record = [player.run(binary, image, tmp_path / f"out{i}", "--bootargs", case, "--max-cycles", 60_000, "--seed", 5,
                         *feed, *pokes, *options).record for i, options in enumerate(ways)]
    for one in record:
        one.pop("host")
    assert record[0] == record[1] == record[2] == record[3]


@pytest.mark.parametrize("config", [CONFIG, SoCConfig(**DEVICES)], ids=["plain", "devices"])
def test_the_socs_edge_is_all_there_is_to_compute(config):
    soc = generate_soc(config)
    library = verilate([*soc.verilog, soc.vlt], tool_versions())
    assert library.edge == [EDGE]
    shown = subprocess.run([needed(PROFILES), "show", library.profile], check=True, capture_output=True, text=True)
    counted, = re.findall(r"^Maximum function count: (\d+)", shown.stdout, re.MULTILINE)
    assert int(counted) >= BOOT + CYCLES, "the edge was laid out by counts of another model, or of one not at work"


@pytest.mark.parametrize(("program", "words"), [
    ("verilator", ["verilator", "5.006", "5.52", "make setup"]),
    ("clang++-19", ["clang++-19", "make setup"]),
])
def test_wrong_tool(tmp_path, monkeypatch, program, words):
    fake = tmp_path / program
    fake.write_text("#!/bin/sh\necho 'Verilator 5.006 2023-01-22'\n")
    fake.chmod(0o755)
    monkeypatch.setattr("sim.model.toolchain.find", lambda name: str(fake) if name == program else f"/usr/bin/{name}")
    with pytest.raises(ToolError) as error:
        build_simulator(CONFIG)
    assert "\n" not in str(error.value)
    for word in words:
        assert word in str(error.value)


def test_missing_tool(monkeypatch):
    monkeypatch.setattr("sim.model.toolchain.find", lambda name: None)
    with pytest.raises(ToolError, match="perl is missing .*: run 'make setup'"):
        build_simulator(CONFIG)


def test_command_prints_the_path(tmp_path):
    done = subprocess.run([sys.executable, "-m", "sim.model.build", "--harts", "2"], cwd=REPO, capture_output=True,
                          text=True)
    assert done.returncode == 0
    assert os.access(done.stdout.strip(), os.X_OK)


@pytest.mark.parametrize("harts", ["0", "9"])
def test_command_refuses_other_numbers_of_harts(harts):
    done = subprocess.run([sys.executable, "-m", "sim.model.build", "--harts", harts], cwd=REPO, capture_output=True,
                          text=True)
    assert done.returncode != 0
    assert "1 to 8" in done.stderr


def test_value_of_a_mark_is_as_before_its_instruction(run, tmp_path):
    log = tmp_path / "probes.csv"
    ended = run("vabc", "--probe-log", log)
    assert ended.status == 0, ended.stderr
    with open(log) as file:
        values = [int(row["value"]) for row in csv.DictReader(file) if row["event"] == "intr_done"]
    assert values == [0x1234, int.from_bytes(b"vabc", "little")]
