"""docs/adding-a-scheme.md is true: a scheme is a header and a line. Tested in a copy of the tree, which gets one."""

import re
import shutil
import subprocess
import sys

import pytest

from support.cache import REPO

FOLDERS = ("firmware", "hw", "kernel", "sim", "soc", "support", "user")
# The copy's list of schemes, and its compilation of them.
LOOK = """
from sim.commands.common import checked_scheme
from sim.experiments import definition, paper_sync, sync
from sim.images import kernel
from soc.build import generate_soc
from soc.config import SoCConfig

checked_scheme("my-scheme")
assert paper_sync.overhead_percent("my-scheme", 1000, 50, {"flag": 1, "off-chip": 9, "on-chip": 3}) > 0
assert sync.MODEL["my-scheme"] == "entered x flag + interrupted x off-chip"
offered = 0
for name in definition.names():
    experiment = definition.load(name)
    for key in experiment.keys.values():
        if "spl-optim" in getattr(key, "choices", ()):
            assert "my-scheme" in key.choices, (name, key.name)
            offered += 1
assert offered >= 15, offered
experiment = definition.load("pic-latency")
runs = experiment.runs(experiment.settings(["schemes=my-scheme", "harts=1"]), 60_000_000)
assert any(run.sync == "my-scheme" for run in runs)
print(kernel._folder_of(kernel._headers(generate_soc(SoCConfig()))))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The tree with the scheme `my-scheme`."""
    tree = tmp_path_factory.mktemp("Bäume")
    for folder in FOLDERS:
        shutil.copytree(REPO / folder, tree / folder, ignore=shutil.ignore_patterns("__pycache__"))
    (tree / "build").symlink_to((REPO / "build").resolve())
    shutil.copy(tree / "kernel/sync/spl_optim.h", tree / "kernel/sync/my_scheme.h")
    line, = re.findall(r"^    Scheme\(.*\),$", (REPO / "docs/adding-a-scheme.md").read_text(), re.MULTILINE)
    declared = tree / "support/parameters/build.py"
    text = declared.read_text()
    assert text.count("SCHEME_LIST = (\n") == 1
    declared.write_text(text.replace("SCHEME_LIST = (\n", f"SCHEME_LIST = (\n{line}\n"))
    return tree


def test_a_scheme_is_a_header_and_a_line(copy, tmp_path):
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    include = done.stdout.splitlines()[-1]
    objects = [f"{tmp_path}/{name}.o" for name in ("sync/schemes", "bench/table5", "table5-my-scheme")]
    make = subprocess.run(["make", "-C", copy / "kernel", "SYNC=my-scheme", f"INCLUDE={include}", f"OUT={tmp_path}",
                           f"PYTHON={sys.executable}", "OBJCACHE=ccache", *objects], capture_output=True, text=True)
    assert make.returncode == 0, make.stderr
    named = subprocess.run(["riscv64-unknown-elf-nm", *objects], capture_output=True, text=True, check=True).stdout
    assert "T table5_my_scheme" in named and "U table5_my_scheme" in named


def test_a_scheme_without_its_line_is_refused(copy):
    shutil.copy(copy / "kernel/sync/spl_optim.h", copy / "kernel/sync/undeclared.h")
    make = subprocess.run(["make", "-C", copy / "kernel", "SYNC=undeclared", "INCLUDE=none", f"OUT={copy}/out",
                           f"PYTHON={sys.executable}"], capture_output=True, text=True)
    assert make.returncode and "SYNC=undeclared is not a scheme: use one of my-scheme spl-pessim" in make.stderr
