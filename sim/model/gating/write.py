"""Verilator's function for a rising edge, written again: reset is over, what the harts compute alike is code that they
share, and what would write what is there already is left out.

Verilator writes each hart's logic out, mixed with everything else: code that no first-level instruction cache holds,
and that is fetched anew in every cycle. Here the statements are put in another order that their variables allow, in
which as much as possible of what the harts do stands together; that becomes a function, called once for each hart. In
it they stand in groups, each behind a gate (sim/model/gating/gates.py)."""

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby

from sim.model.gating import counted
from sim.model.gating.activity import measured, names_of, rates
from sim.model.gating.gates import Gates, Group, always, woken
from sim.model.gating.groups import NEVER_QUIET, grouped
from sim.model.gating.harts import Shared, find_shared
from sim.model.gating.kinds import kinds
from sim.model.gating.layout import add_member, arrange, member_types
from sim.model.gating.order import Node, dependencies
from sim.model.gating.simplify import joined, simplified
from sim.model.gating.statements import Body, NotUnderstood, Statement, Tokens, variables, write_out

EDGE, SOURCE = "interlock_edge", "interlock_edge.cpp"
ANEW = "interlock_edge_anew"     # opens all gates: to be called when anything but EDGE() has changed the model
WORD = 64
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

"""


def write_edge(root: str, source: str, header: str, function: str, reset: str,
               gates: Gates = Gates.GROUPS) -> tuple[str, str]:
    """The C++ of EDGE() and ANEW(), and the header that it needs in place of `header`.

    `source` is where Verilator wrote `function`, of the class `root`; `reset` is the input that is 0 in every edge.
    NotUnderstood if they hold what this was not made for."""
    text = re.search(rf"^void {function}\({root}\* vlSelf\) \{{\n(.*?)^\}}", source, re.DOTALL | re.MULTILINE)
    if not text:
        raise NotUnderstood(f"there is no {function}")
    body = Body(text.group(1))
    statements = simplified(body, reset)
    types = member_types(header) | body.local
    nodes, after = dependencies(statements)
    shared = find_shared(nodes, after, types)
    harts = 1 + max((hart for _, hart in shared.twins.values()), default=0)
    header, blocks = arrange(header, shared.twins, harts) if shared.families else (header, [])
    kind = {Gates.NONE: lambda _: NEVER_QUIET,
            Gates.GROUPS: kinds(nodes, shared.families, rates(nodes, measured())),
            Gates.COUNTED: lambda k: NEVER_QUIET if always(nodes[k].statements) else (k,)}[gates]
    groups = grouped(nodes, after, shared.families, kind)
    constants = "".join(sorted({line + "\n" for line in re.findall(r"^extern const .*;$", source, re.MULTILINE)}))
    writer = _Writer(root, nodes, shared, types, body.local, groups, gates is Gates.COUNTED)
    return writer.file(constants, blocks), add_member(header, writer.state(len(blocks)))


class _Writer:
    """The text of the file. `r` is the model, `h` the model as far away as the hart's members are from hart 0's; `s`
    and `m` are what is handed from group to group, of the model and of the hart, and the gates of either. They are in
    the model, so that there may be several."""

    def __init__(self, root: str, nodes: Sequence[Node], shared: Shared, types: Mapping[str, str],
                 local: Mapping[str, str], groups: Sequence[Group], counting: bool):
        self.root, self.nodes, self.twins = root, nodes, shared.twins
        self.types, self.local, self.groups, self.counting = types, local, groups, counting
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
        # A part is a function; those that are shared have bits in words of their own, each hart's.
        self.parts = [list(part) for _, part in groupby(range(len(groups)), lambda g: groups[g].shared)]
        self.bit: dict[int, int] = {}
        self.bits = {False: 0, True: 0}
        for g, group in enumerate(groups):
            if group.gated:
                self.bit[g] = self.bits[group.shared]
                self.bits[group.shared] += 1

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

    def _opened(self, name: str, shared: bool) -> tuple[tuple[str, int], ...]:
        """The words of gates in which bits are set when a variable changes, written by a group shared or not."""
        words: dict[str, int] = defaultdict(int)
        for mine, of in (self.twins_of[name] if shared else {None: name}).items():
            for gate in self.woken.get(of, ()):
                if shared and gate.hart not in (None, mine):
                    raise NotUnderstood(f"hart {gate.hart} does what the others do with {of}, which is hart {mine}'s")
                who = "s" if gate.hart is None else "m" if shared else f"s.harts[{gate.hart}]"
                word, bit = divmod(self.bit[gate.group], WORD)
                words[f"{who}.open[{word}]"] |= 1 << bit
        return tuple(sorted(words.items()))

    def _group(self, g: int) -> str:
        group = self.groups[g]
        place = self._place(group.shared)

        def rename(tokens: Tokens) -> str:
            out, end = [], 0
            for begin, past, name in variables(tokens, self.local):
                out += [*tokens[end:begin], place(name)]
                end = past
            return " ".join([*out, *tokens[end:]])

        def write(one: Statement) -> str:   # of a memory, what is written is compared, not all of it
            opened = [(word, bits) for name in one.names.writes if self._is_memory(name)
                      for word, bits in self._opened(name, group.shared)]
            if not opened:
                return rename(one.tokens)
            if one.tokens[one.equals] != "=":
                raise NotUnderstood(f"{' '.join(one.tokens[:9])!r} writes to a memory")
            return (f"if (put({rename(one.tokens[:one.equals])}, {rename(one.tokens[one.equals + 1:])})) {{"
                    + "".join(f" {word} |= {bits:#x}ULL;" for word, bits in opened) + " }")

        statements = joined([s for k in group.nodes for s in self.nodes[k].statements], self.local)
        written = sorted({name for one in statements for name in one.names.writes if not self._is_memory(name)})
        opened = {place(name): opening for name in written if (opening := self._opened(name, group.shared))}
        before = {name: f"before{i}" for i, name in enumerate(opened)}
        own = sorted({name for k in group.nodes for name in self._locals(k) if self._first(name) not in self.handed_on})
        text = ("".join(f"        {self.local[name]} {name};\n" for name in own)
                + "".join(f"        const auto {before[name]} = {name};\n" for name in opened)
                + "".join(write_out(s, rename, 2, write) for s in statements))
        words: dict[str, list[str]] = defaultdict(list)
        for i, opening in enumerate(sorted(set(opened.values()))):
            changed = " | ".join(f"differ({before[name]}, {name})" for name in opened if opened[name] == opening)
            text += f"        const bool changed{i} = {changed};\n"
            for word, bits in opening:
                words[word].append(f"(changed{i} ? {bits:#x}ULL : 0)")
        # Together: one behind the other, each would wait for the one before.
        text += "".join(f"        {word} |= {' | '.join(bits)};\n" for word, bits in sorted(words.items()))
        if not group.gated:
            return f"    {{\n{text}    }}\n"
        index, bit = divmod(self.bit[g], WORD)
        gate = f"{'m' if group.shared else 's'}.open[{index}]"
        count = f"        counted.of[{g}]++;\n" * self.counting
        return f"    if ({gate} & {1 << bit:#x}ULL) {{\n{count}        {gate} &= ~{1 << bit:#x}ULL;\n{text}    }}\n"

    def _is_memory(self, name: str) -> bool:
        return self.types[name].startswith("VlUnpacked")

    def file(self, constants: str, blocks: Sequence[Sequence[str]]) -> str:
        """All of it; `blocks` are the members of each hart, as sim/model/gating/layout.py has put them."""
        harts = len(blocks)
        text = (f'#include <cstddef>\n#include <cstdint>\n#include <cstring>\n\n'
                f'#include "{self.root.removesuffix("___024root")}__pch.h"\n\n{constants}\n'
                + self._counters(harts) + f"namespace {{\n\nusing Edge = {self.root}::Edge;\n"
                + "using Hart = Edge::Hart;\n\n" * bool(blocks) + DIFFER)
        calls = []
        for i, part in enumerate(self.parts):
            shared = self.groups[part[0]].shared
            more = f", {self.root} &__restrict h, Hart &__restrict m" if shared else ""
            text += (f"{'[[gnu::noinline]] ' * shared}"
                     f"void part{i}({self.root} &__restrict r{more})\n{{\n    [[maybe_unused]] Edge &s = r.edge;\n"
                     "    [[maybe_unused]] auto *const vlSymsp = r.vlSymsp;\n"
                     + "".join(map(self._group, part)) + "}\n\n")
            calls.append(f"    for (unsigned hart = 0; hart < {harts}; hart++)\n"
                         f"        part{i}(r, model_of(r, hart), r.edge.harts[hart]);\n" if shared
                         else f"    part{i}(r);\n")
        return (text + self._distance(blocks) + f"}} // namespace\n\nvoid {EDGE}({self.root} *root)\n{{\n"
                f"    {self.root} &r = *root;\n{'    counted.cycles++;' * self.counting}\n{''.join(calls)}}}\n\n"
                f"void {ANEW}({self.root} *root)\n{{\n    Edge &s = root->edge;\n"
                "    std::memset(s.open, 0xff, sizeof s.open);\n"
                + "    for (Hart &hart : s.harts)\n        std::memset(hart.open, 0xff, sizeof hart.open);\n"
                * bool(blocks) + "}\n")

    def _counters(self, harts: int) -> str:
        if not self.counting:
            return ""
        return counted.declaration([[name for k in group.nodes for name in names_of(self.nodes[k])]
                                    for group in self.groups], [harts if group.shared else 1 for group in self.groups])

    def state(self, harts: int) -> str:
        """What EDGE() remembers from one edge to the next: a member of the model's class."""
        def variables_of(shared: bool) -> str:
            return (f"uint64_t open[{self.bits[shared] // WORD + 1}];\n"
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
