"""Shows two sets of records beside each other: tables for the terminal, a page, a CSV file with every figure."""

import csv
import fnmatch
import io
import math

from sim.results import sampling
from sim.results.compare.matching import words
from sim.results.compare.statistics import CONFIDENCE, DIFFERS, NOISE, ONE_SAMPLE, SAME
from sim.results.page.parts import Grid, Listing, Page, Picture, Section
from sim.results.plot import Intervals
from sim.results.table import Table, number

ORDER = ("results", "runs", "harts", "interrupts", "locks")     # the most wanted first
TERMINAL_ROWS = 25
PLOTTED = 25
PAGE_ROWS = 4000        # more make a browser slow; the CSV file has all
ABOUT = (f"B - A, in per cent of A's mean; the interval is of the difference of the means over layouts and "
         f"seeds ({CONFIDENCE:.0%}; one by one where both sides have the same, else Welch). Verdicts: '{DIFFERS}', "
         f"'{NOISE}': by the same test, corrected for the number of figures shown (Benjamini, Hochberg); "
         f"'{ONE_SAMPLE}': not the same, but a side has one layout and seed only, or none moves the difference, so how "
         f"far it may be chance is not known.")


class Shown:
    """The view of a `Matching` and its differences; `patterns` choose figures by name ("results*")."""

    def __init__(self, a, b, matching, made, patterns=()):
        self.a, self.b, self.matching = a, b, matching
        self.all = [one for one in made if not patterns or any(fnmatch.fnmatchcase(one.figure, pattern)
                                                               for pattern in patterns)]
        self.chosen = sorted((one for one in self.all if one.verdict != SAME), key=urgency)
        values = {}
        for one in self.all:
            for name, value in one.key:
                values.setdefault(name, set()).add(str(value))
        self.varied = [name for name, found in values.items() if len(found) > 1]

    # ---- in words

    def lead(self):
        count = {verdict: sum(one.verdict == verdict for one in self.all)
                 for verdict in (SAME, DIFFERS, ONE_SAMPLE, NOISE)}
        said = ", ".join(f"{verdict}: {value:,}" for verdict, value in count.items() if value)
        return f"{len(self.matching.pairs)} pairs of runs with the same parameters; {len(self.all):,} figures. {said}."

    def warnings(self):
        made = []
        if any(one.verdict == ONE_SAMPLE for one in self.chosen):
            made.append("One sample only, where the verdict says so: the differences are exact for it, but have no "
                        "confidence interval; run more layouts or seeds (--set seed=2 ...) into the same folder.")
        for chosen in (self.a, self.b):
            if chosen.failed:
                made.append(f"{chosen.failed} failed runs of {chosen.name} are left out.")
        if self.matching.alone:
            made.append(f"{len(self.matching.alone)} runs have no partner and are left out.")
        return made

    def identity(self):
        """Identifies A and B, and their differences."""
        pairs = []
        for chosen in (self.a, self.b):
            samples = sorted({sampling.words(sampling.place(made)) for made in chosen.records})
            pairs.append((chosen.name, f"{chosen.asked}\n{len(chosen.records)} runs: {'; '.join(samples)}\n"
                                       f"{', '.join(chosen.directories)}"))
        pairs += [(name, f"A: {of_a}, B: {of_b}") for name, of_a, of_b in self.matching.differ]
        pairs += [("kernel images", self._others("image_sha256")), ("machine", self._others("soc")),
                  ("tools", self._others("tools"))]
        return pairs

    def _others(self, name):
        """Whether something else is the same in all records, and what is not."""
        of_a, of_b = ({str(made[name]): made[name] for made in chosen.records} for chosen in (self.a, self.b))
        if of_a.keys() == of_b.keys():
            return "the same"
        one, other = next(iter(of_a.values())), next(iter(of_b.values()))
        if not isinstance(one, dict) or len(of_a) > 1 or len(of_b) > 1:
            return "not the same"
        return ", ".join(f"{key}: {one.get(key)} / {other.get(key)}" for key in {**one, **other}
                         if one.get(key) != other.get(key))

    # ---- tables

    def by_figure(self):
        """A row for each figure: over all pairs, how many differ and by how much."""
        groups = {}
        for one in self.all:
            groups.setdefault(one.figure, []).append(one)
        differing = {figure: ones for figure, ones in groups.items() if any(one.differs for one in ones)}
        rows = [[figure, len(ones), sum(one.differs for one in ones), number(ratio(ones), 4),
                 *(percent(one.percent(one.change)) or "-" for one in extremes(ones))]
                for figure, ones in sorted(differing.items(), key=lambda entry: min(map(urgency, entry[1])))]
        return ["figure", "pairs", "that differ", "B / A, geometric mean", "least", "greatest"], rows

    def differences(self):
        columns = ["figure", *self.varied, "A", "B", "difference", "from", "to", "samples", "verdict"]
        return columns, [self.row(one) for one in self.chosen]

    def row(self, one):
        found = dict(one.key)
        return [one.figure, *(found.get(name, "-") for name in self.varied), number(one.mean_a, 5),
                number(one.mean_b, 5), percent(one.percent(one.change)) or number(one.change),
                percent(one.percent(one.low)) or "-", percent(one.percent(one.high)) or "-",
                f"{len(one.a)}/{len(one.b)}", one.verdict]

    def tables(self):
        """For the terminal: the differences, the most significant first."""
        columns, rows = self.by_figure()
        made = [Table("By figure", columns, rows[:TERMINAL_ROWS], more(rows))]
        rows = []
        for one in self.chosen:
            figure, *place, mean_a, mean_b, change, low, high, _, verdict = self.row(one)
            where = " ".join(dict.fromkeys(map(str, place)))
            rows.append([figure, where, mean_a, mean_b, change, "-" if low == "-" else f"{low} to {high}", verdict])
        columns = ["figure", "runs", "A", "B", "difference", f"{CONFIDENCE:.0%} interval", "verdict"]
        made.append(Table("Differences", columns, rows[:TERMINAL_ROWS], [*more(rows), ABOUT], texts=2))
        return [table for table in made if table.rows]

    def plots(self):
        """The greatest differences that have an interval, in per cent."""
        known = [one for one in self.chosen if one.low is not None and one.mean_a][:PLOTTED]
        points = [(" ".join([one.figure, *(f"{name}={value}" for name, value in one.key if name in self.varied)]),
                   *(round(one.percent(value), 6) for value in (one.low, one.change, one.high))) for one in known]
        return [Intervals("differences", f"B beside A, {CONFIDENCE:.0%} confidence", "difference, % of A", points, 0)
                          ] if points else []

    def page(self):
        columns, rows = self.differences()
        kept = [index for index, one in enumerate(self.chosen[:PAGE_ROWS]) if one.differs]
        notes = [ABOUT] + ([f"The first {PAGE_ROWS:,} of {len(rows):,}; all are in comparison.csv."]
                           if len(rows) > PAGE_ROWS else [])
        text = (0, *range(1, 1 + len(self.varied)), len(columns) - 1)
        alone = [[name, words(key)] for name, key in self.matching.alone]
        sections = [
            Section("What is compared", [Listing("Sets", self.identity())]),
            Section("Plots", [Picture(plot) for plot in self.plots()]),
            Section("Results", [Grid("By figure", *self.by_figure()),
                                Grid("Differences", columns, rows[:PAGE_ROWS], notes, wide=text,
                                     marks=dict.fromkeys(kept, "differs"))]),
            Section("Runs without a partner", [Grid("Alone", ["set", "parameters"], alone, wide=(0, 1))] if alone else
                    []),
        ]
        return Page("A beside B", self.lead(), [section for section in sections if section.parts], self.warnings())

    def csv(self):
        """Every figure of every pair, also those that are the same."""
        text = io.StringIO()
        out = csv.writer(text, lineterminator="\n")
        names = list(dict.fromkeys(name for one in self.all for name, _ in one.key))
        out.writerow(["figure", *names, "mean_a", "mean_b", "difference", "low", "high", "samples_a", "samples_b",
                      "verdict"])
        for one in self.all:
            found = dict(one.key)
            out.writerow([one.figure, *(found.get(name) for name in names), one.mean_a, one.mean_b, one.change, one.low,
                          one.high, len(one.a), len(one.b), one.verdict])
        return text.getvalue()


def urgency(one):
    """Sort key: certain differences before uncertain ones, results before the rest, large ones before small ones."""
    kind = one.figure.partition(".")[0].partition("[")[0]
    size = abs(one.percent(one.change) or 0)
    return not one.differs, ORDER.index(kind), -size, one.figure, str(one.key)


def percent(value):
    return None if value is None else f"{value:+.2f} %"


def ratio(ones):
    """The geometric mean of B / A over pairs; None where a figure is 0 or below."""
    if not all(one.mean_a > 0 and one.mean_b > 0 for one in ones):
        return None
    return math.exp(sum(math.log(one.mean_b / one.mean_a) for one in ones) / len(ones))


def extremes(ones):
    """The pairs with the least and the greatest difference in per cent."""
    def size(one):
        return one.percent(one.change) or 0
    return min(ones, key=size), max(ones, key=size)


def more(rows):
    left = len(rows) - TERMINAL_ROWS
    return [f"... and {left:,} more in comparison.html and comparison.csv."] if left > 0 else []
