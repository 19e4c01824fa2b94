"""The machine boots whatever its registers hold before reset: it reads nothing that neither reset nor software set."""

import dataclasses
import json
import os
import subprocess

from sim.model.build import build_model
from sim.model.verilate import DEFAULT, RANDOM_RESET, RESET_SEED
from soc.build import generate_soc
from soc.config import SoCConfig
from tests.kernel.machine import BRIEF, kernel_of

CONFIG = SoCConfig(harts=1)
BAUD = 6_000_000


def boot(simulator, folder, seed):
    """The record and the console of `run=hello`."""
    command = [simulator, "--image", kernel_of(CONFIG, "spl-optim", runs=("hello",)), "--out", folder, "--console",
               "file", "--uart0-baud", BAUD, "--bootargs", f"run=hello hz=0 console.baud={BAUD}", "--max-cycles",
               3_000_000, "--quiet"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                          env=os.environ | {RESET_SEED: str(seed)})
    assert done.returncode == 0, done.stderr + (folder / "console.txt").read_text()
    return json.loads((folder / "run.json").read_text()), (folder / "console.txt").read_text()


def test_the_kernel_boots_from_any_state_before_reset(tmp_path):
    soc = generate_soc(CONFIG)
    simulator = build_model([*soc.verilog, soc.vlt], CONFIG.clock_hz, idle=soc.idle,
                            recipe=dataclasses.replace(RANDOM_RESET, fast=BRIEF.fast, gated=False, profiled=False))
    runs = [boot(simulator, tmp_path / str(i), seed) for i, seed in enumerate((1, 2, 1))]
    assert "hello from hart 0" in runs[0][1]
    assert len({console for _, console in runs}) == 1
    assert len({made["cycles"] for made, _ in runs}) == 1, "how long it takes depends on what was there before reset"
    assert runs[0][0]["digest"] == runs[2][0]["digest"]     # the same seed, the same run


def test_the_recipe_differs_from_the_others_in_nothing_else():
    changed = [(a, b) for a, b in zip(DEFAULT.verilator, RANDOM_RESET.verilator, strict=True) if a != b]
    assert changed == [("0", "unique")]
    assert dataclasses.replace(RANDOM_RESET, verilator=DEFAULT.verilator, defines=()) == DEFAULT
