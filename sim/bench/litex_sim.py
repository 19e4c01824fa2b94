"""LiteX's own simulator of our SoC: `litex.build.sim` with its main loop and modules, built as LiteX builds it.

As `litex_sim` does for LiteX's SoCs, but with the compiler of our simulator, and without the modules that nothing here
uses. `python -m sim.bench.litex_sim FOLDER --cycles N` fills a folder, in a process of its own because LiteX keeps
state in its modules and works in the current folder.
"""

import argparse
import dataclasses
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

from litex.build.generic_platform import Pins, Subsignal
from litex.build.io import CRG
from litex.build.sim import SimPlatform
from litex.build.sim import verilator as litex_verilator
from litex.build.sim.config import SimConfig
from litex.soc.cores.uart import RS232PHYRX
from migen import Finish, If, Memory, Signal

from firmware.build import build_rom, rom_words
from sim.model.toolchain import COMPILER, JOBS, BuildError, needed, run
from soc.build import add_options, config_of, generate_soc
from soc.config import SoCConfig
from soc.soc import InterlockSoC
from support.cache import REPO, Input, cached

CC, CXX = "clang-19", "clang++-19"
CONSOLE_BAUD = 6_000_000
MODULES = ("clocker", "serial2console")
COUNTING = "counting"    # a module of ours, for sim/bench/counts.py: CONFIG names it only there
CONFIG = "sim_config.js"
CYCLES = 1_200_000       # after which it ends
RAM_INIT = "sim_main_ram_storage.init"    # read when the simulator starts: 64-bit words, hexadecimal
PINS = [
    ("sys_clk", 0, Pins(1)),
    ("serial", 0,
        Subsignal("source_valid", Pins(1)), Subsignal("source_ready", Pins(1)), Subsignal("source_data", Pins(8)),
        Subsignal("sink_valid", Pins(1)), Subsignal("sink_ready", Pins(1)), Subsignal("sink_data", Pins(8))),
]


class LiteXSim(InterlockSoC):
    """The SoC on LiteX's simulated platform: console characters to `serial2console`, and an end after `cycles`."""
    def __init__(self, config: SoCConfig, cycles: int):
        platform = SimPlatform("SIM", list(PINS))
        super().__init__(platform, config)
        self.crg = CRG(platform.request("sys_clk"))

        # LiteX's console takes bytes, so its own receiver is in between.
        serial = platform.request("serial")
        line = SimpleNamespace(rx=self.uart0.pads.tx)
        self.console = console = RS232PHYRX(line, int(CONSOLE_BAUD / config.clock_hz * 2**32))
        self.comb += [
            serial.source_valid.eq(console.source.valid),
            serial.source_data.eq(console.source.data),
            console.source.ready.eq(serial.source_ready),
            serial.sink_ready.eq(1),
            self.uart0.pads.rx.eq(1),
            self.uart1.pads.rx.eq(1),
        ]
        left = Signal(max=cycles + 1, reset=cycles)
        self.sync += [left.eq(left - 1), If(left == 0, Finish())]


def generate(config: SoCConfig, cycles: int):
    """Writes the SoC's Verilog and LiteX's generated files to the current folder."""
    soc = LiteXSim(config, cycles)
    soc.finalize()
    regions = {name: (soc.map[name].origin, soc.map[name].size) for name in ("rom", "sram")}
    soc.init_rom("rom", rom_words(build_rom(generate_soc(config).include, regions)))
    for special in soc.ram._fragment.specials:
        if isinstance(special, Memory) and special.name_override == "main_ram_storage":
            special.init = [0]    # so that the Verilog loads a file; `prepare` writes it
    platform = soc.platform
    verilog = platform.get_verilog(soc.get_fragment(), name="sim")
    platform.resolve_signals(verilog.ns)
    verilog.write("sim.v")
    platform.add_source("sim.v")
    litex_verilator._generate_sim_h(platform)
    litex_verilator._generate_sim_cpp(platform)
    clock = SimConfig()
    clock.add_clocker("sys_clk", freq_hz=config.clock_hz)
    clock.add_module("serial2console", "serial")
    litex_verilator._generate_sim_config(clock)
    Path("variables.mak").write_text(f"SRC_DIR = {litex_verilator.core_directory}\nINC_DIR =\n")
    return [path for path, *_ in platform.sources if Path(path).suffix == ".v"]


