"""The commands `run` and `resume`: carry out an experiment, show its tables, leave its records."""

import json
import os
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import (
    Display,
    Failed,
    Settings,
    building,
    check_tools,
    describe_soc,
    results_directory,
    show_failure,
    show_tables,
    shown,
    soc_config,
)

Jobs = Annotated[int | None, typer.Option(min=1, help="simulators at a time; without it one per core")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="run on the workers of this Dask scheduler")]
AsJson = Annotated[bool, typer.Option("--json", help="print the summary as JSON on stdout, nothing else")]


def run(
    experiment: Annotated[str, typer.Argument(help="one of those that `list` shows, or the path of a file")],
    settings: Settings = None,
    quick: Annotated[bool, typer.Option("--quick", help="few short runs, some seconds: to see that all works")] = False,
    out: Annotated[Path | None, typer.Option(help="new directory for the records")] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="run again what was run before: it must repeat")] = False,
    as_json: AsJson = False,
):
    """Run an experiment, show its tables and leave its records. What ran before from the same inputs is not run again.

    Example:  ./interlock run pic-latency --set harts=1,2 --set latencies=0,75,152 --set size=512
    """
    from sim.experiments import definition
    chosen = definition.load(experiment)
    values = chosen.settings(settings or [], quick)
    soc_config(1)
    carry_out(chosen, values, results_directory(chosen.name, out), jobs, scheduler, fresh, as_json)


def resume(
    directory: Annotated[Path, typer.Argument(help="the results directory of an experiment that was stopped")],
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
):
    """Go on with an experiment that was stopped, or failed in part, with the settings it was begun with.

    Example:  ./interlock resume build/results/pic-latency/2026-01-31T12-00-00
    """
    from sim import record
    from sim.experiments import definition
    begun = record.read_json(directory / "experiment.json")
    source = begun.get("source", begun["experiment"])
    chosen = definition.load(source)
    strange = sorted(set(begun["settings"]) ^ set(chosen.keys))
    if strange:
        raise Failed(f"{source} has changed its keys since ({', '.join(strange)}): run it anew", 2)
    carry_out(chosen, begun["settings"], directory, jobs, scheduler, False, as_json)


def carry_out(experiment, values, directory, jobs, scheduler, fresh, as_json):
    """Runs all that `values` ask of `experiment` into `directory`, and shows what came of it."""
    from sim import record, report
    from sim.runner import Interrupted, Runner, build_targets
    from sim.store import Store
    tools = check_tools()
    pool = make_pool(jobs, scheduler)
    runner = Runner(experiment, values, directory, pool, soc_config(1).clock_hz, Store(), fresh)
    with building(), Display() as display:
        from sim.build import build_simulator
        from sim.kernel import build_kernel
        targets = build_targets(runner.targets(), soc_config, build_simulator, build_kernel, display.build)
    runner.prepare(tools, {str(n): describe_soc(n) for n in sorted({n for n, _, _ in targets})})
    interrupted = False
    with Display() as display:
        try:
            runner.execute(targets, display.runs)
        except Interrupted:
            interrupted = True
        except (record.RecordError, OSError) as error:
            if not isinstance(error, record.RecordError) and not record.disk_is_full(error):
                raise
            reason = error if isinstance(error, record.RecordError) else f"the disk is full: {error.filename}"
            raise Failed(f"{reason}; {len(runner.records)} finished records are in {shown(directory)}, go on with: "
                         f"./interlock resume {shown(directory)}") from error
    summary, tables = report.write(directory)
    for failure in runner.failures:
        show_failure(failure)
    if as_json:
        print(json.dumps(summary, indent=1, sort_keys=True))
    else:
        show_tables(tables)
        print(f"record: {shown(directory)} (report.html, report.md, summary.json, records.jsonl, tables/, runs/)")
    if interrupted:
        raise Failed(f"interrupted: {summary['finished']} of {summary['asked']} runs are finished, "
                     f"their records are in {shown(directory)}, go on with: ./interlock resume {shown(directory)}", 130)
    if runner.failures:
        raise Failed(f"{len(runner.failures)} of {summary['asked']} runs failed, see above and {shown(directory)}")


def make_pool(jobs, scheduler):
    """Where runs are carried out."""
    if scheduler:
        if jobs:
            raise Failed("--jobs and --scheduler: a cluster's workers say how many run at a time, give one of them", 2)
        from sim.cluster import Cluster
        return Cluster(scheduler)
    from sim.local import LocalPool
    return LocalPool(jobs or len(os.sched_getaffinity(0)))
