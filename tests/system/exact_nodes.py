"""Several machines in one run, at random: rings of serial lines and Ethernet wires of random latencies, from one
cycle up, with registers written meanwhile, samples, limits and ends. Each case is simulated cycle by cycle in one
thread, then with idle cycles left out, on several threads, in another order, checked, cut by a checkpoint: all must
give the same results.

    python -m tests.system.exact_nodes --cases 1000 [--first SEED] [--kind ring|ether] [--behind]

With `--behind`, all are Ethernet wires, and frames wait for the wire while the harts sleep; else a third of these.
A case that differs is named with its seed, and its files stay."""

import argparse
import functools
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from sim.sweep.checkpoint import header
from soc.config import SoCConfig
from tests.kernel.machine import DEVICES, DISK_BUILDS, FEW_PAGES, kernel_of, simulator_of

RATES = (15_000_000, 6_000_000, 1_000_000, 460_800)
KINDS = ("ring", "ether")
ETHER_BUILD = DISK_BUILDS["cli-optim"] | {"net": "softint"}
MAX_CYCLES = 3_000_000     # of a boot
LOOKS_ON = ("samples", "arrivals")


class Different(AssertionError):
    """Two ways to simulate one case have different results."""


@dataclass(frozen=True)
class Boot:
    """One machine, up to where its first thread runs; nodes are copies of it."""

    kind: str
    bootargs: str
    console: int        # bit/s
    line: int
    flow: bool
    mbits: int = 100    # of the Ethernet wire

    def simulator(self):
        return simulator_of(SoCConfig(harts=1, **DEVICES) if self.kind == "ether" else SoCConfig())

    def image(self):
        if self.kind == "ether":
            return kernel_of(SoCConfig(harts=1, **DEVICES), "cli-optim", ETHER_BUILD, ("ping",))
        return kernel_of(SoCConfig(), "spl-optim", runs=("test-ring", "test-hang"))

    def save(self, folder):
        checkpoint = folder / "booted"
        if not checkpoint.exists():
            command = [self.simulator(), "--image", self.image(), "--bootargs", self.bootargs, "--quiet",
                       "--console", "none", "--uart0-baud", self.console, "--uart1-baud", self.line,
                       *(["--ether-mbits", self.mbits] if self.kind == "ether" else []),
                       "--max-cycles", MAX_CYCLES, "--checkpoint", checkpoint, "--checkpoint-at", "event:1",
                       "--checkpoint-stop", *(["--uart1-flow", "rts"] if self.flow else [])]
            subprocess.run(list(map(str, command)), check=True, stdin=subprocess.DEVNULL)
        return checkpoint


@functools.cache
def boots(kind):
    """Few of them, as each takes seconds: all rates occur with and without ticks."""
    made = []
    for n, line in enumerate(RATES):
        console = (1_000_000, 15_000_000, 6_000_000, 6_000_000)[n]
        run = (f"run=ping count=2 ms=1 us=200 bytes={(4, 56, 900, 1472)[n]} start=1000" if kind == "ether" else
               f"run=test-ring laps={(3, 2, 2, 1)[n]} bytes={(4, 4, 3, 2)[n]} start=2000")
        hz = 1000 if kind == "ether" else (0, 1000)[n % 2]
        made.append(Boot(kind, f"{run} hz={hz} console.baud={console} baud={line} {FEW_PAGES}", console, line,
                         n == 1))
    return made + ([waiting(4, 6, 600, 400, 10), waiting(4, 4, 1000, 1000, 10)] if kind == "ether" else [])


def waiting(behind, count, us, of_bytes, mbits, hz=5000):
    """Frames, as short as can be if `behind` is 4, that wait for the wire while the harts wait, too."""
    return Boot("ether", f"run=ping count={count} ms=7 us={us} bytes={of_bytes} behind={behind} start=1000 hz={hz} "
                f"net.mbits={mbits} console.baud={RATES[1]} {FEW_PAGES}", RATES[1], RATES[1], False, mbits)


@functools.cache
def boots_behind():
    return [boot for boot in boots("ether") if "behind=" in boot.bootargs] + [
        waiting(19, 6, 600, 1472, 10), waiting(900, 4, 1000, 4, 10), waiting(4, 10, 300, 1472, 100),
        waiting(1472, 8, 400, 60, 100, hz=1000)]


