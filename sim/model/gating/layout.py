"""The header of the class that Verilator made, with each hart's own members in one place, in the same order for each:
then one hart's members are at the same distance from another's, for all of them."""

import re
from collections.abc import Mapping

from sim.model.gating.statements import NotUnderstood

MEMBER = re.compile(r"^\s*(?P<type>[CSIQ]Data|VlWide<\d+>|VlUnpacked<.*>)(?:/\*[\d:]+\*/)? (?P<name>\w+);$")
PORT = re.compile(r"^\s*VL_(?:IN|OUT|INOUT)(?P<bits>8|16|64|)\(&?(?P<name>\w+),")
PORT_TYPES = {"8": "CData", "16": "SData", "": "IData", "64": "QData"}
END_OF_STATE = "// INTERNAL VARIABLES"
BYTES = {"CData": 1, "SData": 2, "IData": 4, "QData": 8}
WORD = 4
FRONT = "alignas(64)"
# Members smaller than a word get a word each. Next to each other they, and gates, made a model 2.7 times as slow on a
# Zen 5 (docs/simulator.md); with more room, or with ports so too, it is slower again.
APART = f"alignas({WORD})"


def member_types(header: str) -> dict[str, str]:
    """The type of each member of the model's state, by its name with a dot before it."""
    types = {}
    for line in header.splitlines():
        if member := MEMBER.match(line):
            types["." + member["name"]] = member["type"]
        elif port := PORT.match(line):
            types["." + port["name"]] = PORT_TYPES[port["bits"]]
    return types


def arrange(header: str, twins: Mapping[str, tuple[str, int]], harts: int) -> tuple[str, list[list[str]]]:
    """The header with the members in `twins` (sim/model/gating/harts.py) moved, and the blocks, one for each hart."""
    types = member_types(header)
    of_hart = [{first: name for name, (first, k) in twins.items() if k == hart and name[0] == "."}
               for hart in range(harts)]
    # Small ones first: what the harts read most is in few cache lines. Then in order of the names.
    order = sorted(of_hart[0], key=lambda name: (BYTES.get(types[name], 16), "VlUnpacked" in types[name], name))
    moved, kept = {}, []
    for line in header.splitlines():
        member = MEMBER.match(line) or PORT.match(line)
        if member and "." + member["name"] in twins:
            moved["." + member["name"]] = line
        else:
            kept.append(line)
    blocks = [[mine[name] for name in order] for mine in of_hart]
    if missing := [name for block in blocks for name in block if name not in moved]:
        raise NotUnderstood(f"members that are not declared as others are: {missing[:3]}")
    at = next(i for i, line in enumerate(kept) if line.strip() == END_OF_STATE)
    kept[at:at] = [line for block in blocks for line in (f"    {FRONT}", *(moved[name] for name in block))]
    return "\n".join(kept) + "\n", blocks


def add_member(header: str, declaration: str) -> str:
    """The header with an added member outside the model's state: nothing saves or compares it."""
    before, mark, behind = header.partition(END_OF_STATE + "\n")
    if not mark:
        raise NotUnderstood(f"the header has no line {END_OF_STATE!r}")
    return before + mark + declaration + behind


def apart(header: str) -> str:
    """The header with each member that is smaller than a word in a word of its own, except ports."""
    def small(line: str) -> bool:
        member = MEMBER.match(line)
        return member is not None and BYTES.get(member["type"], WORD) < WORD

    return "".join(f"    {APART} {line.strip()}\n" if small(line) else f"{line}\n" for line in header.splitlines())
