"""The kernel at its limits: handlers removed under load, panic while another hart masks interrupts, full stacks and
tables, long output, ticks that merge, eight harts; under every scheme, also without clock ticks.

Each scheme and each number of harts occurs in each group of tests, not each with each: ROBUST=all tries them all, with
more rounds."""

import os
import re
from itertools import product

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import boot

ALL = os.environ.get("ROBUST") == "all"
SLOW_PIC = "link_latency=152 link_delivery_delay=60 link_jitter=90"


def cases(first, second, chosen):
    """Pairs: those `chosen`, or all."""
    return list(product(first, second)) if ALL else chosen


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4, 8), SCHEMES, [
    (1, "cli-optim"), *((2, sync) for sync in SCHEMES), (4, "spl-optim"), (8, "cli-spl-pessim")]))
def test_handlers_are_taken_away_under_load(tmp_path, harts, sync):
    conditions = [f"hz=1000 {SLOW_PIC} rounds=10" if harts in (1, 4) else "hz=0 rounds=10"]
    if ALL:
        conditions += ["hz=0 rounds=30", f"hz=1000 rounds=30 {SLOW_PIC}"]
    for seed, said in enumerate(conditions, 1):
        run = boot(tmp_path / str(seed), harts, sync, f"run=test-disestablish {said}", seed)
        assert run.status == 0, f"seed {seed}: {run.report()}"
        assert run.result("test")["handled"] > 0


@pytest.mark.parametrize("misuse, sync", (("section", "spl-optim"), ("handler", "cli-optim"),
                                          ("softint", "cli-pessim")))
def test_disestablish_where_it_could_wait_for_itself(tmp_path, misuse, sync):
    run = boot(tmp_path, 1, sync, f"run=test-disestablish misuse={misuse} hz=0")
    assert run.status == 1 and "at interrupt level or in a section" in run.console, run.report()


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4, 8), SCHEMES, [
    (1, "spl-pessim"), (2, "cli-optim"), (2, "spl-optim"), (4, "cli-pessim"), (2, "cli-spl-pessim")]))
def test_timeouts_are_drained_while_they_set_themselves_again(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, f"run=test-timeout hz=5000 rounds={60 if ALL else 15}", seed=harts)
    assert run.status == 0, run.report()


@pytest.mark.parametrize("how, sync", cases(("level", "pic", "lock", "call", "called", "deaf"), SCHEMES, [
    ("level", "spl-optim"), ("level", "cli-optim"), ("pic", "spl-pessim"), ("pic", "cli-spl-pessim"),
    ("lock", "cli-pessim"), ("call", "spl-optim"), ("call", "cli-pessim"), ("called", "cli-optim"),
    ("deaf", "spl-pessim")]))
def test_panic_stops_a_hart_that_resists(tmp_path, how, sync):
    run = boot(tmp_path, 2, sync, f"run=test-panic-stop how={how} hz=0", max_cycles=3_000_000)
    assert run.status == 1 and run.record["exit"]["code"] == 0xdead, run.report()
    panic = run.console[run.console.index("panic: "):]
    assert "goes on" not in panic and "thread 3 resists" in panic, run.report()
    assert ("hart 1 did not stop" in panic) == (how == "deaf"), run.report()
    assert how == "deaf" or "the other hart stands" in panic, run.report()


@pytest.mark.parametrize("where, sync", cases(("deep", "switch", "handler", "fault"), SCHEMES, [
    ("deep", "spl-optim"), ("deep", "cli-pessim"), ("switch", "cli-optim"), ("handler", "spl-pessim"),
    ("handler", "cli-spl-pessim"), ("fault", "spl-optim")]))
def test_a_stack_that_overflows_names_its_thread(tmp_path, where, sync):
    run = boot(tmp_path, 2, sync, f"run=test-overflow where={where} hz={5000 if where == 'deep' else 0}")
    assert run.status == 1, run.report()
    assert re.search(r"thread culprit: its kernel stack of \d+ bytes has overflowed", run.console), run.report()
    report = run.console.split("has overflowed", 1)[1]
    found_by = {"deep": ["sched_tick"], "fault": ["goes_deep"]}.get(where, ["sched_give_up", "thread_exit"])
    assert any(name in report for name in found_by), run.report()   # the thread whose place lies below may be lost


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4, 8), SCHEMES, [
    (1, "spl-pessim"), (2, "cli-optim"), (4, "cli-spl-pessim"), (1, "spl-optim"), (2, "cli-pessim")]))
