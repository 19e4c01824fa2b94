"""Zones (kernel/mem/zone.h): from all harts and levels, out of memory, checked with LOCK_DEBUG; and what they cost."""

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, boot, converse

UNEVEN = "link_read_latency=20 link_write_latency=10 link_delivery_delay=40 link_jitter=30 ram_jitter=7"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("sync", SCHEMES)
@pytest.mark.parametrize("harts", (1, 2, 4))
def test_zones_from_everywhere(tmp_path, harts, sync):
    """With the checks of LOCK_DEBUG and without, with ticks and without, in turn."""
    n = SCHEMES.index(sync) + (1, 2, 4).index(harts)
    run = boot(tmp_path, harts, sync, f"run=test-zone user.pages=30 rounds={20 + 20 // harts} hz={(0, 1000)[n % 2]} "
               f"{UNEVEN if n % 3 else ''}", n, options=CHECKED.get(sync) if n % 4 == 0 else None)
    assert run.status == 0, run.report()
    assert run.result("test")["interrupts"] > 10
    zones = {line["name"]: line for line in run.record["results"]["zone"]}
    for name in ("test-handlers", "test-threads", "test-large"):
        assert zones[name]["allocations"] == zones[name]["frees"] > 20 and zones[name]["in_use"] == 0


def test_cost_beside_the_floor(tmp_path):
    """Allocating and freeing takes at most 1.75 times the sections and the bare loads and stores."""
    run = boot(tmp_path, 1, "spl-optim", "run=zone-cost hz=0 iterations=300")
    cost = run.result("zone_cost")
    assert 20 < cost["sections"] < cost["floor"] < cost["cycles"] <= 1.75 * cost["floor"], run.report()


def test_monitor_shows_zones(tmp_path):
    run = converse(tmp_path, 1, "cli-optim", "run=monitor user.pages=20", ["zones", "exit"])
    assert run.status == 0 and "in use    peak  cached  pages" in run.console, run.report()
