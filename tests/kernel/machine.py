"""Boots kernel images in the simulator, for the kernel's tests.

The environment's KERNEL_LAYOUT=N runs them with code, data, stacks and pages placed by N: none may fail."""

import csv
import functools
import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sim.images.kernel import WRONG_SCHEMES, WRONG_SPINLOCKS, build_kernel, runs_of
from sim.model.build import build_simulator
from sim.model.verilate import SLOW_FLAGS, Recipe
from soc.config import SoCConfig

CONSOLE_BAUD = 6_000_000     # ten cycles a bit, so that printing costs little time
TYPING_BAUD = 1_000_000      # as fast as the kernel can receive while it is busy
MAX_CYCLES = 30_000_000
HANG_CYCLES = 3_000_000
PROMPT = b"> "
PROBE_LOG = "probes.csv"
# One machine for all tests of devices, and one kernel a scheme for those of disks: each other one must be built.
DEVICES = {"disks": 2, "ethers": 1}
CHECKS = {"lock_debug": "1"}       # each of the three kernels once: checks double the kernel's time
BEYOND = {"unix": "beyond"}
SOFTINT = {"biodone": "softint"}
BUCKETS = {"buffers": "buckets", "alloc": "groups", "inodes": "rw"}
DISK_BUILDS = {"spl-pessim": CHECKS, "spl-optim": BEYOND | SOFTINT, "cli-pessim": BEYOND | SOFTINT | CHECKS,
               "cli-optim": {}, "cli-spl-pessim": BUCKETS | SOFTINT | CHECKS}

# The kernel with LOCK_DEBUG's checks on a machine without devices: under these schemes, as each must be built.
# Under the others the tests of disks have it.
CHECKED = {"spl-optim": {"lock_debug": "1"}, "cli-pessim": {"lock_debug": "1"},
           "cli-optim": {"lock_debug": "1", "lock_stats": "1"}}
# For the kernel with lock statistics, under spl-optim, and for the one that accounts time, under any scheme.
COUNTED = {"lock_stats": "1", "spinlock": "ttas"}
TIMED = {"accounting": "1", "crit_timing": "1"}


@dataclass(frozen=True)
class Boot:
    """How one run ended: the simulator's exit status, its record, what the console showed."""

    status: int
    record: dict
    console: str
    messages: str
    folder: Path

    def result(self, kind):
        """The one `@kind` line that the kernel printed, as a dictionary."""
        lines = self.record["results"].get(kind, [])
        assert len(lines) == 1, f"{len(lines)} @{kind} lines:\n{self.report()}"
        return lines[0]

    def window_events(self):
        """(hart, event) of the probe log within the measured window."""
        window = self.record["window"]
        with open(self.folder / PROBE_LOG, newline="") as file:
            for row in csv.DictReader(file):
                if row["hart"] and window["begin"] <= int(row["cycle"]) <= window["end"]:
                    yield int(row["hart"]), row["event"]

    def report(self):
        return f"status {self.status}, {self.record.get('cycles')} cycles\n{self.console}\n{self.messages}"


# Clearing the table of all pages of main memory is two fifths of a short boot; programs may need them all.
FEW_PAGES = "user.pages=2000"


def with_few_pages(bootargs):
    """`bootargs`, with fewer pages unless they say how many or run a program."""
    return bootargs if "user.pages=" in bootargs or "run=user" in bootargs else f"{bootargs} {FEW_PAGES}"


# For a model that is simulated for some seconds in all: full optimisation takes longer than that.
BRIEF = Recipe(fast=SLOW_FLAGS, profiled=False)


@functools.cache
def simulator_of(config):
    """The simulator; it is checked against its sources once, not for each of hundreds of boots."""
    return build_simulator(config, recipe=BRIEF) if config.harts > 4 else build_simulator(config)


def kernel_of(config, sync, options=None, runs=None, files=None, debugging=False):
    """An image for tests, without debugging information (tests/conftest.py) except a debugger's: so images share
    compiled files. Kernels wrong on purpose run for seconds, and are compiled in less time."""
    flags = "" if debugging else None
    if sync in WRONG_SCHEMES or (options or {}).get("spinlock") in WRONG_SPINLOCKS:
        flags = "-g0 -O1"
    return build_kernel(config, sync, flags, options, runs, files)


