"""Schedule exploration over a stub simulator: what a seed perturbs, which failure counts, what is left."""

import json
import shlex
import sys

import pytest

from sim.experiments.machine import Machine
from sim.images.kernel import runs
from sim.results import record
from sim.sweep.explore import KNOBS, ExploreError, Explorer, Subject, describe, perturbation
from sim.sweep.runner import Target
from support.cache import REPO

# Each seed does what plan.json says: its time, its exit status, its output.
STUB = '''#!{python}
import json, pathlib, sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
out = pathlib.Path(options["--out"])
plan = json.loads(pathlib.Path(__file__).with_name("plan.json").read_text()).get(options["--seed"], {{}})
time.sleep(plan.get("sleep", 0))
(out / "console.txt").write_text("booting\\n" + plan.get("console", ""))
ended = {{"code": plan.get("code", 0)}}
(out / "run.json").write_text(json.dumps({{
    "cycles": 1000, "digest": options["--seed"], "reason": plan.get("reason"), "exit": ended}}))
print(plan.get("said", ""), file=sys.stderr)
sys.exit(plan.get("status", 0))
'''
PANIC = {"status": 1, "reason": "the target ended with code 57005", "console": "panic: hart 0: lost\n  race+0x4\n"}


def explore(folder, plan, seeds=range(6), jobs=2, settings=(), options=(), report=lambda progress: None):
    simulator, image = folder / "simulator", folder / "kernel.elf"
    simulator.write_text(STUB.format(python=sys.executable))
    simulator.chmod(0o755)
    image.write_bytes(b"image")
    (folder / "plan.json").write_text(json.dumps(plan))
    subject = Subject("test-race", Machine(2), "spl-optim", tuple(settings), tuple(options), 5000)
    explorer = Explorer(subject, Target(simulator, image), seeds, jobs, folder / "out")
    explorer.execute(report)
    return explorer


def test_seed_0_perturbs_nothing_and_says_so():
    assert perturbation(0) == {} and describe(0, {}) == ["nothing"]


def test_seeds_reach_every_knob_and_leave_every_knob_alone():
    seen = [perturbation(seed) for seed in range(1, 400)]
    for knob in KNOBS:
        values = [perturbed[knob.name] for perturbed in seen if knob.name in perturbed]
        assert len(seen) / 2 < len(values) < len(seen)
        assert knob.least <= min(values) and max(values) <= knob.most
        middle = (knob.least + knob.most) / 2 if knob.even else (knob.least * knob.most) ** 0.5
        assert 0.3 < sum(value < middle for value in values) / len(values) < 0.7


def test_a_seed_always_perturbs_the_same():
    assert perturbation(3) == perturbation(3) != perturbation(4)


def test_what_is_given_is_not_perturbed():
    every = next(seed for seed in range(1, 100) if len(perturbation(seed)) == len(KNOBS))
    assert perturbation(every, ("link_read_latency",)) == {
        k: v for k, v in perturbation(every).items() if k != "link_read_latency"}
    assert not {"hz", "hz.jitter"} & perturbation(every, ("hz",)).keys()
    words = Subject("test-race", Machine(1), "spl-optim", ("link_read_latency=5",), (), 1).words(every)
    assert [word for word in words if word.startswith("link_read_latency")] == ["link_read_latency=5"]


def test_all_that_is_perturbed_is_said():
    every = next(seed for seed in range(1, 100) if len(perturbation(seed)) == len(KNOBS))
    lines = describe(every, perturbation(every))
    assert len(lines) == len(KNOBS) + 1
    for line, value in zip(lines, perturbation(every).values(), strict=False):
        assert f" {value} " in line


def test_the_longest_clock_jitter_is_less_than_a_period():
    most = {knob.name: knob.most for knob in KNOBS}
    assert most["hz.jitter"] <= 60_000_000 // most["hz"]


