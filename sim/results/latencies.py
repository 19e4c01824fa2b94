"""Interrupt latencies written by a simulator (`--latencies`, sim/harness/observers/latency_log.h): figures, plots."""

import csv
import math
from collections import defaultdict

from sim.results.plot import Histogram
from sim.results.record import RecordError
from sim.results.table import Table

HEADING = ["source", "to", "hart", "rise", "arrival", "cycles", "in_window"]
BINS = 40
PERCENTILES = (50, 90, 99)


def read(path):
    """(source, "handler" or "thread") -> cycles of each interrupt, in the order of arrival. RecordError in one line."""
    ways = defaultdict(list)
    try:
        with open(path, newline="") as file:
            lines = csv.reader(file)
            if next(lines, None) != HEADING:
                raise RecordError(f"{path}: give a file that './interlock sim --latencies' wrote")
            for line in lines:
                ways[int(line[0]), line[1]].append(int(line[5]))
    except (OSError, ValueError, IndexError) as error:
        reason = getattr(error, "strerror", None) or "a line is not whole"
        raise RecordError(f"{path} cannot be read: {reason}") from error
    if not ways:
        raise RecordError(f"{path}: no interrupt in it")
    return dict(sorted(ways.items()))


def percentile(values, percent):
    """The least value that `percent` % of `values` do not exceed."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent / 100 * len(ordered)) - 1)]


def table(ways, clock_hz):
    """Cycles from a source's wire to its handler and its thread."""
    rows = []
    for (source, to), values in ways.items():
        figures = [min(values), *(percentile(values, percent) for percent in PERCENTILES), max(values)]
        rows.append([f"source {source}", to, str(len(values)), *map(str, figures),
                     f"{sum(values) / len(values) / clock_hz * 1e6:.2f}"])
    return Table("Interrupts: cycles from the wire", ["source", "to its", "count", "least", "median",
                 *(f"{percent} %" for percent in PERCENTILES[1:]), "most", "mean, us"], rows, texts=2)


def histogram(ways, to):
    """The distribution of interrupts' latencies `to` "handler" or "thread"; None if there are none."""
    chosen = {source: values for (source, its), values in ways.items() if its == to}
    if not chosen:
        return None
    least = min(map(min, chosen.values()))
    width = max(1, math.ceil((max(map(max, chosen.values())) + 1 - least) / BINS))
    series = {}
    for source, values in chosen.items():
        counts = defaultdict(int)
        for value in values:
            counts[(value - least) // width] += 1
        series[f"source {source}"] = [(least + n * width, least + (n + 1) * width, counts[n])
                                      for n in range(min(counts), max(counts) + 1)]
    return Histogram(f"wire-to-{to}", f"From the wire to the {to}", "cycles", "interrupts", series)
