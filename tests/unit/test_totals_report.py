"""The report of `totals`, on records made up here."""

import pytest

from sim.experiments import definition, totals
from sim.results import report


def record(kind, results, layout=1, harts=1, sync="spl-optim", turnaround=None):
    run = {"results": results, "harts": []} | ({"ether": {"turnaround": turnaround}} if turnaround else {})
    return {"id": f"{kind}-h{harts}-{sync}-layout{layout}", "kind": kind, "harts": harts, "sync": sync, "options": {},
            "parameters": {"layout": layout, "seed": 1}, "failure": None, "run": run}


def latency(**ways):
    return [{"load": "idle", "to": way, "p50": cycles} for way, cycles in ways.items()]


def records(layout=1, slower=0):
    def floor(kind, result, **line):
        return record(kind, {result: [line]}, layout)
    return [
        record("wire", {"intr_latency": latency(handler=90, event=300 + slower, relayed=500)}, layout),
        record("wire", {"intr_latency": latency(handler=90, event=400, relayed=500)}, layout, harts=4),
        floor("wire-floor", "intr_floor", bare=60), floor("wake-floor", "switch_floor", wake_floor=90),
        record("frame-softint", {"handler": [{"p50": 200}]}, layout, turnaround={"total": 4000, "count": 4}),
        record("frame-floor", {}, layout, turnaround={"total": 1000, "count": 4}),
        floor("frame-handler-floor", "handler_floor", p50=100),
        record("request", {"disk": [{"cycles": 9000, "bytes": 1536, "request": 512}], "handler": [{"p50": 500}]},
               layout),
        floor("request-floor", "handler_floor", p50=2000), floor("request-handler-floor", "handler_floor", p50=50),
        record("call", {"syscall_cost": [{"null": 70}]}, layout), floor("call-floor", "vm_trap", cycles=40)]


def summary(made):
    experiment = definition.load("totals")
    return report.summarise(totals, {"experiment": "totals", "settings": experiment.settings([]), "notes": [],
                                     "clock_hz": 60_000_000, "runs": [each["id"] for each in made]}, made)


def test_each_total_stands_beside_its_floor_and_a_missed_one_has_its_reason():
    (table,) = totals.tables(summary(records()))
    assert [row[1:] for row in table.rows] == [
        [1, "spl-optim", "150", "300", "2.00", "met", ""],
        [4, "spl-optim", "150", "400", "2.67", "missed",
         "the way to the handler 12 %, the rest 88 % of what is beyond the floor"],
        [1, "spl-optim", "240", "500", "2.08", "missed",
         "the way to the handler 12 %, the rest 88 % of what is beyond the floor"],
        [4, "spl-optim", "240", "500", "2.08", "missed",
         "the way to the handler 12 %, the rest 88 % of what is beyond the floor"],
        [1, "spl-optim", "250", "1,000", "4.00", "missed",
         "the handler 13 %, the rest 87 % of what is beyond the floor"],
        [1, "spl-optim", "2,000", "3,000", "1.50", "met", ""], [1, "spl-optim", "40.0", "70.0", "1.75", "met", ""]]


@pytest.mark.parametrize("slower, said", [(0, totals.MET), (40, totals.OPEN), (400, totals.OPEN)])
def test_an_aim_is_met_or_missed_by_the_whole_interval(slower, said):
    made = [each for n in range(3) for each in records(n + 1, slower * (n == 2))]
    row = next(row for row in summary(made)["rows"] if row["total"] == "event" and row["harts"] == 1)
    assert totals.verdict(row["ratio"]) == said


def test_the_answer_names_what_holds_the_aim_and_the_dearest():
    said = totals.answer(summary(records()))
    assert "disk request to return; system call to return" in said
    assert '"echo request to reply, net=softint" under spl-optim with harts 1, 4' in said
    assert totals.answer(summary([])) is None and totals.tables(summary([])) == [] == totals.plots(summary([]))


def test_plots_are_of_each_number_of_harts():
    plots = totals.plots(summary(records()))
    assert [(plot.name, len(plot.points)) for plot in plots] == [("totals-1", 5), ("totals-4", 2)]


def test_every_total_has_runs_and_every_kind_of_runs_is_used():
    experiment = definition.load("totals")
    runs = experiment.runs(experiment.settings([]), 60_000_000)
    kinds = {run.kind for run in runs}
    assert {kind for kind, _ in totals.TOTALS.values()} == totals.FIGURES.keys()
    assert kinds == totals.FIGURES.keys() | {"wire-floor", "wake-floor", "frame-floor", "frame-handler-floor",
                                             "request-floor", "request-handler-floor", "call-floor"}
    for kind in totals.FIGURES:
        assert {(run.harts, run.sync) for run in runs if run.kind == kind} == {
            (harts, sync) for harts in (1, 4) for sync in totals.SCHEMES}
