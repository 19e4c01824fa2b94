"""What a Dask worker does for a run: finds or receives the files, simulates, returns all that the run left.

Sent to the workers by value together with sim/sweep/worker.py: they need Python and Dask, no copy of this repository.
"""

import tempfile
import time
from pathlib import Path

from distributed import get_worker

from sim.sweep import worker as work

POLL_S = 0.05
SAY_S = 1.0


def simulate(task, topic, label, *contents):
    """Carries out `task` on this worker; `contents` are files that some worker missed before.

    Returns {"missing": names} when a file is not here with the required content, else {"status", "files", "host"}.
    Reports progress with events on `topic`. Ends the simulator when the run is not wanted any more: it was cancelled,
    or its client has gone.
    """
    worker = get_worker()
    key = worker.get_current_task()
    kept = Path(worker.local_directory) / "interlock"
    for content in contents:
        keep(kept, content)
    paths = {name: find(kept, file) for name, file in task.files.items()}
    missing = [name for name, path in paths.items() if path is None]
    if missing:
        return {"missing": missing}
    with tempfile.TemporaryDirectory(prefix="interlock-", dir=worker.local_directory) as above:
        folder = Path(above) / label
        folder.mkdir()
        process = work.start(task.command(paths, folder), folder)
        said = time.monotonic()
        try:
            while process.poll() is None:
                time.sleep(POLL_S)
                if worker.state.tasks[key].state == "cancelled":
                    return None
                if time.monotonic() - said > SAY_S:
                    said = time.monotonic()
                    worker.log_event(topic, {"run": label, "cycles": work.cycles_said(folder)})
        finally:
            work.end([process] if process.poll() is None else [])
        files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}
        return {"status": process.returncode, "files": files, "host": str(worker.name)}


def find(kept, file):
    """The path at which this machine has `file` with the required content; None if nowhere."""
    here = Path(file.path)
    if here.is_file() and work.digest_of(here) == file.sha256:
        return here
    received = kept / file.sha256
    return received if received.is_file() else None


def keep(kept, content):
    """Keeps a file that was sent, by its digest, for later runs."""
    kept.mkdir(exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=kept, delete=False) as aside:
        aside.write(content)
    path = Path(aside.name)
    path.chmod(0o755)
    path.rename(kept / work.digest_of(path))
