"""The commands `board hello`, `board self-test` and `board boot`: requests to a board at a serial port."""

import re
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import Failed, building

Port = Annotated[str, typer.Option(metavar="DEVICE", help="the board's serial port, such as /dev/ttyUSB0")]
Baud = Annotated[int, typer.Option(min=9600, help="bit rate to go to, if both ends can")]
Slowdown = Annotated[float, typer.Option(min=1, help="a simulated board: how many times slower than its clock it is")]
MOST_BAUD = 3_000_000
QUIET_S = 120.0     # without output from a long self-test

HELP = """Talk to a board over its serial port.

Example:  ./interlock board hello --port /dev/ttyUSB0
"""

board = typer.Typer(help=HELP, no_args_is_help=True)


def connected(port, slowdown, baud=MOST_BAUD):
    """The board at the port, ready; Failed in one line if there is none."""
    from sim.board.boot import prepared
    from sim.board.link import LinkError
    from sim.board.port import PortError
    try:
        return prepared(port, slowdown, baud)
    except (LinkError, PortError) as error:
        raise Failed(str(error)) from error


@board.command()
def hello(port: Port, slowdown: Slowdown = 1, baud: Baud = MOST_BAUD):
    """Print which board answers, its link's speed, and whether this tree builds the same; exit status 1 if not.

    Example:  ./interlock board hello --port /dev/ttyUSB0
    """
    from sim.board.link import LinkError
    from sim.board.machine import config_of
    found = connected(port, slowdown, baud)
    found.close()
    print(f"{found.identity}; link at {found.fast} bit/s")
    with building():
        try:
            config = config_of(found.identity)
        except LinkError as error:
            raise Failed(str(error)) from error
    print(f"as this tree makes it for {config.board} with {config.device}")


@board.command("self-test")
def self_test(
    port: Port,
    long: Annotated[bool, typer.Option("--long", help="all of main RAM, for minutes")] = False,
    slowdown: Slowdown = 1,
):
    """Run the self-test of the board's boot ROM; exit status 1 if a test fails.

    Example:  ./interlock board self-test --port /dev/ttyUSB0 --long
    """
    import sys

    from sim.board.link import LinkError
    from sim.board.port import PortError
    from sim.board.protocol import Test
    found = connected(port, slowdown)

    def show(text):
        print(text.decode(errors="replace").replace("\r", ""), end="", file=sys.stderr, flush=True)
    try:
        failures, report = found.self_test(Test.TEST_LONG if long else Test.TEST_SHORT, QUIET_S * slowdown, show)
    except (LinkError, PortError) as error:
        raise Failed(str(error)) from error
    finally:
        found.close()
    print(report, end="")
    if failures:
        raise Failed(f"{failures} test{'s' * (failures > 1)} of {found.identity.name} failed")


@board.command()
def boot(
    port: Port,
    image: Annotated[Path, typer.Option(help="the ELF file to run")],
    bootargs: Annotated[str, typer.Option(help="its boot arguments, key=value with spaces between")] = "",
    seed: Annotated[int | None, typer.Option(min=0, help="added to the boot arguments")] = None,
    out: Annotated[Path | None, typer.Option(help="directory for run.json, the console and what is copied out")] = None,
    uart1_in: Annotated[Path | None, typer.Option(help="a file for the data line")] = None,
    max_cycles: Annotated[int | None, typer.Option(min=1, help="stop after so many of the board's cycles")] = None,
    console: Annotated[str, typer.Option(help="tty, or file: only console.txt in --out")] = "tty",
    expect: Annotated[str | None, typer.Option(help="the board's build, 16 hex digits; another one is refused")] = None,
    slowdown: Slowdown = 1,
    baud: Baud = MOST_BAUD,
):
    """Load an image into the board, run it with its console here, and copy out its results.

    Example:  ./interlock board boot --port /dev/ttyUSB0 --image kernel.elf --bootargs run=hello
    """
    from sim.board.boot import Asked, carry_out
    if console not in ("tty", "file"):
        raise Failed(f"--console {console}: give tty or file", 2)
    if expect and not re.fullmatch(r"[0-9a-fA-F]{1,16}", expect):
        raise Failed(f"--expect {expect}: give the board's build, up to 16 hex digits", 2)
    asked = Asked(port, image, bootargs, seed, out, uart1_in, max_cycles, console == "tty", baud, slowdown,
                  int(expect, 16) if expect else None)
    raise typer.Exit(carry_out(asked))
