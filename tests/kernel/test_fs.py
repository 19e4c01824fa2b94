"""The file system (kernel/fs) on a disk: images of the host's mke2fs, and what e2fsck and debugfs find on them then."""

import os
import shutil
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel import damaged_images, power_cuts
from tests.kernel.judge import FAST
from tests.kernel.machine import CHECKS, DEVICES, DISK_BUILDS, boot
from tests.kernel.power_cuts import host

OURS = Path(__file__).parent / "programs"
LOG_BYTES = 3000
ROUNDS = int(os.environ.get("ROUNDS", "3"))
BYTES = 6000 if "ROUNDS" in os.environ else 2500     # of a file at most
SERIAL = {"unix": "serial"} | CHECKS


def image(folder, kilobytes=1024, group=256, block=1024):
    """In groups of `group` blocks of `block` bytes, with a file in a directory, and the folder's files."""
    (folder / "files/d").mkdir(parents=True)
    (folder / "files/d/x").write_text("from the host\n")
    path = folder / "disk.img"
    path.write_bytes(bytes(kilobytes << 10))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", block, "-I", 128, "-N", 256,
         "-g", group, "-d", folder / "files", path)
    return path


def on_disk(folder, disk, harts, sync, bootargs, options=None, seed=1, **how):
    """How the kernel ended, and the `disk` that it left, after e2fsck has found no error."""
    run = boot(folder, harts, sync, bootargs, seed, options=options or DISK_BUILDS[sync], machine=DEVICES,
               more=["--disk", f"{disk},write=copy,profile=fast"], **how)
    assert run.status == 0, run.report()
    host("e2fsck", "-fn", folder / "disk0.img")
    return run, folder / "disk0.img"


FEW = "bufs=12 bufchains=4"


@pytest.mark.parametrize("harts, sync, build, how", [
    (1, "spl-optim", {}, "bufs=40 disk.mode=pio"), (2, "cli-optim", {}, FEW), (1, "spl-pessim", {}, "bufs=40"),
    (1, "cli-spl-pessim", {}, FEW), (4, "cli-pessim", {}, f"{FEW} workers=4 inodes=3"), (2, "spl-pessim", SERIAL, FEW),
])
def test_threads_work_in_it_at_once(tmp_path, harts, sync, build, how):
    """With few buffers, so that threads wait for each other's, and few inodes, or enough for runs of blocks, by DMA and
    by programmed I/O; the files left follow from each thread's seed."""
    seed = harts + 3 * len(sync)
    bootargs = f"run=test-fs hz=1000 rounds=1 bytes={BYTES} {how} ram_jitter=5"
    run, left = on_disk(tmp_path / "out", image(tmp_path), harts, sync, bootargs, build or None, seed,
                        max_cycles=60_000_000)
    line = run.result("test")
    assert line["operations"] > 20 * harts and line["writes"] > 20
    assert all(hart["at_end"]["section_depth"] == 0 for hart in run.record["harts"]), run.report()
    assert host("debugfs", "-R", "cat /d/x", left) == b"from the host\n"
    for thread in range(min(2 * harts, 4)):
        assert host("debugfs", "-R", f"cat /t{thread}/log", left) == bytes(
            (i * 7 + thread * 31 + seed) & 255 for i in range(LOG_BYTES)), f"thread {thread}"


@pytest.mark.parametrize("harts, sync, seed, more", [(2, "cli-optim", 5, ""), (2, "cli-optim", 15, "there=1 files=8"),
                                                     (4, "cli-pessim", 4, "")][:2 + ("ROUNDS" in os.environ)])
