"""How often statements have something to do in a machine whose harts are busy: `activity.txt`, which
`python -m sim.bench.activity` measures. Of other machines and other loads it is a guess.

It says what stands behind which gate, and nothing else: a wrong guess makes the simulator slower, never wrong."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from sim.model.gating.gates import always, looked_at
from sim.model.gating.harts import HART, NUMBERED
from sim.model.gating.order import Node

MEASURED = Path(__file__).parent / "activity.txt"
EVERY_CYCLE = 1000
FAR = 30     # from a variable that was not measured to the next one that was, at most
PREFIX = re.compile(r"^\.?(__Vdly(Set|Val|Dim\d|LsbVal)?__)?(interlock__DOT__)?(InterlockCluster__DOT__)?")


def called(name: str) -> str:
    """A variable without its hart, and without where it is."""
    return HART.sub("harts_N_", PREFIX.sub("", name))


def names_of(node: Node) -> list[str]:
    """What the node writes under names that say something, the model's before local ones."""
    names = sorted((name[0] != ".", name) for name in node.names.writes if not NUMBERED.search(name))
    return [called(name) for _, name in names]


def measured() -> dict[str, int]:
    """In how many of a thousand cycles there was something to do for who writes a variable."""
    return {name: int(rate) for name, rate in (line.split() for line in MEASURED.read_text().splitlines())}


def rates(nodes: Sequence[Node], known: Mapping[str, int]) -> list[int]:
    """The same of each node. Where no name is known, it is that of the busiest whose variables it looks at."""
    found = [max((known[name] for name in names_of(node) if name in known), default=-1) for node in nodes]
    writer = {name: k for k, node in enumerate(nodes) for name in node.names.writes}
    unknown = {k: [writer[name] for name in looked_at(node.statements) if name in writer and writer[name] != k]
               for k, node in enumerate(nodes) if found[k] < 0}
    for _ in range(FAR):
        for k, others in unknown.items():
            found[k] = max((found[other] for other in others), default=0)
    return [EVERY_CYCLE if always(node.statements) else max(rate, 0)
            for node, rate in zip(nodes, found, strict=True)]
