"""The commands of `./interlock`, which begins in sim/start.py. A command imports only what it needs, when it needs
it: LiteX takes seconds."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.board import board
from sim.commands.cluster import certificates, cluster
from sim.commands.common import (
    Failed,
    Harts,
    OnMachine,
    Options,
    building,
    check_tools,
    checked_scheme,
    kernel_options,
    machine_of,
    show_tables,
)
from sim.commands.compare import compare
from sim.commands.explore import explore
from sim.commands.faults import faults
from sim.commands.flame import flame
from sim.commands.groups import GroupedCommand
from sim.commands.headers import headers
from sim.commands.latency import latency
from sim.commands.list import list_experiments
from sim.commands.mpd import mpd
from sim.commands.new import new
from sim.commands.parameters import parameters
from sim.commands.program import program
from sim.commands.prune import prune
from sim.commands.query import query
from sim.commands.results import results
from sim.commands.run import resume, run
from sim.commands.simulate import sim
from sim.commands.vsuite import vsuite
from support.parameters.build import SCHEMES
from support.version import VERSION

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False,
                  help="Interlock measures what locks and interrupts cost, and what they lose.")

app.add_typer(board, name="board")
app.command()(cluster)
app.command()(certificates)
app.command("list")(list_experiments)
app.command()(parameters)
app.add_typer(new, name="new")
app.command()(headers)
app.command()(program)
app.command()(mpd)
app.command()(vsuite)
app.command()(query)
app.command()(compare)
app.command()(flame)
app.command()(latency)
app.command()(run)
app.command()(resume)
app.command()(results)
app.command()(explore)
app.command()(faults)
app.command()(prune)
app.command(cls=GroupedCommand)(sim)


@app.callback(invoke_without_command=True)
def top(context: typer.Context, version: Annotated[bool, typer.Option("--version", help="print the version")] = False):
    if version:
        print(f"interlock {VERSION}")
    elif context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def build(
    harts: Harts = 1,
    sync: Annotated[str | None, typer.Option(help="one scheme; without it all of them")] = None,
    options: Options = None,
    machine: OnMachine = None,
    waves: Annotated[bool, typer.Option("--waves", help="a simulator that can write waves (slower)")] = False,
):
    """Build a simulator and kernel images, and print their paths.

    Example:  ./interlock build --harts 2 --sync spl-optim
    """
    on = machine_of(harts, machine)
    config = on.config()
    schemes = [checked_scheme(sync)] if sync else SCHEMES
    chosen = kernel_options(options)
    check_tools()
    with building():
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        made = [build_simulator(config, waves=waves, two_chips=on.two_chips),
                *(build_kernel(config, scheme, options=chosen) for scheme in schemes)]
    for path in made:
        print(path)


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(help="a results directory")],
    into: Annotated[list[Path] | None, typer.Option(help="put tables between the marks of this document")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="execute the Python file that makes the report, as the records "
                                                        "name it, now and later")] = False,
):
    """Make the report of a results directory again, from its records.

    Example:  ./interlock report build/results/pic-latency/2026-01-31T12-00-00
    """
    from sim.results import record, report
    if trust:
        from sim.experiments import modules
        named = record.read_experiment(directory).get("report")
        if not isinstance(named, str) or not named.endswith(".py"):
            raise Failed(f"--trust: the records in {directory} name no Python file, leave it out", 2)
        modules.trust(named)
    try:
        summary, tables = report.write(directory)
    except record.Unwritable as error:
        print(f"interlock: {error}: the tables are shown and not kept", file=sys.stderr)
        made = report.load(directory, keep=False)
        summary, tables = made.summary, made.all_tables()
    show_tables(tables)
    for document in into or []:
        try:
            record.write_text(document, report.insert(document.read_text(), summary, tables))
        except (OSError, ValueError) as error:
            raise Failed(f"{document}: {getattr(error, 'strerror', None) or error}") from error
