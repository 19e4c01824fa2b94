"""Proves that two Verilog files do the same in every cycle: `python -m soc.fpga.same BEFORE.v AFTER.v [TOP]`.

For changes of how a module is written. yosys makes gates of each; what holds state (registers, memories) is put into
classes: at first by what it is and how it begins, then ever finer by the logic before each input, in which the order
and grouping of AND, OR and XOR do not count and states stand for their class. When no class splits any more, states of
one class are equal in every cycle: they begin equal, and what equal states and inputs make of each other is equal.
Outputs whose logic is the same then are equal, too. Names, hierarchy, sharing and copies of logic do not matter.

The answer is "the same", or what could not be shown to be: then the two may differ. Memories that begin with no content
are taken to begin alike.
"""

import argparse
import json
import sys
import tempfile
from hashlib import blake2b
from pathlib import Path
from typing import Any

from soc.fpga.tools import ToolError, run

TIDY = 3 * "opt_expr; opt_merge; opt_clean -purge; "
SCRIPT = "read_verilog dut.v; hierarchy -top {top}; proc; flatten; " + TIDY + "memory_collect; techmap; simplemap; " \
         + TIDY + "write_json netlist.json"
NAMES = {"MEMID"}                           # parameters that are names
GROUPED = {"$_AND_", "$_OR_", "$_XOR_"}     # gates of which only what goes in counts
GATES = GROUPED | {"$_NOT_", "$_MUX_"}      # all others hold state
RECURSION = 100_000                         # gates behind one another


def digest(*parts: bytes) -> bytes:
    total = blake2b(digest_size=16)
    for part in parts:
        total.update(len(part).to_bytes(4, "little") + part)
    return total.digest()


class Netlist:
    """The cells of a flat module; `states` are those that are no gates, `classes` the class of each."""

    def __init__(self, module: dict[str, Any]):
        self.cells = list(module["cells"].values())
        self.driver = {bit: (number, port, index) for number, cell in enumerate(self.cells)
                       for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output"
                       for index, bit in enumerate(bits)}
        self.inputs = {bit: repr((name, index)).encode() for name, port in module["ports"].items()
                       if port["direction"] == "input" for index, bit in enumerate(port["bits"])}
        self.outputs = {(name, index): bit for name, port in module["ports"].items() if port["direction"] != "input"
                        for index, bit in enumerate(port["bits"])}
        initial = {bit: value for net in module["netnames"].values() for bit, value in
                   zip(net["bits"], reversed(net["attributes"].get("init", "")), strict=False) if value in "01"}
        self.states = [number for number, cell in enumerate(self.cells) if cell["type"] not in GATES]
        self.classes: dict[int, bytes] = {}
        for number in self.states:
            cell = self.cells[number]
            fixed = sorted((name, value) for name, value in cell["parameters"].items() if name not in NAMES)
            begins = sorted((port, [initial.get(bit, "x") for bit in bits])
                            for port, bits in cell["connections"].items() if cell["port_directions"][port] == "output")
            self.classes[number] = digest(repr((cell["type"], fixed, begins)).encode())
        self.known: dict[Any, bytes] = {}

    def logic(self, bit: Any) -> bytes:
        """What a bit is made of, with states by their class."""
        if bit not in self.known:
            self.known[bit] = self.made(bit)
        return self.known[bit]

    def made(self, bit: Any) -> bytes:
        if isinstance(bit, str):
            return b"constant " + bit.encode()
        if bit in self.inputs:
            return b"input " + self.inputs[bit]
        if bit not in self.driver:
            return b"constant x"
        number, port, index = self.driver[bit]
        if number in self.classes:
            return digest(b"state", self.classes[number], f"{port} {index}".encode())
        kind = self.cells[number]["type"].encode()
        if self.cells[number]["type"] in GROUPED:
            leaves = sorted(self.logic(leaf) for leaf in self.leaves(bit))
            return digest(kind, *(leaves if kind == b"$_XOR_" else sorted(set(leaves))))
        ports = self.cells[number]["connections"]
        return digest(kind, *(self.logic(ports[name][0]) for name in sorted(ports) if name != port))

    def leaves(self, bit: Any):
        """What goes into the gates of one kind that are one behind the other, up to `bit`."""
        number, *_ = self.driver[bit]
        for name in "AB":
            below = self.cells[number]["connections"][name][0]
            there = self.driver.get(below, (None,))[0]
            if there is not None and self.cells[there]["type"] == self.cells[number]["type"]:
                yield from self.leaves(below)
            else:
                yield below

    def split(self):
        """Finer classes, by what goes into each state."""
        self.known = {}
        self.classes = {number: digest(self.classes[number], *(
            port.encode() + b"".join(digest(self.logic(bit)) for bit in bits)
            for port, bits in sorted(self.cells[number]["connections"].items())
            if self.cells[number]["port_directions"][port] == "input")) for number in self.states}
        self.known = {}


def difference(one: Netlist, other: Netlist) -> str | None:
    """What could not be shown to be equal; None if all is."""
    if one.outputs.keys() != other.outputs.keys() or set(one.inputs.values()) != set(other.inputs.values()):
        return "the ports are not the same"
    classes = 0
    while (now := len({*one.classes.values(), *other.classes.values()})) != classes:
        classes = now
        for net in one, other:
            net.split()
    wrong = sorted({name for (name, index), bit in one.outputs.items()
                    if one.logic(bit) != other.logic(other.outputs[name, index])})
    return f"it could not be shown that {', '.join(wrong)} do the same" if wrong else None


def netlist(path: Path, top: str) -> Netlist:
    """ToolError if yosys cannot read it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "dut.v").write_bytes(path.read_bytes())
        _, error = run("yosys", ["-q", "-p", SCRIPT.format(top=top)], folder, "same.log")
        if error:
            raise ToolError(error)
        return Netlist(json.loads((folder / "netlist.json").read_text())["modules"][top])


def compare(before: Path, after: Path, top: str = "top") -> str | None:
    """`difference` of two files."""
    sys.setrecursionlimit(RECURSION)
    return difference(netlist(before, top), netlist(after, top))


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.fpga.same", description=__doc__.split(":")[0] + ".")
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("top", nargs="?", default="top")
    options = parser.parse_args()
    try:
        found = compare(options.before, options.after, options.top)
    except (OSError, ToolError) as error:
        sys.exit(f"error: {error}")
    if found:
        sys.exit(f"error: {options.before} and {options.after}: {found}")
    print(f"{options.before} and {options.after} do the same in every cycle")


if __name__ == "__main__":
    main()
