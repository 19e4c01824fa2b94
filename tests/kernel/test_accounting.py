"""The kernel's account of each hart's time and the simulator's agree: user, system, interrupt, spinning, idle.

Both sum to the elapsed cycles, exactly. They differ by the code between an event that the simulator sees, such as the
trap, and the instruction with which the kernel reads its counter: saving registers, and the kernel's own accounting.
That is less than the test's handlers take, which also count their own cycles: a handler in a wrong account is noticed.
"""

from collections import Counter

import pytest

from tests.kernel.machine import TIMED, boot

PER_INTERRUPT = 600     # cycles, both ways together
PER_MISS = 400
PER_IDLE = 400          # for each wait of the hart: 200 with all code cached, the rest are cache misses of four harts
PER_USER_TRAP = 450


@pytest.mark.parametrize("harts, sync", [(1, "spl-pessim"), (2, "cli-optim"), (4, "spl-pessim")])
def test_inside_and_outside_agree(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-accounting hz=1000 rounds=4", seed=1, options=TIMED,
               probe_log=True)
    assert run.status == 0, run.report()
    waits = Counter(hart for hart, event in run.window_events() if event == "idle_begin")
    window = run.record["window"]["cycles"]
    misses = sum(entry["misses"] for entry in run.record["locks"]["classes"])
    lines = run.record["results"]["accounted"]
    assert [line["hart"] for line in lines] == list(range(harts))
    for line, hart in zip(lines, run.record["harts"], strict=True):
        statistics = hart["statistics"]
        outside = statistics["accounting"]
        assert sum(outside.values()) == window
        assert sum(line[account] for account in outside) == line["elapsed"]
        assert abs(line["elapsed"] - window) < 2000     # the kernel reads one hart after the other
        assert line["user"] == outside["user"] == 0
        assert 0 <= outside["interrupt"] - line["interrupt"] <= PER_INTERRUPT * statistics["interrupts"]
        assert 0 <= outside["spinning"] - line["spinning"] <= PER_MISS * misses
        # Any interrupt ends the wait, also one that wakes no thread; one wait may be under way where the window begins.
        assert 0 <= line["idle"] - outside["idle"] <= PER_IDLE * (waits[line["hart"]] + 1)
        assert min(outside["interrupt"], outside["idle"], outside["system"]) > 1000, "there was nothing to account for"
    assert harts == 1 or misses > 0


def test_accounts_of_a_whole_run_are_printed(tmp_path):
    run = boot(tmp_path, 2, "cli-optim", "run=hello", options=TIMED)
    assert run.status == 0, run.report()
    for line in run.record["results"]["accounting"]:
        assert sum(line[account] for account in ("user", "system", "interrupt", "spinning", "idle")) == line["elapsed"]


@pytest.mark.parametrize("harts, sync, program", [(1, "spl-pessim", "calls"), (2, "cli-optim", "threads")])
def test_time_in_user_mode_agrees(tmp_path, harts, sync, program):
    """The kernel's time in a program's system calls and in interrupts is not the program's time."""
    run = boot(tmp_path, harts, sync, f"run=user program={program} hz=1000", seed=1, options=TIMED)
    assert run.status == 0, run.report()
    for line, hart in zip(run.record["results"]["accounting"], run.record["harts"], strict=True):
        statistics = hart["statistics"]
        assert 0 <= line["user"] - statistics["accounting"]["user"] <= PER_USER_TRAP * statistics["traps"]
        assert line["system"] > PER_USER_TRAP * statistics["traps"], "there was nothing that could be accounted wrongly"
