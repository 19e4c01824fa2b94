"""The command `flame`: a flame graph of the counts of `sim --flame`."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import shown
from sim.commands.given import a_file


def flame(
    file: Annotated[Path, typer.Argument(help="what './interlock sim --flame' wrote")],
    out: Annotated[Path | None, typer.Option(help="folder for the files; without it that of the input")] = None,
):
    """Draw a flame graph: every cycle of every hart by call stack, none sampled.

    Writes a page to zoom in, SVG, PNG and CSV, and a file for https://www.speedscope.app.

    Example:  ./interlock flame hello.folded
    """
    from sim.results import record
    from sim.results.flame import FlameGraph, read, speedscope
    from sim.results.page.parts import Page, Picture, Section
    from sim.results.page.render import render
    a_file("flame", file)
    root = read(file)
    directory = out or file.parent
    record.make_directory(directory)
    name = f"{file.stem}-flame"
    graph = FlameGraph(name, f"Cycles by call stack, {file.name}", root)
    graph.write(directory)
    record.write_text(directory / f"{name}.speedscope.json", speedscope(root, file.stem))
    lead = f"{root.all:,} cycles of {len(root.below)} harts. Click on a box to see it alone, on the top one to go back."
    record.write_text(directory / f"{name}.html",
                      render(Page(graph.title, lead, [Section("Flame graph", [Picture(graph)])])))
    for hart in root.below.values():
        own: dict[str, int] = {}
        for node in _all(hart):
            own[node.name] = own.get(node.name, 0) + node.own
        most = sorted(own.items(), key=lambda one: -one[1])[:5]
        print(f"{hart.name}: " + ", ".join(f"{name} {cycles / hart.all:.1%}" for name, cycles in most if cycles))
    suffixes = ("html", "svg", "png", "csv", "speedscope.json")
    print(f"flame graph: {shown(directory / name)}" + ".{" + ",".join(suffixes) + "}")


def _all(node):
    yield node
    for below in node.below.values():
        yield from _all(below)
