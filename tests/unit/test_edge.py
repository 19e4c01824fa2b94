"""A rewritten rising edge (sim/model/gating) does the same as Verilator's function, and shares the harts' code."""

import random
import re
import textwrap

import numpy as np
import pytest

from sim.model.gating import ANEW, EDGE, WATCHED, NotUnderstood, Watched, split_processes, write, write_edge
from sim.model.gating.gates import looked_at
from sim.model.gating.harts import find_common, find_shared
from sim.model.gating.layout import APART, FRONT, apart, arrange, member_types
from sim.model.gating.order import components, dependencies
from sim.model.gating.simplify import SELECTED, simplified, without_copies, written_once
from sim.model.gating.statements import Body
from sim.model.gating.supernodes import COMPARISON, HEAD, Piece, Supernodes
from sim.model.toolchain import compile_objects, link, run

ROOT, FUNCTION, HARTS = "Vx___024root", "Vx___024root___nba_sequent__TOP__0", 3
OF_HART = {"pc": "IData/*31:0*/", "stuck": "CData/*0:0*/", "count": "QData/*63:0*/", "flag": "CData/*0:0*/",
           "regs": "VlUnpacked<IData/*31:0*/, 4>", "one": "CData/*7:0*/", "other": "CData/*7:0*/"}
COMMON = {"total": "IData/*31:0*/", "grant": "CData/*1:0*/", "chain0": "IData/*31:0*/", "chain1": "IData/*31:0*/",
          "chain2": "IData/*31:0*/", "chain3": "IData/*31:0*/", "wide": "VlWide<3>/*95:0*/", "ticks": "CData/*7:0*/",
          "due": "CData/*0:0*/", "alarms": "IData/*31:0*/", "log": "VlUnpacked<IData/*31:0*/, 4>",
          "last": "IData/*31:0*/", "seen": "IData/*31:0*/", "read_out": "IData/*31:0*/"}
# Also per hart, but their names do not tell which; ports; and a wire to all with the same name as in one.
BUS = {"bus_data": "CData/*7:0*/", "bus_data_8": "CData/*7:0*/", "bus_data_16": "CData/*7:0*/"}
PORTS = tuple(f"probe{hart}_valid" for hart in range(HARTS))
WIRE = "harts_2_wire"
# A device that is quiet most of the time: a counter, its action at the end, a memory that is written then.
DEVICE = """
    vlSelfRef.last = (vlSelfRef.log[(3U & vlSelfRef.alarms)] + vlSelfRef.wide[0U]);
    if (vlSelfRef.due) { vlSelfRef.log[(3U & vlSelfRef.alarms)] = vlSelfRef.total; }
    vlSelfRef.alarms = (vlSelfRef.alarms + (IData)(vlSelfRef.due));
    vlSelfRef.ticks = (0xffU & ((IData)(vlSelfRef.ticks) + 0x25U));
    vlSelfRef.due = (0xe0U < (IData)(vlSelfRef.ticks));
    vlSelfRef.wide[0U] = (vlSelfRef.alarms >> 1U);
    vlSelfRef.seen = (0x5aU ^ vlSelfRef.alarms);
"""
# A core's reads of its registers: each has a bit that selects it, and most of the time none is set.
SELECTORS = ("due", *(f"harts_{hart}_flag" for hart in range(HARTS)))
READ_OUT = "    vlSelfRef.read_out = ((0x11U & vlSelfRef.alarms) | (" + " | (".join(
    f"((- (IData)((IData)(vlSelfRef.{bit}))) & ({shift}U + vlSelfRef.chain{shift % 4}))"
    for shift, bit in enumerate(2 * SELECTORS)) + 9 * ")" + ";\n"


