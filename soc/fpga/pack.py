"""From a routed chip to the file that is flashed, by ecppack."""

from pathlib import Path

from soc.fpga.design import Design
from soc.fpga.placement import GateError
from soc.fpga.tools import ToolError, run, version
from support.cache import Input, cached

BITSTREAM = "chip.bit"


def pack(design: Design, placement: Path) -> Path:
    """The bitstream, compressed, of a placement that meets its clocks. GateError for one that does not."""
    config = placement / "chip.config"
    if not config.exists():
        raise GateError(f"{design.name} misses a clock: there is nothing to make a bitstream of")

    arguments = ["--compress", config.name, BITSTREAM]

    def build(folder: Path):
        (folder / config.name).write_bytes(config.read_bytes())
        _, error = run("ecppack", arguments, folder, f"{design.name}-ecppack.log")
        if error:
            raise ToolError(error)
        (folder / config.name).unlink()

    inputs: dict[str, Input] = {"config": config, "arguments": repr(arguments), "tool": version("ecppack")}
    return cached("fpga-bitstream", inputs, build) / BITSTREAM
