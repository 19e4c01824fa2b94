"""MPD programs (docs/mpd.md): compiled to C and linked with the run-time system, for user mode or for the host."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from sim.images.programs import NAME_SIZE, USER, ProgramError, _compile, _run, library
from support.cache import cached
from user.mpd.compiler import CompileError, compile_text

RUN_TIME = USER / "mpd/run-time"
SWITCH = ("csw.c", "csw_rv32.S", "csw_x86_64.S")
SOURCES = ("mpd.c", "values.c", *SWITCH)
# The language's integers wrap around.
FLAGS = ("-std=gnu11", "-O2", "-fwrapv", "-Wall", "-Wno-unused-label", "-Wno-overflow", "-Wno-tautological-compare",
         "-Wno-unused-value", "-Wno-infinite-recursion", f"-I{RUN_TIME}")
HOST_COMPILER = "gcc"


def compile_mpd(path: Path) -> str:
    """The program in C. ProgramError with the compiler's messages, a line each: file:line:column: what."""
    def find(name: str) -> tuple[str, str] | None:
        """What is imported and is not in the file lies beside it."""
        beside = path.parent / f"{name}.mpd"
        return (beside.name, beside.read_text(encoding="latin-1")) if beside.is_file() else None

    try:
        return compile_text(path.read_text(encoding="latin-1"), path.name, find)
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from error
    except CompileError as error:
        raise ProgramError(error.of(str(path))) from error


def build_mpd(path: Path, host: bool = False) -> Path:
    """The program, named as its source without the end."""
    made, name = compile_mpd(path), path.stem
    if len(name.encode()) >= NAME_SIZE or "=" in name:
        raise ProgramError(f"a program's name has at most {NAME_SIZE - 1} characters and no '=': {name!r} will not do")
    return _link(name, made, SOURCES, host)


def build_cstest(host: bool = False) -> Path:
    """The test of the context switch primitives alone."""
    return _link("cstest", (USER / "mpd/programs/cstest.c").read_text(), SWITCH, host)


def build_suite(names: str) -> Path:
    """The program `suite`, which executes the programs of a list, and the list beside it."""
    lib = library()
    source = USER / "mpd/programs/vsuite.c"

    def build(out: Path):
        (out / "list").write_text(names)
        _compile(lib / "cc", [source], out, ["-O2"], out, "suite")

    return cached("mpd-suite", {"source": source, "names": names, "for": lib.name}, build) / "suite"


def link_for_machine(name: str, text: str) -> Path:
    """A program of C that is made already."""
    return _link(name, text, SOURCES, False)


def host_objects() -> list[Path]:
    """The run-time system's objects for the host, which many programs are linked with."""
    found = shutil.which(HOST_COMPILER)
    if not found:
        raise ProgramError(f"there is no {HOST_COMPILER} here to build for the host with")

    def build(out: Path):
        for one in SOURCES:
            _run(f"{one} does not build", [found, *FLAGS, "-c", RUN_TIME / one, "-o", out / f"{one}.o"])

    entry = cached("mpd-objects", {"run-time": RUN_TIME, "flags": repr(FLAGS[:-1])}, build)
    return [entry / f"{one}.o" for one in SOURCES]


def _link(name: str, text: str, others: Sequence[str], host: bool) -> Path:
    found = shutil.which(HOST_COMPILER) if host else None
    if host and not found:
        raise ProgramError(f"there is no {HOST_COMPILER} here to build for the host with")
    lib = None if host else library()

    def build(out: Path):
        source = out / f"{name}.c"
        source.write_text(text)
        files = [source, *(RUN_TIME / one for one in others)]
        if lib:
            _compile(lib / "cc", files, out, list(FLAGS), out, name)
        else:
            _run(f"{name} does not build", [str(found), "-g", *FLAGS, *files, "-lm", "-o", out / name])

    entry = cached("mpd-program", {"c": text, "run-time": RUN_TIME, "flags": repr(FLAGS[:-1]), "name": name,
                                   "for": lib.name if lib else HOST_COMPILER}, build)
    return entry / name
