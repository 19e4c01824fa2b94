"""The command `prune`: frees the disk space of builds and kept runs."""

from enum import StrEnum
from typing import Annotated

import typer

DAYS = 30.0


class What(StrEnum):
    """What may be removed; results never are."""

    BUILDS = "builds"
    RUNS = "runs"
    SCRATCH = "scratch"


def prune(
    days: Annotated[float | None, typer.Option(min=0, help=f"what was not used for so many days ({DAYS:g}, "
                                                           "without --gib)")] = None,
    gib: Annotated[float | None, typer.Option(min=0, help="then what was used longest ago, down to so much")] = None,
    only: Annotated[list[What] | None, typer.Option(help="only this kind; repeatable")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="only show what would be removed")] = False,
):
    """Remove old builds and cached runs, by age and size, and what killed processes left. All of it is made again when
    needed. What is in use stays, and so do results.

    Example:  ./interlock prune --days 14 --gib 20 --dry-run
    """
    from rich.filesize import decimal

    from sim.commands.common import show_tables
    from sim.results.table import Table
    from sim.sweep import prune as pruning
    if days is None and gib is None:
        days = DAYS
    items = [item for item in pruning.found() if not only or item.kind in only]
    going = pruning.chosen(items, days, None if gib is None else gib * 2**30)
    used = pruning.in_use(going)
    gone = [item for item in going if item not in used and (dry_run or item.remove())]
    rows: dict[tuple[str, str], tuple[int, int]] = {}
    for item in sorted(gone, key=lambda item: (pruning.KINDS.index(item.kind), item.what)):
        count, size = rows.get((item.kind, item.what), (0, 0))
        rows[item.kind, item.what] = count + 1, size + item.size
    verb = "would be freed" if dry_run else "freed"
    if rows:
        show_tables([Table(f"What {'would be' if dry_run else 'was'} removed", ["kind", "what", "entries", "size"],
                           [[kind, what, str(count), decimal(size)] for (kind, what), (count, size) in rows.items()])])
    total, freed = (sum(item.size for item in some) for some in (items, gone))
    stay = len(going) - len(gone)
    print(f"{decimal(freed)} of {decimal(total)} {verb}"
          + (f"; {stay} more {'are' if stay > 1 else 'is'} in use and stay{'s' * (stay == 1)}" if stay else ""))
