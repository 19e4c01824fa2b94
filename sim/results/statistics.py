"""Figures over layouts and seeds: a median with its 95 % interval, and what a difference is worth.

A run is exact; what varies is where code, stacks and data lie (`layout`) and what a seed draws. One of each makes a
sample, and a figure is an ensemble: its value in each sample (`Samples`). Arithmetic on it is done sample by sample, so
a ratio to a floor takes the floor of the same layout, and a difference is one of values that were measured together.

The interval of a median, for n samples:

    n >= 6    between two of the ordered samples, which hold the median 95 times in 100 whatever the distribution
    2 to 5    no two samples do that; Student's interval, as layouts act nearly as a normal distribution does
              (Curtsinger and Berger, 2013), widened to hold all samples
    1         none

Two things differ if the interval of their difference leaves 0 out. They are the same if its 90 % interval lies within a
margin that was said beforehand (two one-sided tests at 5 %). The rules of claims.py correct for how many there are.
"""

import functools
import math
import operator

CONFIDENCE = 0.95
REMARKS = ("reason", "note")        # entries whose text may contain figures
LEAST_RANKED = 6        # the number of samples from which two of them bound the median


@functools.cache
def _rank(n, confidence):
    """How many of n ordered samples are outside the median's interval at each end."""
    from scipy import stats
    return int(stats.binom.ppf((1 - confidence) / 2, n, 0.5)) - 1


@functools.cache
def _student(n, confidence):
    from scipy import stats
    return float(stats.t.ppf((1 + confidence) / 2, n - 1)) / math.sqrt(n)


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def interval(values, confidence=CONFIDENCE, signed=False):
    """(low, high) of the median of the population that `values` are samples of; None for a single sample. A `signed`
    figure, such as a difference, may be on the other side of 0 than all samples."""
    n = len(values)
    if n < 2:
        return None
    ordered = sorted(values)
    if n >= LEAST_RANKED:
        rank = max(_rank(n, confidence), 0)
        return ordered[rank], ordered[-1 - rank]
    mean = sum(values) / n
    reach = _student(n, confidence) * math.sqrt(sum((value - mean) ** 2 for value in values) / (n - 1))
    low, high = min(ordered[0], mean - reach), max(ordered[-1], mean + reach)
    if signed:
        return low, high
    if all(isinstance(value, Share) for value in values):
        return Share(max(low, 0)), Share(min(high, 100))
    # A cost is never below 0.
    return (max(low, 0) if ordered[0] >= 0 else low), (min(high, 0) if ordered[-1] <= 0 else high)


class Share(float):
    """A part of a whole in percent, from 0 to 100, which its interval does not leave."""

    def __round__(self, digits=None):
        return Share(round(float(self), digits))


def share(part, whole):
    """A part of a whole as a Share, sample by sample; ValueError if it is more than the whole."""
    def one(part, whole):
        percent = 100 * part / whole
        if not 0 <= percent <= 100 + 1e-9:
            raise ValueError(f"{part} is no part of {whole}")
        return Share(min(percent, 100))
    return apply(one, part, whole)


class Samples(float):
    """A figure's values, one a sample, None where it has none. As a number it is their median."""

    values: tuple

    def __new__(cls, values):
        made = super().__new__(cls, median([value for value in values if value is not None]))
        made.values = tuple(values)
        return made

    @property
    def there(self):
        return [value for value in self.values if value is not None]

    @property
    def low(self):
        return (interval(self.there) or (self, self))[0]

    @property
    def high(self):
        return (interval(self.there) or (self, self))[1]

    def __format__(self, spec):
        middle = self._one(float(self), spec)
        low, high = self._one(self.low, spec), self._one(self.high, spec)
        return middle if low == middle == high else f"{middle} ({low}..{high})"

    def _one(self, value, spec):
        if not spec:
            return f"{value:.0f}" if all(isinstance(one, int) for one in self.there) else f"{value:.6g}"
        return format(float(value), spec)

    def __str__(self):
        return format(self, "")

    def __repr__(self):
        return f"Samples({list(self.values)})"

    def __reduce__(self):
        return Samples, (self.values,)

    def __round__(self, digits=None):
        return of([None if value is None else round(value, digits) for value in self.values])

    def __abs__(self):
        return of([None if value is None else abs(value) for value in self.values])

    def __neg__(self):
        return of([None if value is None else -value for value in self.values])

    # As for float: two are equal if their medians are.
    __hash__ = float.__hash__