def body(hart: int) -> str:
    """Of one hart: a register that is written after its readers, branches, a memory, values from before the edge."""
    h = f"vlSelfRef.harts_{hart}_"
    number = 7 * hart + 3   # of Verilator's own variables: they do not name the hart
    return f"""
    __Vdly__harts_{hart}_count = {h}count;
    __Vtemp_{number} = ((IData)({h}one) + (0xfU & (IData)(vlSelfRef.grant)));
    if (vlSelfRef.sys_rst) {{
        __Vdly__harts_{hart}_count = 0ULL;
        {h}flag = 1U;
    }} else {{
        if ({h}stuck) {{ {h}other = {h}one; {h}regs[(3U & {h}pc)] = (IData)({h}count); }}
        else {{ {h}other = (CData)(__Vtemp_{number}); {h}flag = (1U & (~ (IData)({h}one))); }}
        __Vdly__harts_{hart}_count = (1ULL + {h}count);
    }}
    {h}pc = ({h}pc + ({"5U" if hart == 1 else "4U"} & {h}regs[(3U & ({h}pc >> 2U))]));
    vlSelfRef.chain{hart + 1} = (vlSelfRef.chain{hart} ^ {h}pc);
    {h}stuck = (1U & vlSelfRef.chain{hart + 1});
    {h}count = __Vdly__harts_{hart}_count;
    vlSelfRef.{PORTS[hart]} = (1U & ((IData)({h}stuck) ^ (IData)(vlSelfRef.{WIRE})));
    vlSelfRef.{list(BUS)[hart]} = (0xffU & ((IData)(vlSelfRef.{PORTS[hart]}) + (IData)({h}one)));
    {h}one = (0xffU & ((IData)({h}other) + (IData)({h}flag) + (IData)(vlSelfRef.{list(BUS)[hart]})));"""


def source() -> str:
    local = "".join(f"    QData/*63:0*/ __Vdly__harts_{h}_count;\n    __Vdly__harts_{h}_count = 0;\n"
                    f"    IData/*31:0*/ __Vtemp_{7 * h + 3};\n" for h in range(HARTS))
    return (f"void {FUNCTION}({ROOT}* vlSelf) {{\n    auto &vlSelfRef = std::ref(*vlSelf).get();\n{local}"
            f"    vlSelfRef.grant = (3U & ((IData)(vlSelfRef.grant) + 1U));\n"
            f"    vlSelfRef.{WIRE} = (1U & (IData)(vlSelfRef.grant));{DEVICE}\n{READ_OUT}"
            f"{''.join(map(body, range(HARTS)))}\n"
            "    vlSelfRef.wide[1U] = (vlSelfRef.total ^ vlSelfRef.wide[2U]);\n"
            "    vlSelfRef.total = (vlSelfRef.total + (vlSelfRef.harts_0_pc ^ vlSelfRef.harts_2_pc));\n}\n")


def header() -> str:
    # As Verilator has them: by size, not by hart.
    members = "".join(f"    {kind} harts_{hart}_{name};\n" for name, kind in sorted(OF_HART.items(), key=lambda m: m[1])
                      for hart in range(HARTS))
    members += "".join(f"    {kind} {name};\n" for name, kind in (COMMON | BUS | {WIRE: "CData/*0:0*/"}).items())
    ports = "".join(f"    VL_OUT8({port},0,0);\n" for port in PORTS)
    return (f'#pragma once\n#include "base.h"\nclass {ROOT} {{\n  public:\n    // DESIGN SPECIFIC STATE\n'
            f"    VL_IN8(sys_rst,0,0);\n{ports}{members}\n    // INTERNAL VARIABLES\n    void *vlSymsp;\n}};\n")



BASE = """#include <cstdint>
#include <functional>
using CData = uint8_t; using SData = uint16_t; using IData = uint32_t; using QData = uint64_t;
template <class T, int N> struct VlUnpacked { T at[N]; T &operator[](size_t i) { return at[i]; } };
template <int N> struct VlWide { uint32_t at[N]; uint32_t &operator[](size_t i) { return at[i]; } };
#define VL_UNLIKELY(x) (!!(x))
#define VL_IN8(name, msb, lsb) CData name
#define VL_OUT8(name, msb, lsb) CData name
"""
# Both functions from the same random states, many times in a row; the number of members that differ. Another model in
# the same process takes other steps in between.
MAIN = f"""#include "Vx__pch.h"
#include <cstdio>
#include <cstring>
#include <random>
SOURCE
void {EDGE}({ROOT} *);
void {ANEW}({ROOT} *);
int main()
{{
    std::mt19937 random(1);
    unsigned differ = 0;
    for (int state = 0; state < 50; state++) {{
        {ROOT} models[3]{{}}, &first = models[0], &second = models[1], &other = models[2];
        for (auto model : {{&first, &other}})
            for (size_t i = 0; i < sizeof *model; i++)
                reinterpret_cast<unsigned char *>(model)[i] = (unsigned char)random();
        first.sys_rst = other.sys_rst = 0;
        second = first;
        {ANEW}(&second);
        {ANEW}(&other);
        for (int edge = 0; edge < 20; edge++) {{
            {FUNCTION}(&first);
            {EDGE}(&other);
            {EDGE}(&second);
COMPARED
        }}
    }}
    std::printf("%u\\n", differ);
}}
"""


