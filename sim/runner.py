"""Carries out an experiment: builds what it needs, runs the simulators side by side, and leaves a record of each run.

One simulator is one process with one thread; as many as there are jobs run at a time, the longest first, so that the
last ones end together. A run that fails is recorded and named at the end, the others go on. Ctrl-C ends the running
ones and keeps every finished record.
"""

import dataclasses
import re
import shlex
import shutil
import signal
import subprocess
import time
from datetime import datetime
from pathlib import Path

from sim import record
from sim.experiments.definition import input_file
from sim.report import solve_line

# What the simulator's exit status means (sim/harness).
OUTCOMES = {
    0: None,
    1: "the target ended with an error",
    2: "the simulator refused its input",
    3: "the limit of cycles or of time was reached",
    4: "the target hangs",
    130: "interrupted",
}
BASE_SPEED = 1.4e6      # simulated cycles per second of one hart; N harts take about N times as long
POLL_S = 0.02
REPORT_S = 0.2
GRACE_S = 10.0          # how long an interrupted simulator may take to write what it has
LEAST_FREE_BYTES = 16384
LIMIT_FACTOR = 4        # a run that takes so much longer than its estimate is ended


class RunnerError(Exception):
    """The experiment cannot be carried out; the text is one line."""


@dataclasses.dataclass
class Progress:
    """How far an experiment is, for whoever shows it."""

    total: int = 0
    done: int = 0
    failed: int = 0
    cycles: int = 0             # simulated in all, also by runs under way
    elapsed_s: float = 0.0
    left_s: float | None = None

    @property
    def speed(self):
        """Simulated cycles per second, all simulators together."""
        return self.cycles / self.elapsed_s if self.elapsed_s else 0.0


@dataclasses.dataclass(frozen=True)
class Target:
    """What a run is carried out with: the simulator and the kernel image."""

    simulator: Path
    image: Path


def cost(run):
    """Seconds that a run is expected to take."""
    return run.cycles * run.harts / BASE_SPEED


def build_targets(wanted, config_for, build_simulator, build_kernel, report):
    """Builds the simulator and the image of each `Run.target`; `report(text, done, total)` says how far it is."""
    harts = sorted({n for n, _, _ in wanted})
    total = len(harts) + len(wanted)
    done = 0
    simulators, targets = {}, {}
    for n in harts:
        report(f"simulator, {n} hart{'s' * (n > 1)}", done, total)
        simulators[n] = build_simulator(config_for(n))
        done += 1
    for n, sync, options in sorted(wanted):
        text = " ".join([sync, *(f"{name}={value}" for name, value in options)])
        report(f"kernel, {n} hart{'s' * (n > 1)}, {text}", done, total)
        targets[n, sync, options] = Target(simulators[n], build_kernel(config_for(n), sync, options=dict(options)))
        done += 1
    report("built", done, total)
    return targets


def simulator_command(target, run, folder, input_path):
    """The command line of one run."""
    command = [str(target.simulator), "--image", str(target.image), "--bootargs", run.bootargs, "--out", str(folder),
               "--console", "file", "--uart0-baud", str(run.console_baud), "--seed", str(run.seed),
               "--max-cycles", str(LIMIT_FACTOR * run.cycles + 20_000_000), "--progress", "1"]
    if input_path:
        baud = str(run.parameters["baud"])
        command += ["--uart1-baud", baud, "--uart1-in", str(input_path)]
    return command


def counted_loss(run, simulated):
    """Whether the target says that it received less because bytes were lost, and counted them."""
    results = simulated.get("results", {}).get(run.result) or [{}]
    return bool(results[0].get("overruns", 0) + results[0].get("dropped", 0))


def wrong_result(run, simulated, received):
    """Why the result of a run that ended well cannot be used; None if it can.

    Bytes that were lost and counted are a result of the experiment; bytes that changed or went uncounted are an error.
    """
    if not simulated.get("results", {}).get(run.result):
        return f"the target printed no @{run.result} line"
    if received and not received["identical"] and not counted_loss(run, simulated):
        return (f"{received['received']} of {received['sent']} bytes received, the first difference at byte "
                f"{received['first_difference']}, and no loss counted")
    return None


