"""Small faults, planted one at a time in a copy of the tree, to see whether a test notices each of them.

The lists are tests/faults/*.toml, one for each area (tests/faults/README.md). A fault is a piece of a file that occurs
there exactly once, and its replacement. Its tests run in their order up to the first that fails. The tree itself is
never written to: the copy is under the build folder, shares what is built already, and is removed at the end, with all
that was built of it.
"""

import contextlib
import fcntl
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from support.cache import REPO, build_root, hold

LISTS = REPO / "tests/faults"
# A test's outcome, in the words of pytest's -v.
ENDED = re.compile(r"^(tests/\S+\.py::.*?) (PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)\b")
NOT_BUILT = re.compile(r"^E .*(does not build:|could not build the module|BuildError|error: command .* failed"
                       r"|\S:\d+:\d+: (fatal )?error: |ld returned 1 exit status)", re.MULTILINE)
PYTEST_FAILED, PYTEST_NOT_COLLECTED, PYTEST_USAGE, PYTEST_NO_TESTS = 1, 2, 4, 5


class FaultError(RuntimeError):
    """A list is wrong or stale; the message is one line that names the remedy."""


@dataclass(frozen=True)
class Fault:
    """`was`, which occurs once in `file`, becomes `becomes`."""

    id: str
    area: str
    file: str
    was: str
    becomes: str
    tests: tuple[str, ...]      # pytest's names of tests or files, the likeliest to notice it first
    equivalent: str             # why it changes nothing that a test could notice, or ""
    limit_s: float = 0          # for its tests, if more than the command's limit: a long build

    def places(self, tree: Path = REPO) -> int:
        """The number of occurrences in the file: 1, if the list is up to date."""
        path = tree / self.file
        return path.read_text().count(self.was) if path.is_file() else 0

    def check(self, tree: Path = REPO):
        if (places := self.places(tree)) != 1:
            raise FaultError(f"tests/faults/{self.area}.toml is stale: what fault {self.id} changes is {places} times "
                             f"in {self.file}, not once: correct the list")

    @contextlib.contextmanager
    def planted(self, tree: Path):
        self.check(tree)
        path = tree / self.file
        text = path.read_text()
        path.write_text(text.replace(self.was, self.becomes))
        try:
            yield
        finally:
            path.write_text(text)


@dataclass(frozen=True)
class Trial:
    """The outcome of a fault. `how` is noticed, unnoticed, or the trial's own error."""

    fault: Fault
    how: str
    by: str         # the test that noticed it, or further information
    seconds: float
    processor_s: float      # of all processes of the tests, with builds
    output: str = ""


NOTICED, UNNOTICED, NOT_A_FAULT, NO_SUCH_TEST, ENDLESS = "noticed", "UNNOTICED", "no build", "no such test", "no end"


def load(folder: Path = LISTS) -> list[Fault]:
    """The faults of all lists, area by area. FaultError if one is not as tests/faults/README.md says."""
    faults = []
    for path in sorted(folder.glob("*.toml")):
        try:
            for group in tomllib.loads(path.read_text())["group"]:
                faults += [_fault(path.stem, group, *entry) for entry in group["faults"]]
        except (tomllib.TOMLDecodeError, KeyError, TypeError) as error:
            raise FaultError(f"tests/faults/{path.name}: {error}: write it as tests/faults/README.md says") from error
    twice = {fault.id for fault in faults if sum(other.id == fault.id for other in faults) > 1}
    if twice:
        raise FaultError(f"tests/faults: two faults are called {', '.join(sorted(twice))}: rename one")
    return faults


def _fault(area: str, group: dict, name: str, was: str, becomes: str, more: dict | None = None) -> Fault:
    more = more or {}
    if unknown := more.keys() - {"tests", "equivalent", "limit"}:
        raise TypeError(f"fault {name} has {', '.join(sorted(unknown))}")
    if was == becomes:
        raise TypeError(f"fault {name} changes nothing")
    return Fault(name, area, group["file"], was, becomes, tuple(more.get("tests", group["tests"])),
                 more.get("equivalent", ""), float(more.get("limit", group.get("limit", 0))))


