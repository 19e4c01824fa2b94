"""A running simulated board, its console a pseudo-terminal, and the host's commands to work with it."""

import contextlib
import json
import re
import signal
import subprocess

from sim.board.board import RESET_BAUD
from sim.board.port import Port
from sim.model.board import build_board
from support.cache import REPO

SEED = 3            # of the boot
SLOWDOWN = 600      # of the simulated board, at the worst: where many processes share a processor


@contextlib.contextmanager
def simulated(image, folder, *, empty=True, card=None, **parameters):
    """Runs a board of these `parameters` (sim.model.board.build_board); gives the name of its console.

    Unless main RAM is `empty` it begins with `image` in it, as after a reset of a board: all that the
    self-test has not used. `card` is the simulator's --disk: the board's SD card."""
    process = subprocess.Popen([build_board(**parameters), "--image", image, *["--empty-ram"] * empty, "--console",
                                "pty", "--hang-cycles", "0", "--progress", "0", "--out", folder / "board",
                                *(["--disk", card] if card else [])],
                               stderr=subprocess.PIPE, text=True)
    try:
        port = process.stderr.readline().split()[-1]
        wait_for_self_test(process, port)
        yield port
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate()


def wait_for_self_test(process, port):
    """Waits until its last part is reported: a request before that fails, and makes the board begin anew."""
    line, said = Port(port, RESET_BAUD), b""
    while process.poll() is None and not re.search(rb"^ethernet .*\n", said, re.MULTILINE):
        said += line.read(0.2)
    line.close()


def interlock(*arguments):
    """The result of the command line: a subprocess.CompletedProcess."""
    return subprocess.run([REPO / "interlock", *map(str, arguments)], capture_output=True, text=True)


def on_board(port):
    """The options for the board at `port`."""
    return ["--port", port, "--slowdown", SLOWDOWN]


def boot(port, image, bootargs, out):
    """The record of a run of the kernel, which must succeed, and its console's output."""
    done = interlock("board", "boot", *on_board(port), "--image", image, "--bootargs", bootargs, "--seed", SEED,
                     "--out", out, "--console", "file")
    assert done.returncode == 0, done.stdout + done.stderr + (out / "console.txt").read_text()
    record = json.loads((out / "run.json").read_text())
    assert record["exit"]["code"] == 0
    return record, (out / "console.txt").read_text()


def run_on(port, experiment, settings, out):
    """The experiment's records by run, and its report; of the simulator if there is no `port`."""
    target = ["--target", "board", *on_board(port)] if port else []
    done = interlock("run", experiment, "--quick", *(word for setting in settings for word in ("--set", setting)),
                     "--out", out, *target)
    assert done.returncode == 0, done.stderr
    records = [json.loads(path.read_text()) for path in out.glob("runs/*/record.json")]
    return {record["id"]: record for record in records}, done.stdout
