"""Measures how often each part of the machine has something to do while all harts are busy: `python -m
sim.bench.activity` writes sim/model/gating/activity.txt anew, by which sim/model/gating decides what shares a gate.

After changes in hardware or Verilator; nothing becomes wrong without it, but slower."""

import argparse
import os
import subprocess
import tempfile
from collections import defaultdict
from pathlib import Path

from sim.bench.__main__ import BUSY, SYNC, ours
from sim.kernel import build_kernel, runs_of
from sim.model.build import build_model
from sim.model.gating.activity import MEASURED
from sim.model.gating.counted import FILE
from sim.model.gating.gates import Gates
from sim.model.verilate import Recipe
from soc.build import generate_soc
from soc.config import SoCConfig

BOOTED = 600_000    # cycles, by when all harts are at work


def measure(harts: int, cycles: int) -> dict[str, int]:
    """In how many of a thousand cycles there was something to do for who writes a variable, by its name."""
    config = SoCConfig(harts=harts)
    soc, image = generate_soc(config), build_kernel(config, SYNC, runs=runs_of(BUSY))
    simulator = build_model([*soc.verilog, soc.vlt], config.clock_hz, idle=soc.idle, recipe=Recipe(gates=Gates.COUNTED))
    rates: dict[str, int] = defaultdict(int)
    with tempfile.TemporaryDirectory() as scratch:
        counts, checkpoint = Path(scratch) / "counts", Path(scratch) / "checkpoint"
        environment = os.environ | {FILE: str(counts)}
        boot = [*ours(simulator, image, BUSY, BOOTED + cycles), "--checkpoint", checkpoint, "--checkpoint-at",
                f"cycle:{BOOTED}", "--checkpoint-stop"]
        work = [simulator, "--restore", checkpoint, "--max-cycles", BOOTED + cycles, "--quiet", "--console", "none"]
        for command in (boot, work):   # what the second one counts is left in the file
            done = subprocess.run(list(map(str, command)), env=environment, capture_output=True, text=True)
            if not counts.exists():
                raise SystemExit(f"error: the simulator failed: {done.stderr.strip()}")
        for line in counts.read_text().splitlines():
            count, of, *names = line.split()
            for name in names:
                rates[name] = max(rates[name], round(1000 * int(count) / int(of)))
    return rates


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.activity", description=__doc__.split(":")[0])
    parser.add_argument("--harts", type=int, default=2)
    parser.add_argument("--cycles", type=int, default=50_000, help="behind the boot (50000)")
    options = parser.parse_args()
    rates = measure(options.harts, options.cycles)
    MEASURED.write_text("".join(f"{name} {rate}\n" for name, rate in sorted(rates.items())))


if __name__ == "__main__":
    main()
