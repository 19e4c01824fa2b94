"""A simulation by several processes that OpenMPI starts and joins (harness/run/ranks_mpi.c)."""

import os
import shutil
import subprocess
from pathlib import Path

from sim.model.toolchain import BuildError
from support.cache import REPO, Input, cached
from support.tools import ToolError

SOURCES = REPO / "sim/harness/run"
COMPILER, LAUNCHER = "mpicc", "mpirun"


def library() -> Path:
    """The shared library for --ranks-library. ToolError, one line with the remedy, if there is no OpenMPI."""
    for program in (COMPILER, LAUNCHER):
        if not shutil.which(program):
            raise ToolError(f"--mpi: {program} is missing: install Debian's libopenmpi-dev and openmpi-bin")
    version = subprocess.run([COMPILER, "--showme:version"], capture_output=True, text=True).stdout

    def build(out: Path) -> None:
        done = subprocess.run([COMPILER, "-O2", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-o",
                               out / "ranks_mpi.so", SOURCES / "ranks_mpi.c"], capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"--mpi: its library does not build:\n{done.stderr}")

    inputs: dict[str, Input] = {name: SOURCES / name for name in ("ranks_mpi.c", "ranks_library.h")}
    return cached("ranks-mpi", inputs | {"version": version}, build) / "ranks_mpi.so"


def launched(command: list[str], ranks: int, arguments: list[str]) -> list[str]:
    """The command line that starts so many processes of the simulator; `arguments` are mpirun's own. More processes
    than cores are allowed, and those of root, as in a container."""
    root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
    return [LAUNCHER, "-n", str(ranks), "--oversubscribe", *root, *arguments, *command, "--ranks-library",
            str(library())]
