"""Makes the bitstream of the interrupt controller's own board: `python -m soc.boards.picchip colorlight_i5`. It goes
with a SoC that has the controller behind pins, such as the board `ulx3s_pins`."""

import argparse
import importlib
import json
import os
import shutil
import subprocess
import sys
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import Cat, ClockDomain, If, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

from hw.common.memory import block_rams, with_block_rams
from hw.pic.pins import PICChip
from hw.pic.registers import MAX_HARTS
from soc.boards.bitstream import board_folder, write_record
from soc.boards.build import GENERATORS
from soc.boards.catalog import BOARDS
from soc.boards.clocks import EXACT
from soc.boards.config import check_clock
from soc.boards.lattice import describe_device, write_constraints
from soc.boards.pic_wires import FROM_SOC, request_wires
from soc.build import told_in_a_line
from soc.config import SoCConfig
from soc.fpga.cores import cores_of
from soc.fpga.design import Design
from soc.fpga.pack import pack
from soc.fpga.placement import GateError, PlacementOptions, place
from soc.fpga.report import figures, summary
from soc.fpga.synthesis import SynthesisOptions, synthesise
from soc.fpga.tools import ToolError, say
from soc.generate import undated
from support.cache import REPO, cached

TOP = "picchip"
CLOCK_HZ = 50_000_000      # hw/pic/pins/README.md: between two thirds of the SoC's clock and one and a half times it
BLINK_CYCLES = 1 << 22     # that the LED stays lit for a message


@dataclass(frozen=True)
class ChipConfig:
    """`board` and `device` as in the catalog; ValueError in one line for a chip that cannot be built."""

    board: str
    device: str = ""
    harts: int = 4
    clock_hz: int = CLOCK_HZ

    def __post_init__(self):
        if self.board not in FROM_SOC:
            raise ValueError(f"board '{self.board}' has no pins for the wires (valid: {', '.join(FROM_SOC)})")
        devices = BOARDS[self.board].devices
        if not self.device:
            object.__setattr__(self, "device", next(iter(devices)))
        if self.device not in devices:
            raise ValueError(f"board {self.board} has no FPGA '{self.device}' (valid: {', '.join(devices)})")
        if not 1 <= self.harts <= MAX_HARTS:
            raise ValueError(f"harts={self.harts}: give a whole number from 1 to {MAX_HARTS}")
        check_clock(self.clock_hz, BOARDS[self.board].oscillator_hz, 1)

    @property
    def name(self) -> str:
        return f"{self.board}_pic"


class Clocks(LiteXModule):
    """Clock domain `sys` of `clock_hz` from the board's oscillator; it is reset until the PLL has locked."""
    def __init__(self, platform, pin_hz, clock_hz):
        self.cd_sys = ClockDomain()

        # # #

        self.pll = pll = ECP5PLL()
        pll.register_clkin(platform.request(platform.default_clk_name), pin_hz)
        pll.create_clkout(self.cd_sys, clock_hz, with_reset=False, margin=EXACT)
        self.specials += AsyncResetSynchronizer(self.cd_sys, ~pll.locked)


class PICBoard(LiteXModule):
    """The controller's chip on a board. LED 0 is lit while the SoC has joined; the next one, if any, when messages
    come."""
    def __init__(self, config: ChipConfig):
        board = BOARDS[config.board]
        # Only for its platform and LEDs: no SoC is made.
        target = importlib.import_module(f"soc.boards.{board.module}").Target
        self.platform = platform = target.make_platform(self, config)

        # # #

        self.crg  = Clocks(platform, board.oscillator_hz, config.clock_hz)
        self.chip = chip = PICChip(config.harts, request_wires(platform, config.board, controller=True),
                                   config.clock_hz)
        lit = Signal(max=BLINK_CYCLES)
        self.sync += If(chip.busy,
            lit.eq(BLINK_CYCLES - 1)
        ).Elif(lit != 0,
            lit.eq(lit - 1)
        )
        self.board = board
        self.comb += target.led_pads(self).eq(Cat(chip.joined, lit != 0))

    def inverted(self, pads):
        """As in soc.boards.soc.BoardSoC."""
        leds = Signal(len(pads))
        self.comb += [pad.eq(~leds[i]) for i, pad in enumerate(pads)]
        return leds


