"""What the difference of a figure between two sets is worth.

A run is exact: the same inputs give the same figures. What varies is layout and seed, so these are the samples, and a
figure with one of them on a side has no interval; nor has one that none of them moves, or by as much on both sides: its
samples are one. Else the interval of the difference of the means is Student's, of the differences sample by sample,
where both sides have the same samples (they draw the same numbers, so they are not independent), else Welch's (unequal
variances). Whether they differ is decided with Benjamini and Hochberg's correction for the number of figures shown.
"""

import fnmatch
import warnings
from dataclasses import dataclass

CONFIDENCE = 0.95

# ONE_SAMPLE: not the same, and the effect of a layout or seed on the difference is not known.
SAME, ONE_SAMPLE, DIFFERS, NOISE = "same", "one sample", "differs", "within noise"


@dataclass
class Difference:
    """One figure of runs with the same parameters, in A and in B. `low`, `high`: the interval of B - A, if known.
    `paired`: both sides have the same samples, and list their figures in that order."""

    key: tuple
    figure: str
    a: list
    b: list
    paired: bool = False
    verdict: str = NOISE
    low: float | None = None
    high: float | None = None

    @property
    def mean_a(self):
        return sum(self.a) / len(self.a)

    @property
    def mean_b(self):
        return sum(self.b) / len(self.b)

    @property
    def change(self):
        return self.mean_b - self.mean_a

    @property
    def differs(self):
        return self.verdict in (ONE_SAMPLE, DIFFERS)

    def percent(self, value):
        """A difference as per cent of A's mean; None where that is 0 or the difference is not known."""
        return None if value is None or not self.mean_a else 100 * value / abs(self.mean_a)


def differences(matching, patterns=()):
    """All figures that both sides of a pair have and whose names fit one of the `patterns`, each with its verdict."""
    made = []
    for key, (of_a, of_b) in matching.pairs.items():
        samples_a, samples_b = sorted(of_a, key=str), sorted(of_b, key=str)
        names = [name for name in next(iter(of_a.values()))
                 if (not patterns or any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns))
                 and all(name in found for found in (*of_a.values(), *of_b.values()))]
        for name in names:
            made.append(Difference(key, name, [of_a[sample][name] for sample in samples_a],
                                   [of_b[sample][name] for sample in samples_b], samples_a == samples_b))
    judge(made)
    return made


def judge(made):
    """Sets verdicts and intervals."""
    tested = []
    for one in made:
        constant = len(set(one.a)) == 1 and len(set(one.b)) == 1
        shifts = {b - a for a, b in zip(one.a, one.b, strict=True)} if one.paired else ()
        if one.paired and one.a == one.b or constant and one.a[0] == one.b[0]:
            one.verdict = SAME
        elif len(one.a) == 1 or len(one.b) == 1 or constant or len(shifts) == 1:
            one.verdict = ONE_SAMPLE
        else:
            tested.append(one)
    welch_or_paired(tested)


def welch_or_paired(tested):
    """Intervals and verdicts of the figures that vary over the samples."""
    if not tested:
        return
    from scipy import stats
    groups = {}         # all of one size at once: scipy takes a millisecond a call
    for one in tested:
        groups.setdefault((one.paired, len(one.a), len(one.b)), []).append(one)
    chances = {}
    for (paired, _, _), group in groups.items():
        of_a, of_b = [one.a for one in group], [one.b for one in group]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)     # nearly constant samples: the interval is still right
            made = (stats.ttest_rel(of_b, of_a, axis=1) if paired else
                    stats.ttest_ind(of_b, of_a, axis=1, equal_var=False))
            interval = made.confidence_interval(CONFIDENCE)
        for one, chance, low, high in zip(group, made.pvalue, interval.low, interval.high, strict=True):
            one.low, one.high = float(low), float(high)
            chances[id(one)] = float(chance)
    for one, chance in zip(tested, stats.false_discovery_control([chances[id(one)] for one in tested]), strict=True):
        one.verdict = DIFFERS if chance < 1 - CONFIDENCE else NOISE
