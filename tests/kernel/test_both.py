"""The same C program on the host's Linux and on the machine: what it prints is the same, line by line. One program for
each family of calls (programs/both); where the two differ on purpose, a program does not ask."""

import subprocess
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.machine import boot

BOTH = Path(__file__).parent / "programs/both"
MAX_CYCLES = 60_000_000


def lines_of_host(folder, name, args):
    subprocess.run(["gcc", "-g", "-O1", "-pthread", "-Wall", "-Wno-unused-result", "-Wno-clobbered", BOTH / f"{name}.c",
                    "-o", folder / name], check=True)
    done = subprocess.run([folder / name, *args], cwd=folder, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize("name, harts, sync, args",
                         [("vfork", 2, "spl-optim", ["1"]), ("waits", 2, "spl-optim", ["3"])])
def test_prints_what_it_prints_on_the_host(tmp_path, name, harts, sync, args):
    wanted = lines_of_host(tmp_path, name, args)
    run = boot(tmp_path / "run", harts, sync, f"run=user program={name} args={','.join(args)} hz=1000",
               files={name: programs.build_program([BOTH / f"{name}.c"])}, max_cycles=MAX_CYCLES)
    assert run.status == 0, run.report()
    assert run.console.replace("\r", "").splitlines()[1:] == wanted     # behind the kernel's own line
