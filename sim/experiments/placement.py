"""The report of `placement`: how far each figure goes when the same code lies elsewhere."""

from sim.results.plot import Plot
from sim.results.table import Table, number


def result(kind, field):
    """The figure `field` of the run's first @kind line."""
    return lambda run, sync: run["results"][kind][0][field]


def pair(run, sync):
    """Cycles of a pair of the scheme's own primitives."""
    return next(line["cycles_per_pair"] for line in run["results"]["table5"] if line["scheme"] == sync)


def mean_of(name):
    """The mean of a distribution that the simulator saw on hart 0; None without a sample."""
    def mean(run, sync):
        seen = run["harts"][0]["statistics"][name]
        return seen["total"] / seen["count"] if seen["count"] else None
    return mean


# What each kind of runs gives: titles, and what gives the cycles of a run under a scheme.
FIGURES = {
    "pair": {"pair of the scheme's primitives, in a loop": pair},
    "lock": {"simple lock and unlock, in a loop": result("lock_floor", "cycles")},
    "switch": {"thread switch, in a loop": result("switch_floor", "switch"),
               "sched_yield to another thread, in a loop": result("switch_floor", "yield")},
    "interrupt": {"wire to driver, in a loop": result("intr_floor", "kernel")},
    "load": {"enter a section, under load, mean": mean_of("enter_cycles"),
             "leave a section, under load, mean": mean_of("leave_cycles"),
             "trap that handles an interrupt, under load, mean": mean_of("handling_trap_cycles"),
             "the whole load": result("synthetic", "cycles")},
}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    return {"figures": [
        {"sync": made["sync"], "pad": made["parameters"]["pad"], "figure": title, "cycles": cycles}
        for made in records if made["failure"] is None
        for title, figure in FIGURES[made["kind"]].items()
        if (cycles := figure(made["run"], made["sync"])) is not None]}


def series(summary):
    """For each scheme and figure, in the report's order, its cycles by pad."""
    titles = [title for figures in FIGURES.values() for title in figures]
    found = {}
    for row in sorted(summary["figures"], key=lambda row: (row["sync"], titles.index(row["figure"]), row["pad"])):
        found.setdefault((row["sync"], row["figure"]), {})[row["pad"]] = row["cycles"]
    return found


def spread(values):
    """How far apart the values lie, in % of the least."""
    return 100 * (max(values) - min(values)) / min(values)


def tables(summary):
    """The report's tables, in order."""
    rows = [[sync, title, number(min(by_pad.values())), number(max(by_pad.values())),
             f"{spread(by_pad.values()):.1f}", len(set(by_pad.values()))]
            for (sync, title), by_pad in series(summary).items()]
    if not rows:
        return []
    pads = ", ".join(map(str, summary["settings"]["pads"]))
    return [Table("The same kernel elsewhere in the caches",
                  ["scheme", "figure, cycles", "least", "most", "spread, %", "different values"], rows,
                  [f"Code and data lie {pads} cache lines of 64 bytes further behind."])]


def plots(summary):
    """Each figure over the place, in per cent of its least."""
    drawn = {}
    for (sync, title), by_pad in series(summary).items():
        least = min(by_pad.values())
        drawn.setdefault(sync, {})[title] = [(pad, 100 * cycles / least) for pad, cycles in by_pad.items()]
    return [Plot(f"placement-{sync}", f"Luck of placement, {sync}", "cache lines further behind", "% of the least",
                 lines) for sync, lines in drawn.items()]
