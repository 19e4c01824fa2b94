"""The simulated board starts on both kinds of memory: the boot ROM brings the DRAM up, its self-test passes, and it
waits for the host; nothing of an image is in main RAM."""

import re
import subprocess

import pytest

from sim.model.board import build_board
from tests.board.simulated import interlock, on_board, simulated

CYCLES = 6_000_000      # the self-test takes 2 to 4 million
KERNEL = """
    .globl _start
_start: j _start
    .word 0x314b4c49, end, bootargs, 4
bootargs: .word 0
end:
"""


def image(folder):
    """A program that would be entered if it were in main RAM."""
    (folder / "image.S").write_text(KERNEL)
    subprocess.run(["riscv64-unknown-elf-gcc", "-march=rv32ima", "-mabi=ilp32", "-nostdlib", "-Wl,-n,-Ttext=0x40000000",
                    "-Wl,--no-warn-rwx-segments", folder / "image.S", "-o", folder / "image.elf"], check=True)
    return folder / "image.elf"


@pytest.mark.board_long
def test_the_long_form_of_the_self_test_tries_all_of_main_ram(tmp_path):
    with simulated(image(tmp_path), tmp_path, harts=2, ram_mib=1) as port:
        done = interlock("board", "self-test", "--long", *on_board(port))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "memory ok: 1024 KiB of 1 MiB" in done.stdout


@pytest.mark.board_long
@pytest.mark.parametrize("device, harts", [("sdr", 2), ("ddr3", 1)])
def test_the_boot_rom_finds_all_well(device, harts, tmp_path):
    done = subprocess.run([build_board(device=device, harts=harts), "--image", image(tmp_path), "--empty-ram",
                           "--out", tmp_path / "out", "--console", "file", "--max-cycles", str(CYCLES), "--quiet",
                           "--hang-cycles", "0"], capture_output=True, text=True)
    assert done.returncode == 3, done.stderr    # it goes on waiting
    console = (tmp_path / "out" / "console.txt").read_text()
    greeting, = re.findall(r"Interlock boot ROM: (\d) harts? at 60.000 MHz", console)   # once: nothing resets it
    assert int(greeting) == harts
    assert re.findall(r"^(\w+) (ok|absent|failed)", console, re.MULTILINE) == [
        *((name, "ok") for name in ("harts", "memory", "caches", "pic", "serial")), ("sd", "absent"),
        ("ethernet", "absent")]
