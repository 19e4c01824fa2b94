"""The command `latency`: interrupt latencies, from the file of `sim --latencies`."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import show_tables, shown
from sim.commands.given import a_file
from soc.config import SoCConfig


def latency(
    file: Annotated[Path, typer.Argument(help="what './interlock sim --latencies' wrote")],
    out: Annotated[Path | None, typer.Option(help="folder for the files; without it that of the input")] = None,
    clock_hz: Annotated[int, typer.Option(min=1, help="the clock that the machine had")] = SoCConfig.clock_hz,
):
    """Show how long interrupts took from the wire to their handler and thread, as figures and histograms.

    Example:  ./interlock latency hello.csv
    """
    from sim.results import latencies, record
    from sim.results.page.experiment import grid
    from sim.results.page.parts import Page, Picture, Section
    from sim.results.page.render import render
    a_file("latency", file)
    ways = latencies.read(file)
    directory = out or file.parent
    record.make_directory(directory)
    table = latencies.table(ways, clock_hz)
    plots = [plot for to in ("handler", "thread") if (plot := latencies.histogram(ways, to))]
    for plot in plots:
        plot.name = f"{file.stem}-{plot.name}"
        plot.write(directory)
    name = f"{file.stem}-latency"
    page = Page(f"Interrupt latency, {file.name}", f"{sum(map(len, ways.values()))} ways of interrupts.",
                [Section("Figures", [grid(table, True)]), Section("Histograms", [Picture(plot) for plot in plots])])
    record.write_text(directory / f"{name}.html", render(page))
    show_tables([table])
    print(f"page: {shown(directory / name)}.html; plots: "
          + ", ".join(f"{shown(directory / plot.name)}.{{svg,png,csv}}" for plot in plots))
