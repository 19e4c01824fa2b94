"""The boards' SoC boots the kernel through its boot ROM, driven by the host's tools over a pseudo-terminal, and the
kernel's disk is the SD card: on the simulated board, with a model of a card at the card's pins."""

import random
import shutil

import pytest

from sim.images import programs
from sim.images.kernel import build_kernel
from soc.boards.config import board_config
from tests.board.simulated import boot, run_on, simulated
from tests.kernel.power_cuts import host

SCHEME = "spl-optim"
MACHINE = {"harts": 1, "disks": 1}
COPIED = random.Random(1).randbytes(20_000)


def card(folder):
    """An ext2 file system of 1 MiB, with the program `cp` and a file."""
    (folder / "files/bin").mkdir(parents=True)
    shutil.copy(programs.build_program([programs.USER / "andrew/cp.c"]), folder / "files/bin/cp")
    (folder / "files/bin/cp").chmod(0o755)
    (folder / "files/data").write_bytes(COPIED)
    path = folder / "card.img"
    path.write_bytes(bytes(1 << 20))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", 1024, "-I", 128, "-N", 256, "-g",
         256, "-d", folder / "files", path)
    return path


def inserted(path):
    """The simulator's --disk for the card; writes to it are in board/disk0.img afterwards."""
    return f"{path},profile=fast,write=copy"


def test_the_kernel_boots_through_the_boot_rom_and_its_root_is_the_sd_card(tmp_path):
    """The card's program copies the card's file."""
    # The board's hart compares everything, byte by byte: programs are left out, and code is small.
    image = build_kernel(board_config("sim", **MACHINE), SCHEME, "-g0 -Os", runs=("user",), programs=False)
    with simulated(image, tmp_path, empty=False, card=inserted(card(tmp_path)), **MACHINE) as port:
        record, said = boot(port, image, "run=user program=/bin/cp args=/data,/copy root=disk0 hz=1000",
                            tmp_path / "out")
    assert f"Interlock kernel, {SCHEME}, harts 1, " in said
    assert record["board"]["harts"] == 1
    assert record["overruns"] == {"uart0": 0, "uart1": 0}
    assert 4_096 < record["host"]["loaded_bytes"] < 65_536
    left = tmp_path / "board/disk0.img"
    host("e2fsck", "-fn", left)
    assert host("debugfs", "-R", "cat /copy", left) == COPIED
    assert host("debugfs", "-R", "cat /data", left) == COPIED


@pytest.mark.board_long
def test_the_experiment_with_files_runs_on_the_board(tmp_path):
    """It makes its own file system on the card, and the file's transfers run beside its own."""
    (tmp_path / "card.img").write_bytes(bytes(8 << 20))
    image = build_kernel(board_config("sim", **MACHINE), SCHEME, runs=("file-rate",), options={"unix": "parallel"})
    with simulated(image, tmp_path, empty=False, card=inserted(tmp_path / "card.img"), **MACHINE) as port:
        records, shown = run_on(port, "file-rate", ["profiles=fast"], tmp_path / "out")
    record, = records.values()
    written, read = record["run"]["results"]["file_rate"]
    assert (written["op"], read["op"], read["bytes"]) == ("write", "read", 131072)
    assert 0 < written["raw"] < written["cycles"] and 0 < read["raw"] < read["cycles"]
    assert "Carried out on a board" in shown and "Files beside the drive's rate and a copy's" in shown
    assert b"Size: 131072" in host("debugfs", "-R", "stat /file", tmp_path / "board/disk0.img")
