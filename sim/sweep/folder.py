"""One results directory, one command that writes into it."""

import contextlib

from sim.results import record
from support.cache import locked

LOCK = ".lock"


@contextlib.contextmanager
def claimed(directory, new):
    """Locks a results directory for writing. RecordError in one line if another command has it, or if it is to be `new`
    and holds something. A directory in which nothing was left is removed again."""
    record.make_directory(directory)
    with locked(directory / LOCK, wait=False) as ours:
        if not ours:
            raise record.RecordError(f"another ./interlock works in {directory}: wait for it to end, or give another "
                                     "directory")
        try:
            if new and any(path.name != LOCK for path in directory.iterdir()):
                raise record.RecordError(f"{directory} is there already: give a new directory, or go on with: "
                                         f"./interlock resume {directory}")
            yield
        finally:
            with contextlib.suppress(OSError):
                (directory / LOCK).unlink()
                directory.rmdir()
