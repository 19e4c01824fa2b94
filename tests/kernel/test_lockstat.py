"""The kernel's lock statistics and the simulator's, of one stretch of one run, agree by class and by call site.

Counts are equal. Times differ by the code between a mark, which the simulator sees retire, and the instruction beside
it with which the kernel reads its counter: three cycles, or where a cache line ends between them a miss, or an
interrupt that an optimistic scheme takes just there."""

import csv
import itertools

import pytest

from tests.kernel.machine import CHECKED, COUNTED, PROBE_LOG, boot

TEST_CLASSES = {"test_spin", "test_spin_pair", "test_mutex", "test_rw"}
COUNTS = (("attempts", "attempts"), ("misses", "misses"), ("blocks", "blocks"), ("failures", "fails"))
PER_EVENT = 60      # cycles
BESIDE = 5          # cycles from a mark to the counter's reading, where both are in the cache


def traps_behind_marks(folder):
    """Cycles of each trap between a lock's mark and the kernel's reading of its counter, from the probe log."""
    with open(folder / PROBE_LOG, newline="") as file:
        events = [(int(row["hart"]), int(row["cycle"]), row["event"]) for row in csv.DictReader(file) if row["hart"]]
    found = []
    for _, of_hart in itertools.groupby(sorted(events), key=lambda event: event[0]):
        marked, trapped = 0, None
        for _, cycle, event in of_hart:
            if event == "trap":
                trapped = cycle if cycle - marked <= BESIDE else None
            elif event == "trap_return" and trapped is not None:
                found.append(cycle - trapped)
                trapped = None
            marked = cycle if event in ("lock_acquired", "lock_released") else marked if event == "arrival" else 0
    return found


def assert_agree(what, outside, inside, traps):
    assert [outside[here] for here, _ in COUNTS] == [inside[there] for _, there in COUNTS], what
    for duration in ("wait", "hold"):
        seen = outside[f"{duration}_cycles"]
        assert seen["count"] == inside[f"{duration}s"], f"{what}: {duration}"
        for end in ("min", "max"):
            apart = abs(seen[end] - inside[f"{duration}_{end}"])
            assert apart <= PER_EVENT + max(traps, default=0), f"{what}: {duration} {end}"
        total = abs(seen["total"] - inside[f"{duration}_total"])
        assert total <= PER_EVENT * seen["count"] + sum(traps), f"{what}: {duration}"


@pytest.mark.parametrize("harts, sync, options", [
    (1, "cli-optim", CHECKED["cli-optim"]), (2, "spl-optim", COUNTED), (4, "cli-optim", CHECKED["cli-optim"])])
def test_inside_and_outside_agree(tmp_path, harts, sync, options):
    run = boot(tmp_path, harts, sync, "run=test-lockstat hz=4000 rounds=6 ram_jitter=7 lockstat=sites",
               seed=harts, options=options, probe_log=True)
    assert run.status == 0, run.report()
    assert "events are missing" not in run.console, run.report()
    traps = traps_behind_marks(tmp_path)
    assert len(traps) <= 2 * harts, "more than by chance"
    results, locks = run.record["results"], run.record["locks"]
    assert locks["stray_marks"] == 0
    outside = {entry["class"].replace(" ", "_"): entry for entry in locks["classes"]}
    inside = {line["class"]: line for line in results["lockstat"]}
    for line in results["lockcount"]:       # the test's own counts
        assert line["attempts"] == outside[line["class"]]["attempts"]
    assert {line["class"] for line in results["lockcount"]} == TEST_CLASSES
    for name in TEST_CLASSES | ({"interlock"} & outside.keys()):     # locks without waiters do without it
        assert outside[name]["kind"] == inside[name]["kind"]
        assert_agree(name, outside[name], inside[name], traps)

    sites = {(entry["class"].replace(" ", "_"), int(entry["site"], 16)): entry for entry in locks["sites"]}
    for line in results["lockstat_site"]:
        if line["class"] in TEST_CLASSES:
            seen = sites.pop((line["class"], line["pc"]))
            assert seen["function"] == line["site"]
            assert_agree(line["site"], seen, line, traps)
    assert not [key for key in sites if key[0] in TEST_CLASSES]

    if harts > 1:       # and there was something to count
        for counter in ("misses", "blocks", "failures"):
            assert sum(outside[name][counter] for name in TEST_CLASSES) > 0, counter
        assert outside["test_spin"]["misses"] > 0


def test_counting_outside_costs_the_target_nothing(tmp_path):
    """An image that counts nothing itself runs the same test with only marks; the simulator sees every attempt."""
    run = boot(tmp_path, 2, "cli-optim", "run=test-exclusion hz=1000 rounds=20", seed=1)
    assert run.status == 0, run.report()
    common, = (entry for entry in run.record["locks"]["classes"] if entry["class"] == "test common")
    assert common["attempts"] == run.result("test")["updates"]
    assert common["hold_cycles"]["count"] == common["attempts"]
    assert common["wait_cycles"]["count"] == common["misses"] > 0
