"""A board's SoC from its pins inwards, as RTL or as the netlist that place and route gets, on a bench (board.cpp) that
has the board's SDRAM and clocks.

Both have the same ports and are driven alike; the bench replaces only the PLL and the pads of the vendor's cells.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

from sim.model.toolchain import find
from soc.boards.bitstream import design_of
from soc.boards.build import generate_config
from soc.boards.config import BoardConfig
from soc.fpga.netlist import models, primitives, verilog
from soc.fpga.synthesis import synthesise
from soc.sim import TOP
from support.cache import cached

HERE = Path(__file__).parent
PADS = ("sdram_dq",)    # those that the chip also drives; it never drives the SD card's pins: there is no card
WIDTHS = {"sdram_dq": 16}
# A netlist is not written to please a linter.
QUIET = ("-Wno-fatal", "-Wno-lint", "-Wno-style")
CHARACTER = re.compile(r"^(\d+): ([0-9a-f]{2})$", re.M)
PINS = re.compile(r"^(\d+) pins ([0-9a-f]{16})$", re.M)


def on_bench(text: str) -> str:
    """A SoC's or a netlist's Verilog with the bench's PLL and pads: the pads' parts and the PLL's clocks are ports."""
    pll = re.search(r"^ *EHXPLLL #\(.*?^ *\) \w+ ?\(", text, re.M | re.S)
    ports = ["input pll_op", "input pll_os"]
    if pll is None:
        raise ValueError("the SoC has no PLL that the bench knows")
    text = text.replace(pll[0], pll[0].replace("EHXPLLL", "BENCH_PLL") + ".OP(pll_op), .OS(pll_os), ")
    text = re.sub(r"\bTRELLIS_IO(?= #\()", "BENCH_PAD", text)
    for pad in PADS:
        text, joined = re.subn(rf"\.B ?\({pad} ?\[(\d+)\]\)",
                               rf".B({pad}[\1]), .LEVEL({pad}_level[\1]), .DRIVEN({pad}_driven[\1])", text)
        if joined != WIDTHS[pad]:
            raise ValueError(f"the SoC has {joined} pads of {pad}")
        ports += [f"output [{joined - 1}:0] {pad}_{part}" for part in ("level", "driven")]
    # Verilog's two ways to declare ports: in the header (LiteX), or after it (yosys).
    head = re.search(rf"^module {TOP} ?\((.*?)\);", text, re.M | re.S)
    if re.search(r"\b(input|output)\b", head[1]):
        new = f"module {TOP} ({', '.join(ports)}, {head[1]});"
    else:
        names = ", ".join(port.split()[-1] for port in ports)
        new = f"module {TOP}({names}, {head[1]});\n" + "".join(f"{port};\n" for port in ports)
    return text.replace(head[0], new).replace("inout", "input")


def sources(config: BoardConfig, level: str) -> dict[str, str]:
    """The Verilog to simulate at the level "rtl" or "netlist", by file name."""
    board = generate_config(config)
    if level == "netlist":
        design = design_of(board, config)
        files = {f"{TOP}.v": on_bench(verilog(synthesise(design), design.name))}
    else:
        files = {path.name: path.read_text() for path in board.verilog} | primitives()
        files[f"{TOP}.v"] = on_bench(files[f"{TOP}.v"])
    return {**files, **models(), "pads.v": (HERE / "pads.v").read_text()}


def simulator(config: BoardConfig, level: str) -> Path:
    """The bench with the SoC of `config`, an executable file. Minutes, unless it is in the cache."""
    files = {**sources(config, level), "board.cpp": (HERE / "board.cpp").read_text()}
    arguments = ["--cc", "--exe", "--build", "-j", "0", "-O3", *QUIET, "-CFLAGS",
                 f"-O1 -DCLOCK_HZ={config.clock_hz}", "--top-module", TOP, "--Mdir", "."]

    def build(folder: Path):
        for name, text in files.items():
            (folder / name).write_text(text)
        with open(folder / "build.log", "w") as log:
            status = subprocess.run([find("verilator"), *arguments, *files], cwd=folder,
                                    stdout=log, stderr=log,
                                    env={**os.environ, "OBJCACHE": shutil.which("ccache") and "ccache" or ""})
        if status.returncode:
            raise RuntimeError(f"Verilator could not build the {level}:\n{(folder / 'build.log').read_text()[-3000:]}")
        for path in [*folder.glob("*.o"), *folder.glob("*.a")]:
            path.unlink()

    return cached("board-bench", {**files, "arguments": repr(arguments)}, build) / f"V{TOP}"


def run(program: Path, cycles: int) -> tuple[list[tuple[int, str]], list[tuple[int, str]]]:
    """The results of `cycles` cycles: the console's characters, each with the cycle in which it begins; and digests of
    all pins in all cycles up to the one given, every 2^16 cycles."""
    output = subprocess.run([program, str(cycles)], check=True, text=True, stdout=subprocess.PIPE).stdout
    return ([(int(cycle), chr(int(code, 16))) for cycle, code in CHARACTER.findall(output)],
            [(int(cycle), digest) for cycle, digest in PINS.findall(output)])
