"""Figures over layouts and seeds: intervals with the coverage they state, arithmetic by samples, trees that merge."""

import json
import random

import pytest

from sim.results import claims, statistics
from sim.results.claims import OPEN, REFUTED, SHOWN
from sim.results.statistics import Samples, interval, merge, of
from sim.results.table import number, span

# A draw, and the median of what is drawn.
DRAWS = {"normal": (lambda dice: dice.gauss(10, 1), 10), "skewed": (lambda dice: dice.lognormvariate(0, 1), 1),
         "two values": (lambda dice: 2 + 2 * (dice.random() < 0.3), 2)}


@pytest.mark.parametrize("name", DRAWS)
@pytest.mark.parametrize("n", [2, 3, 5, 6, 7, 20])
def test_an_interval_holds_the_median_as_often_as_it_says(name, n):
    dice, tries = random.Random(1), 1500
    draw, true = DRAWS[name]
    found = [interval([draw(dice) for _ in range(n)]) for _ in range(tries)]
    held = sum(low <= true <= high for low, high in found) / tries
    assert held >= (0.90 if n < 5 else 0.94), held      # few samples of a skewed distribution: a little less
    if n == 20:         # and no wider than the samples
        assert all(high - low < 8 for low, high in found) or name == "skewed"


def test_one_sample_has_no_interval_and_no_interval_of_costs_goes_below_0():
    assert interval([5]) is None
    assert interval([1, 40, 2])[0] == 0 and interval([-1, 40, 2])[0] < -1


def test_the_interval_of_a_share_stays_within_the_whole():
    of_three = statistics.share(Samples([1, 30, 55]), Samples([100, 60, 60]))
    assert interval(of_three.values) == (0, 100) and number(of_three) == "50.0 (0.0..100.0)"
    assert interval(round(of_three, 1).values)[1] == 100 < interval([1, 50, 92])[1]
    assert statistics.share(3, 4) == 75 and statistics.share(1, 0) is None
    for part in (-1, 5):
        with pytest.raises(ValueError, match=f"{part} is no part of 4"):
            statistics.share(part, 4)


def test_the_interval_of_a_difference_may_reach_over_0():
    assert interval([1, 40, 2], signed=True)[0] < 0 < interval([-1, -40, -2], signed=True)[1]
    tried = claims.less("", "", Samples([10, 10, 10.0, 11]), Samples([11, 12, 30, 11.5]))
    low, high = claims.table("t", [tried], 4).rows[0][5].split("..")
    assert float(low) < 0 < float(high)


def test_arithmetic_is_done_sample_by_sample():
    took, floor = Samples([20, 30, 80]), Samples([10, 30, 20])
    assert (took / floor).values == (2, 1, 4)           # not 30 / 20
    assert (2 * took - 10).values == (30, 50, 150) and (1 / floor).values == (0.1, 1 / 30, 0.05)
    assert round(took / 7, 1).values == (2.9, 4.3, 11.4)
    assert took / took == 1 and not isinstance(took / took, Samples)        # the same in all
    assert (took / Samples([10, 0, 20])).values == (2, None, 4)
    assert sum([took, floor]).values == (30, 60, 100) and -floor == -20 and abs(-floor).values == floor.values
    assert max(took, floor) is took and float(took) == 30
    assert float(Samples([1, 2, 4, 9])) == 3
    gap = Samples([10, None, 30])
    assert (gap + 1).values == (11, None, 31) and (took / gap).values == (2, None, 80 / 30)
    with pytest.raises(ValueError):
        took + Samples([1, 2])


@pytest.mark.parametrize("values, text", [
    ([14.1, 14.1, 14.2], "14.1 (14.0..14.3)"), ([6.0, 6.0, 6.0], "6.00"), ([6.001, 6.0, 6.0], "6.00"),
    ([1000, 3000, 2000], "2,000 (0..4,484)"), ([None, None], "-"), ([2.0, None, 2.0], "2.00")])
def test_a_figure_is_shown_with_its_interval_unless_that_is_narrower_than_its_last_digit(values, text):
    assert number(of(values)) == text


def test_a_span_is_the_least_and_the_greatest():
    assert span([30, Samples([1, 1, 2]), 20]) == f"{number(Samples([1, 1, 2]))} to 30.0"
    assert span([7.0, 7.001]) == "7.00"


