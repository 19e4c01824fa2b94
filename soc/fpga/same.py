"""Proves that two Verilog files do the same in every cycle: `python -m soc.fpga.same BEFORE.v AFTER.v [TOP]`.

For changes in how a module is written. yosys makes gates of each; state elements (registers, memories) are put into
classes: at first by kind and initial value, then ever finer by the logic before each input, in which order, grouping
and inversion of AND, OR and XOR do not count and states stand for their class. When no class splits any more, states of
one class are equal in every cycle: they begin equal, and equal states and inputs make the next ones equal. Outputs
whose logic is the same then are equal, too. Names, hierarchy, sharing and copies of logic do not matter.

The answer is "the same", or what could not be shown to be: then the two may differ. Memories without initial content
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
SCRIPT = "read_verilog dut.v; hierarchy -top {top}; proc; flatten; " + TIDY + "techmap; simplemap; " + TIDY \
         + "write_json netlist.json"
# Parameters that are names and numbers of memories and their ports.
NAMES = {"MEMID", "PORTID", "PRIORITY"}
STORES = {"$memwr", "$memwr_v2", "$meminit", "$meminit_v2"}     # the cells that make a memory's content
GATES = {"$_AND_", "$_OR_", "$_XOR_", "$_NOT_", "$_MUX_"}      # all others hold state
RECURSION = 100_000                         # gates in series


def digest(*parts: bytes) -> bytes:
    total = blake2b(digest_size=16)
    for part in parts:
        total.update(len(part).to_bytes(4, "little") + part)
    return total.digest()


class Netlist:
    """The cells of a flat module; `states` are those other than gates, `classes` the class of each."""

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
        self.memories: dict[str, list[int]] = {}     # the cells that write one, in order, by its name
        self.contents: dict[str, bytes] = {}         # the class of its content
        for name, memory in module.get("memories", {}).items():
            stores = [number for number in self.states if self.cells[number]["type"] in STORES
                      and self.cells[number]["parameters"]["MEMID"].lstrip("\\") == name.lstrip("\\")]
            stores.sort(key=lambda number: (self.cells[number]["type"], *(
                int(self.cells[number]["parameters"].get(order, "0"), 2) for order in ("PORTID", "PRIORITY"))))
            self.memories[name.lstrip("\\")] = stores
            self.contents[name.lstrip("\\")] = digest(repr((memory["width"], memory["size"])).encode())
        self.known: dict[Any, bytes] = {}

    def logic(self, bit: Any, inverted: bool = False) -> bytes:
        """The logic of a bit, or its inverse, with states by their class."""
        if (bit, inverted) not in self.known:
            self.known[bit, inverted] = self.made(bit, inverted)
        return self.known[bit, inverted]

    def kind(self, bit: Any) -> str | None:
        """The gate that drives a bit, if one does."""
        number = self.driver[bit][0] if bit in self.driver else None
        return None if number is None or number in self.classes else self.cells[number]["type"]

    def input(self, bit: Any, port: str) -> Any:
        """The inputs of the gate that drives a bit."""
        return self.cells[self.driver[bit][0]]["connections"][port][0]

    def made(self, bit: Any, inverted: bool) -> bytes:
        kind = self.kind(bit)
        if kind == "$_NOT_":
            return self.logic(self.input(bit, "A"), not inverted)
        if kind in ("$_AND_", "$_OR_"):
            # An OR is an inverted AND of inverted inputs.
            together = digest(b"and", *sorted({self.logic(*leaf) for leaf in self.terms(bit, kind == "$_OR_")}))
            return digest(b"not", together) if inverted != (kind == "$_OR_") else together
        if kind == "$_XOR_":
            leaves = [*self.sums(bit)]
            together = digest(b"xor", *sorted(self.logic(leaf) for leaf, _ in leaves))
            return digest(b"not", together) if (sum(odd for _, odd in leaves) & 1) != inverted else together
        if inverted:
            if bit in ("0", "1"):
                return self.logic("1" if bit == "0" else "0")
            return digest(b"not", self.logic(bit))
        if kind == "$_MUX_":
            return digest(b"mux", *(self.logic(self.input(bit, port)) for port in "ABS"))
        if bit in self.inputs:
            return b"input " + self.inputs[bit]
        if bit not in self.driver:
            return b"constant " + (bit.encode() if isinstance(bit, str) else b"x")
        number, port, index = self.driver[bit]
        return digest(b"state", self.classes[number], f"{port} {index}".encode())

    def terms(self, bit: Any, inverted: bool):
        """(bit, whether it is inverted) of all whose AND a bit, or its inverse, is."""
        kind = self.kind(bit)
        if kind == "$_NOT_":
            yield from self.terms(self.input(bit, "A"), not inverted)
        elif kind == ("$_OR_" if inverted else "$_AND_"):
            yield from self.terms(self.input(bit, "A"), inverted)
            yield from self.terms(self.input(bit, "B"), inverted)
        else:
            yield bit, inverted

    def sums(self, bit: Any, odd: bool = False):
        """(bit, whether it is inverted) of all whose XOR a bit is."""
        kind = self.kind(bit)
        if kind == "$_NOT_":
            yield from self.sums(self.input(bit, "A"), not odd)
        elif kind == "$_XOR_":
            yield from self.sums(self.input(bit, "A"), odd)
            yield from self.sums(self.input(bit, "B"))
        else:
            yield bit, odd

    def split(self):
        """Splits classes by the inputs of each state; reads of a memory also by the writes to it."""
        self.known = {}
        finer = {}
        for number in self.states:
            cell = self.cells[number]
            memory = cell["parameters"].get("MEMID", "").lstrip("\\")
            finer[number] = digest(self.classes[number], self.contents.get(memory, b""), *(
                port.encode() + b"".join(digest(self.logic(bit)) for bit in bits)
                for port, bits in sorted(cell["connections"].items()) if cell["port_directions"][port] == "input"))
        self.known = {}
        self.classes = finer
        self.contents = {name: digest(self.contents[name], *(finer[number] for number in stores))
                         for name, stores in self.memories.items()}


def difference(one: Netlist, other: Netlist) -> str | None:
    """What could not be shown to be equal; None if all is."""
    if one.outputs.keys() != other.outputs.keys() or set(one.inputs.values()) != set(other.inputs.values()):
        return "the ports are not the same"
    classes = 0
    while (now := len({*one.classes.values(), *other.classes.values(), *one.contents.values(),
                       *other.contents.values()})) != classes:
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
