"""What observing a run costs the simulator (docs/inside.md): `python -m sim.bench.looking`. The same busy run
without and with each observer, in turn; the results have to be the same."""

import argparse
import json
import statistics
import tempfile
from pathlib import Path

from sim.bench.waiting import CONSOLE_BAUD, cpu_seconds
from sim.images.kernel import build_kernel
from sim.model.build import build_simulator
from soc.config import SoCConfig

OBSERVERS = ("timeline", "flame", "latencies", "samples", "probe-log")


def measure(harts: int, rounds: int, sync: str, iterations: int) -> dict[str, list[float]]:
    """CPU seconds of each round, by observers: "nothing", each observer, "all".

    RuntimeError if a run fails, or if its record differs from the others'."""
    config = SoCConfig(harts=harts)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        image = build_kernel(config, sync, runs=("table5",))
        command = [build_simulator(config), "--image", image, "--out", folder / "run", "--bootargs",
                   f"run=table5 iterations={iterations} console.baud={CONSOLE_BAUD}",
                   "--uart0-baud", CONSOLE_BAUD, "--console", "none", "--quiet"]
        option = {one: [f"--{one}", str(folder / one)] for one in OBSERVERS}
        modes: dict[str, list] = {"nothing": [], **option}
        modes["all"] = [text for texts in option.values() for text in texts]
        times: dict[str, list] = {mode: [] for mode in modes}
        records = set()
        for _ in range(rounds):
            for mode, options in modes.items():
                times[mode].append(cpu_seconds([*map(str, command), *options]))
                record = json.loads((folder / "run" / "run.json").read_text())
                record.pop("host")
                records.add(json.dumps(record, sort_keys=True))
        if len(records) != 1:
            raise RuntimeError("looking on changes the record")
    return times


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.looking", description=__doc__.partition(":")[0])
    parser.add_argument("--harts", type=int, default=1, metavar="N")
    parser.add_argument("--rounds", type=int, default=5, metavar="N")
    parser.add_argument("--sync", default="spl-optim", metavar="SCHEME")
    parser.add_argument("--iterations", type=int, default=3000, metavar="N", help="of each loop of run=table5")
    options = parser.parse_args()
    times = measure(options.harts, options.rounds, options.sync, options.iterations)
    for mode, seconds in times.items():
        ratios = [one / plain for one, plain in zip(seconds, times["nothing"], strict=True)]
        print(f"{mode}: {statistics.median(seconds):.2f} s, {statistics.median(ratios):.2f} times "
              f"({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
