"""The command `vsuite`."""

import itertools
import operator
from typing import Annotated

import typer

from sim.commands.common import Failed, building


def vsuite(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC|PROGRAM]...", help="only these")] = None,
    threads: Annotated[int, typer.Option(min=1, max=64, help="of the operating system that carry the processes")] = 1,
    times: Annotated[int, typer.Option(min=1, help="execute each program so many times")] = 1,
    disturb: Annotated[bool, typer.Option("--disturb", help="threads pause at random, otherwise each time")] = False,
    races: Annotated[bool, typer.Option("--races", help="with ThreadSanitizer, which says where threads meet unordered")
                     ] = False,
    switch: Annotated[str, typer.Option(help="how contexts are switched: assembler or system-calls")] = "assembler",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="report each program's outcome")] = False,
):
    """Compile and execute MPD's verification suite on this computer (user/mpd/vsuite, docs/mpd.md).

    Example:  ./interlock vsuite concurrency
    """
    from sim.images import vsuite as suite
    from sim.images.programs import ProgramError
    try:
        chosen = suite.cases(topics or ())
        if (disturb or races) and threads == 1:
            raise Failed("--disturb and --races are of several threads: --threads tells how many")
        more = (*(suite.mpd.DISTURBED if disturb else ()), *(suite.mpd.RACES if races else ()))
        with building():
            suite.mpd.host_objects(switch, threads, more)
        outcomes = suite.on_host(chosen, switch, threads, times, more)
        failed = 0
        for case, group in itertools.groupby(outcomes, key=operator.itemgetter(0)):
            found = [suite.difference(case, outcome, threads) for _, outcome in group]
            wrong = [one for one in found if one]
            often = f" {len(wrong)} of {len(found)} times" if wrong and times > 1 else ""
            if verbose:
                print(f"{case.topic}/{case.name}: {'differs' if wrong else 'as expected'}{often}")
            if wrong:
                failed += 1
                print(wrong[0] + (f"\n  {often.strip()}" if often else ""), flush=True)
    except ProgramError as error:
        raise Failed(str(error)) from error
    print(f"{len(chosen) - failed} of {len(chosen)} programs do what is expected"
          f"{f', {times} times' if times > 1 else ''}")
    if failed:
        raise typer.Exit(1)
