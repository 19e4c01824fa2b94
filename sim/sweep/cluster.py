"""Runs on the workers of a Dask cluster (`--scheduler ADDRESS`): as many at a time as its workers have threads.

Dask runs the tasks of a killed worker again. Files go by content: a worker that sees the same paths (a shared
disk) reads them there, another is sent them once. Results come back over the network.
"""

import contextlib
import ssl
import time
import uuid
import warnings

import cloudpickle
from distributed import Client
from distributed.scheduler import KilledWorker

from sim.results.record import RecordError, inside, write_bytes
from sim.sweep import remote, tls, worker

POLL_S = 0.05
CONNECT_S = 10


def _is_another_certificate(error):
    """Whether a connection failed as one end did not accept the other's certificate."""
    causes = []
    while error is not None and error not in causes:
        causes.append(error)
        error = error.__cause__ or error.__context__
    return any(isinstance(cause, ssl.SSLCertVerificationError) or "CERTIFICATE_VERIFY_FAILED" in str(cause)
               for cause in causes)


class Cluster:
    """Executes runs on a cluster; the methods are those of sim/sweep/local.py."""

    def __init__(self, address, plain=False, certificates=None):
        """`address` or file of the scheduler; `plain` and `certificates`: sim/sweep/tls.py."""
        address, security = tls.of_address(address, plain, certificates)
        for module in (worker, remote):
            cloudpickle.register_pickle_by_value(module)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")     # for slightly different versions: relevant differences fail
                self.client = Client(address, timeout=CONNECT_S, set_as_default=False, security=security)
        except (OSError, ValueError) as error:
            if security and _is_another_certificate(error):
                folder = tls.folder_of(certificates)
                raise RecordError(f"the scheduler at {address} has another certificate than {folder}: give the folder "
                                  "of its own with --certificates, or start it with what './interlock certificates' "
                                  "prints") from error
            with_it = " with the certificate of './interlock certificates'" if security else ""
            raise RecordError(f"no Dask scheduler answers at {address}{with_it}: start one with 'dask scheduler', or "
                              "give its address as it prints it, such as tls://host:8786, or its file") from error
        self.address = address
        self.topic = f"interlock-{uuid.uuid4().hex}"
        self.client.subscribe_topic(self.topic, self._heard)
        self.active = {}        # job -> future
        self.sent = {}          # name and digest of a file that workers lack -> future of its content
        self.said = {}          # run -> cycles

    def _heard(self, event):
        _, message = event
        self.said[message["run"]] = message["cycles"]

    def free(self):
        return True

    def start(self, job, cost):
        contents = [self.sent[file.sha256] for file in job.task.files.values() if file.sha256 in self.sent]
        simulate, task, topic, label = remote.simulate, job.task, self.topic, job.run.id

        def carry_out(*contents):       # local: so it is sent by value with all that it uses
            return simulate(task, topic, label, *contents)
        self.active[job] = self.client.submit(carry_out, *contents, pure=False, priority=cost,
                                              key=f"{job.run.id}-{uuid.uuid4().hex[:8]}")
        job.cost = cost

    def ended(self):
        time.sleep(POLL_S)
        done = []
        for job, future in list(self.active.items()):
            if self.client.status != "running" or future.status == "cancelled":
                raise RecordError(f"the Dask scheduler at {self.address} has gone")
            if not future.done():       # lost, too: its worker died with the result, which is recomputed
                continue
            del self.active[job]
            try:
                left = future.result()
            except KilledWorker as error:
                done.append((job, f"its worker died {error.allowed_failures + 1} times, as when memory runs out, the "
                                  f"last one {error.last_worker.address}", None))
                continue
            except Exception as error:      # any error on the worker: the run failed, the others continue
                done.append((job, f"its worker failed: {type(error).__name__}: {error}".splitlines()[0], None))
                continue
            if "missing" in left:
                self._send(job, left["missing"])
                self.start(job, job.cost)
                continue
            try:
                paths = {inside(job.folder, name): content for name, content in left["files"].items()}
            except RecordError as error:
                done.append((job, f"its worker {left['host']} sent what is not a run's: {error}", None))
                continue
            for path, content in paths.items():
                path.parent.mkdir(exist_ok=True)
                write_bytes(path, content)
            done.append((job, left["status"], left["host"]))
        return done

    def _send(self, job, names):
        for name in names:
            file = job.task.files[name]
            if file.sha256 not in self.sent:
                with open(file.path, "rb") as content:
                    # `bytes` of it: a result that Dask can recompute if the worker that holds it dies.
                    self.sent[file.sha256] = self.client.submit(bytes, content.read(), pure=False,
                                                                key=f"interlock-file-{file.sha256}")

    def cycles(self, job):
        return self.said.get(job.run.id, 0)

    def state(self):
        with contextlib.suppress(Exception):        # between two reconnections there is nothing to report
            count = sum(info["nthreads"] for info in self.client.scheduler_info(n_workers=-1)["workers"].values())
            return f"{count} at a time" if count else "no worker has come yet"
        return "the scheduler does not answer"

    def stop(self):
        with contextlib.suppress(Exception):        # it may be the reason to stop
            self.client.cancel(list(self.active.values()))
            self.client.close(timeout=CONNECT_S)
        self.active.clear()
