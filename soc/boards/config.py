"""What a board's SoC is built from: the parameters of a SoC, the board and its FPGA."""

import dataclasses
from dataclasses import dataclass

from soc.boards.board import Board
from soc.boards.catalog import BOARDS
from soc.config import SoCConfig


@dataclass(frozen=True)
class BoardConfig(SoCConfig):
    """Parameters of a board's SoC; `board` and `device` as in the catalog. ValueError as of SoCConfig."""

    ram_read_latency: int = 0   # beyond LiteDRAM's own
    board: str = ""
    device: str = ""


def board_config(name: str, device: str | None = None, **overrides: int) -> BoardConfig:
    """What is built for the board `name` with the FPGA `device` (the catalog's first one by default), but for
    `overrides`, parameters of SoCConfig. ValueError, in one line, for what there is not."""
    if name not in BOARDS:
        raise ValueError(f"there is no board '{name}' (valid: {', '.join(BOARDS)})")
    board: Board = BOARDS[name]
    device = device or next(iter(board.devices))
    if device not in board.devices:
        raise ValueError(f"board {name} has no FPGA '{device}' (valid: {', '.join(board.devices)})")
    parameters = {"ram_mib": board.ram_mib, **dataclasses.asdict(board.devices[device]), **board.parameters}
    config = BoardConfig(board=name, device=device, **{**parameters, **overrides})
    if config.ram_mib > board.ram_mib:
        raise ValueError(f"ram_mib={config.ram_mib}: board {name} has {board.ram_mib}")
    return config