def test_a_format_shows_the_interval_too():
    assert f"{Samples([1.0, 2.0, 3.0] * 3):.2f}" == "2.00 (1.00..3.00)"
    assert f"{Samples([1, 2, 3] * 3)}" == "2 (1..3)"


def test_trees_merge_by_the_words_of_their_rows():
    def tree(factor, behind=False):
        rows = [{"sync": sync, "latency": latency, "cycles": factor * (latency + 1), "behind": behind,
                 "reason": str(factor)} for sync in ("a", "b") for latency in (0, 75)]
        return {"rows": rows, "none": None, "pair": {"75": 6}, "log": [1, factor]}
    other = tree(3, True)
    other["rows"].reverse()
    del other["rows"][0]            # b, 75
    made = merge([tree(1), tree(2), other], {"latency": {0, 75}, "cycles": {400}})
    rows = {(row["sync"], row["latency"]): row for row in made["rows"]}
    assert list(rows) == [("a", 0), ("a", 75), ("b", 0), ("b", 75)]
    assert rows["a", 75]["cycles"].values == (76, 152, 228) and rows["b", 75]["cycles"].values == (76, 152, None)
    assert statistics.ever(rows["a", 0]["behind"]) and not statistics.always(rows["a", 0]["behind"])
    assert made["pair"] == {"75": 6} and made["none"] is None and made["log"][1].values == (1, 2, 3)


def test_json_has_median_interval_and_samples():
    made = json.loads(json.dumps(statistics.plain({"a": [Samples([1, 2, 9]), 4]})))
    assert made["a"][1] == 4 and made["a"][0]["median"] == 2 and made["a"][0]["samples"] == [1, 2, 9]
    assert made["a"][0]["low"] == 0 and made["a"][0]["high"] > 9


def said(*tried, count=5):
    return claims.verdicts(tried, count)


FAR, NEAR = Samples([20, 21, 22, 21, 20]), Samples([10, 11, 10, 12, 11])


@pytest.mark.parametrize("claim, verdict", [
    (claims.less("", "", NEAR, FAR), SHOWN), (claims.less("", "", FAR, NEAR), REFUTED),
    (claims.less("", "", NEAR, Samples([11, 10, 12, 11, 10])), OPEN), (claims.less("", "", 6, 11), SHOWN),
    (claims.less("", "", 6, 6), OPEN),
    (claims.same("", "", NEAR, NEAR + 0.2, 0.10), SHOWN), (claims.same("", "", NEAR, FAR, 0.10), REFUTED),
    (claims.same("", "", NEAR, Samples([11, 10, 12, 11, 10]), 0.10), OPEN),
    (claims.same("", "", Samples([9.1, 9.4, 8.9, 9.2, 9.0]), 10, 0.10), OPEN),      # within at one end only
    (claims.same("", "", 6, 6, 0.05), SHOWN)])
def test_claims_are_decided_by_their_rule(claim, verdict):
    assert said(claim) == [verdict]
    assert said(claim, count=2) == [OPEN]           # too few samples


def test_many_claims_are_held_to_more():
    edge = claims.less("", "", Samples([10, 11, 10, 12, 11]), Samples([11.5, 11.7, 12.8, 12.6, 11.6]))
    assert said(edge) == [SHOWN]
    assert said(edge, *[claims.less("", "", NEAR, Samples([11, 10, 12, 11, 10]))] * 9)[0] == OPEN


def test_claims_that_are_not_true_are_rarely_decided():
    dice, tries = random.Random(2), 400
    wrong = 0
    for _ in range(tries):
        tried = [claims.less("", "", *(Samples([dice.gauss(10, 1) for _ in range(5)]) for _ in "ab")) for _ in range(4)]
        wrong += any(verdict != OPEN for verdict in said(*tried))
    assert wrong / tries < 0.09


def test_a_table_of_claims_says_its_rule():
    made = claims.table("Claims", [claims.same("a is as long as b", "medians", NEAR, NEAR + 0.2, 0.1)], 5)
    assert made.rows[0][:3] == ["a is as long as b", SHOWN, "medians"] and "margin 10 %" in made.rows[0][5]
    assert "Holm" in made.notes[-1]
