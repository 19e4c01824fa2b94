"""The report of `layout`, and the calls of a profile, on records and stacks made up here."""

from sim.experiments import definition, layout
from sim.images import profile
from sim.results import report


def record(kind, placed, results, harts=1, failure=None):
    return {"id": f"{kind}-h{harts}-layout{placed}", "kind": kind, "harts": harts, "sync": "spl-optim", "options": {},
            "parameters": {"layout": placed, "seed": 1}, "failure": failure, "run": {"results": results, "harts": []}}


def fault(placed, cycles, floor, **more):
    return record("fault", placed, {"vm_fault": [{"kind": "copy", "cycles": 1, "floor": 1},
                                                 {"kind": "zero", "cycles": cycles, "floor": floor}],
                                    "vm_trap": [{"cycles": 40}]}, **more)


def summary(records):
    experiment = definition.load("layout")
    return report.summarise(layout, {"experiment": "layout", "settings": experiment.settings([]), "notes": [],
                                     "clock_hz": 60_000_000, "runs": [made["id"] for made in records]}, records)


RECORDS = [fault(1, 300, 100), fault(2, 500, 100), fault(3, 400, 200), fault(0, 1000, 100), fault("profile", 200, 100),
           fault(1, 900, 300, harts=4), fault(4, 1, 1, failure="limit")]


def test_random_layouts_make_the_distribution_and_the_ordered_one_stands_beside_it():
    (table,) = layout.tables(summary(RECORDS))
    path, harts, sync, floor, least, median, most, floors, ordered, linked, gain = table.rows[0]
    assert (path, harts, sync, least, most) == ("page fault, a page of zeros", 1, "spl-optim", "300", "500")
    assert median.startswith("400 (") and floor.startswith("100 (") and floors.startswith("3.00 (")
    assert (ordered, linked, gain) == ("200", "1,000", "-50.0")
    assert table.rows[1][:3] == ["page fault, a page of zeros", 4, "spl-optim"] and table.rows[1][-3:] == ["-"] * 3
    assert len(table.rows) == 2


def test_a_floor_is_of_the_same_layout_and_of_the_fewest_harts():
    calls = [record("call", placed, {"syscall_cost": [{"null": 40 * placed}]}, harts=4) for placed in (1, 2, 3)]
    row = next(row for row in summary([*RECORDS, *calls])["rows"] if row["path"] == "null call")
    assert row["cycles"] == {"1": 40, "2": 80, "3": 120} and row["floor"]["1"] == 40
    assert layout.over_floor(row) == {"1": 1, "2": 2, "3": 3}


def test_the_answer_is_computed():
    said = layout.answer(summary(RECORDS))
    assert "67 % more in the widest (page fault, a page of zeros)" in said
    assert "faster than the median of the random ones in 1 of 1 paths, by 50.0 %" in said
    assert layout.answer(summary([])) is None and layout.tables(summary([])) == [] == layout.plots(summary([]))


def test_plots_are_of_each_number_of_harts():
    assert [(plot.name, plot.points[0][1:]) for plot in layout.plots(summary(RECORDS))] == [
        ("layout-1", (75.0, 100.0, 125.0)), ("layout-4", (100.0, 100.0, 100.0))]


def test_every_path_has_runs_and_they_go_to_every_layout():
    experiment = definition.load("layout")
    runs = experiment.runs(experiment.settings([]), 60_000_000)
    kinds = {kind for (kind, _), floors in layout.PATHS.values() for kind in (kind, *(name for name, _ in floors))}
    assert {run.kind for run in runs} == kinds
    for kind in kinds:
        assert {run.parameters["layout"] for run in runs if run.kind == kind} == {0, "profile", 1, 2, 3, 4, 5}


def test_calls_are_those_at_the_end_of_each_stack():
    assert profile.calls_of(["hart 0;main;f;g 30", "hart 0;main;f 5", "idle 7", "hart 1;h;f;g 12", "a;a 3"]) == {
        ("f", "g"): 42, ("main", "f"): 5}
