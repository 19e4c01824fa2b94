"""What runs left, kept by what determines it: the same simulator, image, input and arguments are not run again.

    build/runs/<aa>/<key>/      the files of a run, and kept.json with the SHA-256 of each

Only runs that ended well are kept. An entry is filled aside and renamed into place, and its files are checked when they
are taken out, so what is found is whole. The folder may be removed at any time.
"""

import hashlib
import json
import shutil
import tempfile
from pathlib import Path

from hw.common.cache import build_root
from sim.results import record
from sim.sweep.worker import digest_of

INDEX = "kept.json"


def key_of(task):
    """What determines the result of a Task, as SHA-256, hexadecimal."""
    parts = [task.arguments, {name: file.sha256 for name, file in task.files.items()}]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


class Store:
    """The kept runs in `folder`, else in build/runs."""

    def __init__(self, folder=None):
        self.folder = Path(folder or build_root() / "runs")

    def entry(self, key):
        return self.folder / key[:2] / key

    def take(self, key, into):
        """Copies the files of a kept run into a directory and gives when it was started; None if it is not there."""
        entry = self.entry(key)
        try:
            kept = record.read_json(entry / INDEX)
            if any(digest_of(entry / name) != sha256 for name, sha256 in kept["files"].items()):
                raise record.RecordError(f"{entry} is damaged")
        except (record.RecordError, OSError):
            shutil.rmtree(entry, ignore_errors=True)        # nothing, or a damaged one: it is made again
            return None
        for name in kept["files"]:
            shutil.copyfile(entry / name, into / name)
        return kept["started"]

    def keep(self, key, folder, started):
        """Keeps the run in `folder`; gives None, or one line that says how it differs from the same run before."""
        entry = self.entry(key)
        if (entry / INDEX).is_file():
            before, now = (record.stable(record.read_json(path / "run.json")) for path in (entry, folder))
            return None if before == now else (f"the run does not repeat: digest {before.get('digest')} before, "
                                               f"{now.get('digest')} now, from the same inputs (see {entry})")
        record.make_directory(entry.parent)
        aside = Path(tempfile.mkdtemp(prefix=".", dir=entry.parent))
        try:
            files = {path.name: digest_of(path) for path in folder.iterdir()
                     if path.is_file() and path.name != "record.json"}
            for name in files:
                shutil.copyfile(folder / name, aside / name)
            record.write_json(aside / INDEX, {"files": files, "started": started})
            aside.rename(entry)
        except OSError as error:
            if not (entry / INDEX).is_file():       # else another runner kept the same run meanwhile
                raise record.RecordError(f"{entry} could not be written: {error.strerror}") from error
        finally:
            shutil.rmtree(aside, ignore_errors=True)
        return None
