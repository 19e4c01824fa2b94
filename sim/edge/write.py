"""Verilator's function for a rising edge, written again: reset is over, and what the harts compute alike is code that
they share.

Verilator writes each hart's logic out, mixed with everything else: code that no first-level instruction cache holds,
and that is fetched anew in every cycle. Here the statements are put in another order that their variables allow, in
which as much as possible of what the harts do stands together; that becomes a function, called once for each hart."""

import heapq
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sim.edge.harts import Shared, contracted, find_shared, harts_of
from sim.edge.layout import arrange, member_types
from sim.edge.order import Node, dependencies
from sim.edge.statements import (
    SELF,
    Any,
    Body,
    If,
    NotUnderstood,
    Statement,
    Tokens,
    branch,
    read,
    variables,
    write_out,
)

EDGE, SOURCE = "interlock_edge", "interlock_edge.cpp"
ZERO = {"0", "0U", "0ULL"}


@dataclass(frozen=True)
class Part:
    """Nodes that become one function. `shared`: of hart 0, and the others do the same."""

    shared: bool
    nodes: list[int]


def write_edge(root: str, source: str, header: str, function: str, reset: str) -> tuple[str, str]:
    """The C++ of EDGE(), and the header that it needs in place of `header`.

    `source` is where Verilator wrote `function`, of the class `root`; `reset` is the input that is 0 in every edge.
    NotUnderstood if they hold what this was not made for."""
    text = re.search(rf"^void {function}\({root}\* vlSelf\) \{{\n(.*?)^\}}", source, re.DOTALL | re.MULTILINE)
    if not text:
        raise NotUnderstood(f"there is no {function}")
    body = Body(text.group(1))
    statements = [s for one in body.statements for s in _after_reset(one, reset, body.local)]
    statements = _needed([s for one in statements for s in _taken_apart(one, body.local)], body.local)
    types = member_types(header) | body.local
    nodes, after = dependencies(statements)
    shared = find_shared(nodes, after, types)
    harts = 1 + max((hart for _, hart in shared.twins.values()), default=0)
    header, blocks = arrange(header, shared.twins, harts) if shared.families else (header, [])
    parts = _parts(nodes, after, shared.families)
    constants = "".join(sorted({line + "\n" for line in re.findall(r"^extern const .*;$", source, re.MULTILINE)}))
    return _Writer(root, nodes, shared, body.local, parts).file(constants, blocks), header


def _after_reset(one: Any, reset: str, local: dict[str, str]) -> list[Any]:
    """A statement as it is when the input `reset` is 0."""
    def zero(tokens: Tokens) -> tuple[str, ...]:
        out: list[str] = []
        for token in tokens:
            out.append(token)
            if out[-3:] == [SELF, ".", reset]:
                out[-3:] = ["0U"]
        return tuple(out)

    if isinstance(one, Statement):
        return [Statement(zero(one.tokens), one.names, one.whole)]
    then = [s for inner in one.then for s in _after_reset(inner, reset, local)]
    other = [s for inner in one.other for s in _after_reset(inner, reset, local)]
    condition = zero(one.condition)
    return other if condition == ("0U",) else [branch(condition, then, other, local)]


def _taken_apart(one: Any, local: dict[str, str]) -> list[Any]:
    """A branch of one hart as one for each thing that it writes: Verilator joins them as it finds them, not for every
    hart alike. Next to each other, the compiler joins them again."""
    if isinstance(one, Statement) or len(harts_of(one)) != 1:
        return [one]
    sides = [(s, k) for k, side in enumerate((one.then, one.other)) for inner in side
             for s in _taken_apart(inner, local)]
    written = frozenset().union(*(s.names.writes for s, _ in sides))
    nodes, _ = dependencies([s for s, _ in sides])
    if written & one.names.reads or len(nodes) < 2:   # what is written is read here, too: the order matters
        return [one]
    groups: dict[frozenset[str], list] = {node.names.writes: [] for node in nodes}
    for s, side in sides:
        next(group for writes, group in groups.items() if s.names.writes <= writes).append((s, side))
    apart = []
    for group in groups.values():
        then, other = ([s for s, side in group if side == k] for k in (0, 1))
        apart.append(branch(one.condition, then, other, local) if then
                     else branch(("!", "(", *one.condition, ")"), other, (), local))
    return apart


def _needed(statements: Sequence[Any], local: dict[str, str]) -> list[Any]:
    """Without the zeros that local variables begin with where a value follows before anybody looks."""
    unneeded: set[int] = set()
    zeros: dict[str, int] = {}
    for i, one in enumerate(statements):
        for name in one.names.reads:
            zeros.pop(name, None)
        for name in one.names.writes:
            before = zeros.pop(name, None)
            if before is not None and isinstance(one, Statement) and one.whole == name:
                unneeded.add(before)
        if isinstance(one, Statement) and one.whole in local and one.tokens[1] == "=" and set(one.tokens[2:]) <= ZERO:
            zeros[one.whole] = i
    return [one for i, one in enumerate(statements) if i not in unneeded]


def _joined(statements: Sequence[Any], local: dict[str, str]) -> list[Any]:
    """Branches that stand next to each other and have the same condition as one."""
    out: list[Any] = []
    for one in statements:
        last = out[-1] if out else None
        if (isinstance(one, If) and isinstance(last, If) and one.condition == last.condition
                and not last.names.writes & read(last.condition, local)):
            one = branch(one.condition, last.then + one.then, last.other + one.other, local)
            out.pop()
        out.append(one)
    return out


