"""The command `compare`: two sets of records beside each other."""

from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, results_directory, show_tables, shown

A_SET = "a results directory, a folder of several, or a condition on the table runs"


def compare(
    a: Annotated[str, typer.Argument(help=A_SET)],
    b: Annotated[str, typer.Argument(help="the same for the other set")],
    figure: Annotated[list[str] | None, typer.Option(metavar="PATTERN", help="only figures whose name matches")] = None,
    ignore: Annotated[list[str] | None, typer.Option(metavar="NAME", help="a parameter that need not match")] = None,
    out: Annotated[Path | None, typer.Option(help="new directory for comparison.html and comparison.csv")] = None,
):
    """Compare two sets of records: runs with the same parameters, figure by figure, with intervals over layouts and
    seeds.

    Example:  ./interlock compare build/results/before build/results/after --figure "results*"
    """
    from sim.results import record
    from sim.results.compare import layout, matching, sets, statistics
    from sim.results.page.render import render
    chosen = sets.choose("A", a), sets.choose("B", b)
    matched = matching.match(*chosen, ignore or ())
    made = layout.Shown(*chosen, matched, statistics.differences(matched, figure or ()),
                        figure or ())
    if not made.all:
        raise Failed(f"--figure {' '.join(figure or ())}: no figure that A and B share has such a name; "
                     "without it all are shown", 2)
    directory = results_directory("compare", out)
    record.make_directory(directory)
    record.write_text(directory / "comparison.html", render(made.page()))
    record.write_text(directory / "comparison.csv", made.csv())
    print(made.lead())
    for name, of_a, of_b in matched.differ:
        print(f"{name}: A {of_a}, B {of_b}")
    for warning in made.warnings():
        print(warning)
    print()
    show_tables(made.tables())
    print(f"comparison: {shown(directory)} (comparison.html, comparison.csv)")
