"""The line player in a board: the host's bytes go over the link into main RAM, from there into uart1, and back."""

import random
import subprocess

import pytest

from soc.boards.build import generate_board
from support.cache import REPO
from tests.board.simulated import interlock, on_board, simulated

LENGTH = 203
FLAGS = ("-march=rv32ima_zicsr", "-mabi=ilp32", "-mcmodel=medany", "-mno-relax", "-O2", "-ffreestanding", "-nostdlib",
         "-Wall", "-Wextra", "-Werror", "-Wl,-n,-Ttext=0x40000000", "-Wl,--no-relax", "-Wl,--no-warn-rwx-segments",
         f"-DLENGTH={LENGTH}")


def built(folder):
    """The program, for the board `sim`."""
    image = folder / "player.elf"
    subprocess.run(["riscv64-unknown-elf-gcc", *FLAGS, "-I", generate_board("sim").include, "-I", REPO / "firmware",
                    REPO / "tests/board/player.c", "-o", image], check=True)
    return image


@pytest.mark.board_long
def test_what_the_host_loads_arrives_at_the_data_port(tmp_path):
    image, feed = built(tmp_path), tmp_path / "feed.bin"
    feed.write_bytes(random.Random(1).randbytes(LENGTH))
    with simulated(image, tmp_path) as port:
        done = interlock("board", "boot", *on_board(port), "--image", image, "--uart1-in", feed, "--out",
                         tmp_path / "run", "--console", "file")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (tmp_path / "run/blob-1.bin").read_bytes() == feed.read_bytes()
