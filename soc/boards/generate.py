"""Generates the files of a board's SoC into a folder: `python -m soc.boards.generate FOLDER PARAMETERS`.
`soc.boards.build` runs it as a process of its own."""

import argparse
import importlib
import json
import re
import shutil
from pathlib import Path

from litedram.init import get_sdram_phy_c_header

from firmware.build import build_rom, rom_words
from hw.common.memory import block_rams, with_block_rams
from soc.boards.catalog import BOARDS
from soc.boards.config import BoardConfig
from soc.fingerprint import signed
from soc.fpga.cores import cores_of
from soc.generate import undated, verilog, write_headers
from soc.reference import reference
from soc.sim import TOP

# LiteX's tree of modules, a comment: vendor cells are in another order each time.
HIERARCHY = re.compile(r"^[│└].*\n", re.MULTILINE)


def generate(config: BoardConfig, folder: Path, target: type | None = None):
    """Fill `folder` with all that BoardArtifacts names; `target` replaces the board's own class."""
    target = target or importlib.import_module(f"soc.boards.{BOARDS[config.board].module}").Target
    soc = target(config)
    soc.finalize()
    include = folder / "include"
    write_headers(soc, config, include)
    settings = soc.sdram.controller.settings
    (include / "generated" / "sdram_phy.h").write_text(
        undated(get_sdram_phy_c_header(settings.phy, settings.timing, settings.geom)))

    regions = {name: (soc.map[name].origin, soc.map[name].size) for name in ("rom", "sram")}
    rom = build_rom(include, regions)
    for name in ("rom.elf", "rom.bin"):
        shutil.copy(rom / name, folder)
    soc.init_rom("rom", rom_words(rom))

    text, names = verilog(soc)
    text = with_block_rams(HIERARCHY.sub("", text), block_rams(soc, names.get_name))
    cluster = next(Path(path) for path, *_ in soc.platform.sources if Path(path).name == "InterlockCluster.v")
    shutil.copy(cluster, folder / "cluster.v")
    text, fingerprint = signed(text, cluster.read_bytes())
    (folder / f"{TOP}.v").write_text(text)
    (folder / "fingerprint").write_text(f"{fingerprint:016x}\n")
    description = {"name": config.board, "clock_hz": config.clock_hz, "harts": config.harts, "ram_mib": config.ram_mib,
                   "baud": soc.board.baud, "fingerprint": f"{fingerprint:016x}", **soc.describe_device()}
    (folder / "board.json").write_text(json.dumps(description, indent=1) + "\n")
    (folder / "registers.md").write_text(reference(soc, config, fingerprint))
    (folder / "cores.json").write_text(json.dumps(cores_of(soc, names.get_name), indent=0, sort_keys=True) + "\n")
    soc.write_target(names, folder)


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.boards.generate", description=__doc__.split(":")[0])
    parser.add_argument("folder", type=Path, help="an empty folder")
    parser.add_argument("parameters", help="of soc.boards.config.BoardConfig, JSON")
    options = parser.parse_args()
    generate(BoardConfig(**json.loads(options.parameters)), options.folder)


if __name__ == "__main__":
    main()
