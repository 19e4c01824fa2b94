"""What a page is made of; plain data, turned into HTML by render.py."""

import re
from dataclasses import dataclass, field

from sim.results.plot.drawing import Drawing


def slug(text):
    """A text as part of an element's id or a file's name."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


@dataclass
class Grid:
    """A table that can be sorted and filtered. Cells are shown as they are; figures are sorted as figures."""

    title: str
    columns: list
    rows: list
    notes: list = field(default_factory=list)
    open: bool = True                               # else only its title, until it is clicked
    wide: tuple = (0,)                              # columns of text, aligned left
    marks: dict = field(default_factory=dict)       # row -> its mark: "failed", "unexplained"
    details: dict = field(default_factory=dict)     # row -> the details that a click shows, as JSON

    kind = "grid"

    @property
    def id(self):
        return slug(self.title)


@dataclass
class Picture:
    """A plot, with its files for download."""

    plot: Drawing

    kind = "picture"

    @property
    def title(self):
        return self.plot.title

    @property
    def id(self):
        return f"plot-{slug(self.plot.name)}"


@dataclass
class Listing:
    """Pairs of a name and its value."""

    title: str
    pairs: list

    kind = "listing"

    @property
    def id(self):
        return slug(self.title)


@dataclass
class Section:
    """A heading and the content below it."""

    title: str
    parts: list

    @property
    def id(self):
        return f"section-{slug(self.title)}"


@dataclass
class Page:
    """`question` and `answer` are on top, then `warnings`, each one line; `attached`: file name -> text for
    download."""

    title: str
    lead: str
    sections: list
    warnings: list = field(default_factory=list)
    attached: dict = field(default_factory=dict)
    question: str = ""
    answer: str = ""
