"""The C library of programs against the host's, call by call: programs/libc_sweep.c makes calls by number on both, and
prints the lines of blocks whose hashes differ.

    python -m tests.kernel.libc_sweep [--calls 100000] [--family printf] [--first N] [--show 20]
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from sim.images import programs
from tests.kernel.machine import boot

SOURCE = Path(__file__).parent / "programs/libc_sweep.c"
FAMILIES = ("printf", "strto", "scanf", "string", "time", "stream")
BLOCK = 50
INPUT = ("one 12 abc\nlast 34\n\n\n77 xyz and a long line that goes on and on: buffers are too short for it\n-5\n"
         + "".join(f"{n} word{n}\n" for n in range(20)) + "end without newline")
CYCLES_OF_A_CALL = 60_000
# Where two libraries may differ, according to docs/programs.md: family, text in the call's line.
LISTED = (("printf", r"%[^<]*[aA]<.*\|\d+ .*0[xX](0|1\.?[pP]-1022|$)"), ("scanf", r"%4?l?f"), ("scanf", r"%2c"))


class Both:
    """The program built for the host and for the machine."""

    def __init__(self, folder):
        self.folder = folder
        self.host = folder / "host"
        subprocess.run(["gcc", "-O1", "-w", "-D_GNU_SOURCE", SOURCE, "-o", self.host, "-lm"], check=True)
        self.machine = programs.build_program([SOURCE], flags=["-w", "-D_GNU_SOURCE"])
        self.input = folder / "input"
        self.input.write_text(INPUT)
        self.runs = 0

    def of_host(self, *args):
        return subprocess.run([self.host, *map(str, args), self.input], check=True, text=True, capture_output=True,
                              env=os.environ | {"TZ": "UTC", "LC_ALL": "C"}).stdout.splitlines()

    def of_machine(self, *args, calls):
        self.runs += 1
        words = ",".join(map(str, [*args, "/input"]))
        run = boot(self.folder / f"run{self.runs}", 1, "cli-optim",
                   f"run=user program=libc_sweep args={words} hz=100",
                   files={"libc_sweep": self.machine, "input": self.input},
                   max_cycles=20_000_000 + calls * CYCLES_OF_A_CALL, hang_cycles=500_000_000)
        assert run.status == 0, run.report()
        return run.console.replace("\r", "").splitlines()[1:]

    def differing(self, family, first, calls):
        """Pairs (line of the host, line of the machine) of a family's calls with different results."""
        args = (family, first, calls, BLOCK, "hash")
        host, machine = self.of_host(*args), self.of_machine(*args, calls=calls)
        assert len(host) == len(machine) == calls // BLOCK, machine[-3:]
        found: list[tuple[str, str]] = []
        blocks = [int(line.split()[1]) for line, other in zip(host, machine, strict=True) if line != other]
        for begin, end in stretches(blocks):
            args = (family, begin * BLOCK, (end - begin) * BLOCK, BLOCK, "lines")
            there = self.of_machine(*args, calls=(end - begin) * BLOCK)
            found += [pair for pair in zip(self.of_host(*args), there, strict=True) if pair[0] != pair[1]]
        return found


def stretches(numbers):
    """Runs of consecutive numbers, as (first, last + 1)."""
    begin = None
    for n, number in enumerate(numbers):
        begin = number if begin is None else begin
        if n + 1 == len(numbers) or numbers[n + 1] != number + 1:
            yield begin, number + 1
            begin = None


def listed(family, host):
    """Whether the line of a call is of a kind that may differ."""
    return any(of == family and re.search(shows, host) for of, shows in LISTED)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=100_000)
    parser.add_argument("--family", choices=FAMILIES, action="append")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--show", type=int, default=20)
    given = parser.parse_args()
    families = given.family or FAMILIES
    calls = max(BLOCK, given.calls // len(families) // BLOCK * BLOCK)
    total = 0
    with tempfile.TemporaryDirectory() as folder:
        both = Both(Path(folder))
        for family in families:
            found = both.differing(family, given.first, calls)
            wrong = [pair for pair in found if not listed(family, pair[0])]
            total += len(wrong)
            print(f"{family}: {calls} calls, {len(wrong)} differ, {len(found) - len(wrong)} as listed", flush=True)
            for host, machine in wrong[:given.show]:
                print(f"  host    {host}\n  machine {machine}")
    sys.exit(total > 0)


if __name__ == "__main__":
    main()