def of(values):
    """The figure with these values: a plain number if they are all the same, None if there are none."""
    there = [value for value in values if value is not None]
    if not there:
        return None
    if len(there) == len(values) and all(value == there[0] for value in there):
        return there[0]
    return Samples(values)


def values_of(figure, count):
    """The values of a figure in each of `count` samples, also of one that is the same in all."""
    return figure.values if isinstance(figure, Samples) else (figure,) * count


def apply(function, *figures):
    """`function` of figures, sample by sample; None in a sample where one of them is missing or it divides by 0."""
    count = max((len(figure.values) for figure in figures if isinstance(figure, Samples)), default=1)

    def one(*values):
        try:
            return None if None in values else function(*values)
        except ZeroDivisionError:
            return None
    return of([one(*values) for values in zip(*(values_of(figure, count) for figure in figures), strict=True)])


def _binary(function):
    def forward(self, other):
        return apply(function, self, other) if isinstance(other, int | float) else NotImplemented

    def backward(self, other):
        return apply(function, other, self) if isinstance(other, int | float) else NotImplemented
    return forward, backward


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    _forward, _backward = _binary(getattr(operator, _name))
    setattr(Samples, f"__{_name}__", _forward)
    setattr(Samples, f"__r{_name}__", _backward)


def bounds(figure):
    """(low, high) of a figure; twice itself if it is the same in every sample."""
    return (figure.low, figure.high) if isinstance(figure, Samples) else (figure, figure)


def most(figure):
    """The greatest value in any sample."""
    return max(figure.there) if isinstance(figure, Samples) else figure


def least(figure):
    """The least value in any sample."""
    return min(figure.there) if isinstance(figure, Samples) else figure


def ever(figure):
    """Whether it is true, or not 0, in any sample."""
    return any(value for value in values_of(figure, 1))


def always(figure):
    """Whether it is true, or not 0, in every sample."""
    return all(value for value in values_of(figure, 1))


def plain(value):
    """A tree of figures as JSON: an ensemble with its interval and samples."""
    if isinstance(value, Samples):
        low, high = bounds(value)
        return {"median": float(value), "low": float(low), "high": float(high), "samples": list(value.values)}
    if isinstance(value, dict):
        return {name: plain(inner) for name, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


# ---- trees of figures, one a sample, to one of ensembles


def merge(trees, names=None):
    """One tree of the figures of all `trees`, one a sample: numbers become `Samples` where they are not all the same.
    Rows of a list belong together if they agree in their words, and in the entries that `names` has (name -> values): a
    parameter's. An entry of that name with another value is a figure."""
    return _merged(list(trees), names or {})


def _merged(parts, names):
    there = [part for part in parts if part is not None]
    if not there:
        return None
    if all(isinstance(part, dict) for part in there):
        keys = dict.fromkeys(key for part in there for key in part)
        return {key: _merged([None if part is None else part.get(key) for part in parts], names) for key in keys}
    if all(isinstance(part, list | tuple) for part in there):
        return [_merged(rows, names) for rows in _aligned(parts, names)]
    if all(isinstance(part, int | float) for part in there):
        return of(parts)
    texts = [str(part) for part in there]
    return there[texts.index(max(texts, key=texts.count))]


def _aligned(parts, names):
    """Rows that belong together, in the order in which they first come; None where a part has none."""
    labelled = [{} if part is None else _labels(part, names) for part in parts]
    order = {}
    for rows in labelled:
        order |= dict.fromkeys(rows)
    return [[rows.get(label) for rows in labelled] for label in order]


def _labels(rows, names):
    found, seen = {}, {}
    for row in rows:
        label = str([(key, value) for key, value in row.items() if key in names and value in names[key]
                     or isinstance(value, str) and key not in REMARKS]) if isinstance(row, dict) else ""
        seen[label] = seen.get(label, 0) + 1
        found[label, seen[label]] = row
    return found
