"""Calls between harts: under every scheme, on 1 to 8 harts, also without ticks. CALL_SEEDS=20 tries more of each, and
longer; TESTS=all runs all cases."""

import os

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import boot

SEEDS = range(1, 1 + int(os.environ.get("CALL_SEEDS", "1")))
MAX_CYCLES = 7_000_000      # three times what they take
SHORT = 1 if "CALL_SEEDS" in os.environ else 2
SLOW_PIC = "link_latency=152 link_delivery_delay=60 link_jitter=90"
CASES = [(2, sync, f"hz=0 rounds={60 // SHORT}") for sync in SCHEMES] + \
        [(4, sync, f"hz=1000 rounds={16 // SHORT} {SLOW_PIC}") for sync in SCHEMES] + \
        [(1, "cli-optim", "hz=0 rounds=20"), (8, "spl-optim", "hz=0 rounds=20"), (8, "cli-pessim", "hz=0 rounds=20")]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("harts, sync, conditions", CASES)
def test_calls_between_harts(tmp_path, harts, sync, conditions):
    for seed in SEEDS:
        run = boot(tmp_path / str(seed), harts, sync, f"run=test-call {conditions}", seed, max_cycles=MAX_CYCLES)
        assert run.status == 0, f"seed {seed}: {run.report()}"
        assert run.result("test")["calls"] > 0


def test_a_function_that_is_called_must_not_call(tmp_path):
    run = boot(tmp_path, 2, "spl-optim", "run=test-call misuse=nested hz=0")
    assert run.status == 1 and "panic: hart 1: hart_call_run in a function that it calls" in run.console, run.report()
