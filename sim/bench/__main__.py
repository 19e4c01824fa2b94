"""How fast the simulator is, beside LiteX's own of the same SoC: `make bench-sim`, or `python -m sim.bench`.

Both are built with the same compiler and run the same kernel, all harts busy, for the same number of cycles, in turn
and in several rounds: a slow moment of the host affects both. The figure is the processor time of the whole process.
The output of both has to agree. Beside it are the cost of a cycle independent of the host (sim/bench/counts.py), and
the speed of simulated waiting (sim/bench/sleeping.py).
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sim.bench import counts, litex_sim, sleeping, waiting
from sim.bench.busy import BUSY, SYNC, ours
from sim.bench.image import main_ram
from sim.bench.run import Measured, measure
from sim.images.kernel import KernelError, build_kernel, runs_of
from sim.model.build import build_simulator
from sim.model.toolchain import BuildError, tool_versions
from soc.config import SoCConfig
from support.cache import build_root
from support.tools import ToolError

COMPARED = 40     # characters of the console that both have to have printed


def agree(first: str, second: str) -> bool:
    """Whether one is a prefix of the other, without the simulators' own messages."""
    begins = [text[text.find("Interlock"):].replace("\r", "") for text in (first, second) if "Interlock" in text]
    return len(begins) == 2 and begins[0][:COMPARED] == begins[1][:COMPARED] and len(begins[0]) >= COMPARED


def versus_litex(harts: int, rounds: int, cycles: int) -> dict:
    """Runs both simulators of a SoC in turn. SystemExit with one line if they do not print the same."""
    config = SoCConfig(harts=harts)
    image = build_kernel(config, SYNC, runs=runs_of(BUSY))
    litex = litex_sim.build(config, cycles, tool_versions())
    simulator = build_simulator(config)
    runs: dict[str, list[Measured]] = {"litex": [], "ours": []}
    with tempfile.TemporaryDirectory() as scratch:
        command = litex_sim.prepare(litex, Path(scratch) / "litex", main_ram(image, BUSY))
        for _ in range(rounds):
            runs["litex"].append(measure(command, Path(scratch) / "litex", cycles))
            runs["ours"].append(measure(ours(simulator, image, BUSY, cycles), Path(scratch), cycles))
    if not agree(runs["litex"][0].console, runs["ours"][0].console):
        sys.exit(f"error: with {harts} harts the two simulators do not print the same: no comparison")
    ratios = [a.nanoseconds / b.nanoseconds for a, b in zip(*runs.values(), strict=True)]
    return {"harts": harts, "cycles": cycles, "ratio": statistics.median(ratios), "ratios": ratios,
            **{f"{who}_mcycles_per_second": 1e3 / statistics.median(run.nanoseconds for run in measured)
               for who, measured in runs.items()},
            "mib": max(run.mib for run in runs["ours"])}


def show(results: dict, console: Console):
    """Prints both tables."""
    busy = Table(title="All harts busy: million cycles per second of processor time, medians")
    for name in ("harts", "LiteX", "ours", "ratio", "least to greatest", "memory, MiB"):
        busy.add_column(name, justify="right")
    for r in results["busy"]:
        busy.add_row(str(r["harts"]), f"{r['litex_mcycles_per_second']:.2f}", f"{r['ours_mcycles_per_second']:.2f}",
                     f"{r['ratio']:.2f}", f"{min(r['ratios']):.2f} to {max(r['ratios']):.2f}", f"{r['mib']:.0f}")
    console.print(busy)
    counts.show(results["counts"], console)
    sleeping.show(results["sleeping"], console)
    idle = Table(title="Serial workload: idle cycles skipped, beside --no-skip")
    for name in ("harts", "million cycles/s", "gain", "least to greatest", "skipped"):
        idle.add_column(name, justify="right")
    for r in results["waiting"]:
        idle.add_row(str(r["harts"]), f"{r['mcycles_per_second']:.2f}", f"{r['gain']:.2f}",
                        f"{min(r['gains']):.2f} to {max(r['gains']):.2f}", f"{r['skipped'] / r['cycles']:.0%}")
    console.print(idle)


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench", description=__doc__.split(":")[0])
    parser.add_argument("--harts", default="1,2,4", help="machines, with commas between (1,2,4)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each simulator, in turn (3)")
    parser.add_argument("--cycles", type=int, default=litex_sim.CYCLES, help=f"length of a run ({litex_sim.CYCLES})")
    options = parser.parse_args()
    try:
        harts = [SoCConfig(harts=int(n)).harts for n in options.harts.split(",")]
    except ValueError as error:
        parser.error(str(error))
    if options.rounds < 1 or options.cycles < 500_000:
        parser.error("at least 1 round of 500000 cycles: before that the harts are not all busy")
    try:
        results = {"busy": [versus_litex(n, options.rounds, options.cycles) for n in harts],
                   "counts": [counts.measure(n) for n in harts],
                   "sleeping": [sleeping.measure(n, options.rounds) for n in harts],
                   "waiting": [waiting.measure(n, options.rounds).record() for n in harts]}
    except (ToolError, BuildError, KernelError, waiting.NotTheSame) as error:
        sys.exit(f"error: {error}")
    out = build_root() / "bench-sim.json"
    out.write_text(json.dumps(results, indent=1) + "\n")
    show(results, Console())
    print(f"record: {os.path.relpath(out)}")


if __name__ == "__main__":
    main()
