"""The report of `placement` on records made up here."""

from sim.experiments import definition, placement
from sim.results import report


def record(kind, pad, results, statistics=None, failure=None):
    return {"id": f"{kind}-{pad}", "kind": kind, "harts": 1, "sync": "spl-optim", "parameters": {"pad": pad},
            "failure": failure, "run": {"results": results, "harts": [{"statistics": statistics or {}}]}}


def load(pad, cycles, traps):
    spread = {"count": traps, "total": 500 * traps, "min": 1, "max": 900, "log2": []}
    statistics = dict.fromkeys(("enter_cycles", "leave_cycles"), {"count": 4, "total": 20 + pad})
    return record("load", pad, {"synthetic": [{"cycles": cycles}]}, statistics | {"handling_trap_cycles": spread})


def summary(records):
    experiment = definition.load("placement")
    return report.summarise(placement, {"experiment": "placement", "settings": experiment.settings([]), "notes": [],
                            "clock_hz": 60_000_000, "runs": [made["id"] for made in records]}, records)


def test_every_kind_of_runs_goes_to_every_place():
    experiment = definition.load("placement")
    runs = experiment.runs(experiment.settings(["pads=0,3"]), 60_000_000)
    assert {(run.kind, run.options) for run in runs} == {
        (kind, (("pad", pad),)) for kind in placement.FIGURES for pad in ("0", "3")}


def test_the_spread_is_that_of_all_places():
    made = summary([load(pad, cycles, 5) for pad, cycles in ((0, 1000), (1, 1100), (2, 1050), (3, 1000))])
    (table,) = placement.tables(made)
    assert table.rows[-1] == ["spl-optim", "the whole load", "1,000", "1,100", "10.0", 3]
    assert table.rows[0] == ["spl-optim", "enter a section, under load, mean", "5.00", "5.75", "15.0", 4]
    (plot,) = placement.plots(made)
    assert plot.series["the whole load"][:2] == [(0, 100), (1, 110)]


def test_what_is_of_another_scheme_or_was_never_seen_is_left_out():
    pairs = [{"scheme": "spl-pessim", "cycles_per_pair": 99}, {"scheme": "spl-optim", "cycles_per_pair": 11}]
    made = summary([record("pair", 0, {"table5": pairs}), load(0, 1000, 0), record("switch", 0, {}, failure="limit")])
    assert [(row["figure"], row["cycles"]) for row in made["figures"] if row["cycles"] in (11, 99)] == [
        ("pair of the scheme's primitives, in a loop", 11)]
    assert not any("trap" in row["figure"] for row in made["figures"])
    assert made["failures"] == [{"id": "switch-0", "reason": "limit"}]


def test_without_runs_there_is_no_table():
    assert placement.tables(summary([])) == [] and placement.plots(summary([])) == []
