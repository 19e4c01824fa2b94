"""In which cycles each statement is active, as observed in a simulator that counts; and what that is worth."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.model.gating.gates import always, looked_at
from sim.model.gating.harts import NUMBERED, contracted
from sim.model.gating.order import Node
from sim.model.gating.statements import Statement
from sim.model.gating.supernodes import Piece, Supernodes

OPERATOR = re.compile(r"([-+*/&|^<>=!~?]=?|<<|>>|&&|\|\|)$")
# Instructions for each operator, variable read, and variable written: fitted to valgrind's counts in the model of one
# hart. Of two branches one is executed.
PREFIX = re.compile(r"^\.?(__Vdly(Set|Val|Dim\d|LsbVal)?__)?(interlock__DOT__)?(InterlockCluster__DOT__)?"
                    r"(harts_\d+_logic_)?")
WORDS = 2    # of a name identify the core
PASSED_BY = 0.02     # less active pieces are skipped by one test of their gates
OPERATION, READ, WRITE, TEST = 0.65, 0.45, 0.2, 1.0


@dataclass(frozen=True)
class Watched:
    """The output of a model whose nodes all have gates of their own: for each cycle a row, in it a byte for each unit,
    or for each hart of a unit that harts share, that is 1 if its gate was open."""

    rows: np.ndarray

    @staticmethod
    def read(path: Path, width: int) -> "Watched":
        return Watched(np.fromfile(path, dtype=np.uint8).reshape(-1, width))

    @property
    def cycles(self) -> int:
        return len(self.rows)

    def of(self, first: int, harts: int) -> int:
        """The cycles in which a unit was active, as bits: those of one hart after those of another."""
        return int.from_bytes(np.packbits(self.rows[:, first:first + harts].T.reshape(-1)).tobytes(), "big")


def core_of(node: Node) -> str:
    """The core of a node, by the first words of the name of what it writes."""
    names = sorted((name[0] != ".", name) for name in node.names.writes if not NUMBERED.search(name))
    path = PREFIX.sub("", names[0][1]).split("__DOT__") if names else [""]
    return "_".join("_".join(path).strip("_").split("_")[:WORDS])


def units_of(nodes: Sequence[Node], families: Sequence[tuple[int, ...]]) -> dict[int, tuple[int, ...]]:
    """What is executed as a whole: a family, by its first node, or a node that is in none."""
    members: dict[int, tuple[int, ...]] = {k: (k,) for k in range(len(nodes))}
    for family in families:
        for k in family:
            del members[k]
        members[family[0]] = family
    return members


def columns(members: Mapping[int, tuple[int, ...]]) -> tuple[dict[int, int], int]:
    """The place of each unit's first byte in a row, and the length of a row."""
    first, width = {}, 0
    for unit, of in members.items():
        first[unit] = width
        width += len(of)
    return first, width


def alone(nodes: Sequence[Node], families: Sequence[tuple[int, ...]],
          gated: bool) -> tuple[list[tuple[bool, list[int]]], set[int]]:
    """Each unit as a piece of its own."""
    members = units_of(nodes, families)
    return [(gated and not always(nodes[unit].statements), [unit]) for unit in members], set()


def work(one: Any) -> float:
    """The approximate number of instructions of a statement."""
    if isinstance(one, Statement):
        return (OPERATION * sum(1 for token in one.tokens if OPERATOR.match(token)) + READ * len(one.names.reads)
                + WRITE * len(one.names.writes))
    condition = OPERATION * sum(1 for token in one.condition if OPERATOR.match(token)) + TEST
    return condition + (sum(map(work, one.then)) + sum(map(work, one.other))) / 2


def pieces(nodes: Sequence[Node], after: Sequence[set[int]], families: Sequence[tuple[int, ...]],
           watched: Watched) -> tuple[list[tuple[bool, list[int]]], set[int]]:
    """The pieces that the statements are divided into (sim/model/gating/supernodes.py), and the units of those that are
    seldom active."""
    members = units_of(nodes, families)
    first, _ = columns(members)
    _, follows = contracted(families, nodes, after)
    written = {unit: {name for k in of for name in nodes[k].names.writes} for unit, of in members.items()}
    looked = {unit: {name for k in of for name in looked_at(nodes[k].statements)} for unit, of in members.items()}
    found = {unit: Piece([unit], sum(map(work, nodes[unit].statements)), watched.of(first[unit], len(of)),
                         watched.cycles * len(of), len(of), core_of(nodes[unit])) for unit, of in members.items()}
    never = {unit for unit in members if always(nodes[unit].statements)}
    divided = Supernodes(found, follows, written, looked, never).divide()
    seldom = {unit for gated, units in divided if gated for unit in units
              if max(found[k].rate for k in units) < PASSED_BY}
    return divided, seldom
