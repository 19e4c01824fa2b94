"""A paper's figures beside ours, with the difference and its reason."""

from dataclasses import dataclass, field

from sim.results.table import Table, number

TOLERANCE = 0.10        # a difference that is greater, as a share of the paper's figure, wants a reason
UNEXPLAINED = "no reason given"


@dataclass
class Comparison:
    """Figures of one table of a paper. `rows`: list of (label, paper, ours, reason).

    Figures are in `unit`, None where there is none. A reason is one sentence without its stop; it is left out where the
    figures agree within `tolerance`, and a greater difference without one is shown as unexplained. `source` is the
    paper's name.
    """

    title: str
    unit: str
    rows: list
    source: str = ""
    notes: list = field(default_factory=list)
    tolerance: float = TOLERANCE
    main: bool = True       # shown on the terminal

    def entries(self):
        """The rows as they are shown: label, paper, ours, difference, reason; all strings."""
        return [(label, number(paper), number(ours), difference(paper, ours), self.reason(paper, ours, reason))
                for label, paper, ours, reason in self.rows]

    def reason(self, paper, ours, reason):
        """The reason to show: none where the figures agree, else the one given, or that one is wanted."""
        if self.differs(paper, ours):
            return reason or UNEXPLAINED
        return reason if paper is None or ours is None else ""

    def differs(self, paper, ours):
        """Whether the figures are further apart than the tolerance."""
        return paper is not None and ours is not None and abs(ours - paper) > self.tolerance * abs(paper)

    def heading(self):
        return self.title + (f" (paper {self.source})" if self.source else "")

    def table(self):
        """The same as a table for the terminal and for Markdown: reasons stand below it, each once."""
        reasons = {}
        for label, _, _, _, reason in self.entries():
            if reason:
                reasons.setdefault(reason, []).append(label)
        notes = [f"{', '.join(labels)}: {reason}." for reason, labels in reasons.items()]
        return Table(self.heading(), ["", f"paper, {self.unit}", f"ours, {self.unit}", "difference"],
                     [list(entry[:4]) for entry in self.entries()], [*self.notes, *notes], self.main)


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
