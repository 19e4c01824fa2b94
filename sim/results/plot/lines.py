"""Lines over one axis."""

from dataclasses import dataclass, field

from sim.results.plot.drawing import GREY, MARKERS, MOST_TICKS, Drawing, axis, colour, symlog
from sim.results.statistics import Samples, bounds

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")     # as MARKERS


@dataclass
class Plot(Drawing):
    """Lines over one axis. `series`: label -> list of (x, y); `levels`: label -> y of a horizontal line, such as a
    physical floor. A logarithmic x has room for 0. x may be names, which stay in their order. A y that varies over
    layouts and seeds has a band, its interval. `hollow`: label -> those x whose points are drawn hollow, and
    `hollow_means` their meaning."""

    x: str                  # with its unit
    y: str
    series: dict
    levels: dict = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False
    hollow: dict = field(default_factory=dict)
    hollow_means: str = ""

    def rows(self):
        """The points: one row for each, and one for each horizontal line, which has no x."""
        points = [[label, x, y] for label, found in self.series.items() for x, y in found]
        rows = [["series", self.x, self.y], *points, *([label, "", y] for label, y in self.levels.items())]
        if any(isinstance(row[2], Samples) for row in rows):
            rows = [[*rows[0], "low", "high"],
                    *([label, x, float(y), *map(float, bounds(y))] for label, x, y in rows[1:])]
        if self.hollow:
            rows = [[*rows[0], self.hollow_means or "hollow"],
                    *([*row, "yes" if row[1] in self.hollow.get(row[0], ()) else ""] for row in rows[1:])]
        return rows

    @staticmethod
    def _band(points):
        """Low and high ends over the points; None where every y is the same in all samples."""
        if not any(isinstance(y, Samples) for _, y in points):
            return None
        return [float(bounds(y)[0]) for _, y in points], [float(bounds(y)[1]) for _, y in points]

    def _xs(self):
        xs = dict.fromkeys(x for points in self.series.values() for x, _ in points)
        return list(xs) if self._named() else sorted(xs)

    def _named(self):
        return any(isinstance(x, str) for points in self.series.values() for x, _ in points)

    def _places(self):
        """The position of each x, and its label."""
        if self._named():
            return {x: index for index, x in enumerate(self._xs())}, [*enumerate(map(str, self._xs()))]
        xs = self._xs()
        if self.log_x and xs and xs[0] <= 0:        # plotly's logarithmic axis has no room for 0
            return {x: symlog(x) for x in xs}, [(symlog(x), f"{x:g}") for x in xs]
        few = len(xs) <= MOST_TICKS and not self.log_x
        return {x: x for x in xs}, [(x, f"{x:g}") for x in xs] if few else []

    def draw(self, figure):
        axes = figure.add_subplot()
        xs, named = self._xs(), self._named()
        for index, (label, points) in enumerate(self.series.items()):
            at = [xs.index(x) if named else x for x, _ in points]
            marker = MARKERS[index % len(MARKERS)]
            axes.plot(at, [float(y) for _, y in points], label=label, marker=marker, color=colour(index))
            if band := self._band(points):
                axes.fill_between(at, *band, color=colour(index), alpha=0.25, linewidth=0)
            chosen = [(place, float(y)) for place, (x, y) in zip(at, points, strict=True)
                      if x in self.hollow.get(label, ())]
            if chosen:
                axes.plot(*zip(*chosen, strict=True), linestyle="none", marker=marker, color=colour(index),
                          markerfacecolor="white", zorder=3)
        if self.hollow:
            axes.plot([], [], linestyle="none", marker="o", color=GREY, markerfacecolor="white",
                      label=f"hollow: {self.hollow_means}")
        for label, y in self.levels.items():
            if isinstance(y, Samples):
                axes.axhspan(*map(float, bounds(y)), color=GREY, alpha=0.15, linewidth=0)
            axes.axhline(float(y), linestyle="--", color=GREY, label=label)
        axes.set(title=self.title, xlabel=self.x, ylabel=self.y)
        if named:
            axes.set_xticks(range(len(xs)), map(str, xs))
        elif self.log_x:
            axes.set_xscale("symlog", linthresh=1)
            if xs and xs[0] >= 0:
                axes.set_xlim(-0.2 if xs[0] < 1 else 0.8 * xs[0], 1.3 * xs[-1] + 0.1)
        elif len(xs) <= MOST_TICKS:
            axes.set_xticks(xs)
        if self.log_y:
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.grid(True, alpha=0.3)
        axes.legend(fontsize="small")

    def figure(self):
        places, ticks = self._places()
        data = []
        for index, (label, points) in enumerate(self.series.items()):
            at = [places[x] for x, _ in points]
            symbol = SYMBOLS[index % len(SYMBOLS)]
            hollow = self.hollow.get(label, ())
            band = self._band(points)
            if band:
                data.append({"type": "scatter", "mode": "lines", "x": [*at, *at[::-1]],
                             "y": [*band[0], *band[1][::-1]], "fill": "toself", "fillcolor": f"{colour(index)}40",
                             "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False, "legendgroup": label})
            said = [f"{y:,.6g}" + (f"; {self.hollow_means}" if x in hollow else "") for x, y in points]
            data.append({
                "type": "scatter", "mode": "lines+markers", "name": label, "legendgroup": label,
                "x": at, "y": [float(y) for _, y in points] if band else [y for _, y in points],
                "customdata": [x for x, _ in points], "text": said,
                "line": {"color": colour(index)},
                "marker": {"color": colour(index), "size": 8,
                           "symbol": [f"{symbol}-open" if x in hollow else symbol for x, _ in points] if hollow
                           else symbol},
                "hovertemplate": "%{customdata} → %{text}",
            })
        for label, y in self.levels.items():
            y = float(y) if isinstance(y, Samples) else y
            ends = [min(places.values()), max(places.values())] if places else [0, 1]
            data.append({"type": "scatter", "mode": "lines", "name": label, "x": ends, "y": [y, y],
                         "line": {"color": GREY, "dash": "dash"}, "hovertemplate": "%{y:,.6~g}"})
        return {"data": data, "layout": {"xaxis": axis(self.x, self.log_x and not ticks, ticks),
                                         "yaxis": axis(self.y, self.log_y, from_zero=True)}}
