"""The programs that building a simulator calls, and compiling C++ with them."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from support.cache import Input, cached
from support.tools import PROGRAMS, ToolError, program_version

JOBS = 2
COMPILER, LINKER, ARCHIVER, PROFILES = "clang++-19", "ld.lld-19", "llvm-ar-19", "llvm-profdata-19"
NEEDED = ("perl", COMPILER, LINKER, ARCHIVER, PROFILES, "verilator")
LANGUAGE = "-std=c++17"


# The instructions of x86-64-v3 that speed up the model: shifts and masks without the flags register.
LEVEL, LEVEL_FEATURES = "x86-64-v3", {"avx2", "bmi1", "bmi2", "fma", "movbe"}


class BuildError(RuntimeError):
    """A simulator could not be built; the text begins with one line that says why."""


def find(name: str) -> str | None:
    """The program beside the running Python, else on the path: an activated environment is not required."""
    beside = Path(sys.executable).parent / name
    return str(beside) if os.access(beside, os.X_OK) else shutil.which(name)


def needed(name: str) -> str:
    """`find`; ToolError, one line with the remedy, if there is no such program."""
    path = find(name)
    if not path:
        raise ToolError(f"{name} is missing: run 'make setup'")
    return path


def tool_versions() -> dict[str, str]:
    """Versions of the programs that a build calls. ToolError, one line with the remedy, if one cannot be used."""
    versions = {}
    for name in NEEDED:
        arguments, oldest, source = PROGRAMS[name]
        path = find(name)
        if not path:
            raise ToolError(f"{name} is missing ({source}): run 'make setup'")
        version = _version(path, arguments)
        if version is None:
            raise ToolError(f"{path} does not run: reinstall it ({source}), or run 'make setup'")
        if tuple(int(part) for part in version.split(".")) < oldest:
            wanted = ".".join(str(part) for part in oldest)
            raise ToolError(f"{path} is version {version}, {wanted} or newer is needed ({source}): run 'make setup'")
        versions[name] = version
    return versions


def _version(path: str, arguments: Sequence[str]) -> str | None:
    """As `program_version`, which takes a sixth of a second for all: cached as long as the program's file is the
    same."""
    file = Path(path).resolve()
    stat = file.stat()

    def ask(out: Path):
        version = program_version(path, arguments)
        if version is None:
            raise NoVersion
        (out / "version").write_text(version)

    is_it: dict[str, Input] = {"program": str(file), "called": path, "arguments": " ".join(arguments),
                               "file": f"{stat.st_mtime_ns} {stat.st_size} {stat.st_ino}"}
    with suppress(NoVersion):
        return (cached("tool-version", is_it, ask, quiet=True) / "version").read_text()
    return None


class NoVersion(Exception):
    """A program that prints no version."""


def processor_level() -> str | None:
    """The level of processors that the model is compiled for: x86-64-v3 if this one has it, else the baseline."""
    try:
        features = re.search(r"^flags\s*:(.*)$", Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    except OSError:
        return None
    return LEVEL if features and LEVEL_FEATURES <= set(features.group(1).split()) else None


def run(command: Sequence[str | Path], folder: Path, environment: Mapping[str, str] | None = None) -> str:
    """The output of a program, called in `folder`. BuildError with its errors, or its last lines, if it fails."""
    done = subprocess.run(list(map(str, command)), cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT)
    if done.returncode:
        log = done.stdout.splitlines()
        errors = [line for line in log if "error" in line.lower()]
        raise BuildError("\n".join(["the simulator does not build:", *(errors[:20] or log[-20:])]))
    return done.stdout


def compile_objects(folder: Path, sources: Mapping[Path, Sequence[str]]) -> list[Path]:
    """Objects, in `folder`, of C++ sources with flags of their own; ccache finds again what did not change.

    Sources in `folder` are named relative to it, so that another folder's compilation is found again too."""
    compiler = [needed(COMPILER), LANGUAGE]
    environment = dict(os.environ)
    if shutil.which("ccache"):
        compiler.insert(0, "ccache")
        environment |= {"CCACHE_NOHASHDIR": "1"}

    def one(source: Path, flags: Sequence[str]) -> Path:
        made = folder / (source.stem + ".o")
        name = source.relative_to(folder) if source.is_relative_to(folder) else source
        run([*compiler, *flags, "-c", name, "-o", made.name], folder, environment)
        return made

    with ThreadPoolExecutor(JOBS) as pool:  # the largest first, so that no long one is left to the end
        order = sorted(sources, key=lambda source: -source.stat().st_size)
        made = dict(zip(order, pool.map(lambda source: one(source, sources[source]), order), strict=True))
    return [made[source] for source in sources]


def united(folder: Path, name: str, sources: Sequence[Path]) -> Path:
    """One source, of that name, from several in `folder`: reading their headers takes longer than compiling them."""
    made = folder / name
    made.write_text("".join(f'#include "{source.relative_to(folder)}"\n' for source in sources))
    return made


def archive(folder: Path, out: Path, objects: Sequence[Path]):
    """A library of objects."""
    run([needed(ARCHIVER), "rcs", out, *objects], folder)


def link(folder: Path, out: Path, objects: Sequence[Path], flags: Sequence[str] = ()):
    """A program of objects and libraries."""
    run([needed(COMPILER), f"--ld-path={find(LINKER)}", "-o", out, *objects, *flags], folder)
