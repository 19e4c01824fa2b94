"""Runs on a Dask cluster: real schedulers and workers, as processes that can be killed, over a stub simulator."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from sim.results import record
from sim.sweep import cluster, tls
from sim.sweep.cluster import Cluster
from support.cache import REPO

SMALL = ("harts=1", "link_latency=0,100", "schemes=spl-pessim,cli-optim", "size=16", "sweep=1000")
FAILING = "serial-h1-cli-optim-l100"
SLOW = "serial-h1-spl-pessim-l0"
DASK = (sys.executable, "-m", "dask")


class Machines:
    """A scheduler and workers on this machine, without a copy of this repository to import."""

    def __init__(self, folder, tls=()):
        self.folder = folder
        self.tls = tls
        self.processes = []
        self.scheduler = self.start("scheduler", *DASK, "scheduler", "--host", "127.0.0.1", "--port", "0",
                                    "--no-dashboard", *(("--protocol", "tls://") if tls else ()), *tls)
        self.address = self.said("scheduler", r"(t(cp|ls)://127\.0\.0\.1:\d+)")

    def start(self, name, *command):
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        with open(self.folder / f"{name}.log", "wb") as log:
            process = subprocess.Popen(command, cwd=self.folder, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def worker(self, name, before=()):
        process = self.start(name, *before, *DASK, "worker", self.address, "--nthreads", "1", "--no-nanny", "--name",
                             name, "--no-dashboard", "--local-directory", str(self.folder / f"{name}-files"), *self.tls)
        self.said(name, r"Registered to")
        return process

    def said(self, name, pattern):
        deadline = time.monotonic() + 60
        while not (found := re.search(pattern, (self.folder / f"{name}.log").read_text())):
            assert time.monotonic() < deadline, f"{name} does not start"
            time.sleep(0.05)
        return found[0]

    def end(self):
        for process in self.processes:
            process.kill()
            process.wait()


@pytest.fixture
def machines(tmp_path):
    folder = tmp_path / "machines"
    folder.mkdir()
    made = Machines(folder)
    yield made
    made.end()


def running(word):
    """Whether a process runs that has `word` in its command line."""
    def words(path):
        try:
            return path.read_bytes()
        except OSError:         # it has just ended
            return b""
    return any(word.encode() in words(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def wait_until(condition, what):
    deadline = time.monotonic() + 120      # a machine may be busy
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def stable(runner):
    return [record.stable(made) for made in record.read(runner.out)[1]]


def test_a_killed_workers_run_is_run_again_and_the_records_are_those_of_one_machine(bench, machines):
    bench.plan = {SLOW: {"sleep": 300, "once": True}, FAILING: {"status": 4, "reason": "no sign of life"}}
    workers = {name: machines.worker(name) for name in ("one", "two")}

    def kill_whoever_has_it():
        def by():
            return [name for name in workers if list(machines.folder.glob(f"{name}-files/**/{SLOW}/messages.txt"))]
        wait_until(lambda: bench.log.exists() and SLOW in bench.order() and by(), "no worker runs it")
        workers[by()[0]].kill()
        killed.extend(by())

    killed = []
    thread = threading.Thread(target=kill_whoever_has_it)
    thread.start()
    runner = bench.run(*SMALL, pool=Cluster(machines.address))
    thread.join()
    assert bench.order().count(SLOW) == 2
    hosts = {made["id"]: made["host"]["worker"] for made in record.read(runner.out)[1]}
    assert {hosts[SLOW]} == set(workers) - set(killed)
    assert [failure.id for failure in runner.failures] == [FAILING]
    wait_until(lambda: not running(str(machines.folder / f"{killed[0]}-files")), "its simulator outlives it")
    assert stable(runner) == stable(bench.run(*SMALL, out="local"))


@pytest.mark.parametrize("experiment, settings, sent", [
    ("pic-latency", SMALL, 4),                  # the simulator, an image of each scheme and run; no file twice
    ("boot-once", ("link_latency=0,100",), 3),     # simulator, image, the checkpoint that a run left
])
def test_a_worker_without_our_disk_is_sent_the_files(bench, machines, experiment, settings, sent):
    hide = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--map-root-user"]), "sh", "-c",
            'mount -t tmpfs none "$1" && shift && exec "$@"', "sh", str(bench.files)]
    if subprocess.run([*hide, "true"], capture_output=True).returncode:
        pytest.skip("a process cannot hide files on this machine")
    machines.worker("far", before=hide)
    runner = bench.run(*settings, experiment=experiment, pool=Cluster(machines.address), out="files/out")
    assert not runner.failures
    assert {made["host"]["worker"] for made in record.read(runner.out)[1]} == {"far"}
    files = list(machines.folder.glob("far-files/**/interlock/*"))
    assert len([path for path in files if path.stat().st_size != 16]) == sent       # 16 bytes: the serial line's input
    assert stable(runner) == stable(bench.run(*settings, experiment=experiment, out="local"))


CLIENT = """
import sys
from types import SimpleNamespace
from pathlib import Path
from sim.sweep import worker
from sim.sweep.cluster import Cluster
from sim.sweep.runner import Job
cluster = Cluster(sys.argv[1])
task = worker.Task(("{sleep}", "987"), (), {"sleep": worker.File("/bin/sleep", worker.digest_of("/bin/sleep"))})
cluster.start(Job(SimpleNamespace(id="long"), task, "", Path("."), ""), 1.0)
try:
    while True:
        cluster.ended()
