"""Makes a board's bitstream: `python -m soc.boards.bitstream ulx3s --harts 2`. No file if a clock is missed."""

import argparse
import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from soc.boards.build import BoardArtifacts, add_options, config_of, generate_config
from soc.boards.catalog import BOARDS
from soc.boards.config import BoardConfig
from soc.build import told_in_a_line
from soc.fpga.design import Design
from soc.fpga.pack import pack
from soc.fpga.placement import ROUTERS, GateError, PlacementOptions, count, place
from soc.fpga.report import figures, summary
from soc.fpga.synthesis import SynthesisOptions, synthesise
from soc.fpga.tools import ToolError, say
from soc.sim import TOP
from support.cache import build_root, digest

MOST_SEEDS = 100
CLUSTER = "InterlockCluster"      # the module of the harts and their interconnect
HARTS = "VexRiscv*"
TAGS = "*/m:ways_*_tags"          # of the harts' caches


def board_folder(board: str) -> Path:
    """The folder of a board's bitstream, `<board>.bit`, with `board.json`, which describes its SoC, and the figures of
    the build, `record.json`."""
    return build_root() / "boards" / board


def records_folder() -> Path:
    """The figures of the latest build of each configuration, `<name>.json`."""
    return build_root() / "boards" / "records"


def design_of(artifacts: BoardArtifacts, config: BoardConfig) -> Design:
    """A board's SoC as the input of a bitstream build. ValueError for a simulated board."""
    what = artifacts.description
    if not what.get("package"):
        raise ValueError(f"board {config.board} has no FPGA to make a bitstream for: 'make boards' lists those that do")
    chip = {key: what[key] for key in ("device", "size", "package", "speed", "clock_hz")}
    name = f"{config.board}-{config.device}-{config.harts}-{config.clock_hz / 1e6:g}"
    # Between several harts there are longer paths than in each of them.
    apart = (CLUSTER, HARTS) if config.harts > 1 else (CLUSTER,)
    return Design(name, TOP, tuple(artifacts.verilog), artifacts.constraints, cores=artifacts.cores, apart=apart,
                  small=config.small, in_block_ram=(TAGS,), mfs=BOARDS[config.board].devices[config.device].mfs, **chip)


def make_bitstream(config: BoardConfig, synthesis: SynthesisOptions, placements: Sequence[PlacementOptions]) -> Path:
    """The bitstream of a board's SoC: `build/boards/<board>/<board>.bit`. Minutes, unless it is in the cache.

    The placements are tried in order until one meets every clock. GateError if none does, or if the chip has no room:
    then there is no bitstream of this board, not even an older one. Raises ToolError, and what `generate_config` does.
    """
    folder = board_folder(config.board)
    bitstream = folder / f"{config.board}.bit"
    folder.mkdir(parents=True, exist_ok=True)
    for older in (bitstream, folder / "board.json"):
        older.unlink(missing_ok=True)

    artifacts = generate_config(config)
    design = design_of(artifacts, config)
    netlist = synthesise(design, synthesis)
    best: dict | None = None
    for options in placements:
        placement = place(design, netlist, options)
        record = record_of(config, artifacts, asdict(synthesis) | asdict(options), figures(design, netlist, placement))
        say(f"seed {options.seed}: {summary(record)}")
        if best is None or record["margin"] > best["margin"]:
            best = record
        if record["met"] or not record["fits"]:
            break
    assert best, "there is at least one placement to try"
    write_record(best, folder)
    if not best["fits"]:
        raise GateError(f"{design.name} does not fit {design.device}: {summary(best)}; give fewer HARTS or a larger "
                          "DEVICE")
    if not best["routed"]:
        raise GateError(f"{design.name} cannot be routed: {summary(best)}; give fewer HARTS, a larger DEVICE, or more "
                          "SEEDS to try")
    if not best["met"]:
        raise GateError(f"{design.name} misses timing: {summary(best)}; give a lower CLOCK, fewer HARTS, or more "
                          "SEEDS to try")
    packed = pack(design, placement)
    shutil.copy(artifacts.dir / "board.json", folder)
    shutil.copy(packed, bitstream.with_suffix(".part"))
    bitstream.with_suffix(".part").rename(bitstream)
    return bitstream


