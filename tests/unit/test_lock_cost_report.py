"""The report of `lock-cost` on records made up here."""

from sim.experiments import definition, lock_cost
from sim.results import report


def record(harts, debug, stats, factor):
    lines = [{"debug": debug, "stats": stats, "kind": kind, "cycles": cycles * factor, "iterations": 20}
             for kind, cycles in (("simple", 70), ("mutex", 300))]
    passages = [{"debug": debug, "stats": stats, "kind": "mutex", "harts": harts, "section": 100, "pause": 200,
                 "cycles": 900 * factor * harts}]
    return {"id": f"{harts}-{debug}-{stats}", "kind": "locks", "harts": harts, "failure": None,
            "run": {"results": {"lock_cost": lines, "lock_contended": passages}}}


def summary(records):
    experiment = definition.load("lock-cost")
    return report.summarise(lock_cost, {"experiment": "lock-cost", "settings": experiment.settings([]), "notes": [],
                                "clock_hz": 60_000_000, "runs": [made["id"] for made in records]}, records)


def test_runs_cover_all_images_on_all_harts():
    experiment = definition.load("lock-cost")
    runs = experiment.runs(experiment.settings([]), 60_000_000)
    assert {(run.harts, run.options) for run in runs} == {
        (harts, (("lock_debug", debug), ("lock_stats", stats)))
        for harts in (1, 2, 4) for debug in "01" for stats in "01"}


def test_tables_compare_with_the_plain_image():
    made = summary([record(1, 0, 0, 1), record(1, 1, 0, 3), record(2, 0, 0, 1), record(2, 1, 1, 5)])
    uncontended, contended = lock_cost.tables(made)
    assert uncontended.columns == ["lock", "plain", "debug", "x", "both", "x"]
    assert uncontended.rows[0] == ["simple", "70.0", "210", "3.0", "-", "-"]
    assert contended.rows == [["mutex, 1", "900", "2,700", "3.0", "-", "-"],
                              ["mutex, 2", "1,800", "-", "-", "9,000", "5.0"]]


def test_plot_has_a_line_for_each_image():
    made = summary([record(1, 0, 0, 1), record(2, 0, 0, 1), record(1, 1, 0, 3)])
    checked, plot = lock_cost.plots(made)
    assert checked.points == [("simple, debug", 3, 3, 3), ("mutex, debug", 3, 3, 3)]
    assert plot.series == {"mutex, plain": [(1, 900), (2, 1800)], "mutex, debug": [(1, 2700)]}


def test_without_the_plain_image_there_is_nothing_to_compare_with():
    failed = record(1, 0, 0, 1) | {"failure": "limit"}
    made = summary([failed, record(1, 1, 0, 3)])
    assert made["failures"] == [{"id": "1-0-0", "reason": "limit"}]
    assert lock_cost.tables(made)[0].rows[0] == ["simple", "210", "-"]
    assert lock_cost.plots(made) == []
