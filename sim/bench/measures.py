"""What each measure that makes the simulator fast gains, and what others would: `python -m sim.bench.measures`.

The simulator is built without the measure, or with the other one, and both run the busy kernel of `sim.bench` in turn.
A ratio above 1 says how many times as slow the simulator is without it.
"""

import argparse
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from sim.bench.busy import BUSY, SYNC, ours
from sim.bench.run import measure
from sim.images.kernel import build_kernel, runs_of
from sim.model.build import build_model
from sim.model.verilate import COMPILER_FLAGS, FAST_FLAGS, VERILATOR_FLAGS, Recipe
from soc.build import generate_soc
from soc.config import SoCConfig


def fast(optimisation: str) -> Recipe:
    """The default with another level of optimisation."""
    return Recipe(fast=tuple(optimisation if flag == "-O3" else flag for flag in FAST_FLAGS))


# The omitted or changed measures: recipe, options of the simulator. Both edges are evaluated by code that is not
# optimised, as that is for the few cycles in which an input changes (sim/model/verilate.py).
OTHERS = {
    "the rising edge as Verilator writes it": (Recipe(rewritten=False), []),
    "without gates": (Recipe(gated=False), []),
    "not laid out by how often its branches are taken": (Recipe(profiled=False), []),
    "both edges of the clock evaluated": (Recipe(), ["--evaluate-twice"]),
    "compiled for any x86-64": (Recipe(fast=COMPILER_FLAGS), []),
    "compiled with -O2": (fast("-O2"), []),
    "compiled for size": (fast("-Os"), []),
    "Verilator without -O3": (Recipe(verilator=tuple(flag for flag in VERILATOR_FLAGS if flag != "-O3")), []),
    "Verilator without its graph optimiser": (Recipe(verilator=(*VERILATOR_FLAGS, "-fno-dfg")), []),
    "Verilator without look-up tables": (Recipe(verilator=(*VERILATOR_FLAGS, "-fno-table")), []),
}


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.measures", description=__doc__.split(":")[0])
    parser.add_argument("--harts", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5, help="runs of each (5)")
    parser.add_argument("--cycles", type=int, default=700_000, help="length of a run (700000)")
    options = parser.parse_args()
    try:
        config = SoCConfig(harts=options.harts)
    except ValueError as error:
        parser.error(str(error))
    soc, image = generate_soc(config), build_kernel(config, SYNC, runs=runs_of(BUSY))

    def build(recipe: Recipe) -> Path:
        return build_model([*soc.verilog, soc.vlt], config.clock_hz, idle=soc.idle, recipe=recipe)

    usual = build(Recipe())
    commands = {name: ours(build(recipe), image, BUSY, options.cycles, *arguments)
                for name, (recipe, arguments) in OTHERS.items()}
    ratios: dict[str, list[float]] = {name: [] for name in OTHERS}
    with tempfile.TemporaryDirectory() as scratch:
        for _ in range(options.rounds):
            for name, command in commands.items():
                base = measure(ours(usual, image, BUSY, options.cycles), Path(scratch), options.cycles)
                other = measure(command, Path(scratch), options.cycles)
                if base.console != other.console:
                    raise SystemExit(f"error: {name}: the simulator prints something else")
                ratios[name].append(other.nanoseconds / base.nanoseconds)
    table = Table(title=f"{options.harts} hart{'s' * (options.harts > 1)}, all busy: processor time beside the default")
    for name in ("instead", "times as slow", "least to greatest"):
        table.add_column(name)
    for name, values in ratios.items():
        table.add_row(name, f"{statistics.median(values):.2f}", f"{min(values):.2f} to {max(values):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
