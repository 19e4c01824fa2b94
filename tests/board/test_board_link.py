"""The boards' SoC boots the kernel through its boot ROM, driven by the host's tools over a pseudo-terminal."""

import contextlib
import json
import signal
import subprocess

import pytest

from hw.common.cache import REPO
from sim.boards import build_board
from sim.kernel import build_kernel
from soc.boards.config import board_config

SLOWDOWN = 1500     # of the simulated board, at the worst: where many processes share the processors


@contextlib.contextmanager
def simulated(harts, image, folder):
    """A simulated board that runs; the name of its console."""
    process = subprocess.Popen([build_board(harts=harts), "--image", image, "--empty-ram", "--console", "pty",
                                "--hang-cycles", "0", "--progress", "0", "--out", folder / "board"],
                               stderr=subprocess.PIPE, text=True)
    try:
        yield process.stderr.readline().split()[-1]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def interlock(*arguments):
    return subprocess.run([REPO / "interlock", *map(str, arguments), "--slowdown", str(SLOWDOWN)], capture_output=True,
                          text=True)


@pytest.mark.board_long
@pytest.mark.parametrize("harts", [1, 2])
def test_the_kernel_boots_through_the_boot_rom(harts, tmp_path):
    image = build_kernel(board_config("sim", harts=harts), "spl-optim")
    with simulated(harts, image, tmp_path) as port:
        for run, there in (("first", False), ("again", True)):     # the second finds most of the kernel in memory
            out = tmp_path / run
            done = interlock("board", "boot", "--port", port, "--image", image, "--bootargs", "run=hello", "--seed", 3,
                             "--out", out, "--console", "file")
            assert done.returncode == 0, done.stderr
            record = json.loads((out / "run.json").read_text())
            assert record["board"]["harts"] == harts and record["exit"]["code"] == 0
            assert f"Interlock kernel, spl-optim, harts {harts}, " in (out / "console.txt").read_text()
            assert (record["host"]["loaded_bytes"] < image.stat().st_size // 8) == there


@pytest.mark.board_long
def test_an_experiment_runs_on_the_simulated_board(tmp_path):
    image = build_kernel(board_config("sim", harts=1), "spl-optim")
    with simulated(1, image, tmp_path) as port:
        done = interlock("run", "system-calls", "--quick", "--set", "harts=1", "--set", "schemes=spl-optim", "--target",
                         "board", "--port", port, "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    assert "Carried out on a board" in done.stdout and "sim, 1 harts, 60 MHz" in done.stdout
    assert "System calls and switches" in done.stdout
