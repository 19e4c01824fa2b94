"""Lines over one axis."""

from dataclasses import dataclass, field

from sim.results.plot.drawing import GREY, MARKERS, MOST_TICKS, Drawing, axis, colour, symlog

SYMBOLS = ("circle", "square", "diamond", "triangle-up", "triangle-down", "cross", "x", "star")     # as MARKERS


@dataclass
class Plot(Drawing):
    """Lines over one axis. `series`: label -> list of (x, y); `levels`: label -> y of a horizontal line, such as a
    physical floor. On a logarithmic x there is room for 0. x may be names, which stay in the order they come in."""

    x: str                  # with its unit
    y: str
    series: dict
    levels: dict = field(default_factory=dict)
    log_x: bool = False
    log_y: bool = False

    def rows(self):
        """The points: one row for each, and one for each horizontal line, which has no x."""
        return [["series", self.x, self.y],
                *([label, x, y] for label, points in self.series.items() for x, y in points),
                *([label, "", y] for label, y in self.levels.items())]

    def _xs(self):
        xs = dict.fromkeys(x for points in self.series.values() for x, _ in points)
        return list(xs) if self._named() else sorted(xs)

    def _named(self):
        return any(isinstance(x, str) for points in self.series.values() for x, _ in points)

    def _places(self):
        """Where each x is drawn, and what stands there."""
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
            axes.plot([xs.index(x) if named else x for x, _ in points], [y for _, y in points], label=label,
                      marker=MARKERS[index % len(MARKERS)], color=colour(index))
        for label, y in self.levels.items():
            axes.axhline(y, linestyle="--", color=GREY, label=label)
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
            data.append({
                "type": "scatter", "mode": "lines+markers", "name": label,
                "x": [places[x] for x, _ in points], "y": [y for _, y in points], "customdata": [x for x, _ in points],
                "line": {"color": colour(index)},
                "marker": {"color": colour(index), "symbol": SYMBOLS[index % len(SYMBOLS)], "size": 8},
                "hovertemplate": "%{customdata} → %{y:,.6~g}",
            })
        for label, y in self.levels.items():
            ends = [min(places.values()), max(places.values())] if places else [0, 1]
            data.append({"type": "scatter", "mode": "lines", "name": label, "x": ends, "y": [y, y],
                         "line": {"color": GREY, "dash": "dash"}, "hovertemplate": "%{y:,.6~g}"})
        return {"data": data, "layout": {"xaxis": axis(self.x, self.log_x and not ticks, ticks),
                                         "yaxis": axis(self.y, self.log_y, from_zero=True)}}
