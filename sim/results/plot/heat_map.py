"""A figure over two settings, as colours and numbers in a grid."""

import math
from dataclasses import dataclass

from sim.results.plot.drawing import DPI, Drawing, colour_scale
from sim.results.statistics import Samples

COLOURS = "YlOrRd"
ABREAST = 3             # grids side by side
CELL_INCHES = 0.52
DARK = 0.55             # above this share of the scale the background is dark and its number is white


@dataclass
class HeatMap(Drawing):
    """A grid for each of `panels`: label -> list of (x, y, value). All share axes, order and colours.

    x and y are settings, numbers or names; numbers are sorted, names stay in order. A place without a value
    stays empty. Of a value that varies over layouts and seeds it shows the median. `log`: colours by decades, with room
    for 0.
    """

    x: str                  # with its unit
    y: str
    value: str              # the quantity that the colour shows, with its unit
    panels: dict
    log: bool = False

    def __post_init__(self):
        self.panels = {label: [(x, y, float(value) if isinstance(value, Samples) else value) for x, y, value in cells]
                       for label, cells in self.panels.items()}

    def rows(self):
        return [["panel", self.x, self.y, self.value],
                *([label, *cell] for label, cells in self.panels.items() for cell in cells)]

    def _axis(self, index):
        found = list(dict.fromkeys(cell[index] for cells in self.panels.values() for cell in cells))
        return found if any(isinstance(place, str) for place in found) else sorted(found)

    def _grid(self, cells):
        """Values in rows from the first y up; None where there is none."""
        found = {(x, y): value for x, y, value in cells}
        return [[found.get((x, y)) for x in self._axis(0)] for y in self._axis(1)]

    def _shade(self, value):
        """The position of a value on the colour scale, not yet normalised to 0 to 1."""
        return math.log10(1 + value) if self.log else value

    def _most(self):
        return max((self._shade(value) for cells in self.panels.values() for _, _, value in cells), default=0) or 1

    def _layout(self):
        """Rows and columns of grids."""
        columns = min(len(self.panels), ABREAST) or 1
        return -(-len(self.panels) // columns) or 1, columns

    def size(self):
        rows, columns = self._layout()
        wide = max(2.2, CELL_INCHES * len(self._axis(0)))
        high = max(1.2, CELL_INCHES * len(self._axis(1)))
        return (max(6.0, columns * (wide + 0.5) + 1.8), rows * (high + 0.9) + 0.6)

    def draw(self, figure):
        import matplotlib
        colours = matplotlib.colormaps[COLOURS]
        rows, columns = self._layout()
        grids = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
        drawn = None
        for index, (axes, (label, cells)) in enumerate(zip(grids, self.panels.items(), strict=False)):
            grid = self._grid(cells)
            shades = [[math.nan if value is None else self._shade(value) for value in row] for row in grid]
            drawn = axes.imshow(shades, cmap=colours, vmin=0, vmax=self._most(), origin="lower", aspect="auto")
            for j, row in enumerate(grid):
                for i, value in enumerate(row):
                    if value is not None:
                        dark = self._shade(value) > DARK * self._most()
                        axes.text(i, j, short(value), ha="center", va="center", fontsize=7,
                                  color="white" if dark else "black")
            axes.set_title(label, fontsize="medium")
            lowest = index + columns >= len(self.panels)
            axes.set_xticks(range(len(self._axis(0))), [str(x) if lowest else "" for x in self._axis(0)], rotation=45,
                            fontsize="small")
            axes.set_yticks(range(len(self._axis(1))), map(str, self._axis(1)), fontsize="small")
        for axes in grids[len(self.panels):]:
            axes.set_visible(False)
        figure.suptitle(self.title)
        figure.supxlabel(self.x, fontsize="medium")
        figure.supylabel(self.y, fontsize="medium")
        if drawn:
            bar = figure.colorbar(drawn, ax=figure.axes[:len(self.panels)], label=self.value)
            places = self._decades()
            bar.set_ticks([self._shade(place) for place in places], labels=[short(place) for place in places])

    def _decades(self):
        """Values at which the scale of colours has a mark."""
        most = max((value for cells in self.panels.values() for _, _, value in cells), default=0)
        if self.log:
            return [0, *(10 ** power for power in range(0, 19) if 10 ** power <= most)]
        from matplotlib.ticker import MaxNLocator
        return [float(place) for place in MaxNLocator(5).tick_values(0, most or 1) if place <= (most or 1)]

    def figure(self):
        rows, columns = self._layout()
        data, annotations = [], []
        places = self._decades()
        scale = {"colorscale": colour_scale(COLOURS), "cmin": 0, "cmax": self._most(),
                 "colorbar": {"title": {"text": self.value, "side": "right"},
                              "tickvals": [self._shade(place) for place in places],
                              "ticktext": [short(place) for place in places]}}
        layout = {"coloraxis": scale, "annotations": annotations, "height": 110 + rows * max(
            200, round(CELL_INCHES * DPI * len(self._axis(1)) / 2) + 90)}
        gap_x, gap_y = 0.03, 0.24 / rows
        wide, high = (1 - gap_x * (columns - 1)) / columns, (1 - gap_y * (rows - 1)) / rows
        for index, (label, cells) in enumerate(self.panels.items()):
            row, column = divmod(index, columns)
            left, top = column * (wide + gap_x), 1 - row * (high + gap_y)
            suffix = "" if index == 0 else str(index + 1)
            grid = self._grid(cells)
            data.append({
                "type": "heatmap", "name": label, "x": list(map(str, self._axis(0))),
                "y": list(map(str, self._axis(1))), "xaxis": f"x{suffix}", "yaxis": f"y{suffix}",
                "z": [[None if value is None else self._shade(value) for value in line] for line in grid],
                "customdata": grid, "text": [["" if value is None else short(value) for value in line]
                                             for line in grid],
                "texttemplate": "%{text}", "xgap": 1, "ygap": 1, "coloraxis": "coloraxis", "hoverongaps": False,
                "hovertemplate": f"{self.x} %{{x}}<br>{self.y} %{{y}}<br>{self.value}: %{{customdata:,}}",
            })
            last = index + columns >= len(self.panels)
            layout[f"xaxis{suffix}"] = {"type": "category", "domain": [left, left + wide], "anchor": f"y{suffix}",
                                        "title": {"text": self.x if last else "", "standoff": 6},
                                        "showticklabels": last, "showgrid": False, "automargin": True}
            layout[f"yaxis{suffix}"] = {"type": "category", "domain": [max(0.0, top - high), top],
                                        "anchor": f"x{suffix}", "title": {"text": "" if column else self.y},
                                        "showticklabels": not column, "showgrid": False, "automargin": True}
            annotations.append({"text": label, "x": left + wide / 2, "y": top, "xref": "paper", "yref": "paper",
                                "xanchor": "center", "yanchor": "bottom", "showarrow": False})
        return {"data": data, "layout": layout}


def short(value):
    """A figure in a few characters: three digits and a letter for thousands."""
    for power, letter in ((9, "G"), (6, "M"), (3, "k")):
        if abs(value) >= 9.995 * 10 ** power:
            return f"{value / 10 ** power:.3g}{letter}"
    return f"{value:.4g}"
