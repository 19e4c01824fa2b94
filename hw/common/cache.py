"""What is generated lies under build/cache, found again by the content of what it was made from.

An entry is a directory named by the SHA-256 of its inputs. It is filled aside and renamed into place, so an entry that
exists is whole; a lock file per entry makes two processes that want the same thing build it once.
"""

import fcntl
import hashlib
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]


def build_root() -> Path:
    """Where everything generated goes: the environment's INTERLOCK_BUILD, else `build` in the tree."""
    return Path(os.environ.get("INTERLOCK_BUILD") or REPO / "build").resolve()


Input = str | bytes | Path     # a string, bytes, or the content of a file or directory


def _chunks(value: Input):
    """Yield what tells `value` apart as (label, content) pairs: a directory gives its files in order of name."""
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


def cached(kind: str, inputs: Mapping[str, Input], build: Callable[[Path], object]) -> Path:
    """Return the entry of `kind` made from `inputs`, a directory; if it is missing, `build(directory)` fills it.

    `build` gets an empty directory and must write only there. What it raises is passed on and leaves no entry. One line
    on stderr says that something is being built, none is printed when it is there already."""
    folder = build_root() / "cache" / kind
    key = digest(inputs)[:16]
    entry = folder / key
    if entry.is_dir():
        return entry
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f".{key}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if entry.is_dir():
            return entry
        print(f"building {kind} {key}", file=sys.stderr, flush=True)
        start = time.monotonic()
        aside = Path(tempfile.mkdtemp(prefix=f".{key}.", dir=folder))
        try:
            aside.chmod(0o755)
            build(aside)
            aside.rename(entry)
        except BaseException:
            shutil.rmtree(aside, ignore_errors=True)
            raise
        print(f"built {kind} {key} in {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)
    return entry
