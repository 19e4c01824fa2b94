"""The console as a terminal: an interactive shell with jobs, and programs' requests to it."""

import os
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.machine import dialogue

PROGRAM = Path(__file__).parent / "programs/terminal.c"
PROMPT = "# "
MAX_CYCLES = 200_000_000
HANG_CYCLES = 60_000_000


def shell(folder, harts, sync, steps, options=None):
    files = {"sh": programs.build_port(programs.ports()["sh"]), "terminal": programs.build_program([PROGRAM])}
    files |= {name: programs.commands()[name] for name in ("cat", "sleep")}
    return dialogue(folder, harts, sync, "run=user program=sh hz=1000", steps, options=options, files=files,
                    max_cycles=MAX_CYCLES, hang_cycles=HANG_CYCLES)


# TERMINAL=all: each scheme, and both kernels of paper `mach`; what the discipline does is tested on the host.
CHOSEN = ((1, "spl-optim", {}), (2, "cli-pessim", {}))
MORE = ((2, "spl-pessim", {"unix": "serial"}), (4, "cli-optim", {}), (2, "cli-spl-pessim", {"lock_debug": "1"}))


@pytest.mark.parametrize("harts, sync, options", CHOSEN + (MORE if os.environ.get("TERMINAL") == "all" else ()))
def test_a_shell_has_jobs(tmp_path, harts, sync, options):
    """^C ends the foreground job and not the shell, ^Z stops it; a job that reads in the background is stopped."""
    run = shell(tmp_path, harts, sync, [
        (PROMPT, "sleep 100\n"), ("sleep 100\r\n", "\x03"),
        (PROMPT, "echo status $?\n"), ("\nstatus 130\r\n", ""),
        (PROMPT, "cat\n"), ("cat\r\n", "abc\n"), ("abc\r\nabc\r\n", "\x1a"),
        (PROMPT, "jobs\n"), ("[1] + Stopped ", ""), (PROMPT, "fg\n"), ("cat\r\n", "de\x7f\n"), ("\nd\r\n", "\x04"),
        (PROMPT, "cat & wait $!\n"), ("[1] + Stopped (tty input)", ""), (PROMPT, "kill %1; fg\n"), ("Terminated", ""),
        (PROMPT, "terminal\n"), ("interrupt?", "\x03"), ("keys?", "a\x03\x7f"), ("line?", "xyz\x7f\n"),
        ("@terminal", ""), (PROMPT, "\x04")], options)
    assert run.status == 0 and "never came" not in run.messages, run.report()
    result = run.result("terminal")
    assert result["failed"] == 0 and result["checks"] == 34, run.report()
