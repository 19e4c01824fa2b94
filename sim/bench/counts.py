"""The cost of a simulated cycle, independent of the host: instructions, and misses of modelled first-level caches for
instructions and data, of LiteX's simulator and of ours: `python -m sim.bench.counts` (docs/simulator.md).

Valgrind counts them (its tool callgrind, whose caches are cachegrind's) over cycles in which all harts are busy.
Start-up drops out: LiteX's simulator has a module that begins to count at the first of them (counting.c); ours begins
at a checkpoint, and of two lengths the difference counts. A figure depends on the compiler and its version, on the
level of processors that it compiles for, and on the modelled caches; not on the host's load, clock or caches.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sim.bench import litex_sim
from sim.bench.busy import BUSY, SYNC, ours
from sim.bench.image import main_ram
from sim.images.kernel import build_kernel, runs_of
from sim.model.build import build_simulator
from sim.model.toolchain import needed, run, tool_versions
from soc.config import SoCConfig
from support.cache import build_root
from support.tools import ToolError

CACHE = "32768,8,64"     # bytes, ways, bytes a line: of both first-level caches
BOOTED = 620_000         # cycles after which all harts are busy and a window of the bench has begun
WARM = 5_000             # cycles of our simulator before the first counted one
CYCLES = 20_000          # counted cycles


@dataclass(frozen=True)
class Counts:
    """The cost of one simulated cycle."""

    instructions: float
    instruction_misses: float
    data_misses: float

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(a - b for a, b in zip(asdict(self).values(), asdict(other).values(), strict=True)))

    def per(self, cycles: int) -> "Counts":
        return Counts(*(value / cycles for value in asdict(self).values()))


def callgrind(command: list, folder: Path, *options: str) -> Counts:
    """Runs a command in `folder` under callgrind. ToolError in one line if there is no valgrind, or no counts come."""
    valgrind = shutil.which("valgrind")
    if not valgrind:
        raise ToolError("valgrind is missing: run 'make setup'")
    out = folder / "callgrind.out"
    for path in folder.glob("callgrind.out*"):
        path.unlink()
    said = folder / "said"
    with open(said, "wb") as log:   # standard input stays open: LiteX's console needs one
        process = subprocess.Popen(
            [valgrind, "--tool=callgrind", "--cache-sim=yes", f"--I1={CACHE}", f"--D1={CACHE}", "--LL=8388608,16,64",
             f"--callgrind-out-file={out}", *options, *map(str, command)],
            cwd=folder, stdin=subprocess.PIPE, stdout=log, stderr=subprocess.STDOUT)
        process.wait()
        assert process.stdin
        process.stdin.close()
    totals = [path.read_text() for path in sorted(folder.glob("callgrind.out*"))]
    parsed = [totals_of(text) for text in totals]
    if not parsed or not any(count.instructions for count in parsed):
        lines = [line for line in said.read_text(errors="replace").splitlines() if line.strip("= 0123456789")]
        raise ToolError(f"callgrind counted nothing: {(lines or ['no output'])[-1]}")
    return max(parsed, key=lambda count: count.instructions)


def totals_of(text: str) -> Counts:
    """The totals of a file that callgrind wrote; zeros if it has none."""
    lines = {line.partition(":")[0]: line.partition(":")[2].split() for line in text.splitlines()
             if line.startswith(("events:", "totals:", "summary:"))}
    values = lines.get("totals") or lines.get("summary") or []
    named = dict(zip(lines.get("events", []), map(int, values), strict=False))
    return Counts(named.get("Ir", 0), named.get("I1mr", 0), named.get("D1mr", 0) + named.get("D1mw", 0))


def of_ours(simulator: Path, image: Path, cycles: int, folder: Path) -> Counts:
    """The counts of our simulator, over `cycles` after BOOTED."""
    checkpoint = folder / "checkpoint"
    boot = [*ours(simulator, image, BUSY, BOOTED + WARM + cycles), "--checkpoint", checkpoint, "--checkpoint-at",
            f"cycle:{BOOTED}", "--checkpoint-stop"]
    subprocess.run(list(map(str, boot)), cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def to(cycle: int) -> Counts:
        return callgrind([simulator, "--restore", checkpoint, "--max-cycles", cycle, "--quiet", "--console", "none"],
                         folder)

    return (to(BOOTED + WARM + cycles) - to(BOOTED + WARM)).per(cycles)


def of_litex(simulator: Path, image: Path, cycles: int, folder: Path) -> Counts:
    """The counts of LiteX's simulator, over `cycles` after BOOTED."""
    command, *rest = litex_sim.prepare(simulator, folder, main_ram(image, BUSY))
    bare = folder / "bare"   # valgrind 3.19 does not understand clang's debug information
    run([needed("llvm-strip-19"), "--strip-debug", command, "-o", bare], folder)
    config = folder / litex_sim.CONFIG
    modules = json.loads(config.read_text())
    config.unlink()   # it was a link into the cache
    period = 2 * modules[-1]["timebase"]
    modules.insert(-1, {"module": litex_sim.COUNTING, "interface": [{"name": "sys_clk"}],
                        "args": {"from_ps": BOOTED * period, "to_ps": (BOOTED + cycles) * period}})
    config.write_text(json.dumps(modules))
    return callgrind([bare, *rest], folder, "--instr-atstart=no").per(cycles)


def measure(harts: int, cycles: int = CYCLES) -> dict:
    """Counts for both simulators of a SoC."""
    config = SoCConfig(harts=harts)
    image = build_kernel(config, SYNC, runs=runs_of(BUSY))
    with tempfile.TemporaryDirectory() as scratch:
        counted = {"ours": of_ours(build_simulator(config), image, cycles, _in(scratch, "ours")),
                   "litex": of_litex(litex_sim.build(config, litex_sim.CYCLES, tool_versions()), image, cycles,
                                     Path(scratch) / "litex")}
    return {"harts": harts, "cycles": cycles, **{who: asdict(counts) for who, counts in counted.items()}}


def _in(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


def show(results: list[dict], console: Console):
    table = Table(title="All harts busy: counts for each simulated cycle (32 KB caches of 8 ways, modelled)")
    for name in ("harts", "instructions: LiteX", "ours", "ratio", "instruction misses: LiteX", "ours",
                 "data misses: LiteX", "ours"):
        table.add_column(name, justify="right")
    for r in results:
        litex, mine = r["litex"], r["ours"]
        table.add_row(str(r["harts"]), f"{litex['instructions']:,.0f}", f"{mine['instructions']:,.0f}",
                      f"{litex['instructions'] / mine['instructions']:.2f}", f"{litex['instruction_misses']:.0f}",
                      f"{mine['instruction_misses']:.0f}", f"{litex['data_misses']:.1f}", f"{mine['data_misses']:.1f}")
    console.print(table)


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.counts", description=__doc__.split(":")[0])
    parser.add_argument("--harts", default="1,2,4", help="machines, with commas between (1,2,4)")
    parser.add_argument("--cycles", type=int, default=CYCLES, help=f"that are counted ({CYCLES})")
    options = parser.parse_args()
    results = [measure(int(harts), options.cycles) for harts in options.harts.split(",")]
    out = build_root() / "bench-counts.json"
    out.write_text(json.dumps(results, indent=1) + "\n")
    show(results, Console())
    print(f"record: {os.path.relpath(out)}")


if __name__ == "__main__":
    main()