def differing(folder, code: str, members: str) -> int:
    """How often a variable was not as Verilator's function left it."""
    names = [f"harts_{hart}_{name}" for hart in range(HARTS) for name in OF_HART]
    names += [*COMMON, *BUS, *PORTS, WIRE]
    compared = "".join(f"            differ += std::memcmp(&first.{name}, &second.{name}, sizeof first.{name}) != 0;\n"
                       for name in names)
    (folder / "base.h").write_text(BASE)
    (folder / "Vx__pch.h").write_text(members)
    (folder / "edge.cpp").write_text(code)
    (folder / "main.cpp").write_text(MAIN.replace("SOURCE", source()).replace("COMPARED", compared))
    objects = compile_objects(folder, {folder / name: ["-O0", "-w", "-I."] for name in ("edge.cpp", "main.cpp")})
    link(folder, folder / "test", objects)
    return int(run([folder / "test"], folder))


def watching() -> tuple[str, str]:
    """As many gates as there can be."""
    return write_edge(ROOT, source(), header(), FUNCTION, "sys_rst", watching=True)


def watched(seed: int, cycles: int = 200) -> Watched:
    """Rows as a model writes them, of any activity: wrong activity makes the edge slower, never wrong."""
    found, = re.findall(rf"char {WATCHED}\[(\d+)\];", watching()[0])
    random.seed(seed)
    columns = [[random.random() < rate for _ in range(cycles)]
               for rate in random.choices([0, 0.0001, 0.02, 0.3, 0.6, 1], k=int(found))]
    return Watched(np.array(columns, dtype=np.uint8).T)


@pytest.mark.parametrize("seed", [None, *range(6)])
def test_it_computes_the_same(tmp_path, seed):
    given = None if seed is None else watched(seed)
    code, members = write_edge(ROOT, source(), header(), FUNCTION, "sys_rst", given)
    assert differing(tmp_path, code, members) == 0
    assert all(f"h.{name}" in code for name in ("harts_0_one", PORTS[0], "bus_data")), "what is shared"
    assert "sys_rst" not in code
    assert code.count("VL_UNLIKELY") == 1, "of the read-out, if nothing is selected nothing is computed"
    assert bool(re.search(r"if \([sm]\.open", code)) == (seed is not None)


def test_it_computes_the_same_with_a_gate_for_each(tmp_path):
    code, members = watching()
    assert len(re.findall(r"if \([sm]\.open", code)) > 20
    assert differing(tmp_path, code, members) == 0


def test_gates_are_passed_by_together(tmp_path, monkeypatch):
    each = write.alone
    monkeypatch.setattr(write, "alone", lambda *given, gated: (each(*given, gated=gated)[0], range(1000)))
    code, members = watching()
    assert "if (some<8>(" in code
    assert differing(tmp_path, code, members) == 0


def test_gates_and_small_variables_have_a_word_each():
    """In succession they cost a processor more than computing (docs/simulator.md)."""
    _, members = watching()
    small = [line for line in members.splitlines() if re.search(r"\b[CS]Data(/\*[\d:]+\*/)? \w+;$", line)]
    assert len(small) > 10 and all(line.strip().startswith(f"{APART} ") for line in small), small
    assert re.search(r"\buint32_t open\[", members)
    others = "    IData/*31:0*/ word;\n    VL_OUT8(port,0,0);\n"
    assert apart(f"    SData/*15:0*/ half;\n{others}") == f"    {APART} SData/*15:0*/ half;\n{others}"


@pytest.mark.parametrize("name", [".due", ".alarms", ".total", ".grant", ".harts_0_regs", ".chain2"])
def test_a_gate_that_is_not_opened_is_found(tmp_path, monkeypatch, name):
    forgotten = {name.replace("harts_0", f"harts_{hart}") for hart in range(HARTS)}
    woken = write.woken
    monkeypatch.setattr(write, "woken", lambda *given: {variable: gates for variable, gates in woken(*given).items()
                                                        if variable not in forgotten})
    code, members = watching()
    assert differing(tmp_path, code, members) > 0


