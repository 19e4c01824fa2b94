"""Nodes that are cut from the wire while tasks are created on them: the long form of a test in test_remote.py.

    python -m tests.kernel.remote_faults [--first N] [--count N] [--minutes N] [--sharing]

Each case is drawn from its number: nodes, harts, scheme, transport, how children are made, which node is cut at which
moment and whether it is reconnected, and what the wire loses and repeats. In no case may a node hang, panic or have
anything left: no task, memory object, port or message. With --sharing the tasks write memory that they share. Prints
what each case was and how it ended; status 1 if one is wrong.
"""

import argparse
import json
import random
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from sim.images.programs import build_program
from sim.wires.nodes import options
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, command

QUICK = "hz=200 ipc.retry=5 ipc.tries=3 ipc.probe=50 user.pages=2000"   # a silent node is given up within 0.4 s
FOREVER = 0xffffffff
PROGRAMS = Path(__file__).parent / "programs"
KERNELS = (("spl-optim", 1, "norma"), ("cli-optim", 2, "window"))     # the harts are those of test_remote.py's machines
LAST_US = 90_000        # by then a program without faults has ended, on four nodes


@dataclass(frozen=True)
class Case:
    """One run: `bootargs` besides QUICK, and its machines."""

    sync: str
    harts: int
    transport: str
    nodes: int
    bootargs: str
    sharing: bool = False


def sharing(number: int) -> Case:
    """The same with the program `sharing`, whose pages are anywhere when the node is cut."""
    of, chance = case(number), random.Random(number)
    words = [f"program=sharing args=3,{chance.randrange(2)}", *of.bootargs.split()[2:]]
    return Case(of.sync, of.harts, of.transport, min(of.nodes, 4), " ".join(words).replace("node=7", "node=1"), True)


def case(number: int) -> Case:
    chance = random.Random(number)
    sync, harts, transport = chance.choice(KERNELS)
    nodes = chance.choice((2, 2, 3, 3, 4, 8))
    steps, fanout = chance.choice(((0, "-"), (7, "-"), (15, "0"), (15, "1"), (15, "2")))
    pages, depth, regions = chance.randrange(1, 7), chance.randrange(3), chance.randrange(4)
    words = [f"program=remote args={steps},1,{pages},{fanout},{depth},{regions}",
             f"seed={number + 1}", f"ipc.cut={chance.randrange(1, LAST_US)}", f"ipc.cut.node={chance.randrange(nodes)}"]
    if chance.randrange(2):
        words.append(f"ipc.heal={chance.choice((3000, 30_000, 300_000, 900_000))}")
    if not chance.randrange(3):
        words.append(f"ipc.lose={chance.randrange(100)} ipc.repeat={chance.randrange(100)}")
    return Case(sync, harts, transport, nodes, " ".join(words))


def run(folder: Path, of: Case, max_cycles: int = 1_500_000_000) -> list[dict]:
    """The result lines of each node; AssertionError if one did not end well."""
    words = command(folder, of.harts, of.sync, f"run=remote {QUICK} {of.bootargs}", "file", CONSOLE_BAUD, 0, max_cycles,
                    {"ipc": of.transport, "lock_debug": "1" if of.harts == 1 else "0"}, None, DEVICES,
                    {"sharing": build_program([PROGRAMS / "sharing.c"])} if of.sharing else None,
                    hang_cycles=400_000_000)     # longer than a program waits for a child, 5 s
    done = subprocess.run([*words, *options(of.nodes, "ether", 600)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    said = "\n".join((folder / f"node-{node}/console.txt").read_text() for node in range(of.nodes))
    assert done.returncode == 0, f"{of}\n{done.stdout}{done.stderr}{said}"
    return [node["results"] for node in json.loads((folder / "run.json").read_text())["nodes"]]


def check(of: Case, results: list[dict]) -> str:
    """Checks that nothing is left on any node; gives the outcome in a few words."""
    for number, node in enumerate(results):
        (xmm,), (ipc,) = node["xmm"], node["ipc"]
        left = xmm["exports"] + xmm["proxies"] + ipc["in_use"]
        # A node keeps its host port, those of nodes it knows, and one of the copies of memory that others have.
        assert not left and ipc["ports"] <= of.nodes + of.sharing, f"node {number}: {xmm} {ipc}\n{of}"
    failed = "fails" if "remote_failed" in results[0] else "succeeds"
    errors, lost = (sum(node[kind][0][name] for node in results)
                    for kind, name in (("xmm", "errors"), ("ipc", "given_up")))
    return f"{failed}, {lost} times a node was given up, {errors} pages were not to be had"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--sharing", action="store_true", help="the tasks write memory that they share")
    given = parser.parse_args()
    until, wrong = time.monotonic() + 60 * given.minutes, 0
    for number in range(given.first, given.first + given.count):
        if time.monotonic() > until:
            break
        of = sharing(number) if given.sharing else case(number)
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(f"{number}: {of.transport} {of.nodes} nodes, {of.bootargs}: {check(of, run(Path(folder), of))}",
                      flush=True)
            except AssertionError as error:
                wrong += 1
                print(f"{number}: WRONG\n{error}", flush=True)
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
