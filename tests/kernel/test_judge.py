"""POSIX's calls give what they give on the host's Linux (judge.py); `python -m tests.kernel.judge --out DIR` has every
combination."""

import pytest

from tests.kernel import judge

PART = 61
SHORT = ("at", "files", "links", "rename")    # the others take as long as these together


def test_calls_give_what_linux_gives(tmp_path):
    verdict = judge.judge(tmp_path, SHORT, PART)
    print(verdict.report())
    assert not verdict.wrong, verdict.report()
    assert sum(verdict.lines.values()) > 400


def test_the_ends_of_what_calls_take_are_linuxs(tmp_path):
    """Each last value that is right, and each first that is not (judge/limits.c)."""
    verdict = judge.judge(tmp_path, ["limits"])
    assert not verdict.wrong, verdict.report()
    assert verdict.lines["limits"] > 290


@pytest.mark.parametrize("family", judge.FAMILIES)
def test_two_runs_on_the_host_give_the_same(family):
    """What a family shows is nothing of its own: no address, no time, no number of a process."""
    first = judge.on_host([family], PART)
    assert first == judge.on_host([family], PART)
    assert first[family].endswith("main: end = exit 0\n"), first[family][-300:]


def verdict_of(linux, machine, whole=False):
    return judge.compare({"times": (linux, machine)}, whole)


def test_what_differs_is_found():
    same = "f: a = 1\nf: b = -1 ENOENT\n"
    assert not verdict_of(same, same).wrong
    assert "ENOTDIR" in verdict_of(same, same.replace("ENOENT", "ENOTDIR")).wrong[0]
    assert "(nothing)" in verdict_of(same, "f: a = 1\n").wrong[0]
    assert "the rest is not compared" in verdict_of(same, "f: b = -1 ENOENT\n").wrong[0]
    assert all(d.family in judge.FAMILIES and d.reason for d in judge.differences())