def test_a_full_table_of_threads_is_an_error(tmp_path, harts, sync):
    """All harts switch threads, take locks of each other and call each other."""
    turns, pages = (3, 600) if ALL else (1, 250)
    run = boot(tmp_path, harts, sync, f"run=test-full turns={turns} hz=0 by_memory=1 user.pages={pages}")
    assert run.status == 0, run.report()
    assert run.result("test")["by_memory"] > pages // 4, run.report()


def test_a_full_table_of_threads_is_eagain_for_programs(tmp_path):
    """With few ticks: at each, all the threads that fill the table check whether they may end. One of the table is
    slcintr_thread, since programs have run."""
    run = boot(tmp_path, 2, "spl-optim", "run=test-full turns=0 hz=250")
    assert run.status == 0, run.report()
    assert run.result("full") == {"threads": 6, "programs": 6}


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4), SCHEMES, [
    (1, "spl-pessim"), (2, "cli-optim"), (1, "cli-spl-pessim"), (2, "spl-optim"), (4, "cli-pessim")]))
def test_long_output_leaves_the_processor_to_others(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-console bytes=6400 hz=0", console_baud=2_000_000)
    assert run.status == 0, run.report()
    lines = [line for line in run.console.splitlines() if line.startswith("line ")]
    assert lines == [f"line {i:04} {i:052}|" for i in range(run.result("test")["lines"])]
    others = [line for line in run.console.splitlines() if "handler" in line]
    assert others and all(re.fullmatch(r"handler of source \d\d says: abcdefghijklmnopqrstuvwxyzabcd", line)
                          for line in others)


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4), SCHEMES, [
    (1, "cli-optim"), (2, "spl-pessim"), (2, "cli-pessim"), (4, "spl-optim"), (2, "cli-spl-pessim")]))
def test_characters_come_in_order_on_the_hart_of_their_port(tmp_path, harts, sync):
    (tmp_path / "in").write_bytes(bytes((7 * i + i // 256) & 255 for i in range(300)))
    run = boot(tmp_path / "out", harts, sync, "run=test-serial baud=460800 hz=0", serial_in=tmp_path / "in",
               line_baud=460800)
    assert run.status == 0, run.report()


def test_a_line_that_just_does_not_fit_waits(tmp_path):
    run = boot(tmp_path, 1, "cli-optim", "run=test-console brim=1 hz=0")
    assert run.status == 0, run.report()
    lines = [line for line in run.console.splitlines() if line.startswith("line ")]
    assert lines == [f"line {i:04} {i:0{len(line) - 11}}|" for i, line in enumerate(lines)]
    assert len(lines) == run.result("test")["lines"]


@pytest.mark.parametrize("sync", ("spl-pessim", "spl-optim"))
def test_what_a_full_receive_ring_has_no_room_for_is_dropped_and_counted(tmp_path, sync):
    (tmp_path / "in").write_bytes(bytes((7 * i + i // 256) & 255 for i in range(300)))
    run = boot(tmp_path / "out", 2, sync, "run=test-serial hold=1 baud=3000000 hz=0", serial_in=tmp_path / "in",
               line_baud=3_000_000)
    assert run.status == 0, run.report()
    assert run.result("test") == {"name": "serial", "bytes": 256, "dropped": 44}


@pytest.mark.parametrize("harts, sync", cases((1, 2, 4), SCHEMES, [
    (2, "spl-pessim"), (1, "cli-optim"), (2, "cli-spl-pessim"), (1, "spl-optim"), (4, "cli-pessim")]))
def test_time_stays_right_when_ticks_merge(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, f"run=test-clock hz=5000 rounds={12 if ALL else 8}")
    assert run.status == 0 and run.result("test")["merged"] > 0, run.report()
    assert any(line["merged"] > 0 for line in run.record["results"]["clock"])


# The tests with random rounds: with CLH locks, three times the rounds need no more nodes; with MCS locks a hart has 16.
@pytest.mark.sampled
@pytest.mark.parametrize("sync, spinlock", cases(SCHEMES, ("clh", "mcs"), [
    ("cli-spl-pessim", "clh"), ("cli-pessim", "mcs")]))
@pytest.mark.parametrize("test, rounds", (("event", 40), ("ithread", 20), ("lost", 20), ("locks", 8), ("call", 20)))
def test_nodes_of_queue_locks_come_back(tmp_path, test, rounds, sync, spinlock):
    nodes = []
    for times in (1, 15 if ALL else 3) if spinlock == "clh" else (30 if ALL else 2,):
        run = boot(tmp_path / str(times), 2, sync, f"run=test-{test} rounds={rounds * times} hz=0",
                   options={"spinlock": spinlock}, max_cycles=90_000_000)
        assert run.status == 0, run.report()
        nodes.append(run.result("spin")["nodes"] if spinlock == "clh" else 0)
    assert nodes[-1] - nodes[0] < rounds / 4, nodes
