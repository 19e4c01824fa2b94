"""Runs of simulators, and the processor time that they take."""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Measured:
    """One run."""

    nanoseconds: float   # processor time of a simulated cycle
    mib: float           # peak memory
    console: str


def measure(command: list, folder: Path, cycles: int) -> Measured:
    """Runs a simulator to its end. Its standard input stays open: LiteX's console needs one."""
    with open(folder / "stdout", "w+b") as out:
        process = subprocess.Popen(list(map(str, command)), cwd=folder, stdin=subprocess.PIPE, stdout=out,
                                   stderr=subprocess.STDOUT)
        _, _, used = os.wait4(process.pid, 0)
        assert process.stdin
        process.stdin.close()
        process.returncode = 0   # waited for above
        out.seek(0)
        text = out.read().decode(errors="replace")
    return Measured((used.ru_utime + used.ru_stime) * 1e9 / cycles, used.ru_maxrss / 1024, text)
