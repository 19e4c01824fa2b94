"""The SoC: its parameters, memory map, headers, determinism of generation, and every part of it from every hart."""

import dataclasses
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hw.pic import COUNTERS as PIC_COUNTERS
from hw.pic import REGISTERS as PIC
from hw.pic.registers import IPI_SOURCE, MAX_HARTS, source_reset
from hw.serial.registers import registers_of
from hw.trace.registers import PORT as TRACE
from soc import config as soc_config
from soc.build import generate_soc
from soc.config import SoCConfig
from soc.docs import write_reference
from soc.fingerprint import UNSIGNED, signed
from soc.memory_map import memory_map
from support.cache import REPO
from tests.kernel.machine import simulator_of

HERE = Path(__file__).parent / "soc"
TOOLS = "riscv64-unknown-elf-"
CC = [TOOLS + "gcc", "-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-mcmodel=medany", "-Os", "-Wall", "-Wextra",
      "-Werror", "-ffreestanding", "-nostdlib", "-fno-builtin", "-fno-delete-null-pointer-checks",
      "-msmall-data-limit=0", "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments"]
CONSOLE_BAUD = 3_750_000     # 16 cycles a bit
HARTS = (1, 2, 4)


# Parameters -----------------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("parameters", [
    {}, {"harts": 8}, {"clock_hz": 1_000_000}, {"ram_mib": 1}, {"ram_mib": 1024}, {"serial_fifo": 1},
    {"trace_depth": 4096}, {"icache_bytes": 4096, "dcache_bytes": 2048},
    {"icache_bytes": 8192, "icache_ways": 2, "dcache_bytes": 16384, "dcache_ways": 4}, {"link_read_latency": 65_535},
    {"tlb_entries": 2, "prediction": "none"}, {"tlb_entries": 16, "prediction": "dynamic"},
])
def test_what_can_be_built_is_accepted(parameters):
    config = SoCConfig(**parameters)
    assert {name: getattr(config, name) for name in parameters} == parameters


@pytest.mark.parametrize("name, value", [
    ("harts", 0), ("harts", 9), ("harts", -1), ("harts", 2.0), ("harts", True), ("harts", "2"), ("harts", None),
    ("clock_hz", 0), ("clock_hz", 999_999), ("clock_hz", 60e6), ("ram_mib", 0), ("ram_mib", 3), ("ram_mib", 2048),
    ("serial_fifo", 0), ("serial_fifo", 12), ("serial_fifo", 512), ("trace_depth", 1), ("trace_depth", 1000),
    ("trace_depth", 8192), ("icache_bytes", 32768), ("icache_bytes", 2048), ("dcache_bytes", 8192),
    ("dcache_bytes", 1000), ("dcache_bytes", 4096.0), ("icache_ways", 3), ("icache_ways", "2"), ("dcache_ways", True),
    ("dcache_ways", 8), ("ram_read_latency", -1),
    ("ram_read_latency", 65_536), ("link_read_latency", 65_536), ("link_write_latency", -1),
    ("link_delivery_delay", 65_536), ("link_read_back", 65_536), ("link_write_back", -1), ("link_fall_delay", 65_536),
    ("tlb_entries", 1), ("tlb_entries", 32), ("prediction", "gshare"),
    ("prediction", 1),
])
def test_what_cannot_be_built_is_refused(name, value):
    with pytest.raises(ValueError) as error:
        SoCConfig(**{name: value})
    message = str(error.value)
    assert message.startswith(f"{name}={value}: give ") and "\n" not in message


