"""The models of soc/fpga/cells against the Verilog that synthesis infers the cells from: equal in every cycle.

All designs are simulated as written and as netlists, with random inputs, side by side in one simulator,
which counts the cycles that differ. Netlists with a fault planted in a model are in it, too: each has to differ.
"""

import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from functools import cache

import pytest

from sim.model.toolchain import find
from soc.fpga.netlist import models
from soc.fpga.tools import run, version
from support.cache import cached

CYCLES = 20_000
ADDRESSES = ("ra", "wa", "aa", "ab")  # inputs that are small every now and then, so that accesses meet


@dataclass(frozen=True)
class Design:
    """A module of registered outputs: widths of its ports by name, its Verilog, the cells it is there for."""
    inputs: dict[str, int]
    outputs: dict[str, int]
    body: str
    cells: set[str] = field(default_factory=lambda: {"DP16KD"})

    def verilog(self, name):
        """The module's text."""
        ports = [f"input [{width - 1}:0] {port}" for port, width in self.inputs.items()]
        ports += [f"output reg [{width - 1}:0] {port}" for port, width in self.outputs.items()]
        return f"module {name}(input clk, {', '.join(ports)});\n{self.body}\nendmodule\n"


# Designs --------------------------------------------------------------------------------------------------------------

def memory(address, data, access, enables=1):
    """A memory of 2^address words of `data` bits, filled, with the clocked statements `access`."""
    return Design({"ra": address, "wa": address, "wd": data, "we": enables, "re": 1, "rst": 1}, {"q": data}, f"""
        (* ram_style = "block" *) reg [{data - 1}:0] m [0:{2 ** address - 1}];
        initial $readmemh("{data}x{2 ** address}.hex", m);
        initial q = 0;
        always @(posedge clk) begin {access} end""")


def contents():
    """The contents of the memories: random numbers, by the file's name, `<bits of a word>x<words>.hex`."""
    files, rng = {}, random.Random(2)
    for name in sorted({name for design in DESIGNS.values() for name in re.findall(r'"(\w+\.hex)"', design.body)}):
        bits, words = map(int, re.findall(r"\d+", name))
        files[name] = "".join(f"{rng.getrandbits(bits):x}\n" for _ in range(words))
    return files


def stores(enables):
    """Statements that store bytes of 9 bits."""
    return " ".join(f"if (we[{i}]) m[wa][{9 * i} +: 9] <= wd[{9 * i} +: 9];" for i in range(enables))


STORE = "if (we) m[wa] <= wd;"
LOAD = "if (re) q <= m[ra];"
DESIGNS = {
    **{f"memory_{data}x{2 ** address}": memory(address, data, f"{STORE} {LOAD}")
       for address, data in ((9, 36), (10, 18), (11, 9), (12, 4), (13, 2), (14, 1), (10, 32))},
    "memory_byte_enables_36": memory(9, 36, f"{stores(4)} {LOAD}", 4),
    "memory_byte_enables_18": memory(10, 18, f"{stores(2)} if (~|we & re) q <= m[wa];", 2),
    "memory_reset": memory(10, 18, f"{STORE} if (rst) q <= 0; else {LOAD}"),
    "memory_reads_old": memory(10, 18, f"{STORE} if (re) q <= m[wa];"),
    "memory_reads_new": memory(10, 18, f"if (re) q <= we ? wd : m[wa]; {STORE}"),
    "memory_holds": memory(10, 18, "if (we) m[wa] <= wd; else if (re) q <= m[wa];"),
    # The ports keep apart: which of two stores to one word wins is not defined.
    "memory_two_ports": Design({"aa": 9, "ab": 9, "da": 18, "db": 18, "wa": 1, "wb": 1}, {"qa": 18, "qb": 18}, """
        (* ram_style = "block" *) reg [17:0] m [0:1023];
        initial $readmemh("18x1024.hex", m);
        initial {qa, qb} = 0;
        always @(posedge clk) begin if (wa) m[{1'b0, aa}] <= da; else qa <= m[{1'b0, aa}]; end
        always @(posedge clk) begin if (wb) m[{1'b1, ab}] <= db; else qb <= m[{1'b1, ab}]; end"""),
    "memory_two_widths": Design({"ra": 11, "wa": 10, "wd": 32, "we": 1, "re": 1}, {"q": 16}, """
        (* ram_style = "block" *) reg [15:0] m [0:2047];
        initial $readmemh("16x2048.hex", m);
        initial q = 0;
        always @(posedge clk) begin
          if (we) begin m[{wa, 1'b0}] <= wd[15:0]; m[{wa, 1'b1}] <= wd[31:16]; end
          if (re) q <= m[ra];
        end"""),
    "product": Design({"a": 32, "b": 32}, {"s": 64, "u": 64, "m": 64, "n": 36}, """
        initial {s, u, m, n} = 0;
        always @(posedge clk) begin
          s <= $signed(a) * $signed(b);
          u <= a * b;
          m <= $signed(a) * $signed({1'b0, b});
          n <= $signed(a[17:0]) * $signed(b[17:0]);
        end""", {"MULT18X18D", "CCU2C"}),
    "registers": Design({"d": 8, "en": 1, "rst": 1}, {"a": 8, "b": 8, "c": 8, "n": 16}, """
        reg [3:0] m [0:15];
        integer i;
        initial for (i = 0; i < 16; i = i + 1) m[i] = i ^ 4'h9;
        initial begin a = 8'ha5; b = 8'h3c; c = 8'hff; n = 16'hbeef; end
        always @(posedge clk) begin
          if (en) a <= d;
          if (rst) b <= 8'h5a; else if (en) b <= b + d;
          if (d[0]) m[d[7:4]] <= d[3:0];
          c <= {m[d[5:2]], c[7:4]};
          n <= n * 5 + d;
        end""", {"TRELLIS_FF", "TRELLIS_DPR16X4", "LUT4", "CCU2C"}),
}

