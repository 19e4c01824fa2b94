"""Comparing two sets of records: which ones match, what is a figure, and whether a difference is significant."""

import copy
import json
import random
import shutil

import pytest

from sim.results import record, report
from sim.results.compare import layout, matching, sets, statistics
from sim.results.compare.figures import figures
from sim.results.compare.statistics import DIFFERS, NOISE, ONE_SAMPLE, SAME, Difference
from tests.unit.stub import Bench

TRIED = ("harts=1", "link_latency=0,75", "size=16", "schemes=cli-pessim,spl-optim", "sweep=1000")
COST = "results[table5 x cli-pessim].cycles_per_pair"


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A results directory of the stub."""
    bench = Bench(tmp_path_factory.mktemp("compare"))
    return bench.run(*TRIED).out


def derived(made, out, seed=1, cost=None, **changes):
    """A copy of the results with another seed; `cost`: cycles of a pair of cli-pessim; `changes`: of parameters."""
    shutil.copytree(made, out)
    for path in out.glob("runs/*/record.json"):
        entry = json.loads(path.read_text())
        entry["parameters"] |= {"seed": seed} | changes
        for line in entry["run"]["results"].get("table5", ()):
            if cost is not None and line["scheme"] == "cli-pessim":
                line["cycles_per_pair"] = cost
                entry["run"]["digest"] = f"{seed:08x}{cost:08x}"
        record.write_json(path, entry)
    return out


def compared(a, b, *ignored):
    chosen = sets.choose("A", str(a)), sets.choose("B", str(b))
    matched = matching.match(*chosen, ignored)
    return layout.Shown(*chosen, matched, statistics.differences(matched))


def test_figures_have_the_names_of_tables_and_columns(made):
    entry = json.loads((made / "runs" / "serial-h1-spl-optim-l75" / "record.json").read_text())
    second = copy.deepcopy(entry["run"]["harts"][0])
    second["statistics"]["body_cycles"] |= {"total": 1400, "max": 300}
    entry["run"]["harts"].append(second)
    found = figures(entry)
    assert found["runs.cycles"] == 70000 and found["harts.entered"] == 24
    assert found["harts.body_cycles_mean"] == (600 + 1400) / 20 and found["harts.body_cycles_max"] == 300
    assert found["results[serial].interrupts"] == 7
    assert not [name for name in found if "host" in name or "total" in name and "body" in name]


def test_lines_that_a_target_printed_are_told_apart():
    entry = {"experiment": "e", "id": "i", "kind": "k", "harts": 1, "sync": "s", "failure": None, "bootargs": "",
             "image_sha256": "", "options": {}, "parameters": {}, "received": None, "soc": {}, "host": {},
             "run": {"results": {"pair": [{"scheme": "a", "cycles": 1}, {"scheme": "b", "cycles": 2},
                                          {"scheme": "b", "cycles": 3}]}}}
    assert figures(entry) == {"results[pair a].cycles": 1, "results[pair b].cycles": 2, "results[pair b #2].cycles": 3}
    assert figures(entry, {"a"}) == figures(entry)      # not a word of all lines
    entry["run"]["results"]["pair"].pop(0)
    assert figures(entry, {"b"}) == {"results[pair].cycles": 2, "results[pair #2].cycles": 3}


def test_the_interval_is_welchs():
    # Ten to twenty beside 20 to 26 in halves: R's t.test gives 5.585401 to 10.414599.
    one = Difference((), "results", [float(value) for value in range(10, 21)], [20 + step / 2 for step in range(13)])
    statistics.judge([one])
    assert (one.low, one.high) == pytest.approx((5.585401, 10.414599), abs=1e-6)
    assert one.verdict == DIFFERS and one.change == 8


@pytest.mark.parametrize("a, b, verdict", [
    ([5, 5], [5, 5, 5], SAME), ([5], [5], SAME), ([5], [6], ONE_SAMPLE), ([5], [5, 6], ONE_SAMPLE),
    ([5, 5], [6, 6], ONE_SAMPLE), ([5, 7, 6], [6, 5, 7], NOISE), ([5, 7, 6], [105, 107, 106], DIFFERS),
    ([0, 0], [0, 1], NOISE)])
def test_verdicts(a, b, verdict):
    one = Difference((), "results", a, b)
    statistics.judge([one])
    assert one.verdict == verdict
    assert (one.low is None) == (verdict in (SAME, ONE_SAMPLE))


@pytest.mark.parametrize("a, b, verdict, interval", [
    ([5, 9, 7], [5, 9, 7], SAME, (None, None)),
    ([5, 9, 7], [6, 10, 8], ONE_SAMPLE, (None, None)),
    # Differences 3, 2, 4: mean 3, standard error 1/sqrt(3), and 4.302653 of them at two degrees of freedom.
    ([6, 70, 600], [9, 72, 604], DIFFERS, (3 - 4.302653 / 3 ** 0.5, 3 + 4.302653 / 3 ** 0.5)),
    ([6, 70, 600], [9, 69, 600], NOISE, None)])
def test_the_same_seeds_are_compared_one_by_one(a, b, verdict, interval):
    one = Difference((), "results", a, b, paired=True)
    statistics.judge([one])
    assert one.verdict == verdict
    if interval and interval[0] is None:
        assert one.low is None and one.high is None
    elif interval:
        assert (one.low, one.high) == pytest.approx(interval, abs=1e-5)


def test_chance_alone_makes_no_difference_among_many_figures():
    """Of 200 figures without a difference, Welch alone takes some ten for one."""
    draw = random.Random(7)
    many = [Difference((), "results", [draw.gauss(100, 5) for _ in range(6)], [draw.gauss(100, 5) for _ in range(6)])
            for _ in range(200)]
    statistics.judge(many)
    assert sum(one.low > 0 or one.high < 0 for one in many) > 3
    assert not any(one.verdict == DIFFERS for one in many)


def test_runs_are_matched_by_parameters_and_seeds_are_samples(made, tmp_path):
    for seed, (before, after) in enumerate([(6, 9), (7, 9), (6, 10)], start=1):
        derived(made, tmp_path / "a" / str(seed), seed, before)
        derived(made, tmp_path / "b" / str(seed), seed, after)
    shown = compared(tmp_path / "a", tmp_path / "b")
    assert len(shown.matching.pairs) == 2 + 1 + 4 and not shown.matching.alone
    differing = [one for one in shown.all if one.differs]
    assert {one.figure for one in differing} == {COST} and len(differing) == 3
    for one in differing:
        assert sorted(one.a) == [6, 6, 7] and sorted(one.b) == [9, 9, 10] and one.verdict == DIFFERS
        assert 0 < one.low < one.change < one.high and one.change == pytest.approx(3)
    assert not shown.warnings()
    (plot,) = shown.plots()
    assert len(plot.points) == 3


def test_the_correction_counts_the_figures_that_are_chosen(made, tmp_path):
    """A difference that is significant alone need not be so among all figures."""
    dice = random.Random(3)
    for seed, (before, after) in enumerate([(60, 62), (61, 66), (60, 63), (62, 64)], start=1):
        for name, cost in (("a", before), ("b", after)):
            out = derived(made, tmp_path / name / str(seed), seed, cost)
            for path in out.glob("runs/*/record.json"):
                entry = json.loads(path.read_text())
                entry["run"]["results"]["noise"] = [{f"figure{n}": dice.gauss(100, 5) for n in range(100)}]
                entry["run"]["digest"] = f"{name}{seed}"
                record.write_json(path, entry)
    chosen = sets.choose("A", str(tmp_path / "a")), sets.choose("B", str(tmp_path / "b"))
    matched = matching.match(*chosen)
    for patterns, verdict in (([], NOISE), (["*cycles_per_pair"], DIFFERS)):
        found = statistics.differences(matched, patterns)
        assert {one.verdict for one in found if one.figure == COST} == {verdict}


def test_layouts_are_samples(made, tmp_path):
    for number, (before, after) in enumerate([(6, 9), (7, 9), (6, 10)], start=1):
        derived(made, tmp_path / "a" / str(number), cost=before, layout=number)
        derived(made, tmp_path / "b" / str(number), cost=after, layout=number)
    shown = compared(tmp_path / "a", tmp_path / "b")
    assert len(shown.matching.pairs) == 2 + 1 + 4
    assert {(one.figure, one.verdict) for one in shown.all if one.differs} == {(COST, DIFFERS)}


def test_one_seed_is_said(made, tmp_path):
    shown = compared(made, derived(made, tmp_path / "b", cost=9))
    assert [one.verdict for one in shown.chosen] == [ONE_SAMPLE] * 3 and not shown.plots()
    assert "One sample only" in shown.warnings()[0]
    columns, rows = shown.differences()
    row = dict(zip(columns, rows[0], strict=True))
    wanted = {"figure": COST, "A": "6.0000", "B": "9.0000", "difference": "+50.00 %", "from": "-", "to": "-",
              "samples": "1/1", "verdict": ONE_SAMPLE}
    assert {name: row[name] for name in wanted} == wanted


def test_what_is_one_thing_in_a_and_another_in_b_is_what_is_compared(made, tmp_path):
    shown = compared(made, derived(made, tmp_path / "b", size=32))
    assert shown.matching.differ == [("size", 16, 32)] and len(shown.matching.pairs) == 7
    assert ("size", "A: 16, B: 32") in shown.identity()


def test_what_is_compared_need_not_differ_in_other_kinds_of_runs(made, tmp_path):
    """The costs are those of one scheme in both; the comparison is of the load's scheme."""
    a = only(made, tmp_path / "a", "table5*", "serial-h1-cli-pessim-*")
    b = only(made, tmp_path / "b", "table5*", "serial-h1-spl-optim-*")
    shown = compared(a, b)
    assert shown.matching.differ == [("scheme", "cli-pessim", "spl-optim")]
    assert len(shown.matching.pairs) == 2 + 2 and not shown.matching.alone


