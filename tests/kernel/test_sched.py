"""The scheduler, its accounting, and the master restriction. The tests themselves are kernel code: kernel/test/."""

import pytest

from tests.kernel.machine import CHECKED, TIMED, boot
from tests.kernel.test_schemes import CONDITIONS

# harts, scheme, run queues, lock debugging
MACHINES = [
    (1, "cli-spl-pessim", "global", "0"), (2, "cli-pessim", "global", "1"), (2, "cli-optim", "per-hart", "1"),
    (4, "spl-pessim", "per-hart", "0"), (8, "spl-optim", "per-hart", "0"),
]
ACTIVITIES = ("user", "system", "interrupt", "spinning", "idle")


# Three times what they take: where a clock ticks, this is the only way to find an endless wait.
SCHEDULER_MAX_CYCLES = 6_000_000


@pytest.mark.parametrize("harts, sync, queue, debug", MACHINES)
def test_scheduler(tmp_path, harts, sync, queue, debug):
    seed = MACHINES.index((harts, sync, queue, debug)) + 1
    rounds = 4 if harts == 8 else 10
    bootargs = f"run=test-scheduler hz=1000 rounds={rounds} {CONDITIONS[seed % len(CONDITIONS)]}"
    run = boot(tmp_path, harts, sync, bootargs, seed, max_cycles=SCHEDULER_MAX_CYCLES,
               options={"runqueue": queue} | (CHECKED[sync] if debug == "1" else {}))
    assert run.status == 0, run.report()
    result = run.result("test")
    assert (result["name"], result["runqueue"]) == ("scheduler", queue)
    assert (result["stolen"] > 0) == (queue == "per-hart" and harts > 1)


@pytest.mark.parametrize("harts, sync, queue", [(2, "spl-optim", "global"), (2, "spl-pessim", "per-hart")])
def test_a_joined_threads_place_is_free(tmp_path, harts, sync, queue):
    run = boot(tmp_path, harts, sync, "run=test-join hz=0", options={"runqueue": queue})
    assert run.status == 0, run.report()
    assert run.result("test") == {"name": "join", "threads": 54}


@pytest.mark.parametrize("harts, sync, options, hz", [
    (1, "cli-optim", {"runqueue": "global"}, 1000), (2, "spl-pessim", {"runqueue": "per-hart"}, 1000),
    (2, "spl-optim", {}, 0), (4, "cli-pessim", {}, 1000), (1, "spl-optim", {"unix": "serial"}, 1000),
    (2, "spl-optim", {"unix": "serial"}, 1000), (4, "spl-optim", {"unix": "serial"}, 1000)])
def test_master(tmp_path, harts, sync, options, hz):
    run = boot(tmp_path, harts, sync, f"run=test-master hz={hz} rounds=8 intr.master=1", harts, options=options)
    assert run.status == 0, run.report()
    assert run.result("test") == {"name": "master", "handled": harts, "elsewhere": 0}


def test_release_without_master_panics(tmp_path):
    run = boot(tmp_path, 1, "spl-optim", "run=test-release")
    assert run.status == 1 and "unix_release without unix_master" in run.console, run.report()


@pytest.mark.parametrize("harts, sync", [(1, "spl-pessim"), (2, "cli-optim")])
def test_accounts_sum_to_what_elapsed(tmp_path, harts, sync):
    """To the cycle; and the simulator, which counts from outside, agrees up to the trap's own instructions."""
    run = boot(tmp_path, harts, sync, "run=test-threads hz=1000", 3, options=TIMED)
    assert run.status == 0, run.report()
    accounts = run.record["results"]["accounting"]
    assert [account["hart"] for account in accounts] == list(range(harts))
    for account, hart in zip(accounts, run.record["harts"], strict=True):
        assert sum(account[activity] for activity in ACTIVITIES) == account["elapsed"]
        assert account["user"] == 0 and account["idle"] > 0 and account["interrupt"] > 0 and account["system"] > 0
        outside = hart["statistics"]["accounting"]
        assert sum(outside.values()) == run.record["cycles"]
        late = run.record["cycles"] - account["elapsed"]      # before the scheduler starts, and printing the account
        assert account["idle"] == pytest.approx(outside["idle"], abs=late)
        assert account["spinning"] == pytest.approx(outside["spinning"], rel=0.2, abs=late)
    assert harts == 1 or all(account["spinning"] > 0 for account in accounts)


@pytest.mark.parametrize("queue", ("global", "per-hart"))
def test_thread_switch_is_near_its_floor(tmp_path, queue):
    run = boot(tmp_path, 1, "spl-optim", "run=switch-floor hz=0 iterations=100", options={"runqueue": queue})
    assert run.status == 0, run.report()
    assert run.result("switch_floor")["ratio"] <= 1.5
