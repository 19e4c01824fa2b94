"""Checkpoints of the harness, with the player: whatever is under way when one is taken, the restored run goes on as the
uninterrupted one does; what cannot be restored is reported in one line."""

import random
import subprocess

import pytest

from tests.limited import run_limited
from tests.system import harness_player as player
from tests.system.harness_player import Script

BAUD = 3_000_000
LOCKS = ("first_lock", "second_lock", "mutex", "strange_lock")
RAM = 0x40020000
WINDOW_BEGIN, QUEUED, OTHER = "p4", "p5", "p6"
SECTION = ("p0", "p1", "p2", "p3")                  # enter, entered, leave, left
ATTEMPT, MISS, BLOCK, ACQUIRED, RELEASED, FAILED = (f"p{n}" for n in range(8, 14))
IDLE = ("p16", "p17")
MARKS = {**{f"p{n}": kind for n, kind in enumerate((1, 2, 3, 4, 5, 7, 200))},
         **{f"p{n}": kind for n, kind in zip(range(8, 14), range(9, 15), strict=True)},
         "p14": 15, "p15": 17, "p16": 18, "p17": 19, "p18": 21, "p19": 22}


@pytest.fixture(scope="module")
def binary():
    return player.simulator()


def busy_script(seed, steps=900, longest=20):
    """All events that the harness can see, at random, on two harts side by side, with waits of less than `longest`
    cycles; ends with code 0."""
    script, random_ = Script(), random.Random(seed)
    for label, kind in MARKS.items():
        script.mark(label, kind, register=11 if label in (ATTEMPT, MISS, BLOCK, ACQUIRED, RELEASED, FAILED) else 10)

    def retire(*labels):
        return [lambda hart, label=label: script.retire(label, hart) for label in labels]

    def wait():
        return [lambda _: script.wait_until(script.cycle + random_.randrange(1, longest))]

    def lock():
        chosen = random_.choice(LOCKS)
        ways = ([ACQUIRED], [MISS, ACQUIRED], [MISS, BLOCK, ACQUIRED], [FAILED])
        way = random_.choice(ways)
        steps = [ATTEMPT, *way, *([RELEASED] if way[-1] == ACQUIRED else [])]
        return [action for step in steps for action in
                ([lambda hart: script.register(11, chosen, hart)] + retire(step) + wait())]

    def interrupt():
        source = random_.choice((16, 17))
        return [lambda _: script.sources(1 << source), lambda _: script.wires(random_.randrange(1, 4)),
                lambda hart: script.trap(0x8000000B, hart), lambda hart: script.register(10, source, hart),
                *retire("p14"), *wait(), *retire("back", "p15"), lambda _: script.sources(0), lambda _: script.wires(0)]

    kinds = (
        lambda: [*retire(*SECTION[:2]), *wait(), *random_.choice(kinds)(), *wait(), *retire(*SECTION[2:])],
        lock,
        interrupt,
        lambda: [*retire(IDLE[0]), lambda hart: script.wfi(True, hart), *wait(), lambda hart: script.wfi(False, hart),
                 *retire(IDLE[1])],
        lambda: retire(random_.choice(("alpha", "beta", "spin", "storing", QUEUED, OTHER, "p18", "p19", "back"))),
        lambda: [lambda hart: script.trace(1, 2 * random_.randrange(2) + hart, hart)],
        lambda: [lambda hart: script.trace(random_.randrange(2, 1000), random_.randrange(1 << 32), hart)],
        lambda: [lambda _: script.blob(random_.randrange(2), RAM, random_.randrange(1, 64))],
        lambda: [lambda hart: script.privilege(0, hart), *wait(), lambda hart: script.privilege(3, hart)],
    )
    script.trace(1023, 0)
    script.wait_until(40)
    script.retire(WINDOW_BEGIN)
    left = {0: [], 1: []}
    for _ in range(steps):
        hart = random_.randrange(2)
        left[hart] = left[hart] or random_.choices(kinds, (6, 8, 4, 3, 4, 1, 1, 1, 1))[0]()
        left[hart].pop(0)(hart)
    script.wait_until(script.cycle + 20)
    script.exit(0)
    return script


class Bench:
    """Runs of one script and their comparison with the uninterrupted one."""

    def __init__(self, binary, folder, script):
        self.binary, self.folder = binary, folder
        self.image = script.image(folder)
        self.feed = folder / "feed"
        self.feed.write_bytes(bytes(range(100, 140)))
        self.plain = self.run("plain")

    def run(self, name, *options):
        return player.run(self.binary, self.image, self.folder / name, "--uart1-in", self.feed,
                          "--uart1-baud", BAUD, "--hang-cycles", 800, *options, stdin="typed")

    def save(self, when, *options, name="saved"):
        """A run that leaves the checkpoint `self.checkpoint`."""
        self.checkpoint = self.folder / f"{name}.checkpoint"
        return self.run(name, "--checkpoint", self.checkpoint, "--checkpoint-at", when, *options)

    def restore(self, *options, name="restored"):
        """Goes on from there with nothing but `options` given."""
        command = [self.binary, "--out", self.folder / name, "--quiet", "--hang-cycles", 800, "--restore",
                   self.checkpoint, *options]
        done = run_limited(command, 60, input="typed", capture_output=True, text=True)
        return player.Run(done.returncode, done.stdout, done.stderr, self.folder / name)

    def same(self, run):
        """The run has the uninterrupted one's results: all files, and the record except `host`."""
        assert (run.status, run.stdout, run.stderr) == (self.plain.status, "", "")
        assert all_but_host(run) == all_but_host(self.plain)
        files = sorted(path.name for path in self.plain.out.iterdir())
        assert sorted(path.name for path in run.out.iterdir()) == files
        for name in set(files) - {"run.json"}:
            assert (run.out / name).read_bytes() == (self.plain.out / name).read_bytes(), name