def test_runs_without_a_partner_are_named(made, tmp_path):
    other = derived(made, tmp_path / "b")
    for path in other.glob("runs/serial-h1-cli-pessim-l75"):
        shutil.rmtree(path)
    shown = compared(made, other)
    assert [(name, dict(key)["link_latency"]) for name, key in shown.matching.alone] == [("A", 75)]
    assert "1 runs have no partner" in " ".join(shown.warnings())


def only(made, out, *patterns):
    """A copy of the results with only the runs that fit."""
    derived(made, out)
    for path in out.glob("runs/*"):
        if not any(path.match(pattern) for pattern in patterns):
            shutil.rmtree(path)
    return out


def test_nothing_in_common_is_one_line(made, tmp_path):
    costs, loads = only(made, tmp_path / "a", "table5*"), only(made, tmp_path / "b", "serial*")
    with pytest.raises(record.RecordError, match="A has experiment=pic-latency kind=table5 .*; B has .*kind=serial"):
        compared(costs, loads)
    with pytest.raises(record.RecordError, match="--ignore speed: the runs have no such parameter .*latency"):
        compared(made, made, "speed")
    with pytest.raises(record.RecordError, match="no results"):
        sets.choose("A", str(tmp_path / "none"))


def test_a_parameter_can_be_left_out(made, tmp_path):
    a = only(made, tmp_path / "a", "serial-h1-cli-pessim-l0", "serial-h1-spl-optim-l75")
    b = only(made, tmp_path / "b", "serial-h1-cli-pessim-l75", "serial-h1-spl-optim-l0")
    with pytest.raises(record.RecordError, match="no run of A has the parameters"):
        compared(a, b)
    assert len(compared(a, b, "link_latency").matching.pairs) == 2
    with pytest.raises(record.RecordError, match="A has .* twice, and not the same"):
        compared(made, b, "link_latency")


def test_the_same_run_twice_has_to_be_the_same(made, tmp_path):
    derived(made, tmp_path / "a" / "1")
    derived(made, tmp_path / "a" / "2")
    assert len(compared(tmp_path / "a", made).matching.pairs) == 7
    derived(made, tmp_path / "a" / "3", cost=8)
    with pytest.raises(record.RecordError, match="A has .* with layout 0, seed 1 twice.*choose one"):
        compared(tmp_path / "a", made)


def test_the_csv_has_every_figure(made, tmp_path):
    shown = compared(made, derived(made, tmp_path / "b", cost=9))
    lines = shown.csv().splitlines()
    assert len(lines) == 1 + len(shown.all) > 100
    assert sum(line.endswith(f",{SAME}") for line in lines) == len(shown.all) - 3


def test_words_in_brackets_reach_the_terminal():
    from rich.console import Console
    console = Console(width=100, record=True, file=open("/dev/null", "w"))
    console.print(report.Table("t", ["figure"], [["locks[run queue].attempts"]]).rich())
    assert "locks[run queue].attempts" in console.export_text()