def test_nothing_is_unmounted_that_somebody_looks_into(tmp_path, harts, sync, seed, more):
    """The search through the table of inodes is long (filler=), and lookups go from its end to its beginning: to
    inodes that they add there, or that are there. ROUNDS=100: the long form."""
    for unit in range(2):
        files = tmp_path / f"{unit}/files"
        (files / "z").mkdir(parents=True)
        for n in range(44 if unit else 180):
            (files / (f"a{n:02}" if unit else f"w{n:03}")).write_text("")
        for n in range(30 if unit else 0):
            (files / f"z/y{n:02}").write_bytes(b"x" * (n + 1))
    disks = [word for unit in range(2)
             for word in ("--disk", f"{image(tmp_path / str(unit))},write=copy,profile=fast")]
    bootargs = (f"run=test-unmount hz=1000 rounds={ROUNDS + 3 * bool(more)} tries=1000 bufs=60 inodes=300 filler=180 "
                f"ram_jitter=5 {more}")
    run = boot(tmp_path / "out", harts, sync, bootargs, seed, options=DISK_BUILDS[sync], machine=DEVICES, more=disks,
               max_cycles=100_000_000)
    assert run.status == 0, run.report()
    for unit in range(2):
        host("e2fsck", "-fn", run.folder / f"disk{unit}.img")


def run_on_disk(folder, disk, harts, sync, program, files, args="", options=None, seed=1, bootargs=""):
    """A program with the disk as its root."""
    bootargs = f"run=user program={program} args={args} root=disk0 hz=1000 {FAST} {bootargs}"
    return on_disk(folder, disk, harts, sync, bootargs, options, seed, max_cycles=100_000_000, files=files)


def test_what_files_c_checks_holds_on_the_host(tmp_path):
    host("gcc", "-O1", "-Wall", "-Werror", "-Wno-stringop-overflow", OURS / "files.c", "-o", tmp_path / "files")
    (tmp_path / "d").mkdir()
    if os.geteuid() == 0:       # it gives files away, and changes its root
        host(tmp_path / "files", tmp_path / "d")


def test_the_model_of_names_is_that_of_the_host(tmp_path):
    host("gcc", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", OURS / "names.c", "-o",
         tmp_path / "names")
    (tmp_path / "d").mkdir()
    assert b"names: 12000 operations, 0 failed" in host(tmp_path / "names", tmp_path / "d", 4, 2000, 1)


