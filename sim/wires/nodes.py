"""Several machines in one run (sim/harness/README.md, "Several nodes"): the simulator's arguments for them."""

from collections.abc import Sequence
from pathlib import Path

PORT = "uart1"      # the data line
ETHER = "ether"


def ring(count: int, latency: int) -> list[str]:
    """Wires from each node's data port to the next node's, and from the last one's to the first's: `--wire` of the
    simulator. A node alone has none."""
    return [f"{node}.{PORT}:{(node + 1) % count}.{PORT}:{latency}" for node in range(count)] if count > 1 else []


def switch(count: int, latency: int) -> list[str]:
    """Wires from each node's Ethernet port to every other one's: the topology of a switch with a port for each."""
    return [f"{a}.{ETHER}:{b}.{ETHER}:{latency}" for a in range(count) for b in range(count) if a != b]


WIRES = {"serial": ring, "ether": switch}    # by the name in [nodes] wire (sim/experiments/machine.py)


def options(count: int, wire: str = "serial", latency: int = 1000, each: Sequence[str] = (), jobs: int = 1,
            wired: bool = False) -> list[str]:
    """The simulator's arguments for `count` nodes; `each` has the differences between them, K:OPTION=VALUE. `wired`:
    the checkpoint that they resume from has the wires."""
    words = ["--nodes", str(count), "--jobs", str(jobs)]
    words += [word for text in ([] if wired else WIRES[wire](count, latency)) for word in ("--wire", text)]
    return words + [word for text in each for word in ("--node", text)]


def consoles(out: Path, count: int) -> list[str]:
    """The lines of all consoles in the folder of a run, each with its node's number before it."""
    return [f"{node}: {line}" for node in range(count) if (path := out / f"node-{node}" / "console.txt").exists()
            for line in path.read_text(errors="replace").splitlines()]
