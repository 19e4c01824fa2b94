"""Build kernel images, one for each synchronisation scheme (paper `sync`, section 3) and SoC configuration."""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

from hw.common.cache import REPO, cached
from soc.boards.build import generate_config
from soc.boards.config import BoardConfig
from soc.build import generate_soc
from soc.config import SoCConfig

SCHEMES = ("spl-pessim", "spl-optim", "cli-pessim", "cli-optim", "cli-spl-pessim")
WRONG_SCHEMES = tuple(sorted(path.stem for path in (REPO / "kernel/test/wrong").glob("*.h")))
WRONG_SPINLOCKS = tuple(sorted(path.stem for path in (REPO / "kernel/test/wrong-spin").glob("*.h")))
# Build options of an image: what each may be, its default first. kernel/Makefile has the same list.
OPTIONS = {
    "spinlock": ("ticket", "ttas", "tas", "mcs", "clh"),
    "runqueue": ("global", "per-hart"),
    "lock_debug": ("0", "1"),
    "lock_stats": ("0", "1"),
    "accounting": ("0", "1"),
    "crit_timing": ("0", "1"),
    "pad": tuple(map(str, range(16))),
}
CROSS = os.environ.get("CROSS", "riscv64-unknown-elf-")
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf/lib/rv32im/ilp32/libc.a")


class KernelError(RuntimeError):
    """A kernel image could not be built; the message is one line that names the mend."""


def _compiler_version() -> str:
    compiler = shutil.which(f"{CROSS}gcc")
    if not compiler:
        raise KernelError(f"{CROSS}gcc is not installed: run `make setup`, or set CROSS to another RISC-V GCC's prefix")
    if not PICOLIBC.exists():
        raise KernelError("picolibc for RISC-V is not installed: run `make setup`")
    return subprocess.run([compiler, "--version"], check=True, capture_output=True, text=True).stdout.splitlines()[0]


def checked_options(options: dict) -> dict:
    """All build options with their values, those of `options` and else the defaults; ValueError in one line."""
    for name, value in options.items():
        if name not in OPTIONS:
            raise ValueError(f"there is no build option {name!r}: use one of {', '.join(OPTIONS)}")
        if value not in OPTIONS[name] and not (name == "spinlock" and value in WRONG_SPINLOCKS):
            raise ValueError(f"build option {name}={value}: give one of {', '.join(OPTIONS[name])}")
    return {name: options.get(name, values[0]) for name, values in OPTIONS.items()}


@functools.cache
def runs() -> dict[str, str]:
    """What an image can run (`run=NAME`), by name in order, and what it is: the kernel's RUN() lines (init/run.h)."""
    found = {}
    for path in (REPO / "kernel").glob("*/*.c"):
        found |= re.findall(r'^RUN\("([^"]+)",\s*"([^"]+)"', path.read_text(), re.MULTILINE)
    return dict(sorted(found.items()))


def build_kernel(config: SoCConfig, sync: str, extra_cflags: str = "", options: dict | None = None) -> Path:
    """The ELF image of the kernel with scheme `sync` for the SoC `config`, a board's if that is a BoardConfig. It is
    built if it is not in the cache.

    `options` gives those of OPTIONS that are not to have their default. ValueError if there is no such scheme or
    option, KernelError if a tool is missing or the build fails.
    """
    if sync not in SCHEMES + WRONG_SCHEMES:
        raise ValueError(f"there is no scheme {sync!r}: use one of {', '.join(SCHEMES)}")
    chosen = checked_options(options or {})
    version = _compiler_version()
    include = (generate_config(config) if isinstance(config, BoardConfig) else generate_soc(config)).include

    def build(out: Path):
        command = ["make", "--no-print-directory", "-C", str(REPO / "kernel"), f"SYNC={sync}", f"INCLUDE={include}",
                   f"OUT={out}", f"CROSS={CROSS}", f"PYTHON={sys.executable}", f"EXTRA_CFLAGS={extra_cflags}", "-j2",
                   *(f"{name.upper()}={value}" for name, value in chosen.items())]
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        done = subprocess.run(command, capture_output=True, text=True, env=environment)
        if done.returncode:
            raise KernelError(f"the kernel with {sync} does not build:\n{done.stderr.strip()}")
        for path in out.iterdir():
            if path.name != "kernel.elf":
                shutil.rmtree(path) if path.is_dir() else path.unlink()

    inputs = {"sync": sync, "cflags": extra_cflags, "compiler": version, "kernel": REPO / "kernel",
              "service": REPO / "firmware/service.h", "include": include,
              "options": " ".join(f"{name}={value}" for name, value in chosen.items())}
    return cached(f"kernel-{sync}", inputs, build) / "kernel.elf"


def main():
    parser = argparse.ArgumentParser(description="Build a kernel image and print where it is.")
    parser.add_argument("--harts", type=int, default=1, help="harts of the SoC (1 to 8)")
    parser.add_argument("--sync", default=SCHEMES[0], help=f"one of {', '.join(SCHEMES)}")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="; ".join(f"{name}={'|'.join(values)}" for name, values in OPTIONS.items()))
    arguments = parser.parse_args()
    options = dict(option.partition("=")[::2] for option in arguments.option)
    try:
        print(build_kernel(SoCConfig(harts=arguments.harts), arguments.sync, options=options))
    except (ValueError, KernelError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
