"""Synthesis: from a design's Verilog to a netlist of the chip's cells, by yosys."""

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from hw.common.cache import cached
from soc.fpga.design import Design
from soc.fpga.tools import ToolError, run, version

PASS = re.compile(r"^(\d+(?:\.\d+)*)\. Executing (\w+)")


@dataclass(frozen=True)
class SynthesisOptions:
    """How yosys maps logic. Each changes area and clock rate, none what the circuit does."""

    dff: bool = False          # let ABC9 see across registers
    nowidelut: bool = False    # no look-up tables joined by the chip's multiplexers

    def arguments(self) -> str:
        return " ".join(f"-{name}" for name, wanted in asdict(self).items() if wanted)


def stage(line: str) -> str | None:
    """The pass that yosys begins in this line of its log."""
    found = PASS.match(line)
    return f"pass {found.group(1)} {found.group(2)}" if found else None


def synthesise(design: Design, options: SynthesisOptions = SynthesisOptions()) -> Path:
    """A folder with the netlist `netlist.json` and its cost, `synthesis.json`; minutes when it has to be made.

    soc.fpga.tools.ToolError if yosys is missing or fails."""
    names = [f"{i}-{path.name}" for i, path in enumerate(design.verilog)]
    script = "\n".join([f"read_verilog {' '.join(names)}",
                        f"synth_ecp5 -top {design.top} {options.arguments()} -json netlist.json", ""])

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
