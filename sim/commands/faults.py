"""`./interlock faults`: plants small faults one at a time, and says which of them no test notices."""

import os
import sys
import time
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, check_tools, minutes


def faults(
    only: Annotated[list[str] | None,
                    typer.Option(metavar="AREA|ID", help="only these; repeatable")] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="faults at a time; without it one per core")] = None,
    limit: Annotated[float, typer.Option(min=1, help="seconds that the tests of one fault may take, "
                                       "unless its list has more")] = 900,
    listing: Annotated[bool, typer.Option("--list", help="print the list and plant nothing")] = False,
    keep: Annotated[Path | None, typer.Option(help="write pytest's output of each fault into this directory")] = None,
):
    """Plant small faults one at a time in a copy of the tree, and see which of them no test notices.

    For each fault its tests run until one fails. At the end the tests that failed run once without a fault, and must
    pass. Exit status: 0 each fault is noticed, 1 one is not.

    Example:  ./interlock faults --only locks
    """
    from sim.faults.planted import FaultError, chosen, load
    try:
        selected = chosen(load(), only or [])
        for fault in selected:
            fault.check()
        if listing:
            show_list(selected)
        else:
            check_tools()
            plant(selected, jobs or len(os.sched_getaffinity(0)), limit, keep)
    except FaultError as error:
        raise Failed(str(error), 2) from error


def show_list(selected):
    for fault in selected:
        more = f"  changes nothing: {fault.equivalent}" if fault.equivalent else f"  {fault.tests[0]}"
        print(f"{fault.area:<12} {fault.id:<34} {fault.file}{more}")
    print(f"{len(selected)} faults")


class Progress:
    """Prints a line for each fault, and on a terminal one for the running tests."""

    def __init__(self, total):
        self.total, self.done, self.begin = total, 0, time.monotonic()
        self.now = {}

    def began(self, fault):
        self.now[fault.id] = "building"
        self._show()

    def started(self, fault, test):
        self.now[fault.id] = test
        self._show()

    def ended(self, trial):
        self.now.pop(trial.fault.id, None)
        self.done += 1
        self._clear()
        print(f"[{self.done}/{self.total} {minutes(time.monotonic() - self.begin)}] {trial.fault.area:<10} "
              f"{trial.fault.id:<34} {trial.how:<9} {trial.seconds:4.0f} s {trial.processor_s:4.0f} s  {trial.by}",
              flush=True)
        self._show()

    def _clear(self):
        if sys.stderr.isatty():
            print("\r\033[K", end="", file=sys.stderr, flush=True)

    def _show(self):
        if sys.stderr.isatty() and self.now:
            width = os.get_terminal_size(sys.stderr.fileno()).columns - 1
            text = "; ".join(f"{name}: {test}" for name, test in self.now.items())
            print(f"\r\033[K{text[:width]}", end="", file=sys.stderr, flush=True)


def by_area(selected, trials):
    """Lines of text: for each area the faults by outcome, and by the folder of the test that noticed; their wall and
    processor time."""
    from sim.faults.planted import NOTICED
    folders = sorted({trial.by.split("/")[1] for trial in trials if trial.how == NOTICED})
    heads = ["faults", *(f"by {folder}" for folder in folders), "unnoticed", "change nothing", "clock", "processors"]
    yield " " * 12 + "".join(f"  {head}" for head in heads)
    for area in (*dict.fromkeys(fault.area for fault in selected), "together"):
        its = [trial for trial in trials if area in (trial.fault.area, "together")]
        same = sum(bool(fault.equivalent) for fault in selected if area in (fault.area, "together"))
        by = [trial.by.split("/")[1] for trial in its if trial.how == NOTICED]
        row = [len(its) + same, *map(by.count, folders), len(its) - len(by), same,
               minutes(sum(trial.seconds for trial in its)), minutes(sum(trial.processor_s for trial in its))]
        yield f"{area:<12}" + "".join(f"  {value:>{len(head)}}" for head, value in zip(heads, row, strict=True))


def plant(selected, jobs, limit, keep):
    from sim.faults.planted import NOTICED, Nursery
    real = [fault for fault in selected if not fault.equivalent]
    begin = time.monotonic()
    if keep:
        keep.mkdir(parents=True, exist_ok=True)
    trials, failing = [], []
    with Nursery(min(jobs, max(len(real), 1)), limit) as nursery:
        progress = Progress(len(real))
        for trial in nursery.plant_all(real, progress.began, progress.started):
            progress.ended(trial)
            trials.append(trial)
            if keep:
                (keep / f"{trial.fault.id}.txt").write_text(trial.output)
        by = sorted({trial.by for trial in trials if trial.how == NOTICED})
        if by:
            print(f"{len(by)} tests that noticed something, without a fault ...", flush=True)
            failing = nursery.failing_without(by)
    left = [trial for trial in trials if trial.how != NOTICED]
    for line in by_area(selected, trials):
        print(line)
    print(f"{len(trials)} faults in {minutes(time.monotonic() - begin)}: {len(trials) - len(left)} noticed, "
          f"{len(left)} not; {len(selected) - len(real)} more that change nothing")
    for trial in left:
        print(f"  {trial.how}: {trial.fault.id} in {trial.fault.file} ({trial.by})")
    for test in failing:
        print(f"  fails without a fault: {test}")
    if left or failing:
        raise Failed("a fault that no test notices needs a test, or a reason in the list why it changes nothing"
                     if left else "tests fail without a fault: mend those first")
