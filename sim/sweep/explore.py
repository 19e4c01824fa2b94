"""Schedule exploration: a kernel test over many seeds, each of which perturbs what decides which threads meet when.

Seed 0 perturbs nothing. Any other seed gives each of KNOBS a value of its own, or its default, and is the kernel's
`seed`, from which the random numbers of the link's, the memory's and the clock's jitter and of the test itself come. A
run is determined by its boot arguments, so a failure is reproduced by giving them again.
"""

import dataclasses
import math
import random
import shlex
import shutil
import time
from pathlib import Path

from sim.experiments.definition import written
from sim.experiments.machine import Machine
from sim.results import record
from sim.sweep.local import POLL_S
from sim.sweep.runner import REPORT_S, Progress, why_failed
from sim.sweep.worker import MESSAGES, digest_of, end, start
from support.cache import REPO

CONSOLE_BAUD = 6_000_000    # ten cycles a bit: printing takes little time
HANG_CYCLES = 3_000_000
LEFT_ALONE = 0.25           # the chance of each knob
USAGE_EXIT_CODE = 2         # of the kernel: a boot argument is wrong
PANIC = "panic:"            # the beginning of the line with the reason of a kernel panic
LIMIT, HANG = 3, 4          # exit statuses of the simulator
CONSOLE_LINES = 14          # shown of a failure


@dataclasses.dataclass(frozen=True)
class Knob:
    """A boot argument that a seed perturbs: from `least` to `most` cycles (`hz`: a second).

    Each magnitude is equally likely; where it is `even`, each value.
    """

    name: str
    least: int
    most: int
    group: str
    text: str
    even: bool = False

    def value(self, seed):
        """Its value for `seed`, independent of other knobs; None: the default."""
        dice = random.Random(f"{self.name} {seed}")
        if dice.random() < LEFT_ALONE:
            return None
        if self.even:
            return self.least + int(dice.random() * (self.most - self.least + 1))
        return round(self.least * math.exp(dice.random() * math.log(self.most / self.least)))


KNOBS = (
    Knob("ram_read_latency", 1, 60, "memory", "a read takes {} cycles more than it must"),
    Knob("ram_jitter", 1, 63, "memory", "a read takes up to {} cycles more at random", even=True),
    Knob("link_read_latency", 4, 300, "PIC", "a read takes {} cycles"),
    Knob("link_write_latency", 4, 300, "PIC", "a write takes {} cycles"),
    Knob("link_delivery_delay", 10, 1500, "PIC", "an interrupt comes {} cycles after its source"),
    Knob("link_jitter", 1, 800, "PIC", "each of these takes up to {} cycles more at random", even=True),
    Knob("hz", 200, 4000, "clock", "{} ticks a second on each hart"),
    Knob("hz.jitter", 1, 15000, "clock", "a tick comes up to {} cycles late at random", even=True),
)


class ExploreError(Exception):
    """The exploration cannot continue; the text is one line."""


def perturbation(seed, fixed=()):
    """The perturbed boot arguments of `seed`, except those named in `fixed`; none for seed 0."""
    if not seed:
        return {}
    values = {knob.name: knob.value(seed) for knob in KNOBS if knob.name not in fixed}
    if "hz" in fixed:
        values.pop("hz.jitter", None)       # it must be less than a period, which is fixed by the user
    return {name: value for name, value in values.items() if value is not None}


def describe(seed, perturbed):
    """The lines that describe what `seed` perturbs."""
    if not seed:
        return ["nothing"]
    lines = [f"{knob.group}: {knob.text.format(perturbed[knob.name])}" for knob in KNOBS if knob.name in perturbed]
    return [*lines, f"random numbers of the test and of all that happens at random: from seed {seed}"]


@dataclasses.dataclass(frozen=True)
class Subject:
    """The subject: a run of the kernel (`run=NAME`) and all that is the same for every seed."""

    name: str
    machine: Machine
    sync: str
    settings: tuple         # "key=value"
    options: tuple          # "name=value", of the kernel's build
    max_cycles: int
    program: str = ""       # a user program's file, that the image has beside its own

    def perturbed(self, seed):
        """What `seed` perturbs, except the given settings."""
        return perturbation(seed, {setting.partition("=")[0] for setting in self.settings})

    def words(self, seed):
        """The boot arguments of one seed, without the seed itself."""
        perturbed = [f"{name}={value}" for name, value in self.perturbed(seed).items()]
        return [f"run={self.name}", *self.settings, *perturbed, f"console.baud={CONSOLE_BAUD}"]

    def command(self, target, seed, folder):
        """The simulator's command line for one seed."""
        return [str(target.simulator), "--image", str(target.image), "--bootargs", " ".join(self.words(seed)),
                "--seed", str(seed), "--out", str(folder), "--console", "file", "--uart0-baud", str(CONSOLE_BAUD),
                "--max-cycles", str(self.max_cycles), "--hang-cycles", str(HANG_CYCLES), "--quiet"]

    def repeat(self, seed, status):
        """The one command that repeats a seed's run, with its console on the terminal."""
        program = "./interlock" if Path.cwd() == REPO else str(REPO / "interlock")
        command = [program, "sim", "--harts", str(self.machine.harts), "--sync", self.sync, "--seed", str(seed)]
        command += [part for name, value in self.machine.said for part in ("--machine", f"{name}={written(value)}")]
        command += [part for option in self.options for part in ("--option", option)]
        words = self.words(seed)
        if self.program:        # which says these itself
            command += ["--program", self.program]
            words = [word for word in words if word.partition("=")[0] not in ("run", "program")]
        command += [part for word in words for part in ("--set", word)]
        if status == LIMIT:
            command += ["--max-cycles", str(self.max_cycles)]
        if status == HANG:
            command += ["--hang-cycles", str(HANG_CYCLES)]
        return shlex.join(command)


