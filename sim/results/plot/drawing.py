"""What all kinds of plots share: files, colours, and the interactive figure's frame.

The same content gives the same files, byte for byte, with the same version of matplotlib.
"""

import csv
import functools
import io
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass

from sim.results import record

SIZE_INCHES = (7.2, 4.5)
DPI = 120
MOST_TICKS = 8          # up to so many different x, such as numbers of harts, each get a tick
MARKERS = "osD^vPX*"

# Petroff's ten colours (2021), distinguishable by colour-blind people too, and readable on white and on black.
COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6", "#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")
GREY = "#808080"


def colour(index):
    return COLOURS[index % len(COLOURS)]


@dataclass
class Drawing(ABC):
    """A plot of any kind. `name` is the files' name without suffix; `title` may say more than the axes do."""

    name: str
    title: str

    def write(self, directory):
        """Writes NAME.csv, NAME.svg and NAME.png into `directory`; RecordError where that is not possible."""
        for suffix, content in self.files().items():
            record.write_bytes(directory / f"{self.name}.{suffix}", content)

    def files(self):
        """Suffix -> content of each file; drawn once."""
        if not hasattr(self, "_files"):
            self._files = {"csv": self.csv().encode()} | self._drawn()
        return self._files

    def csv(self):
        """The plot's data, as comma-separated values with a heading."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(self.rows())
        return text.getvalue()

    @abstractmethod
    def rows(self):
        """The rows of the CSV file, the heading first."""

    @abstractmethod
    def figure(self):
        """The interactive plot: `data` and `layout` for plotly.js, without colours of text and background."""

    @abstractmethod
    def draw(self, figure):
        """Draws onto a matplotlib figure."""

    def size(self):
        """Inches of the drawn files: width, height."""
        return SIZE_INCHES

    def _drawn(self):
        import matplotlib
        from matplotlib.figure import Figure
        with matplotlib.rc_context({"svg.hashsalt": self.name, "svg.fonttype": "none"}):
            figure = Figure(figsize=self.size(), layout="constrained")
            self.draw(figure)
            content = {}
            for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                drawn = io.BytesIO()
                figure.savefig(drawn, format=suffix, dpi=DPI, metadata=metadata)
                content[suffix] = drawn.getvalue()
            return content


def axis(title, log=False, ticks=(), from_zero=False):
    """A plotly axis. `ticks`: the only places that get one; `from_zero`: it begins at 0."""
    made = {"title": {"text": title}, "automargin": True}
    if log:
        made |= {"type": "log", "dtick": 1, "minor": {"ticks": "outside"}}
    elif from_zero:
        made["rangemode"] = "tozero"
    if ticks:
        made |= {"tickvals": [place for place, _ in ticks], "ticktext": [text for _, text in ticks]}
    return made


def symlog(x):
    """The position of x on a logarithmic axis with room for 0: linear up to 1, then one unit a decade."""
    return x if abs(x) <= 1 else math.copysign(1 + math.log10(abs(x)), x)


@functools.lru_cache(maxsize=4)
def colour_scale(name, steps=9):
    """One of matplotlib's colour maps, for plotly."""
    import matplotlib
    from matplotlib.colors import to_hex
    chosen = matplotlib.colormaps[name]
    return [[step / (steps - 1), to_hex(chosen(step / (steps - 1)))] for step in range(steps)]
