"""Files of runs, kept by what determines them: the same simulator, image, input and arguments are not run again.

    build/runs/<aa>/<key>/      the files of a run, and kept.json with the SHA-256 of each

Only successful runs are kept. An entry is filled aside and renamed into place, and its files are checked when they are
taken out, so what is found is whole. The folder may be removed at any time. Taking a run out holds build/runs/.lock
shared; removing one (`./interlock prune`) holds it exclusively.
"""

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
from pathlib import Path

from sim.results import record
from sim.sweep.worker import digest_of
from support.cache import build_root, locked

INDEX = "kept.json"


def key_of(task):
    """What determines the result of a Task, as SHA-256, hexadecimal."""
    parts = [task.arguments, {name: file.sha256 for name, file in task.files.items()}]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def copy(names, source, into):
    """Copies files by their names in the folder of a run, a node's with its folder."""
    for name in names:
        (into / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(source / name, into / name)


class Store:
    """The kept runs in `folder`, else in build/runs."""

    def __init__(self, folder=None):
        self.folder = Path(folder or build_root() / "runs")

    def entry(self, key):
        return self.folder / key[:2] / key

    def take(self, key, into):
        """Copies the files of a kept run into a directory and returns when it was started; None if it is missing, or
        damaged: then it is removed, and made again."""
        entry = self.entry(key)
        if not entry.is_dir():
            return None
        with self._lock(shared=True):
            kept = self._whole(entry)
            if kept:
                os.utime(entry)     # its last use: sim/sweep/prune.py
                copy(kept["files"], entry, into)
                return kept["started"]
        self.discard(entry)
        return None

    @staticmethod
    def _whole(entry):
        """The index of a kept run, whose files match it; None if they do not, or cannot be read."""
        try:
            kept = record.read_json(entry / INDEX)
            whole = isinstance(kept["started"], str) and all(
                digest_of(record.inside(entry, name)) == sha256 for name, sha256 in kept["files"].items())
        except (record.RecordError, OSError, LookupError, TypeError, AttributeError):
            return None
        return kept if whole else None

    def discard(self, entry):
        """Removes a kept run that is not being taken out."""
        try:
            aside = Path(tempfile.mkdtemp(prefix=".", dir=entry.parent))
            with contextlib.suppress(FileNotFoundError), self._lock(shared=False):      # another process was faster
                entry.rename(aside / entry.name)
            shutil.rmtree(aside, ignore_errors=True)
        except OSError as error:
            raise record.RecordError(f"{entry} is damaged and cannot be removed: {error.strerror}; remove it by "
                                     "hand") from error

    def _lock(self, shared):
        return locked(self.folder / ".lock", shared)

    def keep(self, key, folder, started):
        """Keeps the run in `folder`; returns None, or one line on its difference from the same run before."""
        entry = self.entry(key)
        if entry.is_dir() and not self._whole(entry):
            self.discard(entry)
        if (entry / INDEX).is_file():
            before, now = (record.stable(record.read_json(path / "run.json")) for path in (entry, folder))
            return None if before == now else (f"the run does not repeat: digest {before.get('digest')} before, "
                                               f"{now.get('digest')} now, from the same inputs (see {entry})")
        record.make_directory(entry.parent)
        aside = Path(tempfile.mkdtemp(prefix=".", dir=entry.parent))
        try:
            files = {path.relative_to(folder).as_posix(): digest_of(path) for path in folder.rglob("*")
                     if path.is_file() and path.name != "record.json"}
            copy(files, folder, aside)
            record.write_json(aside / INDEX, {"files": files, "started": started})
            aside.rename(entry)
        except OSError as error:
            if not (entry / INDEX).is_file():       # else another runner kept the same run meanwhile
                raise record.RecordError(f"{entry} could not be written: {error.strerror}") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return None