def all_but_host(run):
    return {key: value for key, value in run.record.items() if key != "host"}


@pytest.mark.parametrize("seed", range(3))
def test_restored_anywhere(binary, tmp_path, seed):
    bench = Bench(binary, tmp_path, busy_script(seed))
    assert bench.plain.status == 0
    end = bench.plain.record["cycles"]
    seen = bench.plain.record
    # All of it happens in the window: else nothing would show.
    assert seen["window"]["from_probes"] and seen["serial"]["uart1"]["bytes_from_target"] > 5 and seen["blobs"]
    assert all(seen["interrupts"][source]["wire_to_handler"]["count"] for source in ("16", "17"))
    assert len(seen["locks"]["classes"]) > 2
    statistics = [bench.plain.statistics(hart) for hart in (0, 1)]
    assert all(sum(each["accounting"][activity] for each in statistics) for activity in statistics[0]["accounting"])
    for figure in ("body_cycles", "body_net_cycles", "enter_cycles", "leave_cycles"):
        assert sum(each[figure]["count"] for each in statistics) > 5
    for figure in ("thread_switches", "wfi_cycles", "arrivals", "queued", "sections_interrupted"):
        assert sum(each[figure] for each in statistics)
    for figure in ("wait_cycles", "hold_cycles"):
        assert sum(lock[figure]["count"] for lock in seen["locks"]["classes"])
    for cycle in [0, 1, end - 1, *random.Random(seed).sample(range(2, end - 1), 12)]:
        bench.same(bench.save(f"cycle:{cycle}", name=f"saved-{cycle}"))
        restored = bench.restore(name=f"restored-{cycle}")
        bench.same(restored)
        assert restored.record["host"]["restored_at"] == cycle
        assert bench.plain.record["host"]["restored_at"] is None


# Moments

@pytest.fixture
def bench(binary, tmp_path):
    """A run of about 1,200 cycles: `alpha` retires in cycle 100, hart 1 sends event 7 with argument 9 in cycle 200."""
    script = Script()
    player.at(script, 100, "alpha")
    script.wait_until(190)
    script.trace(7, 8)
    script.wait_until(200)
    script.trace(7, 9, hart=1)
    player.at(script, 300, "spin + 4")
    script.trace(1023, 0)
    script.blob(1, RAM, 16)
    script.wait_until(1200)
    script.exit(0)
    return Bench(binary, tmp_path, script)


@pytest.mark.parametrize(("when", "cycle"), [
    ("cycle:0", 0), ("cycle:77", 77), ("pc:alpha", 101), ("pc:spin+4", 301), ("event:7", 191), ("event:7:9", 201),
    ("event:0x7:0x9", 201)])
def test_moments(bench, when, cycle):
    bench.same(bench.save(when))
    restored = bench.restore()
    bench.same(restored)
    assert restored.record["host"]["restored_at"] == cycle


def test_a_moment_may_be_an_address(bench):
    symbols = subprocess.run(["riscv64-unknown-elf-nm", bench.image], capture_output=True, text=True, check=True).stdout
    address = next(line.split()[0] for line in symbols.splitlines() if line.endswith(" alpha"))
    bench.save(f"pc:0x{address}")
    assert bench.restore().record["host"]["restored_at"] == 101


def test_the_run_may_end_there(bench):
    run = bench.save("pc:alpha", "--checkpoint-stop")
    assert (run.status, run.stderr) == (0, "")
    assert run.record["exit"] == {"kind": "checkpoint", "status": 0, "code": None}
    assert run.record["reason"] is None and run.record["cycles"] == 101
    bench.same(bench.restore())


def test_a_restored_run_may_leave_another_checkpoint(bench):
    bench.save("cycle:50", "--checkpoint-stop")
    first = bench.checkpoint
    later = bench.folder / "later"
    bench.same(bench.restore("--checkpoint", later, "--checkpoint-at", "cycle:500", name="between"))
    direct = bench.save("cycle:500", name="direct")
    assert direct.status == 0 and later.read_bytes() == bench.checkpoint.read_bytes() != first.read_bytes()
    bench.checkpoint = later
    bench.same(bench.restore())


# Options that can be changed, and those that cannot

