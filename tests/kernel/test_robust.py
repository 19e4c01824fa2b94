"""What the kernel does at its limits: handlers taken away under load, panic while another hart resists, full stacks and
tables, long output, ticks that merge, eight harts; under every scheme, also without clock ticks."""

import re

import pytest

from sim.kernel import SCHEMES
from tests.kernel.machine import boot

SLOW_PIC = "pic.read=152 pic.write=152 pic.delivery=60 pic.jitter=90"


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2, 4))
def test_handlers_are_taken_away_under_load(tmp_path, harts, sync):
    for seed, conditions in ((1, "hz=0 rounds=30"), (2, f"hz=1000 rounds=15 {SLOW_PIC}")):
        run = boot(tmp_path / str(seed), harts, sync, f"run=test-disestablish {conditions}", seed)
        assert run.status == 0, f"seed {seed}: {run.report()}"
        assert run.result("test")["handled"] > 0


@pytest.mark.parametrize("misuse, sync", (("section", "spl-optim"), ("handler", "cli-optim"), ("softint", "cli-pessim")))
def test_disestablish_where_it_could_wait_for_itself(tmp_path, misuse, sync):
    run = boot(tmp_path, 1, sync, f"run=test-disestablish misuse={misuse} hz=0")
    assert run.status == 1 and "at interrupt level or in a section" in run.console, run.report()


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("how", ("level", "pic", "lock", "deaf"))
def test_panic_stops_a_hart_that_resists(tmp_path, how, sync):
    run = boot(tmp_path, 2, sync, f"run=test-panic-stop how={how} hz=0", max_cycles=3_000_000)
    assert run.status == 1 and run.record["exit"]["code"] == 0xdead, run.report()
    panic = run.console[run.console.index("panic: "):]
    assert "goes on" not in panic and "thread 3 resists" in panic, run.report()
    assert ("hart 1 did not stop" in panic) == (how == "deaf"), run.report()
    assert how == "deaf" or "the other hart stands" in panic, run.report()


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("where", ("deep", "switch", "handler"))
def test_a_stack_that_overflows_names_its_thread(tmp_path, where, sync):
    run = boot(tmp_path, 2, sync, f"run=test-overflow where={where} hz={1000 if where == 'deep' else 0}")
    assert run.status == 1 and "thread culprit: its kernel stack of 8448 bytes has overflowed" in run.console, run.report()
    assert " culprit: " in run.console.split("has overflowed", 1)[1], run.report()


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2))
def test_a_full_table_of_threads_is_an_error(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-full hz=0")
    assert run.status == 0, run.report()


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2))
def test_long_output_leaves_the_processor_to_others(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-console bytes=6400 hz=0", console_baud=2_000_000)
    assert run.status == 0, run.report()
    lines = [line for line in run.console.splitlines() if line.startswith("line ")]
    assert lines == [f"line {i:04} {i:052}|" for i in range(run.result("test")["lines"])]
    others = [line for line in run.console.splitlines() if "handler" in line]
    assert others and all(re.fullmatch(r"handler of source \d\d says: abcdefghijklmnopqrstuvwxyzabcd", line)
                          for line in others)


@pytest.mark.parametrize("sync", SCHEMES)
def test_characters_come_in_order_on_the_hart_of_their_port(tmp_path, sync):
    (tmp_path / "in").write_bytes(bytes((7 * i + i // 256) & 255 for i in range(300)))
    run = boot(tmp_path / "out", 2, sync, "run=test-serial baud=460800 hz=0", serial_in=tmp_path / "in",
               line_baud=460800)
    assert run.status == 0, run.report()


@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2))
def test_time_stays_right_when_ticks_merge(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-clock hz=5000 rounds=12")
    assert run.status == 0 and run.result("test")["merged"] > 0, run.report()
    assert any(line["merged"] > 0 for line in run.record["results"]["clock"])


@pytest.mark.parametrize("sync", SCHEMES)
def test_eight_harts(tmp_path, sync):
    """All of them switch threads, take locks of each other and call each other."""
    run = boot(tmp_path, 8, sync, "run=test-full hz=0")
    assert run.status == 0, run.report()


# The tests with random rounds, with the algorithms whose nodes must come back.
@pytest.mark.parametrize("test, rounds", (("event", 700), ("ithread", 300), ("lost", 600), ("scheduler", 60),
                                          ("locks", 60)))
def test_nodes_of_queue_locks_come_back(tmp_path, test, rounds):
    run = boot(tmp_path, 2, "cli-optim", f"run=test-{test} rounds={rounds} hz=0", options={"spinlock": "clh"},
               max_cycles=60_000_000)
    assert run.status == 0, run.report()
