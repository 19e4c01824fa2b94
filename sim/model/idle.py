"""The harness's table of a model's idle cycles: idle_table.cpp, made from the cores' declarations (hw/common/idle.py)
and from the members of the class that Verilator made.

All state of the model is compared to see whether a cycle changed it, except what the cores declare. Also left out is
only what follows within the cycle: Verilator's own variables and names that no clocked block assigns.

Which those are is read from the Verilog by its words, not by a grammar: so only the words and forms that LiteX and
SpinalHDL write are accepted, and anything else ends the build, since a register that is not recognised as one would not
be compared."""

import re
from collections.abc import Sequence
from pathlib import Path

from litex.gen.fhdl.verilog import _ieee_1800_2017_verilog_reserved_keywords

from sim.model.gating.layout import APART, FRONT
from sim.model.toolchain import BuildError

RAM = "main_ram_storage"  # not compared: it changes only if a register before it does
# Verilog's keywords that _assigned() handles, and preprocessor directives that change no assignment.
WORDS = frozenset(
    "always assert assign begin case casex casez default else end endcase endmodule if initial inout input localparam "
    "module negedge or output parameter posedge reg signed wire".split())
DIRECTIVES = frozenset(("timescale", "ifdef", "ifndef", "else", "endif", "default_nettype"))
COMMENT = re.compile(r'(?P<kept>"(?:\\.|[^"\\\n])*")|//.*|/\*[\s\S]*?\*/|'
                     r'\(\*(?!\s*\))[\s\S]*?\*\)')
CLOCKED = re.compile(r"\s*@\s*\(\s*(?:pos|neg)edge\b")
COMBINATIONAL = re.compile(r"\s*@\s*(?:\(\s*\*\s*\)|\*)")
SCALAR = re.compile(rf"^\s*(?:{re.escape(APART)} )?[CSIQ]Data/\*(?P<high>\d+):(?P<low>\d+)\*/ (?P<name>\w+);$")
OTHER = re.compile(r"^\s*(?:VL_(?:IN|OUT|INOUT)\w*\(&?(\w+),.*|Vl\w+<.*>\S* (\w+);)$")


def idle_table(root: Path, verilog: Sequence[Path], declared: Sequence[dict], top: str) -> str:
    """The C++ of `idle_table()` (sim/harness/machine/idle.h) for a model with the header `root`, from the Verilog that
    it was made from and its cores' declarations. BuildError if the header lacks what they name."""
    widths = _members(root)
    clocked, all_names = _assigned(verilog)
    runs = {_member(top, name) for entry in declared for name in _moving(entry)}

    def word(name: str) -> str:
        member = _member(top, name)
        if not widths.get(member):
            raise BuildError(f"the model has no register {name}, which moves in idle cycles: correct its core's "
                             "`while_idle`")
        return f"word(root.{member}, {widths[member]})"

    lines = []
    for entry in declared:
        match entry["kind"]:
            case "clock":
                alarms = ", ".join(word(alarm) for alarm in entry["alarms"])
                lines.append(f"table.clocks.push_back({{{word(entry['register'])}, {{{alarms}}}}});")
            case "countdown":
                lines.append(f"table.countdowns.push_back({{{word(entry['register'])}, {entry['end']}}});")
            case "bit_timer":
                words = ", ".join(word(entry[name]) for name in ("register", "period", "state"))
                lines.append(f"table.bit_timers.push_back({{{words}, {entry['rest']}}});")
            case "still":
                lines += [f"table.still.push_back({word(name)});" for name in entry["registers"]]
            case "follows":
                [word(name) for name in entry["registers"]]
            case kind:
                raise BuildError(f"a core says {kind!r} of its idle cycles, which is no kind that sim/model/idle.py "
                                 "knows (hw/common/idle.py)")
    for member in widths:
        name = member.rpartition("__DOT__")[2]
        follows = name.startswith("__V") or (name in all_names and name not in clocked)
        compared = member not in runs and not follows and name != RAM
        kind = "RAM" if name == RAM else "COMPARED" if compared else "FREE"
        lines.append(f'table.members.push_back(member("{name if name == RAM else member}", root, root.{member}, '
                     f"Member::{kind}));")
    body = "".join(f"    {line}\n" for line in lines)
    return (f'#include "harness/machine/idle.h"\n\n#include "V{top}___024root.h"\n\n'
            "template <class T> static Word word(T &value, unsigned bits)\n{\n"
            "    return {&value, sizeof value, bits};\n}\n\n"
            "template <class T>\n"
            "static Member member(const char *name, Root &root, T &value, Member::Kind kind)\n{\n"
            "    auto offset = reinterpret_cast<char *>(&value) - reinterpret_cast<char *>(&root);\n"
            "    return {name, size_t(offset), sizeof value, kind};\n}\n\n"
            # Thousands of lines that run once: to optimise them takes minutes.
            f"[[clang::optnone]] IdleTable idle_table(Root &root)\n{{\n    IdleTable table;\n{body}"
            "    return table;\n}\n")


