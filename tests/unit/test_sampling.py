"""Reports over layouts and seeds: what is a sample, what is left out, and that figures are computed within a sample."""

import copy

import pytest

from sim.results import record, report, sampling
from sim.results.statistics import Samples
from tests.unit.stub import Bench

TRIED = ("harts=1", "link_latency=0,75", "size=16", "schemes=cli-pessim,spl-optim", "sweep=1000")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """experiment.json and records of the stub."""
    bench = Bench(tmp_path_factory.mktemp("sampling"))
    return record.read(bench.run(*TRIED).out)


def layouts(made, factors, axis="layout"):
    """The same records in several layouts; `factors`: by how much all cycles of the primitives are more in each."""
    experiment, records = made
    changed = []
    for number, factor in enumerate(factors, 1):
        for one in copy.deepcopy(records):
            one["id"] += f"-{axis}{number}"
            one["parameters"] |= {axis: number}
            one["run"]["digest"] = f"{one['id']}-{factor}"
            for line in one["run"]["results"].get("table5", ()):
                line["cycles_per_pair"] *= factor
            for hart in one["run"]["harts"]:
                for name in ("enter_cycles", "leave_cycles"):
                    hart["statistics"][name]["total"] *= factor
            changed.append(one)
    return experiment | {"runs": [one["id"] for one in changed]}, changed


def write(directory, experiment, records):
    for one in records:
        folder = directory / "runs" / one["id"]
        folder.mkdir(parents=True)
        record.write_json(folder / "record.json", one)
    record.write_json(directory / "experiment.json", experiment)
    return report.write(directory)


def row_of(summary, identity="serial-h1-spl-optim-l75"):
    return next(row for row in summary["serial"] if row["id"] == identity)


def test_figures_are_medians_over_layouts(made, tmp_path):
    alone = row_of(report.summarise(report.report_of(made[0]), *made))["measured_percent"]
    summary, tables = write(tmp_path, *layouts(made, (1, 3, 2)))
    found = row_of(summary)["measured_percent"]
    assert isinstance(found, Samples) and found.values == pytest.approx((alone, 3 * alone, 2 * alone), abs=1e-3)
    assert row_of(summary)["sections_per_s"] == 12000 and not isinstance(row_of(summary)["sections_per_s"], Samples)
    assert summary["sampling"] == {"layouts": [1, 2, 3], "seeds": [1], "samples": 3, "repeats": 0, "left_out": []}
    text = (tmp_path / "report.md").read_text()
    assert "medians over 3 layouts" in text and ".." in text
    shown = next(table for table in tables if table.title.endswith("measured from outside"))
    assert all("(" in cell for cell in shown.rows[0][1:])
    assert "low,high" in (tmp_path / "pairs.csv").read_text().splitlines()[0]
    assert record.read_json(tmp_path / "summary.json")["pair_cycles"]["75"]["spl-optim"]["samples"] == [9, 27, 18]
    assert "medians over 3 layouts" in (tmp_path / "report.html").read_text()


def test_a_sample_with_a_failed_run_is_left_out_and_named(made):
    experiment, records = layouts(made, (1, 3, 2))
    failed = next(one for one in records if one["id"] == "serial-h1-spl-optim-l75-layout2")
    failed["failure"] = "limit"
    summary = report.summarise(report.report_of(experiment), experiment, records)
    assert summary["sampling"]["layouts"] == [1, 3]
    assert summary["sampling"]["left_out"] == ["layout 2, seed 1: serial-h1-spl-optim-l75"]
    assert "Left out" in sampling.note(summary["sampling"])
    # None is whole: the one with the most.
    next(one for one in records if one["id"] == "table5-l0-layout1")["failure"] = "limit"
    for one in records:
        if one["kind"] == "serial" and one["parameters"]["layout"] != 1:
            one["failure"] = "limit"
    summary = report.summarise(report.report_of(experiment), experiment, records)
    assert summary["sampling"]["samples"] == 1 and summary["sampling"]["layouts"] == [1]


def test_seeds_that_move_nothing_are_one_sample(made):
    experiment, records = layouts(made, (1, 1, 1, 2), axis="seed")
    for one in records:
        one["run"]["digest"] = one["id"].rpartition("-seed")[0] + str(one["parameters"]["seed"] == 4)
    summary = report.summarise(report.report_of(experiment), experiment, records)
    assert (summary["sampling"]["samples"], summary["sampling"]["repeats"]) == (2, 2)
    assert "2 more came out the same" in sampling.note(summary["sampling"])


def test_one_layout_has_no_interval_and_the_report_says_so(made):
    experiment, records = made
    summary = report.summarise(report.report_of(experiment), experiment, records)
    assert "no interval" in sampling.note(summary["sampling"])
    assert "no interval" in report.markdown(summary, [])


def test_any_experiment_runs_with_several_seeds_and_reports_over_them(tmp_path):
    bench = Bench(tmp_path)
    runner = bench.runner(*TRIED, "link_latency=0,75,147", "seed=1,2,3", "iterations=500")
    for run in runner.runs:     # the solution is from the pair of the middle seed
        bench.plan[run.id] = {"digest": f"digest {run.id}"}
    runner = bench.run(*TRIED, "link_latency=0,75,147", "seed=1,2,3", "iterations=500", out="several")
    assert not runner.failures
    ids = {run.id for run in runner.runs}
    assert {f"table5-l75-seed{seed}" for seed in (1, 2, 3)} <= ids
    assert {f"match-l147-seed{seed}" for seed in (1, 2, 3)} <= ids      # one latency for all samples
    summary, _ = report.write(runner.out)
    assert summary["sampling"]["seeds"] == [1, 2, 3] and not summary["sampling"]["left_out"]
    assert summary["match"]["latency"] == 147


def test_a_value_is_solved_from_medians():
    from sim.sweep.runner import solve_value
    solve = {"result": "table5", "primitive": "off-chip", "for": "link_latency", "value": "cycles_per_pair",
             "equals": 304}
    records = [{"parameters": {"link_latency": latency, "layout": layout}, "run": {"results": {"table5": [
        {"primitive": "off-chip", "cycles_per_pair": 10 + 2 * latency + more}]}}}
        for latency in (0, 75) for layout, more in enumerate((0, 0, 40))]
    assert solve_value(solve, records) == 147
    with pytest.raises(ValueError):
        solve_value(solve, records[:3])


def test_a_query_sees_one_sample_at_a_time(made):
    experiment, records = layouts(made, (1, 3, 2))
    asked = experiment | {"report": None, "collect": [{"title": "Pairs", "query": """
        select link_latency, scheme, avg(cycles_per_pair) as pair from results join runs using (id)
        where result = 'table5' group by all order by all""",
        "plot": {"x": "link_latency", "y": "pair", "line": ["scheme"]}}]}
    module = report.report_of(asked)
    summary = report.summarise(module, asked, records)
    [table], [plot] = module.tables(summary), module.plots(summary)
    assert len(table.rows) == 3 * 5
    row = next(row for row in table.rows if row[:2] == ["75", "spl-optim"])
    assert row[2] == "18.00 (0.00..40.36)"
    assert plot.series["spl-optim"][0][1].values == (9, 27, 18)