@pytest.mark.parametrize(("text", "expected"), [
    ("vlSelfRef.a = vlSelfRef.b;", {".b"}),
    ("vlSelfRef.a = (vlSelfRef.a + 1U);", {".a"}),
    ("vlSelfRef.a = vlSelfRef.b; vlSelfRef.c = vlSelfRef.a;", {".b"}),
    ("vlSelfRef.c = vlSelfRef.a; vlSelfRef.a = vlSelfRef.b;", {".a", ".b"}),
    ("if (vlSelfRef.b) { vlSelfRef.a = 1U; } vlSelfRef.c = vlSelfRef.a;", {".b"}),   # it keeps its value
    ("if (vlSelfRef.a) { vlSelfRef.a = 0U; }", {".a"}),
    ("vlSelfRef.c = vlSelfRef.a; if (vlSelfRef.b) { vlSelfRef.a = 1U; }", {".a", ".b"}),
])
def test_what_is_looked_at(text, expected):
    assert looked_at(Body(text).statements) == expected


def divided(costs: dict, rates: dict, follows: dict, written: dict, looked: dict, never=(),
            harts: int = 1, cores: str = "") -> list:
    """The pieces of units that are active in so many of a hundred cycles, each in the first of them. `cores` names each
    unit's core by a letter."""
    pieces = {unit: Piece([unit], costs[unit], (1 << rates[unit]) - 1, 100, harts, cores[unit:unit + 1])
              for unit in costs}
    return sorted((gated, sorted(units)) for gated, units in
                  Supernodes(pieces, follows, written, looked, never).divide())


def test_pieces_are_what_is_cheapest():
    def chain(cost: float, rates: tuple[int, int, int]) -> list:   # 1 looks at what 0 writes, 2 at what 1 writes
        return divided(dict.fromkeys(range(3), cost), dict(enumerate(rates)), {0: {1}, 1: {2}, 2: set()},
                       {0: {"a"}, 1: {"b"}, 2: {"c"}}, {0: {"in"}, 1: {"a"}, 2: {"b"}})

    assert chain(100, (5, 5, 5)) == [(True, [0, 1, 2])]            # as active: one gate, nothing to compare
    assert chain(100, (100, 5, 5)) == [(False, [0]), (True, [1, 2])]
    assert chain(HEAD / 2, (50, 50, 50)) == [(False, [0]), (False, [1]), (False, [2])] or \
        chain(HEAD / 2, (50, 50, 50)) == [(False, [0, 1, 2])]
    assert chain(10 * COMPARISON, (100, 100, 100)) == [(False, [0]), (False, [1]), (False, [2])] or \
        chain(10 * COMPARISON, (100, 100, 100)) == [(False, [0, 1, 2])]


def test_each_hart_compares_what_is_its_own():
    """Three variables that three harts write, one for each: a gate pays that would not if each compared all."""
    cost, rate, names = 4 * COMPARISON, 20, {"a0", "a1", "a2"}
    assert HEAD + rate * cost / 100 + COMPARISON + 3 < cost < HEAD + rate * cost / 100 + 3 * COMPARISON
    assert divided({0: cost, 1: cost}, {0: 100, 1: rate}, {0: {1}, 1: set()}, {0: names, 1: {"b"}},
                   {0: {"in"}, 1: names}, never=(0,), harts=3) == [(False, [0]), (True, [1])]


def test_cores_that_were_never_active_share_a_gate_only_if_they_look_at_the_same():
    """A device that is idle while the model is watched would else be computed whenever another one works."""
    def two(names: tuple[set, set]) -> list:
        return divided({0: 10, 1: 400, 2: 400}, {0: 0, 1: 0, 2: 0}, {0: {1, 2}, 1: set(), 2: set()},
                       {0: names[0] | names[1], 1: {"b"}, 2: {"c"}}, {0: {"in"}, 1: names[0], 2: names[1]},
                       never=(0,), cores="ABC")

    first, second = {"x1", "x2", "x3"}, {"y1", "y2", "y3"}
    assert two((first, second)) == [(False, [0]), (True, [1]), (True, [2])]
    assert two((first, first)) == [(False, [0]), (True, [1, 2])]


