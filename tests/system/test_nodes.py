"""Several machines in one run: characters circulate over serial lines, however the machines are simulated."""

import csv
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from sim.experiments import definition
from sim.images.kernel import build_kernel
from sim.model.build import build_simulator
from sim.results import record, tables
from sim.sweep.local import LocalPool
from sim.sweep.runner import Runner, build_targets
from sim.sweep.store import Store
from sim.wires.nodes import ring
from soc.config import SoCConfig
from tests.kernel.machine import kernel_of

BAUD = 6_000_000
LAPS, BYTES, LATENCY = 2, 4, 60
BOOTARGS = f"hz=0 console.baud={BAUD} baud={BAUD} laps={LAPS} bytes={BYTES} start=5000"


@pytest.fixture(scope="module")
def machine():
    """Simulates: options -> status and output. The options that all runs have are included."""
    config = SoCConfig()
    simulator = build_simulator(config)
    image = kernel_of(config, "spl-optim", runs=("test-ring", "test-hang"))

    def simulate(out, *options, run="test-ring"):
        boot = ["--image", image, "--bootargs", f"run={run} {BOOTARGS}", "--uart0-baud", BAUD, "--uart1-baud", BAUD]
        command = [simulator, "--out", out, "--quiet", "--max-cycles", 5_000_000, *options,
                   *([] if "--restore" in options else boot)]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        return done.returncode, done.stderr

    return simulate


