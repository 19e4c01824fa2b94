"""The command `new`: an experiment file, or a kernel of one's own, from templates that run."""

import re
import shlex
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, shown
from support.cache import REPO

TEMPLATES = REPO / "sim" / "templates"

new = typer.Typer(no_args_is_help=True, help="""Make an experiment file, or your own kernel, from templates that run as
they are.

Example:  ./interlock new kernel ../my-kernel""")


@new.command("experiment")
def new_experiment(
    name: Annotated[str, typer.Argument(help="of the experiment: a-z, 0-9 and -")],
    where: Annotated[Path | None, typer.Option("--in", help="a directory of your own; else sim/experiments")] = None,
):
    """Make an experiment file from a template that runs as it is, with every entry explained.

    Example:  ./interlock new experiment my-sweep --in ../experiments
    """
    from sim.experiments import definition
    from sim.results import record
    if not re.fullmatch(r"[a-z][a-z0-9-]*", name):
        raise Failed(f"'{name}' cannot be the name of an experiment: give letters a-z, digits and -, a letter first", 2)
    folder = where or definition.FOLDER
    path = folder / f"{name}.toml"
    if path.exists():
        raise Failed(f"{path} is there already: give another name", 2)
    record.make_directory(folder)
    record.write_text(path, (TEMPLATES / "experiment.toml").read_text().replace("NAME", name))
    argument = shown(path) if where else name
    print(f"made {shown(path)}")
    print(f"try it with:  ./interlock run {argument} --quick")
    print(f"see it with:  ./interlock list {argument}")


@new.command("kernel")
def new_kernel(folder: Annotated[Path, typer.Argument(help="a directory that is not there, or empty")]):
    """Make your own kernel: start-up, linker script, an interrupt taken, and a Makefile with the SoC's headers.

    Example:  ./interlock new kernel ../my-kernel
    """
    from sim.results import record
    if re.search(r"[\s#$%:=\\']", str(folder.resolve()) + str(REPO)):
        raise Failed(f"{folder}: make cannot work with a blank or one of # $ % : = \\ ' in a path: give another one", 2)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise Failed(f"{folder} is there already, and not empty: give another directory", 2)
    record.make_directory(folder)
    for path in sorted((TEMPLATES / "kernel").iterdir()):
        record.write_text(folder / path.name, path.read_text().replace("@INTERLOCK@", str(REPO / "interlock")))
    print(f"made {shown(folder)}: {', '.join(sorted(path.name for path in folder.iterdir()))}")
    print(f"run it with:  make -C {shlex.quote(str(folder))} run HARTS=2")
