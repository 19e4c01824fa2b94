"""Generated files are under build/cache, found again by the content of what they were made from.

An entry is a directory named by the SHA-256 of its inputs. It is filled aside and renamed into place, so an entry that
exists is whole; a lock file per entry makes two processes that want the same thing build it once.

    <kind>/<key>/           an entry; its time of modification is that of its last use
    <kind>/.<key>.lock      held alone while the entry is made or removed, shared while it is looked up
    <kind>/.<key>.<any>/    what is on its way in or out: garbage unless the lock is held
    .leases/<process>       the entries that a process uses, a line each; locked as long as that process lives
    .took/<kind>            how many seconds the last build of an entry took

So what is not in use can be removed at any time (`discard`), beside processes that build and look up.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

REPO = Path(__file__).resolve().parents[1]


def build_root() -> Path:
    """The folder of all generated files: the environment's INTERLOCK_BUILD, else `build` in the tree."""
    return Path(os.environ.get("INTERLOCK_BUILD") or REPO / "build").resolve()


Input = str | bytes | Path     # a string, bytes, or the content of a file or directory


def _chunks(value: Input):
    """Yield what identifies `value` as (label, content) pairs: a directory gives its files in order of name."""
    if isinstance(value, Path):
        if value.is_dir():
            for path in sorted(path for path in value.rglob("*") if path.is_file()):
                if "__pycache__" not in path.parts:
                    yield path.relative_to(value).as_posix(), path.read_bytes()
        else:
            yield "file", value.read_bytes()
    else:
        yield "value", value.encode() if isinstance(value, str) else value


def digest(inputs: Mapping[str, Input]) -> str:
    """SHA-256 (64 hex digits) over the inputs: strings and bytes themselves, the content of files and directories.

    The path of an input does not count, only its name in the mapping. FileNotFoundError if a file is missing."""
    total = hashlib.sha256()
    for name in sorted(inputs):
        for label, content in _chunks(inputs[name]):
            for part in (name.encode(), label.encode(), content):
                total.update(len(part).to_bytes(8, "little"))
                total.update(part)
    return total.hexdigest()


# Seconds of the longer builds on a machine with two cores; if a kind was built here, its last build counts.
TAKES = {"cluster": 15, "cluster-generator": 60, "fpga-netlist": 120, "fpga-placement": 300, "kernel-objects": 15,
         "kernel-programs": 5, "model": 60, "simulator": 15, "user-library": 20}


def time_of(kind: str) -> str:
    """How long a build will take, as words; empty if that is short or not known."""
    known = [seconds for name, seconds in TAKES.items() if kind == name or kind.startswith(f"{name}-")]
    seconds = max(known, default=0)
    with suppress(OSError, ValueError):
        seconds = int((build_root() / "cache/.took" / kind).read_text())
    return f" (about {seconds} s)" if seconds >= 3 else ""


def _took(kind: str, seconds: float):
    folder = build_root() / "cache/.took"
    with suppress(OSError):         # a full file system is reported elsewhere
        folder.mkdir(exist_ok=True)
        (folder / kind).write_text(f"{seconds:.0f}")


def cached(kind: str, inputs: Mapping[str, Input], build: Callable[[Path], object], quiet: bool = False) -> Path:
    """Return the entry of `kind` made from `inputs`, a directory; if it is missing, `build(directory)` fills it.

    `build` gets an empty directory and must write only there. Its exceptions are passed on and leave no entry. One line
    on stderr says that something is being built, and how long that will take, unless it is `quiet`; none is printed
    when the entry is there already."""
    folder = build_root() / "cache" / kind
    key = digest(inputs)[:16]
    entry = folder / key
    if entry.is_dir() and _taken(entry):
        return entry
    folder.mkdir(parents=True, exist_ok=True)
    say = (lambda text: None) if quiet else (lambda text: print(text, file=sys.stderr, flush=True))
    with locked(_lock_of(entry), waiting=lambda: say(f"another process builds {kind} {key}: waiting for it")):
        if entry.is_dir():
            hold(entry)
            return entry
        say(f"building {kind} {key}{time_of(kind)}")
        start = time.monotonic()
        aside = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=folder))
        try:
            aside.chmod(0o755)
            build(aside)
            aside.rename(entry)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        hold(entry)
        took = time.monotonic() - start
        _took(kind, took)
        say(f"built {kind} {key} in {took:.0f} s")
    return entry