@dataclasses.dataclass(frozen=True)
class Trial:
    """How the run of one seed ended."""

    seed: int
    status: int
    cycles: int
    digest: str | None
    reason: str | None      # why it failed; None: it passed
    perturbed: dict


class Explorer:
    """Runs `test` over `seeds`, several at a time, until one fails; the directory `out` keeps the results."""

    def __init__(self, test, target, seeds, jobs, out):
        self.test = test
        self.target = target
        self.seeds = seeds
        self.jobs = jobs
        self.out = out
        self.trials = []
        self.failed = None      # the trial of the least seed that failed
        self.elapsed_s = 0.0

    def execute(self, report):
        """Runs until all seeds passed or the least failing one is known, independent of the simulators' speed.

        `report(Progress)` is called several times a second. ExploreError if there is nothing to explore, RecordError.
        """
        self.out.mkdir(parents=True, exist_ok=True)
        waiting = list(reversed(self.seeds))
        active = {}
        begin, reported = time.monotonic(), -REPORT_S
        try:
            while (waiting and not self.failed) or active:
                while waiting and not self.failed and len(active) < self.jobs:
                    seed = waiting.pop()
                    active[seed] = self._start(seed)
                for seed in [seed for seed, process in active.items() if process.poll() is not None]:
                    self._finish(seed, active.pop(seed).returncode)
                self._end({seed: active.pop(seed) for seed in list(active) if self.failed and seed > self.failed.seed})
                self.elapsed_s = time.monotonic() - begin
                if self.elapsed_s - reported > REPORT_S or not active:
                    reported = self.elapsed_s
                    report(self._progress())
                if active:
                    time.sleep(POLL_S)
        finally:
            self._end(active)
            self._write()

    def console(self, seed):
        """The output of a failed run: from the panic on, else its end."""
        path = self.folder(seed) / "console.txt"
        lines = path.read_text(errors="replace").splitlines() if path.is_file() else []
        panic = next((i for i, line in enumerate(lines) if line.startswith(PANIC)), None)
        return lines[-CONSOLE_LINES:] if panic is None else lines[panic:panic + CONSOLE_LINES]

    def folder(self, seed):
        return self.out / f"seed-{seed}"

    def _start(self, seed):
        folder = self.folder(seed)
        folder.mkdir()
        return start(self.test.command(self.target, seed, folder), folder)

    def _finish(self, seed, status):
        folder = self.folder(seed)
        if status == 2:
            raise ExploreError(f"the simulator refused its input: {(folder / MESSAGES).read_text().strip()}")
        ran = record.read_json(folder / "run.json") if (folder / "run.json").is_file() else {}
        if ran.get("exit", {}).get("code") == USAGE_EXIT_CODE:
            raise ExploreError(f"the kernel refused its boot arguments: {' '.join(self.console(seed)[1:2])}")
        reason = self._reason(seed, status, ran)
        trial = Trial(seed, status, ran.get("cycles", 0), ran.get("digest"), reason, self.test.perturbed(seed))
        self.trials.append(trial)
        if reason is None:
            shutil.rmtree(folder)
        elif not self.failed or seed < self.failed.seed:
            self.failed = trial

    def _reason(self, seed, status, ran):
        """Why a run that ended with `status` has failed; None if it has not."""
        if status == 1 and (panic := [line for line in self.console(seed) if line.startswith(PANIC)]):
            return panic[0]
        return why_failed(status, ran)

    def _progress(self):
        done = len(self.trials)
        left = self.elapsed_s * (len(self.seeds) - done) / done if done else None
        return Progress(len(self.seeds), done, int(bool(self.failed)), sum(trial.cycles for trial in self.trials),
                        self.elapsed_s, left)

    def _write(self):
        """Writes explore.json: the subject, and how each seed ended."""
        trials = sorted(self.trials, key=lambda trial: trial.seed)
        record.write_json(self.out / "explore.json", {
            "test": dataclasses.asdict(self.test), "image_sha256": digest_of(self.target.image),
            "trials": [dataclasses.asdict(trial) for trial in trials], "failed": self.failed and self.failed.seed,
            "repeat": self.failed and self.test.repeat(self.failed.seed, self.failed.status)})

    def _end(self, active):
        """Ends simulators under way, whose runs are not wanted any more."""
        end(active.values())
        for seed in active:
            shutil.rmtree(self.folder(seed))