def latency(choose):
    return choose.choice((1, 1, 2, 3, choose.randrange(1, 40), choose.randrange(1, 400), choose.randrange(1, 20_000)))


@dataclass
class Case:
    """A case, from the seed. In `options`, cycles after a `+` count from where the machine has booted."""

    seed: int
    kind: str
    boot: Boot
    nodes: int
    options: list = field(default_factory=list)

    @classmethod
    def of(cls, seed, kind=None, behind=False):
        choose = random.Random(seed)
        kind = "ether" if behind else kind or choose.choice((*KINDS, "ring"))
        nodes = choose.choice((2, 2, 2, 3, 4) if kind == "ring" else (2, 2, 2, 3))
        case = cls(seed, kind, choose.choice(boots_behind() if behind else boots(kind)), nodes)
        add = case.options.extend
        # Most rings end by themselves before it; for Ethernet, nearly all cycles after that would print results.
        whole = 600_000 if kind == "ring" else 1_300_000 if "behind" in case.boot.bootargs else 800_000
        cut_off = choose.choice((choose.randrange(1, 100_000), whole, whole))
        add(["--nodes", nodes, "--max-cycles", f"+{cut_off}"])
        if kind == "ring":
            wires = [f"{a}.uart1:{(a + 1) % nodes}.uart1" for a in range(nodes)]
            if choose.random() < 0.1:
                wires.pop()     # an open line: a node that waits for an answer hangs
        else:
            wires = [f"{a}.ether:{b}.ether" for a in range(nodes) for b in range(nodes) if a != b]
        if choose.random() < 0.5:   # console output takes its own time, until it is drained
            wires.append(f"0.uart0:{nodes - 1}.uart0")
        for wire in wires:
            add(["--wire", f"{wire}:{latency(choose)}"])
        add(["--hang-cycles", choose.choice((40_000, 100_000_000))])
        for node in range(nodes):
            for name, value in case.registers(choose):
                at = choose.choice(("", f"@+{choose.randrange(1, 80_000)}"))
                add(["--node", f"{node}:poke={name}={value}{at}"])
        return case

    @staticmethod
    def registers(choose):
        """Latencies of the PIC's link and main memory: with long waits of harts, and with short ones."""
        slow = {"link_read_latency": (0, 3, 1291), "link_write_latency": (0, 3, 1291),
                "link_delivery_delay": (0, 0, 300), "link_jitter": (0, 7),
                "link_seed": (5, 6), "ram_read_latency": (0, 50, 300), "ram_jitter": (0, 4), "ram_seed": (3, 4)}
        return [(name, choose.choice(values)) for name, values in slow.items() if choose.random() < 0.6]

    def resolved(self, begin):
        return [re.sub(r"(^|@)\+(\d+)$", lambda found: f"{found[1]}{begin + int(found[2])}", str(option))
                for option in self.options]

    def way(self, choose, written=False):
        """Other ways to simulate it; `written`: one that writes a checkpoint, which several processes do not."""
        options = [["--jobs", choose.choice((2, 3))], ["--shuffle", choose.randrange(1, 1000)]]
        if not written:
            options.append(["--ranks", choose.randrange(1, self.nodes + 1)])
        return [word for option in options if choose.random() < 0.5 for word in option]


