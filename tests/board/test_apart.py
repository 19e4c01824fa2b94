"""Modules that are mapped separately: the netlist is as flat as any, and a slow neighbour costs them nothing."""

import json
import re
import subprocess
from collections import Counter
from dataclasses import replace

from soc.fpga.design import Design
from soc.fpga.synthesis import WITHOUT_MFS, SynthesisOptions, synthesise
from soc.fpga.tools import find

# The quick module finds the last of 32: small as a chain, fast as a tree. Beside it is a chain that cannot be a tree.
VERILOG = """
module quick (input clk, input [31:0] wanted, output reg [4:0] first);
    integer i;
    reg [31:0] held;
    reg [4:0] found;
    always @* begin
        found = 0;
        for (i = 0; i < 32; i = i + 1) if (held[i]) found = i;
    end
    always @(posedge clk) begin
        held <= wanted;
        first <= found;
    end
endmodule

module pair (input clk, input [31:0] wanted, output [4:0] first, output reg slow);
    reg [31:0] state = 1;
    integer i;
    reg bit;
    quick inner (clk, wanted, first);
    always @* begin
        bit = state[0];
        for (i = 1; i < 32; i = i + 1) bit = bit ? state[i] & wanted[i] : state[i] ^ wanted[(i * 7) % 32];
    end
    always @(posedge clk) begin
        state <= {state, bit};
        slow <= bit;
    end
endmodule
"""
LOGIC = {"LUT4": "Z", "PFUMX": "Z", "L6MUX21": "Z"}


def depth(module):
    """The most cells of logic on a path to the registers behind the port `first`."""
    cells = module["cells"].values()
    drivers = {cell["connections"][LOGIC[cell["type"]]][0]: cell for cell in cells if cell["type"] in LOGIC}

    def of(bit):
        if bit not in drivers:
            return 0
        cell = drivers[bit]
        return 1 + max(of(bits[0]) for port, bits in cell["connections"].items() if port != LOGIC[cell["type"]])

    registers = [cell["connections"] for cell in cells if cell["type"] == "TRELLIS_FF"
                 and cell["connections"]["Q"][0] in module["ports"]["first"]["bits"]]
    assert len(registers) == 5
    return max(of(register[port][0]) for register in registers for port in ("DI", "M") if register.get(port))


def test_a_module_apart_is_as_fast_as_alone_and_part_of_a_flat_netlist(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    (tmp_path / "pair.v").write_text(VERILOG)
    found = {}
    for top, apart in ("quick", ()), ("pair", ("quick",)), ("pair", ()):
        design = Design(top, top, (tmp_path / "pair.v",), tmp_path / "none.lpf", "", "25k", "", "6", 25_000_000,
                        apart=apart)
        netlist = synthesise(design, SynthesisOptions(apart=bool(apart)))
        module = json.loads((netlist / "netlist.json").read_text())["modules"][top]
        kinds = Counter(cell["type"] for cell in module["cells"].values())
        assert kinds.keys() <= {*LOGIC, "TRELLIS_FF", "$scopeinfo"}     # the last is a name, no cell
        found[top, apart] = depth(module), kinds["TRELLIS_FF"]
    alone, apart, together = found["quick", ()], found["pair", ("quick",)], found["pair", ()]
    assert apart[0] == alone[0] < together[0]
    assert apart[1] == together[1]


def test_abc9_without_its_last_step_does_the_rest_of_its_own_script(tmp_path):
    told = subprocess.run([find("yosys"), "-p", "help abc9_exe"], check=True, capture_output=True, text=True).stdout
    own = re.search(r"following scripts are used:\s*(.*)", told)
    assert own, "yosys tells no script of ABC9 any more"
    steps = [step.strip().replace(" ", ",") for step in own[1].split(";")]
    assert steps[-1] == "&mfs" and WITHOUT_MFS == "+" + ";,".join(steps[:-1])
    design = Design("quick", "quick", (), tmp_path / "none.lpf", "", "25k", "", "6", 25_000_000)
    assert "abc9.script" not in SynthesisOptions().script(design, [])
    assert f"abc9.script {WITHOUT_MFS}" in SynthesisOptions().script(replace(design, mfs=False), [])
