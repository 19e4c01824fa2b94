"""What each hart computes in the same way, found in the statements of all of them.

Names tell which hart a register belongs to. Verilator's own variables have numbers in their names; what they are is
told by where they are used."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sim.model.gating.order import Node, components
from sim.model.gating.statements import SELF, Any, all_tokens

HART = re.compile(r"harts_(\d+)_")
NUMBERED = re.compile(r"__V(dfg|temp|table)")   # names that say nothing
ROUNDS = 6     # how far away the use of a numbered variable may be by which it is told from others


@dataclass(frozen=True)
class Shared:
    """`families`: nodes that do the same, one for each hart, in the harts' order. `twins`: of each variable in them of
    which every hart has one, that of hart 0, and the hart that it belongs to."""

    families: list[tuple[int, ...]]
    twins: dict[str, tuple[str, int]]


def harts_of(statement: Any) -> set[int]:
    """The harts whose variables are in a statement."""
    return {int(n) for name in statement.names.reads | statement.names.writes for n in HART.findall(name)}


def find_shared(nodes: Sequence[Node], after: Sequence[set[int]], types: Mapping[str, str]) -> Shared:
    """What the harts have in common, so that each family can be carried out for one hart after the other."""
    texts = [_text(node, types) for node in nodes]
    harts = max((n for node in nodes for s in node.statements for n in harts_of(s)), default=-1) + 1
    if harts < 2:
        return Shared([], {})
    families = _consistent(_alike(nodes, texts, types, harts), texts, types, harts)
    families = _apart(families, nodes, after)
    return Shared(families, {name: (row[0], hart) for row in _rows(families, texts) for hart, name in enumerate(row)
                             if row[0] != row[1]})


def _text(node: Node, types: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """A node without the names of its variables, and these in the order in which they stand in it."""
    tokens = [token for statement in node.statements for token in all_tokens(statement)]
    shape, names, at = [], [], 0
    while at < len(tokens):
        name = "." + tokens[at + 2] if tokens[at] == SELF else tokens[at]
        if name in types:
            names.append(name)
            shape.append("?")
        else:
            shape.append(tokens[at])
        at += 3 if tokens[at] == SELF else 1
    return tuple(shape), names


def _alike(nodes: Sequence[Node], texts: Sequence, types: Mapping[str, str], harts: int) -> list[tuple[int, ...]]:
    """Nodes of one hart each that are told apart by nothing but the hart."""
    kinds: dict = {}

    def kind(what) -> int:
        return kinds.setdefault(what, len(kinds))

    names = {name for _, used in texts for name in used}
    called = {name: types[name] if NUMBERED.search(name) else HART.sub("harts_N_", name) for name in names}
    of_name = {name: kind(text) for name, text in called.items()}
    for _ in range(ROUNDS):
        of_node = [kind((shape, tuple(of_name[name] for name in used))) for shape, used in texts]
        uses: dict[str, list] = defaultdict(list)
        for k, (_, used) in enumerate(texts):
            for place, name in enumerate(used):
                uses[name].append((of_node[k], place))
        of_name = {name: kind((called[name], tuple(sorted(uses[name])))) if NUMBERED.search(name) else of_name[name]
                   for name in names}
    groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for k, (shape, used) in enumerate(texts):
        of = set().union(*map(harts_of, nodes[k].statements))
        if len(of) == 1:
            groups[kind((shape, tuple(of_name[name] for name in used)))].append((of.pop(), k))
    return sorted(tuple(k for _, k in sorted(group)) for group in groups.values()
                  if sorted(hart for hart, _ in group) == list(range(harts)))


def _rows(families: Sequence[tuple[int, ...]], texts: Sequence) -> set[tuple[str, ...]]:
    """What stands in the same place in the nodes of a family: a variable of each hart, or one for all."""
    return {row for family in families for row in zip(*(texts[k][1] for k in family), strict=True)}


def _consistent(families: list, texts: Sequence, types: Mapping[str, str], harts: int) -> list:
    """Without the families in which a variable would be another hart's in one place and not in the other."""
    while True:
        rows_of: dict[str, set] = defaultdict(set)
        for row in _rows(families, texts):
            for name in row:
                rows_of[name].add(row)
        kept = [family for family in families
                if all(len(rows_of[name]) == 1 and len(set(row)) in (1, harts) and len({types[n] for n in row}) == 1
                       for row in _rows([family], texts) for name in row)]
        if len(kept) == len(families):
            return kept
        families = kept


def _apart(families: list, nodes: Sequence[Node], after: Sequence[set[int]]) -> list:
    """Without the families that cannot be carried out as a whole: what comes after a part of one comes before
    another part of it."""
    while True:
        unit, follows = contracted(families, nodes, after)
        loops = {part for group in components(follows) if len(group) > 1 for part in group}
        loops |= {unit[k] for k in range(len(nodes)) for there in after[k] if unit[there] == unit[k]}
        kept = [family for family in families if unit[family[0]] not in loops]
        if len(kept) == len(families):
            return kept
        families = kept


def contracted(families: Sequence[tuple[int, ...]], nodes: Sequence[Node],
               after: Sequence[set[int]]) -> tuple[dict[int, int], dict[int, set[int]]]:
    """The order when each family is one unit, named by its first node: the unit of each node, and what comes after
    each unit."""
    unit = {k: k for k in range(len(nodes))} | {k: family[0] for family in families for k in family}
    follows: dict[int, set[int]] = {k: set() for k in unit.values()}
    for k in range(len(nodes)):
        follows[unit[k]] |= {unit[there] for there in after[k]} - {unit[k]}
    return unit, follows
