"""The command `vsuite`."""

from typing import Annotated

import typer

from sim.commands.common import Failed, building


def vsuite(
    topics: Annotated[list[str] | None, typer.Argument(metavar="[TOPIC|PROGRAM]...", help="only these")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="say of each program what became of it")] = False,
):
    """Compile and execute MPD's verification suite on this computer (user/mpd/vsuite, docs/mpd.md).

    Example:  ./interlock vsuite concurrency
    """
    from sim.images import vsuite as suite
    from sim.images.programs import ProgramError
    try:
        chosen = suite.cases(topics or ())
        with building():
            suite.mpd.host_objects()
        failed = []
        for case, outcome in suite.on_host(chosen):
            wrong = suite.difference(case, outcome)
            if verbose:
                print(f"{case.topic}/{case.name}: {'differs' if wrong else 'as expected'}")
            if wrong:
                failed.append(wrong)
                print(wrong)
    except ProgramError as error:
        raise Failed(str(error)) from error
    print(f"{len(chosen) - len(failed)} of {len(chosen)} programs do what is expected")
    if failed:
        raise typer.Exit(1)
