"""A board as the machine that an experiment runs on: which of its runs it can carry out, and how each is done."""

from dataclasses import asdict

from hw.common.cache import REPO
from sim.board.link import LinkError
from sim.sweep import worker
from sim.sweep.runner import LIMIT_FACTOR, Target
from soc.boards.build import generate_config
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config

SPARE_CYCLES = 600_000_000      # that a run may take beyond its estimate: the console's time, at the board's clock


def config_of(identity):
    """The configuration that the board was built from, of those that this tree makes. LinkError if there is none."""
    if identity.name not in BOARDS:
        raise LinkError(f"the board says that it is '{identity.name}', which this tree does not have (make boards)")
    asked = {"harts": identity.harts, "clock_hz": identity.clock_hz}
    made = []
    for device in BOARDS[identity.name].devices:
        config = board_config(identity.name, device, **asked)
        fingerprint = generate_config(config).fingerprint
        if fingerprint == identity.fingerprint:
            return config
        made.append(f"{fingerprint:016x} for {device}")
    raise LinkError(f"the board {identity.name} is build {identity.fingerprint:016x}, this tree makes "
                    f"{', '.join(made)}: make bitstream BOARD={identity.name} HARTS={identity.harts} "
                    f"CLOCK={identity.clock_hz / 1e6:g}, then make flash BOARD={identity.name}")


def unfit(experiment, runs, harts):
    """One line why a board with so many `harts` cannot carry out `runs` of an experiment; None if it can."""
    going_on = sorted({run.kind for run in runs if run.checkpoint})
    if going_on:
        return (f"{experiment.name}: runs {', '.join(going_on)} go on from checkpoints, which only the simulator has: "
                "leave out --target")
    said = sorted({name for run in runs for name, _ in run.on})
    if said:
        return (f"{experiment.name}: {', '.join(said)}: a board is the machine that it was built as (make bitstream), "
                "leave out --target")
    wanted = sorted({run.harts for run in runs})
    if wanted == [harts]:
        return None
    listed = ", ".join(map(str, wanted))
    if "harts" in experiment.keys:
        return f"the board has {harts} hart{'s' * (harts > 1)}, the runs want {listed}: give --set harts={harts}"
    return f"the board has {harts} hart{'s' * (harts > 1)}, {experiment.name} has runs for {listed}"


class BoardMachine:
    """The board at a serial port; `identity` is what it says that it is."""

    def __init__(self, port, identity, slowdown, baud):
        self.port = port
        self.identity = identity
        self.slowdown = slowdown
        self.baud = baud
        self.config = config_of(identity)

    def targets(self, wanted, build_kernel, report):
        """An image for each `Run.target`; `report(text, done, total)` says how far it is."""
        targets = {}
        for done, (on, sync, options, runs) in enumerate(sorted(wanted)):
            text = " ".join([sync, *(f"{name}={value}" for name, value in options), *runs])
            report(f"kernel for {self.identity.name}, {text}", done, len(wanted))
            image = build_kernel(self.config, sync, options=dict(options), runs=runs)
            targets[on, sync, options, runs] = Target(REPO / "interlock", image)
        report("built", len(wanted), len(wanted))
        return targets

    def describe(self):
        """The machine as a record notes it."""
        return asdict(self.config) | {"fingerprint": f"{self.identity.fingerprint:016x}"}

    def task_of(self, run, files):
        """What is to be carried out for `run` with `files` (name -> worker.File)."""
        arguments = ["{simulator}", "board", "boot", "--image", "{image}", "--bootargs", run.bootargs, "--console",
                     "file", "--seed", str(run.seed), "--max-cycles", str(LIMIT_FACTOR * run.cycles + SPARE_CYCLES),
                     "--expect", f"{self.identity.fingerprint:016x}"]
        if "input" in files:
            arguments += ["--uart1-in", "{input}"]
        manner = ("--port", self.port, "--slowdown", str(self.slowdown), "--baud", str(self.baud), "--out", "{out}")
        return worker.Task(tuple(arguments), manner, files)
