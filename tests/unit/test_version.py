"""The version is in one place, and everything with a version has the same."""

import re
import subprocess

from sim.results import report
from support import tools
from support.cache import REPO
from support.parameters.headers import MADE
from support.version import VERSION


def test_it_is_a_version():
    assert re.fullmatch(r"\d+\.\d+\.\d+", VERSION)


def test_the_command_says_it():
    done = subprocess.run([REPO / "interlock", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"interlock {VERSION}\n"


def test_records_and_reports_have_it():
    assert tools.check()["interlock"] == VERSION
    summary = {"experiment": "e", "settings": {}, "finished": 1, "asked": 1, "failures": [],
               "sampling": {"layouts": [], "seeds": [1], "samples": 1, "repeats": 0, "left_out": []}}
    assert f"Interlock {VERSION}." in report.markdown(summary, [], (), VERSION)


def test_the_kernels_banner_has_it():
    assert f'INTERLOCK_VERSION "{VERSION}"' in MADE["version.h"]()
    banner = re.search(r'kprintf\("Interlock kernel, [^;]*', (REPO / "kernel/init/main.c").read_text())
    assert banner and "INTERLOCK_VERSION" in banner[0]


def test_the_papers_of_the_release_have_it():
    assert f"\nversion: {VERSION}\n" in (REPO / "CITATION.cff").read_text()
    assert f"\n## {VERSION}\n" in (REPO / "CHANGELOG.md").read_text()
    assert f"Version {VERSION} " in (REPO / "docs/stable.md").read_text()


def test_no_other_source_writes_it():
    folders = ("sim", "soc", "support", "kernel", "hw", "user", "firmware")
    found = [path.relative_to(REPO).as_posix() for folder in folders
             for path in (REPO / folder).rglob("*") if path.suffix in (".py", ".c", ".h", ".cpp", ".toml")
             and f'"{VERSION}"' in path.read_text()]
    assert found == ["support/version.py"]