except KeyboardInterrupt:
    cluster.stop()
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_ends_when_nobody_waits_for_it(machines, how):
    machines.worker("one")
    client = subprocess.Popen([sys.executable, "-c", CLIENT, machines.address], cwd=REPO,
                              preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    try:
        wait_until(lambda: running("sleep\0987"), "it does not begin")
        client.send_signal(how)
        wait_until(lambda: not running("sleep\0987"), "it goes on")
    finally:
        client.kill()
        client.wait()


def test_a_scheduler_that_goes_gets_one_line_and_what_is_finished_is_kept(bench, machines):
    bench.plan = {SLOW: {"sleep": 60}}
    machines.worker("one")
    runner = bench.runner(*SMALL, pool=Cluster(machines.address))

    def watch(progress):
        if progress.done >= 3:
            machines.scheduler.kill()
    with pytest.raises(record.RecordError, match=f"^the Dask scheduler at {machines.address} has gone$"):
        runner.execute(bench.targets(runner), watch)
    assert len(record.read(runner.out)[1]) >= 3


def test_no_scheduler_gets_one_line(monkeypatch):
    monkeypatch.setattr(cluster, "CONNECT_S", 1)
    with pytest.raises(record.RecordError, match="no Dask scheduler answers at tcp://127.0.0.1:1: start one with"):
        Cluster("tcp://127.0.0.1:1")
    with pytest.raises(record.RecordError, match="no Dask scheduler answers at tls://nowhere:8786 with the"):
        Cluster("nowhere:8786")


def test_over_tls_only_whoever_has_the_certificate_takes_part(bench, tmp_path, monkeypatch):
    folder = tmp_path / "machines"
    folder.mkdir()
    made = Machines(folder, tls.options(tmp_path / "tls"))
    try:
        made.worker("one")
        assert made.address.startswith("tls://")
        runner = bench.run(*SMALL, pool=Cluster(made.address, certificates=tmp_path / "tls"))
        assert not runner.failures
        assert {made["host"]["worker"] for made in record.read(runner.out)[1]} == {"one"}
        monkeypatch.setattr(cluster, "CONNECT_S", 2)
        with pytest.raises(record.RecordError, match=f"^the scheduler at {made.address} has another certificate than "
                                                     f"{tmp_path / 'others'}: give"):
            Cluster(made.address, certificates=tmp_path / "others")
        plain = made.address.replace("tls", "tcp")
        with pytest.raises(record.RecordError, match="^no Dask scheduler answers at tcp:"):
            Cluster(plain, plain=True)
    finally:
        made.end()


@pytest.mark.parametrize("address", ["tcp://head:8786", "tcp://10.0.0.1:8786", "file"])
def test_what_leaves_the_machine_is_not_plain_unless_asked(tmp_path, address):
    if address == "file":
        address = str(tmp_path / "scheduler.json")
        (tmp_path / "scheduler.json").write_text('{"address": "tcp://10.0.0.1:8786"}')
    with pytest.raises(record.RecordError, match="is not encrypted, and any machine that reaches it .* --plain-tcp$"):
        tls.of_address(address)
    assert tls.of_address(address, plain=True)[1] is None


def test_addresses_and_certificates(tmp_path):
    for here in ("tcp://127.0.0.1:1", "tcp://[::1]:1", "tcp://localhost:1", "127.0.0.1:1"):
        address, security = tls.of_address(here)
        assert address.startswith("tcp://") and security is None
    folder = tmp_path / "tls"
    address, security = tls.of_address("head:8786", folder=folder)
    assert address == "tls://head:8786" and security.require_encryption
    assert (folder / tls.KEY).stat().st_mode & 0o777 == 0o600 and folder.stat().st_mode & 0o777 == 0o700
    key = (folder / tls.KEY).read_text()
    tls.security(folder)
    assert (folder / tls.KEY).read_text() == key        # kept: others use it
    (folder / tls.KEY).chmod(0o644)
    with pytest.raises(record.RecordError, match="can be read by others: chmod 600 it"):
        tls.security(folder)
    (folder / tls.CERTIFICATE).write_text("no certificate")
    with pytest.raises(record.RecordError, match="^no certificate in "):
        tls.security(folder)
    (tmp_path / "wrong.json").write_text("[]")
    with pytest.raises(record.RecordError, match="is no file of a Dask scheduler"):
        tls.of_address(str(tmp_path / "wrong.json"))
