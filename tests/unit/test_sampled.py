"""Which cases of a parametrised test are run (tests/sampled.py)."""

import itertools
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from support.cache import REPO
from tests import sampled

PRODUCT = list(itertools.product("abcde", (1, 2, 4)))


def cases(of=PRODUCT):
    return [SimpleNamespace(nodeid=f"t.py::t[{x}-{y}]", callspec=SimpleNamespace(params={"x": x, "y": y}))
            for x, y in of]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("at_least", (1, 7, 15, 99))
def test_each_value_occurs_and_no_more_than_have_to(seed, at_least):
    kept = sampled.drawn(every := cases(), seed, at_least, ())
    assert set().union(*map(sampled.values, kept)) == set().union(*map(sampled.values, every))
    assert len(kept) == min(max(at_least, 5), 15)
    assert kept == sampled.drawn(every, seed, at_least, ()) == [case for case in every if case in kept]


def test_the_sample_is_another_for_another_test():
    assert len({tuple(case.nodeid for case in sampled.drawn(cases(), seed, 1, ())) for seed in "abcdefgh"}) > 4


def test_named_cases_stay():
    always = ("t.py::t[a-1]", "t.py::t[a-2]", "t.py::t[a-4]")
    kept = [case.nodeid for case in sampled.drawn(cases(), 1, 1, always)]
    assert set(always) < set(kept) and len(kept) == 3 + 4


TEST = """
import pytest
@pytest.mark.sampled(%s)
@pytest.mark.parametrize("x", "abcde")
@pytest.mark.parametrize("y", (1, 2, 4))
def test_it(x, y):
    pass
"""


@pytest.mark.parametrize("least, environment, named, passed", [
    ("", {}, [], 5), ("8", {}, [], 8), ("", {"TESTS": "all"}, [], 15), ("", {}, ["1-a", "1-b", "2-b", "4-b"], 4)])
def test_pytest_runs_the_sample(tmp_path, least, environment, named, passed):
    (tmp_path / "test_it.py").write_text(TEST % least)
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.sampled",
                           *([f"test_it.py::test_it[{name}]" for name in named] or ["test_it.py"])],
                          cwd=tmp_path, capture_output=True, text=True,
                          env=os.environ | {"TESTS": "", "PYTHONPATH": str(REPO)} | environment)
    assert f"{passed} passed" in done.stdout, done.stdout
