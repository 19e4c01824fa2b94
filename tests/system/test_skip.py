"""Skipping idle cycles changes nothing: with and without it a run has the same results, for the experiments in the
tree; a check in the simulator itself compares all registers, and finds a core that does not declare its changes."""

import json
import os
import subprocess

import pytest

from sim.experiments import definition
from sim.images.kernel import runs_of
from sim.model.build import build_model
from soc.build import generate_soc
from soc.config import SoCConfig
from tests.kernel.machine import kernel_of, simulator_of

CONSOLE_BAUD = 6_000_000
OUTPUTS = ("console.txt", "trace.csv", "uart1.out")


def simulate(folder, simulator, *options, status=0):
    """The record of a run in `folder`, which must end with `status`; and the simulator's output."""
    command = [simulator, "--out", folder, "--console", "file", "--quiet", *options]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == status, done.stderr
    return json.loads((folder / "run.json").read_text()), done.stderr


def both(folder, simulator, *options, status=0):
    """The record of a run without its `host`, the same with and without skipping; and how many cycles are skipped."""
    left, hosts = [], []
    for name, mode in (("all", ["--no-skip"]), ("skipping", [])):
        record, _ = simulate(folder / name, simulator, *options, *mode, status=status)
        hosts.append(record.pop("host"))
        left.append((record, {output: (folder / name / output).read_bytes() for output in OUTPUTS}))
    assert hosts[0]["skipped_cycles"] == 0
    assert left[0] == left[1]
    return left[1][0], hosts[1]["skipped_cycles"]


def options_of(run, folder):
    """The simulator's options for a run of an experiment."""
    options = ["--bootargs", run.bootargs, "--uart0-baud", run.console_baud, "--seed", run.seed,
               "--max-cycles", 4 * run.cycles + 20_000_000]
    if run.input_bytes is not None:
        feed = folder / "feed"
        feed.write_bytes(definition.input_file(run.seed, run.input_bytes))
        options += ["--uart1-baud", run.parameters["baud"], "--uart1-in", feed]
    return options + [word for name, value in run.pokes for word in ("--poke", f"{name}={value}")]


def quick_runs(name):
    """The last run of each kind of an experiment's quick form."""
    experiment = definition.load(name)
    runs = experiment.runs(experiment.settings([], quick=True), SoCConfig().clock_hz)
    return {run.kind: run for run in runs}


def is_plain(name):
    """One machine without devices, for a few million cycles: disks, frames and nodes have tests of their own."""
    runs = quick_runs(name).values()
    return all(run.machine.nodes == 1 and not run.machine.config().disks and not run.machine.config().ethers
               for run in runs) and sum(run.cycles * run.harts for run in runs) < 6_000_000


# Each either costs a kernel that no other test has or computes without the waits of the others; TESTS=all has them.
LONG = () if os.environ.get("TESTS") == "all" else ("boot-once", "lock-cost", "scheduler", "spinlocks", "system-calls")


@pytest.mark.parametrize("name", [name for name in definition.names() if name not in LONG and is_plain(name)])
def test_an_experiment_comes_out_the_same(name, tmp_path):
    runs = quick_runs(name)
    for kind, run in runs.items():
        folder = tmp_path / kind
        folder.mkdir()
        config = SoCConfig(harts=run.harts)
        image = kernel_of(config, run.sync, options=dict(run.options), runs=runs_of(run.bootargs))
        record, _ = both(folder, simulator_of(config), "--image", image, *options_of(run, folder))
        assert record["results"][run.result]


def kernel(harts, sync, text, max_cycles=20_000_000):
    config = SoCConfig(harts=harts)
    return (simulator_of(config), "--image", kernel_of(config, sync, runs=runs_of(text)),
            "--bootargs", f"{text} console.baud={CONSOLE_BAUD}", "--uart0-baud", CONSOLE_BAUD,
            "--max-cycles", max_cycles)


def test_a_waiting_machine_is_skipped(tmp_path):
    """Nearly all of a hart's waits are skipped, for a character as for the PIC at the far end of a slow link."""
    feed = tmp_path / "feed"
    feed.write_bytes(b"interlock!")
    run = kernel(1, "spl-pessim", f"run=serial bytes={feed.stat().st_size} link_latency=600")
    record, skipped = both(tmp_path, *run, "--uart1-in", feed)
    waited = record["harts"][0]["statistics"]["wfi_cycles"]
    assert skipped > 0.9 * waited
    assert skipped > 0.5 * record["window"]["cycles"]


def test_a_hang_is_found_at_the_same_cycle(tmp_path):
    record, skipped = both(tmp_path, *kernel(1, "cli-optim", "run=monitor hz=0"), "--hang-cycles", 400_000,
                           status=4)
    assert record["exit"]["kind"] == "hang" and skipped > 300_000


@pytest.mark.parametrize("harts, sync, text", [
    (1, "cli-spl-pessim", "run=serial bytes=2 link_read_latency=700 link_write_latency=90 link_delivery_delay=300 "
     "link_jitter=50 hz=5000"),
    (2, "spl-optim", "run=synthetic sections=6 interval=3000 gap=2500 hz=0 link_latency=200 ram_jitter=4"),
    (4, "cli-pessim", "run=serial bytes=2 link_delivery_delay=1000 hz=2000"),
])
def test_every_register_is_as_if_the_cycles_had_been_simulated(harts, sync, text, tmp_path):
    feed = tmp_path / "feed"
    feed.write_bytes(b"ok")
    record, _ = simulate(tmp_path / "run", *kernel(harts, sync, text), "--uart1-in", feed, "--check-skip")
    assert record["host"]["skipped_cycles"] > 2000


def test_the_check_finds_a_core_that_forgets_its_alarms(tmp_path):
    soc = generate_soc(SoCConfig())
    declared = [entry | ({"alarms": []} if entry["kind"] == "clock" else {})
                for entry in json.loads(soc.idle.read_text())]
    wrong = tmp_path / "idle.json"
    wrong.write_text(json.dumps(declared))
    simulator = build_model([*soc.verilog, soc.vlt], SoCConfig().clock_hz, idle=wrong)
    run = kernel(1, "cli-optim", "run=serial bytes=4 hz=2000", max_cycles=2_000_000)
    # One stretch up to the limit is simulated for the check: on a busy machine that may be long enough to be reported.
    _, said = simulate(tmp_path / "run", simulator, *run[1:], "--check-skip", "--stall-seconds", 0, status=2)
    assert said.startswith("error: skipping is not exact: ") and said.count("error") == 1


def test_time_does_not_run_away_from_who_types(tmp_path):
    command = list(map(str, [*kernel(1, "cli-optim", "run=monitor hz=0"), "--console", "tty", "--quiet",
                             "--max-cycles", 700_000, "--out"]))
    skipped = {}
    for name, stdin in (("open", subprocess.PIPE), ("at its end", subprocess.DEVNULL)):
        process = subprocess.Popen([*command, str(tmp_path / name)], stdin=stdin, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        assert process.wait(60) == 3
        skipped[name] = json.loads((tmp_path / name / "run.json").read_text())["host"]["skipped_cycles"]
    assert skipped["open"] == 0 and skipped["at its end"] > 100_000