def solve_value(solve, records):
    """The whole value of `solve["for"]` at which the results of `records` say that `solve["equals"]` comes out.

    ValueError when there is no such value.
    """
    points = []
    for made in records:
        for result in made["run"].get("results", {}).get(solve["result"], ()):
            if result["primitive"] == solve["primitive"]:
                points.append((made["parameters"][solve["for"]], result[solve["value"]]))
    return round(solve_line(points, solve["equals"]))


class Job:
    """A simulator at work."""

    def __init__(self, run, target, out):
        self.run = run
        self.target = target
        self.folder = out / "runs" / run.id
        self.folder.mkdir(parents=True)
        input_path = None
        if run.input_bytes is not None:
            input_path = out / f"serial-{run.input_bytes}.bin"
            if not input_path.exists():
                input_path.write_bytes(input_file(run.seed, run.input_bytes))
        self.command = simulator_command(target, run, self.folder, input_path)
        self.started = datetime.now().astimezone().isoformat(timespec="seconds")
        self.messages = self.folder / "messages.txt"
        with open(self.messages, "wb") as messages:
            # A session of its own: Ctrl-C on the terminal must reach the runner alone, which then ends the simulators.
            self.process = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=messages, stderr=messages,
                                            start_new_session=True)

    def cycles(self):
        """Cycles simulated so far, as the simulator last said."""
        try:
            said = re.findall(r"\bcycles?[= ]([\d,]+)", self._tail(self.messages, 4096))
        except OSError:
            return 0
        return int(said[-1].replace(",", "")) if said else 0

    @staticmethod
    def _tail(path, count):
        with open(path, "rb") as file:
            file.seek(0, 2)
            file.seek(max(0, file.tell() - count))
            return file.read().decode(errors="replace")

    def tail(self, lines=8):
        """The last lines of the console, or of the simulator's messages if the console is empty."""
        for path in (self.folder / "console.txt", self.messages):
            if path.is_file():
                text = self._tail(path, 8192).rstrip()
                if text:
                    return text.splitlines()[-lines:]
        return []

    def repeat(self):
        """The one command that repeats this run with its console on the terminal."""
        command = list(self.command)
        command[command.index("--console") + 1] = "tty"
        command[command.index("--out") + 1] += "-again"
        return shlex.join(command)


@dataclasses.dataclass(frozen=True)
class Failure:
    """A run that did not end well."""

    id: str
    reason: str
    console: list
    command: str


class Interrupted(Exception):
    """Ctrl-C: what was finished is recorded."""


