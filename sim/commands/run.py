"""The commands `run` and `resume`: carry out an experiment, show its tables, leave its records."""

import json
import os
import shlex
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import (
    Display,
    Failed,
    OnMachine,
    building,
    check_tools,
    describe,
    results_directory,
    show_failure,
    show_tables,
    shown,
)

Jobs = Annotated[int | None, typer.Option(min=1, help="simulators at a time; without it one per core")]
Scheduler = Annotated[str | None, typer.Option(metavar="ADDRESS", help="run on the workers of this Dask scheduler")]
PlainTcp = Annotated[bool, typer.Option("--plain-tcp", help="allow a --scheduler on another machine without TLS")]
Certificates = Annotated[Path | None, typer.Option(help="folder of --scheduler's certificate (build/tls)")]
OnTarget = Annotated[str, typer.Option("--target", help="simulator, or board: the one at --port")]
Port = Annotated[str | None, typer.Option(metavar="DEVICE", help="the board's serial port, such as /dev/ttyUSB0")]
Slowdown = Annotated[float, typer.Option(min=1, help="a simulated board: how many times slower than its clock it is")]
Baud = Annotated[int, typer.Option(min=9600, help="most bit/s of a board's link")]
MOST_BAUD = 3_000_000
AsJson = Annotated[bool, typer.Option("--json", help="print the summary as JSON on stdout, nothing else")]


def run(
    experiment: Annotated[str, typer.Argument(help="one of those that `list` shows, or the path of a file")],
    settings: Annotated[list[str] | None, typer.Option(
        "--set", metavar="KEY=VALUE", help="a key of the experiment, as `list NAME` shows them: harts=1,2")] = None,
    machine: OnMachine = None,
    quick: Annotated[bool, typer.Option("--quick", help="few short runs, to see that all works")] = False,
    out: Annotated[Path | None, typer.Option(help="new directory for the records")] = None,
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    plain_tcp: PlainTcp = False,
    certificates: Certificates = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="repeat what was run before: it must give the same")] = False,
    as_json: AsJson = False,
    target: OnTarget = "simulator",
    port: Port = None,
    slowdown: Slowdown = 1,
    baud: Baud = MOST_BAUD,
):
    """Run an experiment, show its tables and keep its records. A run whose inputs have not changed is
    reused, except on a board.

    Example:  ./interlock run pic-latency --set harts=1,2 --set link_latency=0,75,152 --set size=512
    """
    from sim.experiments import definition, modules
    from sim.sweep.folder import claimed
    chosen = definition.load(experiment).on(machine or [])
    values = chosen.settings(settings or [], quick)
    if target not in ("simulator", "board"):
        raise Failed(f"--target {target}: give simulator or board", 2)
    if (target == "board") != bool(port):
        raise Failed("--target board and --port DEVICE belong together: give both", 2)
    if scheduler == "":
        raise Failed("--scheduler: give the address of a Dask scheduler, or its file", 2)
    if port and (jobs or scheduler):
        raise Failed("--jobs and --scheduler are the simulator's: a board carries out one run at a time", 2)
    if chosen.report and chosen.report.endswith(".py"):
        modules.trust(chosen.report)
    directory = results_directory(chosen.name, out)
    with claimed(directory, new=True):
        if port:
            carry_out_on_board(chosen, values, directory, port, slowdown, baud, as_json)
        else:
            carry_out(chosen, values, directory, pool_of(jobs, scheduler, plain_tcp, certificates), fresh, as_json)


def resume(
    directory: Annotated[Path, typer.Argument(help="the results directory of an experiment that was stopped")],
    jobs: Jobs = None,
    scheduler: Scheduler = None,
    plain_tcp: PlainTcp = False,
    certificates: Certificates = None,
    as_json: AsJson = False,
    port: Port = None,
    slowdown: Slowdown = 1,
    baud: Baud = MOST_BAUD,
):
    """Continue an experiment that was stopped, or failed in part, with its original settings.

    Example:  ./interlock resume build/results/pic-latency/2026-01-31T12-00-00
    """
    from sim.experiments import definition, modules
    from sim.results import record
    from sim.sweep.folder import claimed
    begun = record.read_experiment(directory)
    modules.checked(begun.get("report") or "collected")
    source = begun.get("source", begun["experiment"])
    chosen = definition.load(source).with_machine_of(begun["settings"])
    strange = sorted(set(begun["settings"]) ^ set(chosen.keys))
    if strange:
        raise Failed(f"{source} has changed its keys since ({', '.join(strange)}): run it anew", 2)
    on_board = any("board" in soc for soc in begun.get("soc", {}).values())
    if on_board != bool(port):
        raise Failed(f"{shown(directory)} was begun on a board: give its --port DEVICE" if on_board else
                     f"{shown(directory)} was begun in the simulator: leave out --port", 2)
    with claimed(directory, new=False):
        if port:
            carry_out_on_board(chosen, begun["settings"], directory, port, slowdown, baud, as_json)
        else:
            pool = pool_of(jobs, scheduler, plain_tcp, certificates)
            carry_out(chosen, begun["settings"], directory, pool, False, as_json)


