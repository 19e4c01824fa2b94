"""The programs that make a bitstream: native ones where installed, else those of the Python registry."""

import fcntl
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import platformdirs

from support.cache import build_root

REGISTRY = "yowasp-"      # the prefix of the registry's programs: the same ones, compiled to WebAssembly
TALK_SECONDS = 20         # between two lines of progress


class ToolError(RuntimeError):
    """A program is missing or failed; the text is one line that names the remedy, or the log to read."""


@dataclass(frozen=True)
class Cost:
    """The cost of a program's run: processor seconds (user and system), wall seconds, and peak memory in MiB."""

    processor: float
    wall: float
    memory: int


@cache
def find(name: str) -> str:
    """The path of the program `name`; ToolError if it is neither installed nor there in the registry's form."""
    beside = Path(sys.executable).parent / (REGISTRY + name)   # an activated environment is not required
    found = shutil.which(name) or (str(beside) if os.access(beside, os.X_OK) else shutil.which(REGISTRY + name))
    if not found:
        raise ToolError(f"{name} is missing: run 'make setup', or install {name} on the path")
    return found


@cache
def version(name: str, option: str = "--version") -> str:
    """The program's name, version, and whether it is native or the registry's: part of what a result is made from."""
    with _alone() if _of_the_registry(name) else nullcontext():
        answer = subprocess.run([find(name), option], capture_output=True, text=True)
    found = re.search(r"(?:Version|Yosys) (?:nextpnr-)?(\d[\w.+-]*)", answer.stdout + answer.stderr)
    if not found:
        raise ToolError(f"'{find(name)} {option}' tells no version: reinstall it, or run 'make setup'")
    return f"{name} {found.group(1)} ({'registry' if _of_the_registry(name) else 'native'})"


def _of_the_registry(name: str) -> bool:
    return Path(find(name)).name.startswith(REGISTRY)


@contextmanager
def _alone() -> Iterator[None]:
    """Serialises the first starts of the registry's programs of this user. The first start compiles them into a file
    that all then map: a process that has it mapped dies (SIGBUS) when another rewrites it."""
    folder = Path(os.environ.get("YOWASP_CACHE_DIR") or platformdirs.user_cache_dir("YoWASP", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "first-run.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def say(text: str):
    """Prints a line of progress, or of a result."""
    print(text, file=sys.stderr, flush=True)


def run(name: str, arguments: Sequence[str], folder: Path, log: str,
        stage: Callable[[str], str | None] = lambda line: None) -> tuple[Cost, str | None]:
    """Run a program in `folder`: its cost, and its first error in one line if it failed, else None. All that it prints
    goes to build/log/`log`.

    `stage` gives what to show the user for a line of the program, or None; StopIteration ends the program there.
    Arguments name files relative to the folder: the registry's programs cannot access all others."""
    version(name)    # runs it once, so that it is compiled
    path = build_root() / "log" / log
    path.parent.mkdir(parents=True, exist_ok=True)
    start, error, doing = time.monotonic(), None, "begins"
    done = threading.Event()

    def talk():
        while not done.wait(TALK_SECONDS):   # some of the work takes minutes without a line
            say(f"{name}: {doing}, {time.monotonic() - start:.0f} s")

    with open(path, "w", buffering=1) as file:   # so that a user may follow it
        process = subprocess.Popen([find(name), *arguments], cwd=folder, text=True, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, errors="replace")
        assert process.stdout
        threading.Thread(target=talk, daemon=True).start()
        try:
            for line in process.stdout:
                file.write(line)
                if error is None and "ERROR:" in line:
                    error = line.strip()
                try:
                    doing = stage(line) or doing
                except StopIteration:
                    process.kill()
                    break
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            done.set()
    process.returncode = os.waitstatus_to_exitcode(status)
    cost = Cost(round(usage.ru_utime + usage.ru_stime, 1), round(time.monotonic() - start, 1),
                round(usage.ru_maxrss / 1024))
    if not process.returncode:
        return cost, None
    return cost, f"{name}: {(error or f'exit status {process.returncode}')[:200]} (all of it in {path})"