class Bench:
    """Simulates cases in a folder of its own, and keeps count."""

    def __init__(self, folder):
        self.folder = folder
        self.counts = dict.fromkeys(("cases", "runs", "messages", "checkpoints", "ended", "exit codes", "limits",
                                     "hangs"), 0)

    def run(self, case, name, *options, restore=None, looks_on=True):
        out = self.folder / name
        shutil.rmtree(out, ignore_errors=True)
        booted = self.folder / f"{case.kind}-{zlib.crc32(case.boot.bootargs.encode())}"
        booted.mkdir(exist_ok=True)
        saved = case.boot.save(booted)
        self.begin = header(saved)["cycle"]
        self.options = case.resolved(self.begin)
        common = ["--restore", restore, "--nodes", case.nodes] if restore else ["--restore", saved, *self.options]
        period = random.Random(case.seed).choice((500, 3333, 16384))
        watch = [word for node in range(case.nodes) for text in (
            f"sample-cycles={period}", *(f"{what}={out}.{node}.{what}" for what in LOOKS_ON))
            for word in ("--node", f"{node}:{text}")] if looks_on else []
        command = list(map(str, [case.boot.simulator(), *common, "--out", out, "--quiet", *options,
                                 *watch]))
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        self.counts["runs"] += 1
        if done.returncode not in (0, 1, 3, 4):
            raise Different(f"case {case.seed}: status {done.returncode}: {done.stderr}{' '.join(command)}")
        record = json.loads((out / "run.json").read_text())
        del record["host"]
        files = {str(path.relative_to(out)): path.read_bytes() for path in sorted(out.glob("*/*"))}
        seen = {what: [Path(f"{out}.{node}.{what}").read_bytes() for node in range(case.nodes)] for what in LOOKS_ON
                } if looks_on else {}
        return record, files, seen, command

    def same(self, case, found, expected, seen=True):
        differs = [key for key in expected[0] if found[0].get(key) != expected[0][key]]
        differs += [name for name in expected[1] if found[1].get(name) != expected[1][name]]
        differs += [what for what in expected[2] if seen and found[2][what] != expected[2][what]]
        if differs:
            raise Different(f"case {case.seed}: {', '.join(differs)} differ: {' '.join(found[3])}")

    def check(self, case):
        choose = random.Random(-1 - case.seed)
        whole = self.run(case, "whole", "--no-skip")
        record = whole[0]
        self.counts["cases"] += 1
        self.counts["messages"] += sum(wire["messages"] for wire in record["wires"])
        for node in record["nodes"]:
            kind = node["exit"]["kind"]
            self.counts["exit codes" if node["exit"]["code"] else {"target": "ended", "max-cycles": "limits"}.get(
                kind, "hangs")] += kind != "stopped"
        self.same(case, self.run(case, "skipped", *case.way(choose)), whole)
        if choose.random() < 0.5:
            self.same(case, self.run(case, "checked", "--check-skip", *case.way(choose)), whole)
        if choose.random() < 0.6:
            self.cut(case, choose, whole)

    def cut(self, case, choose, whole):
        """At any cycle, or while the lines of an ended node drain."""
        ends = [node["cycles"] for node in whole[0]["nodes"]]
        last = whole[0]["cycles"]
        at = choose.choice((choose.randrange(self.begin, last), choose.choice(ends) + choose.randrange(3000)))
        at = min(at, last - 1)
        saved = []
        for name, way in (("cut", ["--no-skip"]), ("cut-skipped", case.way(choose, written=True))):
            saved.append(self.folder / f"{name}.checkpoint")
            self.same(case, self.run(case, name, *way, "--checkpoint", saved[-1], "--checkpoint-at", f"cycle:{at}"),
                      whole)
        self.counts["checkpoints"] += 1
        if saved[0].read_bytes() != saved[1].read_bytes():
            raise Different(f"case {case.seed}: the checkpoints of cycle {at} differ")
        limits = [word for name in ("--max-cycles", "--hang-cycles") for word in (
            name, self.options[self.options.index(name) + 1])]
        rest = self.run(case, "rest", *limits, *case.way(choose), restore=choose.choice(saved), looks_on=False)
        self.same(case, rest, whole, seen=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--kind", choices=KINDS)
    parser.add_argument("--behind", action="store_true", help="each frame has one that waits behind it")
    parser.add_argument("--keep-going", action="store_true", help="count cases that differ, too")
    options = parser.parse_args()
    if options.behind and options.kind == "ring":
        parser.error("--behind is of Ethernet wires: --kind ether, or none")
    folder, began, different = Path(tempfile.mkdtemp(prefix="exact-")), time.time(), 0
    bench = Bench(folder)
    for seed in range(options.first, options.first + options.cases):
        try:
            bench.check(Case.of(seed, options.kind, options.behind))
        except Different as error:
            print(error, flush=True)
            different += 1
            if not options.keep_going:
                sys.exit(f"the files are in {folder}")
        if (seed + 1) % 50 == 0:
            print(f"{seed + 1}: {bench.counts}, {time.time() - began:.0f} s", flush=True)
    shutil.rmtree(folder)
    print(f"{options.cases} cases from {options.first} on, {different} differ: {bench.counts}, "
          f"{time.time() - began:.0f} s")
    sys.exit(different > 0)


if __name__ == "__main__":
    main()
