"""The command `headers`: what a program without the kernel is compiled with."""

import shutil
from pathlib import Path

from sim.commands.common import Harts, OnMachine, building, check_tools, machine_of
from support.cache import REPO, cached, digest

PROBE = REPO / "kernel" / "arch" / "probe.h"


def folder_of(soc) -> Path:
    """The headers of a soc.build.SoCArtifacts, and `interlock/probe.h`, in one folder for -I."""
    def build(out: Path):
        shutil.copytree(soc.include, out, dirs_exist_ok=True)
        (out / "interlock").mkdir()
        shutil.copy(PROBE, out / "interlock" / "probe.h")

    inputs = {str(path.relative_to(soc.include)): path for path in sorted(soc.include.rglob("*.h"))}
    return cached("headers", {"soc": digest(inputs), "probe": PROBE, "how": Path(__file__)}, build)


def headers(harts: Harts = 1, machine: OnMachine = None):
    """Print the folder with the C headers of a machine: addresses, registers, and the marks of interlock/probe.h.

    Example:  ./interlock headers --harts 2
    """
    on = machine_of(harts, machine)
    config = on.config()
    check_tools()
    with building():
        from soc.build import generate_soc
        folder = folder_of(generate_soc(config, on.two_chips))
    print(folder)
