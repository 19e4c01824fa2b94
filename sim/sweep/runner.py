"""Carries out an experiment: builds what it needs, runs the simulators side by side, and leaves a record of each run.

One simulator is one process with one thread; they run in a pool, on this machine (sim/sweep/local.py) or on a cluster
(sim/sweep/cluster.py), the longest first, so that the last ones end together. A run that was carried out before from
the same inputs is taken from the store (sim/sweep/store.py). A run that fails is recorded and named at the end, the
others go on.
Ctrl-C ends the running ones and keeps every finished record.
"""

import dataclasses
import re
import shlex
import shutil
import signal
import time
from datetime import datetime
from pathlib import Path

from sim.experiments.definition import IMAGE, Run, disk_image, input_file
from sim.results import record
from sim.results.report import solve_line
from sim.results.statistics import median
from sim.sweep import boot, worker
from sim.sweep.store import key_of
from sim.wires import nodes
from sim.wires.frames import Flood

# The meaning of the simulator's exit status (sim/harness).
OUTCOMES = {
    0: None,
    1: "the target ended with an error",
    2: "the simulator refused its input",
    3: "the limit of cycles or of time was reached",
    4: "the target hangs",
    5: "the simulator itself stood still",
    6: "the board could not be worked with",
    130: "interrupted",
}
KILLED = ("the simulator was killed (signal 9), as the kernel does when memory runs out: fewer --jobs take less, "
          "`resume` goes on")
NO_MEMORY = "the simulator ran out of memory: fewer --jobs take less, `resume` goes on"
BASE_SPEED = 1.4e6      # simulated cycles per second of one hart; N harts take about N times as long
REPORT_S = 0.2
LEAST_FREE_BYTES = 16384
STALL_S = 300           # a simulator without progress for so long is ended: hangs of the target are found before
LIMIT_FACTOR = 4        # a run that exceeds its estimate by this factor is ended


@dataclasses.dataclass
class Progress:
    """How far an experiment is, for display."""

    total: int = 0
    done: int = 0
    failed: int = 0
    cycles: int = 0             # simulated in all, also by active runs
    elapsed_s: float = 0.0
    left_s: float | None = None
    reused: int = 0             # taken from earlier runs
    state: str = ""             # the pool's state, if there is something to report

    @property
    def speed(self):
        """Simulated cycles per second, all simulators together."""
        return self.cycles / self.elapsed_s if self.elapsed_s else 0.0


@dataclasses.dataclass(frozen=True)
class Target:
    """What executes a run: the simulator and the kernel image."""

    simulator: Path
    image: Path


def cost(run):
    """Seconds that a run is expected to take."""
    return run.cycles * run.harts * run.machine.nodes / BASE_SPEED


def build_targets(wanted, build_simulator, build_kernel, report):
    """Builds the simulator and the image of each `Run.target`; `report(text, done, total)` shows progress."""
    machines = sorted({machine for machine, *_ in wanted})
    total = len(machines) + len(wanted)
    done = 0
    simulators, targets = {}, {}
    for machine in machines:
        report(f"simulator, {machine}", done, total)
        simulators[machine] = build_simulator(machine.config(), two_chips=machine.two_chips)
        done += 1
    for machine, sync, options, runs, *program in sorted(wanted):
        text = " ".join([sync, *(f"{name}={value}" for name, value in options), *runs, *program])
        report(f"kernel, {machine}, {text}", done, total)
        image = build_kernel(machine.config(), sync, options=dict(options), runs=runs, **added(program))
        targets[machine, sync, options, runs, *program] = Target(simulators[machine], image)
        done += 1
    report("built", done, total)
    return targets


def added(program):
    """What `build_kernel` is told of the program in a `Run.target`, if there is one."""
    from sim.images.programs import command_files
    return {"files": command_files(program)} if program else {}


def image_of(content):
    """The image named by a drive's content, with its @; made if it is not in the cache."""
    from sim.images.disks import IMAGES
    return IMAGES[content.removeprefix(IMAGE)]()


def build_images(runs):
    """Makes the images of drives that `runs` name."""
    for content in {run.disk.partition(",")[0] for run in runs if run.disk.startswith(IMAGE)}:
        image_of(content)


