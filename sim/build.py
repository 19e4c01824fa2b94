"""Builds the simulator of a SoC, or finds the one built before: `python -m sim.build --harts 2`."""

import argparse
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from hw.common.cache import REPO, cached, digest
from sim.tools import PROGRAMS, ToolError, program_version
from soc.build import add_options, config_of, generate_soc
from soc.config import SoCConfig

HARNESS = REPO / "sim" / "harness"
TOP = "interlock"
BINARY = "interlock-sim"
NEEDED = ("make", "perl", "g++", "verilator")
JOBS = 2
VERILATOR_FLAGS = ("--cc", "--exe", "--build", "-O3", "--flatten", "--x-assign", "fast", "--x-initial", "0",
                   "--noassert", "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--output-split", "0")
COMPILER_FLAGS = ("-std=c++17", "-O2", "-Wall", "-Wextra")
MAKE_FLAGS = ("OPT_FAST=-O2", "OPT_SLOW=-O0", "OPT_GLOBAL=-O2")
PROBE_PINS = (("CData", "valid"), ("IData", "pc"), ("CData", "privilege"), ("CData", "trap"), ("IData", "cause"),
              ("IData", "trap_pc"), ("CData", "wfi"))
# No pin: VexRiscv declares its register file public, so Verilator keeps it in one piece; to look at it costs nothing.
REGISTERS = "{top}__DOT__InterlockCluster__DOT__harts_{hart}_logic_cpu__DOT__RegFilePlugin_regFile"


class BuildError(RuntimeError):
    """A simulator could not be built; the text begins with one line that says why."""


def build_simulator(config: SoCConfig, waves: bool = False) -> Path:
    """The simulator of the SoC `config`, an executable file (sim/harness/README.md), built if it is not in the cache.

    With `waves` it can write FST waves, and is slower. ToolError if a program is missing or too old, BuildError if
    Verilator or the compiler fails; what `soc.build.generate_soc` raises.
    """
    versions = _tool_versions()
    soc = generate_soc(config)
    return build_model([*soc.verilog, soc.vlt], config.clock_hz, waves, versions)


def build_model(sources: Sequence[Path], clock_hz: int, waves: bool = False, versions: dict | None = None) -> Path:
    """The harness around any Verilog whose top module `interlock` has the simulator's ports (soc/sim.py).

    `sources` are Verilog and Verilator settings (.vlt); `clock_hz` is what serial bit times are made from.
    """
    versions = versions or _tool_versions()
    inputs = {f"source {i} {path.name}": path for i, path in enumerate(sources)}
    inputs |= {f"harness {path.name}": path for path in _harness("*.cpp") + _harness("*.h")}
    inputs |= {
        "tools": repr(sorted(versions.items())),
        "flags": repr((VERILATOR_FLAGS, COMPILER_FLAGS, MAKE_FLAGS)),
        "clock": str(clock_hz),
        "waves": str(waves),
    }
    harts = _harts(sources)

    def build(out: Path):
        _compile(out, sources, _ports(harts, clock_hz, digest(inputs)[:16]), waves)

    return cached("simulator-waves" if waves else "simulator", inputs, build) / BINARY


def _harness(pattern: str) -> list[Path]:
    return sorted(HARNESS.glob(pattern))


def _tool_versions() -> dict[str, str]:
    """Versions of the programs that a build calls. ToolError, one line with the mend, if one cannot be used."""
    versions = {}
    for name in NEEDED:
        arguments, oldest, source = PROGRAMS[name]
        path = _find(name)
        if not path:
            raise ToolError(f"{name} is missing ({source}): run 'make setup'")
        version = program_version(path, arguments)
        if version is None:
            raise ToolError(f"{path} does not run: reinstall it ({source}), or run 'make setup'")
        if tuple(int(part) for part in version.split(".")) < oldest:
            wanted = ".".join(str(part) for part in oldest)
            raise ToolError(f"{path} is version {version}, {wanted} or newer is needed ({source}): run 'make setup'")
        versions[name] = version
    return versions


