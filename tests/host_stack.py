"""The kernel's TCP/IP on the host, with files of ours around it: for tests against other implementations."""

import functools
import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.cache import cached
from tests.unit.test_kernel_host import HOST, KERNEL, MACROS, generated, named

# Each network kernel, and the unit test whose first comment names its sources and options.
KERNELS = {"serial": "tcp_serial.c", "global": "tcp_global.c", "connection": "tcp.c",
           "connection-rw": "tcp_connection_rw.c", "krp-classic": "tcp_krp_classic.c", "krp": "tcp_krp.c",
           "krp-many": "tcp_krp_many.c"}
FLAGS = ["-std=gnu11", "-O1", "-g1", "-fno-strict-aliasing", "-fno-common", "-Wall", "-Wextra", "-Werror",
         "-Wno-clobbered", "-Wno-unused-function", "-Itest/host/include", "-I.", "-iquote", "..",
         f"-ffile-prefix-map={KERNEL}=."]


class StackError(RuntimeError):
    """Something is not there, or does not build; the message says what."""


def run(what: str, command: Sequence[str | Path], **how) -> str:
    done = subprocess.run([*map(str, command)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", stdin=subprocess.DEVNULL, **how)
    if done.returncode:
        raise StackError(f"{what}:\n{done.stdout.strip()}")
    return done.stdout


def checked_kernel(name: str) -> str:
    if name not in KERNELS:
        raise StackError(f"there is no network kernel '{name}' (kernels: {', '.join(KERNELS)})")
    return name


@functools.cache
def _sources() -> dict[str, Path]:
    """What a build reads of the kernel's folder."""
    return {str(path.relative_to(KERNEL)): path for path in sorted(KERNEL.rglob("*.[ch]"))
            if path.relative_to(KERNEL).parts[0] != "test" or path.is_relative_to(HOST)} | {
                "abi": KERNEL.parent / "user/abi.h"}


def build(kernel: str, program: Path, name: str, link: Sequence[str | Path] = ()) -> Path:
    """The file NAME made of the C file `program` and the kernel's network `kernel`; `link` has further words for the
    linker (-shared). StackError with the compiler's messages."""
    like = HOST / KERNELS[checked_kernel(kernel)]
    macros = MACROS | dict(option.split("=") for option in named(like, "Options"))
    flags = [*FLAGS, "-fPIC", f"-I{generated()}", *(f"-D{key}={value}" for key, value in macros.items())]
    compiler = ["ccache", "gcc"] if shutil.which("ccache") else ["gcc"]

    def make(out: Path):
        objects = []
        for number, source in enumerate([program.relative_to(KERNEL), Path("test/host/host.c"),
                                         *map(Path, named(like, "Sources"))]):
            objects.append(out / f"{number}.o")
            run("it does not build", [*compiler, *flags, "-c", source, "-o", objects[-1]], cwd=KERNEL)
        run("it does not link", ["gcc", *flags, *objects, *link, "-o", out / name], cwd=KERNEL)
        for path in objects:
            path.unlink()

    return cached("host-stack", _sources() | {"kernel": kernel, "program": program.name, "flags": repr(FLAGS[:-1]),
                                             "link": repr([os.fspath(word) for word in link])}, make) / name
