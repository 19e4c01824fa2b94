"""The runner over a stub simulator: order, failures, interruption, the run whose latency is solved from others."""

import json
import os
import signal
import threading
import time

import pytest

from sim.experiments.definition import input_file
from sim.experiments.machine import Machine
from sim.results import record, report, tables
from sim.sweep.runner import Interrupted
from sim.sweep.store import Store
from sim.sweep.worker import digest_of

SMALL = ("harts=1", "link_latency=0,100", "schemes=spl-pessim,cli-optim", "size=16", "sweep=1000")


def failures(runner):
    return {failure.id: failure.reason for failure in runner.failures}


def test_records_of_a_whole_experiment(bench):
    runner = bench.run(*SMALL)
    assert not runner.failures
    context, records = tables.collect(runner.out)
    assert [made["id"] for made in records] == context["runs"] == [
        "table5-l0", "table5-l100", "serial-h1-spl-pessim-l0", "serial-h1-spl-pessim-l100", "serial-h1-cli-optim-l0",
        "serial-h1-cli-optim-l100", "match-l147"]
    made = records[2]
    assert made["image_sha256"] == digest_of(bench.image_of((Machine(1), "spl-pessim", (), ("serial",))))
    assert made["received"] == {"sent": 16, "received": 16, "identical": True, "first_difference": None}
    assert made["parameters"]["link_latency"] == 0 and made["soc"] == {"harts": 1} and made["tools"] == {"g++": "12"}
    assert len((runner.out / "records.jsonl").read_text().splitlines()) == 7
    assert (runner.out / "serial-16-seed1.bin").read_bytes() == input_file(1, 16)


def test_the_longest_run_first(bench):
    bench.run("harts=1,4", "link_latency=0,1200", "schemes=spl-pessim", "size=16", "sweep=1000", jobs=1)
    order = bench.order()
    assert order[0] == "table5-l1200"
    assert order.index("serial-h4-spl-pessim-l0") < order.index("serial-h1-spl-pessim-l0")


def test_the_match_is_where_the_papers_cost_is(bench):
    runner = bench.run(*SMALL)
    match = next(made for made in record.read(runner.out)[1] if made["kind"] == "match")
    assert match["parameters"]["link_latency"] == 147     # 10 + 2 x 147 = 304


def test_one_latency_gives_no_match_and_says_so(bench):
    runner = bench.run("harts=1", "link_latency=75", "schemes=spl-pessim", "size=16")
    context, records = record.read(runner.out)
    assert [made["kind"] for made in records] == ["table5", "serial"]
    assert "two places" in context["notes"][0]


def test_same_inputs_same_records(bench):
    first, second = (bench.run(*SMALL, out=name, jobs=jobs) for name, jobs in (("a", 1), ("b", 2)))
    assert ([record.stable(made) for made in record.read(first.out)[1]]
            == [record.stable(made) for made in record.read(second.out)[1]])
    assert (report.write(first.out)[0]) == report.write(second.out)[0]
    assert (first.out / "report.md").read_bytes() == (second.out / "report.md").read_bytes()


@pytest.mark.parametrize("plan, said", [
    ({"status": 1, "reason": "the target ended with code 7"}, "with an error: the target ended with code 7"),
    ({"status": 2, "reason": "no room"}, "the simulator refused its input: no room"),
    ({"status": 3, "reason": "the limit of 5 cycles was reached"}, "of time was reached: the limit of 5 cycles"),
    ({"status": 4, "reason": "no sign of life"}, "the target hangs: no sign of life"),
    ({"kill": True}, "the simulator was killed (signal 9), as the kernel does when memory runs out"),
    ({"truncate": True}, "is not whole"),
    ({"mute": True}, "the target printed no @serial line"),
    ({"damage": True}, "16 of 16 bytes received, the first difference at byte 0, and no loss counted"),
    ({"received": 12}, "12 of 16 bytes received, the first difference at byte 12, and no loss counted"),
])
def test_a_failed_run_is_named_and_the_others_go_on(bench, plan, said):
    failing = "serial-h1-cli-optim-l100"
    bench.plan = {failing: plan | {"console": "panic: nothing works\n"}}
    runner = bench.run(*SMALL)
    assert list(failures(runner)) == [failing]
    assert said in failures(runner)[failing]
    assert len(record.read(runner.out)[1]) == 7
    failure = runner.failures[0]
    assert failure.console[-1] == "panic: nothing works"
    assert "--console tty" in failure.command and "link_latency=100" in failure.command
    summary, _ = report.write(runner.out)
    assert [row["id"] for row in summary["failures"]] == [failing]
    assert failing not in {row["id"] for row in summary["serial"]}


def test_counted_loss_is_a_result(bench):
    lossy = "serial-h1-spl-pessim-l100"
    bench.plan = {lossy: {"received": 12, "overruns": 4, "status": 1, "reason": "the target ended with code 1"}}
    runner = bench.run(*SMALL)
    assert not runner.failures
    summary, tables = report.write(runner.out)
    row = next(row for row in summary["serial"] if row["id"] == lossy)
    assert (row["received"], row["sent"], row["identical"], row["overruns"]) == (12, 16, False, 4)
    overhead = next(table for table in tables if table.title.startswith("Overhead") and "by the model" in table.title)
    assert [cell.endswith("!") for cell in overhead.rows[0]] == [False, False, True]


def test_a_receiver_that_does_not_keep_up_is_marked(bench):
    # A character is 5,208 cycles, and 16 of them fit the FIFO.
    bench.plan = {"serial-h1-spl-pessim-l0": {"feed_ended": 60_000 - 16 * 5208},
                  "serial-h1-spl-pessim-l100": {"feed_ended": 60_000 - 17 * 5208}}
    _, tables = report.write(bench.run(*SMALL).out)
    overhead = next(table for table in tables if table.title.startswith("Overhead") and "by the model" in table.title)
    assert [cell.endswith("~") for cell in overhead.rows[0]] == [False, False, True]
    assert any("keep up" in note for note in overhead.notes)


