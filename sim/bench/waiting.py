"""What skipping idle cycles gains on the serial workload of paper `sync`, whose harts wait for characters most of the
time: `python -m sim.bench.waiting`. The same run with and without it, in turn; the results have to be the same."""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sim.experiments.definition import input_file
from sim.images.kernel import build_kernel
from sim.model.build import build_simulator
from soc.config import SoCConfig

CONSOLE_BAUD = 6_000_000
MODES = {"all": ["--no-skip"], "skipping": []}
SIZE, BAUD, LATENCY, SYNC = 256, 115200, 152, "spl-pessim"


class NotTheSame(RuntimeError):
    """Runs that have to give the same result did not, or failed."""


@dataclass(frozen=True)
class Gain:
    """For one machine: CPU seconds of each round without and with skipping, and cycles of the run, skipped of them."""

    harts: int
    all_s: list[float]
    skipping_s: list[float]
    cycles: int
    skipped: int

    @property
    def ratios(self) -> list[float]:
        """How many times as fast each round was with skipping."""
        return [slow / fast for slow, fast in zip(self.all_s, self.skipping_s, strict=True)]

    def record(self) -> dict:
        return {"harts": self.harts, "cycles": self.cycles, "skipped": self.skipped,
                "gain": statistics.median(self.ratios), "gains": self.ratios,
                "mcycles_per_second": self._speed(self.skipping_s)}

    def _speed(self, times: list[float]) -> float:
        return self.cycles / statistics.median(times) / 1e6

    def line(self) -> str:
        low, high = min(self.ratios), max(self.ratios)
        share = self.skipped / self.cycles
        speed = self._speed(self.all_s), self._speed(self.skipping_s)
        return (f"{self.harts} hart{'s' * (self.harts > 1)}: {statistics.median(self.ratios):.2f} times as fast "
                f"({low:.2f} to {high:.2f}), {speed[0]:.2f} -> {speed[1]:.2f} Mcycles/s, {share:.0%} of "
                f"{self.cycles:,} cycles skipped")


def measure(harts: int, rounds: int, size: int = SIZE, sync: str = SYNC, baud: int = BAUD,
            latency: int = LATENCY) -> Gain:
    """The gain for a file of `size` bytes at `baud` bit/s, the PIC `latency` cycles away.

    NotTheSame if a run fails, or if its result differs from the others'."""
    config = SoCConfig(harts=harts)
    bootargs = (f"run=serial bytes={size} baud={baud} link_latency={latency} "
                f"console.baud={CONSOLE_BAUD}")
    times: dict[str, list[float]] = {mode: [] for mode in MODES}
    results, skipped, cycles = set(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        feed = folder / "feed"
        feed.write_bytes(input_file(1, size))
        command = [build_simulator(config), "--image", build_kernel(config, sync, runs=("serial",)),
                   "--bootargs", bootargs,
                   "--uart0-baud", CONSOLE_BAUD, "--uart1-baud", baud, "--uart1-in", feed, "--out", folder / "run",
                   "--console", "none", "--quiet"]
        for _ in range(rounds):
            for mode, options in MODES.items():
                seconds = cpu_seconds([*map(str, command), *options])
                times[mode].append(seconds)
                record = json.loads((folder / "run" / "run.json").read_text())
                results.add((record["cycles"], record["digest"]))
                cycles, skipped = record["cycles"], record["host"]["skipped_cycles"]
    if len(results) != 1:
        raise NotTheSame(f"skipping is not exact: results {sorted(results)}")
    return Gain(harts, times["all"], times["skipping"], cycles, skipped)


def cpu_seconds(command: list[str]) -> float:
    """The CPU seconds of a process. NotTheSame if it fails."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise NotTheSame(f"the simulator ended with status {process.returncode}: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.waiting", description=__doc__.partition(":")[0])
    parser.add_argument("--harts", type=int, nargs="+", default=[1, 2, 4], metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--size", type=int, default=SIZE, metavar="BYTES", help="of the file")
    parser.add_argument("--baud", type=int, default=BAUD, metavar="RATE")
    parser.add_argument("--latency", type=int, default=LATENCY, metavar="CYCLES", help="of an access of the PIC")
    parser.add_argument("--sync", default=SYNC, help="the kernel's synchronisation scheme")
    options = parser.parse_args()
    print(f"serial workload, {options.size} bytes at {options.baud} bit/s, {options.sync}, PIC latency "
          f"{options.latency}: CPU time of whole runs, {options.rounds} rounds in turn")
    for harts in options.harts:
        try:
            gain = measure(harts, options.rounds, options.size, options.sync, options.baud, options.latency)
        except NotTheSame as error:
            sys.exit(f"error: {error}")
        print(gain.line())


if __name__ == "__main__":
    main()
