"""Runs of the player (harness_player.v) at random, alone or several joined by serial lines, with everything that acts
at a certain cycle: limits, hangs, samples, windows of waves, checkpoints, ends. Cycles in which a script waits can be
left out, so each is simulated with and without that, checked, on several threads, in another order, and cut in two.

A player's serial ports are loops of wire. It sends at once what it receives: each character arrives in the very first
cycle that was promised, and each node may be simulated just up to it.

    python -m tests.system.exact_players --cases 1000 [--first SEED]
"""

import argparse
import json
import random
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.system import harness_player as player

LOOKS_ON = ("samples", "arrivals", "probe-log", "latencies", "timeline")
RATES = (15_000_000, 7_000_000, 921_600, 115_200)


class Different(AssertionError):
    """Two ways to simulate one case have different results."""


def script(choose, folder, steps):
    """An image; the script ends with a code, or waits for ever."""
    # Imported late: that module contains tests.
    from tests.system.test_checkpoint import busy_script
    made = busy_script(choose.randrange(1 << 30), steps, choose.choice((3, 60, 60, 500)))
    if choose.random() < 0.2:
        made.words.pop()
    else:
        say(made, choose)
    folder.mkdir(exist_ok=True)
    return made.image(folder)


def say(made, choose):
    """Characters and glitches after the script's end, while the lines drain."""
    bit = player.CLOCK_HZ // choose.choice(RATES)
    for _ in range(choose.choice((0, 2, 12))):
        made.wait_until(made.cycle + choose.choice((1, bit, choose.randrange(1, 14 * bit))))
        low = choose.randrange(1, 4)
        made.lines(3 - low)
        for n in range(choose.choice((8, 8, 9, 11))):
            made.wait_until(made.cycle + max(bit - 1, 1))
            made.lines(3 if n == 8 or choose.random() < 0.5 else 3 - low)
        made.lines(3)


def path(choose, nodes):
    """Wires along which node 0's output passes every node, some of them twice: A.PORT:B.PORT:CYCLES."""
    ports = [f"{node}.{port}" for node in range(nodes) for port in ("uart1", "uart0")]
    ports.remove("0.uart1")
    choose.shuffle(ports)
    ports = ["0.uart1", *ports[:choose.randrange(nodes - 1, len(ports) + 1)]]
    return [f"{a}:{b}:{choose.choice((1, 1, 2, 5, choose.randrange(1, 300), choose.randrange(1, 5000)))}"
            for a, b in zip(ports, ports[1:], strict=False)]


class Case:
    """A case, from the seed."""

    def __init__(self, seed, folder, waves=False):
        choose = random.Random(seed)
        self.seed, self.folder, self.choose = seed, folder, choose
        self.nodes = choose.choice((1, 1, 2, 2, 3))
        self.several = self.nodes > 1
        self.waves = waves and not self.several
        self.binary = player.simulator(waves=self.waves, skips=not self.waves)
        images = [script(choose, folder / f"script-{node}", choose.choice((100, 400))) for node in range(self.nodes)]
        feed = folder / "feed"
        feed.write_bytes(choose.randbytes(choose.randrange(1, 60)))
        self.options = ["--image", images[0], "--uart0-baud", choose.choice(RATES), "--uart1-baud",
                        choose.choice(RATES), *self.of(0, "uart1-in", feed),
                        *(self.of(0, "uart1-start", choose.randrange(3000)) if choose.random() < 0.5 else [])]
        if self.several:
            self.options += ["--nodes", self.nodes]
            for wire in path(choose, self.nodes):
                self.options += ["--wire", wire]
            for node in range(1, self.nodes):
                self.options += self.of(node, "image", images[node])
        self.limits = ["--max-cycles", choose.choice((choose.randrange(100, 20_000), 1_000_000)), "--hang-cycles",
                       choose.choice((800, 808, 5000, 100_000))]
        self.sample_cycles = choose.choice((7, 100, 1000, 1777))

    def of(self, node, option, value):
        return ["--node", f"{node}:{option}={value}"] if self.several else [f"--{option}", value]

    def looks(self, name):
        words = []
        for node in range(self.nodes):
            for what in LOOKS_ON:
                words += self.of(node, what, f"{self.folder}/{name}.{node}.{what}")
            words += self.of(node, "sample-cycles", self.sample_cycles)
        if self.waves:
            begin = random.Random(self.seed).randrange(5000)
            words += ["--wave", f"{self.folder}/{name}.0.wave", "--wave-begin", begin, "--wave-cycles",
                      random.Random(self.seed + 1).randrange(1, 3000)]
        return words