@functools.cache
def image_of(config, sync, options, runs, files, debugging=False):
    """The image; `options` and `files` as pairs."""
    return kernel_of(config, sync, dict(options), runs, dict(files), debugging)


def command(folder, harts, sync, bootargs, console, baud, seed=0, max_cycles=MAX_CYCLES, options=None, runs=None,
            machine=None, files=None, hang_cycles=HANG_CYCLES, debugging=False):
    """The simulator's command line. The image holds `runs`, or by default the run that `bootargs` name; `machine` has
    parameters of SoCConfig, `files` more for the archive of user mode, by name; a debugger needs `debugging`."""
    config = SoCConfig(harts=harts, **(machine or {}))
    options = {"layout": os.environ.get("KERNEL_LAYOUT", "0")} | (options or {})
    image = image_of(config, sync, tuple(sorted(options.items())), tuple(runs or runs_of(bootargs)),
                     tuple(sorted((files or {}).items())), debugging)
    folder.mkdir(parents=True, exist_ok=True)
    return list(map(str, [
        simulator_of(config), "--image", image, "--out", folder,
        "--console", console, "--uart0-baud", baud, "--bootargs", f"{with_few_pages(bootargs)} console.baud={baud}",
        "--seed", seed, "--max-cycles", max_cycles, "--hang-cycles", hang_cycles, "--quiet"]))


def ended(folder, status, messages):
    run = folder / "run.json"
    if not run.exists():
        return Boot(status, {}, "", messages, folder)
    return Boot(status, json.loads(run.read_text()), (folder / "console.txt").read_text(errors="replace"), messages,
                folder)


def boot(folder, harts, sync, bootargs, seed=0, serial_in=None, max_cycles=MAX_CYCLES, options=None, line_baud=115200,
         runs=None, console_baud=CONSOLE_BAUD, probe_log=False, machine=None, files=None,
         hang_cycles=HANG_CYCLES, more=()):
    """Run the kernel with scheme `sync` and build `options` on `harts` harts in the directory `folder`; `more` are
    other options of the simulator."""
    arguments = command(folder, harts, sync, bootargs, "file", console_baud, seed, max_cycles, options, runs, machine,
                        files, hang_cycles)
    if probe_log:
        arguments += ["--probe-log", str(folder / PROBE_LOG)]
    if serial_in:
        arguments += ["--uart1-in", str(serial_in), "--uart1-baud", str(line_baud)]
    done = subprocess.run([*arguments, *map(str, more)], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ended(folder, done.returncode, done.stdout + done.stderr)


def converse(folder, harts, sync, bootargs, lines, options=None, runs=None):
    """The same with the console on pipes: each of `lines` is typed when the kernel has printed its prompt."""
    arguments = command(folder, harts, sync, bootargs, "tty", TYPING_BAUD, options=options, runs=runs)
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               bufsize=0)
    shown = b""
    for line in lines:
        while not shown.endswith(PROMPT):
            more = process.stdout.read(1)
            if not more:
                break
            shown += more
        process.stdin.write(line.encode() + b"\n")
        shown += b"\n"
    rest, _ = process.communicate()
    return ended(folder, process.returncode, (shown + rest).decode(errors="replace"))


def dialogue(folder, harts, sync, bootargs, steps, **how):
    """The same with pairs (text to wait for, text to type then) in turn. Each is searched after the last one; a text
    that never comes ends the typing, and is named in the messages."""
    arguments = command(folder, harts, sync, bootargs, "tty", TYPING_BAUD, **how)
    process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               bufsize=0)
    shown, at, missed = b"", 0, ""
    for wanted, typed in ((step[0].encode(), step[1].encode()) for step in steps):
        while wanted not in shown[at:] and (more := process.stdout.read(1)):
            shown += more
        if wanted not in shown[at:]:
            missed = f"{wanted!r} never came\n"
            break
        at = shown.index(wanted, at) + len(wanted)
        process.stdin.write(typed)
    rest, _ = process.communicate()
    return ended(folder, process.returncode, missed + (shown + rest).decode(errors="replace"))
