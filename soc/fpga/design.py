"""The input of a bitstream build: a module in Verilog, the pins that it connects to, and the chip that it is for."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Design:
    """`verilog` with the module `top`, and `lpf`, which places its ports and gives the rates of input clocks.

    `device` is the chip's full name; `size`, `package` and `speed` are nextpnr's terms. `clock_hz` is the rate of the
    system clock, and the minimum for any clock for which neither `lpf` nor a PLL gives another. `cores` gives the core
    of a signal or a memory by its name in the Verilog (soc/fpga/cores.py). `apart` are the modules that are mapped
    separately, as patterns of yosys. `small` puts area before clock rate; then `in_block_ram` are the memories that are
    to be in block RAM, as patterns of yosys. Without `mfs` ABC9 omits its last step, which simplifies the mapped logic
    by don't-cares."""

    name: str
    top: str
    verilog: tuple[Path, ...]
    lpf: Path
    device: str
    size: str
    package: str
    speed: str
    clock_hz: int
    cores: dict[str, str] = field(default_factory=dict)
    apart: tuple[str, ...] = ()
    small: bool = False
    in_block_ram: tuple[str, ...] = ()
    mfs: bool = True
