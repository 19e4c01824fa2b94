"""What each hart computes in the same way, found in the statements of all of them.

Names tell which hart a register belongs to. Verilator's own variables have numbers in their names; they are identified
by their uses."""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from sim.model.gating.order import Node, components
from sim.model.gating.statements import SELF, Any, all_tokens

HART = re.compile(r"harts_(\d+)_")
NUMBERED = re.compile(r"__V(dfg|temp|table)")   # names without information
NUMBER = re.compile(r"_?\d+")   # the first hart's may be missing
# How far away the use that identifies a variable may be: less if that identifies none.
ROUNDS = (6, 1, 0)


@dataclass(frozen=True)
class Shared:
    """`families`: nodes that do the same, one for each hart, in the harts' order. `twins`: of each variable in them of
    which every hart has one, that of hart 0, and the hart that it belongs to."""

    families: list[tuple[int, ...]]
    twins: dict[str, tuple[str, int]]


def named(name: str, common: Collection[str] = ()) -> set[int]:
    """The harts that a name belongs to: one or none, as those in `common` are shared by all."""
    return set() if name in common else {int(n) for n in HART.findall(name)}


def harts_of(statement: Any, common: Collection[str] = ()) -> set[int]:
    """The harts whose variables are in a statement."""
    return set().union(*(named(name, common) for name in statement.names.reads | statement.names.writes))


def find_common(statements: Sequence[Any]) -> frozenset[str]:
    """Variables with a hart's name that all share: Verilator names a wire to all harts as it is named in one. Each of
    the others reads it by itself."""
    readers: dict[str, set[int]] = defaultdict(set)
    every: set[int] = set()
    for statement in statements:
        of = harts_of(statement)
        every |= of
        if len(of) != 2:
            continue
        for name in statement.names.reads - statement.names.writes:
            for hart in named(name):
                readers[name] |= of - {hart}
    return frozenset(name for name, of in readers.items() if len(every) > 1 and of == every - named(name))


def find_shared(nodes: Sequence[Node], after: Sequence[set[int]], types: Mapping[str, str],
                common: Collection[str] = ()) -> Shared:
    """What the harts have in common, so that each family can be executed for one hart after the other. `common` is the
    result of find_common()."""
    texts = [_text(node, types) for node in nodes]
    harts = max((n for node in nodes for s in node.statements for n in harts_of(s, common)), default=-1) + 1
    if harts < 2:
        return Shared([], {})
    families: list[tuple[int, ...]] = []
    for far in ROUNDS:
        before = -1
        while before < len(families):
            before = len(families)
            more = _consistent(families + _alike(texts, common, harts, families, far), texts, types, harts)
            families = max(families, more, key=len)
    families = _apart(families, nodes, after)
    return Shared(families, {name: (row[0], hart) for row in _rows(families, texts) for hart, name in enumerate(row)
                             if row[0] != row[1]})


def _text(node: Node, types: Mapping[str, str]) -> tuple[tuple[str, ...], list[str]]:
    """A node without the names of its variables, and these in the order of their occurrence."""
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


def _alike(texts: Sequence, common: Collection[str], harts: int, families: Sequence,
           far: int) -> list[tuple[int, ...]]:
    """Nodes of one hart each, not in a family yet, that differ only in the hart. A variable's role in `families` is
    known; the numbers in other names without a hart's name carry no information."""
    kinds: dict = {}

    def kind(what) -> int:
        return kinds.setdefault(what, len(kinds))

    row_of: dict[str, tuple[str, ...]] = {}
    owner: dict[str, set[int]] = {}
    for row in _rows(families, texts):
        for hart, name in enumerate(row):
            row_of[name] = row
            owner[name] = {hart} if row[0] != row[1] else set()
    told: dict[str, object] = {}      # a variable's known role
    vague = set()                  # those that are also identified by their uses
    for name in {name for _, used in texts for name in used}:
        if name in row_of:
            told[name] = row_of[name]
        elif name in common:
            told[name] = name
        elif HART.search(name) and not NUMBERED.search(name):
            told[name] = HART.sub("harts_N_", name)
        else:
            told[name] = NUMBER.sub("", name)
            vague.add(name)
        owner.setdefault(name, named(name, common))
    of_name = {name: kind(what) for name, what in told.items()}
    first = dict(of_name)
    for _ in range(far):
        of_node = [kind((shape, tuple(of_name[name] for name in used))) for shape, used in texts]
        uses: dict[str, list] = defaultdict(list)
        for k, (_, used) in enumerate(texts):
            for place, name in enumerate(used):
                if name in vague:
                    uses[name].append((of_node[k], place))
        of_name |= {name: kind((first[name], tuple(sorted(uses[name])))) for name in vague}
    taken = {k for family in families for k in family}
    groups: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for k, (shape, used) in enumerate(texts):
        of = set().union(*(owner[name] for name in used))
        if k not in taken and len(of) == 1:
            groups[kind((shape, tuple(of_name[name] for name in used)))].append((of.pop(), k))
    return sorted(tuple(k for _, k in sorted(group)) for group in groups.values()
                  if sorted(hart for hart, _ in group) == list(range(harts)))


def _rows(families: Sequence[tuple[int, ...]], texts: Sequence) -> set[tuple[str, ...]]:
    """The variables in the same place in the nodes of a family: one of each hart, or one for all."""
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
    """Without the families that cannot be executed as a whole: what has to follow a part of one has to precede another
    part of it."""
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
    """The order when each family is one unit, named by its first node: the unit of each node, and the successors of
    each unit."""
    unit = {k: k for k in range(len(nodes))} | {k: family[0] for family in families for k in family}
    follows: dict[int, set[int]] = {k: set() for k in unit.values()}
    for k in range(len(nodes)):
        follows[unit[k]] |= {unit[there] for there in after[k]} - {unit[k]}
    return unit, follows
