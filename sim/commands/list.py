"""The command `list`: all experiments; of one, what it builds, boots, feeds in, varies and collects."""

import shutil
import sys
import textwrap
from typing import Annotated

import typer

CLOCK_HZ = 60_000_000       # only for the estimates of `Experiment.runs`, which are not shown


def list_experiments(
    experiments: Annotated[list[str] | None, typer.Argument(help="names or files; without one a line each")] = None,
):
    """List the experiments, or show what one builds, boots, varies and collects, with its keys for --set.

    Example:  ./interlock list pic-latency
    """
    from sim.experiments import definition
    for name in experiments or ():
        describe(definition.load(name))
    if not experiments:
        overview([definition.load(name) for name in definition.names()])


def overview(experiments):
    """A line each, cut to the terminal's width if there is one, and how to learn more."""
    name_width = max(len(experiment.name) for experiment in experiments) + 2
    width = shutil.get_terminal_size().columns - name_width if sys.stdout.isatty() else 1000
    for experiment in experiments:
        text = textwrap.shorten(experiment.description, max(width, 20), placeholder="...")
        print(f"{experiment.name:<{name_width}}{text}")
    print("`./interlock list NAME` tells all of one, with its keys for --set; `./interlock run NAME` carries it out.")


def describe(experiment):
    from sim.experiments.definition import written
    print(f"{experiment.name}: {experiment.description}")
    if experiment.question:
        print(f"  {experiment.question}")
    made = experiment.runs(experiment.settings([]), CLOCK_HZ)
    for kind in experiment.kinds:
        count = sum(run.kind == kind["name"] for run in made)
        print(f"  runs {kind['name']}{f' ({count})' if count else ''}")
        for label, text in clauses(kind):
            print(f"      {label:<8} {text}")
    if experiment.report:
        print(f"  report by {experiment.report}")
    for collect in experiment.collect:
        print(f"  report '{collect['title']}'{', with a plot' if 'plot' in collect else ''}")
    print("  keys")
    for key in experiment.keys.values():
        print(f"    {key.name}={key.default_text()}")
        print(f"        {key.help}; {key.domain()}")
    print("  quick")
    for name, value in experiment.quick.items():
        print(f"    {name}={written(value)}")


def clauses(kind):
    """What a kind of runs does, as (label, text)."""
    vary = kind.get("vary", {})
    built = [f"{kind['harts']} hart{'s' * (kind['harts'] > 1)}" if "harts" in kind else "{harts}",
             kind.get("sync", "{sync}"), *(f"{name}={value}" for name, value in kind.get("build", {}).items())]
    yield "build", ", ".join(built)
    yield "boot", kind["bootargs"]
    if "input" in kind:
        yield "feed", f"{kind['input']} bytes at {{baud}} bit/s down the data line"
    if "checkpoint" in kind:
        pokes = ", ".join(f"{name}={value}" for name, value in kind.get("poke", {}).items()) or "nothing"
        yield "once", f"booted up to {kind['checkpoint']} for all that differ in no more than what is poked: {pokes}"
    if vary:
        yield "vary", ", ".join(name if name == key else f"{name} over {key}" for name, key in vary.items())
    if "solve" in kind:
        solve = kind["solve"]
        yield "solve", (f"{solve['for']}, where {solve['value']} of {solve['primitive']} in the runs {solve['run']} "
                        f"is {solve['equals']}")
    yield "collect", f"lines @{kind['result']}, and all figures of the simulator"