def _member(top: str, name: str) -> str:
    return "__DOT__".join([top, *name.split(".")])


def _moving(entry: dict) -> list[str]:
    """The registers of an entry that may change."""
    if entry["kind"] in ("still", "follows"):
        return entry["registers"] if entry["kind"] == "follows" else []
    if "register" not in entry:
        raise BuildError(f"a core says {entry['kind']!r} of its idle cycles, which is no kind that sim/model/idle.py "
                         "knows (hw/common/idle.py)")
    return [entry["register"]]


def _members(root: Path) -> dict[str, int]:
    """The state in the class of the header `root`: the width in bits of each member, 0 unless it is one word."""
    text = root.read_text()
    state = text[text.index("// DESIGN SPECIFIC STATE"):text.index("// INTERNAL VARIABLES")]
    members = {}
    for line in state.splitlines()[1:]:
        if scalar := SCALAR.match(line):
            members[scalar["name"]] = int(scalar["high"]) - int(scalar["low"]) + 1
        elif other := OTHER.match(line):
            members[other[1] or other[2]] = 0
        elif line.strip() not in ("", "struct {", "};", FRONT) and not line.strip().startswith("//"):
            raise BuildError(f"{root.name}: unknown declaration {line.strip()!r}, so idle cycles cannot be detected: "
                             "sim/model/idle.py was made for another Verilator")
    return members


def _assigned(verilog: Sequence[Path]) -> tuple[set[str], set[str]]:
    """Names that clocked blocks of any module assign (and some more), and all names that are declared."""
    clocked, declared = set(), set()
    for path in verilog:
        text = COMMENT.sub(lambda found: '""' if found["kept"] else " ", path.read_text())
        _check_understood(path.name, text)
        for line in re.findall(r"^\s*(?:input|output|wire|reg)\b([^;=\n]*)", text, re.MULTILINE):
            declared.update(re.findall(r"[A-Za-z_]\w*", line))
        blocks = re.split(r"\b(always\b|assign\b|initial\b|endmodule\b)", text)
        for keyword, block in zip(blocks[1::2], blocks[2::2], strict=True):
            if keyword == "always" and CLOCKED.match(block):
                _check_clocked(path.name, block)
                for target in re.findall(r"^(.*?)(?:<=|(?<![=!<>])=(?!=))", block, re.MULTILINE):
                    clocked.update(re.findall(r"[A-Za-z_]\w*", target))
    return clocked, declared


def _check_understood(name: str, text: str):
    """BuildError that names the first token in Verilog, without comments and with empty strings, that is not among
    those handled."""
    def refuse(what: str):
        raise BuildError(f"{name}: {what}, which sim/model/idle.py does not understand, so idle cycles cannot be told")

    for word in re.findall(r"(?<![\w$'.`\\])[a-z]\w*", text):
        if word in _ieee_1800_2017_verilog_reserved_keywords and word not in WORDS:
            refuse(f"there is '{word}'")
    for directive in re.findall(r"`\s*(\w+)", text):
        if directive not in DIRECTIVES:
            refuse(f"there is '`{directive}'")
    if escaped := re.search(r"\\\S+", text):
        refuse(f"there is the name '{escaped.group()}'")
    for block in re.findall(r"\balways\b([^;]*)", text):
        if not CLOCKED.match(block) and not COMBINATIONAL.match(block):
            refuse(f"there is 'always {' '.join(block.split())[:40]}'")


def _check_clocked(name: str, block: str):
    """BuildError if a clocked block has an assignment whose target is not found."""
    for line in block.splitlines():
        target = re.match(r"(.*?)(?:<=|(?<![=!<>])=(?!=))", line)
        if (re.search(r"\+\+|--", line) or (target and _unbalanced(target[1]))
                or re.match(r"\s*(?:<=|=(?!=))", line)):
            raise BuildError(f"{name}: a clocked block has '{line.strip()[:60]}': an assignment whose target is not on "
                             "one line with it, which sim/model/idle.py does not understand")


def _unbalanced(target: str) -> bool:
    """Whether a target begins on a line before this one."""
    return target.count("}") > target.count("{") or target.count("]") > target.count("[")
