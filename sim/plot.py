"""Plots of an experiment's figures: SVG and PNG to look at, CSV with the points that they show.

The same points give the same files, byte for byte, with the same version of matplotlib.
"""

import csv
import io
from dataclasses import dataclass, field

from sim import record

SIZE_INCHES = (7.2, 4.5)
DPI = 120
MOST_TICKS = 8          # as many different x, such as numbers of harts, are each given a tick


@dataclass
class Plot:
    """Lines over one axis. `series`: label -> list of (x, y); `levels`: label -> y of a horizontal line, such as a
    physical floor. `name` is the file's name without its suffix."""

    name: str
    title: str
    x: str                  # with its unit
    y: str
    series: dict
    levels: dict = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False

    def write(self, directory):
        """Writes NAME.svg, NAME.png and NAME.csv into `directory`; RecordError where that is not possible."""
        record.write_text(directory / f"{self.name}.csv", self.csv())
        for suffix, content in self._drawn().items():
            record.write_bytes(directory / f"{self.name}.{suffix}", content)

    def csv(self):
        """The points: one row for each, and one for each horizontal line, which has no x."""
        text = io.StringIO()
        rows = csv.writer(text, lineterminator="\n")
        rows.writerow(["series", self.x, self.y])
        for label, points in self.series.items():
            rows.writerows([label, x, y] for x, y in points)
        rows.writerows([label, "", y] for label, y in self.levels.items())
        return text.getvalue()

    def _drawn(self):
        import matplotlib
        from matplotlib.figure import Figure
        with matplotlib.rc_context({"svg.hashsalt": self.name, "svg.fonttype": "none"}):
            figure = Figure(figsize=SIZE_INCHES, layout="constrained")
            axes = figure.add_subplot()
            for index, (label, points) in enumerate(self.series.items()):
                axes.plot(*zip(*points, strict=True), label=label, marker="osD^vPX*"[index % 8])
            for label, y in self.levels.items():
                axes.axhline(y, linestyle="--", color="0.4", label=label)
            axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
            if self.log_x:
                axes.set_xscale("symlog", linthresh=1)
            elif len(xs := sorted({x for points in self.series.values() for x, _ in points})) <= MOST_TICKS:
                axes.set_xticks(xs)
            if self.log_y:
                axes.set_yscale("log")
            else:
                axes.set_ylim(bottom=0)
            axes.grid(True, alpha=0.3)
            axes.legend(fontsize="small")
            content = {}
            for suffix, metadata in (("svg", {"Date": None}), ("png", {"Software": None})):
                drawn = io.BytesIO()
                figure.savefig(drawn, format=suffix, dpi=DPI, metadata=metadata)
                content[suffix] = drawn.getvalue()
            return content
