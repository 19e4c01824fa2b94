"""MPD programs (docs/mpd.md): compiled to C and linked with the run-time system, for user mode or for the host."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from sim.images.programs import NAME_SIZE, USER, ProgramError, _compile, _run, library
from support.cache import cached
from user.mpd.compiler import CompileError, compile_text

RUN_TIME = USER / "mpd/run-time"
SWITCH = ("csw.c", "csw_ucontext.c", "csw_rv32.S", "csw_x86_64.S")
# How contexts are switched: CSW_BACK_END of run-time/csw.h.
ASSEMBLER = "assembler"
BACK_ENDS = {ASSEMBLER: 0, "system-calls": 1, "library": 2}
# The library's, without the system call at the beginning of building a context.
ALONE = "library-alone"
ALL_BACK_ENDS = BACK_ENDS | {ALONE: 3}
SOURCES = ("mpd.c", "values.c", "files.c", *SWITCH)
REMOTE = ("remote.c",)      # also for programs with virtual machines


def uses_vms(made: str) -> bool:
    return '#include "remote.h"' in made


# The language's integers wrap around.
FLAGS = ("-std=gnu11", "-O2", "-fwrapv", "-Wall", "-Wno-unused-label", "-Wno-overflow",
         "-Wno-tautological-compare", "-Wno-address", "-Wno-unused-value", "-Wno-infinite-recursion", f"-I{RUN_TIME}")
# Frames have room for pushed arguments, too: stacks are checked only at a procedure's beginning.
HOST_COMPILER, HOST_FLAGS = "gcc", ("-maccumulate-outgoing-args",)


def compile_mpd(path: Path) -> str:
    """The program in C. ProgramError with the compiler's messages, a line each: file:line:column: what."""
    def find(name: str) -> tuple[str, str] | None:
        """Imported files that are not in the file are beside it."""
        beside = path.parent / f"{name}.mpd"
        return (beside.name, beside.read_text(encoding="latin-1")) if beside.is_file() else None

    try:
        return compile_text(path.read_text(encoding="latin-1"), path.name, find)
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from error
    except CompileError as error:
        raise ProgramError(error.of(str(path))) from error


def _flags(back_end: str, host: bool, threads: int = 1) -> tuple[str, ...]:
    if back_end not in ALL_BACK_ENDS:
        raise ProgramError(f"contexts are switched by {', '.join(ALL_BACK_ENDS)}, not by {back_end!r}")
    if host and back_end in ("library", ALONE):
        raise ProgramError("the library that switches contexts in user mode is the machine's: the host has none")
    if threads > 1 and back_end != ASSEMBLER:
        raise ProgramError(f"with {threads} threads contexts are switched by assembler: those of the system hold the "
                           "thread's own pointer")
    chosen = (f"-DCSW_BACK_END={ALL_BACK_ENDS[back_end]}", f"-DMPD_THREADS={threads}")
    return (*FLAGS, *(HOST_FLAGS if host else ()), *chosen)


def _padded(text: str, placing: int) -> str:
    """The program with padding before its code and data, so that it has another place in the caches. The linker keeps
    sections with the flag R, though nothing refers to them."""
    before = (f".section .text.placing,\\\"axR\\\"\\n.zero {placing * 668}\\n"
              f".section .data.placing,\\\"awR\\\"\\n.zero {placing * 1356}\\n.text")
    return f"__asm__(\"{before}\");\n{text}" if placing else text


def build_mpd(path: Path, host: bool = False, back_end: str = ASSEMBLER, placing: int = 0, threads: int = 1) -> Path:
    """The program, named as its source without the end; `threads` of the operating system run its processes."""
    made, name = compile_mpd(path), path.stem
    if len(name.encode()) >= NAME_SIZE or "=" in name:
        raise ProgramError(f"a program's name has at most {NAME_SIZE - 1} characters and no '=': {name!r} will not do")
    return _link(name, _padded(made, placing), SOURCES, host, back_end, threads)


def build_primitives(name: str, host: bool = False, back_end: str = ASSEMBLER, placing: int = 0) -> Path:
    """A program of the context switch primitives alone: cstest, csloop."""
    return _link(name, _padded((USER / f"mpd/programs/{name}.c").read_text(), placing), SWITCH, host, back_end)


def build_suite(names: str) -> Path:
    """The program `suite`, which executes the programs of a list, and the list beside it."""
    lib = library()
    source = USER / "mpd/programs/vsuite.c"

    def build(out: Path):
        (out / "list").write_text(names)
        _compile(lib / "cc", [source], out, ["-O2"], out, "suite")

    return cached("mpd-suite", {"source": source, "names": names, "for": lib.name}, build) / "suite"


def link_for_machine(name: str, text: str, back_end: str = ASSEMBLER, threads: int = 1) -> Path:
    """A program from generated C."""
    return _link(name, text, SOURCES, False, back_end, threads)


DISTURBED = ("-DMPD_DISTURB",)
RACES = ("-fsanitize=thread", "-g")


def host_objects(back_end: str = ASSEMBLER, threads: int = 1, more: Sequence[str] = ()) -> list[Path]:
    """The run-time system's objects for the host, which many programs are linked with; with `more` flags."""
    found = shutil.which(HOST_COMPILER)
    if not found:
        raise ProgramError(f"there is no {HOST_COMPILER} here to build for the host with")

    flags = (*_flags(back_end, True, threads), *more)

    def build(out: Path):
        for one in SOURCES:
            _run(f"{one} does not build", [found, *flags, "-c", RUN_TIME / one, "-o", out / f"{one}.o"])

    entry = cached("mpd-objects", {"run-time": RUN_TIME, "flags": repr(_said(flags))}, build)
    return [entry / f"{one}.o" for one in SOURCES]


def _said(flags: Sequence[str]) -> list[str]:
    """The flags without this checkout's path."""
    return [one for one in flags if not one.startswith("-I")]


def _link(name: str, text: str, others: Sequence[str], host: bool, back_end: str, threads: int = 1) -> Path:
    flags = _flags(back_end, host, threads)
    if uses_vms(text):
        if threads > 1:
            raise ProgramError("one thread carries the processes of a program with virtual machines")
        others = (*others, *REMOTE)
    found = shutil.which(HOST_COMPILER) if host else None
    if host and not found:
        raise ProgramError(f"there is no {HOST_COMPILER} here to build for the host with")
    lib = None if host else library()

    def build(out: Path):
        source = out / f"{name}.c"
        source.write_text(text)
        files = [source, *(RUN_TIME / one for one in others)]
        if lib:
            _compile(lib / "cc", files, out, list(flags), out, name)
        else:
            _run(f"{name} does not build", [str(found), "-g", *flags, *files, "-lm", "-o", out / name])

    entry = cached("mpd-program", {"c": text, "run-time": RUN_TIME, "flags": repr(_said(flags)), "name": name,
                                   "for": lib.name if lib else HOST_COMPILER}, build)
    return entry / name
