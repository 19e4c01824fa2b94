"""The command `results`: the blocks of the results pages, which of them are stale, and measuring them anew."""

import time
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, show_tables, shown
from sim.commands.run import Jobs, carry_out, pool_of

FOLDER = "blocks"       # below build/results: a directory for each block and code, so a stopped block can resume


def results(
    blocks: Annotated[list[str] | None, typer.Argument(help="blocks to measure; without one all are listed")] = None,
    stale: Annotated[bool, typer.Option("--stale", help="measure all whose code has changed")] = False,
    mark: Annotated[bool, typer.Option("--mark", help="measure nothing: let the pages say which are stale")] = False,
    exact: Annotated[bool, typer.Option("--exact", help="build what a block measures, to see whether its code has "
                                                        "changed where sources have")] = False,
    jobs: Jobs = None,
):
    """List the blocks of the results pages and which are stale, or measure some anew and put them into their pages.
    A stopped block resumes where it was.

    Example:  ./interlock results pic-latency handlers
    """
    from sim.results import blocks as declared
    known, entries = declared.load(), declared.ledger()
    for name in blocks or ():
        if name not in known:
            from sim.experiments.definition import unknown
            raise unknown("block", name, known)
    if mark:
        states = declared.mark_all(exact=exact)
        print(f"{sum(how != declared.FRESH for how in states.values())} of {len(states)} blocks are stale, "
              "their pages say so")
        return
    chosen = [known[name] for name in blocks or ()]
    if stale:
        chosen += [block for name, block in known.items() if block not in chosen
                   and declared.state(block, entries.get(name), exact=exact) != declared.FRESH]
    if not chosen:
        overview(known, entries, exact)
        return
    for index, block in enumerate(chosen):
        left = sum(expected(other, entries.get(other.name)) for other in chosen[index:])
        print(f"block {index + 1} of {len(chosen)}: {block.name}, about {left:.0f} minutes left", flush=True)
        measure(block, jobs)


def expected(block, entry):
    """The expected minutes of a block: those of the last time, or as declared."""
    return entry["seconds"] / 60 if entry and "seconds" in entry else block.minutes


def overview(known, entries, exact):
    """Lists the blocks and their states."""
    from sim.results import blocks as declared
    from sim.results.table import Table
    rows, count = [], 0
    for name, block in known.items():
        entry = entries.get(name) or {}
        how = declared.state(block, entry, exact=exact)
        count += how != declared.FRESH
        rows.append([name, how, entry.get("commit", "-"), entry.get("digest", "-"),
                     f"{len(entry['layouts'])} x {len(entry['seeds'])}" if "layouts" in entry else "-",
                     f"{expected(block, entry):.0f}", ", ".join(block.pages)])
    show_tables([Table("Blocks of the results pages", ["block", "state", "commit", "code", "layouts x seeds", "minutes",
                                                       "pages"], rows, [
        f"{count} of {len(known)} are stale. './interlock results BLOCK' measures one, '--stale' all of these."])])


def measure(block, jobs):
    """Executes a block's experiment, or the rest of it, and puts the results into its pages."""
    from sim.experiments import definition
    from sim.results import blocks as declared
    from sim.results import report
    from sim.sweep.folder import claimed
    from support.cache import build_root
    experiment = definition.load(block.experiment)
    values = experiment.settings(block.overrides())
    before = declared.sources(block)
    # Another report of the same records measures nothing anew.
    directory = build_root() / "results" / FOLDER / f"{block.name}-{declared.sources(block, report=False)}"
    begin = time.monotonic()
    with claimed(directory, new=False):
        carry_out(experiment, values, directory, pool_of(jobs, None, False, None), False, False)
        made = report.load(directory)
        digest = declared.code(block)
        if declared.sources(block) != before:
            raise Failed(f"the sources changed while {block.name} was measured: measure it again")
        entry = declared.entry_of(block, made, digest, before, spent(directory, time.monotonic() - begin))
        declared.publish(block, made, entry)
    print(f"{block.name} is in {', '.join(block.pages)}; its records are in {shown(directory)}")


def spent(directory: Path, now):
    """The seconds of a block: of this session, and of earlier ones that were stopped."""
    from sim.results import record
    path = directory / "seconds.json"
    before = record.read_json(path) if path.is_file() else 0
    record.write_json(path, before + now)
    return before + now
