"""The memory orderings that locks rely on hold on this machine, and a reordering would be seen: kernel/test/litmus.c.

The environment's LITMUS_SEEDS=100 tries that many seeds, LITMUS_WAYS=1, 2 or 4 has caches of so many ways of 4 KiB."""

import os

import pytest

from tests.kernel.machine import boot

CONDITIONS = ("ram_jitter=7", "ram_jitter=31 ram_read_latency=20")
WAYS = int(os.environ.get("LITMUS_WAYS", 0))
CACHES = {"icache_bytes": WAYS * 4096, "icache_ways": WAYS, "dcache_bytes": WAYS * 4096, "dcache_ways": WAYS}


def play(folder, harts, seed, words=""):
    run = boot(folder, harts, "cli-optim", f"run=litmus hz=0 {CONDITIONS[seed % len(CONDITIONS)]} {words}", seed,
               machine=CACHES if WAYS else None)
    assert run.status in (0, 1), run.report()
    return run, {line["name"]: line for line in run.record["results"].get("litmus", [])}


@pytest.mark.parametrize("harts, seeds", [(2, 2), (4, 1)])
def test_no_forbidden_outcome(tmp_path, harts, seeds):
    for seed in range(1, 1 + int(os.environ.get("LITMUS_SEEDS", seeds))):
        run, shapes = play(tmp_path / str(seed), harts, seed)
        forbidden = [line for line in shapes.values() if line["weak"] and not line["allowed"]]
        assert run.status == 0 and not forbidden, f"seed {seed}: {run.report()}"
        assert {"MP+fence.w.w+fence.r.r", "SB+fence.rw.rw", "LB+data", "S+rl+aq", "R+fence.rw.rw", "2+2W+rl", "CoRR+lr",
                "CoWW", "CoRW1", "CoWR"} < shapes.keys()
        assert ("IRIW+fence.r.r" in shapes) == ("WRC+data+addr" in shapes) == (harts == 4)
        for line in shapes.values():
            assert sum(int(part.split(":")[1]) for part in line["outcomes"].split(",")) == line["plays"]
        seen = shapes["SB"]     # each stores, then loads what the other stores: a reordering is allowed
        assert seen["allowed"] and seen["weak"] > seen["plays"] / 8, f"seed {seed}: the harts did not meet: {seen}"


def test_a_forbidden_outcome_would_be_seen(tmp_path):
    """Under sequential consistency store buffering is forbidden: the same test fails where it happens."""
    run, shapes = play(tmp_path, 2, 1, "model=sc shape=SB rounds=100")
    assert run.status == 1
    assert shapes["SB"]["weak"] and not shapes["SB"]["allowed"]
    assert not shapes["SB+fence.rw.rw"]["weak"]
    assert run.result("test")["forbidden"] >= 1


def test_one_hart_has_nothing_to_reorder(tmp_path):
    run, shapes = play(tmp_path, 1, 1)
    assert run.status == 0 and set(shapes) == {"CoRW1"}, run.report()
