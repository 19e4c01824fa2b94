"""Rewrites Verilator's function for a rising edge: reset is over, harts share the code that they compute alike, and
statements that would write what is there already are left out.

Verilator writes out each hart's logic, mixed with everything else: code that fits no first-level instruction cache, and
is fetched again in every cycle. Here the statements are put in another order that their variables allow, in which as
much as possible of the harts' work is contiguous; that becomes a function, called once for each hart. Its statements
are in groups, each behind a gate (sim/model/gating/gates.py)."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from sim.model.gating.activity import Watched, alone, columns, pieces, units_of
from sim.model.gating.gates import Group, woken
from sim.model.gating.groups import grouped
from sim.model.gating.harts import Shared, find_common, find_shared
from sim.model.gating.layout import add_member, apart, arrange, member_types
from sim.model.gating.order import Node, dependencies
from sim.model.gating.simplify import joined, simplified, without_copies, written_in_branches, written_once
from sim.model.gating.statements import Body, NotUnderstood, Statement, Tokens, variables, write_out

EDGE, SOURCE = "interlock_edge", "interlock_edge.cpp"
ANEW = "interlock_edge_anew"     # opens all gates: to be called when anything but EDGE() has changed the model
WATCHED = "interlock_watched"    # a row of sim/model/gating/activity.py, Watched
EIGHT, FOUR = 8, 4     # gates that one test skips
DIFFER = """template <class T> bool differ(const T &a, const T &b)
{
    if constexpr (sizeof(T) <= sizeof(uint64_t))
        return a != b;
    else
        return std::memcmp(&a, &b, sizeof a) != 0;
}
template <class T, class V> bool put(T &to, const V &value)
{
    const T before = to;
    to = value;
    return differ(before, to);
}
template <int N> [[gnu::always_inline]] inline bool some(const uint32_t &first)
{
    uint32_t all = 0;
    for (int i = 0; i < N; i++)
        all |= (&first)[i];
    return all != 0;
}