def _find(name: str) -> str | None:
    """The program beside the running Python, else on the path: an activated environment is not required."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name)


def _harts(sources: Sequence[Path]) -> int:
    """The number of harts, from the ports of the top module."""
    for path in sources:
        ports = re.search(rf"^module {TOP}\b.*?\);", path.read_text(), re.DOTALL | re.MULTILINE)
        if ports:
            return len(set(re.findall(r"\bprobe(\d+)_valid\b", ports.group())))
    raise BuildError(f"no module {TOP} in {', '.join(path.name for path in sources)}")


def _ports(harts: int, clock_hz: int, fingerprint: str) -> str:
    """ports.h: what the harness knows of this build at compile time."""
    members = "".join(f"    const {kind} &{name};\n" for kind, name in PROBE_PINS) + "    const IData *registers;\n"
    pins = ",\n".join(
        "        {" + "".join(f"top.probe{hart}_{name}, " for _, name in PROBE_PINS)
        + f"&top.rootp->{REGISTERS.format(top=TOP, hart=hart)}[0]}}" for hart in range(harts))
    return (f'#pragma once\n#include <array>\n\n#include "V{TOP}.h"\n#include "V{TOP}___024root.h"\n\n'
            f"constexpr unsigned HARTS = {harts};\n"
            f"constexpr unsigned long CLOCK_HZ = {clock_hz};\n"
            f'constexpr char HARNESS_FINGERPRINT[] = "{fingerprint}";\n\n'
            f"struct HartPin {{\n{members}}};\nusing HartPins = std::array<HartPin, HARTS>;\n\n"
            f"inline HartPins hart_pins(V{TOP} &top)\n{{\n    return {{{{\n{pins},\n    }}}};\n}}\n")


def _compile(out: Path, sources: Sequence[Path], ports: str, waves: bool):
    objects = out / "obj"
    objects.mkdir()
    (objects / "ports.h").write_text(ports)
    flags = [*COMPILER_FLAGS, f"-I{HARNESS}", *(["-DWAVES"] if waves else [])]
    command = [_find("verilator"), *VERILATOR_FLAGS, "-j", str(JOBS), "--top-module", TOP, "--prefix", f"V{TOP}",
               "--Mdir", str(objects), "-o", str(out / BINARY), "-CFLAGS", " ".join(flags),
               *[word for flag in MAKE_FLAGS for word in ("-MAKEFLAGS", flag)], *(["--trace-fst"] if waves else []),
               *map(str, sources), *map(str, _harness("*.cpp"))]
    environment = {name: value for name, value in os.environ.items()
                   if name not in ("VERILATOR_ROOT", "MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    if shutil.which("ccache"):
        environment.setdefault("OBJCACHE", "ccache")
        # The folder that is being filled has another name each time; what lies in it must be found again.
        environment |= {"CCACHE_BASEDIR": str(out), "CCACHE_NOHASHDIR": "1"}
    done = subprocess.run(command, cwd=out, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        log = done.stdout.splitlines()
        errors = [line for line in log if "error" in line.lower()]
        raise BuildError("\n".join(["the simulator does not build:", *(errors[:20] or log[-20:])]))
    shutil.rmtree(objects)


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.build", description="Build a simulator and print its path.")
    add_options(parser)
    parser.add_argument("--waves", action="store_true", help="can write FST waves; slower")
    options = parser.parse_args()
    try:
        config = config_of(options)
    except ValueError as error:
        parser.error(str(error))
    try:
        print(build_simulator(config, options.waves))
    except (ToolError, BuildError) as error:
        sys.exit(f"error: {error}")
    except subprocess.CalledProcessError as error:
        sys.exit(f"error: the SoC could not be generated: {error}")


if __name__ == "__main__":
    main()
