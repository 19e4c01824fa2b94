"""Schedule exploration finds planted races (kernel/test/race.c), in a bounded number of seeds and only where they are
races; what it prints repeats the failure exactly."""

import json
import os
import shlex
import subprocess

import pytest

from sim.experiments.machine import Machine
from sim.images.kernel import SCHEMES
from sim.sweep.explore import Explorer, Subject
from sim.sweep.runner import Target
from soc.config import SoCConfig
from support.cache import REPO
from tests.kernel.machine import kernel_of, simulator_of

SEEDS = 20          # in which a race must be found
QUIET = 3           # in which nothing must be found where there is none
LEVELS_COUNT = ("spl-pessim", "spl-optim")      # the others mask every interrupt, whatever a section's level


def explore(folder, harts, sync, plant, seeds):
    config = SoCConfig(harts=harts)
    target = Target(simulator_of(config), kernel_of(config, sync, runs=("test-race",)))
    subject = Subject("test-race", Machine(harts), sync, (f"plant={plant}", "hz=0"), (), 30_000_000)
    explorer = Explorer(subject, target, range(seeds), 1, folder)
    explorer.execute(lambda progress: None)
    return explorer


@pytest.mark.sampled
@pytest.mark.parametrize("plant, harts, sync", [
    *(("level", 1, sync) for sync in LEVELS_COUNT), ("level", 2, "spl-optim"),
    *(("lock", 2, sync) for sync in SCHEMES)])
def test_a_planted_race_is_found(tmp_path, plant, harts, sync):
    failed = explore(tmp_path / "out", harts, sync, plant, SEEDS).failed
    assert failed, f"{SEEDS} seeds pass"
    assert failed.seed > 0, "the race shows where nothing is perturbed: no exploration is needed to find it"
    assert "an update was lost" in failed.reason


@pytest.mark.sampled
@pytest.mark.parametrize("plant, harts, sync", [
    *(("level", 1, sync) for sync in SCHEMES if sync not in LEVELS_COUNT), ("lock", 1, "spl-optim"),
    *(("none", 1, sync) for sync in LEVELS_COUNT), ("none", 2, "cli-optim")])
def test_nothing_is_found_where_there_is_no_race(tmp_path, plant, harts, sync):
    explorer = explore(tmp_path / "out", harts, sync, plant, QUIET)
    assert not explorer.failed, explorer.failed
    assert len(explorer.trials) == QUIET


def interlock(*arguments):
    return subprocess.run([REPO / "interlock", *arguments], cwd=REPO, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, env=os.environ)


def test_the_command_explores_and_what_it_prints_repeats_the_failure(tmp_path):
    out, again = tmp_path / "out", tmp_path / "again"
    told = interlock("explore", "test-race", "--harts", "2", "--sync", "cli-optim", "--set", "plant=lock", "--out", out)
    assert told.returncode == 1, told.stderr
    left = json.loads((out / "explore.json").read_text())
    assert f"seed {left['failed']} fails" in told.stderr.splitlines()[-1]
    printed = next(line for line in told.stdout.splitlines() if "to repeat it: " in line).partition("it: ")[2]
    assert printed == left["repeat"]

    command = shlex.split(printed)
    assert command.pop(0) == "./interlock"
    repeated = interlock(*command, "--out", again)
    assert repeated.returncode == 1
    first, second = (json.loads((folder / "run.json").read_text())
                     for folder in (out / f"seed-{left['failed']}", again))
    for what in ("digest", "cycles", "exit", "harts", "interrupts", "serial"):
        assert first[what] == second[what], what
    assert "an update was lost" in repeated.stdout and "an update was lost" in told.stdout


def test_wrong_input_gets_one_line(tmp_path):
    for arguments, status, part in (
            (["test-rase"], 2, "did you mean 'test-race'"),
            (["test-race", "--set", "plant"], 2, "key=value"),
            (["test-race", "--seeds", "0"], 2, "--seeds"),
            (["test-race", "--set", "plant=all", "--out", tmp_path / "out"], 2, "plant=all: give none, level or lock")):
        told = interlock("explore", *arguments)
        assert told.returncode == status and part in told.stderr.splitlines()[-1], told.stderr
        assert not told.stdout
