"""Processes as 4.3BSD programs expect them: fork, execve, wait4, groups, signals, descriptors, pipes and memory. The
program checks itself (user/programs/processes.c), some parts at each boot: all on one hart, half of them on 2
harts and the other half on 4. PROCESSES=all: all on each; FUZZ_CALLS=2500: more random calls;
STORM_STEPS=50: longer storms; STORM=all: under each scheme, on 1, 4 and 8 harts, with and without a clock."""

import os
import subprocess
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.machine import CHECKED, DEVICES, DISK_BUILDS, boot

PARTS = 25
CALLS = int(os.environ.get("FUZZ_CALLS", 400))


def run_program(folder, harts, sync, program, args="", more="hz=1000", options=None, seed=0):
    run = boot(folder, harts, sync, f"run=user program={program} args={args} {more}", seed, options=options)
    assert "panic" not in run.console, run.report()
    return run


@pytest.mark.parametrize("harts, sync, options", [(1, "spl-optim", None), (2, "cli-optim", None),
                                                  (4, "spl-pessim", {"runqueue": "per-hart"})])
def test_calls_do_what_they_say(tmp_path, harts, sync, options):
    half = os.environ.get("PROCESSES") != "all"    # each part on one hart or on two, and on several
    part = int(harts != 2)
    run = run_program(tmp_path, harts, sync, "processes", f"{part}/2" if half else "", options=options)
    assert run.status == 0 and run.result("processes")["failed"] == 0, run.report()
    assert run.result("processes")["parts"] == ((PARTS + 1 - part) // 2 if half else PARTS)
    assert run.result("processes")["checks"] > (50 if half else 140)


@pytest.mark.parametrize("sync, options", [("cli-spl-pessim", None), ("cli-pessim", CHECKED["cli-pessim"])][
    :1 + (os.environ.get("PROCESSES") == "all")])
def test_without_a_clock(tmp_path, sync, options):
    """Only what has to wait for a time needs a clock."""
    run = run_program(tmp_path, 2, sync, "processes", "noclock", "hz=0", options)
    assert run.status == 0 and run.result("processes")["parts"] >= 7, run.report()


@pytest.mark.parametrize("harts", (2, 4))
def test_dup2_both_ways_at_once(tmp_path, harts):
    """Paper `mach`, section 3.2: two threads that do dup2(X, Y) and dup2(Y, X) must not deadlock."""
    run = run_program(tmp_path, harts, "spl-optim", "processes", "dup2", "hz=4000 ram_jitter=7",
                      CHECKED["spl-optim"], seed=1)
    assert run.status == 0 and run.result("processes")["failed"] == 0, run.report()


@pytest.mark.parametrize("sync, harts, seed", [("spl-optim", 1, 1), ("cli-optim", 2, 2), ("cli-spl-pessim", 4, 3)])
def test_random_calls_from_processes_at_once(tmp_path, sync, harts, seed):
    """Calls of all kinds, with forks, random handlers, signals to each other; memory runs out in the second."""
    more = "user.pages=500 ram_jitter=9" if seed == 2 else "ram_jitter=5"
    run = boot(tmp_path, harts, sync, f"run=test-process-fuzz hz=2500 calls={CALLS} {more}", seed)
    assert run.status == 0 and run.result("test")["calls"] >= CALLS, run.report()


def test_forks_until_memory_is_out(tmp_path):
    run = boot(tmp_path, 2, "spl-optim", "run=test-nest user.pages=400 hz=1000")
    assert run.status == 0 and run.result("nest")["error"] == -12 and run.result("nest")["depth"] > 3, run.report()


STORM = Path(__file__).parent / "programs/storm.c"
STORM_STEPS = int(os.environ.get("STORM_STEPS", 5))     # of each thread


def test_the_storm_is_none_on_the_host(tmp_path):
    """The program checks pages, pipes and children: its checks must be right themselves."""
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-pthread", STORM, "-o", tmp_path / "storm"],
                   check=True)
    done = subprocess.run([tmp_path / "storm", "1", "100", "3", "3", tmp_path], capture_output=True, text=True)
    assert done.stdout == "storm: 900 steps, 0 wrong\n", done.stdout


@pytest.mark.parametrize("sync, harts, options, more", [
    ("cli-optim", 2, CHECKED["cli-optim"], "lockstat=none"), ("spl-pessim", 4, None, "user.pages=110 vm.swap=150")])
def test_threads_and_processes_on_the_same_pages(tmp_path, sync, harts, options, more):
    """Which fork, dup2 and signal meanwhile; no process sees another's page, and pages are evicted in the second."""
    args = f"{harts},{STORM_STEPS},2,3" + (",scarce" if "vm.swap" in more else "")
    run = boot(tmp_path, harts, sync, f"run=user program=storm args={args} hz=8000 ram_jitter=9 {more}", harts,
               options=options, files={"storm": programs.build_program([STORM])})
    assert run.status == 0 and ", 0 wrong" in run.console, run.report()


@pytest.mark.parametrize("hz", (0, 8000) if os.environ.get("STORM") == "all" else (0,))
@pytest.mark.parametrize("sync, harts", [(sync, harts) for sync in DISK_BUILDS for harts in (1, 4, 8)]
                         if os.environ.get("STORM") == "all" else [("spl-optim", 4)])
def test_threads_and_processes_on_the_same_files(tmp_path, sync, harts, hz):
    """And FIFOs, while children borrow the memory; hz=0: no clock gives a hart to another thread. Eight harts
    with disks are a machine of their own: STORM=all has them."""
    disk = tmp_path / "disk.img"
    disk.write_bytes(bytes(2 << 20))
    subprocess.run(["mke2fs", "-q", "-F", "-t", "ext2", "-b", "1024", "-I", "128", disk], check=True)
    run = boot(tmp_path / "out", harts, sync, f"run=user program=storm args={harts},{STORM_STEPS},3,3,/ root=disk0 "
               f"hz={hz} ram_jitter=9", harts, max_cycles=20_000_000 * STORM_STEPS, options=DISK_BUILDS[sync],
               machine=DEVICES, files={"storm": programs.build_program([STORM])},
               more=["--disk", f"{disk},write=copy,profile=fast"])
    assert run.status == 0 and f": {9 * STORM_STEPS} steps, 0 wrong" in run.console, run.report()
    subprocess.run(["e2fsck", "-fn", tmp_path / "out/disk0.img"], check=True, capture_output=True)
