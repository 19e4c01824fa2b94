"""What the difference of a figure between two sets is worth.

A run is exact: the same inputs give the same figures. What varies is the seed, so the samples are seeds, and a figure
with one seed on a side has no interval. With more, the interval of the difference of the means is Student's, of the
differences seed by seed, where both sides have the same seeds (they draw the same numbers, so they are not
independent), else Welch's (unequal variances). Whether they differ is decided with Benjamini and Hochberg's correction
for the number of figures.
"""

import warnings
from dataclasses import dataclass

CONFIDENCE = 0.95

# EXACT: by as much, whatever the seed. ONE_SEED: not the same, and what a seed does to it is not known.
SAME, EXACT, ONE_SEED, DIFFERS, NOISE = "same", "differs, any seed", "one seed", "differs", "within noise"


@dataclass
class Difference:
    """One figure of runs with the same parameters, in A and in B. `low`, `high`: the interval of B - A, if known.
    `paired`: both sides have the same seeds, and their figures are in the order of them."""

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
        return self.verdict in (EXACT, ONE_SEED, DIFFERS)

    def percent(self, value):
        """A difference as per cent of A's mean; None where that is 0 or the difference is not known."""
        return None if value is None or not self.mean_a else 100 * value / abs(self.mean_a)


def differences(matching):
    """All figures that both sides of a pair have, each with its verdict."""
    made = []
    for key, (of_a, of_b) in matching.pairs.items():
        seeds_a, seeds_b = sorted(of_a, key=str), sorted(of_b, key=str)
        names = [name for name in next(iter(of_a.values()))
                 if all(name in found for found in (*of_a.values(), *of_b.values()))]
        for name in names:
            made.append(Difference(key, name, [of_a[seed][name] for seed in seeds_a],
                                   [of_b[seed][name] for seed in seeds_b], seeds_a == seeds_b))
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
        elif len(one.a) == 1 or len(one.b) == 1:
            one.verdict = ONE_SEED
        elif constant or len(shifts) == 1:
            one.verdict, one.low, one.high = EXACT, one.change, one.change
        else:
            tested.append(one)
    welch_or_paired(tested)


def welch_or_paired(tested):
    """Intervals and verdicts of those figures that vary over the seeds."""
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
