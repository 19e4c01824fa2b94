"""Sweeps on several workers, with the real simulator: runs there have the same results as runs here."""

import contextlib
import os
import shlex
import signal
import stat
import subprocess
import sys
import time

import pytest

from sim.results import record
from support.cache import REPO

EXPERIMENT = ("pic-latency", "--quick")
INTERLOCK = str(REPO / "interlock")


def stable(directory):
    return [record.stable(made) for made in record.read(directory)[1]]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    """The records of only this machine."""
    out = tmp_path_factory.mktemp("here") / "out"
    subprocess.run([INTERLOCK, "run", *EXPERIMENT, "--out", out], check=True, capture_output=True, timeout=600)
    return stable(out)


def workers_of(process):
    """The processes of each worker that `process` has started: the job, and those below it."""
    children = {}
    for line in subprocess.run(["ps", "-eo", "pid=,ppid="], capture_output=True, text=True).stdout.splitlines():
        pid, parent = map(int, line.split())
        children.setdefault(parent, []).append(pid)

    def below(pid):
        return [pid, *(found for child in children.get(pid, ()) for found in below(child))]
    return [below(pid) for pid in children.get(process.pid, ()) if len(below(pid)) > 1]


def test_a_worker_killed_in_the_middle_of_a_sweep_costs_no_run(here, tmp_path):
    cluster = subprocess.Popen([INTERLOCK, "cluster", "local", "--jobs", "2"], cwd=tmp_path, text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                               preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
    sweep = None
    try:
        address = cluster.stdout.readline().strip()
        out = tmp_path / "out"
        sweep = subprocess.Popen([INTERLOCK, "run", *EXPERIMENT, "--fresh", "--scheduler", address, "--out", out],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        deadline = time.monotonic() + 300
        while not list(out.glob("runs/*/record.json")):
            assert sweep.poll() is None and time.monotonic() < deadline
            time.sleep(0.02)
        job, *below = workers_of(cluster)[0]
        os.kill(job, signal.SIGKILL)
        for pid in below:
            with contextlib.suppress(ProcessLookupError):       # a simulator that has ended meanwhile
                os.kill(pid, signal.SIGKILL)
        _, said = sweep.communicate(timeout=300)
        assert sweep.returncode == 0, said
        assert stable(out) == here
        assert all(made["host"]["worker"].startswith("LocalCluster-") for made in record.read(out)[1])
    finally:
        for process in filter(None, (sweep, cluster)):
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)


def test_the_example_for_slurm_runs_a_sweep(here, tmp_path):
    bin_ = tmp_path / "bin"
    bin_.mkdir()
    srun = bin_ / "srun"        # stands for Slurm's: the same command on two nodes
    srun.write_text("""#!/bin/bash\ntrap 'kill $(jobs -p)' TERM\n"$@" & "$@" & wait\n""")
    srun.chmod(srun.stat().st_mode | stat.S_IXUSR)
    result = subprocess.run(["bash", REPO / "docs/examples/sweep.slurm", *EXPERIMENT, "--fresh", "--out",
                             tmp_path / "out"], cwd=REPO, capture_output=True, text=True, timeout=300,
                            start_new_session=True,
                            env=os.environ | {"PATH": f"{bin_}:{os.environ['PATH']}", "SLURM_CPUS_PER_TASK": "1"})
    assert result.returncode == 0, result.stderr
    assert stable(tmp_path / "out") == here
    assert len({made["host"]["worker"] for made in record.read(tmp_path / "out")[1]}) == 2


@pytest.mark.parametrize("system, header", [
    ("slurm", ["#SBATCH -p batch", "#SBATCH --cpus-per-task=4", "#SBATCH -t 01:00:00", "#SBATCH --constraint=avx2"]),
    ("pbs", ["#PBS -q batch", "#PBS -l select=1:ncpus=4:mem=1908MB", "#PBS -l walltime=01:00:00"]),
])
def test_the_job_of_a_batch_system(system, header):
    more = ["--directive=--constraint=avx2"] if system == "slurm" else []
    result = subprocess.run([INTERLOCK, "cluster", system, "--show", "--cores", "4", "--walltime", "01:00:00",
                             "--queue", "batch", *more], capture_output=True, text=True, timeout=60)
    lines = result.stdout.splitlines()
    assert result.returncode == 0 and set(header) <= set(lines), result.stderr
    assert f"{sys.executable} -m distributed.cli.dask_worker" in lines[-1].replace(str(REPO.resolve()), str(REPO))
    assert "--nthreads 4" in lines[-1]


def test_a_job_is_shell_whatever_its_folder_is_called(tmp_path):
    folder = tmp_path / "a b; 'c'"
    result = subprocess.run([INTERLOCK, "cluster", "slurm", "--show", "--certificates", folder], capture_output=True,
                            text=True, timeout=60)
    words = shlex.split(result.stdout.splitlines()[-1])
    assert words[words.index("--tls-key") + 1] == str(folder / "key.pem"), result.stderr


def test_what_a_batch_system_does_not_take_gets_one_line():
    result = subprocess.run([INTERLOCK, "cluster", "sge", "--show", "--account", "me"], capture_output=True, text=True,
                            timeout=60)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and "'account'" in result.stderr