def task_of(run, files):
    """The task of `run` with `files` (name -> worker.File): simulator, image, perhaps input."""
    arguments = ["{simulator}", "--image", "{image}", "--bootargs", run.bootargs, "--console", "file",
                 "--uart0-baud", str(run.console_baud), "--seed", str(run.seed),
                 "--max-cycles", str(LIMIT_FACTOR * run.cycles + 20_000_000)]
    if "input" in files or "baud" in run.parameters and "nodes" in run.parameters:
        arguments += ["--uart1-baud", str(run.parameters["baud"])]
    if "input" in files:
        arguments += ["--uart1-in", "{input}"]
    if "disk" in files:
        arguments += ["--disk", ",".join(["{disk}", *run.disk.split(",")[1:]])] * run.machine.value("disks")
    if run.flow:
        arguments += ["--uart1-flow", run.flow]
    if "frames" in files:
        arguments += ["--ether-in", "{frames}", "--ether-mbits", str(Flood.of(run.frames).mbits)]
    arguments += boot.arguments(run)
    if run.machine.nodes > 1:
        said = run.machine.value
        arguments += nodes.options(said("nodes"), said("nodes_wire"), said("nodes_latency"))
        if mbits := re.search(r"\bnet\.mbits=(\d+)", run.bootargs):      # a wire has the speed of its machines
            arguments += ["--ether-mbits", mbits[1]]
    return worker.Task(tuple(arguments), ("--out", "{out}", "--progress", "1", "--max-stall", str(STALL_S)), files)


def why_failed(status, simulated):
    """Why a run failed whose simulator ended with `status` and left `simulated` (its run.json); None if it
    succeeded."""
    other = f"the simulator died with signal {-status}" if status < 0 else f"the simulator ended with status {status}"
    reason = KILLED if status == -signal.SIGKILL else OUTCOMES.get(status, other)
    node = record.failed_node(simulated)
    said = simulated.get("reason") if node is None else f"node {node}: {simulated['nodes'][node]['reason']}"
    return f"{reason}: {said}" if reason and said else reason


def counted_loss(run, simulated):
    """Whether the target reports that bytes were lost, and has counted them."""
    results = record.results_of(simulated, run.result) or [{}]
    return bool(results[0].get("overruns", 0) + results[0].get("dropped", 0))


def wrong_result(run, simulated, received):
    """Why the result of a successful run cannot be used; None if it can.

    Lost bytes that were counted are a result of the experiment; bytes that changed or were not counted are an error.
    """
    if not record.results_of(simulated, run.result):
        return f"the target printed no @{run.result} line"
    if received and not received["identical"] and not counted_loss(run, simulated):
        return (f"{received['received']} of {received['sent']} bytes received, the first difference at byte "
                f"{received['first_difference']}, and no loss counted")
    return None


def solve_value(solve, records):
    """The whole value of `solve["for"]` at which `solve["equals"]` is reached, by the medians over layouts and seeds of
    the results of `records`.

    ValueError when there is no such value.
    """
    found = {}
    for made in records:
        for result in record.results_of(made["run"], solve["result"]):
            if result["primitive"] == solve["primitive"]:
                found.setdefault(made["parameters"][solve["for"]], []).append(result[solve["value"]])
    return round(solve_line([(x, median(values)) for x, values in found.items()], solve["equals"]))


@dataclasses.dataclass(eq=False)
class Job:
    """A run under way."""

    run: Run
    task: worker.Task
    key: str                # sim/sweep/store.py
    folder: Path
    started: str
    cost: float = 0.0       # its expected seconds
    boot: "Job | None" = None   # makes the checkpoint that it resumes from (sim/sweep/boot.py)
    failure: str | None = None  # one line, if it has failed

    def tail(self, lines=8):
        """The last lines of the console, or of the simulator's messages if the console is empty."""
        try:
            node = record.failed_node(record.read_json(self.folder / "run.json"))
        except record.RecordError:
            node = None
        console = self.folder / ("console.txt" if self.run.machine.nodes == 1 else f"node-{node or 0}/console.txt")
        for path in (console, self.folder / worker.MESSAGES):
            if path.is_file():
                text = worker.tail(path, 8192).rstrip()
                if text:
                    return text.splitlines()[-lines:]
        return []

    def messages(self):
        """The last lines of the simulator's own messages."""
        path = self.folder / worker.MESSAGES
        return worker.tail(path, 4096).splitlines() if path.is_file() else []

    def repeat(self):
        """The one command that repeats this run, with its console on the terminal if there is one console."""
        command = self.task.command(self.task.local_paths(), f"{self.folder}-again")
        if self.run.machine.nodes == 1:
            command[command.index("--console") + 1] = "tty"
        return shlex.join(command)


@dataclasses.dataclass(frozen=True)
class Failure:
    """A failed run."""

    id: str
    reason: str
    console: list
    command: str


class Interrupted(Exception):
    """Ctrl-C: finished runs are recorded."""


