"""The command `new`: an experiment file from a template that runs."""

import re
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, shown


def new(
    name: Annotated[str, typer.Argument(help="of the experiment: a-z, 0-9 and -")],
    where: Annotated[Path | None, typer.Option("--in", help="a directory of your own; else sim/experiments")] = None,
):
    """Make an experiment file from a template that runs as it is, with every entry explained.

    Example:  ./interlock new my-sweep --in ../experiments
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
    record.write_text(path, (Path(__file__).with_name("template.toml")).read_text().replace("NAME", name))
    argument = shown(path) if where else name
    print(f"made {shown(path)}")
    print(f"try it with:  ./interlock run {argument} --quick")
    print(f"see it with:  ./interlock list {argument}")