"""


def write_edge(root: str, source: str, header: str, function: str, reset: str,
               watched: Watched | None = None, watching: bool = False) -> tuple[str, str]:
    """The C++ of EDGE() and ANEW(), and the header that it needs in place of `header`.

    `source` is the file with Verilator's `function`, of the class `root`; `reset` is the input that is 0 in every edge.
    `watched` is the output of the same model made with `watching`: without it there are no gates, unless `watching`,
    when each node has its own. NotUnderstood for forms that this does not handle."""
    text = re.search(rf"^void {function}\({root}\* vlSelf\) \{{\n(.*?)^\}}", source, re.DOTALL | re.MULTILINE)
    if not text:
        raise NotUnderstood(f"there is no {function}")
    body = Body(text.group(1))
    types = member_types(header) | body.local
    statements, shadows = without_copies(simplified(body, reset), body.local, types)
    nodes, after = dependencies(statements)
    shared = find_shared(nodes, after, types, find_common(statements))
    harts = 1 + max((hart for _, hart in shared.twins.values()), default=0)
    header, blocks = arrange(header, shared.twins, harts) if shared.families else (header, [])
    divided, seldom = (pieces(nodes, after, shared.families, watched) if watched else
                       alone(nodes, shared.families, gated=watching))
    groups = grouped(nodes, after, shared.families, divided, seldom)
    constants = "".join(sorted({line + "\n" for line in re.findall(r"^extern const .*;$", source, re.MULTILINE)}))
    writer = _Writer(root, nodes, shared, types, body.local, groups, shadows, watching)
    return writer.file(constants, blocks), apart(add_member(header, writer.state(len(blocks))))


class _Writer:
    """The text of the file. `r` is the model, `h` the model offset by the distance of the hart's members from hart 0's;
    `s` and `m` are the state passed from group to group, of the model and of the hart, and the gates of either. They
    are in the model, so that there may be several."""

    def __init__(self, root: str, nodes: Sequence[Node], shared: Shared, types: Mapping[str, str],
                 local: Mapping[str, str], groups: Sequence[Group], shadows: Mapping[str, str],
                 watching: bool):
        self.shadows = shadows
        self.root, self.nodes, self.twins = root, nodes, shared.twins
        self.types, self.local, self.groups = types, local, groups
        self.column, self.width = columns(units_of(nodes, shared.families)) if watching else ({}, 0)
        self.families = {members[0]: members for members in shared.families}
        self.twins_of: dict[str, dict[int, str]] = defaultdict(dict)
        for name, (first, hart) in self.twins.items():
            self.twins_of[first][hart] = name
        self.woken = woken(groups, self.families, nodes)
        where: dict[str, set[int]] = defaultdict(set)
        for g, group in enumerate(groups):
            for k in group.nodes:
                for member in self.families[k] if group.shared else (k,):
                    for name in self._locals(member):
                        where[self._first(name)].add(g)
        self.handed_on = {first for first, places in where.items() if len(places) > 1}
        self.handed_on |= {self._first(name) for name in shadows}
        # A part is a function; shared ones have separate gates for each hart.
        self.parts = [list(part) for _, part in groupby(range(len(groups)), lambda g: groups[g].shared)]
        self.gate: dict[int, int] = {}
        self.gates = {False: 0, True: 0}
        for g, group in enumerate(groups):
            if group.gated:
                self.gate[g] = self.gates[group.shared]
                self.gates[group.shared] += 1

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

    def _opened(self, name: str, shared: bool) -> tuple[str, ...]:
        """The gates that are opened when a variable changes, written by a group shared or not."""
        opened = set()
        for mine, of in (self.twins_of[name] if shared else {None: name}).items():
            for gate in self.woken.get(of, ()):
                if shared and gate.hart not in (None, mine):
                    raise NotUnderstood(f"hart {gate.hart} does what the others do with {of}, which is hart {mine}'s")
                who = "s" if gate.hart is None else "m" if shared else f"s.harts[{gate.hart}]"
                opened.add(f"{who}.open[{self.gate[gate.group]}]")
        return tuple(sorted(opened))

    def _group(self, g: int) -> str:
        group = self.groups[g]
        place = self._place(group.shared)
        statements = joined([s for k in group.nodes for s in self.nodes[k].statements], self.local)
        written = sorted({name for one in statements for name in one.names.writes})
        opening = {name: opened for name in written if (opened := self._opened(name, group.shared))}
        # Variables that open the same gates share a flag.
        flag = {opened: f"changed{i}" for i, opened in enumerate(sorted(set(opening.values())))}
        # Compared at the write, if there is at most one; also in a group that runs in each cycle, if the writes are in
        # branches, though a value overwritten within a cycle then opens a gate for nothing. Else the old value is kept.
        once = written_once(statements) | (set() if group.gated else written_in_branches(statements))
        before = {name: f"before{i}" for i, name in enumerate(opening)
                  if name not in once and not self._is_memory(name)}

        def rename(tokens: Tokens) -> str:
            out, end = [], 0
            for begin, past, name in variables(tokens, self.local):
                out += [*tokens[end:begin], place(name)]
                end = past
            return " ".join([*out, *tokens[end:]])

        def write(one: Statement) -> str:   # of a memory, only the written element is compared
            compared = [name for name in one.names.writes if name in opening and name not in before]
            if not compared:
                return rename(one.tokens)
            if one.tokens[one.equals] != "=" or len(compared) > 1:
                raise NotUnderstood(f"{' '.join(one.tokens[:9])!r} writes to {' and '.join(compared)}")
            return (f"{flag[opening[compared[0]]]} |= put({rename(one.tokens[:one.equals])}, "
                    f"{rename(one.tokens[one.equals + 1:])})")

        own = sorted({name for k in group.nodes for name in self._locals(k) if self._first(name) not in self.handed_on})
        text = ("".join(f"        {self.local[name]} {name};\n" for name in own)
                + "".join(f"        bool {name} = false;\n" for name in flag.values())
                + "".join(f"        const auto {kept} = {place(name)};\n" for name, kept in before.items())
                + "".join(write_out(s, rename, 2, write) for s in statements)
                + "".join(f"        {flag[opening[name]]} |= differ({kept}, {place(name)});\n"
                          for name, kept in before.items()))
        by: dict[str, list[str]] = defaultdict(list)
        for opened, name in flag.items():
            for gate in opened:
                by[gate].append(name)
        text += "".join(f"        {gate} |= {' | '.join(names)};\n" for gate, names in sorted(by.items()))
        if not group.gated:
            return f"    {{\n{text}    }}\n"
        gate = f"{'m' if group.shared else 's'}.open[{self.gate[g]}]"
        seen = (f"        {WATCHED}[{self.column[group.nodes[0]]}{' + (&m - s.harts)' * group.shared}] = 1;\n"
                if self.width else "")
        unlikely = " [[unlikely]]" if group.seldom else ""
        return f"    if ({gate}){unlikely} {{\n{seen}        {gate} = 0;\n{text}    }}\n"

    def _part(self, part: Sequence[int]) -> str:
        """Groups one after the other. One test skips the gates of several seldom active ones together."""
        text, at = "", 0
        while at < len(part):
            run = 0
            while at + run < len(part) and part[at + run] in self.gate and self.groups[part[at + run]].seldom:
                run += 1
            if run < FOUR:
                text += "".join(map(self._group, part[at:at + max(run, 1)]))
                at += max(run, 1)
                continue
            size = EIGHT if run >= EIGHT else FOUR
            first = f"{'m' if self.groups[part[at]].shared else 's'}.open[{self.gate[part[at]]}]"
            inside = "".join(map(self._group, part[at:at + size]))
            text += f"    if (some<{size}>({first})) [[unlikely]] {{\n{inside}    }}\n"
            at += size
        return text

    def _is_memory(self, name: str) -> bool:
        return self.types[name].startswith("VlUnpacked")

    def file(self, constants: str, blocks: Sequence[Sequence[str]]) -> str:
        """All of it; `blocks` are the members of each hart, as arranged by sim/model/gating/layout.py."""
        harts = len(blocks)
        text = (f'#include <cstddef>\n#include <cstdint>\n#include <cstring>\n\n'
                f'#include "{self.root.removesuffix("___024root")}__pch.h"\n\n{constants}\n'
                + (f"unsigned char {WATCHED}[{self.width}];\n"
                   f"extern const unsigned {WATCHED}_bytes;\nconst unsigned {WATCHED}_bytes = {self.width};\n\n")
                * bool(self.width)
                + f"namespace {{\n\nusing Edge = {self.root}::Edge;\n"
                + "using Hart = Edge::Hart;\n\n" * bool(blocks) + DIFFER)
        calls = []
        for i, part in enumerate(self.parts):
            shared = self.groups[part[0]].shared
            more = f", {self.root} &__restrict h, Hart &__restrict m" if shared else ""
            text += (f"{'[[gnu::noinline]] ' * shared}"
                     f"void part{i}({self.root} &__restrict r{more})\n{{\n    [[maybe_unused]] Edge &s = r.edge;\n"
                     "    [[maybe_unused]] auto *const vlSymsp = r.vlSymsp;\n"
                     + self._part(part) + "}\n\n")
            calls.append(f"    for (unsigned hart = 0; hart < {harts}; hart++)\n"
                         f"        part{i}(r, model_of(r, hart), r.edge.harts[hart]);\n" if shared
                         else f"    part{i}(r);\n")
        return (text + self._distance(blocks) + f"}} // namespace\n\nvoid {EDGE}({self.root} *root)\n{{\n"
                f"    {self.root} &r = *root;\n{''.join(calls)}}}\n\n"
                f"void {ANEW}({self.root} *root)\n{{\n    {self.root} &r = *root;\n    Edge &s = r.edge;\n"
                "    std::memset(s.open, 0xff, sizeof s.open);\n"
                + "    for (Hart &hart : s.harts)\n        std::memset(hart.open, 0xff, sizeof hart.open);\n"
                * bool(blocks)
                + "".join(f"    {self._place(False)(name)} = r{of};\n" for name, of in sorted(self.shadows.items()))
                + "}\n")

    def state(self, harts: int) -> str:
        """EDGE()'s state from one edge to the next: a member of the model's class."""
        def variables_of(shared: bool) -> str:
            return (f"uint32_t open[{self.gates[shared] + 1}];\n"
                    + "".join(f"        {self.local[name]} {name};\n" for name in sorted(self.handed_on)
                              if (name in self.twins) == shared))

        return ("    struct Edge {\n"
                + f"        struct Hart {{\n        {variables_of(True)}        }} harts[{harts}];\n" * bool(harts)
                + f"        {variables_of(False)}    }} edge;\n")

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
