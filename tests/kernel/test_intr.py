"""Events, interrupt threads and the designated hart. The tests themselves are kernel code: kernel/test/."""

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, boot
from tests.kernel.test_schemes import CONDITIONS

LINE_FETCH = 42     # cycles at most to bring a line from memory (hw/cpu/README.md)
SHIFT = 100         # cycles: by which the two views of an interrupt may not be apart
MACHINES = [(harts, sync) for harts in (1, 2) for sync in SCHEMES] + [(4, "spl-optim"), (4, "cli-pessim")]


@pytest.mark.sampled(10)
@pytest.mark.parametrize("harts, sync", MACHINES)
@pytest.mark.parametrize("test", ("event", "ithread", "designated"))
def test_under_each_scheme(tmp_path, test, harts, sync):
    """Different conditions and seeds for each, so that all together cover what one run each cannot."""
    seed = 1 + SCHEMES.index(sync) + harts
    rounds = 12 if test == "event" else 20
    run = boot(tmp_path, harts, sync,
               f"run=test-{test} hz=1000 rounds={rounds} {CONDITIONS[seed % len(CONDITIONS)]}", seed,
               options=CHECKED.get(sync) if seed % 2 else None)
    assert run.status == 0, run.report()
    assert run.result("test")["name"] == test


@pytest.mark.parametrize("harts, sync", [(1, sync) for sync in SCHEMES] + [(2, "spl-optim"), (4, "cli-pessim")])
def test_entry_takes_at_most_twice_the_bare_trap(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=intr-floor hz=0 samples=64")
    assert run.status == 0, run.report()
    result = run.result("intr_floor")
    assert result["trap"] < result["bare"] < result["kernel"]
    assert result["ratio"] == pytest.approx(result["kernel"] / result["bare"], abs=0.01)
    assert result["ratio"] <= 2, run.report()


def test_entry_grows_by_the_accesses_it_makes(tmp_path):
    """A distant PIC: the bare trap makes one access on the way in, a scheme that sets the level makes two."""
    cost = {}
    for latency in (0, 100):
        run = boot(tmp_path / str(latency), 1, "spl-pessim",
                   f"run=intr-floor hz=0 samples=20 link_latency={latency}")
        cost[latency] = run.result("intr_floor")
    assert cost[100]["bare"] - cost[0]["bare"] == pytest.approx(100, abs=4)
    assert cost[100]["kernel"] - cost[0]["kernel"] == pytest.approx(200, abs=8)


@pytest.mark.parametrize("harts, sync", [(1, "spl-pessim"), (2, "cli-optim")])
def test_latency_seen_from_inside_and_outside(tmp_path, harts, sync):
    """The target, which knows when the wire rises, and the simulator, which sees it, agree on every interrupt."""
    latency = 50
    run = boot(tmp_path, harts, sync, f"run=intr-latency hz=0 samples=8 link_latency={latency}", 3)
    assert run.status == 0, run.report()
    lines = {(line["load"], line["to"]): line for line in run.record["results"]["intr_latency"]}
    seen = run.record["interrupts"]["0"]
    # From the mark to where the target reads its clock there are some instructions, for the thread also the call of its
    # function, in a line of its own. Each line of them may have to come from memory, now and then or always, as code
    # lies; but the bounds are less than SHIFT apart, so what is that much early or late is seen wherever the code lies.
    for way, least, most in (("handler", 0, 10 + LINE_FETCH), ("thread", 5, 20 + 2 * LINE_FETCH)):
        assert most - least < SHIFT
        target = [line for (_, to), line in lines.items() if to == way]
        samples = sum(line["samples"] for line in target)
        outside = seen[f"wire_to_{way}"]
        assert outside["count"] == samples, run.report()
        mean = (sum(line["total"] for line in target) - outside["total"]) / samples
        nearest = min(line["min"] for line in target) - outside["min"]
        assert least <= mean <= most and least <= nearest <= most, f"{mean} {nearest} {run.report()}"
    for load in ("idle", "loaded"):
        ways = {way: lines[load, way] for way in ("handler", "thread", "relayed", "event")}
        assert latency < ways["handler"]["min"] < ways["event"]["min"] < ways["relayed"]["min"]
        assert ways["handler"]["min"] < ways["thread"]["min"] < ways["relayed"]["min"]
        assert ways["event"]["p50"] < ways["relayed"]["p50"]     # what the fast path is for
    assert ((("idle", "remote") in lines) == (harts > 1))
    assert lines["loaded", "handler"]["max"] > lines["idle", "handler"]["max"]
