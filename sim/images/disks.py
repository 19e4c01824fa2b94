"""Disk images that experiments boot from: ext2, made by the host's e2fsprogs, the same to the byte everywhere.

`andrew` has the files and programs of the Modified Andrew Benchmark (docs/results-storage.md). `webstone` has a web
server, its clients and the files that it serves."""

import functools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path, PurePosixPath

from sim.images import programs
from support.cache import Input, cached

EPOCH = "1"             # all times in an image, in seconds; e2fsprogs take 0 as unset
ID = "00000000-0000-4000-8000-000000000018"
ENVIRONMENT = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin", "E2FSPROGS_FAKE_TIME": EPOCH}


class DiskError(RuntimeError):
    """An image could not be made; the message is one line that names the remedy."""


def _run(*command: str | Path):
    if not shutil.which(str(command[0]), path=ENVIRONMENT["PATH"]):
        raise DiskError(f"{command[0]} is not installed: run `make setup` (Debian package e2fsprogs)")
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL)
    # debugfs always exits with 0: output beside its version and echo is an error.
    said = [line for line in done.stderr.splitlines() if not line.startswith(("debugfs 1.", "e2fsck 1."))]
    if done.returncode or said:
        raise DiskError(f"{command[0]}: {' '.join(said) or done.stdout.strip()}")


def ext2_image(files: Mapping[str, bytes | Path], kilobytes: int, inodes: int) -> Path:
    """An image of so many KiB in blocks of 1 KiB with `files`, by their paths in it; a path that ends in `/` is an
    empty folder. Files in a folder `bin` are executable. DiskError if it does not fit, or there are no
    e2fsprogs."""
    inputs: dict[str, Input] = {f"file {name}": content for name, content in files.items()}
    inputs |= {"size": f"{kilobytes} {inodes}", "how": Path(__file__)}

    def build(out: Path):
        image, aside = out / "disk.img", out / "content"
        _run("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super", "-b", "1024", "-I", "128", "-m",
             "0", "-N", str(inodes), "-U", ID, "-E", f"hash_seed={ID}", image, str(kilobytes))
        aside.mkdir()
        made, lines = {"."}, ["rmdir lost+found"]
        for number, name in enumerate(sorted(files)):
            folder = PurePosixPath(name if name.endswith("/") else str(PurePosixPath(name).parent))
            for above in [*reversed(folder.parents), folder]:
                if str(above) not in made:
                    made.add(str(above))
                    lines.append(f"mkdir {above}")
            if not name.endswith("/"):
                content = files[name]
                (aside / str(number)).write_bytes(content.read_bytes() if isinstance(content, Path) else content)
                (aside / str(number)).chmod(0o755 if PurePosixPath(name).parent.name == "bin" else 0o644)
                lines.append(f"write {aside / str(number)} {name}")
        script = out / "script"
        script.write_text("".join(f"{line}\n" for line in lines))
        _run("debugfs", "-w", "-f", script, image)
        _run("e2fsck", "-fn", image)
        shutil.rmtree(aside)
        script.unlink()

    return cached("disk-image", inputs, build) / "disk.img"


# The Modified Andrew Benchmark

BZIP2 = ("blocksort.c", "bzlib.h", "bzlib_private.h", "compress.c", "crctable.c", "decompress.c", "huffman.c",
         "randtable.c")
# Of tcc's own test programs the 62 largest up to 8,000 bytes, except those that it does not compile for riscv64 or that
# are to be compiled with errors; a folder for each two of the first digits of their names.
NOT_FOR_RISCV64 = ("106_pthread", "114_bound_signal", "116_bound_setjmp2", "117_gcc_test", "34_array_assignment",
                   "85_asm-outside-function", "98_al_ax_extend", "99_fastcall", "60_errors_and_warnings")
PROGRAMS = 62
LARGEST = 8000
# The compiled files, in this order: a shorter run takes the first ones.
COMPILED = ("bzip2/huffman", "programs/2-3/28_strings", "programs/4-5/40_stdio", "bzip2/crctable",
            "programs/8-9/95_bitfields", "programs/0-1/104_inline", "bzip2/randtable", "programs/2-3/25_quicksort",
            "programs/2-3/30_hanoi", "programs/2-3/32_led", "programs/4-5/41_hashif", "programs/6-7/61_integers",
            "programs/6-7/75_array_in_struct_init", "programs/8-9/90_struct-init", "bzip2/compress",
            "bzip2/decompress", "bzip2/blocksort")
COMMANDS = ("cat", "cp", "du", "find", "grep", "ls", "mkdir", "wc")
# What the programs want of a C library, for a compiler that gets no further than objects: tcc's own header of it.
HEADERS = {name: b"#include <tcclib.h>\n" for name in ("stdio.h", "stdlib.h", "string.h")} | {
    "ctype.h": b"int isalpha(int c);\nint isdigit(int c);\nint isspace(int c);\n"}
# About a sixth: one folder, one file to compile.
SLICE = ("bzip2/compress.c", "bzip2/huffman.c", "programs/2-3/25_quicksort.c", "programs/2-3/28_strings.c",
         "programs/2-3/30_hanoi.c", "programs/4-5/40_stdio.c", "programs/4-5/41_hashif.c",
         "programs/6-7/61_integers.c", "programs/6-7/75_array_in_struct_init.c", "programs/8-9/89_nocode_wanted.c",
         "programs/8-9/95_bitfields.c", "programs/0-1/17_enum.c")
SLICE_COMPILED = ("28_strings",)


