"""Runs side by side on this machine: one process each, as many at a time as there are jobs."""

import time

from sim.sweep import worker

POLL_S = 0.02


class LocalPool:
    """Executes runs on this machine. `sim/sweep/cluster.py` has the same methods."""

    def __init__(self, jobs):
        self.jobs = jobs
        self.active = {}        # job -> process

    def free(self):
        """Whether another run may be started."""
        return len(self.active) < self.jobs

    def start(self, job, cost):
        """Begins the run of `job`, which has a `task` and a `folder`. `cost` is its expected length, in seconds."""
        del cost        # the caller starts the longest first
        self.active[job] = worker.start(job.task.command(job.task.local_paths(), job.folder), job.folder)

    def ended(self):
        """Jobs whose run has ended since the last call, with the simulator's status and where it ran."""
        time.sleep(POLL_S)
        done = [(job, process.returncode, None) for job, process in self.active.items() if process.poll() is not None]
        for job, _, _ in done:
            del self.active[job]
        return done

    def cycles(self, job):
        """Cycles simulated so far by a run under way."""
        return worker.cycles_said(job.folder)

    def state(self):
        """Its state beside its runs, in few words; nothing if all is normal."""
        return ""

    def stop(self):
        """Ends all runs under way, giving each time to write its output."""
        worker.end(list(self.active.values()))
        self.active.clear()