def test_all_pass(tmp_path):
    explorer = explore(tmp_path, {})
    assert explorer.failed is None
    left = record.read_json(tmp_path / "out" / "explore.json")
    assert [trial["seed"] for trial in left["trials"]] == list(range(6)) and left["repeat"] is None
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["explore.json"]


def test_a_program_of_ones_own_is_told_in_the_command_that_repeats_a_failure():
    subject = Subject("user", Machine(2), "spl-optim", ("program=mine", "hz=1000", "args=1"), (), 5000, "my/mine.c")
    assert "run=user program=mine hz=1000 args=1" in " ".join(subject.words(0))
    assert "--program my/mine.c --set hz=1000 --set args=1" in subject.repeat(0, 1)
    assert "run=user" not in subject.repeat(0, 1) and "program=mine" not in subject.repeat(0, 1)


@pytest.mark.parametrize("jobs", (1, 2, 4))
def test_the_failure_of_the_least_seed_counts_whatever_ends_first(tmp_path, jobs):
    explorer = explore(tmp_path, {"2": PANIC | {"sleep": 0.5}, "3": PANIC, "4": {"sleep": 60}}, jobs=jobs)
    assert explorer.failed.seed == 2
    left = record.read_json(tmp_path / "out" / "explore.json")
    assert left["failed"] == 2 and {0, 1, 2} <= {trial["seed"] for trial in left["trials"]} <= {0, 1, 2, 3}
    assert (tmp_path / "out/seed-2/console.txt").is_file() and not (tmp_path / "out/seed-4").exists()


@pytest.mark.parametrize("plan, reason, extra", [
    (PANIC, "panic: hart 0: lost", ""),
    ({"status": 1, "reason": "the target ended with code 7"}, "with an error: the target ended with code 7", ""),
    ({"status": 3, "reason": "the limit of 5000 cycles"}, "was reached: the limit of 5000", "--max-cycles 5000"),
    ({"status": 4, "reason": "no sign of life"}, "the target hangs: no sign of life", "--hang-cycles 3000000"),
])
def test_a_failure_has_a_reason_and_one_command(tmp_path, plan, reason, extra):
    explorer = explore(tmp_path, {"1": plan}, settings=["plant=level"], options=["lock_debug=1"])
    assert reason in explorer.failed.reason
    command = explorer.test.repeat(1, explorer.failed.status)
    words = shlex.split(command)
    assert (REPO / words[0]).samefile(REPO / "interlock")
    assert words[1:8] == ["sim", "--harts", "2", "--sync", "spl-optim", "--seed", "1"]
    assert "--option lock_debug=1" in command and command.endswith(extra)
    given = [value for word, value in zip(words, words[1:], strict=False) if word == "--set"]
    assert given[:2] == ["run=test-race", "plant=level"] and given == explorer.test.words(1)


@pytest.mark.parametrize("plan, said", [
    ({"status": 2, "said": "error: no room"}, "the simulator refused its input: error: no room"),
    ({"status": 1, "code": 2, "console": "plant=x: give none\n"}, "its boot arguments: plant=x: give none"),
])
def test_wrong_input_is_no_failure_of_the_test(tmp_path, plan, said):
    with pytest.raises(ExploreError, match=said):
        explore(tmp_path, {"0": plan})


def test_an_exploration_that_is_stopped_leaves_what_it_knows(tmp_path):
    def stop(progress):
        if progress.done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        explore(tmp_path, {"2": {"sleep": 60}, "3": {"sleep": 60}}, report=stop)
    left = record.read_json(tmp_path / "out" / "explore.json")
    assert [trial["seed"] for trial in left["trials"]] == [0, 1] and left["failed"] is None
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["explore.json"]


def test_what_the_kernel_can_run_is_found_in_its_sources():
    found = runs()
    assert found["test-race"].startswith("test: ") and found["hello"] == "a thread on every hart says so"
    assert "intr-latency" in found and list(found) == sorted(found)