def generate(config: ChipConfig, folder: Path):
    """Fill `folder` with the Verilog, nextpnr's constraints, the chip's description, and each signal's core."""
    top = PICBoard(config)
    fragment = top.get_fragment()
    top.platform.finalize(fragment)
    output = top.platform.get_verilog(fragment, name=TOP)
    text = with_block_rams(undated(output.main_source), block_rams(top.chip, output.ns.get_name))
    (folder / f"{TOP}.v").write_text(text)
    write_constraints(top.platform, output.ns, folder, TOP)
    (folder / "board.json").write_text(json.dumps({
        "name": config.name, "harts": config.harts, "clock_hz": config.clock_hz, **describe_device(top.platform)}))
    (folder / "cores.json").write_text(json.dumps(cores_of(top.chip, output.ns.get_name), indent=0, sort_keys=True))


def generate_chip(config: ChipConfig) -> Path:
    """A folder with what `generate` makes. subprocess.CalledProcessError with the log as its output if that fails."""
    def build(folder: Path):
        # LiteX keeps state and iterates over sets: a process of its own, and a fixed hash seed.
        command = [sys.executable, "-m", "soc.boards.picchip", "--into", str(folder), *arguments(config)]
        subprocess.run(command, cwd=REPO, env=os.environ | {"PYTHONHASHSEED": "0"}, text=True, check=True,
                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    inputs = {"config": repr(config), "origin": SoCConfig().origin()}
    return cached("picchip", inputs | {package: metadata.version(package) for package in GENERATORS}, build)


def arguments(config: ChipConfig) -> list[str]:
    """The command line for `config`."""
    return [config.board, "--device", config.device, "--harts", str(config.harts), "--clock-hz", str(config.clock_hz)]


def make_bitstream(config: ChipConfig, seed: int = 1) -> Path:
    """The bitstream `build/boards/<board>_pic/<board>_pic.bit`. GateError, and no bitstream, if a clock is missed or
    there is no room; ToolError as from soc.fpga; what `generate_chip` raises."""
    folder = board_folder(config.name)
    bitstream = folder / f"{config.name}.bit"
    folder.mkdir(parents=True, exist_ok=True)
    bitstream.unlink(missing_ok=True)
    made = generate_chip(config)
    what = json.loads((made / "board.json").read_text())
    design = Design(f"{config.name}-{config.device}-{config.harts}", TOP, (made / f"{TOP}.v",), made / f"{TOP}.lpf",
                    cores=json.loads((made / "cores.json").read_text()),
                    **{key: what[key] for key in ("device", "size", "package", "speed", "clock_hz")})
    netlist = synthesise(design, SynthesisOptions())
    placement = place(design, netlist, PlacementOptions(seed))
    record = {"board": config.name, "harts": config.harts, "parameters": asdict(config),
              "options": asdict(SynthesisOptions()) | asdict(PlacementOptions(seed)),
              **figures(design, netlist, placement)}
    say(summary(record))
    write_record(record, folder)
    if not record["met"]:
        raise GateError(f"{design.name} cannot be built: {summary(record)}; give a lower --clock-hz, fewer --harts, or "
                        "another --seed")
    shutil.copy(pack(design, placement), bitstream)
    return bitstream


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.boards.picchip",
                                     description="Make the bitstream of the interrupt controller's own board.")
    parser.add_argument("board", help=f"one of {', '.join(FROM_SOC)}")
    parser.add_argument("--device", default="", help="the FPGA's size, such as 45F (default: the catalog's first)")
    parser.add_argument("--harts", type=int, default=ChipConfig.harts, metavar="N", help="of the SoC, at the most")
    parser.add_argument("--clock-hz", type=int, default=CLOCK_HZ, metavar="N", help=f"default {CLOCK_HZ}")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the placement (default 1)")
    parser.add_argument("--into", type=Path, metavar="FOLDER", help="generate the Verilog there, and no bitstream")
    options = parser.parse_args()
    try:
        config = ChipConfig(options.board, options.device, options.harts, options.clock_hz)
    except ValueError as error:
        parser.error(str(error))
    if options.into:
        generate(config, options.into)
        return
    with told_in_a_line("chip", ToolError, GateError):
        print(make_bitstream(config, options.seed))


if __name__ == "__main__":
    main()
