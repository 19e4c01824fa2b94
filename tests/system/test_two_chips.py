"""The kernel with its interrupt controller on another chip: the same image as for one chip, byte for byte."""

import random
import subprocess
import zlib

import pytest

from sim.images.kernel import runs_of
from sim.model.build import build_simulator
from soc.config import SoCConfig
from tests.kernel.machine import BRIEF, ended, kernel_of

CONFIG = SoCConfig(harts=2)
BAUD = 6_000_000
BYTES = random.Random(3).randbytes(70)      # not a multiple of the trigger level: the rest comes by time-out
SERIAL = f"run=serial bytes={len(BYTES)} baud=115200 crc={zlib.crc32(BYTES):08x}"


def boot(folder, bootargs, *options, sync="spl-optim"):
    folder.mkdir()
    (folder / "in").write_bytes(BYTES)
    done = subprocess.run(list(map(str, [
        build_simulator(CONFIG, two_chips=True, recipe=BRIEF),
        "--image", kernel_of(CONFIG, sync, runs=runs_of(bootargs)),
        "--out", folder / "out",
        "--console", "file", "--uart0-baud", BAUD, "--uart1-in", folder / "in", "--uart1-baud", 115200,
        "--bootargs", f"{bootargs} console.baud={BAUD}", "--max-cycles", 5_000_000, "--quiet", *options])),
        capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ended(folder / "out", done.returncode, done.stdout + done.stderr)


def test_every_hart_says_hello(tmp_path):
    runs = [boot(tmp_path / str(i), "run=hello") for i in range(2)]
    assert runs[0].status == 0, runs[0].report()
    assert "hello from hart 0" in runs[0].console and "hello from hart 1" in runs[0].console
    assert runs[0].record["digest"] == runs[1].record["digest"]


@pytest.mark.parametrize("sync", ("spl-pessim", "cli-optim"))
def test_interrupts_come_over_the_wires(tmp_path, sync):
    quiet = boot(tmp_path / "quiet", SERIAL, sync=sync)
    noisy = boot(tmp_path / "noisy", SERIAL, "--poke", "cable_noise=200", sync=sync)
    for run in quiet, noisy:
        assert run.status == 0, run.report()
        assert (run.folder / "blob-1.bin").read_bytes() == BYTES
    assert noisy.record["cycles"] != quiet.record["cycles"]     # there was noise


@pytest.mark.parametrize("cycle", (0, 150_000, 500_000))
def test_a_cut_cable_is_one_clear_error(tmp_path, cycle):
    run = boot(tmp_path / "run", SERIAL, "--poke", f"cable_cut=255@{cycle}")
    assert run.status == 1, run.report()
    assert run.console.count("panic:") == 1, run.report()
    assert "the interrupt controller does not answer: look at its cable, then reset" in run.console, run.report()
