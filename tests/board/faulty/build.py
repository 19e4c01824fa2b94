"""Builds the faulty board's simulator and runs it. It reads the ROM when it starts: another ROM needs no new model."""

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from firmware.build import compiler_version, rom_words
from hw.cpu.generate import generate_cluster
from sim.model.build import build_model
from soc.boards.config import board_config
from soc.boards.generate import generate
from soc.fingerprint import UNSIGNED
from soc.sim import TOP
from support.cache import REPO, cached
from tests.board.faulty.faults import Fault

BAUD = 8 * 115_200      # of soc.py's console
CONFIG = board_config("sim", harts=2, clock_hz=16_000_000, ram_mib=1, disks=1, ethers=1)
BLOCK = bytes((7 * i + 3) & 0xff for i in range(512))   # the SD card's first block
CARD_MIB = 3                                            # the card's size
ROM = "rom.init"
PLANTED_AT = 20_000     # cycle: after the reset, before any test has begun
# In the data caches, which are one module: a write by others is seen, but the line is not dropped.
HIT = "assign invalidate_s1_wayHits = "
OF_MAIN_RAM = "invalidate_s1_input_payload_fragment_address[30]"
IMAGE = """    .word 0x0000006f, 0x314b4c49, end, arguments, 64
arguments: .skip 64
end:
"""


def _once(pattern: str, replacement: str, text: str) -> str:
    text, count = re.subn(pattern, lambda _: replacement, text, flags=re.MULTILINE)
    if count != 1:
        raise RuntimeError(f"{pattern} is found {count} times in the Verilog, not once")
    return text


def _generate(folder: Path):
    from tests.board.faulty.soc import Target  # LiteX: only in the process that generates
    generate(CONFIG, folder, Target)
    words = rom_words(folder)
    (folder / ROM).write_text("".join(f"{word:08x}\n" for word in words))
    verilog = folder / f"{TOP}.v"
    text = re.sub(r"^\trom\[(?!0\])\d+\] = .*\n", "", verilog.read_text(), flags=re.MULTILINE)
    text = _once(r"^\trom\[0\] = .*$", f'\t$readmemh("{ROM}", rom);', text)
    fingerprint = int((folder / "fingerprint").read_text(), 16)
    verilog.write_text(_once(rf"\b64'd{fingerprint}\b", f"64'd{UNSIGNED}", text))
    cluster = folder / "cluster.v"
    line, ram = (f"{TOP}.planted_fault_storage[{fault.bit_length() - 1}]"
                 for fault in (Fault.STALE_LINE, Fault.STALE_RAM))
    cluster.write_text(_once(re.escape(HIT), f"{HIT}!({line} | {ram} & {OF_MAIN_RAM}) && ", cluster.read_text()))


@dataclass(frozen=True)
class FaultyBoard:
    """The simulator, and the ROM that it reads."""

    binary: Path
    rom: Path

    def run(self, faults: Fault, folder: Path, cycles: int) -> tuple[str, list[int]]:
        """What the board with `faults` sends on its console within `cycles` of its reset, and the states of its LEDs in
        order, LED 0 in bit 0."""
        shutil.copy(self.rom, folder / ROM)
        source, image = folder / "image.S", folder / "image.elf"
        source.write_text(IMAGE)
        subprocess.run(["riscv64-unknown-elf-gcc", "-march=rv32i", "-mabi=ilp32", "-nostdlib", "-Wl,-N,-e0x40000000",
                        "-Wl,-Ttext=0x40000000,--no-warn-rwx-segments", source, "-o", image], check=True)
        card = folder / "card.img"
        card.write_bytes(BLOCK + bytes((CARD_MIB << 20) - len(BLOCK)))
        done = subprocess.run(
            [self.binary, "--image", image, "--disk", f"{card},profile=fast,write=no",
             "--out", folder, "--console", "file", "--quiet", "--hang-cycles", "0",
             "--max-cycles", str(cycles), "--uart0-baud", str(BAUD), "--poke",
             f"planted_fault={int(faults)}@{PLANTED_AT}"],
            cwd=folder, capture_output=True, text=True, check=False)
        if done.returncode != 3:
            raise RuntimeError(done.stderr)
        return (folder / "console.txt").read_text(), [
            int(leds, 2) for leds in re.findall(r"^leds ([01]+)$", done.stdout, re.MULTILINE)]


def build() -> FaultyBoard:
    """The faulty board, built if it is not in the cache."""
    def fill(folder: Path):
        generate_cluster(**vars(CONFIG.cluster()))
        subprocess.run([sys.executable, "-m", "tests.board.faulty.build", str(folder)], cwd=REPO, check=True,
                       env=os.environ | {"PYTHONHASHSEED": "0"}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    folder = cached("faulty-board", {"origin": CONFIG.origin(), "compiler": compiler_version(),
                                     "tests": Path(__file__).parent}, fill)
    sources = [folder / name for name in (f"{TOP}.v", "cluster.v", f"{TOP}.vlt")]
    return FaultyBoard(build_model(sources, CONFIG.clock_hz, idle=folder / "idle.json"), folder / ROM)


if __name__ == "__main__":
    _generate(Path(sys.argv[1]))
