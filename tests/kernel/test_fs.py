"""The file system (kernel/fs) on a disk: images of the host's mke2fs, and what e2fsck and debugfs find on them then."""

import os
import subprocess

import pytest

from tests.kernel.machine import CONSOLE_BAUD, command, ended

MACHINE = {"disks": 1}
LOG_BYTES = 3000
BUILDS = {"mach": {"lock_debug": "1"},
          "beyond": {"buffers": "buckets", "alloc": "groups", "inodes": "rw", "lock_debug": "1"},
          "softint": {"buffers": "buckets", "biodone": "softint"}}
ENVIRONMENT = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}


def host(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
    return done.stdout


def image(folder):
    """A megabyte in four groups, with a file in a directory."""
    (folder / "files/d").mkdir(parents=True)
    (folder / "files/d/x").write_text("from the host\n")
    path = folder / "disk.img"
    path.write_bytes(bytes(1 << 20))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", 1024, "-I", 128, "-N", 256,
         "-g", 256, "-d", folder / "files", path)
    return path


@pytest.mark.parametrize("harts, sync, build", [
    (1, "spl-optim", "mach"), (2, "cli-optim", "mach"), (2, "spl-pessim", "beyond"), (1, "cli-spl-pessim", "softint"),
    (4, "cli-pessim", "beyond"),
])
def test_threads_work_in_it_at_once(tmp_path, harts, sync, build):
    """With few buffers, so that they wait for each other's; what is left is what each thread's seed makes."""
    seed = harts + 3 * len(sync)
    bootargs = "run=test-fs hz=1000 rounds=1 bufs=12 bufchains=4 ram.jitter=5"
    arguments = command(tmp_path / "out", harts, sync, bootargs, "file", CONSOLE_BAUD, seed, max_cycles=60_000_000,
                        options=BUILDS[build], machine=MACHINE)
    done = subprocess.run([*arguments, "--disk", f"{image(tmp_path)},write=copy,profile=fast"], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    run = ended(tmp_path / "out", done.returncode, done.stdout + done.stderr)
    assert run.status == 0, run.report()
    line = run.result("test")
    assert line["operations"] > 20 * harts and line["writes"] > 20
    left = tmp_path / "out" / "disk0.img"
    host("e2fsck", "-fn", left)
    assert host("debugfs", "-R", "cat /d/x", left) == b"from the host\n"
    for thread in range(2 * harts):
        assert host("debugfs", "-R", f"cat /t{thread}/log", left) == bytes(
            (i * 7 + thread * 31 + seed) & 255 for i in range(LOG_BYTES)), f"thread {thread}"
