"""The kernel's disk on a board is the SD card: on the simulated board, with a model of a card at the card's pins."""

import json

import pytest

from sim.kernel import build_kernel
from soc.boards.config import board_config
from tests.board.simulated import interlock, on_board, simulated
from tests.kernel.power_cuts import host

SCHEME = "spl-optim"
MACHINE = {"harts": 1, "disks": 1, "ethers": 1}


def card(folder):
    """An ext2 file system that a card of 1 MiB has."""
    (folder / "files/d").mkdir(parents=True)
    (folder / "files/d/x").write_text("from the host\n")
    path = folder / "card.img"
    path.write_bytes(bytes(1 << 20))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", 1024, "-I", 128, "-N", 256, "-g",
         256, "-d", folder / "files", path)
    return path


def boot(port, image, bootargs, out):
    """What the kernel's console says, which has to end well."""
    done = interlock("board", "boot", *on_board(port), "--image", image, "--bootargs", bootargs, "--seed", 3, "--out",
                     out, "--console", "file")
    assert done.returncode == 0, done.stdout + done.stderr + (out / "console.txt").read_text()
    assert json.loads((out / "run.json").read_text())["exit"]["code"] == 0
    return (out / "console.txt").read_text()


@pytest.mark.board_long
def test_the_root_file_system_is_on_the_sd_card(tmp_path):
    image = build_kernel(board_config("sim", **MACHINE), SCHEME, runs=("disk", "test-fs", "user"))
    with simulated(image, tmp_path, empty=False, card=f"{card(tmp_path)},profile=fast,write=copy", **MACHINE) as port:
        for mode in ("dma", "pio"):
            said = boot(port, image, f"run=disk op=read bytes=65536 disk.mode={mode} hz=0", tmp_path / mode)
            assert "@disk op=read bytes=65536" in said and "errors=0 retried=0" in said
        boot(port, image, "run=test-fs hz=1000 rounds=1 bufs=12 bufchains=4", tmp_path / "fs")
        said = boot(port, image, "run=user program=hello root=disk0 hz=1000", tmp_path / "root")
    assert "hello" in said
    left = tmp_path / "board/disk0.img"
    host("e2fsck", "-fn", left)
    assert host("debugfs", "-R", "cat /d/x", left) == b"from the host\n"
    assert host("debugfs", "-R", "cat /t0/log", left)
