"""Processes whose threads end at once, and programs made at random: nothing is lost, nothing does harm."""

import os

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, boot

# The long form: ROUNDS=40.
ROUNDS = int(os.environ.get("ROUNDS", "2"))


@pytest.mark.parametrize("sync,harts", list(zip(SCHEMES, (2, 4, 2, 1, 2), strict=True)))
def test_threads_that_end_at_once(tmp_path, harts, sync):
    """Without ticks and with many, in turn."""
    n = SCHEMES.index(sync)
    run = boot(tmp_path, harts, sync, f"run=test-user-ends rounds={ROUNDS} hz={(0, 5000)[n % 2]} ram_jitter=9 "
               "lockstat=none", n, options=CHECKED.get(sync) if n % 3 == 0 else None)
    assert run.status == 0, run.report()
    assert run.result("test")["processes"] >= 2 * ROUNDS


@pytest.mark.parametrize("sync,harts,hz", (("spl-optim", 1, 0), ("cli-pessim", 2, 1000)))
def test_programs_made_at_random(tmp_path, sync, harts, hz):
    """With segments at every edge, that of user mode's addresses among them, from which no break can be raised."""
    run = boot(tmp_path, harts, sync, f"run=test-program-fuzz rounds=40 hz={hz} user.pages=120", harts)
    assert run.status == 0, run.report()
    result = run.result("test")
    assert result["started"] > 4 and result["refused"] > 4