def test_a_piece_can_be_carried_out_as_a_whole():
    # 0 and 2 are as active, and 1 comes between them, more active: a piece of 0 and 2 would have to be before and
    # behind it.
    pieces = divided({0: 100, 1: 100, 2: 100}, {0: 5, 1: 60, 2: 5}, {0: {1}, 1: {2}, 2: set()},
                     {0: {"a"}, 1: {"b"}, 2: {"c"}}, {0: {"in"}, 1: {"a"}, 2: {"b"}})
    assert (True, [0, 2]) not in pieces


def test_what_must_not_be_left_out_has_no_gate():
    assert divided({0: 100, 1: 100}, {0: 0, 1: 0}, {0: {1}, 1: set()}, {0: {"a"}, 1: set()}, {0: {"in"}, 1: {"a"}},
                   never=(1,)) == [(False, [1]), (True, [0])]


@pytest.mark.parametrize(("text", "kept", "registers"), [
    ("n = vlSelfRef.r; if (vlSelfRef.a) { n = 1U; } vlSelfRef.r = n;", 2, {"n": ".r"}),
    ("n = vlSelfRef.r; if (vlSelfRef.r) { n = 1U; } vlSelfRef.b = vlSelfRef.r; vlSelfRef.r = n;", 3, {"n": ".r"}),
    ("n = vlSelfRef.r; if (vlSelfRef.a) { n = 1U; } vlSelfRef.r = n; vlSelfRef.r = 0U;", 4, {}),   # another writer
    ("n = vlSelfRef.r; if (vlSelfRef.a) { n = 1U; } vlSelfRef.r = n; n = 0U;", 4, {}),   # another value behind it
    ("n = vlSelfRef.r; vlSelfRef.r = n; if (vlSelfRef.a) { n = 1U; }", 3, {}),
    ("vlSelfRef.b = n; n = vlSelfRef.r; if (vlSelfRef.a) { n = 1U; } vlSelfRef.r = n;", 4, {}),   # looked at before
    ("n = vlSelfRef.r; if (vlSelfRef.a) { n = 1U; } if (vlSelfRef.a) { vlSelfRef.r = n; }", 3, {}),
    ("n = vlSelfRef.wide; if (vlSelfRef.a) { n = 1U; } vlSelfRef.wide = n;", 3, {}),     # of another type
])
def test_copies_that_are_there_already_are_left_out(text, kept, registers):
    body = Body("IData n; " + text)
    types = {".r": "IData", ".a": "IData", ".b": "IData", ".wide": "QData", "n": "IData"}
    statements, found = without_copies(body.statements, body.local, types)
    assert (len(statements), found) == (kept, registers)


@pytest.mark.parametrize(("text", "once"), [
    ("vlSelfRef.a = 1U; vlSelfRef.b = 1U; vlSelfRef.b = 2U;", {".a"}),
    ("if (vlSelfRef.c) { vlSelfRef.a = 1U; } else { vlSelfRef.a = 2U; }", {".a"}),
    ("vlSelfRef.a = 0U; if (vlSelfRef.c) { vlSelfRef.a = 1U; }", set()),
    ("vlSelfRef.w[0U] = 1U;", set()),
])
def test_what_is_written_once(text, once):
    assert written_once(Body(text).statements) == once


@pytest.mark.parametrize("operator, term, looks", [
    ("|", "((- (IData)((IData)(vlSelfRef.b))) & vlSelfRef.c)", True),
    ("|", "(3U & (- (IData)(vlSelfRef.b)))", True),
    ("^", "((- (IData)((IData)(vlSelfRef.b))) & vlSelfRef.c)", False),
    ("|", "((- (IData)((IData)(vlSelfRef.b))) ^ vlSelfRef.c)", False),
    ("|", "((- (IData)((vlSelfRef.b + 1U))) & vlSelfRef.c)", False),
    ("|", "((- (IData)(vlSelfRef.b)) & vlSelfRef.c ^ vlSelfRef.c)", False),
    ("|", "((- (IData)(vlSelfRef.b)) & vlSelfRef.c) | (~ vlSelfRef.c)", False),
])
def test_terms_are_what_one_operator_joins(operator, term, looks):
    text = f"vlSelfRef.a = ({f' {operator} '.join([term] * SELECTED)});"
    one, = simplified(Body(text), "sys_rst")
    assert ("VL_UNLIKELY" in one.tokens) == looks
    assert one.names == Body(text).statements[0].names


