"""User mode: programs in address spaces of their own, system calls, and the fate of a program that misbehaves. The
programs check themselves (user/programs/); under each scheme, as user mode is entered and left through it."""

import os

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, boot

# The long form: FUZZ_CALLS=1000.
CALLS = int(os.environ.get("FUZZ_CALLS", "100"))

SCHEME_ON = dict(zip((1, 2, 4), ("spl-optim", "cli-optim", "spl-pessim"), strict=True))


def run_program(folder, harts, sync, program, args="", more="", **boot_arguments):
    run = boot(folder, harts, sync, f"run=user program={program} args={args} hz=1000 {more}", **boot_arguments)
    assert "panic" not in run.console, run.report()
    return run


@pytest.mark.parametrize("harts", (1, 2, 4))
def test_program_has_its_arguments_and_the_c_library(tmp_path, harts):
    run = run_program(tmp_path, harts, SCHEME_ON[harts], "hello", "first,second")
    assert run.status == 0, run.report()
    assert f"hello from hello, process 2 first second, harts {harts}" in run.console


def test_status_of_the_program_is_that_of_the_run(tmp_path):
    run = run_program(tmp_path / "exit", 1, "spl-optim", "status", "7")
    assert run.record["exit"]["code"] == 7, run.report()
    run = run_program(tmp_path / "signal", 1, "spl-optim", "crash", "store-null")
    assert run.record["exit"]["code"] == 128 + 11, run.report()
    assert "crash, process 2: store page fault at pc " in run.console


def test_unknown_program_lists_what_there_is(tmp_path):
    run = run_program(tmp_path, 1, "spl-optim", "nonsense")
    assert run.record["exit"]["code"] == 2, run.report()
    assert "program=nonsense: there is no such program" in run.console and "program=hello" in run.console


def test_system_calls_do_what_they_say(tmp_path):
    run = run_program(tmp_path, 2, "cli-optim", "calls", max_cycles=13_000_000)     # three times what it takes
    assert run.status == 0 and run.result("calls")["checks"] >= 86, run.report()


def test_a_wild_access_ends_the_program_only(tmp_path):
    run = run_program(tmp_path, 1, "cli-optim", "crashes")
    assert run.status == 0 and run.result("crashes") == {"ways": 23, "wrong": 0}, run.report()


@pytest.mark.sampled
@pytest.mark.parametrize("harts,sync", [(2, sync) for sync in SCHEMES] + [(1, "cli-pessim"), (4, "spl-optim")])
def test_threads_of_a_process(tmp_path, harts, sync):
    """Preemption in user mode, a lock on a futex, and an exit that ends threads in user mode on other harts."""
    run = run_program(tmp_path, harts, sync, "threads", options={"runqueue": "per-hart"} if harts == 4 else None)
    assert run.status == 0, run.report()
    assert run.result("threads")["count"] == 240


@pytest.mark.parametrize("harts,sync", ((2, "cli-optim"), (4, "spl-pessim")))
def test_a_thread_in_user_mode_ends_with_its_process_without_ticks(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=user program=threads args=spins hz=0", max_cycles=3_000_000)
    assert run.status == 0, run.report()


def test_a_process_ends_while_it_reads(tmp_path):
    run = run_program(tmp_path, 2, "spl-optim", "echo", "leave")
    assert run.record["exit"]["code"] == 3, run.report()


def test_memory_that_runs_out_is_an_error(tmp_path):
    run = run_program(tmp_path, 1, "spl-optim", "hog", more="user.pages=200")
    assert run.status == 0, run.report()
    result = run.result("hog")
    assert 20 < result["pages"] < 200 and result["spawn"] == -12


def test_a_full_table_of_threads_is_an_error(tmp_path):
    run = run_program(tmp_path, 2, "cli-optim", "full", more="threads=64")
    assert run.status == 0, run.report()
    assert run.result("full") == {"threads": 59, "programs": 0}


@pytest.mark.parametrize("sync,harts,seeds", (("spl-optim", 1, 2), ("cli-optim", 2, 1), ("cli-pessim", 2, 1),
                                              ("spl-pessim", 4, 1), ("cli-spl-pessim", 1, 1)))
def test_random_system_calls_do_no_harm(tmp_path, sync, harts, seeds):
    for seed in range(1, seeds + 1):
        run = boot(tmp_path / str(seed), harts, sync,
                   f"run=test-user-fuzz calls={CALLS} hz=8000 user.pages=300 ram_jitter=9 lockstat=none", seed,
                   options=CHECKED.get(sync) if seed == 1 else None)
        assert run.status == 0, f"seed {seed}: {run.report()}"
        assert run.result("test")["calls"] > 100


@pytest.mark.parametrize("harts", (1, 2, 4))
def test_system_call_costs(tmp_path, harts):
    run = boot(tmp_path, harts, "spl-optim", "run=syscall-cost hz=0")
    assert run.status == 0, run.report()
    cost = run.result("syscall_cost")
    assert 50 < cost["null"] < cost["thread_switch"] < cost["process_switch"] < cost["spawn"]
    assert cost["null"] < cost["yield"] < cost["process_switch"]  # alone or not, the path is the same