def carry_out(experiment, values, directory, make_pool, fresh, as_json):
    """Executes all runs of `experiment` with `values` into `directory`, and shows the results. `make_pool` makes the
    pool of runs."""
    from sim.sweep.runner import Runner, build_images, build_targets
    from sim.sweep.store import Store
    tools = check_tools()
    pool = make_pool()
    runner = Runner(experiment, values, directory, pool, clock_of(values), Store(), fresh)
    with building(), Display() as display:
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        build_images(runner.runs)
        targets = build_targets(runner.targets(), build_simulator, build_kernel, display.build)
    runner.prepare(tools, {machine.label: describe(machine) for machine in sorted({on for on, *_ in targets})})
    execute(runner, targets, directory, as_json)


def clock_of(values):
    """The clock in Hz of all runs, or the first of several: a run's own is in its record."""
    from soc.config import SoCConfig
    clock = values.get("clock_hz", SoCConfig.clock_hz)
    return clock[0] if isinstance(clock, list) else clock


def carry_out_on_board(experiment, values, directory, port, slowdown, baud, as_json):
    """The same on the board at a serial port."""
    from sim.board.link import LinkError
    from sim.board.machine import BoardMachine, unfit
    from sim.commands.board import connected
    from sim.images.kernel import build_kernel
    from sim.sweep.local import LocalPool
    from sim.sweep.runner import Runner
    tools = check_tools()
    board = connected(port, slowdown, baud)
    board.close()       # each run opens the port for itself
    why_not = unfit(experiment, experiment.runs(values, board.identity.clock_hz), board.identity.harts)
    if why_not:
        raise Failed(why_not, 2)
    with building(), Display() as display:
        try:
            machine = BoardMachine(port, board.identity, slowdown, baud)
        except LinkError as error:
            raise Failed(str(error)) from error
        runs = experiment.runs(values, board.identity.clock_hz)
        if machine.lacks(runs):
            raise Failed(machine.lacks(runs), 2)
        runner = Runner(experiment, values, directory, LocalPool(1), board.identity.clock_hz, task_of=machine.task_of)
        targets = machine.targets(runner.targets(), build_kernel, display.build)
    runner.prepare(tools, {label: machine.describe() for label in
                           {str(board.identity.harts), *(run.machine.alone.label for run in runs)}})
    execute(runner, targets, directory, as_json)


def execute(runner, targets, directory, as_json):
    """Runs the runner, and shows the results. Ctrl-C at any moment reports what was kept."""
    try:
        carried_out(runner, targets, directory, as_json)
    except KeyboardInterrupt:
        raise interrupted(runner, directory) from None


def interrupted(runner, directory):
    return Failed(f"interrupted: {len(runner.records)} of {len(runner.runs)} runs are finished, their records are in "
                  f"{shown(directory)}, go on with: ./interlock resume {shlex.quote(str(shown(directory)))}", 130)


def carried_out(runner, targets, directory, as_json):
    """All of `execute` except the report of an interrupt."""
    from sim.results import record, report, sampling, statistics
    from sim.sweep.runner import Interrupted
    stopped = False
    with Display() as display:
        try:
            runner.execute(targets, display.runs)
        except Interrupted:
            stopped = True
        except (record.RecordError, OSError, MemoryError) as error:
            if isinstance(error, record.RecordError):
                reason = error
            elif record.out_of_memory(error):
                reason = "out of memory (fewer --jobs take less)"
            elif record.disk_is_full(error):
                reason = f"the disk is full: {error.filename}"
            else:
                raise
            raise Failed(f"{reason}; {len(runner.records)} finished records are in {shown(directory)}, go on with: "
                         f"./interlock resume {shown(directory)}") from error
    for failure in runner.failures:     # first: if all failed, a report's queries may find no data
        show_failure(failure)
    summary, tables = report.write(directory)
    if as_json:
        print(json.dumps(statistics.plain(summary), indent=1, sort_keys=True))
    else:
        for line in (summary["question"], summary["answer"], sampling.note(summary["sampling"])):
            if line:
                print(line, end="\n\n")
        show_tables(tables)
        print(f"record: {shown(directory)} (report.html, report.md, summary.json, records.jsonl, tables/, runs/)")
    if stopped:
        raise interrupted(runner, directory)
    if runner.failures:
        raise Failed(f"{len(runner.failures)} of {summary['asked']} runs failed, see above and {shown(directory)}")


def pool_of(jobs, scheduler, plain_tcp, certificates):
    """A function that makes the pool that executes runs."""
    def made():
        if scheduler:
            if jobs:
                raise Failed("--jobs and --scheduler: a cluster's workers say how many run at a time, give one of them",
                             2)
            from sim.sweep.cluster import Cluster
            return Cluster(scheduler, plain_tcp, certificates)
        from sim.sweep.local import LocalPool
        return LocalPool(jobs or len(os.sched_getaffinity(0)))
    return made
