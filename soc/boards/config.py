"""What a board's SoC is built from: the parameters of a SoC, the board and its FPGA."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from soc.boards.board import Board
from soc.boards.catalog import BOARDS
from soc.config import SoCConfig

VCO_HZ = (400_000_000, 800_000_000)     # of the ECP5's PLL, as in LiteX (litex/soc/cores/clock/lattice_ecp5.py)
PFD_HZ = 10_000_000
DIVIDERS = range(1, 129)


@dataclass(frozen=True)
class BoardConfig(SoCConfig):
    """Parameters of a board's SoC; `board` and `device` as in the catalog. ValueError as from SoCConfig."""

    ram_read_latency: int = 0   # beyond LiteDRAM's own
    board: str = ""
    device: str = ""
    port_registers: bool = True     # before devices, engines and accounting, as before the bus, for clock rate
    small: bool = False         # mapped for least area, at the cost of clock rate

    def __post_init__(self):
        super().__post_init__()
        board = BOARDS.get(self.board)
        sockets = 1 if board and board.sd else 0
        if self.disks > sockets:
            raise ValueError(f"disks={self.disks}: board {self.board} has {sockets or 'no'} socket for SD cards, and a "
                             f"disk controller is one's: give {sockets}")
        if self.ethers and not (board and board.ethernet):
            raise ValueError(f"ethers={self.ethers}: board {self.board} has no Ethernet: leave it out")


def board_config(name: str, device: str | None = None, **overrides: int) -> BoardConfig:
    """The default build for the board `name` with the FPGA `device` (the catalog's first one by default), with
    `overrides` of parameters of SoCConfig. ValueError, in one line, for unknown ones."""
    if name not in BOARDS:
        raise ValueError(f"there is no board '{name}' (valid: {', '.join(BOARDS)})")
    board: Board = BOARDS[name]
    device = device or next(iter(board.devices))
    if device not in board.devices:
        raise ValueError(f"board {name} has no FPGA '{device}' (valid: {', '.join(board.devices)})")
    parameters: dict[str, Any] = {"ram_mib": board.ram_mib, "disks": int(board.serves_sd(device)),
                                  "ethers": int(board.serves_ethernet(device)),
                                  **board.devices[device].parameters(), **board.parameters}
    config = BoardConfig(board=name, device=device, **{**parameters, **overrides})
    if board.oscillator_hz:
        check_clock(config.clock_hz, board.oscillator_hz, board.memory_clocks)
    if config.ram_mib > board.ram_mib:
        raise ValueError(f"ram_mib={config.ram_mib}: board {name} has {board.ram_mib}")
    return config


def check_clock(clock_hz: int, oscillator_hz: int, multiple: int):
    """ValueError, with the nearest possible rate, unless the PLL makes `multiple` times `clock_hz` exactly."""
    made = {Fraction(vco, multiple * divider) for vco in _vcos(oscillator_hz) for divider in DIVIDERS}
    if clock_hz not in made:
        nearest = min((hz for hz in made if hz.denominator == 1), key=lambda hz: (abs(hz - clock_hz), hz))
        raise ValueError(f"clock_hz={clock_hz}: the board's PLL cannot make that from {oscillator_hz / 1e6:g} MHz: "
                         f"give {nearest}")


def _vcos(oscillator_hz: int):
    """Frequencies of the PLL's oscillator, Hz."""
    for divider in DIVIDERS:
        if oscillator_hz < PFD_HZ * divider:
            return
        for factor in DIVIDERS:
            vco = Fraction(oscillator_hz * factor, divider)
            if VCO_HZ[0] <= vco <= VCO_HZ[1]:
                yield vco
