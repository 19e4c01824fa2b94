"""Loads a board's bitstream into its FPGA: `python -m sim.board.flash ulx3s`. Errors are one line."""

import argparse
import subprocess
import sys

from soc.boards.bitstream import board_folder
from soc.boards.catalog import BOARDS


class FlashError(Exception):
    """The bitstream cannot be loaded; the text is one line that names the remedy."""


def command_for(name):
    """The programmer's command line for the board `name`; FlashError if it or its bitstream is not there."""
    known = [board.name for board in BOARDS.values() if board.flash]
    if name not in known:
        raise FlashError(f"there is no board '{name}' to load (valid: {', '.join(known)})")
    bitstream = board_folder(name) / f"{name}.bit"
    if not bitstream.is_file():
        raise FlashError(f"there is no bitstream for {name}, or its timing was missed: make bitstream BOARD={name}")
    return [*BOARDS[name].flash, str(bitstream)]


def flash(name):
    """Loads the board; its programmer's output goes to the terminal. FlashError."""
    command = command_for(name)
    try:
        status = subprocess.run(command).returncode
    except FileNotFoundError as error:
        raise FlashError(f"{command[0]} is missing: run 'make setup'") from error
    if status:
        raise FlashError(f"{command[0]} ended with status {status}: is the board {name} connected and powered, and may "
                         f"you use its USB device (docs/boards/{name}.md)?")


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.board.flash", description="Load a board's bitstream.")
    parser.add_argument("board", help="see `make boards`")
    try:
        flash(parser.parse_args().board)
    except FlashError as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit("error: interrupted: the board may hold half a bitstream, load it again")


if __name__ == "__main__":
    main()