def _lock_of(entry: Path) -> Path:
    return entry.with_name(f".{entry.name}.lock")


@contextmanager
def locked(path: Path, shared: bool = False, wait: bool = True,
           waiting: Callable[[], object] | None = None) -> Iterator[bool]:
    """Holds the lock file `path`, made if it is missing, and yields True; False, at once, if it must not `wait` and
    another holds it. A process that holds it alone may remove it. `waiting` is called before it waits."""
    how = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
    while True:
        with open(path, "a") as lock:
            try:
                fcntl.flock(lock, how | fcntl.LOCK_NB)
            except BlockingIOError:
                if not wait:
                    yield False
                    return
                if waiting:
                    waiting()
                    waiting = None
                fcntl.flock(lock, how)
            if _is_at(lock, path):      # else it was removed meanwhile, and a new one is valid
                yield True
                return


def _is_at(file, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(file.fileno()), os.stat(path))
    return False


def _taken(entry: Path) -> bool:
    """Whether the entry is there, and noted as used by this process."""
    try:
        with locked(_lock_of(entry), shared=True):
            if not entry.is_dir():
                return False
            hold(entry)
    except PermissionError:     # another user's cache, from which nothing is removed either
        pass
    return True


_leases: dict[Path, IO[str]] = {}        # folder of leases -> this process's file there, open and locked
_lease_guard = threading.Lock()


def hold(entry: Path):
    """Notes that this process uses an entry, which lasts as long as it lives, or a program that it becomes (exec).
    The caller holds the entry's lock, or the entry is held already."""
    leases = entry.parent.parent / ".leases"
    with _lease_guard:
        if leases not in _leases:
            leases.mkdir(exist_ok=True)
            _leases[leases] = _new_lease(leases)
        os.write(_leases[leases].fileno(), f"{entry.parent.name}/{entry.name}\n".encode())
    with suppress(OSError):
        os.utime(entry)


def _new_lease(leases: Path):
    while True:
        path = leases / f"{os.getpid()}-{time.monotonic_ns()}"
        file = open(path, "ab", buffering=0)
        fcntl.flock(file, fcntl.LOCK_EX)
        if _is_at(file, path):
            os.set_inheritable(file.fileno(), True)
            return file
        file.close()


def held(cache: Path) -> set[str]:
    """The entries, <kind>/<key>, that processes use. The leases of those that have ended are removed."""
    used = set()
    for path in (cache / ".leases").glob("*"):
        with suppress(FileNotFoundError), open(path) as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                path.unlink()
            except BlockingIOError:
                used.update(file.read().splitlines())
    return used


def discard(entry: Path) -> bool:
    """Removes an entry, and what was left on its way in or out; False, and nothing is removed, if it is in use."""
    try:
        with locked(_lock_of(entry), wait=False) as alone:
            if not alone or f"{entry.parent.name}/{entry.name}" in held(entry.parent.parent):
                return False
            rubbish = [path for path in entry.parent.glob(f".{entry.name}.*") if path != _lock_of(entry)]
            if entry.is_dir():
                aside = Path(tempfile.mkdtemp(prefix=f".{entry.name}.", dir=entry.parent))
                entry.rename(aside / entry.name)
                rubbish.append(aside)
            for path in rubbish:
                shutil.rmtree(path, ignore_errors=True)
            _lock_of(entry).unlink(missing_ok=True)
    except FileNotFoundError:       # another process was faster
        pass
    return True
