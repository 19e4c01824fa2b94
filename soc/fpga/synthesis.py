"""Synthesis: from a design's Verilog to a netlist of the chip's cells, by yosys."""

import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from soc.fpga.design import Design
from soc.fpga.tools import ToolError, run, version
from support.cache import cached

SLOWEST_PS = 7000      # of a path, by ABC9's estimate, that may save area; two harts on a 45F took 24 ns
# ABC9's own script (yosys, `help abc9_exe`) but for its last command, &mfs.
WITHOUT_MFS = "+&scorr;,&sweep;,&dc2;,&dch,-f,-r;,&ps;,&if,{W},{D},{R},-v"
PASS = re.compile(r"^(\d+(?:\.\d+)*)\. Executing (\w+)")


@dataclass(frozen=True)
class SynthesisOptions:
    """How yosys maps logic. Each changes area and clock rate, none the circuit's function."""

    dff: bool = False          # let ABC9 see across registers
    nowidelut: bool = False    # no look-up tables joined by the chip's multiplexers
    # Map the design's modules `apart` separately: ABC9 saves area until each path of what it maps at once is as slow as
    # the slowest one there, and that may be outside the CPU.
    apart: bool = True

    def script(self, design: Design, files: Sequence[str]) -> str:
        """The commands for yosys to make `netlist.json` from the Verilog in `files`."""
        arguments = {f"-{name}" for name in ("dff", "nowidelut") if getattr(self, name)}
        read = [f"read_verilog {' '.join(files)}"]
        if not design.mfs:
            read.append(f"scratchpad -set abc9.script {WITHOUT_MFS}")
        if design.small:
            # Multiplexers join tables that then have to be adjacent: unfit for a chip that is nearly full.
            arguments |= {"-cmp2softlogic", "-nowidelut"}
            read += [f"scratchpad -set abc9.D {SLOWEST_PS}",
                     *(f'setattr -set ram_style "block" {memories}' for memories in design.in_block_ram)]
        synthesis = f"synth_ecp5 -top {design.top} {' '.join(sorted(arguments))}"
        if not (self.apart and design.apart):
            return "\n".join([*read, f"{synthesis} -json netlist.json", ""])
        modules = " ".join(design.apart)
        return "\n".join([
            *read,
            f"setattr -mod -set keep_hierarchy 1 {modules}",
            synthesis,
            f"setattr -mod -unset keep_hierarchy {modules}",
            "flatten",
            "opt_clean",
            "write_json netlist.json",
            "",
        ])


def stage(line: str) -> str | None:
    """The pass that yosys begins in this line of its log."""
    found = PASS.match(line)
    return f"pass {found.group(1)} {found.group(2)}" if found else None


def synthesise(design: Design, options: SynthesisOptions = SynthesisOptions()) -> Path:
    """A folder with the netlist `netlist.json` and its cost, `synthesis.json`; minutes when it has to be made.

    soc.fpga.tools.ToolError if yosys is missing or fails."""
    names = [f"{i}-{path.name}" for i, path in enumerate(design.verilog)]
    script = options.script(design, names)

    def build(folder: Path):
        for name, path in zip(names, design.verilog, strict=True):
            shutil.copy(path, folder / name)
        (folder / "synthesis.ys").write_text(script)
        cost, error = run("yosys", ["synthesis.ys"], folder, f"{design.name}-yosys.log", stage)
        if error:
            raise ToolError(error)
        for name in names:
            (folder / name).unlink()
        (folder / "synthesis.json").write_text(json.dumps({"tool": version("yosys"), **asdict(cost)}))

    inputs = {name: path.read_bytes() for name, path in zip(names, design.verilog, strict=True)}
    return cached("fpga-netlist", inputs | {"script": script, "tool": version("yosys")}, build)