def test_a_program_has_its_files_on_the_disk(tmp_path):
    """POSIX's calls in a C program; the host reads back what it wrote."""
    files = {"files": programs.build_program([OURS / "files.c"])}
    run, left = run_on_disk(tmp_path / "out", image(tmp_path), 1, "spl-optim", "files", files, "/d")
    assert ", 0 failed" in run.console, run.report()
    assert host("debugfs", "-R", "cat /d/data", left) == bytes((i * 7 + i // 251) & 255 for i in range(20000))
    assert host("debugfs", "-R", "cat /d/d/log", left) == b"even\nodd\neven\nodd\nev"
    listing = host("debugfs", "-R", "ls -p /d/d", left).decode()
    assert listing.count("a file of a long name") == 12 and "/way/" in listing


@pytest.mark.parametrize("sync, build, journal", [("cli-optim", {}, True), ("spl-pessim", SERIAL, False),
                                                  ("spl-optim", DISK_BUILDS["spl-optim"], False)])
def test_what_is_mounted_read_only_is_not_changed(tmp_path, sync, build, journal):
    """No call changes a byte; the image is clean, so that there is nothing to replay from its log.
    The root is the archive, on which a call mounts the disk."""
    (tmp_path / "files/d").mkdir(parents=True)
    for name, text in (("f", "text"), ("d/x", "x")):
        (tmp_path / "files" / name).write_text(text)
    (tmp_path / "files/l").symlink_to("f")
    disk = power_cuts.new_image(tmp_path / "disk.img", journal, 3072, tmp_path / "files")
    before = disk.read_bytes()
    files = {"readonly": programs.build_program([OURS / "readonly.c"])}
    run, left = on_disk(tmp_path / "out", disk, 1, sync,
                        f"run=user program=readonly args=disk0 hz=1000 bufs=64 journal={int(journal)}", build,
                        files=files)
    assert ", 0 failed" in run.console, run.report()
    assert left.read_bytes() == before


def test_memory_that_is_short_goes_to_a_file_on_the_disk_and_comes_back(tmp_path):
    """More pages than main RAM has, all of them written, beside files on the same disk; then e2fsck finds no error."""
    (tmp_path / "files").mkdir()
    (tmp_path / "files/swap").write_bytes(bytes(range(1, 251)) * 3400)      # no holes: mke2fs makes some of zeroes
    files = {"swapped": programs.build_program([OURS / "swapped.c"])}
    run, left = run_on_disk(tmp_path / "out", image(tmp_path, 2048), 1, "cli-optim", "swapped", files, "48,1",
                            bootargs="swap=/swap user.pages=90 bufs=24")
    assert "swapped: 48 pages, 1 rounds, 0 wrong" in run.console, run.report()
    assert host("debugfs", "-R", "stat /swap", left).count(b"Size: 850000")
    assert run.record["disks"]["disk0"]["sectors_written"] > 8 * 48, run.report()


def test_a_shell_on_the_disk_runs_a_script_with_commands_on_the_disk(tmp_path):
    """Nothing comes from the image's archive. Copies are the same. In blocks of 4 KB, as on a large disk:
    few are needed to read a program. What more commands do: test_commands.py."""
    text = "".join(f"line {n}\n" for n in range(300))
    folder = tmp_path / "files/bin"
    folder.mkdir(parents=True)
    commands, first = programs.commands(), {}
    for name in ("sh", "cp", "mkdir", "rm", "mv", "ln", "cat"):      # one program under many names
        if commands[name] in first:
            os.link(first[commands[name]], folder / name)
        else:
            first[commands[name]] = shutil.copy(commands[name], folder / name)
            (folder / name).chmod(0o755)
    for folder in ("etc", "work"):
        (tmp_path / "files" / folder).mkdir()
    (tmp_path / "files/etc/text").write_text(text)
    shutil.copy(OURS / "disk.sh", tmp_path / "files/disk.sh")
    disk = image(tmp_path, 2048, 512, 4096)
    run, left = run_on_disk(tmp_path / "out", disk, 1, "cli-optim", "/bin/sh", None, "disk.sh,done", seed=2)
    assert run.console.rstrip().endswith("/work/a/b\r\ndone") or "/work/a/b\ndone" in run.console, run.report()
    host("debugfs", "-R", f"rdump /work {tmp_path}", left)
    made = {str(path.relative_to(tmp_path / "work")): path.read_text() for path in (tmp_path / "work").rglob("*")
            if path.is_file()}
    assert made == {"a/first": text, "a/b/way": text, "a/moved": text + "a line more\n", "c/first": text,
                    "c/both": 2 * text + "a line more\n"}


def test_processes_change_names_at_once(tmp_path):
    """Each beside a model of its own names, and all in one folder; e2fsck finds no error."""
    files = {"names": programs.build_program([OURS / "names.c"])}
    run, _ = run_on_disk(tmp_path / "out", image(tmp_path), 2, "cli-spl-pessim", "names", files, "/d,3,16,1", seed=3)
    assert "names: 72 operations, 0 failed" in run.console, run.report()


def test_damaged_images_give_errors_and_nothing_worse(tmp_path):
    """A handful: `python -m tests.kernel.damaged_images` makes any number."""
    run = damaged_images.damage(tmp_path, DISK_BUILDS["cli-spl-pessim"], 4, sync="cli-spl-pessim")
    assert run.status == 0, run.report()
    found = run.result("test")
    assert found["images"] == 4 and found["operations"] > 60 and found["errors"] > 10, run.report()


def test_the_power_goes(tmp_path):
    """At 12 cycles of one run, with a journal; `python -m tests.kernel.power_cuts` does the rest."""
    cuts, wrong = power_cuts.cut_and_check(tmp_path, DISK_BUILDS["cli-optim"], True, power_cuts.files_load(7, 3), 20, 3)
    assert cuts > 8 and not wrong, wrong