def test_the_data_line_may_be_fed_anew_before_it_begins(bench):
    bench.save("cycle:250")
    other = bench.folder / "other"
    other.write_bytes(b"something else")
    restored = bench.restore("--uart1-in", other)
    bench.feed = other
    bench.plain = bench.run("plain-other")
    bench.same(restored)


def one_line(run, *words):
    assert run.status == 2, run.stderr
    assert run.stderr.count("\n") == 1 and run.stderr.startswith("error: "), run.stderr
    for word in words:
        assert word in run.stderr
    return run


def test_not_after_it_has_begun(bench):
    bench.save("cycle:500")
    other = bench.folder / "other"
    other.write_bytes(b"something else")
    one_line(bench.restore("--uart1-in", other), "data line has begun", "boot anew")
    bench.same(bench.restore("--uart1-in", bench.feed))


def test_the_past_cannot_be_changed(bench):
    bench.save("cycle:500", "--bootargs", "run=x", "--seed", 3)
    for option, value, has in (("--bootargs", "run=y", "'run=x seed=3'"), ("--seed", 4, "3"),
                               ("--uart0-baud", 9600, "115200"), ("--uart1-baud", 9600, str(BAUD))):
        one_line(bench.restore(option, value), option, has, "boot anew")
    (bench.folder / "image").write_bytes(b"another")
    one_line(bench.restore("--image", bench.folder / "image"), "--image", "player.elf")
    for same in (("--bootargs", "run=x"), ("--seed", 3), ("--image", bench.image), ("--uart1-baud", BAUD)):
        assert bench.restore(*same).status == 0
    one_line(bench.restore("--max-cycles", 400), "--max-cycles", "cycle 500")
    one_line(bench.restore("--poke", "x=1@400"), "--poke")
    one_line(bench.restore("--checkpoint", bench.folder / "c", "--checkpoint-at", "cycle:499"), "cycle 499 is past")


def test_refused_before_anything_is_overwritten(bench):
    bench.save("cycle:500")
    bench.restore()
    kept = {path.name: path.read_bytes() for path in (bench.folder / "restored").iterdir()}
    one_line(bench.restore("--max-cycles", 400))
    assert kept == {path.name: path.read_bytes() for path in (bench.folder / "restored").iterdir()}


# Files that are no checkpoint of this simulator

def test_of_another_simulator(bench):
    bench.save("cycle:500")
    content = bench.checkpoint.read_bytes()
    at = content.index(b"fingerprint=") + len(b"fingerprint=")
    bench.checkpoint.write_bytes(content[:at] + b"0123456789abcdef" + content[at + 16:])
    one_line(bench.restore(), "another simulator", "0123456789abcdef", content[at:at + 16].decode())


def test_damaged_cut_off_or_none(bench):
    bench.save("cycle:500")
    content = bench.checkpoint.read_bytes()
    begin = content.index(b"\n") + 1
    for cut in (begin, begin + 3, begin + 20, len(content) // 2, len(content) - 1):
        bench.checkpoint.write_bytes(content[:cut])
        one_line(bench.restore(), "damaged or cut off")
    for at in (begin, begin + 5, begin + 9, len(content) // 2, len(content) - 2):
        bench.checkpoint.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1:])
        one_line(bench.restore(), "damaged or cut off")
    for other in (b"", b"\n", b"something", content[:begin - 1]):
        bench.checkpoint.write_bytes(other)
        assert bench.restore().status == 2
    bench.checkpoint.unlink()
    one_line(bench.restore(), "cannot read the checkpoint", "No such file")


# Bad usage

@pytest.mark.parametrize(("options", "words"), [
    (("--checkpoint", "c"), ("--checkpoint-at",)),
    (("--checkpoint-at", "cycle:5"), ("--checkpoint FILE",)),
    (("--checkpoint-stop",), ("--checkpoint FILE",)),
    (("--checkpoint", "c", "--checkpoint-at", "noon"), ("'noon'", "cycle:N")),
    (("--checkpoint", "c", "--checkpoint-at", "cycle:"), ("--checkpoint-at", "whole number")),
    (("--checkpoint", "c", "--checkpoint-at", "event:1024"), ("1024", "0 to 1023")),
    (("--checkpoint", "c", "--checkpoint-at", "pc:nowhere"), ("no function 'nowhere'",)),
    (("--checkpoint", "c", "--checkpoint-at", "pc:0x1000"), ("0x00001000", "no address")),
    (("--checkpoint", "nowhere/c", "--checkpoint-at", "cycle:5"), ("nowhere/c", "No such file")),
    (("--poke", "link_read_latency"), ("NAME=VALUE",)),
    (("--poke", "link_read_latency=x"), ("whole number",)),
    (("--poke", "nothing=1"), ("no register 'nothing'",)),
])
def test_bad_usage(bench, options, words):
    one_line(bench.run("bad", *options), *words)


@pytest.mark.parametrize("when", ["cycle:5000", "pc:beta", "event:8"])
def test_a_moment_that_does_not_come(bench, when):
    run = one_line(bench.save(when), f"ended before {when}")
    assert run.record["exit"]["kind"] == "error" and not bench.checkpoint.exists()
    assert run.record["cycles"] == bench.plain.record["cycles"]
