"""The command `parameters`: the parameters of machine, kernel, drives and simulator, from their declarations."""

from typing import Annotated

import typer

from sim.commands.common import Failed, show_tables


def parameters(
    words: Annotated[list[str] | None, typer.Argument(
        help="only those that have all of these words in their name, file or description")] = None,
):
    """List the parameters of machine, registers, kernel, runs, drives and simulator: values, default, meaning.

    Example:  ./interlock parameters latency
    """
    from sim.results.table import Table
    from support.parameters.reference import sections
    found = []
    for section in sections():
        rows = [[cell.replace("`", "") for cell in row] for row in section.rows
                if all(word.lower() in " ".join((section.title, *row)).lower() for word in words or ())]
        if rows:
            found.append(Table(section.title, list(section.heads), rows, [section.before.replace("`", "")] * bool(
                section.before and not words), texts=len(section.heads)))
    if not found:
        raise Failed(f"no parameter has {' and '.join(map(repr, words or ()))} in its name or description "
                     "('./interlock parameters' lists all)")
    show_tables(found)