def count_use(config: BoardConfig, synthesis: SynthesisOptions) -> str:
    """A board's use of the chip, in one line, from synthesis and packing alone; also writes a record, unless there is
    one of a whole build. GateError if the chip has no room; ToolError, and what `generate_config` raises."""
    artifacts = generate_config(config)
    design = design_of(artifacts, config)
    netlist = synthesise(design, synthesis)
    record = record_of(config, artifacts, asdict(synthesis) | asdict(PlacementOptions()),
                       figures(design, netlist, count(design, netlist)))
    path = record_path(record)
    if not (path.exists() and tried(json.loads(path.read_text()))):
        save(record, path)
    if not record["fits"]:
        raise GateError(f"{design.name} does not fit {design.device}: {summary(record)}")
    return ", ".join(f"{use['used']} {column.upper()} of {use['available']}" for column, use in record["use"].items())


def tried(record: dict) -> bool:
    """Whether a record is of a whole build, and not of counting alone."""
    return record["routed"] or bool(record.get("conflicts"))


def record_of(config: BoardConfig, artifacts: BoardArtifacts, options: dict, found: dict) -> dict:
    """The record of a build: what was built, how, and the figures `found`."""
    return {"board": config.board, "harts": config.harts, "parameters": asdict(config),
            "fingerprint": artifacts.description["fingerprint"], "options": options, **found}


def record_path(record: dict) -> Path:
    """The path of the record of the same configuration and options, whatever the seed."""
    options = {name: value for name, value in record["options"].items() if name != "seed"}
    key = digest({"parameters": repr(record["parameters"]), "options": repr(options)})[:8]
    return records_folder() / f"{record['name']}-{key}.json"


def save(record: dict, path: Path):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(record, indent=1) + "\n")


def write_record(record: dict, folder: Path):
    """The figures of a build, beside its bitstream and among the records, in place of an older one of the same."""
    for path in folder / "record.json", record_path(record):
        save(record, path)


def seeds_of(text: str) -> tuple[int, ...]:
    """The seeds 1 to N, N from the command line."""
    if not text.isdecimal() or not 1 <= int(text) <= MOST_SEEDS:
        raise argparse.ArgumentTypeError(f"'{text}': give a number from 1 to {MOST_SEEDS}")
    return tuple(range(1, int(text) + 1))


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.boards.bitstream",
                                     description="Make a board's bitstream, print where it lies.")
    add_options(parser)
    parser.add_argument("--clock", type=float, metavar="MHZ", help="system clock (default: the catalog's)")
    parser.add_argument("--count", action="store_true",
                        help="make none, only tell how much of the chip it would use")
    parser.add_argument("--seeds", type=seeds_of, default=(1,), metavar="N",
                        help="placements to try until one meets every clock (default 1)")
    parser.add_argument("--placer", choices=("heap", "static"), default=PlacementOptions.placer, help="nextpnr's")
    parser.add_argument("--router", choices=ROUTERS, default=PlacementOptions.router, help="nextpnr's")
    parser.add_argument("--dff", action="store_true", help="let yosys' ABC9 see across registers")
    parser.add_argument("--together", action="store_true", help="let yosys map the CPU cluster together with the rest")
    parser.add_argument("--nowidelut", action="store_true", help="let yosys join no look-up tables by multiplexers")
    options = parser.parse_args()
    if options.clock is not None:
        options.clock_hz = round(options.clock * 1e6)
    synthesis = SynthesisOptions(options.dff, options.nowidelut, not options.together)
    placements = [PlacementOptions(seed, options.placer, options.router) for seed in options.seeds]
    with told_in_a_line("SoC", ToolError, GateError, ValueError):
        config = config_of(options)
        print(count_use(config, synthesis) if options.count else make_bitstream(config, synthesis, placements))


if __name__ == "__main__":
    main()
