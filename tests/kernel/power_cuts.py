"""Power cuts in simulation: what a drive with a write cache would leave at random cycles of a load (programs/power.c).

    python -m tests.kernel.power_cuts --cuts 1000 --out build/power-cuts

One run has any number of cuts: the drive copies what a cut would leave (`left=CYCLE`, hw/disk). For each copy:
`e2fsck -fy` exits with at most 1, with a journal it has nothing to mend, a second pass is clean, what fsync had
acknowledged is there, and no file holds another's words. With --sqlite the load is SQLite's, and all that it has
committed is there."""

import argparse
import os
import random
import re
import sqlite3
import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from sim.images import programs
from tests.kernel.machine import DEVICES, boot

OURS = Path(__file__).parent / "programs"
KERNELS = {"serial": {"unix": "serial"}, "parallel": {}, "beyond": {"unix": "beyond"}}
# A cache, and a mechanism fast enough that a run has many writes: a write's sectors are lost in its cache, or torn.
DRIVE = "profile=ide,rpm=60000,overhead_us=10,seek_near_us=20,seek_far_us=200"
ENVIRONMENT = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
WORD = struct.Struct("<HHI")


def host(*words):
    """The output of a command of the host, which must succeed."""
    done = subprocess.run(list(map(str, words)), capture_output=True, env=ENVIRONMENT)
    assert done.returncode == 0, (done.stdout + done.stderr).decode(errors="replace")
    return done.stdout


@dataclass
class Kept:
    """A file as fsync has acknowledged it, and the operations begun since."""

    names: set[str]
    versions: dict[int, int]
    size: int
    cut: bool = False
    removed: bool = False


@dataclass
class File:
    """A file as the processes see it."""

    name: str = ""
    versions: dict[int, int] = field(default_factory=dict)
    size: int = 0
    kept: Kept | None = None


def operations(console):
    """(begin, end, kind, file, the others) of each line `op`, by their begin."""
    lines = [line.split() for line in console.splitlines() if line.startswith("op ")]
    return sorted((int(a), int(b), kind, int(number), rest) for _, a, b, kind, number, *rest in lines)


def acknowledged(log, cut):
    """The files, by number, that fsync has acknowledged before the cycle `cut`."""
    files: dict[int, File] = {}
    for begin, end, kind, number, rest in log:
        if begin > cut:
            break
        file = files.setdefault(number, File())
        kept = file.kept
        match kind:
            case "write":
                first, count, version = map(int, rest)
                file.versions |= dict.fromkeys(range(first, first + count), version)
                file.size = max(file.size, first + count)
            case "cut":
                file.size = int(rest[0])
                file.versions = {at: version for at, version in file.versions.items() if at < file.size}
                if kept:
                    kept.cut = True
            case "name":
                file.name = rest[0]
                if kept:
                    kept.names.add(rest[0])
            case "unlink":
                if kept:
                    kept.removed = True
            case "sync" if end <= cut:
                file.kept = Kept({file.name}, dict(file.versions), file.size)
    return {number: file.kept for number, file in files.items() if file.kept and not file.kept.removed}


def tree_of(image, folder):
    folder.mkdir()
    host("debugfs", "-R", f"rdump / {folder}", image)
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def strangers(tree):
    """What is wrong in the files of a tree: words of other files, or of other places."""
    for path, content in tree.items():
        owner = int(path.rpartition("_")[2]) if "_" in path else 0
        if len(content) % WORD.size:
            yield f"{path} has {len(content)} bytes"
            continue
        for place, (number, version, at) in enumerate(WORD.iter_unpack(content)):
            owner = owner or number         # in lost+found
            if (number or version or at) and (number, at) != (owner, place):
                yield f"{path}, word {place}: is word {at} of file {number}"
                break


def missing(tree, kept):
    for number, file in kept.items():
        found = [name for name in file.names if name.strip("/") in tree]
        if not found:
            yield f"file {number}, acknowledged as one of {sorted(file.names)}, is gone"
        elif not file.cut:
            words = list(WORD.iter_unpack(tree[found[0].strip("/")]))
            if len(words) < file.size or any(words[at][1] < version for at, version in file.versions.items()):
                yield f"{found[0]} is not what fsync has acknowledged"


def check(image, log, cut, journal, look_inside=True):
    """The errors in what a cut in the cycle `cut` has left, as text; empty if there are none."""
    def e2fsck(*words):
        done = subprocess.run(["e2fsck", *words, image], capture_output=True, text=True, env=ENVIRONMENT)
        return done.returncode, done.stdout + done.stderr

    status, said = e2fsck("-fy")
    wrong = [f"e2fsck -fy ends with {status}:\n{said}"] if status > 1 else []
    mended = [line for line in said.splitlines() if "? yes" in line and "lost+found" not in line]
    if journal and mended:
        wrong.append(f"e2fsck has mended what a journal should have kept: {mended}")
    status, said = e2fsck("-fn")
    wrong += [f"the second e2fsck ends with {status}:\n{said}"] if status else []
    tree = tree_of(image, image.with_suffix(".tree"))
    if look_inside:
        wrong += [*strangers(tree), *missing(tree, acknowledged(log, cut))]
    return "\n".join(wrong)


def rows_of(last):
    """The contents of SQLite's table after so many transactions (user/ports/sqlite.c)."""
    rows = {}
    for n in range(1, last + 1):
        rows |= {(n * 7 + 3 * i) % 40: (n * 100 + i, (37 * n + 101 * i) % 700) for i in range(6)}
        rows.pop(n % 40, None)
    return rows


