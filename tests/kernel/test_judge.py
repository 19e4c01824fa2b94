"""POSIX's calls return what they return on the host's Linux (judge.py); `python -m tests.kernel.judge --out DIR` runs
every combination."""

import pytest

from tests.kernel import judge

PART = 499
FILES = {"files": PART, "at": 1499, "system": 5, "mmap": 1}
PROCESSES = {"vfork": 4, "waits": 4, "signals": 3, "exec": 5, "jobs": 4, "limits": 1, "rlimits": 2,
             "terminals": 1, "usage": 5}
THREADS = {"threads": 1, "pipes": 10, "contexts": 1, "locks": 9, "timers": 1, "cancel": 1}
LEFT_OUT = {"directories", "links", "rename", "sockets", "streams", "times"}       # they take longest


# Process ids that have more than 16 bits, and that wrap around.
@pytest.mark.parametrize("families, harts, sync, first", [
    (FILES, 1, "cli-optim", 2), (PROCESSES, 1, "spl-optim", 2**31 - 100), (THREADS, 2, "cli-optim", 2**15 - 1)],
    ids=["files", "processes", "threads"])
def test_calls_give_what_linux_gives(tmp_path, families, harts, sync, first):
    verdict = judge.judge(tmp_path, families, harts, sync, bootargs=f"journal=1 user.id={first}",
                          max_cycles=400_000_000)
    print(verdict.report())
    assert not verdict.wrong, verdict.report()
    assert all(count > 10 for count in verdict.lines.values()) and sum(verdict.lines.values()) > 200


def test_every_family_is_in_the_suite():
    assert FILES.keys() | PROCESSES.keys() | THREADS.keys() | LEFT_OUT == set(judge.FAMILIES)


def test_two_runs_on_the_host_give_the_same():
    """A family's output has nothing of its own: no address, no time, no process id."""
    families = dict.fromkeys(judge.FAMILIES, PART)
    first = judge.on_host(families)
    assert first == judge.on_host(families)
    assert all(text.endswith("main: end = exit 0\n") for text in first.values()), first


def verdict_of(linux, machine, whole=False):
    return judge.compare({"times": (linux, machine)}, whole)


@pytest.mark.parametrize("same", ["f: a = 1\nf: b = -1 ENOENT\n", "1 f: 1\n2 f of g: -1 ENOENT\n"])
def test_what_differs_is_found(same):
    first = same.splitlines()[0] + "\n"
    assert not verdict_of(same, same).wrong
    assert "ENOTDIR" in verdict_of(same, same.replace("ENOENT", "ENOTDIR")).wrong[0]
    assert "not compared" not in verdict_of(same, same.replace("ENOENT", "ENOTDIR")).wrong[0]
    assert "(nothing)" in verdict_of(same, first).wrong[0]
    assert "the rest is not compared" in verdict_of(same, same.removeprefix(first)).wrong[0]
    assert all(d.family in judge.FAMILIES and d.reason for d in judge.differences())
