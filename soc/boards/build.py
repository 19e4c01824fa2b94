"""Generates the SoC of a board, or finds the one generated before: `python -m soc.boards.build ulx3s --harts 2`."""

import argparse
import dataclasses
import json
import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

from firmware.build import compiler_version
from hw.cpu.generate import generate_cluster
from soc.boards.config import BoardConfig, board_config
from soc.build import SoCArtifacts, told_in_a_line
from support.cache import REPO, cached

PARAMETERS = [field for field in dataclasses.fields(BoardConfig) if field.name not in ("board", "device")]
GENERATORS = ("litedram", "liteeth", "litesdcard", "litex-boards")  # in addition to those of every SoC


class BoardArtifacts(SoCArtifacts):
    """A board's SoC; `include` has sdram_phy.h too. Simulated boards have `vlt` and `idle`, others
    `constraints`."""

    @property
    def constraints(self) -> Path:
        """Pins and clocks, for nextpnr (.lpf)."""
        return self.dir / "interlock.lpf"

    @property
    def cores(self) -> dict[str, str]:
        """Which core each signal and memory of the Verilog belongs to (soc/fpga/cores.py)."""
        return json.loads((self.dir / "cores.json").read_text())

    @property
    def rom_image(self) -> Path:
        """The boot ROM's bytes."""
        return self.dir / "rom.bin"

    @property
    def description(self) -> dict:
        """Its description: `name`, `clock_hz`, `harts`, `ram_mib`, `baud`, `fingerprint` (16 hex digits), `device`; and
        of an FPGA `size`, `speed` and `package` in nextpnr's terms."""
        return json.loads((self.dir / "board.json").read_text())


def generate_config(config: BoardConfig) -> BoardArtifacts:
    """The SoC of `config`. Raises what `soc.build.generate_soc` does."""
    def build(folder: Path):
        generate_cluster(**vars(config.cluster()))  # here, where its progress and its errors are visible
        command = [sys.executable, "-m", "soc.boards.generate", str(folder), json.dumps(dataclasses.asdict(config))]
        # LiteX iterates over sets: a fixed hash seed fixes their order.
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        subprocess.run(command, cwd=REPO, env=environment, text=True, check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)

    inputs = {"origin": config.origin(), "compiler": compiler_version()}
    inputs |= {package: metadata.version(package) for package in GENERATORS}
    return BoardArtifacts(cached("board", inputs, build))


def generate_board(name: str, device: str | None = None, **overrides: int) -> BoardArtifacts:
    """The SoC of the board `name`, generated if it is not in the cache: seconds, or minutes with its CPU cluster.

    `device` and `overrides` as in `board_config`. ValueError as from that, and what `soc.build.generate_soc` raises."""
    return generate_config(board_config(name, device, **overrides))


def add_options(parser: argparse.ArgumentParser):
    """Adds `board`, `--device`, and an option for each parameter of a board's SoC, whose default is the
    catalog's."""
    parser.add_argument("board", help="see `python -m soc.boards`")
    parser.add_argument("--device", help="the FPGA's size, such as 45F (default: the catalog's first)")
    for field in PARAMETERS:
        kinds: dict[Any, dict[str, Any]] = {
            bool: {"action": argparse.BooleanOptionalAction}, int: {"type": int, "metavar": "N"},
            str: {"metavar": "WORD"}}
        parser.add_argument("--" + field.name.replace("_", "-"), **kinds[field.type])


def config_of(options: argparse.Namespace) -> BoardConfig:
    """The configuration from the options of `add_options`. ValueError as from `board_config`."""
    overrides = {field.name: getattr(options, field.name) for field in PARAMETERS}
    return board_config(options.board, options.device,
                        **{name: value for name, value in overrides.items() if value is not None})


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.boards.build",
                                     description="Generate a board's SoC, print its folder.")
    add_options(parser)
    try:
        config = config_of(parser.parse_args())
    except ValueError as error:
        parser.error(str(error))
    with told_in_a_line():
        print(generate_config(config).dir)


if __name__ == "__main__":
    main()
