"""A board as the machine that an experiment runs on: which of its runs it can execute, and how."""

from dataclasses import asdict

from sim.board.link import LinkError
from sim.sweep import worker
from sim.sweep.runner import LIMIT_FACTOR, Target, added
from soc.boards.build import generate_config
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from support.cache import REPO

FITTED = ("disks", "ethers")    # requirements of an experiment that a board may meet
SPARE_CYCLES = 600_000_000      # for a run beyond its estimate: the console's time, at the board's clock


def config_of(identity):
    """The configuration of this tree that the board was built from. LinkError if there is none."""
    if identity.name not in BOARDS:
        raise LinkError(f"the board says that it is '{identity.name}', which this tree does not have (make boards)")
    asked = {"harts": identity.harts, "clock_hz": identity.clock_hz}
    made = []
    simulated = not BOARDS[identity.name].oscillator_hz
    for fitted in ({}, {"disks": 1, "ethers": 1}) if simulated else ({},):
        for device in BOARDS[identity.name].devices:
            config = board_config(identity.name, device, **asked, **fitted)
            fingerprint = generate_config(config).fingerprint
            if fingerprint == identity.fingerprint:
                return config
            made.append(f"{fingerprint:016x} for {' '.join([device, *fitted])}")
    raise LinkError(f"the board {identity.name} is build {identity.fingerprint:016x}, this tree makes "
                    f"{', '.join(made)}: make bitstream BOARD={identity.name} HARTS={identity.harts} "
                    f"CLOCK={identity.clock_hz / 1e6:g}, then make flash BOARD={identity.name}")


def unfit(experiment, runs, harts):
    """One line why a board with so many `harts` cannot execute `runs` of an experiment; None if it can."""
    going_on = sorted({run.kind for run in runs if run.checkpoint})
    if going_on:
        return (f"{experiment.name}: runs {', '.join(going_on)} go on from checkpoints, which only the simulator has: "
                "leave out --target")
    if any(run.frames for run in runs):
        return f"{experiment.name}: its frames come from the simulator's Ethernet wire: leave out --target"
    said = sorted({name for run in runs for name, _ in run.on if name not in FITTED})
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
    """The board at a serial port; `identity` is its own description."""

    def __init__(self, port, identity, slowdown, baud):
        self.port = port
        self.identity = identity
        self.slowdown = slowdown
        self.baud = baud
        self.config = config_of(identity)

    def lacks(self, runs):
        """One line on what `runs` need and the board lacks; None if it has all."""
        for name in FITTED:
            wanted = max((dict(run.on).get(name, 0) for run in runs), default=0)
            if wanted > getattr(self.config, name):
                return f"the runs want {name}={wanted}, the board has {getattr(self.config, name)}: leave out --target"
        return None

    def targets(self, wanted, build_kernel, report):
        """An image for each `Run.target`; `report(text, done, total)` shows progress."""
        targets = {}
        for done, (on, sync, options, runs, *program) in enumerate(sorted(wanted)):
            text = " ".join([sync, *(f"{name}={value}" for name, value in options), *runs, *program])
            report(f"kernel for {self.identity.name}, {text}", done, len(wanted))
            image = build_kernel(self.config, sync, options=dict(options), runs=runs, **added(program))
            targets[on, sync, options, runs, *program] = Target(REPO / "interlock", image)
        report("built", len(wanted), len(wanted))
        return targets

    def describe(self):
        """The machine's description for a record."""
        return asdict(self.config) | {"fingerprint": f"{self.identity.fingerprint:016x}"}

    def task_of(self, run, files):
        """The task of `run` with `files` (name -> worker.File). Its drive is the board's SD card, with its current
        content."""
        arguments = ["{simulator}", "board", "boot", "--image", "{image}", "--bootargs", run.bootargs, "--console",
                     "file", "--seed", str(run.seed), "--max-cycles", str(LIMIT_FACTOR * run.cycles + SPARE_CYCLES),
                     "--expect", f"{self.identity.fingerprint:016x}"]
        if "input" in files:
            arguments += ["--uart1-in", "{input}"]
        manner = ("--port", self.port, "--slowdown", str(self.slowdown), "--baud", str(self.baud), "--out", "{out}")
        return worker.Task(tuple(arguments), manner, files)