def shared_of(text: str, types: dict[str, str], common: frozenset[str] = frozenset()):
    statements = Body(text).statements
    nodes, after = dependencies(statements)
    return find_shared(nodes, after, types, common)


def test_what_differs_is_not_shared():
    types = {f".harts_{hart}_{name}": "IData" for hart in (0, 1) for name in "ab"}
    same = "".join(f"vlSelfRef.harts_{h}_a = (vlSelfRef.harts_{h}_b + 1U);" for h in (0, 1))
    assert len(shared_of(same, types).families) == 1
    assert not shared_of(same.replace("+ 1U", "+ 2U", 1), types).families
    crossed = "".join(f"vlSelfRef.harts_{h}_a = vlSelfRef.harts_{h}_b;" for h in (0, 1))
    assert not shared_of(crossed.replace("harts_1_b", "harts_0_b"), types).families


def test_whose_a_variable_is_may_be_told_by_its_use():
    """Ports and buses have numbers of their own, or none for the first hart; their users are known."""
    names = {0: ("fire", "when_l4"), 1: ("fire_1", "when_l4_8")}
    types = {".harts_0_a": "IData", ".harts_1_a": "IData", ".in": "IData"} | {
        f".{name}": "IData" for both in names.values() for name in both}
    text = "".join(f"vlSelfRef.{fire} = (vlSelfRef.{when} + 1U); vlSelfRef.{when} = (vlSelfRef.in >> 3U);"
                   f"vlSelfRef.harts_{h}_a = (vlSelfRef.{fire} + vlSelfRef.in);" for h, (fire, when) in names.items())
    shared = shared_of(text, types)
    assert len(shared.families) == 3
    assert shared.twins[".when_l4_8"] == (".when_l4", 1) and ".in" not in shared.twins
    # The first hart's stands in place of the second's.
    assert len(shared_of(text.replace("vlSelfRef.fire_1 +", "vlSelfRef.fire +"), types).families) < 3


def test_what_has_a_hart_s_name_may_be_everybody_s():
    types = {f".harts_{hart}_{name}": "IData" for hart in range(3) for name in "abw"}
    text = "".join(f"if (vlSelfRef.harts_{h}_b) {{ vlSelfRef.harts_{h}_a = vlSelfRef.harts_2_w; }}" for h in range(3))
    common = find_common(Body(text).statements)
    assert common == {".harts_2_w"}
    assert len(shared_of(text, types, common).families) == 1
    assert not shared_of(text, types).families
    # A variable that only some of the others read is not common.
    assert not find_common(Body(text.replace("harts_0_a = vlSelfRef.harts_2_w", "harts_0_a = 1U")).statements)


def test_harts_that_wait_for_each_other_are_not_shared():
    types = {f".harts_{hart}_a": "IData" for hart in (0, 1)} | {".x": "IData"}
    text = ("vlSelfRef.harts_0_a = (1U & vlSelfRef.harts_0_a); vlSelfRef.x = vlSelfRef.harts_0_a;"
            "if (vlSelfRef.x) { vlSelfRef.harts_1_a = 0U; } vlSelfRef.harts_1_a = (1U & vlSelfRef.harts_1_a);")
    assert not shared_of(text, types).families


def test_order_is_kept():
    statements = Body("vlSelfRef.b = vlSelfRef.a; vlSelfRef.a = vlSelfRef.c; vlSelfRef.d = vlSelfRef.a;"
                      "vlSelfRef.c = vlSelfRef.d; if (vlSelfRef.e) { vlSelfRef.b = 1U; }").statements
    nodes, after = dependencies(statements)
    assert [len(node.statements) for node in nodes] == [2, 1, 1, 1]   # the two that write b
    assert after == [{1}, {2, 3}, {3}, set()]


def test_components_come_last_to_first():
    assert [sorted(group) for group in components({1: {2}, 2: {3}, 3: {2, 4}, 4: set()})] == [[4], [2, 3], [1]]


@pytest.mark.parametrize("text", ["for (;;) { }", "vlSelfRef.a = f(vlSelfRef.b);", "VL_SOMETHING_W(3, vlSelfRef.a);",
                                  "x = 1U;", "const IData x = 1U;", "vlSelfRef.a = unknown;"])
