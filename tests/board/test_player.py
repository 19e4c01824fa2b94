"""The line player in a board: the host's bytes go over the link into main RAM, from there into uart1, and back."""

import random
import subprocess
import sys
import time

import pytest

from hw.common.cache import REPO
from sim.boards import build_board
from soc.boards.build import generate_board

LENGTH = 203
CYCLES_A_SECOND = 100_000       # that a slow machine simulates
PATIENCE_S = 60
FLAGS = ("-march=rv32ima_zicsr", "-mabi=ilp32", "-mcmodel=medany", "-mno-relax", "-O2", "-ffreestanding", "-nostdlib",
         "-Wall", "-Wextra", "-Werror", "-Wl,-n,-Ttext=0x40000000", "-Wl,--no-relax", "-Wl,--no-warn-rwx-segments",
         f"-DLENGTH={LENGTH}")


def built(folder):
    """The program, for the board `sim`."""
    image = folder / "player.elf"
    subprocess.run(["riscv64-unknown-elf-gcc", *FLAGS, "-I", generate_board("sim").include, "-I", REPO / "firmware",
                    REPO / "tests/board/player.c", "-o", image], check=True)
    return image


def terminal_of(log):
    """The pseudo-terminal that the simulator names."""
    begin = time.monotonic()
    while time.monotonic() - begin < PATIENCE_S:
        words = log.read_text().split()
        if "/dev/pts/" in " ".join(words):
            return next(word for word in words if word.startswith("/dev/pts/"))
        time.sleep(0.1)
    pytest.fail(f"the simulator names no terminal:\n{log.read_text()}")


@pytest.mark.board_long
def test_what_the_host_loads_arrives_at_the_data_port(tmp_path):
    image, feed, log = built(tmp_path), tmp_path / "feed.bin", tmp_path / "log"
    feed.write_bytes(random.Random(1).randbytes(LENGTH))
    with log.open("w") as file:
        simulator = subprocess.Popen([build_board(), "--image", image, "--empty-ram", "--console", "pty",
                                      "--hang-cycles", "0"], stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        done = subprocess.run([sys.executable, "-m", "sim.cli", "board", "boot", "--port", terminal_of(log), "--image",
                               image, "--uart1-in", feed, "--out", tmp_path / "run", "--console", "file", "--slowdown",
                               str(60_000_000 // CYCLES_A_SECOND)], capture_output=True, text=True, cwd=REPO)
    finally:
        simulator.kill()
        simulator.wait()
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run/blob-1.bin").read_bytes() == feed.read_bytes()