def andrew_tree() -> dict[str, Path]:
    """The 70 files, 200 KB, that are copied, examined, read and in part compiled: by their paths."""
    ports = programs.ports()
    bzip2, tests = programs.sources(ports["bzip2"]), programs.sources(ports["tcc"]) / "tests/tests2"
    own = [path for path in tests.glob("*.c") if path.stem not in NOT_FOR_RISCV64 and path.stat().st_size <= LARGEST]
    own.sort(key=lambda path: (-path.stat().st_size, path.name))
    return {f"bzip2/{name}": bzip2 / name for name in BZIP2} | {
        f"programs/{int(path.name[0]) & ~1}-{int(path.name[0]) | 1}/{path.name}": path
        for path in sorted(own[:PROGRAMS])}


def _lines(words: Iterable[str]) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


SCRIPT = programs.USER / "andrew/andrew.sh"


@functools.cache
def andrew() -> Path:
    """The disk of the Andrew benchmark: a shell, commands, tcc, headers; the trees /whole and /slice; the script."""
    return _andrew(SCRIPT)


@functools.cache
def andrew_nfs() -> Path:
    """The same, for a server and its client: the script's trees and its copy are on /mnt."""
    text = SCRIPT.read_text()
    for here in ("tree=/", "mkdir /work", "cd /work"):
        assert here in text, here
        text = text.replace(here, here.replace("/", "/mnt/"))
    return _andrew(text.encode())


def _andrew(script: bytes | Path) -> Path:
    tree = andrew_tree()
    tcc = programs.sources(programs.ports()["tcc"])
    files: dict[str, bytes | Path] = {f"bin/{name}": programs.build_program([programs.USER / f"andrew/{name}.c"])
                                      for name in COMMANDS}
    files |= {"bin/sh": programs.build_port(programs.ports()["sh"]),
              "bin/tcc": programs.build_port(programs.ports()["tcc"]),
              "bin/phase": programs.build_program([programs.USER / "andrew/phase.c"]),
              "andrew.sh": script, "dev/": b"", "include/tcclib.h": tcc / "tcclib.h"}
    files |= {f"include/{name}": text for name, text in HEADERS.items()}
    files |= {f"lib/tcc/include/{path.name}": path for path in (tcc / "include").glob("*.h")}
    files |= _tree("whole", tree, COMPILED)
    files |= _tree("slice", {f"part/{name.rpartition('/')[2]}": tree[name] for name in SLICE},
                   [f"part/{name}" for name in SLICE_COMPILED])
    return ext2_image(files, 4096, 512)


def _tree(name: str, held: Mapping[str, Path], compiled: Iterable[str]) -> dict[str, bytes | Path]:
    folders = sorted({str(PurePosixPath(path).parent) for path in held})
    return {f"{name}/{path}": file for path, file in held.items()} | {
        f"{name}.folders": _lines(folders), f"{name}.files": _lines(sorted(held)), f"{name}.compile": _lines(compiled)}


# WebStone

WEBSTONE_SIZES = {"500": 500, "5k": 5 << 10, "50k": 50 << 10, "500k": 500 << 10, "5m": 5 << 20}
WEBSTONE_PERIOD = 8191  # as in user/commands/webstone.c, which checks every byte


def webstone_file(size: int) -> bytes:
    """The content of WebStone's file of that size: no two blocks are alike, and no two files."""
    one = bytes((k * 2654435761 & 0xffffffff) >> 24 for k in range(WEBSTONE_PERIOD))
    begin = size % WEBSTONE_PERIOD
    return (one * (size // WEBSTONE_PERIOD + 2))[begin:begin + size]


@functools.cache
def webstone() -> Path:
    """The disk of the web server, and of its clients: programs, and WebStone's files below /www."""
    files: dict[str, bytes | Path] = {f"www/file{name}.html": webstone_file(size)
                                      for name, size in WEBSTONE_SIZES.items()}
    files |= {"bin/httpd": programs.build_port(programs.ports()["httpd"]),
              "bin/webstone": programs.build_program([programs.USER / "commands/webstone.c"]), "dev/": b""}
    return ext2_image(files, 6656, 64)


PLACINGS = 5        # of each program of `mpd` in memory


@functools.cache
def mpd() -> Path:
    """The disk of the MPD timings: raw switches and the rows of the paper's tables 3 and 4, with each way of switching
    contexts, in several places of memory, /bin/csloop-library-0; `/list-library` names those of one way."""
    from sim.images import mpd as build
    timings = programs.USER / "mpd/programs/timings.mpd"
    files: dict[str, bytes | Path] = {"dev/": b"", "bin/suite": build.build_suite("")}
    for back_end in build.BACK_ENDS:
        for placing in range(PLACINGS):
            files[f"bin/csloop-{back_end}-{placing}"] = build.build_primitives("csloop", False, back_end, placing)
            files[f"bin/timings-{back_end}-{placing}"] = build.build_mpd(timings, False, back_end, placing)
        for count in range(1, PLACINGS + 1):
            files[f"list-{back_end}-{count}"] = _lines(
                f"/bin/{name}-{back_end}-{placing}" for name in ("csloop", "timings") for placing in range(count))
    return ext2_image(files, 4096, 128)


# What `disk = "@NAME,..."` of an experiment's runs may name.
IMAGES: dict[str, Callable[[], Path]] = {"andrew": andrew, "andrew-nfs": andrew_nfs, "mpd": mpd, "webstone": webstone}


if __name__ == "__main__":
    for _name in sys.argv[1:] or [""]:
        if _name not in IMAGES:
            sys.exit(f"disks: '{_name}' is none; give {', '.join(IMAGES)}")
        print(IMAGES[_name]())
