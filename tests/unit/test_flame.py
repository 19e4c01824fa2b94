"""Flame graphs and interrupt latencies from a simulator's output."""

import csv
import io
import json

import pytest

from sim.results import flame, latencies
from sim.results.record import RecordError

FOLDED = "hart 0;thread 2 main;run 40\nhart 0;thread 2 main;run;copy 60\nhart 0 5\nhart 1;thread 1 idle 105\n"
LATENCIES = "source,to,hart,rise,arrival,cycles,in_window\n" + "".join(
    f"{source},{to},0,100,{100 + cycles},{cycles},1\n"
    for source, to, cycles in [(8, "handler", 150), (8, "handler", 160), (8, "thread", 900), (9, "handler", 4000)])


@pytest.fixture
def tree(tmp_path):
    path = tmp_path / "f.folded"
    path.write_text(FOLDED)
    return flame.read(path)


def test_tree_and_stacks(tree):
    assert (tree.all, tree.own, tree.depth) == (210, 0, 5)
    run = tree.below["hart 0"].below["thread 2 main"].below["run"]
    assert (run.own, run.all) == (40, 100)
    assert dict(flame.stacks(tree)) == {("hart 0",): 5, ("hart 0", "thread 2 main", "run"): 40,
                                        ("hart 0", "thread 2 main", "run", "copy"): 60,
                                        ("hart 1", "thread 1 idle"): 105}


def test_speedscope_has_a_profile_a_hart(tree):
    made = json.loads(flame.speedscope(tree, "f"))
    names = [frame["name"] for frame in made["shared"]["frames"]]
    first, second = made["profiles"]
    assert (first["name"], first["endValue"], sum(first["weights"])) == ("hart 0", 105, 105)
    assert [[names[i] for i in sample] for sample in first["samples"]] == [
        ["thread 2 main", "run"], ["thread 2 main", "run", "copy"], []]
    assert second["weights"] == [105]


def test_drawn_and_interactive_show_the_same(tree):
    graph = flame.FlameGraph("f", "F", tree)
    files = graph.files()
    rows = list(csv.reader(io.StringIO(files["csv"].decode())))
    assert rows[0] == ["stack", "cycles"] and sum(int(row[1]) for row in rows[1:]) == 210
    assert b">copy<" in files["svg"] and files["png"].startswith(b"\x89PNG")
    data = graph.figure()["data"][0]
    boxes = dict(zip(data["ids"], data["values"], strict=True))
    assert boxes["all harts;hart 0;thread 2 main;run"] == 100
    assert set(data["parents"]) - {""} <= set(data["ids"])


@pytest.mark.parametrize(("read", "text", "words"), [
    (flame.read, "no cycles here\n", "line 1"),
    (flame.read, "", "no cycles"),
    (latencies.read, "source,to\n", "--latencies"),
    (latencies.read, LATENCIES + "8,handler\n", "not whole"),
    (latencies.read, LATENCIES.splitlines()[0] + "\n", "no interrupt"),
])
def test_another_file_is_one_line(tmp_path, read, text, words):
    path = tmp_path / "x"
    path.write_text(text)
    with pytest.raises(RecordError) as error:
        read(path)
    assert words in str(error.value) and "\n" not in str(error.value)
    with pytest.raises(RecordError, match="cannot be read"):
        read(tmp_path / "nothing")


def test_latencies(tmp_path):
    path = tmp_path / "l.csv"
    path.write_text(LATENCIES)
    ways = latencies.read(path)
    assert ways == {(8, "handler"): [150, 160], (8, "thread"): [900], (9, "handler"): [4000]}
    table = latencies.table(ways, 60_000_000)
    assert table.rows[0] == ["source 8", "handler", "2", "150", "150", "160", "160", "160", "2.58"]
    plot = latencies.histogram(ways, "handler")
    assert {label: sum(count for _, _, count in bins) for label, bins in plot.series.items()} == {
        "source 8": 2, "source 9": 1}
    assert all(low <= 4000 < high or low <= 150 for bins in plot.series.values() for low, high, _ in bins)
    assert latencies.histogram({(8, "thread"): [900]}, "handler") is None


def test_percentile():
    values = list(range(1, 101))
    assert [latencies.percentile(values, p) for p in (50, 90, 99)] == [50, 90, 99]
    assert latencies.percentile([7], 99) == 7
