"""Distributions."""

from dataclasses import dataclass, field

from sim.results.plot.drawing import GREY, Drawing, axis, colour


def log2_bins(spread):
    """The bins of a spread in a run's record: (low, high, count) of each, high not included, and 0 with 1.

    A spread counts by powers of two (harness README, "Statistics"); empty bins before the first and after the last
    that is filled are left out.
    """
    bins = [(2 ** power if power else 0, 2 ** (power + 1), count) for power, count in enumerate(spread["log2"])]
    while bins and not bins[0][2]:
        bins.pop(0)
    while bins and not bins[-1][2]:
        bins.pop()
    return bins


@dataclass
class Histogram(Drawing):
    """Distributions over one axis. `series`: label -> list of (low, high, height) with high not included; `curves`:
    label -> list of (x, y) of a line beside them, such as a fitted distribution. On a logarithmic x, a bin that begins
    at 0 is drawn from half its end."""

    x: str                  # with its unit
    y: str
    series: dict
    curves: dict = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False

    def rows(self):
        return [["series", f"{self.x}, from", "to", self.y],
                *([label, *one] for label, bins in self.series.items() for one in bins),
                *([label, x, "", y] for label, points in self.curves.items() for x, y in points)]

    def _outline(self, bins):
        """The corners of the steps, down to the axis at both ends and over gaps."""
        floor = self._floor()
        corners = []
        for low, high, height in bins:
            if self.log_x and low <= 0:
                low = high / 2
            height = max(height, floor)
            if corners and corners[-1][0] == low:
                corners.pop()
            else:
                corners.append((low, floor))
            corners += [(low, height), (high, height), (high, floor)]
        return corners

    def _floor(self):
        """Where the axis of heights begins."""
        if not self.log_y:
            return 0
        heights = [height for bins in self.series.values() for _, _, height in bins if height > 0]
        return min(heights, default=1) / 2

    def draw(self, figure):
        axes = figure.add_subplot()
        floor = self._floor()
        for index, (label, bins) in enumerate(self.series.items()):
            xs, ys = zip(*self._outline(bins), strict=True)
            axes.plot(xs, ys, color=colour(index), label=label, linewidth=1.2)
            axes.fill_between(xs, ys, floor, color=colour(index), alpha=0.25, linewidth=0)
        for label, points in self.curves.items():
            axes.plot(*zip(*points, strict=True), linestyle="--", color=GREY, label=label)
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        if self.log_x:
            axes.set_xscale("log")
        if self.log_y:
            axes.set_yscale("log")
        axes.set_ylim(bottom=floor)
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize="small")

    def figure(self):
        data = []
        for index, (label, bins) in enumerate(self.series.items()):
            xs, ys = zip(*self._outline(bins), strict=True)
            data.append({"type": "scatter", "mode": "lines", "name": label, "x": list(xs), "y": list(ys),
                         "fill": "tozeroy", "fillcolor": f"{colour(index)}40", "line": {"color": colour(index)},
                         "hovertemplate": "%{x:,} → %{y:,.6~g}"})
        for label, points in self.curves.items():
            data.append({"type": "scatter", "mode": "lines", "name": label, "x": [x for x, _ in points],
                         "y": [y for _, y in points], "line": {"color": GREY, "dash": "dash"},
                         "hovertemplate": "%{x:,} → %{y:,.6~g}"})
        return {"data": data, "layout": {"xaxis": axis(self.x, self.log_x), "yaxis": axis(self.y, self.log_y,
                                                                                          from_zero=True)}}