@pytest.fixture(scope="module")
def machine_started():
    """The same, and does not wait: the process."""
    config = SoCConfig()
    simulator = build_simulator(config)
    image = kernel_of(config, "spl-optim", runs=("test-ring", "test-hang"))

    def start(out, *options, run="test-ring", limits=()):
        words = [simulator, "--out", out, "--image", image, "--bootargs", f"run={run} {BOOTARGS}", *limits, *options]
        return subprocess.Popen(list(map(str, words)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)

    return start


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def booted(machine, tmp_path_factory):
    """A checkpoint of one machine, before its first thread runs."""
    folder = tmp_path_factory.mktemp("booted")
    saving = ["--checkpoint", folder / "checkpoint", "--checkpoint-at", "event:1", "--checkpoint-stop"]
    assert machine(folder / "out", *saving) == (0, "")
    return folder / "checkpoint"


def joined(nodes, latency=LATENCY):
    return ["--nodes", nodes, *(word for wire in ring(nodes, latency) for word in ("--wire", wire))]


def left(out):
    """All results of a run, except the host's."""
    record = json.loads((out / "run.json").read_text())
    del record["host"]
    return record, {path.relative_to(out): path.read_bytes() for path in sorted(out.glob("*/*"))}


def results(out):
    return [node["results"] for node in left(out)[0]["nodes"]]


WAYS = [["--no-skip"], ["--check-skip"], ["--jobs", 2], ["--jobs", 4], ["--shuffle", 1], ["--shuffle", 2, "--jobs", 3],
        ["--no-skip", "--jobs", 2, "--shuffle", 3], ["--evaluate-twice"], ["--ranks", 2],
        ["--ranks", 2, "--jobs", 2, "--shuffle", 4]]


def test_two_nodes_exchange_characters_however_they_are_carried(machine, tmp_path):
    assert machine(tmp_path / "plain", *joined(2)) == (0, "")
    plain = left(tmp_path / "plain")
    assert [wire["messages"] for wire in plain[0]["wires"]] == [LAPS * BYTES] * 2
    assert [(r["test"][0]["node"], r["test"][0]["nodes"]) for r in results(tmp_path / "plain")] == [(0, 2), (1, 2)]
    assert len({node["digest"] for node in plain[0]["nodes"]}) == 2
    for i, way in enumerate(WAYS):
        assert machine(tmp_path / str(i), *joined(2), *way) == (0, ""), way
        assert left(tmp_path / str(i)) == plain, way


@pytest.mark.parametrize("nodes, ways", [(8, [*WAYS[4:7], ["--ranks", 3]]), (64, [*WAYS[5:6], ["--ranks", 4]])])
def test_boot_once_and_clone(machine, booted, tmp_path, nodes, ways):
    """Each clone knows its number; how the clones are carried does not matter."""
    runs = [[], *ways]
    for i, way in enumerate(runs):
        assert machine(tmp_path / str(i), "--restore", booted, *joined(nodes), *way) == (0, ""), way
    assert [r["test"][0]["node"] for r in results(tmp_path / "0")] == list(range(nodes))
    assert results(tmp_path / "0")[0]["ring"][0]["laps"] == LAPS
    for i in range(1, len(runs)):
        assert left(tmp_path / str(i)) == left(tmp_path / "0"), runs[i]


def test_a_wire_takes_its_latency(machine, booted, tmp_path):
    """A lap grows by as much as the wires' latency, except for the times at which software polls."""
    nodes, more, laps = 3, 5000, []
    for latency in (1, 1 + more):
        assert machine(tmp_path / str(latency), "--restore", booted, *joined(nodes, latency)) == (0, "")
        laps.append(results(tmp_path / str(latency))[0]["ring"][0]["least"])
    assert abs(laps[1] - laps[0] - nodes * more) < 500


def test_a_run_is_cut_with_characters_on_their_way(machine, booted, tmp_path):
    """The latency is nearly all of a lap: in its middle, characters are on the wires."""
    wires = joined(4, 20_000)
    assert machine(tmp_path / "plain", "--restore", booted, *wires) == (0, "")
    ring_of = results(tmp_path / "plain")[0]["ring"][0]
    ended = left(tmp_path / "plain")[0]["nodes"][0]["cycles"]
    checkpoint, under_way = tmp_path / "checkpoint", []
    for laps_before in (1.5, 0.9):
        at = int(ended - laps_before * ring_of["least"])
        saving = ["--checkpoint", checkpoint, "--checkpoint-at", f"cycle:{at}", "--checkpoint-stop"]
        assert machine(tmp_path / "cut", "--restore", booted, *wires, *saving) == (0, "")
        record = left(tmp_path / "cut")[0]
        under_way.append(sum(wire["messages"] for wire in record["wires"])
                         - sum(node["serial"]["uart1"]["bytes_to_target"] for node in record["nodes"]))
        assert machine(tmp_path / "rest", "--restore", checkpoint, "--nodes", 4, "--shuffle", 9) == (0, "")
        assert left(tmp_path / "rest") == left(tmp_path / "plain")
    assert max(under_way) > 0
    status, said = machine(tmp_path / "rest", "--restore", checkpoint)
    assert status == 2 and "of 4 nodes: give --nodes 4" in said and said.count("\n") == 1


def test_who_waits_is_left_out(machine, booted, tmp_path):
    """In a ring of 16 one at a time has something to do: the others are hardly simulated."""
    assert machine(tmp_path / "out", "--restore", booted, *joined(16, 5000)) == (0, "")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    waited = sum(hart["statistics"]["wfi_cycles"] for node in record["nodes"] for hart in node["harts"])
    assert record["host"]["skipped_cycles"] > 0.97 * waited > 0


def test_one_that_fails_ends_all_at_one_cycle(machine, tmp_path):
    """Wherever the others are by then."""
    wrong = ["--node", "1:bootargs=run=test-ring hz=0 baud=0"]      # it panics
    for i, way in enumerate(([], ["--no-skip"], ["--jobs", 2, "--shuffle", 4], ["--ranks", 2], ["--ranks", 3])):
        status, said = machine(tmp_path / str(i), *joined(3), *wrong, *way)
        assert status == 1 and "node 1: ended: the target ended with code" in said
        assert left(tmp_path / str(i)) == left(tmp_path / "0")
    exits = [node["exit"]["kind"] for node in left(tmp_path / "0")[0]["nodes"]]
    assert exits == ["stopped", "target", "stopped"]


def arrivals(path):
    with open(path, newline="") as file:
        return [(int(row["cycle"]), int(row["wire"]), row["bytes"]) for row in csv.DictReader(file)]


def test_characters_arrive_in_the_cycles_that_the_wires_take(machine, booted, tmp_path):
    """To the cycle, by itself and not only as often as it is simulated: node 0, which receives nothing, sends
    the same, later by as much as the wire is longer; its characters follow each other at the line's rate."""
    came = {}
    for latency in (1, 2, 77, 5000):
        file = tmp_path / str(latency)
        options = ["--nodes", 2, "--wire", f"0.uart1:1.uart1:{latency}", "--node", f"1:arrivals={file}",
                   "--max-cycles", 300_000]
        assert machine(tmp_path / "out", "--restore", booted, *options)[0] == 3
        came[latency] = arrivals(file)
        assert [wire["messages"] for wire in left(tmp_path / "out")[0]["wires"]] == [BYTES] == [len(came[latency])]
        assert came[latency] == [(at - 1 + latency, wire, content) for at, wire, content in came[1]]
    bits = SoCConfig().clock_hz // BAUD
    gaps = [b[0] - a[0] for a, b in zip(came[1], came[1][1:], strict=False)]
    assert gaps == [10 * bits] * (BYTES - 1)    # start, eight bits, stop, without a pause between


def test_a_hang_is_all_nodes(machine, booted, tmp_path):
    """In an open ring nothing comes back: the sender waits for ever, and so do the nodes behind it."""
    wires = ["--nodes", 3, "--wire", "0.uart1:1.uart1:5"]
    for i, way in enumerate(([], ["--no-skip", "--jobs", 2], ["--ranks", 2])):
        status, said = machine(tmp_path / str(i), "--restore", booted, *wires, "--hang-cycles", 400_000, *way)
        assert status == 4 and said.count("hang: no sign of life for 400,000 cycles") == 3
        assert left(tmp_path / str(i)) == left(tmp_path / "0")


def processes_of(pid):
    """The process, and those that it has made, in the order in which it made them."""
    return [pid, *map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split())]


