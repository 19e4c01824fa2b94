"""Which cases of a parametrised test the suite runs: `@pytest.mark.sampled` keeps so many that each value of each
parameter occurs, not each with each; `@pytest.mark.sampled(20)` at least twenty. TESTS=all in the environment runs all.

The test's name is the seed, so the cases are always the same. Those that a planted fault names (tests/faults)
and those that the command line names are among them.
"""

import functools
import os
import random
import re
from collections import defaultdict
from pathlib import Path

import pytest

MARK = "sampled"
FAULTS = Path(__file__).with_name("faults")
NAMED = re.compile(r'"(tests/[^"]+\[[^"]+\])"')


@functools.cache
def of_faults() -> frozenset[str]:
    """The cases that lists of planted faults name."""
    return frozenset(name for path in FAULTS.glob("*.toml") for name in NAMED.findall(path.read_text()))


def values(item):
    """The case's value of each parameter, as pairs that compare by their text."""
    return {(name, repr(value)) for name, value in item.callspec.params.items()}


def drawn(cases, seed, at_least, always):
    """Those of `cases` to run, in their order."""
    order = random.Random(seed).sample(cases, len(cases))
    chosen = [case for case in cases if case.nodeid in always]
    missing = set().union(*map(values, cases)).difference(*map(values, chosen))
    while missing or len(chosen) < min(at_least, len(cases)):
        best = max((case for case in order if case not in chosen), key=lambda case: len(missing & values(case)))
        chosen.append(best)
        missing -= values(best)
    return [case for case in cases if case in chosen]


def left_out(items, named):
    """The collected `items` that are not run; `named` are pytest's arguments."""
    always = of_faults() | set(named)
    groups = defaultdict(list)
    for item in items:
        if hasattr(item, "callspec") and item.get_closest_marker(MARK):
            groups[item.nodeid.partition("[")[0]].append(item)
    skipped = []
    for name, cases in groups.items():
        at_least = next(iter(cases[0].get_closest_marker(MARK).args), 1)
        kept = drawn(cases, name, at_least, always)
        skipped += [case for case in cases if case not in kept]
    return skipped


def pytest_configure(config):
    config.addinivalue_line("markers", f"{MARK}(least): not every case is run (tests/sampled.py)")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    if os.environ.get("TESTS") != "all" and (skipped := left_out(items, config.args)):
        config.hook.pytest_deselected(items=skipped)
        gone = set(map(id, skipped))
        items[:] = [item for item in items if id(item) not in gone]
