"""Builds the simulator of a SoC, or finds the one built before: `python -m sim.model.build --harts 2`.

Two steps, cached separately: the Verilog becomes a library (sim/model/verilate.py), a minute's work; the harness is
compiled and linked with it, seconds. A change in the harness needs only the second."""

import argparse
import json
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from sim.model import idle as idle_module
from sim.model import toolchain
from sim.model.gating import ANEW, EDGE
from sim.model.idle import idle_table
from sim.model.toolchain import BuildError, compile_objects, link, tool_versions, united
from sim.model.verilate import DEFAULT, TOP, Library, Recipe, verilate
from soc.build import add_options, config_of, generate_soc, told_in_a_line
from soc.config import SoCConfig
from soc.sim import DISK_INPUTS, DISK_OUTPUTS
from support.cache import REPO, Input, cached, digest
from support.parameters.headers import OF_HARNESS
from support.parameters.machine import REGISTERS, STROBED
from support.tools import ToolError

HARNESS = REPO / "sim" / "harness"
BINARY = "interlock-sim"
COMPILER_FLAGS = ("-O2", "-Wall", "-Wextra", "-I.", "-Iharness", "-Imodel")
LINK_FLAGS = ("-llz4", "-lslirp")     # for checkpoints, and for the Ethernet wire's end in this process
# The files compiled for each machine, in this order; the rest is the same for all, and ccache finds it again.
OF_MACHINE = ("run/node.cpp", "machine/model.cpp", "machine/skip.cpp", "idle_table.cpp")
ALONE = ("devices/line_speed.cpp",)     # its header has the same names as <termios.h>
# In the order of DiskPins (sim/harness/machine/disk_pins.h).
DISK_PINS = [name for name, _ in DISK_INPUTS + DISK_OUTPUTS]
PROBE_PINS = (("CData", "valid"), ("IData", "pc"), ("CData", "privilege"), ("CData", "trap"), ("IData", "cause"),
              ("IData", "trap_pc"), ("CData", "wfi"))
# Not a pin: VexRiscv declares its register file public, so Verilator keeps it in one piece; reading it costs nothing.
REGISTER_FILE = "{top}__DOT__InterlockCluster__DOT__harts_{hart}_logic_cpu__DOT__RegFilePlugin_regFile"


def build_simulator(config: SoCConfig, waves: bool = False, two_chips: bool = False,
                    recipe: Recipe = DEFAULT) -> Path:
    """The simulator of the SoC `config`, an executable file (sim/harness/README.md), built if it is not in the cache.

    With `waves` it can write FST waves, and is slower. With `two_chips` the interrupt controller is on a chip of its
    own (soc/pins.py). ToolError if a program is missing or too old, BuildError if Verilator or the compiler fails; what
    `soc.build.generate_soc` raises.
    """
    versions = tool_versions()
    soc = generate_soc(config, two_chips)
    return build_model([*soc.verilog, soc.vlt], config.clock_hz, waves, versions, soc.idle, recipe)


def build_model(sources: Sequence[Path], clock_hz: int, waves: bool = False, versions: dict | None = None,
                idle: Path | None = None, recipe: Recipe = DEFAULT) -> Path:
    """The harness around any Verilog whose top module `interlock` has the simulator's ports (soc/sim.py).

    `sources` are Verilog and Verilator settings (.vlt); `clock_hz` determines serial bit times; `idle` declares what
    advances in idle cycles (soc/idle.py): without it cycles are skipped only if the whole model keeps its state.
    """
    versions = versions or tool_versions()
    library = verilate(sources, versions, waves, recipe)
    inputs: dict[str, Input] = {f"harness {path.relative_to(HARNESS)}": path
                                for path in _harness("*.cpp") + _harness("*.h")}
    inputs |= {
        "model": library.dir.name,
        "tools": repr(sorted(versions.items())),
        "how": Path(__file__),      # with the flags, the special compilations, and the link
        "compiling": Path(toolchain.__file__),
        "table": Path(idle_module.__file__),
        "generated": digest({name: make() for name, make in OF_HARNESS.items()}),
        "pokes": repr((tuple(REGISTERS), STROBED)),
        "clock": str(clock_hz),
        "waves": str(waves),
        "defines": repr(recipe.defines),
        "edge": repr(library.edge),
        "idle": idle or "none",
    }

    def build(out: Path):
        # Not in the key: these follow from the model's key, and the rest of this one.
        header = library.dir / "include" / f"V{TOP}___024root.h"
        declared = json.loads(idle.read_text()) if idle else []
        verilog = [path for path in sources if path.suffix == ".v"]
        made = {"ports.h": _ports(_harts(sources), _disks(sources), _pokes(sources), library.edge,
                                  _has_ether(sources)),
                "harness/idle_table.cpp": idle_table(header, verilog, declared, TOP),
                **{f"generated/{name}": make() for name, make in OF_HARNESS.items()},
                "harness/facts.cpp": _facts(digest(inputs)[:16], _harts(sources), clock_hz)}
        _compile(out, library, made, [*recipe.defines, *(["-DWAVES"] if waves else [])])

    return cached("simulator-waves" if waves else "simulator", inputs, build) / BINARY