def check_database(image, log, cut, journal):
    """The same for SQLite's load: the image is sound, and so is the database, with every committed transaction."""
    wrong = check(image, [], cut, journal, look_inside=False)
    tree = image.with_suffix(".tree")
    committed = sum(end <= cut for _, end, kind, *_ in log if kind == "commit")
    if not (tree / "db").exists():
        return wrong + "the database is gone" if committed else wrong
    base = sqlite3.connect(tree / "db")
    try:
        said = base.execute("PRAGMA integrity_check").fetchall()
        (last,) = base.execute("SELECT n FROM last").fetchone() or (0,)
        rows = {k: (v, size) for k, v, size in base.execute("SELECT k, v, length(filler) FROM rows")}
    except sqlite3.DatabaseError as error:
        return f"{wrong}{error}" if committed else wrong
    finally:
        base.close()
    if said != [("ok",)]:
        wrong += f"integrity_check: {said}"
    if last < committed or rows != rows_of(last):
        wrong += f"{committed} transactions are committed; the table has {last}, and is {rows}"
    return wrong


def new_image(path, journal, kilobytes, files=None):
    """With the contents of the folder `files`, if that is given."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bytes(kilobytes << 10))
    features = "none,filetype,sparse_super" + (",has_journal" if journal else "")
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", features, *(["-J", "size=1"] if journal else []), "-b", 1024,
         "-I", 128, "-N", 128, "-g", 768, *(["-d", files] if files else []), path)
    return path


@dataclass(frozen=True)
class Load:
    """A program, its arguments, its cycles at most, and the function that checks what is left."""

    program: str
    args: str
    until: int
    check: Callable[[Path, list, int, bool], str]

    def files(self):
        if self.program == "sqlite":
            return {"sqlite": programs.build_port(programs.ports()["sqlite"])}
        return {"power": programs.build_program([OURS / "power.c"])}


def files_load(operations_each, seed, processes=2):
    return Load("power", f"{processes},{operations_each},{seed}",
                2_000_000 + 175_000 * processes * operations_each, check)


def sqlite_load(transactions):
    return Load("sqlite", f"/db,{transactions}", 4_000_000 + 3_000_000 * transactions, check_database)


def run_load(folder, options, journal, load, cuts, seed, harts=2):
    """Runs the load on a kernel with these build options: gives its report of operations, and the drive's
    copies, by their cycle."""
    bootargs = (f"run=user program={load.program} args={load.args} root=disk0 hz=1000 bufs=96 "
                f"journal={int(journal)}")
    disk = new_image(folder / "disk.img", journal, 3072)
    cycles = sorted(random.Random(seed).sample(range(2_000_000, load.until), cuts))
    drive = ",".join([f"{disk},write=copy,{DRIVE}", *(f"left={cycle}" for cycle in cycles)])
    made = boot(folder / "run", harts, "cli-optim", bootargs, seed, options=options, machine=DEVICES,
                max_cycles=2_000_000_000, files=load.files(), more=["--disk", drive])
    assert made.status == 0 and ", 0 failed" in made.console, made.report()
    host("e2fsck", "-fn", folder / "run/disk0.img")
    begin, end = (int(re.search(rf"^{what} (\d+)", made.console, re.M)[1]) for what in ("begin", "end"))
    return operations(made.console), {cycle: folder / f"run/disk0-{cycle}.img" for cycle in cycles
                                      if begin <= cycle <= end}


def cut_and_check(folder, options, journal, load, cuts, seed=1, harts=2):
    """The number of cuts during the load, and the errors after any of them, by its cycle."""
    log, left = run_load(folder, options, journal, load, cuts, seed, harts)
    assert len(log) > 5 and left, "the load has done nothing"
    said = {cut: load.check(left[cut], log, cut, journal) for cut in left}
    return len(left), {cut: wrong for cut, wrong in said.items() if wrong}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cuts", type=int, default=1000, help="in all; those outside of the load are left out")
    parser.add_argument("--kernels", nargs="+", default=list(KERNELS), choices=KERNELS)
    parser.add_argument("--operations", type=int, default=60, help="of each process")
    parser.add_argument("--harts", type=int, default=2, help="and as many processes")
    parser.add_argument("--sqlite", action="store_true", help="the load is SQLite's, with as many transactions")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, required=True, help="new folder for images and runs")
    given = parser.parse_args()
    load = sqlite_load(given.operations) if given.sqlite else files_load(given.operations, given.seed, given.harts)
    each, made, failed = -(-given.cuts // (2 * len(given.kernels))), 0, 0
    for kernel in given.kernels:
        for journal in (False, True):
            folder = given.out.resolve() / f"{kernel}-{'journal' if journal else 'synchronous'}"
            cuts, wrong = cut_and_check(folder, KERNELS[kernel], journal, load, each, given.seed, given.harts)
            made += cuts
            failed += len(wrong)
            print(f"unix={kernel} journal={int(journal)}: {cuts} cuts, {len(wrong)} wrong", flush=True)
            for cycle, what in wrong.items():
                print(f"  cycle {cycle}: {what}", flush=True)
    print(f"{made} cuts, {failed} wrong")
    return failed != 0


if __name__ == "__main__":
    raise SystemExit(main())