# (design that shows it, cell, text in its model, its replacement)
FAULTS = [
    ("memory_9x2048", "DP16KD", "18'h1ff << (9 * address[3])", "18'h1ff << (9 * address[4])"),
    ("memory_4x4096", "DP16KD", "18'hf << (9 * address[3] + 4 * address[2])", "18'hf << 4 * address[3:2]"),
    ("memory_36x512", "DP16KD", "DATA_WIDTH_B == 36 ? qb[17:0] : qa[17:0]", "qa[17:0]"),
    ("memory_18x1024", "DP16KD", "{INIT[40 * i + 20 +: 18], INIT[40 * i +: 18]}", "INIT[36 * i +: 36]"),
    ("memory_byte_enables_36", "DP16KD", "{9{address[3]}}, {9{address[2]}}", "{9{address[2]}}, {9{address[3]}}"),
    ("memory_byte_enables_18", "DP16KD", "write ? {{9{address[1]}}, {9{address[0]}}}", "write ? {18{address[0]}}"),
    ("memory_reset", "DP16KD", "if (RSTB) qb <= 0;", "if (RSTB & CEB) qb <= 0;"),
    ("memory_holds", "DP16KD", "(~WEA |", "(1 |"),
    ("product", "MULT18X18D", "SIGNEDA & A17", "A17"),
    ("product", "MULT18X18D", "product[35:0]", "{product[35:1], 1'b0}"),
]


# Side by side ---------------------------------------------------------------------------------------------------------

MAIN = """
#include "Vtop.h"
#include <random>

int main()
{
    std::mt19937 random(1);
    Vtop top;
    for (int cycle = 0; cycle < %d; cycle++) {
        for (auto &word : top.random.m_storage)
            word = random();
        top.few = cycle / 500 %% 2;
        for (int clk : {0, 1}) {
            top.clk = clk;
            top.eval();
        }
    }
    top.final();
}
"""


@cache
def synthesised():
    """The netlist of each design, by name."""
    ports, instances = [], []
    for name, design in DESIGNS.items():
        connect = [f".{port}({name}_{port})" for port in (*design.inputs, *design.outputs)]
        ports += [f"input [{width - 1}:0] {name}_{port}" for port, width in design.inputs.items()]
        ports += [f"output [{width - 1}:0] {name}_{port}" for port, width in design.outputs.items()]
        instances.append(f"{name} i_{name}(.clk(clk), {', '.join(connect)});\n")
    text = "".join(design.verilog(name) for name, design in DESIGNS.items())
    text += f"module designs(input clk, {', '.join(ports)});\n{''.join(instances)}endmodule\n"
    files = {**contents(), "designs.v": text}
    script = "read_verilog designs.v; synth_ecp5 -top designs -abc9 -noflatten; write_verilog -noattr netlist.v"

    def synthesise(folder):
        for name, content in files.items():
            (folder / name).write_text(content)
        _, error = run("yosys", ["-q", "-p", script], folder, "cells-yosys.log")
        assert not error, error

    folder = cached("cells-netlist", {**files, "script": script, "tool": version("yosys")}, synthesise)
    made = (folder / "netlist.v").read_text()
    return {name: re.search(rf"^module {name}\(.*?^endmodule\n", made, re.M | re.S)[0] for name in DESIGNS}


