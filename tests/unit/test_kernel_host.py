"""Kernel units that need no hardware, on the host under sanitizers; kernel/test/host/host.h says how to write one."""

import functools
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.cache import cached
from support.parameters.headers import boot_header
from tests.limited import run_limited

KERNEL = Path(__file__).parents[2] / "kernel"
HOST = KERNEL / "test/host"
PROGRAMS = sorted(path for path in HOST.glob("*.c") if path.name != "host.c")
# For the host's compiler, called in kernel/. The dialect and its assumptions are those of kernel/Makefile;
# CHECK_PANICS uses setjmp. No path of the tree is in the output: a compiler cache finds it for a copy of the tree.
FLAGS = ["-std=gnu11", "-O1", "-g1", "-fno-strict-aliasing", "-fno-omit-frame-pointer", "-fno-common",
         "-Wall", "-Wextra", "-Werror", "-Wno-clobbered", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
         "-Itest/host/include", "-I.", "-iquote", "..", f"-ffile-prefix-map={KERNEL}=."]
MACROS = {"SYNC_NAME": '"host"', "SYNC_SCHEME_FILE": '"test/host/scheme.h"',
          "SPINLOCK_NAME": '"host"', "SPINLOCK_FILE": '"test/host/spin.h"',
          "RUNQUEUE_NAME": '"global"', "RUNQUEUE_PER_HART": "0", "LOCK_DEBUG": "0", "LOCK_STATS": "0",
          "ACCOUNTING": "0", "CRIT_TIMING": "0", "UNIX_SERIAL": "0", "BUFFERS_SHARED": "0", "INODES_SHARED": "0",
          "LOCKS_NONE": "0", "ZONE_DEBUG": "1"}     # free objects are filled, as pages are (mem/page.c)


def named(program: Path, what: str) -> list[str]:
    """The words behind `what:` in the first comment of a test file, up to a full stop or the comment's end."""
    comment = re.match(r"/\*(.*?)\*/", program.read_text(), re.DOTALL)
    words = re.search(rf"\b{what}:([\s*\w./=\x22-]*?)(\.\s|\.?\s*$)", comment.group(1)) if comment else None
    return words.group(1).replace("*", " ").split() if words else []


@functools.cache
def generated() -> Path:
    """The folder of the kernel's generated headers, made from the parameters."""
    def write(out: Path):
        (out / "generated").mkdir()
        (out / "generated/boot.h").write_text(boot_header())

    return cached("host-headers", {"boot": boot_header()}, write)


def build(program: Path, folder: Path) -> Path:
    sources = named(program, "Sources")
    assert sources, f"{program.name}: its first comment names no sources (kernel/test/host/host.h)"
    macros = MACROS | dict(option.split("=") for option in named(program, "Options"))
    compiler = ["ccache", "gcc"] if shutil.which("ccache") else ["gcc"]
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    objects = []
    for number, source in enumerate([program.relative_to(KERNEL), "test/host/host.c", *sources]):
        objects.append(folder / f"{number}.o")
        gcc([*compiler, *FLAGS, f"-I{generated()}", *defined, "-c", source, "-o", objects[-1]])
    binary = folder / program.stem
    gcc(["gcc", *FLAGS, *objects, "-lm", "-o", binary])
    return binary


def gcc(command: list):
    done = subprocess.run(command, cwd=KERNEL, capture_output=True, text=True)
    assert done.returncode == 0, f"it does not build:\n{done.stderr}"


# Their long forms take as long as the user asks for.
LONGER = {"EXT2_CUTS", "EXT2_IMAGES", "EXT2_TRANSFERS", "FSX_OPERATIONS", "TCP_SEEDS"}


# After each jump out of a function all returned frames are searched, as many as there is room for: the least.
SANITIZERS = {"ASAN_OPTIONS": "detect_stack_use_after_return=1:max_uar_stack_size_log=16",
              "UBSAN_OPTIONS": "print_stacktrace=1"}
MEMORY, MEMORY_BYTES = "/dev/shm", 1 << 28


def scratch() -> dict[str, str]:
    """Where a program's images go: to memory if possible, as it makes thousands of files."""
    try:
        free = os.statvfs(MEMORY).f_bavail * os.statvfs(MEMORY).f_frsize
    except OSError:
        return {}
    return {"TMPDIR": MEMORY} if free >= MEMORY_BYTES and os.access(MEMORY, os.W_OK) else {}


def run(binary: Path, cpu_s: int = 180) -> subprocess.CompletedProcess:
    """All tests of a program, each with so much processor time."""
    options = {"env": os.environ | SANITIZERS | scratch(), "cwd": KERNEL, "stdout": subprocess.PIPE,
               "stderr": subprocess.STDOUT, "text": True}
    if LONGER & os.environ.keys():
        return subprocess.run([binary], **options)
    return run_limited([binary], cpu_s, **options)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_unit(tmp_path, program):
    done = run(build(program, tmp_path))
    assert done.returncode == 0, done.stdout


def test_the_frame_notices_what_is_wrong(tmp_path):
    """Every test of wrong/frame.c but one fails, each for its own reason, and none keeps the next from running."""
    done = run(build(HOST / "wrong/frame.c", tmp_path), cpu_s=1)
    assert done.returncode == 1, done.stdout
    for test, reason in (("a_check_that_fails", "1 + 1 is 2 (0x2), not 3"),
                         ("text_that_differs", 'is "is", not "should"'),
                         ("a_panic_nobody_expects", "panic:0: boot argument n=bad"),
                         ("a_panic_that_does_not_come", "no panic"),
                         ("a_panic_that_says_something_else", 'the panic says "boot argument n=bad'),
                         ("a_read_outside", "global-buffer-overflow"),
                         ("a_use_after_return", "stack-use-after-return"),
                         ("an_overflow", "signed integer overflow"),
                         ("one_that_does_not_end", "its limit of processor time")):
        assert reason in done.stdout and f"FAILED {test}\n" in done.stdout, done.stdout
    assert done.stdout.endswith("10 tests, 9 failed\n"), done.stdout