class Runner:
    """Runs all that `settings` ask of an experiment into the directory `out`."""

    def __init__(self, experiment, settings, out, jobs, clock_hz):
        self.experiment = experiment
        self.settings = settings
        self.out = out
        self.jobs = jobs
        self.clock_hz = clock_hz
        self.runs = experiment.runs(settings, clock_hz)
        self.solvers = list(experiment.solvers())
        self.failures = []
        self.records = {}
        self.notes = []

    def targets(self):
        """The targets of all runs, those too that are still to be solved."""
        return {run.target for run in self.runs} | {self.experiment.solver_target(kind) for kind in self.solvers}

    def prepare(self, tools, soc):
        """Makes the results directory and notes there what is asked for."""
        try:
            (self.out / "runs").mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RunnerError(f"{self.out} cannot be made: {error.strerror}") from error
        self.context = {
            "experiment": self.experiment.name,
            "report": self.experiment.report,
            "collect": list(self.experiment.collect),
            "settings": self.settings,
            "clock_hz": self.clock_hz,
            "tools": tools,
            "soc": soc,
        }
        self._write_context()

    def _write_context(self):
        record.write_json(self.out / "experiment.json",
                          self.context | {"runs": [run.id for run in self.runs], "notes": self.notes})

    def execute(self, targets, report):
        """Carries out all runs; `report(Progress)` is called several times a second. Interrupted on Ctrl-C."""
        digests = {target.image: record.file_digest(target.image) for target in targets.values()}
        waiting = sorted(self.runs, key=cost)       # taken from the end: the longest first
        active = []
        begin = time.monotonic()
        reported = 0.0
        finished_cycles = 0
        total_cost = sum(map(cost, waiting)) or 1e-9
        done_cost = 0.0
        try:
            while waiting or active:
                while waiting and len(active) < self.jobs:
                    run = waiting.pop()
                    active.append(Job(run, targets[run.target], self.out))
                for job in [job for job in active if job.process.poll() is not None]:
                    active.remove(job)
                    finished_cycles += self._finish(job, digests)
                    done_cost += cost(job.run)
                    for solved in self._solve():
                        waiting.append(solved)
                        total_cost += cost(solved)
                if time.monotonic() - reported > REPORT_S or not (waiting or active):
                    reported = time.monotonic()
                    self._report(report, active, reported - begin, total_cost, done_cost, finished_cycles)
                if active:
                    time.sleep(POLL_S)
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            self._end(active)

    def _report(self, report, active, elapsed, total_cost, done_cost, finished_cycles):
        current = {job: job.cycles() for job in active}
        worked = done_cost + sum(cost(job.run) * min(1.0, cycles / job.run.cycles) for job, cycles in current.items())
        left = elapsed * (total_cost - worked) / worked if worked > 0.01 * total_cost else None
        report(Progress(len(self.runs), len(self.records), len(self.failures),
                        finished_cycles + sum(current.values()), elapsed, left))

    def _finish(self, job, digests):
        """Records an ended run; gives its cycles."""
        simulated, unreadable = {}, None
        try:
            simulated = record.read_json(job.folder / "run.json")
        except record.RecordError as error:
            unreadable = str(error)
        status = job.process.returncode
        if status == 1 and counted_loss(job.run, simulated):
            status = 0      # the kernel ends with 1 when bytes are missing; the report shows how many
        reason = OUTCOMES.get(status, f"the simulator died with signal {-status}" if status < 0
                              else f"the simulator ended with status {status}")
        if reason and simulated.get("reason"):
            reason = f"{reason}: {simulated['reason']}"
        elif status == 2:
            reason = f"{reason}: {' '.join(job.tail(1))}"
        received = None
        if job.run.input_bytes is not None:
            received = record.compare_received(input_file(job.run.seed, job.run.input_bytes), job.folder)
        reason = reason or unreadable or wrong_result(job.run, simulated, received)
        made = record.make(job.run, self.experiment.name, self.context, digests[job.target.image], simulated, received,
                           reason, job.started)
        record.write_json(job.folder / "record.json", made)
        self.records[job.run.id] = made
        if reason:
            self._check_room()
            self.failures.append(Failure(job.run.id, reason, job.tail(), job.repeat()))
        return simulated.get("cycles", 0)

    def _check_room(self):
        """A full disk makes every run fail: it is said once instead."""
        if shutil.disk_usage(self.out).free < LEAST_FREE_BYTES:
            raise record.RecordError(f"the disk is full: no room left in {self.out}")

    def _solve(self):
        """The runs that follow from results, as soon as all of those are there."""
        ready = []
        for kind in list(self.solvers):
            solve = kind["solve"]
            sources = [run for run in self.runs if run.kind == solve["run"]]
            if not all(run.id in self.records for run in sources):
                continue
            self.solvers.remove(kind)
            try:
                value = solve_value(solve, [self.records[run.id] for run in sources])
            except ValueError as error:
                self.notes.append(f"{kind['name']}: {error}")
            else:
                run = self.experiment.solved(kind, value, self.settings, self.clock_hz)
                self.runs.append(run)
                ready.append(run)
            self._write_context()
        return ready

    @staticmethod
    def _end(active):
        """Ends simulators under way, giving each time to write what it has."""
        for job in active:
            job.process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + GRACE_S
        for job in active:
            try:
                job.process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                job.process.kill()
                job.process.wait()
