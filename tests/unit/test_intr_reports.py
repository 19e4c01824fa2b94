"""The reports of interrupt-latency and designated: their figures from known records, their tables and plots."""

from sim.experiments import designated, interrupt_latency
from sim.results import report

EXPERIMENT = {"clock_hz": 60_000_000, "notes": [], "runs": ["a", "b"]}


def made(kind, harts, sync, parameters, results, **run):
    return {"id": f"{kind}-{harts}-{sync}", "kind": kind, "harts": harts, "sync": sync, "parameters": parameters,
            "failure": None, "run": {"results": results, **run}}


def latency_line(load, way, p50):
    return {"load": load, "to": way, "samples": 4, "min": p50 - 10, "p50": p50, "p90": p50 + 5, "max": p50 + 20,
            "total": 4 * p50 + 2}


def latency_records():
    lines = [latency_line(load, way, base + more)
             for load, more in (("idle", 0), ("loaded", 100))
             for way, base in (("handler", 200), ("event", 2000), ("thread", 2500), ("relayed", 4000))]
    seen = {"0": {"rises": 8, "wire_to_handler": {"count": 8, "total": 8 * 248, "min": 190, "max": 320},
                  "wire_to_thread": {"count": 8, "total": 8 * 2540, "min": 2480, "max": 2610}}}
    floor = {"samples": 64, "trap": 13, "bare": 58, "kernel": 103, "ratio": 1.78, "ratio_in_software": 2.0}
    return [made("latency", 1, "spl-optim", {"link_latency": 152}, {"intr_latency": lines}, interrupts=seen),
            made("floor", 1, "spl-optim", {"link_latency": 152}, {"intr_floor": [floor]})]


def test_latency_report():
    experiment = EXPERIMENT | {"experiment": "interrupt-latency", "settings": {}}
    summary = report.summarise(interrupt_latency, experiment, latency_records())
    row = next(row for row in summary["latency"] if (row["to"], row["load"]) == ("handler", "loaded"))
    assert (row["latency"], row["p50"], row["max"], row["mean"]) == (152, 300, 320, 300.5)
    assert summary["outside"][0]["handler"] == {"count": 8, "mean": 248.0, "target_count": 8, "target_mean": 250.5}
    text = "\n".join(table.markdown() for table in interrupt_latency.tables(summary))
    assert "| spl-optim | 152 | 200 (220) | 300 (320) | 2,500 (2,520) |" in text
    assert "| spl-optim | 152 | 13 | 58 | 103 | 1.78 | 2.00 |" in text
    assert "remote, idle" not in text       # one hart has no other
    plots = {plot.name: plot for plot in interrupt_latency.plots(summary)}
    assert plots["event-loaded"].series == {"spl-optim": [(152, 2100)]}


def test_a_failed_run_leaves_its_cells_out():
    records = latency_records()
    records[0] |= {"failure": "the target hangs"}
    experiment = EXPERIMENT | {"experiment": "interrupt-latency", "settings": {}}
    summary = report.summarise(interrupt_latency, experiment, records)
    assert summary["failures"] == [{"id": "latency-1-spl-optim", "reason": "the target hangs"}]
    assert [table.title for table in interrupt_latency.tables(summary)] == [
        "Interrupt entry beside the bare trap, cycles from the wire"]
    assert interrupt_latency.plots(summary) == []


def test_designated_report():
    lines = [{"how": "global", "operations": 100, "cycles": 200_000, "caller_p50": 8000, "caller_max": 8100,
              "woken": 0},
             {"how": "designated", "operations": 100, "cycles": 100_000, "caller_p50": 300, "caller_max": 2700,
              "woken": 1}]
    records = [made("designated", harts, "spl-optim", {"lines": 64, "parallel": 3000}, {"designated": lines})
               for harts in (4, 2)]
    experiment = EXPERIMENT | {"experiment": "designated", "settings": {"schemes": ["spl-optim"]}}
    summary = report.summarise(designated, experiment, records)
    assert summary["runs"][0]["gain"] == 2.0
    assert summary["runs"][0]["designated"]["per_million_cycles"] == 1000.0
    table = designated.tables(summary)[0].markdown()
    assert "| spl-optim | 64 | 3000 | 4 | 500.0 | 1,000 | 2.00 | 8,000 (8,100) | 300 (2,700) | 1 |" in table
    plot = next(plot for plot in designated.plots(summary) if plot.name == "per-million-cycles-3000")
    assert plot.series["designated hart, 64 lines"] == [(2, 1000.0), (4, 1000.0)]
    assert designated.tables(report.summarise(designated, experiment, [])) == []
