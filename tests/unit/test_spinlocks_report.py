"""The report of `spinlocks` on records made up here: floors, figures, plots."""

import pytest

from sim.experiments import definition, spinlocks
from sim.results import report

TRANSFER = {2: (70.0,), 4: (70.0, 72.0, 71.0)}


def contended(algorithm, harts, scale):
    lines = [{"algorithm": algorithm, "harts": harts, "section": section, "window": 40000, "least": 9, "most": 11,
              "acquisitions": 40000 // (section + 200), "jain": 0.99, "handovers": 0 if harts == 1 else 30,
              "handover": scale * harts, "handover_min": 80, "handover_max": 200, "wait": 300.5, "wait_max": 900}
             for section in (0, 100)]
    transfers = [{"to": to + 1, "cycles": cycles} for to, cycles in enumerate(TRANSFER.get(harts, ()))]
    memory = {"algorithm": algorithm, "harts": harts, "lines": 10, "alone": 400.0, "held": 400.0 + 10 * harts}
    results = {"spinlocks": lines} | ({"line_transfer": transfers, "spinlocks_memory": [memory]} if transfers else {})
    return {"id": f"contended-{algorithm}-{harts}", "kind": "contended", "harts": harts, "failure": None,
            "parameters": {"algorithm": algorithm}, "run": {"results": results}}


def uncontended(algorithm, cycles):
    floors = [{"section": section, "floor": floor, "cycles": cycles, "ratio": round(cycles / floor, 2)}
              for section, floor in (("empty", 43.0), ("store", 73.0))]
    pairs = [{"section": section, "pair": name, "cycles": cost + extra}
             for section, extra in (("empty", 0), ("store", 30)) for name, cost in (("amo", 45.0), ("amo+fence", 43.0))]
    return {"id": f"uncontended-{algorithm}", "kind": "uncontended", "harts": 1, "failure": None,
            "parameters": {"algorithm": algorithm}, "run": {"results": {"lock_floor": floors, "lock_pair": pairs}}}


@pytest.fixture
def summary():
    experiment = definition.load("spinlocks")
    settings = experiment.settings(["algorithms=ticket,mcs", "harts=1,2,4", "sections=0,100"])
    runs = [run.id for run in experiment.runs(settings, 60_000_000)]
    records = [uncontended("ticket", 60.0), uncontended("mcs", 129.0)]
    records += [contended(algorithm, harts, scale) for algorithm, scale in (("ticket", 40), ("mcs", 50))
                for harts in (1, 2, 4)]
    assert len(runs) == len(records)
    asked = {"experiment": "spinlocks", "settings": settings, "notes": [], "clock_hz": 60_000_000, "runs": runs}
    return report.summarise(spinlocks, asked, records)


def test_lists_reach_the_boot_arguments():
    experiment = definition.load("spinlocks")
    runs = experiment.runs(experiment.settings(["sections=0,50", "algorithms=clh", "harts=2"]), 60_000_000)
    run = next(run for run in runs if run.kind == "contended")
    assert "section=0,50 " in run.bootargs and run.options == (("spinlock", "clh"),) and run.harts == 2


def test_floors(summary):
    assert summary["transfer"] == {"2": 70.0, "4": 71.0}
    ticket = summary["uncontended"]["ticket"]
    assert ticket["empty"] == {"cycles": 60.0, "floor": 43.0, "ratio": 1.4, "bare": "amo+fence"}


def test_tables(summary):
    made = {table.title.partition(":")[0]: table for table in spinlocks.tables(summary)}
    assert made["Uncontended"].rows[1] == ["mcs", "129.00", "3.00", "129.00", "1.77"]
    assert made["Hand-over"].rows[0] == ["floor: one transfer", "70.0", "71.0", "70.0", "71.0"]
    assert made["Hand-over"].rows[1] == ["ticket", "80.0", "160", "80.0", "160"]
    assert made["Throughput"].rows[0][1] == "5.00"
    assert made["Disturbance"].rows[1] == ["ticket", 4, "400.0", "440.0", "10.0"]
    assert made["Fairness on 4 harts"].rows[0] == ["ticket", 0, "0.990", 9, 11, 900]


def test_plots_have_the_floor_drawn_in(summary):
    made = {plot.name: plot for plot in spinlocks.plots(summary)}
    assert set(made) == {"passage-0", "passage-100", "handover", "throughput", "fairness", "longest-wait"}
    assert made["handover"].series["floor: one transfer of a line"] == [(2, 70.0), (4, 71.0)]
    assert made["passage-100"].levels == {"floor: section + one transfer (4 harts)": 171.0}
    assert made["passage-100"].series["mcs"] == [(1, 300.75), (2, 300.75), (4, 300.75)]
    assert made["throughput"].series["floor: section + one transfer"][1] == (100, 5.848)


def test_one_hart_alone_has_no_hand_over():
    experiment = {"experiment": "spinlocks", "notes": [], "clock_hz": 1, "runs": ["a"],
                  "settings": {"algorithms": ["ticket"]}}
    summary = report.summarise(spinlocks, experiment, [contended("ticket", 1, 40)])
    titles = [table.title.partition(":")[0] for table in spinlocks.tables(summary)]
    assert titles == ["Throughput", "All contended runs"]
    assert [plot.name for plot in spinlocks.plots(summary)] == ["throughput"]
