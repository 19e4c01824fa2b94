"""A paper's figures beside ours: the difference in words, its reason, and that a missing one is seen."""

import pytest

from sim.results.comparison import UNEXPLAINED, Comparison, difference


@pytest.mark.parametrize("paper, ours, text", [
    (100, 100, "0 %"), (100, 112, "+12.0 %"), (100, 51, "-49.0 %"), (21, 6, "/ 3.50"), (0.05, 0.183, "x 3.66"),
    (None, 5, "-"), (5, None, "-"), (0, 3, "+3.00"), (3, 0, "-3.00")])
def test_difference(paper, ours, text):
    assert difference(paper, ours) == text


def test_a_great_difference_wants_a_reason():
    made = Comparison("Table 5", "cycles", [("off-chip", 304, 305, "chance"),
                                            ("on-chip", 21, 6, "no pipeline to drain"), ("flag", 6, 11, ""),
                                            ("none", None, 6, "not in it")], "sync")
    assert [entry[4] for entry in made.entries()] == ["", "no pipeline to drain", UNEXPLAINED, "not in it"]


def test_as_a_table_each_reason_stands_once():
    made = Comparison("Overhead", "%", [("a", 10, 20, "slower"), ("b", 10, 30, "slower"), ("c", 10, 10.5, "")],
                      notes=["on 1 hart"])
    table = made.table()
    assert table.columns == ["", "paper, %", "ours, %", "difference"]
    assert table.rows[0] == ["a", "10.0", "20.0", "+100.0 %"]
    assert table.notes == ["on 1 hart", "a, b: slower."]