@pytest.fixture
def ctrl_c():
    """Ctrl-C counts here even if the tests are a shell's background job, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_keeps_what_is_finished(bench, ctrl_c):
    bench.plan = {"serial-h1-cli-optim-l100": {"sleep": 60}}
    runner = bench.runner(*SMALL)
    seen = []

    def watch(progress):
        seen.append(progress)
        if progress.done == 6 and not threads:
            threads.append(threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)))
            threads[0].start()

    threads = []
    begin = time.monotonic()
    with pytest.raises(Interrupted):
        runner.execute(bench.targets(runner), watch)
    assert time.monotonic() - begin < 20
    _, records = record.read(runner.out)
    assert len(records) == 6 and "serial-h1-cli-optim-l100" not in {made["id"] for made in records}
    interrupted = json.loads((runner.out / "runs/serial-h1-cli-optim-l100/run.json").read_text())
    assert interrupted["reason"] == "interrupted"   # it was asked to end, not killed
    summary, _ = report.write(runner.out)
    assert (summary["finished"], summary["asked"]) == (6, 7)


def test_what_ran_before_is_not_run_again(bench):
    first = bench.run(*SMALL, out="a", store=Store(bench.folder / "kept"))
    assert len(bench.order()) == 7 and first.reused == 0
    more = ("harts=1", "link_latency=0,100", "schemes=spl-pessim,cli-optim,cli-pessim", "size=16", "sweep=1000")
    second = bench.run(*more, out="b", store=Store(bench.folder / "kept"))
    assert (len(bench.order()), second.reused) == (9, 7)
    before, now = (dict((made["id"], made) for made in record.read(runner.out)[1]) for runner in (first, second))
    for name, made in before.items():
        assert record.stable(now[name]) == record.stable(made)
        assert now[name]["host"] == made["host"] | {"reused": True}
        for file in (first.out / "runs" / name).iterdir():
            if file.name != "record.json":
                assert (second.out / "runs" / name / file.name).read_bytes() == file.read_bytes()


@pytest.mark.parametrize("change", ["simulator", "image", "seed", "size"])
def test_another_input_is_another_run(bench, change):
    bench.run(*SMALL, out="a", store=Store(bench.folder / "kept"))
    if change == "simulator":
        with open(bench.simulator, "a") as file:
            file.write("# another\n")
    elif change == "image":
        bench.image = b"another"
    runner = bench.run(*SMALL, *{"seed": ["seed=2"], "size": ["size=17"]}.get(change, ()), out="b",
                       store=Store(bench.folder / "kept"))
    # The seed is an argument of every run, the size one of the serial runs.
    assert runner.reused == (3 if change == "size" else 0)


def test_each_seed_has_a_file_of_its_own_for_the_line(bench):
    bench.run(*SMALL)
    assert not bench.run(*SMALL, "seed=2").failures         # into the same directory
    assert (bench.folder / "out/serial-16-seed2.bin").read_bytes() == input_file(2, 16)


def test_a_damaged_kept_run_is_run_again(bench):
    bench.run(*SMALL, out="a", store=Store(bench.folder / "kept"))
    damaged, cut = sorted((bench.folder / "kept").glob("*/*/run.json"))[:2]
    damaged.write_text(damaged.read_text().replace("70000", "70001"))
    (cut.parent / "kept.json").write_text("{")
    assert bench.run(*SMALL, out="b", store=Store(bench.folder / "kept")).reused == 5
    assert bench.run(*SMALL, out="c", store=Store(bench.folder / "kept")).reused == 7


def test_a_failed_run_is_run_again(bench):
    failing = "serial-h1-cli-optim-l100"
    bench.plan = {failing: {"status": 4}}
    bench.run(*SMALL, out="a", store=Store(bench.folder / "kept"))
    bench.plan = {}
    assert bench.run(*SMALL, out="b", store=Store(bench.folder / "kept")).reused == 6
    assert bench.order().count(failing) == 2


def test_a_fresh_run_must_repeat(bench):
    bench.run(*SMALL, out="a", store=Store(bench.folder / "kept"))
    bench.plan = {"table5-l0": {"digest": "fedcba9876543210"}}
    runner = bench.run(*SMALL, out="b", store=Store(bench.folder / "kept"), fresh=True)
    assert runner.reused == 0
    assert list(failures(runner)) == ["table5-l0"]
    assert "digest 0123456789abcdef before, fedcba9876543210 now" in failures(runner)["table5-l0"]


def test_a_stopped_experiment_goes_on_where_it_was(bench):
    bench.run(*SMALL)
    for lost in ("serial-h1-cli-optim-l100", "match-l147"):
        (bench.folder / "out/runs" / lost / "record.json").unlink()
    runner = bench.run(*SMALL)          # without a store: from its own directory
    assert (runner.reused, len(bench.order()), len(record.read(runner.out)[1])) == (5, 9, 7)


def test_progress_reaches_the_end(bench):
    seen = []
    bench.run(*SMALL, report=seen.append)
    assert (seen[-1].done, seen[-1].total, seen[-1].cycles) == (7, 7, 7 * 70000)
    assert seen[-1].left_s == pytest.approx(0)


def test_a_directory_that_cannot_be_made_gets_one_line(bench):
    (bench.folder / "out").write_text("in the way")
    with pytest.raises(record.RecordError, match="out/runs cannot be made"):
        bench.runner(*SMALL)
