"""Prints the time of each folder of tests, beside its budget (tests/budget.toml), at the end of every run. And settings
for all tests."""

import itertools
import os
import resource
import tomllib
from collections import defaultdict
from pathlib import Path

import pytest

from tests import sampled

BUDGET = Path(__file__).with_name("budget.toml")
WITHOUT_CLUSTER = {"formal", "hw"}     # folders, except
WITH_CLUSTER = {"test_device_port.py", "test_disk.py", "test_dram.py"}
SLOWEST = 5     # files shown of a folder that is over its budget
# Debugging information is a fifth of an image's cost to compile; only a debugger reads it, and the code is the same.
# The images of tests and of commands under test do without it, so that they share compiled files.
os.environ["KERNEL_CFLAGS"] = "-g0"
# A make that a test starts is none of `make test`'s own: it would print the folder that it enters, for one.
for name in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES"):
    os.environ.pop(name, None)
# As in `make test`: programs of the Python environment are found however pytest is started.
os.environ["PATH"] = f"{Path(__file__).resolve().parents[1] / '.venv' / 'bin'}:{os.environ['PATH']}"


def processor_seconds():
    """Of this process and of its children that have ended."""
    return sum(used.ru_utime + used.ru_stime
               for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


class Meter:
    """Notes in each report its phase's processor time, which does not depend on what else the processors do."""

    def __init__(self):
        self.last = processor_seconds()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        now = processor_seconds()
        report.processor, self.last = now - self.last, now
        return report


def pytest_configure(config):
    config.pluginmanager.register(sampled)


def pytest_collection_modifyitems(items):
    """Moves folders that need no CPU cluster to where the second worker begins: else it waits while the first builds
    the cluster's generator, a minute's work."""
    def waits(item):
        folder = item.path.relative_to(BUDGET.parent).parts[0]
        return folder not in WITHOUT_CLUSTER or item.path.name in WITH_CLUSTER

    rest, half = list(filter(waits, items)), len(items) // 2
    items[:] = rest[:half] + list(itertools.filterfalse(waits, items)) + rest[half:]


def pytest_collection_finish(session):
    session.config.pluginmanager.register(Meter())


def pytest_terminal_summary(terminalreporter):
    files = defaultdict(lambda: [0.0, 0.0])
    for reports in terminalreporter.stats.values():
        for report in reports:
            if hasattr(report, "processor"):
                used = files[Path(report.fspath).as_posix()]
                used[0] += report.processor
                used[1] += report.duration
    minutes = tomllib.loads(BUDGET.read_text())
    terminalreporter.section("minutes of processor time, by folder")
    for line in table(files, minutes["minutes"], minutes["cold"]):
        terminalreporter.write_line(line)
    stale, blocks = stale_blocks()
    terminalreporter.write_line(f"{len(stale)} of {blocks} blocks of the results pages are stale "
                                "('./interlock results' lists them)")


def stale_blocks():
    """Names of the blocks of the results pages whose sources have changed, and how many blocks there are."""
    from sim.results import blocks
    return blocks.stale()


def table(files, budget, cold):
    """Lines of text: folder, minutes of processor time, budget, a cold run's time, and minutes by the clock; the
    slowest files of a folder that is over its budget; the sum.

    `files` has the seconds of each file, of processors and by the clock, by its path, `tests/FOLDER/...`; `budget` the
    minutes of each folder, `cold` those of a run that built all, as far as they are known."""
    folders = defaultdict(dict)
    for path, seconds in files.items():
        parts = Path(path).parts
        if "tests" in parts[:-2]:
            folders[parts[parts.index("tests") + 1]][path] = seconds
    everything = [0.0, 0.0]
    for folder, of_files in sorted(folders.items()):
        minutes, by_clock = (sum(used) / 60 for used in zip(*of_files.values(), strict=True))
        everything = [everything[0] + minutes, everything[1] + by_clock]
        allowed = budget.get(folder, 0)
        over = minutes > allowed
        before = f"(cold {cold[folder]:g})" if folder in cold else ""
        yield (f"{folder:<10} {minutes:6.1f} of {allowed:<3g} {before:<9} {by_clock:6.1f} by the clock"
               f"{'   over' if over else ''}")
        if over:
            slowest = sorted(of_files.items(), key=lambda item: -item[1][0])[:SLOWEST]
            yield from (f"           {used / 60:6.1f}  {path}" for path, (used, _) in slowest)
    yield (f"{'together':<10} {everything[0]:6.1f} of {sum(budget.values()):<3g} {f'(cold {sum(cold.values()):g})':<9} "
           f"{everything[1]:6.1f} by the clock")