@pytest.mark.parametrize("ends", [0, 1, 2])
def test_a_process_that_ends_ends_the_run(machine_started, tmp_path, ends):
    """Killed in the middle of the run: the others say so, in bounded time, and leave no process behind."""
    started = machine_started(tmp_path / "out", *joined(3), "--ranks", 3, "--no-skip", "--max-cycles", 10**9,
                              run="test-hang", limits=["--hang-cycles", 0])
    while len(processes := processes_of(started.pid)) < 3 or not (tmp_path / "out/node-2/console.txt").is_file():
        assert started.poll() is None, started.communicate()
    os.kill(processes[ends], signal.SIGKILL)
    said = started.communicate(timeout=100)[1]
    assert started.returncode == (2 if ends else -signal.SIGKILL)
    assert ("another process of the run has ended" in said) == bool(ends)
    wait_until(lambda: not any(Path(f"/proc/{pid}/exe").exists() for pid in processes))


def test_processes_that_are_interrupted_leave_one_record(machine_started, tmp_path):
    """A signal for one of them is for all."""
    started = machine_started(tmp_path / "out", *joined(2), "--ranks", 2, "--no-skip", "--max-cycles", 10**9,
                              run="test-hang", limits=["--hang-cycles", 0])
    while len(processes := processes_of(started.pid)) < 2 or not (tmp_path / "out/node-1/console.txt").is_file():
        assert started.poll() is None, started.communicate()
    os.kill(processes[1], signal.SIGINT)
    started.communicate(timeout=100)
    kinds = [node["exit"]["kind"] for node in left(tmp_path / "out")[0]["nodes"]]
    assert kinds == ["interrupted"] * 2 and started.returncode == 128 + signal.SIGINT


@pytest.mark.parametrize("options, words", [
    (["--nodes", 2, "--wire", "0.uart1:2.uart1:3"], "2 is out of range, 0 to 1"),
    (["--nodes", 2, "--wire", "0.uart1:1.uart7:3"], "a node has the ports uart0 and uart1"),
    (["--nodes", 2, "--wire", "0.uart1:1.uart1:0"], "at least 1 cycle"),
    (["--nodes", 2, "--wire", "0.uart1:1.uart1"], "is not A.PORT:B.PORT:CYCLES"),
    (["--nodes", 2, "--wire", "0.uart1:1.uart1:3", "--wire", "1.uart1:1.uart1:4"], "two wires end at 1.uart1"),
    (["--nodes", 2, "--node", "2:seed=1"], "2 is out of range"),
    (["--nodes", 2, "--node", "1:out=x"], "no option of one node"),
    (["--nodes", 2, "--timeline", "x"], "give --node K:timeline=FILE"),
    (["--nodes", 2, "--console", "tty"], "are file or none"),
    (["--nodes", 2, "--checkpoint", "x", "--checkpoint-at", "event:1"], "give cycle:N"),
    (["--nodes", 0], "--nodes: 0 is out of range, 1 to 4096"),
    (["--jobs", 0], "--jobs: 0 is out of range, 1 to 256"),
    (["--ranks", 2], "--ranks: 2 processes for 1 nodes: give at most one for each"),
    (["--nodes", 2, "--ranks", 3], "--ranks: 3 processes for 2 nodes: give at most one for each"),
    (["--nodes", 2, "--ranks", 2, "--checkpoint", "x", "--checkpoint-at", "cycle:9"], "is written by one process"),
    (["--nodes", 2, "--ranks-library", "none.so"], "--ranks-library: none.so: cannot open shared object file"),
    (["--nodes", 2, "--ranks-library", "libm.so.6"], "--ranks-library: it has no function ranks_begin"),
    (["--wire", "0.uart1:0.uart1:3"], "it needs --nodes N"),
])
def test_bad_usage_is_one_line(machine, tmp_path, options, words):
    status, said = machine(tmp_path / "out", *options)
    assert status == 2 and words in said and said.count("\n") == 1


def test_an_experiment_of_several_nodes(tmp_path):
    """Booted once, run, kept and reused with the files of every node; its tables tell nodes and wires apart."""
    experiment = definition.load("ring").on(["nodes=2,3", "nodes_latency=60"])
    settings, store, reused = experiment.settings(["bytes=4", "laps=1"]), Store(tmp_path / "kept"), []
    for out in ("first", "second"):
        runner = Runner(experiment, settings, tmp_path / out, LocalPool(1), SoCConfig().clock_hz, store)
        targets = build_targets(runner.targets(), build_simulator, build_kernel, lambda *_: None)
        runner.prepare({}, {machine.label: {} for machine, *_ in targets})
        runner.execute(targets, lambda _: None)
        assert runner.failures == []
        reused.append(runner.reused)
        records = [record.read_json(tmp_path / out / "runs" / run.id / "record.json") for run in runner.runs]
        assert [made["parameters"]["nodes"] for made in records] == [2, 3]
        rows = tables.rows(records)
        assert [(row["node"], row["value_node"]) for row in rows["results"] if row["result"] == "test"] == [
            (0, 0), (1, 1), (0, 0), (1, 1), (2, 2)]
        assert [row["messages"] for row in rows["wires"]] == 5 * [4]
        consoles = [(tmp_path / out / "runs" / made["id"] / f"node-{node}" / "console.txt").read_text()
                    for made in records for node in range(made["parameters"]["nodes"])]
        assert all("@test name=ring" in text for text in consoles)
    assert reused == [0, 2]
