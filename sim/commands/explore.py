"""`./interlock explore`: a kernel test over seeds that perturb its schedule, up to the first that fails."""

import os
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import (
    DEFAULT_SYNC,
    Display,
    Failed,
    Harts,
    OnMachine,
    Options,
    Settings,
    building,
    check_tools,
    checked_scheme,
    checked_settings,
    kernel_options,
    kernel_runs,
    machine_of,
    minutes,
    results_directory,
    shown,
)
from sim.commands.program import user_files


def explore(
    test: Annotated[str, typer.Argument(help="what the kernel is to run; a wrong name lists the right ones")],
    seeds: Annotated[int, typer.Option(min=1, help="number of seeds; seed 0 perturbs nothing")] = 20,
    first: Annotated[int, typer.Option(min=0, help="the first seed, to go on where another exploration ended")] = 0,
    harts: Harts = 1,
    sync: Annotated[str, typer.Option(help="the kernel's synchronisation scheme")] = DEFAULT_SYNC,
    settings: Settings = None,
    options: Options = None,
    machine: OnMachine = None,
    program: Annotated[str | None, typer.Option(
        metavar="FILE", help="with the test user: run this user program (docs/programs.md)")] = None,
    max_cycles: Annotated[int, typer.Option(min=1, help="a run that takes longer has failed")] = 100_000_000,
    jobs: Annotated[int | None, typer.Option(min=1, help="simulators at a time; without it one per core")] = None,
    out: Annotated[Path | None, typer.Option(help="new directory for the files of a failure")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="print explore.json on stdout, nothing else")] = False,
):
    """Run a kernel test over seeds that perturb memory latency, PIC latency and interrupt times, to the first failure.

    Seeds do not change what --set gives. Of several seeds that fail the least is reported, with the command that
    repeats the failure exactly. Exit status: 0 all seeds pass, 1 one fails.

    Example:  ./interlock explore test-race --sync spl-optim --set plant=level --seeds 20
    """
    from sim.images.kernel import runs
    from sim.sweep.explore import ExploreError, Explorer, Subject
    from sim.sweep.folder import claimed
    if test not in runs():
        from sim.experiments.definition import unknown
        raise unknown("test", test, runs())
    kernel_runs([f"run={test}", *checked_settings(settings)])
    words, added = with_program(test, checked_settings(settings), program)
    on = machine_of(harts, machine)
    subject = Subject(test, on, checked_scheme(sync), tuple(words),
                      tuple(f"{name}={value}" for name, value in sorted(kernel_options(options).items())), max_cycles,
                      program or "")
    config = on.config()
    directory = results_directory(f"explore-{test}", out)
    check_tools()
    with building():
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        from sim.sweep.runner import Target
        image = build_kernel(config, sync, options=kernel_options(options), runs=(test,), files=added)
        target = Target(build_simulator(config, two_chips=on.two_chips), image)
    explorer = Explorer(subject, target, range(first, first + seeds), jobs or len(os.sched_getaffinity(0)), directory)
    with claimed(directory, new=True), Display() as display:
        try:
            explorer.execute(display.runs)
        except ExploreError as error:
            raise Failed(str(error)) from error
    if as_json:
        print((directory / "explore.json").read_text(), end="")
    else:
        show(explorer, subject)
    if explorer.failed:
        raise Failed(f"seed {explorer.failed.seed} fails; its files are in {shown(directory)}")


def with_program(test, words, program):
    """The settings, with those for a user program, and what the image holds for it."""
    if not program:
        return words, {}
    if test != "user":
        raise Failed("--program: the test that runs it is called user", 2)
    words, added = user_files(words, [program], [])
    return [word for word in words if word != f"run={test}"], added


def show(explorer, subject):
    """The result, in words."""
    from sim.sweep.explore import describe
    what = f"{subject.name}, {subject.sync}, {subject.machine}"
    failed = explorer.failed
    if not failed:
        print(f"{what}: seeds {explorer.seeds[0]} to {explorer.seeds[-1]} pass, "
              f"{sum(trial.cycles for trial in explorer.trials) / 1e6:.1f} M cycles in {minutes(explorer.elapsed_s)}")
        return
    passed = sum(trial.seed < failed.seed for trial in explorer.trials)
    print(f"{what}: seed {failed.seed} fails after {passed} that pass: {failed.reason}")
    for line in explorer.console(failed.seed):
        if line != failed.reason:
            print(f"    {line}")
    print(f"  perturbed by seed {failed.seed}")
    for line in describe(failed.seed, failed.perturbed):
        print(f"    {line}")
    print(f"  to repeat it: {explorer.test.repeat(failed.seed, failed.status)}")
