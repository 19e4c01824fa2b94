"""The input of a bitstream build: a module in Verilog, the pins that it connects to, and the chip that it is for."""

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Design:
    """`verilog` with the module `top`, and `lpf`, which places its ports and gives the rates of clocks that come in.

    `device` is the chip's full name; `size`, `package` and `speed` are what nextpnr calls it. `clock_hz` is the rate of
    the system clock, and the least that any clock has to reach for which neither `lpf` nor a PLL says another. `cores`
    gives the core of a signal or a memory by its name in the Verilog (soc/fpga/cores.py). `apart` are the modules that
    are mapped by themselves, as patterns of yosys. `small` has area come before clock rate; then `in_block_ram` are
    the memories that are to lie in block RAM, as patterns of yosys. Without `mfs` ABC9 leaves out its last step, which
    simplifies what is mapped by don't-cares."""

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
