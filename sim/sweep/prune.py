"""What may be removed under build/: entries of the cache, kept runs, and what killed processes left behind.

Nothing that is in use is removed (support/cache.py, sim/sweep/store.py have the locks), and results never are. Two
prunes at once share the work.
"""

import contextlib
import os
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from sim.sweep.store import INDEX, Store
from support.cache import build_root, discard, held, locked

DAY_S = 86_400.0
NO_ENTRIES = (".leases", ".took")       # of the cache
BUILDS, RUNS, SCRATCH = KINDS = ("builds", "runs", "scratch")


@dataclass(frozen=True)
class Item:
    """Something that may be removed."""

    kind: str           # of KINDS
    what: str           # the kind of entry, for readers
    path: Path
    used: float         # last use, seconds since the epoch
    size: int           # bytes on the disk

    def remove(self) -> bool:
        """Removes it unless it is in use: whether it is gone now."""
        if self.kind == BUILDS or self.path.parent.parent.name == "cache":
            return discard(self.path.with_name(self.path.name.lstrip(".").partition(".")[0]))
        if self.kind == RUNS:
            Store(self.path.parents[1]).discard(self.path)
            return True
        return _remove_scratch(self.path)


def found(root: Path | None = None) -> list[Item]:
    """All items below `root`, else the build folder, in no order. Those that vanish meanwhile are left out."""
    root = root or build_root()
    items = []
    for kind, what, path in (*_of_cache(root / "cache"), *_of_runs(root / "runs"), *_scratch(root)):
        with contextlib.suppress(FileNotFoundError):
            items.append(Item(kind, what, path, path.stat().st_mtime, size_of(path)))
    return items


def _of_cache(cache: Path) -> Iterator[tuple[str, str, Path]]:
    for folder in _entries(cache):
        for path in _entries(folder):
            if path.is_dir():
                hidden = path.name.startswith(".")
                yield SCRATCH if hidden else BUILDS, "left by a killed build" if hidden else folder.name, path


def _of_runs(runs: Path) -> Iterator[tuple[str, str, Path]]:
    for folder in _entries(runs):
        if folder.is_dir():
            for path in _entries(folder):
                whole = (path / INDEX).is_file()
                yield RUNS if whole else SCRATCH, "kept runs" if whole else "left by a killed run", path


def _scratch(root: Path) -> Iterator[tuple[str, str, Path]]:
    if (root / "faults").is_dir():
        yield SCRATCH, "left by killed faults", root / "faults"


def _entries(folder: Path) -> list[Path]:
    """The content of a folder but leases, times and locks; nothing if it is missing."""
    try:
        return [path for path in folder.iterdir() if path.name not in NO_ENTRIES and not path.name.endswith(".lock")]
    except (FileNotFoundError, NotADirectoryError):
        return []


def size_of(path: Path) -> int:
    """The bytes of a file or a folder on the disk."""
    total = 0
    for folder, _, names in os.walk(path):
        for name in (".", *names):
            with contextlib.suppress(FileNotFoundError):
                total += os.lstat(os.path.join(folder, name)).st_blocks * 512
    return total


def chosen(items: Sequence[Item], days: float | None, most: float | None, now: float | None = None) -> list[Item]:
    """The `items` to remove: those not used for so many `days`, and then the least recently used, until at most `most`
    bytes are left. None: no such limit. Scratch goes first, after a day at the latest."""
    now = time.time() if now is None else now
    order = sorted(items, key=lambda item: (item.kind != SCRATCH, item.used, str(item.path)))
    left = sum(item.size for item in items)
    out = []
    for item in order:
        limit = min(DAY_S, (1 if days is None else days) * DAY_S) if item.kind == SCRATCH else (
            None if days is None else days * DAY_S)
        too_old = limit is not None and now - item.used > limit
        too_much = most is not None and left > most
        if too_old or too_much:
            out.append(item)
            left -= item.size
    return out


def in_use(items: Sequence[Item], root: Path | None = None) -> set[Item]:
    """Those of the cache that processes use just now: only for display, as it may change at once."""
    used = held((root or build_root()) / "cache")
    return {item for item in items if f"{item.path.parent.name}/{item.path.name}" in used}


def _remove_scratch(path: Path) -> bool:
    if path.name != "faults":       # a run that was being kept
        shutil.rmtree(path, ignore_errors=True)
        return True
    with locked(path.with_suffix(".lock"), wait=False) as alone:      # as sim/faults/planted.py
        if alone:
            shutil.rmtree(path, ignore_errors=True)
        return alone
