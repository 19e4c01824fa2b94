"""Runs a model by itself, with a load for its harts (load.S): a simulator in which each node has a gate observes what
is active in it; and once more, to see which way its branches go."""

import re
from collections.abc import Callable
from pathlib import Path

from firmware.build import MACHINE, TOOLS, run
from sim.model.gating.activity import Watched
from sim.model.gating.write import ANEW, EDGE, WATCHED

LOAD = Path(__file__).parent / "load.S"
RESET, BOOT, CYCLES = 16, 6_000, 6_000     # cycles: of the reset; until the harts work; watched
SOURCE = "watch.cpp"
MAIN = """#include <cstdio>
#include <cstring>

#include "V{top}.h"
#include "V{top}___024root.h"

{declared}void {edge}(V{top}___024root *);
void {anew}(V{top}___024root *);

int main(int, char **arguments)
{{
    V{top} top;
    auto whole = [&top] {{
        top.sys_clk = 0;
        top.eval();
        top.sys_clk = 1;
        top.eval();
    }};
{rest}    top.sys_rst = 1;
    for (int i = 0; i < {reset}; i++)
        whole();
    top.sys_rst = 0;
{ram}    whole();
    {anew}(top.rootp);
    for (int i = 0; i < {boot}; i++)
        {edge}(top.rootp);
{measured}}}
"""
DECLARED = """extern unsigned char {watched}[];
extern const unsigned {watched}_bytes;
"""
MEASURED = """    std::FILE *out = std::fopen(arguments[1], "wb");
    if (!out)
        return 1;
    for (int i = 0; i < {cycles}; i++) {{
        std::memset({watched}, 0, {watched}_bytes);
        {edge}(top.rootp);
        std::fwrite({watched}, 1, {watched}_bytes, out);
    }}
    return std::fclose(out);
"""
COUNTED = """    for (int i = 0; i < {cycles}; i++)
        {edge}(top.rootp);
    return 0;
"""
FILL = """    std::FILE *load = std::fopen(arguments[2], "rb");
    if (!load || !std::fread(&top.rootp->{ram}[0], 1, sizeof top.rootp->{ram}, load))
        return 1;
    std::fclose(load);
"""


def watch(folder: Path, top: str, header: str, build: Callable[[Path], Path]) -> Watched:
    """The activity of the model in `folder`, whose edge was written with `watching` and has the header `header`.

    `build` compiles the source of a main program with it; passes on BuildError and CalledProcessError."""
    out = _at_work(folder, top, header, build, DECLARED, MEASURED)
    return Watched.read(out, out.stat().st_size // CYCLES)


def profile(folder: Path, top: str, header: str, build: Callable[[Path], Path]) -> Path:
    """Runs the model in `folder`, in its final form, as long as a watched one; returns the counts of its branches,
    which `build` makes clang count (-fprofile-instr-generate). Otherwise as `watch`."""
    counts = folder / "counts"
    _at_work(folder, top, header, build, "", COUNTED, "env", f"LLVM_PROFILE_FILE={counts}")
    return counts


def _at_work(folder: Path, top: str, header: str, build: Callable[[Path], Path], declared: str, measured: str,
             *by: str) -> Path:
    """Builds the program with these parts and runs it, by means of `by`; returns its output file."""
    ram = re.search(r"VlUnpacked<\w+/\*[\d:]+\*/, \d+> (\w+__DOT__main_ram_storage);", header)
    lines = re.findall(r"VL_IN8\(&?(\w+_rx),0,0\)", header)
    names = {"watched": WATCHED, "edge": EDGE, "cycles": CYCLES}
    source = folder / SOURCE
    source.write_text(MAIN.format(
        top=top, anew=ANEW, reset=RESET, boot=BOOT, edge=EDGE, declared=declared.format(**names),
        measured=measured.format(**names), rest="".join(f"    top.{line} = 1;\n" for line in lines),
        ram=FILL.format(ram=ram[1]) if ram else ""))
    load, out = folder / "load", folder / "rows"
    run(TOOLS + "gcc", *MACHINE, "-Wl,-Ttext=0x40000000", "-Wl,--build-id=none", LOAD, "-o", folder / "load.elf")
    run(TOOLS + "objcopy", "-O", "binary", folder / "load.elf", load)
    run(*by, build(source), out, load)
    return out