def test_the_command_refuses_in_one_line():
    done = subprocess.run([sys.executable, "-m", "soc.build", "--harts", "9"], cwd=REPO, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith("harts=9: give a whole number from 1 to 8 (the interrupt controller "
                                                 "has contexts for 8)")


def test_a_missing_compiler_is_named_in_one_line(tmp_path):
    done = subprocess.run([sys.executable, "-m", "soc.build"], cwd=REPO, env=os.environ | {"PATH": str(tmp_path)},
                          capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "error: riscv64-unknown-elf-gcc is missing: run 'make setup'\n")


def test_the_configuration_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        SoCConfig().harts = 2


def test_the_origin_tells_what_would_be_generated(tmp_path, monkeypatch):
    assert SoCConfig().origin() == SoCConfig().origin()
    changed = {field.name: field.default * 2 for field in dataclasses.fields(SoCConfig)
               if field.name not in ("icache_bytes", "icache_ways", "dcache_bytes", "link_read_latency",
                                     "link_write_latency", "link_delivery_delay", "link_read_back", "link_write_back",
                                     "link_fall_delay", "prediction", "disks", "ethers")}
    changed |= {"disks": 1, "ethers": 1, "icache_bytes": 4096, "icache_ways": 2, "dcache_bytes": 2048,
                "link_read_latency": 1, "link_write_latency": 1, "link_delivery_delay": 1, "link_read_back": 1,
                "link_write_back": 1, "link_fall_delay": 1, "prediction": "none"}
    origins = [SoCConfig().origin()] + [SoCConfig(**{name: value}).origin() for name, value in changed.items()]
    assert len(set(origins)) == len(origins)

    # Sources count, prose does not.
    for folder in soc_config.SOURCE_FOLDERS:
        (tmp_path / folder).mkdir()
    source = tmp_path / "hw" / "core.py"
    source.write_text("a = 1\n")
    monkeypatch.setattr(soc_config, "REPO", tmp_path)
    before = SoCConfig().origin()
    (tmp_path / "hw" / "README.md").write_text("prose\n")
    assert SoCConfig().origin() == before
    source.write_text("a = 2\n")
    assert SoCConfig().origin() != before


def test_the_fingerprint_tells_hardware_apart():
    verilog = f"reg [63:0] fingerprint_status = 64'd{UNSIGNED};\n"
    text, fingerprint = signed(verilog, b"cluster")
    assert text == f"reg [63:0] fingerprint_status = 64'd{fingerprint};\n"
    assert signed(verilog, b"cluster") == (text, fingerprint)
    others = [signed(*changed)[1] for changed in ((verilog, b"another"), (verilog, b"clus", b"ter"),
                                                  (verilog + "\n", b"cluster"))]
    assert len({fingerprint, *others}) == 4
    for wrong in "", verilog * 2:
        with pytest.raises(RuntimeError, match=f"has {len(wrong) and 2} places"):
            signed(wrong)


# Memory map and headers -----------------------------------------------------------------------------------------------

MAP = {
    "rom": (0x0000_0000, 0x1_0000), "sram": (0x1000_0000, 0x2000), "main_ram": (0x4000_0000, 0x200_0000),
    "pic_window": (0xe000_0000, 0x1_0000), "trace_window": (0xe100_0000, 0x1000), "csr": (0xf000_0000, 0x1_0000),
    "clint": (0xf001_0000, 0x1_0000), "uart0": (0xf002_0000, 0x1000), "uart1": (0xf002_1000, 0x1000),
    "pic_counters": (0xf003_0000, 0x1000), "trace_buffer": (0xf004_0000, 0x4000),
}


def test_the_memory_map_is_the_documented_one():
    assert {name: (region.origin, region.size) for name, region in memory_map(SoCConfig()).items()} == MAP


@pytest.mark.parametrize("config", [SoCConfig(), SoCConfig(ram_mib=1024, trace_depth=4096), SoCConfig(trace_depth=2)])
def test_regions_do_not_overlap(config):
    regions = sorted(memory_map(config).values(), key=lambda region: region.origin)
    for low, high in zip(regions, regions[1:], strict=False):
        assert low.origin + low.size <= high.origin
    for region in regions:
        assert region.origin % region.size == 0 and region.size & (region.size - 1) == 0
        assert region.cached == (region.origin < 0x8000_0000)


def test_the_headers_say_where_everything_is():
    text = (generate_soc(SoCConfig()).include / "generated" / "mem.h").read_text()
    found = {name.lower(): (int(base, 16), int(size, 16)) for name, base, size in re.findall(
        r"#define (\w+)_BASE (0x[0-9a-f]+)L\n#define \1_SIZE (0x[0-9a-f]+)", text)}
    assert found == MAP


ACCESSORS = """
void use(void)
{
    host_exit_write(0); host_blob_kind_write(1); host_blob_address_write(2); host_blob_length_write(3);
    ram_read_latency_write(ram_read_latency_read()); ram_jitter_write(1); ram_seed_write(2);
    link_read_latency_write(1); link_write_latency_write(2); link_delivery_delay_write(3); link_jitter_write(4);
    link_read_back_write(1); link_write_back_write(1); link_fall_delay_write(3);
    link_seed_write(5); trace_enable_write(1); trace_mode_write(0); trace_clear_write(1);
    dma_source_write(0); dma_destination_write(0); dma_length_write(8);
    arrivals_index_write(0); arrivals_entry_write(1); arrivals_entries_write(2); arrivals_run_write(1);
    arrivals_acknowledge_write(arrivals_pending_read());
    dma_length_write(arrivals_arrivals_read() + arrivals_lost_read());
    uint64_t wide = link_reads_read() + link_writes_read() + link_stall_cycles_read() + link_spurious_read();
    wide += identity_fingerprint_read();
    uint32_t word = identity_harts_read() + identity_clock_hz_read() + trace_count_read() + trace_lost_read();
    *(volatile uint64_t *)MAIN_RAM_BASE = wide + word + dma_busy_read() + CONFIG_CLOCK_FREQUENCY + CONFIG_HARTS;
    *(volatile uint32_t *)(PIC_WINDOW_BASE + PIC_CONTEXT_AT(1) + PIC_LEVEL) = PIC_CLAIM_NONE_MASK;
    *(volatile uint32_t *)(UART0_BASE + SERIAL_THR) = SERIAL_LSR_DR_MASK >> SERIAL_LSR_DR_SHIFT;
    *(volatile uint32_t *)(TRACE_BUFFER_BASE + TRACE_RECORDS_ARGUMENT_AT(1)) = TRACE_CYCLE;
    *(volatile uint32_t *)PIC_COUNTERS_BASE = PIC_COUNT_RISES_AT(3);
}
"""


def test_the_headers_compile_freestanding(tmp_path):
    include = generate_soc(SoCConfig()).include
    headers = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h"))
    assert [name for name in headers if name.startswith("generated/")] == [
        f"generated/{name}.h" for name in ("csr", "disk_regs", "mem", "pic_regs", "serial_regs", "soc", "trace_regs")]
    everything = "".join(f"#include <{name}>\n" for name in headers) * 2   # twice: each is guarded
    (tmp_path / "all.c").write_text(everything + ACCESSORS)
    for name in headers:
        (tmp_path / f"{Path(name).stem}.c").write_text(f"#include <{name}>\n")
    (tmp_path / "asm.S").write_text("".join(
        f"#include <generated/{name}_regs.h>\n" for name in ("pic", "serial", "trace")) + "li t0, PIC_EOI\n")
    for source in sorted(tmp_path.iterdir()):
        subprocess.run([*CC, "-std=c11", "-c", "-I", include, source, "-o", tmp_path / "out.o"], check=True)


def test_the_reference_has_every_register():
    text = write_reference(SoCConfig()).read_text()
    csrs = re.findall(r"#define CSR_(\w+)_ADDR \(CSR_BASE \+ (0x[0-9a-f]+)L\)",
                      (generate_soc(SoCConfig()).include / "generated" / "csr.h").read_text())
    assert len(csrs) >= 30
    for name, offset in csrs:
        row = re.search(rf"^\| `0x{0xf000_0000 + int(offset, 16):08x}` \| \*\*`{name.lower()}`\*\* .*\n.*$", text, re.M)
        assert row, name
        own, following = row[0].split("\n")
        assert not own.endswith("|  |") or following.startswith("| | `"), f"{name} is not described"
    for registers in (PIC, PIC_COUNTERS, registers_of(60_000_000, 128), TRACE):
        assert registers.markdown() in text
    for name, (origin, _) in MAP.items():
        assert f"| `0x{origin:08x}` |" in text and f"`{name}`" in text
    for name in ("MSIP", "MTIMECMP_LOW", "MTIME_LOW"):
        assert f"**`{name}`**" in text


# Generation -----------------------------------------------------------------------------------------------------------

def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_same_input_gives_the_same_bytes(tmp_path):
    """Two processes, folders and orders of Python's sets; and the cache's copy."""
    folders = []
    for seed in ("1", "2"):
        folder = tmp_path / seed / "soc"
        folder.mkdir(parents=True)
        environment = os.environ | {"PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-m", "soc.generate", folder, "--harts", "2"], cwd=REPO, env=environment,
                       check=True, capture_output=True)
        folders.append(folder)
    first, second = map(contents, folders)
    assert first.keys() == second.keys()
    assert [name for name in first if first[name] != second[name]] == []
    assert contents(generate_soc(SoCConfig(harts=2)).dir) == first


