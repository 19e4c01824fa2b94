"""A paper's figures beside ours: the difference in words, and the part of it that figures explain."""

import pytest

from sim.results.comparison import UNEXPLAINED, Comparison, Factor, difference, explained
from sim.results.statistics import Samples


@pytest.mark.parametrize("paper, ours, text", [
    (100, 100, "0 %"), (100, 112, "+12.0 %"), (100, 51, "-49.0 %"), (21, 6, "/ 3.50"), (0.05, 0.183, "x 3.66"),
    (None, 5, "-"), (5, None, "-"), (0, 3, "+3.00"), (3, 0, "-3.00")])
def test_difference(paper, ours, text):
    assert difference(paper, ours) == text


@pytest.mark.parametrize("paper, ours, factors, text", [
    (10, 20, [("clock", 2.0)], "clock (x 2.00) of x 2.00"),
    (10, 80, [("clock", 2.0)], "clock (x 2.00) of x 8.00; x 4.00 is not explained"),
    (10, 20, [("rate", 8.0)], "rate (x 8.00) of x 2.00; / 4.00 is not explained"),
    (10, 5, [("clock", 2.0), ("cycles", 0.25)], "clock (x 2.00), cycles (/ 4.00): together / 2.00 of / 2.00"),
    # A reason for a lower figure is not given for a higher one.
    (10, 330, [("rarer", 0.25)], "not explained: rarer (/ 4.00) would make it / 4.00, and it is x 33.0"),
    (10, 20, [("none", 1.0)], UNEXPLAINED), (10, 20, [], UNEXPLAINED), (0, 20, [("clock", 2.0)], UNEXPLAINED),
    (140, 0, [("clock", 2.0)], UNEXPLAINED)])
def test_what_factors_explain(paper, ours, factors, text):
    assert explained(paper, ours, [Factor(*factor) for factor in factors]) == text


def test_a_difference_is_one_if_all_of_the_interval_is():
    made = Comparison("Table 5", "cycles", [
        ("off-chip", 304, 305, [Factor("chance", 2.0)]), ("flag", 6, 11, []), ("none", None, 6, []),
        ("wide", 10, Samples([9, 12, 20]), []), ("narrow", 10, Samples([19.9, 20, 20.1]), [])], "sync")
    assert [entry[4] for entry in made.entries()] == ["", UNEXPLAINED, "", "", UNEXPLAINED]
    assert [made.left_open(*row[1:]) for row in made.rows] == [False, True, False, False, True]


def test_as_a_table_each_reason_stands_once():
    slower = [Factor("slower", 2.0)]
    made = Comparison("Overhead", "%", [("a", 10, 20, slower), ("b", 20, 40, slower), ("c", 10, 10.5, [])],
                      notes=["on 1 hart"])
    table = made.table()
    assert table.columns == ["", "paper, %", "ours, %", "difference"]
    assert table.rows[0] == ["a", "10.0", "20.0", "+100.0 %"]
    assert table.notes == ["on 1 hart", "a, b: slower (x 2.00) of x 2.00."]
