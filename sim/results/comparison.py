"""A paper's figures beside ours, with the difference and what explains it.

A reason is a `Factor`: by how many times ours would be the paper's if that were all that differs, computed from figures
of the records and of the paper. The product of a row's factors is beside the difference, and the remainder is
called not explained; so a reason that acts in the wrong direction, or not far enough, is seen.
"""

import math
from dataclasses import dataclass, field

from sim.results.statistics import bounds
from sim.results.table import Table, number

TOLERANCE = 0.10        # a larger difference, as a share of the paper's figure, needs a reason
UNEXPLAINED = "not explained"


@dataclass(frozen=True)
class Factor:
    """A factor that makes ours `times` the paper's: `text` names it with its two figures."""

    text: str
    times: float


@dataclass
class Comparison:
    """Figures of one table of a paper. `rows`: list of (label, paper, ours, factors).

    Figures are in `unit`, None if missing; `factors` lists those that explain the difference, and is omitted where the
    figures agree within `tolerance`. `source` is the paper's name.
    """

    title: str
    unit: str
    rows: list
    source: str = ""
    notes: list = field(default_factory=list)
    tolerance: float = TOLERANCE
    main: bool = True       # shown on the terminal

    def entries(self):
        """The rows as shown: label, paper, ours, difference, reason; all strings."""
        return [(label, number(paper), number(ours), difference(paper, ours), self.reason(paper, ours, factors))
                for label, paper, ours, factors in self.rows]

    def reason(self, paper, ours, factors):
        """The part of a difference that the factors explain; nothing where the figures agree."""
        return explained(paper, ours, factors, self.tolerance) if self.differs(paper, ours) else ""

    def differs(self, paper, ours):
        """Whether the figures are further apart than the tolerance, in all of the interval of ours."""
        if paper is None or ours is None:
            return False
        low, high = bounds(ours)
        return low > paper + self.tolerance * abs(paper) or high < paper - self.tolerance * abs(paper)

    def left_open(self, paper, ours, factors):
        """Whether a difference is not explained, or not all of it."""
        return UNEXPLAINED in self.reason(paper, ours, factors)

    def heading(self):
        return self.title + (f" (paper {self.source})" if self.source else "")

    def table(self):
        """The same as a table for the terminal and for Markdown: reasons are below it, each once."""
        reasons = {}
        for label, _, _, _, reason in self.entries():
            if reason:
                reasons.setdefault(reason, []).append(label)
        notes = [f"{', '.join(labels)}: {reason}." for reason, labels in reasons.items()]
        return Table(self.heading(), ["", f"paper, {self.unit}", f"ours, {self.unit}", "difference"],
                     [list(entry[:4]) for entry in self.entries()], [*self.notes, *notes], self.main)


def explained(paper, ours, factors, tolerance=TOLERANCE):
    """A difference's factors, their product beside the difference, and the remainder."""
    factors = [factor for factor in factors or () if factor.times and abs(math.log(factor.times)) > math.log1p(0.02)]
    if not factors or paper is None or not paper or ours is None or ours / paper <= 0:
        return UNEXPLAINED
    whole, given = float(ours) / paper, math.prod(float(factor.times) for factor in factors)
    named = ", ".join(f"{factor.text} ({times(factor.times)})" for factor in factors)
    if (whole > 1) != (given > 1):
        return f"{UNEXPLAINED}: {named} would make it {times(given)}, and it is {times(whole)}"
    left = whole / given
    together = f": together {times(given)}" if len(factors) > 1 else ""
    rest = f"; {times(left)} is {UNEXPLAINED}" if abs(math.log(left)) > math.log1p(tolerance) else ""
    return f"{named}{together} of {times(whole)}{rest}"


def times(ratio):
    """A factor in words: x 2.00, or / 2.00 where it is below 1."""
    ratio = float(ratio)
    return f"x {number(ratio)}" if ratio >= 1 else f"/ {number(1 / ratio)}"


def difference(paper, ours):
    """Ours against the paper's in words: per cent up to a factor of two, beyond it the factor; a dash for none."""
    if paper is None or ours is None:
        return "-"
    if paper == ours:
        return "0 %"
    if paper == 0 or ours == 0 or (paper < 0) != (ours < 0):
        return f"{'+' if ours > paper else '-'}{number(abs(ours - paper))}"
    ratio = ours / paper
    if 0.5 <= ratio <= 2:
        return f"{100 * (ratio - 1):+.1f} %"
    return f"x {number(ratio)}" if ratio > 2 else f"/ {number(1 / ratio)}"