def renamed(text, **names):
    """Verilog with modules and cells of other names."""
    for old, new in names.items():
        text = re.sub(rf"^( *|module ){old}\b", rf"\g<1>{new}", text, flags=re.M)
    return text


def side_by_side():
    """Files in which module `top` counts the cycles in which a netlist differs from its design, and prints them by the
    names of the designs; those with fault n as `fault<n>`."""
    nets, cells = synthesised(), models()
    variants = {name: name for name in DESIGNS}
    files = {"designs.v": "".join(design.verilog(f"rtl_{name}") for name, design in DESIGNS.items()),
             "netlists.v": "".join(nets.values()), **cells, **contents()}
    for n, (name, cell, old, new) in enumerate(FAULTS):
        model = cells[f"{cell}.v"]
        assert old in model, f"fault {n} cannot be planted: the model has no '{old}'"
        files[f"fault{n}.v"] = (renamed(model.replace(old, new), **{cell: f"{cell}_{n}"})
                                + renamed(nets[name], **{cell: f"{cell}_{n}", name: f"fault{n}"}))
        variants[f"fault{n}"] = name

    lines = ["module top(input clk, input few, input [127:0] random);"]
    for name, design in DESIGNS.items():
        connect, bit = "", 0
        for port, width in design.inputs.items():
            mask = f" & {{{{{width}{{~few}}}} | {width}'d3}}" if port in ADDRESSES and width > 1 else ""
            connect += f".{port}(random[{bit} +: {width}]{mask}), "
            bit += width
        total = sum(design.outputs.values())
        for module, result in [(f"rtl_{name}", f"{name}_rtl"),
                               *((variant, variant) for variant, of in variants.items() if of == name)]:
            outputs = ", ".join(f".{port}({result}_{port})" for port in design.outputs)
            lines += [f"wire [{width - 1}:0] {result}_{port};" for port, width in design.outputs.items()]
            lines.append(f"{module} i_{result}(.clk(clk), {connect}{outputs});")
            together = ", ".join(f"{result}_{port}" for port in design.outputs)
            lines.append(f"wire [{total - 1}:0] {result}_all = {{{together}}};")
    for variant, name in variants.items():
        lines.append(f"integer {variant}_wrong = 0;")
        lines.append(f"always @(negedge clk) {variant}_wrong <= {variant}_wrong + ({variant}_all != {name}_rtl_all);")
        lines.append(f'final $display("{variant} %0d", {variant}_wrong);')
    files["top.v"] = "\n".join([*lines, "endmodule\n"])
    return files


@pytest.fixture(scope="module")
def differences():
    """Cycles in which each netlist differed from its design, by name."""
    files = {**side_by_side(), "main.cpp": MAIN % CYCLES}

    def build(folder):
        for name, text in files.items():
            (folder / name).write_text(text)
        sources = [name for name in files if not name.endswith(".hex")]
        subprocess.run([find("verilator"), "--cc", "--exe", "--build", "-O3", "-Wno-fatal", "-Wno-lint", "-Wno-style",
                        "-CFLAGS", "-O0", "--top-module", "top", "--Mdir", ".", *sources], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, "OBJCACHE": ""})

    folder = cached("cells", files, build)
    output = subprocess.run([folder / "Vtop"], cwd=folder, check=True, text=True, stdout=subprocess.PIPE).stdout
    return {name: int(count) for name, count in re.findall(r"^(\w+) (\d+)$", output, re.M)}


@pytest.mark.parametrize("name", DESIGNS)
def test_netlist_is_like_its_design(name, differences):
    used = set(re.findall(r"^  ([A-Z]\w+) (?:#|\w|\\)", synthesised()[name], re.M))
    assert DESIGNS[name].cells <= used, f"synthesis made {used} of it"
    assert differences[name] == 0


@pytest.mark.parametrize("fault", range(len(FAULTS)))
def test_fault_of_a_model_is_found(fault, differences):
    assert differences[f"fault{fault}"] > 0, FAULTS[fault]