class Bench:
    """Simulates cases in a folder of its own, and keeps count."""

    def __init__(self, folder):
        self.folder = folder
        self.counts = dict.fromkeys(("cases", "runs", "messages", "checkpoints", "skipped"), 0)

    def run(self, case, name, *options, restore=None):
        out = case.folder / name
        shutil.rmtree(out, ignore_errors=True)
        first = ["--restore", restore, *(["--nodes", case.nodes] if case.several else [])] if restore else case.options
        command = list(map(str, [case.binary, *first, *case.limits, "--out", out, "--quiet", "--console", "file",
                                 *([] if restore else case.looks(name)), *options]))
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=120)
        self.counts["runs"] += 1
        if done.returncode not in (0, 1, 3, 4):
            raise Different(f"case {case.seed}: status {done.returncode}: {done.stderr}{' '.join(command)}")
        record = json.loads((out / "run.json").read_text())
        self.counts["skipped"] += record.pop("host")["skipped_cycles"]
        files = {str(file.relative_to(out)): file.read_bytes() for file in sorted(out.rglob("*"))
                 if file.is_file() and file.name != "run.json"}
        seen = {} if restore else {file.name.removeprefix(f"{name}."): file.read_bytes()
                                   for file in sorted(case.folder.glob(f"{name}.*.*"))}
        return done, record, files, seen, command

    def same(self, case, found, expected):
        differs = [name for name in ("returncode", "stderr") if getattr(found[0], name) != getattr(expected[0], name)]
        for n in (1, 2, 3):
            # After their name and their first and last time, waves have the date.
            differs += [name for name in expected[n] if (n < 3 or found[n]) and (
                found[n][name][:25] != expected[n][name][:25] if name.endswith("wave") else
                found[n].get(name) != expected[n][name])]
        if differs:
            raise Different(f"case {case.seed}: {', '.join(differs)} differ: {' '.join(found[4])}")

    def check(self, seed, waves=False):
        folder = self.folder / str(seed)
        folder.mkdir()
        case = Case(seed, folder, waves)
        choose = case.choose
        ways = [["--jobs", choose.choice((2, 3))] if case.several else [],
                ["--shuffle", choose.randrange(1, 1000)] if case.several else []]
        whole = self.run(case, "whole", "--no-skip")
        record = whole[1]
        self.counts["cases"] += 1
        for node in record.get("nodes", [record]):
            self.counts[node["exit"]["kind"]] = self.counts.get(node["exit"]["kind"], 0) + 1
        self.counts["messages"] += sum(wire["messages"] for wire in record.get("wires", ()))
        for name, way in (("skipped", []), ("checked", ["--check-skip"])):
            more = [word for way in ways if choose.random() < 0.5 for word in way]
            self.same(case, self.run(case, name, *way, *more), whole)
        ends = [node["cycles"] for node in record.get("nodes", [record])]
        # Anywhere, but more often while the lines of an ended node drain.
        at = min(choose.choice((choose.randrange(record["cycles"]), *(min(ends) + choose.randrange(most)
                                                                     for most in (100, 1000, 5000)))),
                 record["cycles"] - 1)
        saved = []
        for name, way in (("cut", ["--no-skip"]), ("cut-skipped", [])):
            saved.append(folder / f"{name}.checkpoint")
            self.same(case, self.run(case, name, *way, "--checkpoint", saved[-1], "--checkpoint-at", f"cycle:{at}"),
                      whole)
        if saved[0].read_bytes() != saved[1].read_bytes():
            raise Different(f"case {seed}: the checkpoints of cycle {at} differ: {folder}")
        self.counts["checkpoints"] += 1
        self.same(case, self.run(case, "rest", restore=saved[1]), whole)
        shutil.rmtree(folder)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--waves", action="store_true", help="with windows of waves where a player is alone")
    parser.add_argument("--keep-going", action="store_true", help="count cases that differ, too")
    options = parser.parse_args()
    bench, began, different = Bench(Path(tempfile.mkdtemp(prefix="exact-players-"))), time.time(), 0
    for seed in range(options.first, options.first + options.cases):
        try:
            bench.check(seed, options.waves)
        except (Different, subprocess.TimeoutExpired) as error:
            print(error, flush=True)
            different += 1
            if not options.keep_going:
                sys.exit(f"the files are in {bench.folder}")
    print(f"{options.cases} cases from {options.first} on, {different} differ: {bench.counts}, "
          f"{time.time() - began:.0f} s")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
