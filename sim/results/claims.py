"""Claims that records decide: a rule for each, which is printed on the page, and its verdict on these figures.

    less(a, b)          shown if b - a is above 0, refuted if it is below, by the interval of the difference
    same(a, b, margin)  shown if the difference is within `margin` of b by two one-sided tests at 5 %, refuted if its
                        interval lies outside of the margin
    else                not decided: more layouts or seeds may decide it, or nothing does

Differences are taken sample by sample. Of several claims of one table, shown and refuted hold together at 5 % (Holm).
"""

import warnings
from dataclasses import dataclass

from sim.results import statistics
from sim.results.statistics import CONFIDENCE, values_of
from sim.results.table import Table, number

SHOWN, REFUTED, OPEN = "shown", "refuted", "not decided"
LEAST = 3           # the samples needed for a decision


@dataclass
class Claim:
    """`text`: the claim; `rule`: applied to the figures `a`, `b`; `margin`: a share of b, None for `less`."""

    text: str
    rule: str
    a: float
    b: float
    margin: float | None = None


def less(text, rule, a, b):
    return Claim(text, rule, a, b)


def same(text, rule, a, b, margin):
    return Claim(text, rule, a, b, margin)


def differences(claim, count):
    """b - a in every sample; for `same`, as a share of b."""
    pairs = zip(values_of(claim.a, count), values_of(claim.b, count), strict=True)
    there = [(a, b) for a, b in pairs if a is not None and b is not None]
    return [b - a for a, b in there] if claim.margin is None else [(b - a) / b for a, b in there]


def chance(values, against=0.0, alternative="two-sided"):
    """The probability of such differences if their true median is `against`: by Wilcoxon's signed ranks, by Student's
    test if samples are too few for ranks."""
    from scipy import stats
    shifted = [value - against for value in values]
    if len(set(shifted)) == 1:      # the same in every sample
        above = shifted[0] > 0 if alternative != "less" else shifted[0] < 0
        return 0.0 if above or (alternative == "two-sided" and shifted[0]) else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)     # for nearly equal samples
        if len(shifted) >= statistics.LEAST_RANKED:
            return float(stats.wilcoxon(shifted, alternative=alternative).pvalue)
        return float(stats.ttest_1samp(shifted, 0, alternative=alternative).pvalue)


def verdicts(claims, count):
    """The records' verdict on each claim, in order; `count`: samples."""
    tried = [(_tried(claim, differences(claim, count)) if count >= LEAST else (1.0, OPEN)) for claim in claims]
    order = sorted(range(len(tried)), key=lambda index: tried[index][0])
    made = [OPEN] * len(claims)
    for place, index in enumerate(order):       # Holm: stops at the first that is not decided
        probability, said = tried[index]
        if probability * (len(claims) - place) > 1 - CONFIDENCE:
            break
        made[index] = said
    return made


def _tried(claim, values):
    """The probability of a claim's verdict by chance, and the verdict."""
    if len(values) < LEAST:
        return 1.0, OPEN
    middle = statistics.median(values)
    if claim.margin is None:
        return chance(values), SHOWN if middle > 0 else REFUTED
    if abs(middle) <= claim.margin:
        return max(chance(values, -claim.margin, "greater"), chance(values, claim.margin, "less")), SHOWN
    edge = claim.margin if middle > 0 else -claim.margin
    return chance(values, edge, "greater" if middle > 0 else "less"), REFUTED


def table(title, claims, count, notes=()):
    """The claims with their figures, and the verdicts."""
    rows = []
    for claim, said in zip(claims, verdicts(claims, count), strict=True):
        values = differences(claim, count)
        factor = 100 if claim.margin is not None else 1
        low, high = statistics.interval(values, signed=True) or (values[0], values[0])
        shown = f"{number(factor * low)}..{number(factor * high)}" if low != high else number(factor * low)
        rows.append([claim.text, said, claim.rule, number(claim.a), number(claim.b),
                     shown + (f" %, margin {100 * claim.margin:g} %" if claim.margin is not None else "")])
    rules = [f"Shown: the {CONFIDENCE:.0%} interval of the difference b - a lies above 0 (less), or the difference "
             "lies within the margin by two one-sided tests at 5 % (the same). Refuted: below 0, or outside the "
             f"margin. All verdicts of this table hold together at 5 % (Holm). "
             f"Fewer than {LEAST} samples decide nothing."]
    return Table(title, ["claim", "here", "rule", "a", "b", "difference"], rows, [*notes, *rules], texts=3)
