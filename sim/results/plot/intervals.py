"""Figures with their error intervals, one below the other."""

from dataclasses import dataclass

from sim.results.plot.drawing import GREY, Drawing, axis, colour

LETTER_INCHES = 0.075       # of a label


@dataclass
class Intervals(Drawing):
    """`points`: list of (label, low, value, high), drawn from the top; `level`: a line to compare with, such as 0."""

    x: str                  # with its unit
    points: list
    level: float | None = None

    def rows(self):
        return [["", "low", self.x, "high"], *map(list, self.points)]

    def size(self):
        longest = max((len(label) for label, *_ in self.points), default=0)
        return (5 + LETTER_INCHES * longest, 1.2 + 0.28 * len(self.points))

    def draw(self, figure):
        axes = figure.add_subplot()
        for row, (_, low, value, high) in enumerate(self.points):
            axes.plot([low, high], [row, row], color=colour(0), linewidth=2)
            axes.plot([value], [row], "o", color=colour(0))
        if self.level is not None:
            axes.axvline(self.level, linestyle="--", color=GREY)
        axes.set_yticks(range(len(self.points)), [point[0] for point in self.points], fontsize="small")
        axes.set_ylim(len(self.points) - 0.5, -0.5)
        axes.set(title=self.title, xlabel=self.x)
        axes.grid(True, axis="x", alpha=0.3)

    def figure(self):
        labels = [point[0] for point in self.points]
        values = [point[2] for point in self.points]
        data = [{"type": "scatter", "mode": "markers", "name": self.x, "x": values, "y": labels,
                 "error_x": {"type": "data", "symmetric": False, "array": [high - value for _, _, value, high
                                                                           in self.points],
                             "arrayminus": [value - low for _, low, value, _ in self.points]},
                 "marker": {"color": colour(0), "size": 9}, "customdata": [[low, high] for _, low, _, high
                                                                          in self.points],
                 "hovertemplate": "%{x:,.6~g} (%{customdata[0]:,.6~g} to %{customdata[1]:,.6~g})"}]
        layout = {"xaxis": axis(self.x), "showlegend": False, "height": 140 + 26 * len(labels),
                  "yaxis": {"type": "category", "autorange": "reversed", "automargin": True}}
        if self.level is not None:
            layout["shapes"] = [{"type": "line", "x0": self.level, "x1": self.level, "y0": 0, "y1": 1, "yref": "paper",
                                 "line": {"color": GREY, "dash": "dash"}}]
        return {"data": data, "layout": layout}
