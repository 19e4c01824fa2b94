"""The command `mpd`."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, building, shown


def mpd(
    file: Annotated[Path, typer.Argument(metavar="FILE.mpd", help="the program; its last resource is the main one")],
    host: Annotated[bool, typer.Option("--host", help="build for this computer, not for user mode")] = False,
    c: Annotated[bool, typer.Option("--c", help="print the C program that is made of it, and build nothing")] = False,
    switch: Annotated[str, typer.Option(help="assembler, library, library-alone or system-calls")] = "assembler",
    threads: Annotated[int, typer.Option(min=1, max=64, help="of the operating system, that carry processes")] = 1,
    out: Annotated[Path | None, typer.Option(help="put the program here")] = None,
):
    """Build an MPD program (docs/mpd.md) and print its path.

    Example:  ./interlock mpd docs/examples/slice.mpd && ./interlock sim --program docs/examples/slice.mpd
    """
    import shutil

    from sim.images.mpd import build_mpd, compile_mpd
    from sim.images.programs import ProgramError
    try:
        if c:
            print(compile_mpd(file), end="")
            return
        with building():
            made = build_mpd(file, host, switch, threads=threads)
        if out:
            out.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(made, out)
            made = out
    except ProgramError as error:
        raise Failed(str(error)) from error
    except OSError as error:
        raise Failed(f"{out}: {error.strerror}", 2) from error
    print(shown(made))