class Runner:
    """Executes all runs of an experiment with `settings` into the directory `out`, on the `pool`.

    Runs in `store` (None: no store) are not run again, unless `fresh`: then the results must be the same.
    """

    def __init__(self, experiment, settings, out, pool, clock_hz, store=None, fresh=False, task_of=task_of):
        self.experiment = experiment
        self.settings = settings
        self.out = out
        self.pool = pool
        self.clock_hz = clock_hz
        self.store = store
        self.fresh = fresh
        self.task_of = task_of      # makes a run's task: the simulator's by default
        self.runs = experiment.runs(settings, clock_hz)
        self.solvers = list(experiment.solvers())
        self.failures = []
        self.records = {}
        self.notes = []
        self.reused = 0
        self.digests = {}       # path -> SHA-256
        self.boots = boot.Boots()

    def targets(self):
        """The targets of all runs, also of those still to be solved."""
        return {run.target for run in self.runs}.union(
            *(self.experiment.solver_targets(kind, self.settings, self.clock_hz) for kind in self.solvers))

    def prepare(self, tools, soc):
        """Makes the results directory and records the request there."""
        record.make_directory(self.out / "runs")
        self.context = {
            "experiment": self.experiment.name,
            "source": self.experiment.source,
            "question": self.experiment.question,
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
        """Executes all runs; `report(Progress)` is called several times a second. Interrupted on Ctrl-C."""
        waiting = sorted(self.runs, key=cost)       # taken from the end: the longest first
        active = []
        begin = time.monotonic()
        reported = 0.0
        finished_cycles = 0
        total_cost = sum(map(cost, waiting)) or 1e-9
        done_cost = 0.0
        try:
            while waiting or active:
                while waiting and self.pool.free():
                    job = self._job(waiting.pop(), targets)
                    if self._had_before(job):
                        total_cost -= cost(job.run)
                    elif not self.boots.made(job.run):
                        first = self.boots.wait(job.run)
                        waiting += [first] if first else []
                        total_cost += cost(first) if first else 0
                        continue
                    elif failure := self.boots.failure(job.run):
                        self._finish(job, f"its boot failed: {failure}", {})
                    else:
                        self.pool.start(self._ready(job), cost(job.run))
                        active.append(job)
                        continue
                    waiting += self._after(job)
                for job, status, host in self.pool.ended():
                    active.remove(job)
                    finished_cycles += self._finish(job, status, {"worker": host} if host else {})
                    done_cost += cost(job.run)
                    waiting += self._after(job)
                for solved in self._solve():
                    waiting.append(solved)
                    total_cost += cost(solved)
                if time.monotonic() - reported > REPORT_S or not (waiting or active):
                    reported = time.monotonic()
                    self._report(report, active, reported - begin, total_cost, done_cost, finished_cycles)
        except KeyboardInterrupt:
            raise Interrupted from None
        finally:
            self.pool.stop()

    def _report(self, report, active, elapsed, total_cost, done_cost, finished_cycles):
        current = {job: self.pool.cycles(job) for job in active}
        worked = done_cost + sum(cost(job.run) * min(1.0, cycles / job.run.cycles) for job, cycles in current.items())
        # Reused runs leave a rounding error in the total, which may be negative.
        left = elapsed * (total_cost - worked) / worked if worked > max(0.0, 0.01 * total_cost) else None
        report(Progress(len(self.runs), len(self.records), len(self.failures),
                        finished_cycles + sum(current.values()), elapsed, left, self.reused, self.pool.state()))

    def _made(self, name, content):
        """The file `name` of the sweep, filled by `content` if it is missing."""
        path = self.out / name
        if not path.exists():
            record.write_bytes(path, content())
        return path

    def _drive(self, run):
        """The content of the drive of `run`: an image made for it, or seeded bytes."""
        content = run.disk.partition(",")[0]
        if content.startswith(IMAGE):
            return image_of(content)
        return self._made(f"disk-{content}-seed{run.seed}.img", lambda: disk_image(run.seed, int(content)))

    def _job(self, run, targets):
        """The job of `run`, its files in place."""
        target = targets[run.target]
        paths = {"simulator": target.simulator, "image": target.image}
        if run.input_bytes is not None:
            paths["input"] = self._made(f"serial-{run.input_bytes}-seed{run.seed}.bin",
                                        lambda: input_file(run.seed, run.input_bytes))
        if run.disk:
            paths["disk"] = self._drive(run)
        if run.frames:
            paths["frames"] = self._made(f"frames-{run.frames.replace(',', '-')}.pcap",
                                         lambda: Flood.of(run.frames).pcap())
        for path in paths.values():
            if path not in self.digests:
                self.digests[path] = worker.digest_of(path)
        files = {name: worker.File(str(path.resolve()), self.digests[path]) for name, path in paths.items()}
        first = self._job(boot.of(run), targets) if boot.goes_on(run) else None
        if first:       # the boot's inputs identify its checkpoint, which need not exist
            files["checkpoint"] = worker.File(str((first.folder / boot.CHECKPOINT).resolve()), first.key)
        task = self.task_of(run, files)
        return Job(run, task, key_of(task), self.out / "runs" / run.id,
                   datetime.now().astimezone().isoformat(timespec="seconds"), boot=first)

    @staticmethod
    def _ready(job):
        """The job, which can be started now: its checkpoint exists."""
        if job.boot:
            path = job.task.files["checkpoint"].path
            files = job.task.files | {"checkpoint": worker.File(path, worker.digest_of(path))}
            job.task = dataclasses.replace(job.task, files=files)
        return job

    def _after(self, job):
        """The runs that can start now that one has ended: those that waited for their boot."""
        return self.boots.ended(job.run, job.failure) if job.run.kind == boot.KIND else []

    def _had_before(self, job):
        """Whether the run need not be executed: this directory has it already, or the store."""
        try:
            made = record.read_json(job.folder / "record.json")
        except record.RecordError:
            made = None
        if not self.fresh and self._is_of(made, job):
            self.records[job.run.id] = made
            self.reused += 1
            return True
        shutil.rmtree(job.folder, ignore_errors=True)
        if not job.folder.is_dir():
            job.folder.unlink(missing_ok=True)
        record.make_directory(job.folder)
        started = self.store.take(job.key, job.folder) if self.store and not self.fresh else None
        if started:
            job.started = started
            self._finish(job, 0, {"reused": True})
            self.reused += job.run.kind != boot.KIND
        return bool(started)

    @staticmethod
    def _is_of(made, job):
        """Whether content read as a record is this job's, successful; foreign content is no record."""
        return (isinstance(made, dict) and made.get("failure", "") is None and isinstance(made.get("host"), dict)
                and made["host"].get("key") == job.key)

    def _finish(self, job, status, host):
        """Records an ended run; returns its cycles. `status` is the simulator's, or the reason for none."""
        simulated, reason = self._outcome(job, status)
        received = None
        if job.run.kind != boot.KIND:
            if job.run.input_bytes is not None:
                received = record.compare_received(input_file(job.run.seed, job.run.input_bytes), job.folder)
            reason = reason or wrong_result(job.run, simulated, received)
        if self.store and not reason and not host.get("reused"):
            reason = self.store.keep(job.key, job.folder, job.started)
        job.failure = reason
        if job.run.kind == boot.KIND:
            return simulated.get("cycles", 0)
        host = {"started": job.started, "key": job.key, "reused": False} | self._booted(job) | host
        made = record.make(job.run, self.experiment.name, self.context, job.task.files["image"].sha256, simulated,
                           received, reason, host)
        record.write_json(job.folder / "record.json", made)
        self.records[job.run.id] = made
        if reason:
            self._check_room()
            shown = job.boot if self.boots.made(job.run) and self.boots.failure(job.run) else job
            self.failures.append(Failure(job.run.id, reason, shown.tail(), shown.repeat()))
        return simulated.get("cycles", 0)

    @staticmethod
    def _booted(job):
        """The entry in the host's part of a record about the boot that this directory has executed for the run."""
        if not job.boot:
            return {}
        try:
            seconds = record.read_json(job.boot.folder / "run.json")["host"]["seconds"]
        except record.RecordError:
            seconds = None
        return {"boot": job.boot.run.id, "boot_seconds": seconds}

    @staticmethod
    def _outcome(job, status):
        """The simulator's run.json, and why the run failed (None: it did not)."""
        simulated, unreadable = {}, None
        try:
            simulated = record.read_json(job.folder / "run.json")
        except record.RecordError as error:
            unreadable = str(error)
        if isinstance(status, str):
            reason = status
        else:
            if counted_loss(job.run, simulated) and status == 1:
                status = 0      # the kernel ends with 1 when bytes are missing; the report shows how many
            reason = why_failed(status, simulated)
            if status == -signal.SIGABRT and any("bad_alloc" in line for line in job.messages()):
                reason = NO_MEMORY
            if status in (2, 6) and not simulated.get("reason"):
                reason = f"{reason}: {' '.join(job.tail(1))}"
        return simulated, reason or unreadable

    def _check_room(self):
        """A full disk makes every run fail: this reports it once instead."""
        if shutil.disk_usage(self.out).free < LEAST_FREE_BYTES:
            raise record.RecordError(f"the disk is full: no room left in {self.out}")

    def _solve(self):
        """The runs that depend on results, as soon as all of those are there."""
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
                runs = self.experiment.solved(kind, value, self.settings, self.clock_hz)
                self.runs += runs
                ready += runs
            self._write_context()
        return ready