def chosen(faults: Sequence[Fault], only: Sequence[str]) -> list[Fault]:
    """Those of an area or with an id in `only`, in that order; all if it is empty. FaultError for any other word."""
    known = {fault.id for fault in faults} | {fault.area for fault in faults}
    for word in only:
        if word not in known:
            raise FaultError(f"there is no fault and no area {word!r}: see './interlock faults --list'")
    if not only:
        return list(faults)
    return list(dict.fromkeys(fault for word in only for fault in faults if word in (fault.id, fault.area)))


class Nursery:
    """Copies of the tree, one for each worker, with a build folder that they share. Use it as a context manager."""

    def __init__(self, workers: int, limit_s: float):
        self.folder = build_root() / "faults"
        self.build = self.folder / "build"
        self.workers, self.limit_s = workers, limit_s
        self.running: set[subprocess.Popen] = set()
        self.guard = threading.Lock()
        self.stopped = False

    def __enter__(self):
        self.folder.parent.mkdir(parents=True, exist_ok=True)
        self.lock = open(self.folder.with_suffix(".lock"), "w")
        try:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise FaultError(f"{self.folder} is in use: wait for the other './interlock faults' to end") from None
        shutil.rmtree(self.folder, ignore_errors=True)      # left by a killed one
        self.trees = [self.folder / f"tree{n}" for n in range(self.workers)]
        listed = subprocess.run(["git", "-C", REPO, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                                check=True, capture_output=True, text=True).stdout
        for tree in self.trees:
            for name in filter(None, listed.split("\0")):
                if (REPO / name).is_file():
                    (tree / name).parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(REPO / name, tree / name)
            (tree / ".venv").symlink_to((REPO / ".venv").resolve())
        # Existing builds are found again by their content; those of a fault stay in here.
        for kind in (build_root() / "cache").glob("*"):
            if kind.name.startswith("."):
                continue
            ours = self.build / "cache" / kind.name
            ours.mkdir(parents=True)
            for entry in kind.iterdir():
                if not entry.name.startswith("."):
                    (ours / entry.name).symlink_to(entry)
                    hold(entry)
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
        self.lock.close()

    def stop(self):
        with self.guard:
            self.stopped = True
            for process in self.running:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()

    def pytest(self, tree: Path, build: Path, tests: Sequence[str], started: Callable[[str], None],
               stop_at_first: bool = True, limit_s: float | None = None) -> tuple[int | None, str, float]:
        """pytest's exit status, None if the time limit ended it, its output, and the seconds of processor time that it
        took. `started` is told of each test."""
        environment = os.environ | {"INTERLOCK_BUILD": str(build), "PYTHONPATH": str(tree),
                                    "PYTHONDONTWRITEBYTECODE": "1"}
        if stop_at_first:       # also for tests that share one simulation
            environment["COCOTB_MAX_FAILURES"] = "1"
        options = ["-v", "--tb=short", "--color=no", "-p", "no:cacheprovider", "--basetemp", tree / "build/tmp"]
        command = [tree / ".venv/bin/python", "-m", "pytest", *options, *(["-x"] if stop_at_first else []), *tests]
        (tree / "build").mkdir(exist_ok=True)
        with self.guard:
            if self.stopped:
                raise KeyboardInterrupt
            process = subprocess.Popen(list(map(str, command)), cwd=tree, env=environment, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace",
                                       start_new_session=True)
            self.running.add(process)
        late = threading.Event()

        def end():
            late.set()
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)

        timer = threading.Timer(limit_s or self.limit_s, end)
        timer.daemon = True     # else an interrupted command would wait for its end
        timer.start()
        lines = []
        assert process.stdout
        for line in process.stdout:
            lines.append(line)
            if test := re.match(r"(tests/\S+\.py::\S+)", line):
                started(test[1])
        status, processor_s = _reaped(process)
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)      # processes left by a test, such as a hanging unit test
        with self.guard:
            self.running.discard(process)
            if self.stopped:
                raise KeyboardInterrupt
        return (None if late.is_set() else status), "".join(lines), processor_s

    def plant(self, fault: Fault, tree: Path, started: Callable[[str], None]) -> Trial:
        begin = time.monotonic()
        limit_s = max(self.limit_s, fault.limit_s)
        with fault.planted(tree):
            status, output, processor_s = self.pytest(tree, self.build, fault.tests, started, limit_s=limit_s)
        how, by = judge(status, output, limit_s)
        return Trial(fault, how, by, time.monotonic() - begin, processor_s, output)

    def plant_all(self, faults: Sequence[Fault], began: Callable[[Fault], None], started: Callable[[Fault, str], None]
                  ) -> Iterator[Trial]:
        """Plant each, `workers` at a time, and yield the outcomes, in any order."""
        def one(fault, tree):
            began(fault)
            return self.plant(fault, tree, lambda test: started(fault, test))

        return self._spread(one, faults)

    def _spread(self, work: Callable, items: Sequence) -> Iterator:
        """`work(item, tree)` of each, one at a time in each tree; in any order."""
        free = list(self.trees)

        def one(item):
            with self.guard:
                tree = free.pop()
            try:
                return work(item, tree)
            finally:
                with self.guard:
                    free.append(tree)

        with ThreadPoolExecutor(self.workers) as pool:
            futures = [pool.submit(one, item) for item in items]
            try:
                for future in as_completed(futures):
                    yield future.result()
            except BaseException:
                self.stop()
                pool.shutdown(cancel_futures=True)
                raise

    def failing_without(self, tests: Sequence[str]) -> list[str]:
        """Those of `tests` that fail without a fault: their failures are meaningless."""
        def one(part, tree):
            status, output, _ = self.pytest(tree, build_root(), part, lambda test: None, stop_at_first=False,
                                            limit_s=self.limit_s * max(len(part), 1))     # the limit is one fault's
            if status in (0, PYTEST_FAILED):
                return [test for test, ended in results(output) if ended in ("FAILED", "ERROR")]
            return list(part)

        parts = [part for n in range(self.workers) if (part := tests[n::self.workers])]
        return sorted(test for failing in self._spread(one, parts) for test in failing)


