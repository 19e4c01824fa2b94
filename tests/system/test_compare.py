"""`./interlock compare` as users see it: the command, its page in a browser, its CSV, its one-line errors."""

import csv
import json
import os
import re
from statistics import mean

import pytest

from sim.results import record
from tests.system.chromium import cells, chromium, drawn, grid, heads, opened
from tests.system.test_cli import interlock, said
from tests.unit.stub import Bench
from tests.unit.test_compare import COST, derived

COSTS = {"before": (6, 7, 6), "after": (9, 9, 10)}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """before/1..3 and after/1..3: three seeds each; in `after` a pair of cli-pessim costs more."""
    root = tmp_path_factory.mktemp("compared")
    made = Bench(root).run("harts=1", "link_latency=0,75", "size=16", "schemes=cli-pessim", "sweep=1000").out
    for name, costs in COSTS.items():
        for seed, cost in enumerate(costs, start=1):
            derived(made, root / "results" / name / str(seed), seed, cost)
    return root


@pytest.fixture(scope="module")
def out(folder):
    result = interlock("compare", folder / "results/before", folder / "results/after", "--out", folder / "comparison")
    assert result.returncode == 0, result.stderr
    assert "5 pairs of runs with the same parameters" in result.stdout and COST in result.stdout
    assert "One sample only" not in result.stdout
    return folder / "comparison"


def test_the_page_shows_what_the_records_hold(out, folder):
    with chromium() as browser:
        page = opened(browser, out / "comparison.html")
        table = grid(page, "Differences")
        rows = [dict(zip(heads(table), row, strict=True)) for row in cells(table)]
        assert len(rows) == 3 and {row["figure"] for row in rows} == {COST}
        for row in rows:
            found = {name: [line["cycles_per_pair"] for path in folder.glob(f"results/{name}/*/runs/*/record.json")
                            if (made := json.loads(path.read_text()))["kind"] == row["kind"]
                            and str(made["parameters"]["link_latency"]) == row["link_latency"]
                            for line in made["run"]["results"]["table5"] if line["scheme"] == "cli-pessim"]
                     for name in COSTS}
            a, b = mean(found["before"]), mean(found["after"])
            assert float(row["A"]) == pytest.approx(a, rel=1e-4) and float(row["B"]) == pytest.approx(b, rel=1e-4)
            change, low, high = (float(re.sub(r"[ %]", "", row[name])) for name in ("difference", "from", "to"))
            assert low < change < high and change == pytest.approx(100 * (b - a) / a, abs=0.01)
            assert row["samples"] == "3/3" and row["verdict"] == "differs"
        points = drawn(page, "plot-differences").evaluate("plot => plot.data[0].x")
        assert points == pytest.approx([change] * 3, abs=0.01)
        assert not page.complaints and len(page.asked) == 1


def test_the_csv_has_the_same(out):
    rows = list(csv.DictReader((out / "comparison.csv").read_text().splitlines()))
    assert {row["figure"] for row in rows if row["verdict"] != "same"} == {COST}
    assert len(rows) > 100


def test_sets_by_query(folder, tmp_path):
    """Conditions and whole queries over all results under build/results."""
    results = tmp_path / "results" / "pic-latency"
    results.mkdir(parents=True)
    for name in COSTS:
        for seed in (1, 2, 3):
            derived(folder / "results" / name / str(seed), results / f"{name}-{seed}", seed)
    env = os.environ | {"INTERLOCK_BUILD": str(tmp_path)}
    query = "select directory, id from runs where directory like '%after%' and link_latency = 75"
    result = interlock("compare", "directory like '%before%' and link_latency = 75", query, "--figure", "results*",
                       "--out", tmp_path / "out", env=env)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("2 pairs of runs with the same parameters; ")
    rows = list(csv.DictReader((tmp_path / "out/comparison.csv").read_text().splitlines()))
    assert [row["figure"] for row in rows if row["verdict"] != "same"] == [COST]
    assert {row["figure"].partition("[")[0] for row in rows} == {"results"}


@pytest.mark.parametrize("arguments, status, text", [
    (["no-such-folder", "."], 1, "no-such-folder: there are no results"),
    (["link_latency = ", "link_latency = 1"], 1, "the query is wrong"),
    (["select id from runs", "link_latency = 1"], 1, "it has to give directory and id"),
    (["link_latency = 12345", "link_latency = 1"], 1, "A, link_latency = 12345: there are no records"),
    (["{a}", "{b}", "--figure", "speed*"], 2, "no figure that A and B share has such a name"),
    (["{a}", "{b}", "--ignore", "speed"], 1, "--ignore speed: the runs have no such parameter"),
    (["{a}", "{b}", "--out", "{a}"], 2, "is there already: give a new directory"),
])
def test_wrong_input_gets_one_line(arguments, status, text, folder, tmp_path):
    (tmp_path / "results" / "pic-latency").mkdir(parents=True)
    derived(folder / "results/before/1", tmp_path / "results/pic-latency/1")
    places = {"{a}": folder / "results/before", "{b}": folder / "results/after"}
    given = [places.get(argument, argument) for argument in arguments]
    assert text in said(interlock("compare", *given, env=os.environ | {"INTERLOCK_BUILD": str(tmp_path)}), status)


def test_a_damaged_record_is_one_line(folder, tmp_path):
    broken = derived(folder / "results/before/1", tmp_path / "broken")
    victim = next(broken.glob("runs/*/record.json"))
    record.write_text(victim, victim.read_text()[:100])
    assert "is not whole" in said(interlock("compare", broken, folder / "results/after"), 1)
