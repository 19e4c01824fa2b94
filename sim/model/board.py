"""Builds the simulator of the simulated board, or finds the one built before: `python -m sim.model.board --harts 2`."""

import argparse
import dataclasses
from pathlib import Path

from sim.model.build import build_model, print_built
from sim.model.toolchain import tool_versions
from soc.boards.build import generate_board
from soc.config import SoCConfig

BOARD = "sim"


def build_board(waves: bool = False, device: str | None = None, **overrides: int) -> Path:
    """The simulator of the board `sim`, an executable file, built if it is not in the cache.

    `device` (the kind of memory) and `overrides` as in soc.boards.build.generate_board. ValueError as from that,
    otherwise as sim.model.build.build_simulator."""
    versions = tool_versions()
    board = generate_board(BOARD, device, **overrides)
    return build_model([*board.verilog, board.vlt], board.description["clock_hz"], waves, versions, board.idle)


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.model.board",
                                     description="Build the simulator of the simulated board and print its path.")
    for field in dataclasses.fields(SoCConfig):
        parser.add_argument("--" + field.name.replace("_", "-"), type=field.type, dest=field.name,
                            metavar="N" if field.type is int else "WORD")
    parser.add_argument("--device", help="the kind of memory: sdr (default) or ddr3")
    parser.add_argument("--waves", action="store_true", help="can write FST waves; slower")
    options = {name: value for name, value in vars(parser.parse_args()).items() if value is not None}
    print_built(parser, lambda: build_board(**options))


if __name__ == "__main__":
    main()