def _reaped(process: subprocess.Popen) -> tuple[int, float]:
    """Waits for a process: its status, and the processor seconds of it and its waited-for children."""
    try:
        _, status, used = os.wait4(process.pid, 0)
    except ChildProcessError:       # it was stopped, and reaped there
        return process.wait(), 0
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, used.ru_utime + used.ru_stime


def results(output: str) -> list[tuple[str, str]]:
    """(test, outcome) of each test that ran."""
    return [(found[1], found[2]) for line in output.splitlines() if (found := ENDED.match(line))]


def judge(status: int | None, output: str, limit_s: float) -> tuple[str, str]:
    """The verdict of a run of the tests on the planted fault."""
    if status is None:
        return ENDLESS, f"the tests do not end within {limit_s:.0f} s"
    if status in (PYTEST_USAGE, PYTEST_NO_TESTS):
        return NO_SUCH_TEST, next((line for line in output.splitlines() if line.startswith("ERROR")), "no tests ran")
    if status == PYTEST_NOT_COLLECTED:
        return NOT_A_FAULT, "the tests cannot be imported"
    if status == 0:
        return UNNOTICED, f"{len(results(output))} tests pass"
    if status != PYTEST_FAILED:
        return NOT_A_FAULT, f"pytest ends with status {status}"
    if NOT_BUILT.search(output):
        return NOT_A_FAULT, "what it is in does not build"
    return NOTICED, next((test for test, ended in results(output) if ended in ("FAILED", "ERROR")), "?")