def test_what_is_not_known_is_refused(text):
    with pytest.raises(NotUnderstood):
        Body(text)


def test_a_hart_s_members_lie_together():
    twins = {f".harts_{hart}_{name}": (f".harts_0_{name}", hart) for hart in range(HARTS) for name in OF_HART}
    twins |= {f".{port}": (f".{PORTS[0]}", hart) for hart, port in enumerate(PORTS)}
    text, blocks = arrange(header(), twins, HARTS)
    assert member_types(text) == member_types(header())
    assert text.count(FRONT) == HARTS
    of = re.findall(rf"harts_(\d)_(?!{WIRE[8:]})(\w+);", text)
    assert [hart for hart, _ in of] == sorted(hart for hart, _ in of)
    assert len({tuple(name for h, name in of if h == hart) for hart, _ in of}) == 1
    assert len(blocks) == HARTS


MACHINE = """
always @(*) begin
    next_state <= 1'd0;
    valid <= 1'd0;
    data[7:0] <= 8'd0;
    next_state <= state;
    case (state)
        1'd0: begin
            data[3:0] <= word;
            if (wanted) begin
                valid <= 1'd1;
            end else begin
                data[7:4] <= word;
            end
            if ((valid & ready)) begin
                next_state <= 1'd1;
            end
        end
        default: begin
            next_state <= 1'd0;
        end
    endcase
end
"""


def test_a_state_machine_falls_apart_by_what_decides_its_outputs():
    """`valid` does not depend on `ready`, which is in the same process; each output keeps its branches, the empty ones
    too, which keep others from being taken."""
    ready, valid, data = re.findall(r"^always.*?^end\n", split_processes(MACHINE), re.MULTILINE | re.DOTALL)
    assert "if ((valid & ready))" in ready and "next_state <= 1'd1;" in ready and " valid <=" not in ready
    assert "ready" not in valid and "default: begin\n        end" in valid
    assert "if (wanted) begin\n            end else begin\n                data[7:4] <= word;" in data
    assert split_processes("wire x;\n" + MACHINE).startswith("wire x;\n\nalways")


@pytest.mark.parametrize("old, new", [("        1'd0: begin\n", "        1'd0:\n"), ("<= word", "= word"),
                                      ("case (state)", "casez (state)"), ("    endcase\n", "")])
def test_a_process_of_another_form_stays_whole(old, new):
    assert old in MACHINE
    odd = MACHINE.replace(old, new)
    assert split_processes(odd) == odd


def settled(processes, inputs):
    """The signals once nothing changes any more, from all zeros; the text of processes is as in MACHINE."""
    # A case of two branches, as in MACHINE: if and else.
    lines = re.sub(r"(?m)^ *endcase\n|^ *end\n|^always.*\n", "", processes)
    for verilog, python in (
            (r"case \(state\)", "if True:"), (r"1'd0: begin", "if not state:"), (r"default: begin", "else:"),
            (r"end else begin", "else:"), (r"if (.*) begin", r"if \1:"), (r"\d'd", ""),
            (r"data\[7:0\] <= 0", "data = 0"), (r"data\[3:0\] <= (.*);", r"data = data & 0xf0 | \1"),
            (r"data\[7:4\] <= (.*);", r"data = data & 0xf | \1 << 4"), (r"(\w+) <= (.*);", r"\1 = \2")):
        lines = re.sub(verilog, python, lines)
    lines = re.sub(r"(?m)^( +)((?:if|else).*:)$", r"\1\2\n\1    pass", lines)
    before, now = None, {"next_state": 0, "valid": 0, "data": 0, **inputs}
    while now != before:
        before = dict(now)
        exec(textwrap.dedent(lines.lstrip("\n")), {}, now)
    return now


def test_a_machine_apart_does_what_it_did():
    seen = set()
    for bits in range(128):
        inputs = {"state": bits & 1, "wanted": bits >> 1 & 1, "ready": bits >> 2 & 1, "word": bits >> 3}
        whole = settled(MACHINE, inputs)
        assert settled(split_processes(MACHINE), inputs) == whole
        seen.add((whole["next_state"], whole["valid"], whole["data"]))
    assert len(seen) > 40 and len({state for state, *_ in seen}) == 2
