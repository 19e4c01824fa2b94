"""A run leaves the same however it is simulated: some of the random cases whose long forms are commands."""

import pytest

from tests.system import exact_nodes, exact_players

# Some are cut or bounded while lines run dry.
PLAYED = (0, 1, 2, 17, 23, 33, 37, 109, 110, 116, 122, 135)


@pytest.mark.parametrize("waves, seeds", [(False, PLAYED), (True, (3, 4, 14, 15))])
def test_players(tmp_path, waves, seeds):
    bench = exact_players.Bench(tmp_path)
    for seed in seeds:
        bench.check(seed, waves)
    counts = bench.counts
    assert counts["checkpoints"] == len(seeds) and counts["skipped"] > 10_000 * len(seeds)
    assert counts["target"] and (waves or counts["messages"])


@pytest.mark.parametrize("kind, seeds", [("ring", (1, 8)), ("ether", (3,))])
def test_machines(tmp_path, kind, seeds):
    bench = exact_nodes.Bench(tmp_path)
    for seed in seeds:
        bench.check(exact_nodes.Case.of(seed, kind))
    assert bench.counts["messages"]