def _harness(pattern: str) -> list[Path]:
    return sorted(HARNESS.rglob(pattern))


def _harts(sources: Sequence[Path]) -> int:
    """The number of harts, from the ports of the top module."""
    return len(set(re.findall(r"\bprobe(\d+)_valid\b", _top_ports(sources))))


def _disks(sources: Sequence[Path]) -> int:
    """The number of disk controllers, from the ports of the top module."""
    return len(set(re.findall(r"\bdisk(\d+)_sectors\b", _top_ports(sources))))


def _top_ports(sources: Sequence[Path]) -> str:
    for path in sources:
        ports = re.search(rf"^module {TOP}\b.*?\);", path.read_text(), re.DOTALL | re.MULTILINE)
        if ports:
            return ports.group()
    raise BuildError(f"no module {TOP} in {', '.join(path.name for path in sources)}")


def _has_ether(sources: Sequence[Path]) -> bool:
    """Whether the top module has the wires of an Ethernet port."""
    return any(re.search(rf"^module {TOP}\b[^;]*?\bether_tx_valid\b", path.read_text(), re.MULTILINE)
               for path in sources)


def _pokes(sources: Sequence[Path]) -> list[str]:
    """The registers that can be poked, as C++: name, width, what writes it. Only those of this Verilog."""
    pokes = []
    text = "".join(path.read_text() for path in sources)
    for name in REGISTERS:
        storage = re.search(rf"^reg +\[(\d+):0\] +{name}_storage\b", text, re.MULTILINE)
        if storage:
            register = f"root->{TOP}__DOT__{name}"
            write = f"{register}_storage = value;" + f" {register}_re = 1;" * (name in STROBED)
            pokes.append(f'{{"{name}", {int(storage.group(1)) + 1}, [root](uint32_t value) {{ {write} }}}}')
    return pokes


