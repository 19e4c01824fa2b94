"""Bare-metal proofs on the bare cluster: private I/O, the bus, DMA, and what accesses cost.

Each program in programs/ checks itself and says where it failed."""

import re

import pytest

from support.cache import REPO
from tests.system.cpu.cluster_bench import passes, run

HARTS = [1, 2, 4]


@pytest.mark.parametrize("harts", [1, 2])
def test_bus_errors_trap_precisely(harts):
    passes("errors", harts)


@pytest.mark.parametrize("harts", HARTS)
def test_private_io_port(harts):
    passes("hart_io", harts)


@pytest.mark.parametrize("harts", [2, 4])
def test_a_stalled_hart_stalls_only_itself(harts):
    passes("waiting", harts)


@pytest.mark.parametrize("harts, seed", [(1, 1), (2, 2), (2, 3), (4, 4), (4, 5)])
def test_random_mix_of_accesses(harts, seed):
    passes("mixed", harts, jitter=11, seed=seed, SEED=seed)


@pytest.mark.parametrize("harts", HARTS)
def test_dma_is_coherent(harts):
    passes("dma", harts, jitter=5)


@pytest.mark.parametrize("harts, ways, seed", [(1, 1, 1), (2, 1, 2), (2, 2, 3), (4, 4, 4), (4, 4, 5)])
def test_a_device_is_coherent_at_random(harts, ways, seed):
    passes("device", harts, ways=ways, jitter=7, seed=seed, SEED=seed)


@pytest.mark.parametrize("fault, who", [(1, r"device\.c:\d+ got 0 wanted 1"), (2, r"device: word \d*[13579] is")])
def test_a_stale_line_and_a_missed_store_would_be_seen(fault, who):
    result = run("device", 2, fault=fault, jitter=7, SEED=1)
    assert result.status == 1 and re.search(who, result.text), result.text


def readme_stalls():
    """The README's table of cycles: what the last column's key names, in RAM latency 8 and 20."""
    rows = re.findall(r"^\|[^|]*\|\s*(\d+)\s*\|\s*(\d+)\s*\|\s*`(\w+)`\s*\|$",
                      (REPO / "hw/cpu/README.md").read_text(), re.MULTILINE)
    return {key: (int(short), int(long)) for short, long, key in rows}


@pytest.mark.parametrize("column, latency", [(0, 8), (1, 20)])
def test_accesses_cost_what_the_readme_says(column, latency):
    documented = {key: cycles[column] for key, cycles in readme_stalls().items()}
    assert passes("stalls", 1, latency=latency) == documented


@pytest.mark.parametrize("column, latency", [(0, 8), (1, 20)])
def test_transfers_take_what_the_readme_says(column, latency):
    rows = re.findall(r"^\| (\d+) \|" + r" (\d+) \|" * 4 + "$", (REPO / "hw/cpu/README.md").read_text(), re.MULTILINE)
    documented = {f"{what}_{row[0]}": int(row[1 + 2 * column + i])
                  for row in rows for i, what in enumerate(("write", "read"))}
    assert passes("device_speed", 1, latency=latency, BUSY=0) == documented
    # The bench's memory port carries a word a cycle, with 16 under way: fewer where they take longer than that.
    most = min(1, 16 / (latency + 1))
    for what in ("write", "read"):
        assert 1024 / documented[f"{what}_1024"] > 0.8 * most


@pytest.mark.parametrize("busy", [1, 2], ids=["writes", "reads"])
def test_a_device_gets_most_of_what_harts_leave(busy):
    found = passes("device_speed", 2, BUSY=busy)
    left = found["both_cycles"] - (found["both_words"] - found["both_moved"])
    assert found["both_moved"] > 0.8 * left
    assert found["both_moved"] / found["both_cycles"] > 0.8 * (1 - found["alone_words"] / found["alone_cycles"])
    # And the harts go on.
    assert found["both_turns"] / found["both_cycles"] > 0.5 * found["alone_turns"] / found["alone_cycles"]
