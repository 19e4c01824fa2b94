"""Clusters that several processes carry leave what one process leaves, byte for byte but for the record's `host`: tasks
are created on all nodes by a tree (paper `crtc`), with 2 to 4 processes that the simulator makes, and with as many that
OpenMPI's mpirun starts (Debian's libopenmpi-dev and openmpi-bin).

    python -m tests.system.mpi_nodes --out DIR [--nodes 8]
"""

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

from sim.model.mpi import launched
from sim.wires.nodes import options
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, command

LATENCY = 600


def left(out):
    """All that a run has left."""
    record = json.loads((out / "run.json").read_text())
    del record["host"]
    return record, {path.relative_to(out): path.read_bytes() for path in sorted(out.glob("*/*"))}


def ways(words):
    yield "1 process", words
    for ranks in (2, 3, 4):
        yield f"{ranks} processes", [*words, "--ranks", str(ranks)]
    for ranks in (2, 3, 4):
        yield f"{ranks} processes by MPI", launched(words, ranks, [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--nodes", type=int, default=8)
    given = parser.parse_args()
    words = command(given.out / "x", 1, "cli-optim", "run=remote hz=1000 program=remote args=15,1,4,2,2,5", "file",
                    CONSOLE_BAUD, 0, 200_000_000, {"ipc": "window"}, None, DEVICES, None, hang_cycles=100_000_000)
    words += options(given.nodes, "ether", LATENCY)
    at = words.index("--out") + 1
    first, differ = None, 0
    for number, (name, line) in enumerate(ways([*map(str, words)])):
        out = given.out / str(number)
        line = [str(out) if word == words[at] else word for word in line]
        begin = time.monotonic()
        done = subprocess.run(line, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{name}: status {done.returncode}\n{done.stdout}{done.stderr}")
        made = left(out)
        first = first or made
        differ += made != first
        print(f"{name}: {time.monotonic() - begin:.1f} s, digest {made[0]['digest']}, "
              f"{'the same' if made == first else 'differs'}", flush=True)
    print(f"{given.nodes} nodes, {differ} of {number} differ from one process")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