def _parts(nodes: Sequence[Node], after: Sequence[set[int]], families: Sequence[tuple[int, ...]]) -> list[Part]:
    """All nodes in an order that is allowed, in as few parts as can be."""
    shared = {family[0] for family in families}
    _, follows = contracted(families, nodes, after)
    before: dict[int, int] = defaultdict(int)
    for unit in follows:
        for there in follows[unit]:
            before[there] += 1
    ready: dict[bool, list[int]] = {False: [], True: []}
    for unit in follows:
        if not before[unit]:
            heapq.heappush(ready[unit in shared], unit)
    parts, kind = [], False
    while any(ready.values()):
        kind = kind if ready[kind] else not kind
        part = Part(kind, [])
        while ready[kind]:
            part.nodes.append(heapq.heappop(ready[kind]))
            for there in follows[part.nodes[-1]]:
                before[there] -= 1
                if not before[there]:
                    heapq.heappush(ready[there in shared], there)
        parts.append(part)
    return parts


class _Writer:
    """The text of the file. `r` is the model, `h` the model as far away as the hart's members are from hart 0's; `s`
    and `m` are what is handed from part to part, of the model and of the hart."""

    def __init__(self, root: str, nodes: Sequence[Node], shared: Shared, local: dict[str, str], parts: Sequence[Part]):
        self.root, self.nodes, self.twins, self.local, self.parts = root, nodes, shared.twins, local, parts
        family = {members[0]: members for members in shared.families}
        where: dict[str, set[int]] = defaultdict(set)
        for i, part in enumerate(parts):
            for k in part.nodes:
                for member in family.get(k, (k,)):
                    for name in self._locals(member):
                        where[self._first(name)].add(i)
        self.handed_on = {first for first, places in where.items() if len(places) > 1}

    def _locals(self, node: int) -> list[str]:
        names = self.nodes[node].names
        return sorted(name for name in names.reads | names.writes if name in self.local)

    def _first(self, name: str) -> str:
        return self.twins.get(name, (name, 0))[0]

    def _place(self, shared: bool) -> Callable[[str], str]:
        def place(name: str) -> str:
            first, hart = self.twins.get(name, (name, None))
            if name[0] == ".":
                return f"{'h' if shared and hart is not None else 'r'}{name}"
            if first not in self.handed_on:
                return name
            if hart is None:
                return f"s.{name}"
            return f"m.{first}" if shared else f"s.harts[{hart}].{first}"

        return place

    def _function(self, index: int, part: Part) -> str:
        place = self._place(part.shared)

        def rename(tokens: Tokens) -> str:
            out, end = [], 0
            for begin, past, name in variables(tokens, self.local):
                out += [*tokens[end:begin], place(name)]
                end = past
            return " ".join([*out, *tokens[end:]])

        names = sorted({name for k in part.nodes for name in self._locals(k)
                        if self._first(name) not in self.handed_on})
        more = f", {self.root} &__restrict h, Hart &__restrict m" if part.shared else ""
        return (f"void part{index}({self.root} &__restrict r{more})\n{{\n"
                "    [[maybe_unused]] auto *const vlSymsp = r.vlSymsp;\n"
                + "".join(f"    {self.local[name]} {name};\n" for name in names)
                + "".join(write_out(s, rename) for s in _joined(
                    [s for k in part.nodes for s in self.nodes[k].statements], self.local)) + "}\n\n")

    def file(self, constants: str, blocks: Sequence[Sequence[str]]) -> str:
        """All of it; `blocks` are the members of each hart, as sim/edge/layout.py has put them."""
        harts = len(blocks)
        of_hart = sorted(name for name in self.handed_on if name in self.twins)
        of_model = sorted(self.handed_on - set(of_hart))
        text = (f'#include <cstddef>\n\n#include "{self.root.removesuffix("___024root")}__pch.h"\n\n{constants}\n'
                "namespace {\n\nstruct Hart {\n" + "".join(f"    {self.local[name]} {name};\n" for name in of_hart)
                + "};\nstruct {\n" + (f"    Hart harts[{harts}];\n" if blocks else "")
                + "".join(f"    {self.local[name]} {name};\n" for name in of_model) + "} s;\n\n")
        calls = []
        for i, part in enumerate(self.parts):
            text += "[[gnu::noinline]] " * part.shared + self._function(i, part)
            calls.append(f"    for (unsigned hart = 0; hart < {harts}; hart++)\n"
                         f"        part{i}(r, model_of(r, hart), s.harts[hart]);\n" if part.shared
                         else f"    part{i}(r);\n")
        return (text + self._distance(blocks) + f"}} // namespace\n\nvoid {EDGE}({self.root} *root)\n{{\n"
                f"    {self.root} &r = *root;\n{''.join(calls)}}}\n")

    def _distance(self, blocks: Sequence[Sequence[str]]) -> str:
        if not blocks:
            return ""
        offset = [[f"offsetof({self.root}, {name[1:]})" for name in (block[0], block[-1])] for block in blocks]
        same = "".join(f"static_assert({last} - {offset[0][1]} == {hart} * DISTANCE);\n"
                       f"static_assert({first} - {offset[0][0]} == {hart} * DISTANCE);\n"
                       for hart, (first, last) in enumerate(offset))
        return (f"constexpr size_t DISTANCE = {offset[1][0]} - {offset[0][0]};\n{same}\n"
                f"// Of it only hart 0's members may be named.\n"
                f"{self.root} &model_of({self.root} &r, unsigned hart)\n{{\n"
                f"    return *reinterpret_cast<{self.root} *>(reinterpret_cast<char *>(&r) + hart * DISTANCE);\n}}\n\n")
