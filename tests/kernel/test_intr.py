"""Events, interrupt threads and the designated hart. The tests themselves are kernel code: kernel/test/."""

import pytest

from sim.kernel import SCHEMES
from tests.kernel.machine import boot
from tests.kernel.test_schemes import CONDITIONS

# Every scheme on 1 and 2 harts; on 4, which take long to simulate, one that queues interrupts and one that does not.
MACHINES = [(harts, sync) for harts in (1, 2) for sync in SCHEMES] + [(4, "spl-optim"), (4, "cli-pessim")]


@pytest.mark.parametrize("harts, sync", MACHINES)
@pytest.mark.parametrize("test", ("event", "ithread"))
def test_under_each_scheme(tmp_path, test, harts, sync):
    """Another condition and another seed for each, so that all together cover what one run each cannot."""
    seed = 1 + SCHEMES.index(sync) + harts
    run = boot(tmp_path, harts, sync, f"run=test-{test} hz=1000 rounds=30 {CONDITIONS[seed % len(CONDITIONS)]}", seed)
    assert run.status == 0, run.report()
    assert run.result("test")["name"] == test
