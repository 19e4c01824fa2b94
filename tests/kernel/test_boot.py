"""The kernel boots, reports errors, and receives a file."""

import random
import re
import zlib

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import boot, converse


@pytest.mark.parametrize("harts", (1, 2, 4, 8))
def test_every_hart_says_hello(tmp_path, harts):
    run = boot(tmp_path, harts, "spl-optim", "run=hello")
    assert run.status == 0, run.report()
    assert [line.split(",")[0] for line in run.console.splitlines() if line.startswith("hello")] == \
        [f"hello from hart {h}" for h in range(harts)]


@pytest.mark.parametrize("harts", (1, 2))
def test_panic_names_the_functions(tmp_path, harts):
    run = boot(tmp_path, harts, "cli-pessim", "run=test-panic")
    assert run.status == 1 and run.record["exit"]["code"] == 0xdead, run.report()
    assert "panic: hart" in run.console and "on purpose, 2" in run.console
    order = [run.console.index(f" {name}") for name in ("panics_inside", "panics_outside", "panic_test", "main_thread")]
    assert order == sorted(order)
    assert "thread main" in run.console


def test_exception_names_cause_and_place(tmp_path):
    run = boot(tmp_path, 1, "spl-pessim", "run=test-exception")
    assert run.status == 1, run.report()
    assert "load address misaligned" in run.console
    assert run.console.index(" loads_from") < run.console.index(" exception_test")


def test_relock_is_caught(tmp_path):
    run = boot(tmp_path, 1, "spl-pessim", "run=test-relock")
    assert run.status == 1 and "simple lock taken twice: hart 0 takes it again" in run.console, run.report()


def test_sleep_in_handler_is_caught(tmp_path):
    run = boot(tmp_path, 1, "spl-optim", "run=test-sleep-in-handler")
    assert run.status == 1 and "sleep at interrupt level" in run.console, run.report()


def test_monitor(tmp_path):
    run = converse(tmp_path, 2, "spl-optim", "run=monitor", [
        "harts", "threads", "interrupts", "ithreads", "latency 100 200", "latency 70000", "run hellp\bo", "nonsense",
        "exit"])
    assert run.status == 0, run.report()
    for line in ("hart  thread", "thread 0 idle: running", "console port", "interrupt thread  source", "0 to 65535",
                 "hello from hart 1",
                 "exit code 0", "harts | threads"):
        assert line in run.console, run.report()


def test_unknown_run_lists_what_there_is(tmp_path):
    run = boot(tmp_path, 1, "spl-optim", "run=nonsense", runs=("test-debug",))
    assert run.status == 1 and run.record["exit"]["code"] == 2, run.report()
    listed = set(re.findall(r"run=(\S+) ", run.console.partition("there is no such run")[2]))
    assert {"hello", "test-debug", "test-debug-deaf"} <= listed and "table5" not in listed, run.report()


def test_bad_number_is_named(tmp_path):
    run = boot(tmp_path, 1, "spl-optim", "run=hello link_read_latency=65536")
    assert run.status == 1, run.report()
    assert "boot argument link_read_latency=65536: give a number from 0 to 65535" in run.console


@pytest.mark.sampled
@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2, 4))
def test_file_received_byte_for_byte(tmp_path, harts, sync):
    data = random.Random(7).randbytes(70)       # not a multiple of the trigger level: the rest comes by time-out
    (tmp_path / "in").write_bytes(data)
    run = boot(tmp_path / "out", harts, sync,
               f"run=serial bytes={len(data)} baud=115200 crc={zlib.crc32(data):08x} link_latency=300",
               serial_in=tmp_path / "in")
    assert run.status == 0, run.report()
    result = run.result("serial")
    assert (result["bytes"], result["overruns"], result["dropped"]) == (len(data), 0, 0)
    assert (run.folder / "blob-1.bin").read_bytes() == data


def test_missing_bytes_are_noticed(tmp_path):
    (tmp_path / "in").write_bytes(bytes(20))
    run = boot(tmp_path / "out", 1, "spl-optim", "run=serial bytes=24 hz=1000", serial_in=tmp_path / "in",
               max_cycles=100_000_000)
    assert run.status == 1 and "20 of 24 bytes came" in run.console, run.report()


def test_table5_orders_the_primitives(tmp_path):
    """Off-chip costs two accesses more than their latency; on-chip and flag do not depend on it (Table 5)."""
    cost = {}
    for latency in (152, 304):
        run = boot(tmp_path / str(latency), 1, "spl-optim",
                   f"run=table5 iterations=500 link_latency={latency}")
        assert run.status == 0, run.report()
        cost[latency] = {line["scheme"]: line["cycles_per_pair"] for line in run.record["results"]["table5"]}
    assert cost[304]["spl-pessim"] - cost[152]["spl-pessim"] == pytest.approx(2 * 152, abs=1)
    for scheme in set(SCHEMES) - {"spl-pessim"}:
        assert cost[304][scheme] == pytest.approx(cost[152][scheme], abs=0.5)
    assert cost[152]["spl-optim"] < cost[152]["spl-pessim"] / 10
