"""Checkpoints of the machine: one run is cut in the middle of bytes, sections, interrupts and lock waits, each piece a
process of its own that goes on from the last one's checkpoint, with the same results as the uncut run."""

import csv
import json
import subprocess

import pytest

from sim.images.kernel import runs_of
from sim.sweep.checkpoint import header
from soc.config import SoCConfig
from support.cache import REPO
from tests.kernel.machine import kernel_of, simulator_of

CONSOLE_BAUD = 6_000_000
BAUD = 921_600
BYTES = bytes(range(32))
LIMITS = ["--hang-cycles", "3000000", "--quiet"]


class Machine:
    """A kernel image on a machine, and the results of its uninterrupted run."""

    def __init__(self, folder, harts, run, options=None, limit=30_000_000):
        config = SoCConfig(harts=harts)
        self.limit = limit
        self.messages = {}      # directory of a run -> its message at the end
        self.folder = folder
        self.simulator = simulator_of(config)
        feed = folder / "feed"
        feed.write_bytes(BYTES)
        bootargs = f"run={run} console.baud={CONSOLE_BAUD} link_latency=30 link_jitter=20 ram_jitter=3"
        image = kernel_of(config, "spl-optim", options=options, runs=runs_of(bootargs))
        self.boot = ["--image", image, "--bootargs", bootargs, "--seed", 5,
                     "--uart0-baud", CONSOLE_BAUD, "--uart1-baud", BAUD, "--uart1-in", feed]
        self.log = folder / "probes.csv"
        self.plain = self.run("plain", *self.boot, "--probe-log", self.log)

    def run(self, name, *options):
        """The directory that a run has left."""
        out = self.folder / name
        command = [self.simulator, "--out", out, "--console", "file", "--max-cycles", self.limit, *options, *LIMITS]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        assert done.returncode in (0, 3) and (done.returncode == 0) == (done.stderr == ""), done.stderr
        self.messages[out] = done.stderr
        return out

    def events(self):
        """The uninterrupted run's probe log: cycle, what it happened to (a hart, or a lock on its side), event."""
        with open(self.log, newline="") as file:
            for row in csv.DictReader(file):
                lock = row["value"] if row["event"].startswith("lock_") else None
                yield int(row["cycle"]), (row["hart"], lock), row["event"]

    def inside(self, begin, end, last=False):
        """A cycle in which a hart, or a lock on its side, is between two events, no other one of that hart or lock:
        the first or the last such cycle in the measured window."""
        latest, found = {}, []
        window = record(self.plain)["window"]
        for cycle, what, event in self.events():
            since, before = latest.get(what, (0, None))
            if before == begin and event == end and window["begin"] <= since < cycle - 1 and cycle <= window["end"]:
                found.append((since + cycle) // 2)
            latest[what] = cycle, event
        assert found, f"the run goes nowhere from {begin} straight to {end}"
        return found[-1 if last else 0]

    def cut(self, *cycles):
        """The run in pieces, cut before each of `cycles`: the last piece's results."""
        given = self.boot
        for i, cycle in enumerate(sorted(cycles)):
            checkpoint = self.folder / f"{i}.checkpoint"
            self.run(f"piece-{i}", *given, "--checkpoint", checkpoint, "--checkpoint-at", f"cycle:{cycle}",
                     "--checkpoint-stop")
            given = ["--restore", checkpoint]
        return self.run("pieces", *given)

    def same(self, out):
        """A run left the same record, except `host`, and the same files as the uninterrupted one; and if that reached
        its limit, it reported the same of the harts."""
        assert self.messages[out] == self.messages[self.plain]
        assert record(out) == record(self.plain)
        names = sorted(path.name for path in self.plain.iterdir())
        assert sorted(path.name for path in out.iterdir()) == names
        for name in names:
            if name != "run.json":
                assert (out / name).read_bytes() == (self.plain / name).read_bytes(), name


def record(out):
    made = json.loads((out / "run.json").read_text())
    del made["host"]
    return made


@pytest.mark.parametrize("harts", [1, 2, 4])
def test_cut_while_bytes_arrive(tmp_path, harts):
    machine = Machine(tmp_path, harts, f"serial bytes={len(BYTES)} baud={BAUD}")
    made = record(machine.plain)
    assert made["results"]["serial"][0]["bytes"] == len(BYTES)
    second_byte = made["serial"]["uart1"]["feed_began"] + 145 * 60_000_000 // BAUD // 10     # its fifth bit
    machine.same(machine.cut(second_byte, machine.inside("trap", "intr_handler"),
                             machine.inside("crit_enter", "crit_entered"),
                             machine.inside("crit_entered", "crit_leave", last=True)))


@pytest.mark.parametrize("harts", [2, 4])
def test_cut_while_locks_are_waited_for(tmp_path, harts):
    # It ends in the middle: so many rounds are run so that threads of two harts, too, block on a lock in time.
    machine = Machine(tmp_path, harts, "test-lockstat rounds=20", {"lock_stats": "1"}, limit=1_000_000)
    assert "hart 1: " in machine.messages[machine.plain]
    assert any(lock["misses"] for lock in record(machine.plain)["locks"]["classes"] if lock["kind"] == "simple")
    waits = machine.inside("lock_miss", "lock_acquired"), machine.inside("lock_miss", "lock_acquired", last=True)
    machine.same(machine.cut(*waits, machine.inside("lock_miss", "lock_block"), machine.inside("trap", "intr_handler")))


def test_a_poke_is_the_same_restored_or_not(tmp_path):
    machine = Machine(tmp_path, 1, f"serial bytes={len(BYTES)} baud={BAUD}")
    checkpoint = tmp_path / "checkpoint"
    machine.run("boot", *machine.boot, "--checkpoint", checkpoint, "--checkpoint-at", "event:1023", "--checkpoint-stop")
    cycle = record(tmp_path / "boot")["cycles"]
    pokes = ("link_read_latency=200", "link_write_latency=100", "link_jitter=9", "link_seed=77", "ram_read_latency=12",
             "ram_seed=78")
    restored = machine.run("restored", "--restore", checkpoint, *(w for poke in pokes for w in ("--poke", poke)))
    machine.plain = machine.run("poked", *machine.boot, *(w for p in pokes for w in ("--poke", f"{p}@{cycle}")))
    machine.same(restored)
    assert [poke["value"] for poke in record(restored)["arguments"]["pokes"]] == [200, 100, 9, 77, 12, 78]
    again = record(machine.run("unpoked", "--restore", checkpoint))
    assert again["harts"][0]["statistics"] != record(restored)["harts"][0]["statistics"]


def test_pokes_do_what_the_boot_arguments_do(tmp_path):
    """A pair of the off-chip scheme, timed after a poke, costs as much as when the kernel has set the latency."""
    config = SoCConfig(harts=1)
    simulator, image = simulator_of(config), kernel_of(config, "spl-pessim", runs=("table5",))

    def cost(name, *options):
        out = tmp_path / name
        subprocess.run(list(map(str, [simulator, "--out", out, *options, *LIMITS])), check=True)
        return {line["primitive"]: line["cycles_per_pair"] for line in record(out)["results"].get("table5", [])}

    def bootargs(latency):
        arguments = f"run=table5 iterations=50 console.baud={CONSOLE_BAUD} link_latency={latency}"
        return ["--image", image, "--bootargs", arguments, "--uart0-baud", CONSOLE_BAUD]

    checkpoint = tmp_path / "checkpoint"
    cost("boot", *bootargs(0), "--checkpoint", checkpoint, "--checkpoint-at", "event:1", "--checkpoint-stop")
    for latency in (0, 75):
        poked = cost(f"poked{latency}", "--restore", checkpoint, "--poke", f"link_read_latency={latency}", "--poke",
                     f"link_write_latency={latency}")
        assert poked and poked == cost(f"booted{latency}", *bootargs(latency))


def interlock(*options):
    command = [str(REPO / "interlock"), "sim", *map(str, options)]
    return subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)


def test_the_command_line_saves_and_restores(tmp_path):
    checkpoint = tmp_path / "checkpoint"
    saved = interlock("--set", "run=hello", "--checkpoint", checkpoint, "--checkpoint-at", "event:1",
                      "--checkpoint-stop")
    assert saved.returncode == 0 and "hello from" not in saved.stdout
    restored = interlock("--restore", checkpoint, "--poke", "link_read_latency=5", "--out", tmp_path / "out")
    assert restored.returncode == 0 and "hello from hart 0" in restored.stdout
    assert record(tmp_path / "out")["arguments"]["pokes"] == [
        {"register": "link_read_latency", "value": 5, "cycle": header(checkpoint)["cycle"]}]

    for options, words in ((("--set", "run=x"), "--set and --restore"), (("--harts", "1"), "--harts and --restore"),
                           (("--poke", "link_raed_latency=5"), "no register 'link_raed_latency'")):
        refused = interlock("--restore", checkpoint, *options)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and words in refused.stderr
    (tmp_path / "other").write_text("something else\n")
    for other, words in (("other", "is not a checkpoint"), ("missing", "no such file")):
        refused = interlock("--restore", tmp_path / other)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and words in refused.stderr
