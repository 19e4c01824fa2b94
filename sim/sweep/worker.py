"""Carries out one run of a simulator, here or on a worker of a cluster.

Only the standard library is used: the module is sent to workers that have no copy of it (sim/sweep/cluster.py).
"""

import hashlib
import re
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 10.0          # time for an interrupted simulator to write its output
MESSAGES = "messages.txt"


@dataclass(frozen=True)
class File:
    """A file that a run needs: where it was, and its SHA-256, hexadecimal."""

    path: str
    sha256: str


@dataclass(frozen=True)
class Task:
    """A command line. `{simulator}`, `{image}`, ... stand for `files`, `{out}` for the output directory, alone or
    before a slash or a comma."""

    arguments: tuple        # those that determine the result
    manner: tuple           # those that do not, such as how often progress is reported
    files: dict             # name -> File

    def command(self, paths, out):
        """The command line with the files at `paths` (name -> path)."""
        known = {f"{{{name}}}": str(path) for name, path in (paths | {"out": out}).items()}

        def filled(argument):
            first, mark, rest = re.match(r"([^/,]*)([/,]?)(.*)", argument, re.DOTALL).groups()     # {out}/name
            return known.get(first, first) + mark + rest
        return [filled(argument) for argument in self.arguments + self.manner]

    def local_paths(self):
        return {name: file.path for name, file in self.files.items()}


def digest_of(path):
    """SHA-256 of a file, hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def start(command, folder):
    """A process for `command`; its messages go to messages.txt in `folder`.

    It has a session of its own: Ctrl-C on the terminal must reach the runner alone, which then ends the simulators. It
    is killed when its parent dies, however that comes (prctl PR_SET_PDEATHSIG).
    """
    with open(Path(folder) / MESSAGES, "wb") as messages:
        return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "--", *command], stdin=subprocess.DEVNULL,
                                stdout=messages, stderr=messages, start_new_session=True)


def end(processes):
    """Ends running simulators, giving each time to write its output."""
    for process in processes:
        process.send_signal(signal.SIGINT)
    deadline = time.monotonic() + GRACE_S
    for process in processes:
        try:
            process.wait(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def tail(path, count):
    """The last `count` bytes of a file as text."""
    with open(path, "rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - count))
        return file.read().decode(errors="replace")


def cycles_said(folder):
    """Cycles simulated so far, as last reported by the simulator."""
    try:
        said = re.findall(r"\bcycles?[= ]([\d,]+)", tail(Path(folder) / MESSAGES, 4096))
    except OSError:
        return 0
    return int(said[-1].replace(",", "")) if said else 0
