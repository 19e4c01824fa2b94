"""The command `program`, and what `sim --program` and `--file` put into an image."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, building, shown

TICKS = "hz=1000"       # clock ticks per second, for time-slicing of programs


def user_files(words: Sequence[str], wanted: Sequence[str],
               files: Sequence[str]) -> tuple[Sequence[str], dict[str, Path]]:
    """The boot arguments `words` with those that start the first requested program, and the files of the archive by
    name, with all of these programs."""
    from sim.images import programs
    added = {}
    for text in files:
        name, given, path = ("", "", text) if Path(text).is_file() else text.partition("=")
        if given and not Path(path).is_file():      # a name may contain the sign, too
            name, given, path = text.rpartition("=")
        if not Path(path).is_file():
            raise Failed(f"--file {text}: there is no such file", 2)
        name = name.removeprefix("/") if given else Path(path).name
        if not name:
            raise Failed(f"--file {text}: a file needs a name, give it as NAME=PATH", 2)
        if "/" in name:
            raise Failed(f"--file {text}: the archive is one folder, give a name without a slash (or use --disk)", 2)
        added[name] = Path(path)
    if not wanted:
        return words, added
    given_names = {word.partition("=")[0] for word in words}
    for name in ("run", "program"):
        if name in given_names:
            raise Failed(f"--program and --set {name}=: give one of them", 2)
    try:
        with building():
            made = [programs.program(text) for text in wanted]
    except programs.ProgramError as error:
        raise Failed(str(error), 2) from error
    for _, its in made:
        added = its | added
    if any(character.isspace() for character in made[0][0]):
        raise Failed(f"--program {wanted[0]}: boot arguments have no blanks, so its name must have none: rename it", 2)
    more = ["run=user", f"program={made[0][0]}", *([] if "hz" in given_names else [TICKS])]
    return [*more, *words], added


def program(
    files: Annotated[list[Path], typer.Argument(metavar="FILE.c...", help="the program's C files")],
    out: Annotated[Path | None, typer.Option(help="put it here; its name is the last part")] = None,
    flags: Annotated[list[str] | None, typer.Option("--flag", help="for the compiler: --flag=-DN=3")] = None,
):
    """Build a program for user mode and print its path; beside it is an ELF file with symbols for a debugger.

    Example:  ./interlock program hello.c && ./interlock sim --program hello.c
    """
    import shutil

    from sim.images import programs
    try:
        with building():
            made = programs.build_program(files, out.stem if out else None, flags or ())
    except programs.ProgramError as error:
        raise Failed(str(error)) from error
    for path in (made, made.with_suffix(".elf")):
        if out:
            to = out.with_suffix(path.suffix)
            to.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, to)
            path = to
        print(shown(path))