def compile_all(sources: list[str], jobs: int):
    """As LiteX's makefiles do, with their own flags: -O3, waves compiled in and off."""
    core = Path(litex_verilator.core_directory)
    environment = {name: value for name, value in os.environ.items() if name not in ("VERILATOR_ROOT", "MAKEFLAGS")}
    environment["PATH"] = f"{Path(needed('verilator')).parent}:{environment['PATH']}"
    # Variables in MAKEFLAGS also apply to the makefile that Verilator writes.
    environment["MAKEFLAGS"] = f"CC={CC} CXX={CXX} LINK={CXX}"

    def make(folder: Path, *arguments: str):
        done = subprocess.run(["make", *arguments], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            sys.exit("\n".join(done.stdout.splitlines()[-20:]) + "\nerror: LiteX's simulator does not build, see above")

    make(Path.cwd(), "-f", str(core / "Makefile"), "sim", "CC_SRCS=" + "".join(f"--cc {path} " for path in sources),
         f"JOBS={jobs}", "OPT_LEVEL=O3")
    for module in MODULES:
        folder = Path("modules") / module
        folder.mkdir(parents=True)
        make(folder, "-f", str(core / "modules" / module / "Makefile"), f"MOD={module}")
        shutil.copy(folder / f"{module}.so", "modules")
    run([needed(COMPILER), "-x", "c", "-O2", "-shared", "-fPIC", f"-I{core}", Path(__file__).parent / f"{COUNTING}.c",
         "-ljson-c", "-o", Path("modules") / f"{COUNTING}.so"], Path.cwd())


def build(config: SoCConfig, cycles: int, versions: dict[str, str]) -> Path:
    """The folder of LiteX's simulator of the SoC, which ends after `cycles`; cached. BuildError if it fails."""
    def fill(out: Path):
        command = [sys.executable, "-m", "sim.bench.litex_sim", str(out), f"--cycles={cycles}"]
        command += [f"--{name.replace('_', '-')}={value}" for name, value in dataclasses.asdict(config).items()]
        done = subprocess.run(command, cwd=REPO, env=os.environ | {"PYTHONHASHSEED": "0"}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if done.returncode:
            raise BuildError("LiteX's simulator does not build:\n" + "\n".join(done.stdout.splitlines()[-20:]))

    inputs: dict[str, Input] = {"origin": config.origin(), "cycles": str(cycles), "how": Path(__file__),
                                "counting": Path(__file__).parent / f"{COUNTING}.c",
                                "tools": repr(sorted(versions.items()))}
    return cached("litex-sim", inputs, fill)


def prepare(simulator: Path, folder: Path, ram: bytes) -> list[str]:
    """The command that runs `simulator` in `folder`, with `ram` at the start of main RAM."""
    folder.mkdir(parents=True)
    for path in simulator.iterdir():
        if path.name != RAM_INIT:
            (folder / path.name).symlink_to(path)
    words = struct.unpack(f"<{len(ram) // 8}Q", ram)
    (folder / RAM_INIT).write_text("".join(f"{word:x}\n" for word in words))
    return [str(folder / "obj_dir" / "Vsim")]


def main():
    parser = argparse.ArgumentParser(description="Build LiteX's own simulator of the SoC in an empty folder.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--cycles", type=int, required=True, help="where it ends")
    add_options(parser)
    options = parser.parse_args()
    config = config_of(options)
    os.chdir(options.folder)
    compile_all(generate(config, options.cycles), JOBS)


if __name__ == "__main__":
    main()
