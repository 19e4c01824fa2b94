"""Plots of an experiment's figures: SVG and PNG to look at, CSV with what they show, interactive ones for the page.

`Plot` draws lines, `HeatMap` a figure over two settings, `Histogram` distributions, `Intervals` figures with their
known errors. A report module makes them from its summary; all have `write`, `files` and `figure`.
"""

from sim.results.plot.heat_map import HeatMap
from sim.results.plot.histogram import Histogram, log2_bins
from sim.results.plot.intervals import Intervals
from sim.results.plot.lines import Plot

__all__ = ["HeatMap", "Histogram", "Intervals", "Plot", "log2_bins"]
