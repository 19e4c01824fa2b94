"""What nextpnr needs to know of a LiteX platform: the chip, the pins' places, and the rates of input clocks."""

import contextlib
from pathlib import Path


def describe_device(platform) -> dict:
    """The FPGA: `device` (its full name), and `size`, `speed` and `package` in nextpnr's terms."""
    toolchain = platform.toolchain
    _, _, speed, package = toolchain.nextpnr_ecp5_parse_device(platform.device)
    size = toolchain.nextpnr_ecp5_architectures["-".join(platform.device.lower().split("-")[:2])]
    return {"device": platform.device, "size": size, "speed": speed, "package": package}


def write_constraints(platform, names, folder: Path, top: str):
    """Write `<top>.lpf` to `folder`: the places of the Verilog's pins, whose names are in `names`, and the rates of the
    input clocks."""
    toolchain = platform.toolchain
    toolchain.named_sc, toolchain.named_pc = platform.resolve_signals(names)
    toolchain._build_name = top
    with contextlib.chdir(folder):
        toolchain.build_io_constraints()
