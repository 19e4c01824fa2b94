"""Checkpoints of the harness, with the player: whatever is under way when one is taken, the restored run goes on as the
uninterrupted one does; what cannot be restored is said in one line."""

import random

import pytest

from tests.system import harness_player as player
from tests.system.harness_player import LABELS, Script

LOCKS = ("first_lock", "second_lock", "mutex", "strange_lock")
LOCK_STEPS = {p: kind for p, kind in zip(range(8, 14), range(9, 15), strict=True)}
RAM = 0x40020000


@pytest.fixture(scope="module")
def binary():
    return player.simulator()


def busy_script(seed, steps=400):
    """Everything the harness can see, at random, on two harts; ends with code 0."""
    script = Script()
    random_ = random.Random(seed)
    sections = {0: 1, 1: 2, 2: 3, 3: 4, 4: 7, 5: 8, 6: 20}
    others = {14: 15, 15: 17, 16: 18, 17: 19, 18: 21, 19: 22}
    for label, kind in {**sections, **others}.items():
        script.mark(f"p{label}", kind, register=10)
    for label, kind in LOCK_STEPS.items():
        script.mark(f"p{label}", kind, register=11)
    script.mark("p7", 5)
    actions = (
        lambda hart: script.retire(f"p{random_.randrange(LABELS)}", hart),
        lambda hart: script.retire(random_.choice(("alpha", "beta", "spin", "storing")), hart),
        lambda hart: script.register(10, random_.randrange(20), hart),
        lambda hart: script.register(11, random_.choice(LOCKS), hart),
        lambda hart: script.trap(random_.choice((0x8000000B, 0x80000007, 8)), hart),
        lambda hart: script.trap_return(hart),
        lambda hart: script.wires(random_.randrange(4)),
        lambda hart: script.sources(random_.randrange(1 << 18)),
        lambda hart: script.trace(1, random_.randrange(6), hart),
        lambda hart: script.trace(random_.randrange(2, 1000), random_.randrange(1 << 32), hart),
        lambda hart: script.blob(random_.randrange(2), RAM, random_.randrange(64)),
        lambda hart: script.wfi(random_.randrange(2), hart),
        lambda hart: script.privilege(random_.choice((0, 3)), hart),
        lambda hart: script.wait_until(script.cycle + random_.randrange(1, 30)),
    )
    script.trace(1023, 0)
    for _ in range(steps):
        random_.choice(actions)(random_.randrange(2))
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

    def run(self, name, *options, stdin="typed"):
        return player.run(self.binary, self.image, self.folder / name, "--uart1-in", self.feed,
                          "--uart1-baud", 3_000_000, "--hang-cycles", 800, *options, stdin=stdin)

    def same(self, run):
        """The run left what the uninterrupted one left: all files, and the record but for `host`."""
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
    for cycle in [0, 1, end - 1, *random.Random(seed).sample(range(2, end - 1), 12)]:
        checkpoint = tmp_path / f"{cycle}.checkpoint"
        bench.same(bench.run(f"saved-{cycle}", "--checkpoint", checkpoint, "--checkpoint-at", f"cycle:{cycle}"))
        restored = bench.run(f"restored-{cycle}", "--restore", checkpoint)
        bench.same(restored)
        assert restored.record["host"]["restored_at"] == cycle
        assert bench.plain.record["host"]["restored_at"] is None