def _ports(harts: int, disks: int, pokes: Sequence[str], edge: Sequence[str],
           ether: bool) -> str:
    """ports.h: what the harness knows of this build at compile time."""
    members = "".join(f"    const {kind} &{name};\n" for kind, name in PROBE_PINS) + "    const IData *registers;\n"
    pins = ",\n".join(
        "        {" + "".join(f"top.probe{hart}_{name}, " for _, name in PROBE_PINS)
        + f"&top.rootp->{REGISTER_FILE.format(top=TOP, hart=hart)}[0]}}" for hart in range(harts))
    pokable = "".join(f"        {poke},\n" for poke in pokes)
    root = f"V{TOP}___024root"
    drives = "".join("        {" + ", ".join(f"&top.disk{n}_{name}" for name in DISK_PINS) + "},\n"
                     for n in range(disks))
    return (f'#pragma once\n#include <array>\n#include <vector>\n\n#include "V{TOP}.h"\n'
            f'#include "V{TOP}___024root.h"\n#include "harness/machine/disk_pins.h"\n'
            f'#include "harness/options/poke.h"\n\n'
            f"#define HAS_ETHER {int(ether)}\n"
            f"constexpr unsigned HARTS = {harts};\n"
            f"constexpr unsigned DISKS = {disks};\n"
            f"constexpr bool EDGE_ALONE = {str(bool(edge)).lower()}; // rising_edge() is all there is to do\n"
            "\n"
            f"struct HartPin {{\n{members}}};\nusing HartPins = std::array<HartPin, HARTS>;\n\n"
            + "".join(f"void {name}({root} *);\n" for name in edge)
            + f"inline void rising_edge([[maybe_unused]] {root} *root)\n{{\n"
            + "".join(f"    {name}(root);\n" for name in edge) + "}\n\n"
            # rising_edge()'s state from the cycle before is invalid after other writes to the model.
            + (f"void {ANEW}({root} *);\ninline void forget_last_edge({root} *root) {{ {ANEW}(root); }}\n\n"
               if EDGE in edge else f"inline void forget_last_edge({root} *) {{}}\n\n") +
            f"inline HartPins hart_pins(const V{TOP} &top)\n{{\n    return {{{{\n{pins},\n    }}}};\n}}\n\n"
            f"inline std::vector<DiskPins> disk_pins([[maybe_unused]] V{TOP} &top)\n{{\n"
            f"    return {{\n{drives}    }};\n}}\n\n"
            f"inline std::vector<Pokable> pokables(V{TOP} &top)\n{{\n    [[maybe_unused]] auto *root = top.rootp;\n"
            f"    return {{\n{pokable}    }};\n}}\n")


def _facts(fingerprint: str, harts: int, clock_hz: int) -> str:
    """facts.cpp: the simulator's constants for code that is the same for all machines (machine/facts.h)."""
    return (f'#include "harness/machine/facts.h"\n\nconst unsigned HART_COUNT = {harts};\n'
            f'const unsigned long CLOCK_HZ = {clock_hz};\nconst char *const HARNESS_FINGERPRINT = "{fingerprint}";\n')


def _compile(out: Path, library: Library, made: Mapping[str, str], defines: Sequence[str]):
    work = out / "work"
    shutil.copytree(HARNESS, work / "harness", ignore=shutil.ignore_patterns("*.md"))
    # A copy: ccache would find nothing again in a folder named by its content.
    shutil.copytree(library.dir / "include", work / "model")
    for name, text in made.items():
        (work / name).parent.mkdir(exist_ok=True)
        (work / name).write_text(text)
    flags = [*COMPILER_FLAGS, *library.compile_flags, *defines]
    objects = compile_objects(work, dict.fromkeys(_united(work), flags))
    link(work, out / BINARY, [*objects, library.archive], [*library.link_flags, *LINK_FLAGS])
    shutil.rmtree(work)


def _united(work: Path) -> list[Path]:
    """The sources of the harness in the folder `work`, those of one of its folders as one: most of a file's compilation
    time goes into its headers."""
    harness = work / "harness"
    of_machine = [harness / name for name in OF_MACHINE]
    alone = [harness / name for name in ALONE]
    folders: dict[Path, list[Path]] = {}
    for path in sorted(harness.rglob("*.cpp")):
        if path not in of_machine + alone:
            folders.setdefault(path.parent, []).append(path)
    return [united(work, "of_machine.cpp", of_machine), *alone,
            *(united(work, f"all_{folder.name}.cpp", paths) for folder, paths in folders.items())]


def print_built(parser: argparse.ArgumentParser, build: Callable[[], Path]):
    """Print the path that `build` returns. Errors are one line, after the last ones of a generator's output."""
    try:
        with told_in_a_line("SoC", ToolError, BuildError):
            print(build())
    except ValueError as error:
        parser.error(str(error))


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.model.build",
                                     description="Build a simulator and print its path.")
    add_options(parser)
    parser.add_argument("--waves", action="store_true", help="can write FST waves; slower")
    parser.add_argument("--two-chips", action="store_true", help="the interrupt controller is on a chip of its own")
    options = parser.parse_args()
    print_built(parser, lambda: build_simulator(config_of(options), options.waves, options.two_chips))


if __name__ == "__main__":
    main()
