"""A run has the same results however it is simulated: some of the random cases whose long forms are commands."""

import pytest

from tests.system import exact_nodes, exact_players

# Some are cut or bounded while lines drain.
PLAYED = (0, 1, 2, 17, 23, 33, 37, 109, 110, 116, 122, 135)


@pytest.mark.parametrize("waves, seeds", [(False, PLAYED), (True, (3, 4, 14, 15))])
def test_players(tmp_path, waves, seeds):
    bench = exact_players.Bench(tmp_path)
    for seed in seeds:
        bench.check(seed, waves)
    counts = bench.counts
    assert counts["checkpoints"] == len(seeds) and counts["skipped"] > 10_000 * len(seeds)
    assert counts["target"] and (waves or counts["messages"])


@pytest.mark.parametrize("kind, seeds", [("ring", (1, 8)), ("ether", (18,))])
def test_machines(tmp_path, kind, seeds):
    bench = exact_nodes.Bench(tmp_path)
    for seed in seeds:
        bench.check(exact_nodes.Case.of(seed, kind))
    assert bench.counts["messages"]


def test_frames_that_wait_for_the_wire(tmp_path):
    """A frame that begins in the cycle in which a counter has run out, while all harts sleep, is sent when promised
    (`exact_nodes` checks more of them)."""
    bench, case = exact_nodes.Bench(tmp_path), exact_nodes.Case.of(11, "ether")
    assert "behind=" in case.boot.bootargs
    skipped = bench.run(case, "skipped")
    assert sum(wire["messages"] for wire in skipped[0]["wires"] if "ether" in wire["from"]) > 5
    bench.same(case, skipped, bench.run(case, "whole", "--no-skip"))


def test_each_case_has_frames_that_wait_if_asked_for():
    cases = [exact_nodes.Case.of(seed, behind=True) for seed in range(40)]
    assert all(case.kind == "ether" and " behind=" in case.boot.bootargs for case in cases)
    assert len({case.boot for case in cases}) == len(exact_nodes.boots_behind()) > 4
