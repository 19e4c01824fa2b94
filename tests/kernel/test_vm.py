"""Virtual memory (kernel/vm): maps, objects and faults from all harts, memory that is scarce, shootdown, what it costs.
SHOOTDOWN_SEEDS=100 tries more schedules, VM_ROUNDS=40 takes more rounds of each thread."""

import os

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, COUNTED, boot

PAGES = 100
ROUNDS = int(os.environ.get("VM_ROUNDS", 24))
UNEVEN = "ram_jitter=9 link_delivery_delay=40 link_jitter=30"


@pytest.mark.sampled
@pytest.mark.parametrize("harts,sync", [(2, sync) for sync in SCHEMES] + [(1, "cli-pessim"), (4, "spl-optim")])
def test_from_all_harts(tmp_path, harts, sync):
    """With little memory, so that pages go to the default pager and come back; LOCK_DEBUG's checks in turn."""
    n = SCHEMES.index(sync)
    memory = f"vm.swap=200 user.pages={13 + 20 * harts}"
    run = boot(tmp_path, harts, sync, f"run=test-vm rounds={ROUNDS} hz=1000 {memory} {UNEVEN}",
               n + 1, options=CHECKED.get(sync) if n % 2 == 0 else None)
    assert run.status == 0, run.report()
    result = run.result("test")
    assert result["checks"] > 30 * harts and (harts > 1 or result["pageins"] > 5)


# A single hart has no other to call.
@pytest.mark.parametrize("harts,sync", ((2, "cli-optim"), (2, "spl-pessim"), (4, "spl-optim")))
def test_no_hart_uses_a_page_that_was_given_away(tmp_path, harts, sync):
    for seed in range(int(os.environ.get("SHOOTDOWN_SEEDS", "1"))):
        run = boot(tmp_path / str(seed), harts, sync, f"run=test-shootdown rounds=16 hz=4000 {UNEVEN if seed else ''}",
                   seed)
        assert run.status == 0, f"seed {seed}: {run.report()}"
        assert run.result("test")["shootdowns"] > 12


def test_a_fault_costs_little_beside_its_floor(tmp_path):
    """A page of 0 beside clearing a page, without the trap; a page's part in copying a map beside its table entry."""
    run = boot(tmp_path, 1, "spl-optim", "run=vm-cost hz=0 pages=24")
    assert run.status == 0, run.report()
    kinds = {line["kind"]: line for line in run.record["results"]["vm_fault"]}
    assert kinds["zero"]["cycles"] <= kinds["zero"]["floor"] + 2400, run.report()
    assert kinds["shared"]["cycles"] < kinds["pager"]["cycles"] < 3 * kinds["pager"]["floor"], run.report()
    page = run.result("vm_fork_page")
    assert page["hundredths"] <= 3 * page["floor"], run.report()


def test_no_lock_is_common_to_all_faults(tmp_path):
    """Four harts fault in four maps, a page each time. The locks of each fault are its own, and rarely contended; the
    lock of all pages is taken for one page of eight."""
    run = boot(tmp_path, 4, "spl-optim", f"run=vm-cost parallel=1 hz=0 pages={PAGES} vm.ahead=1 lockstat=none",
               options=COUNTED)
    assert run.status == 0, run.report()
    faults = 4 * PAGES
    locks = run.record["results"]["lockstat"]
    of_all = [line for line in locks if line["attempts"] >= faults / 2]
    assert {"vm_map", "vm_family"} <= {line["class"] for line in of_all}, locks
    assert all(line["misses"] <= faults / 50 for line in of_all), of_all
    assert all(line["attempts"] <= faults / 4 for line in locks if line["class"] == "pages"), locks


def test_chains_stay_short(tmp_path):
    """A parent that creates children and writes between: without collapse, its chain grows with each by the symmetric
    way, and the first child's by the asymmetric; with it, the parent's does not."""
    run = boot(tmp_path, 1, "cli-optim", "run=vm-chain hz=0 children=8")
    assert run.status == 0, run.report()
    lines = {(line["strategy"], line["collapse"], line["children"]): line for line in run.record["results"]["vm_chain"]}
    assert lines["symmetric", 0, 8]["parent"] == 9
    assert lines["symmetric", 1, 8]["parent"] <= 3
    assert lines["asymmetric", 0, 8]["parent"] == 1
    assert lines["asymmetric", 0, 8]["first"] == 9


# A hart alone has a stale cache all the same.
@pytest.mark.parametrize("harts,sync", ((1, "cli-optim"), (2, "spl-pessim"), (4, "spl-optim")))
def test_what_is_executed_is_what_was_written(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-text rounds=40 hz=4000")
    assert run.status == 0, run.report()
    assert run.result("test")["name"] == "text"