@pytest.mark.parametrize("harts", (1, 4))
def test_verilator_has_no_complaint(harts):
    soc = generate_soc(SoCConfig(harts=harts))
    done = subprocess.run(["verilator", "--lint-only", "--top-module", "interlock", soc.vlt, *soc.verilog],
                          capture_output=True, text=True,
                          env=os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"})
    assert done.returncode == 0, done.stderr[-3000:]


# On the simulator -----------------------------------------------------------------------------------------------------

def compile_image(folder, config, *sources, flags=()):
    image = folder / "image.elf"
    subprocess.run([*CC, *flags, "-I", generate_soc(config).include, "-I", HERE, "-T", HERE / "image.ld",
                    *sources, "-o", image], check=True)
    return image


def simulate(folder, config, image, baud=CONSOLE_BAUD):
    """Run an image; its exit code and what it printed."""
    simulator = simulator_of(config)
    done = subprocess.run([simulator, "--image", image, "--out", folder / "out", "--console", "file", "--quiet",
                           "--uart0-baud", str(baud), "--max-cycles", "20000000"], capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    record = json.loads((folder / "out" / "run.json").read_text())
    return record["exit"]["code"], (folder / "out" / "console.txt").read_bytes().decode()


@pytest.mark.parametrize("harts", HARTS)
def test_every_hart_finds_every_part(harts, tmp_path):
    config = SoCConfig(harts=harts)
    image = compile_image(tmp_path, config, HERE / "start.S", HERE / "selftest.c",
                          flags=[f"-DFINGERPRINT=0x{generate_soc(config).fingerprint:016x}ull"])
    code, text = simulate(tmp_path, config, image)
    assert (code, re.findall(r"@failed .*", text)) == (0, [])
    assert f"@done harts={harts}" in text

    # The reference gives the cycles of accesses.
    regions = memory_map(config)
    rows = re.findall(r"@cost region=(\w+) load=(\d+) store=(\d+)(?: miss=(\d+))?", text)
    assert len(rows) == 9
    for name, load, store, miss in rows:
        region = regions[name]
        assert abs(int(load) - region.load) <= 1, f"{name}: a load takes {load} cycles"
        assert region.store is None or abs(int(store) - region.store) <= 1, f"{name}: a store takes {store} cycles"
        assert region.miss is None or abs(int(miss) - region.miss) <= 2, f"{name}: a miss takes {miss} cycles"


RUNS_ON = {"MTIME_LOW", "CYCLE"}     # they differ between any two reads
ALIAS = r"`(0x\w+)` \+ `0x\w+` \* i, i < \d+"
PLACE = r"`(0x[0-9a-f]+)`(?: \+ (\w+) \* i, i < (\d+))?"


def documented(text):
    """(name, address, reset value) of each register, or word of one, that the reference says can be read."""
    for section in text.split("\n## ")[1:]:
        bases = [int(base, 16) for base in re.findall(r"`(0x[0-9a-f]+)`", (re.findall(r"^At (.*?)\. ", section, re.M)
                                                                          or ["`0x0`"])[0])]
        own = re.findall(rf"^\| {PLACE} \| \*\*`(\w+)`\*\* \| (\d+):0 \| (r\w) \| `(0x[0-9a-f]+)` \|", section,
                         re.M)
        rows = {name: (int(offset, 16), int(stride or "0", 0), int(count or "1"), int(high) // 32 + 1, int(reset, 16))
                for offset, stride, count, name, high, _, reset in own}
        for base in bases:
            for name, (offset, stride, count, words, reset) in rows.items():
                for i in range(count):
                    for word in range(words):       # the most significant one first
                        yield (name, base + offset + stride * i + 4 * word,
                               reset >> 32 * (words - 1 - word) & 0xffff_ffff)
            for first, names in re.findall(rf"^\| `\w+` \| {ALIAS} \| (`.*?`) \|", section, re.M):
                for name in re.findall(r"`(\w+)`", names):
                    if name in rows:
                        yield name, base + int(first, 16) + rows[name][0], rows[name][4]


def test_every_register_resets_to_what_the_reference_says(tmp_path):
    """Every readable register, as it is after reset. CSRs come first: later reads may count there."""
    config = SoCConfig()
    text = generate_soc(config).reference.read_text()
    registers = [row for row in documented(text) if row[0] not in RUNS_ON]
    readable = re.findall(r"\*\*`(\w+)`\*\* \| \d+:0 \| r\w \|", text)
    assert {name for name, *_ in registers} | RUNS_ON == set(readable)
    assert ("MTIMECMP_LOW", 0xf001_4000, 0xffff_ffff) in registers
    sources = MAP["pic_window"][0] + PIC["SOURCE"].offset
    lines = []
    for name, address, reset in registers:
        source = (address - sources) // 4
        if name == "SOURCE" and source < IPI_SOURCE + MAX_HARTS:     # its description gives their reset values
            reset = source_reset(source)
        # Behind the latch: read last, so that nothing else is read with it.
        latched = next((MAP[uart][0] + registers_of(1, 1)["LCR"].offset for uart in ("uart0", "uart1")
                        if name in ("DLL", "DLM") and address & ~0xfff == MAP[uart][0]), 0)
        lines.append((latched != 0, f"{{0x{address:08x}, 0x{reset:08x}, 0x{latched:08x}}},"))
    (tmp_path / "resets.h").write_text("\n".join(line for _, line in sorted(lines, key=lambda line: line[0])))
    image = compile_image(tmp_path, config, HERE / "start.S", HERE / "resets.c", flags=["-I", tmp_path])
    code, printed = simulate(tmp_path, config, image)
    names = {address: (name, reset) for name, address, reset in registers}
    wrong = [f"{names[int(address, 16)]} at {address} is {value}"
             for address, value in re.findall(r"@wrong (\w+) (\w+)", printed)]
    assert (code, wrong) == (0, [])
    assert f"@read {len(registers)}" in printed and len(registers) > 400


START = """
    .section .text.start
    .globl _start
_start:
    j start
    .word 0x314b4c49
    .word end
    .word bootargs
    .word 64
start:
"""
END = """
    .balign 4
bootargs:
    .space 64
end:
"""


@pytest.mark.sampled
@pytest.mark.parametrize("body, code, console", [
    # Without its header this is no longer an image when the boot ROM starts again.
    ("la t0, _start; sw zero, 4(t0); fence; jr zero",
     0xb007, "boot ROM: no image in main RAM: the word at 0x40000004 is not 0x314b4c49"),
    ("unimp",
     0xb008, "boot ROM: trap on hart 0x0000000[0-3]: mcause 0x00000002 mepc 0x40000014 mtval 0x[0-9a-f]{8}"),
    ("lw t0, 2(zero)",
     0xb008, "boot ROM: trap on hart 0x0000000[0-3]: mcause 0x00000004 mepc 0x40000014 mtval 0x00000002"),
])
@pytest.mark.parametrize("harts", HARTS)
def test_the_boot_rom_says_what_is_wrong_in_one_line(harts, body, code, console, tmp_path):
    config = SoCConfig(harts=harts)
    source = tmp_path / "start.S"
    source.write_text(START + body + END)
    found, text = simulate(tmp_path, config, compile_image(tmp_path, config, source), baud=115_200)
    assert found == code
    assert re.fullmatch(console + "\r\n", text), text
