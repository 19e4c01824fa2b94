"""The report of `master`: what the master restriction costs, and what it takes to get to the master and back."""

from sim.results.plot import Plot
from sim.results.table import Table, number

HOWS = {0: "parallel", 1: "on the master"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "work": [line | place(made) for made in good for line in made["run"]["results"]["master"]],
        "moves": [line | place(made) for made in good for line in made["run"]["results"]["master_move"]],
    }


def place(made):
    return {"sync": made["sync"], "runqueue": made["parameters"]["queue"], "harts": made["harts"],
            "section": made["parameters"]["section"]}


def key(row):
    return row["sync"], row["runqueue"], row["section"], row["harts"]


def tables(summary):
    """The report's tables, in order."""
    if not summary["work"]:
        return []
    rate = {(key(row), row["wrapped"]): row["per_megacycle"] for row in summary["work"]}
    rows = [[sync, queue, section, harts, *(number(rate[place, wrapped], 4) for wrapped in HOWS),
             f"{rate[place, 0] / rate[place, 1]:.2f}"]
            for place in sorted({place for place, _ in rate}) for sync, queue, section, harts in [place]]
    first = min(row["section"] for row in summary["moves"])
    moves = [[row["sync"], row["runqueue"], row["harts"], row["from"], row["enter"], row["release"], row["nested"]]
             for row in sorted(summary["moves"], key=lambda row: (*key(row), row["from"])) if row["section"] == first]
    return [Table("Operations in a million cycles, one thread a hart",
                  ["scheme", "run queues", "section, cycles", "harts", *HOWS.values(), "lost, times"], rows,
                  [f"An operation is the section, which the master restriction keeps on hart 0, and "
                   f"{summary['settings']['pause']} cycles besides."]),
            Table("To the master and back, cycles, mean",
                  ["scheme", "run queues", "harts", "from hart", "unix_master", "unix_release", "a nested pair"],
                  moves)]


def answer(summary):
    """What the master loses on the most harts, and the way to it from another hart."""
    rates = {(key(row), row["wrapped"]): row["per_megacycle"] for row in summary["work"]}
    lost = [(rates[place, 0] / rates[place, 1], place) for place, wrapped in rates if wrapped and (place, 0) in rates]
    if not lost:
        return ""
    harts = max(place[3] for _, place in lost)
    own = sorted(((ratio, place[2]) for ratio, place in lost if place[3] == harts), key=lambda each: float(each[0]))
    text = (f"On {harts} harts work that the master restriction keeps on one hart gets done {number(own[0][0])} times "
            f"(sections of {own[0][1]} cycles) to {number(own[-1][0])} times ({own[-1][1]} cycles) as slowly.")
    away = sorted((row["enter"] for row in summary["moves"] if row["from"]), key=float)
    if away:
        text += f" To get to the master from another hart takes up to {number(away[-1])} cycles."
    return text


def plots(summary):
    """Throughput over the harts, wrapped and not, a plot for each length of section."""
    drawn = []
    for section in sorted({row["section"] for row in summary["work"]}):
        series = {}
        for row in sorted(summary["work"], key=key):
            if row["section"] == section:
                label = f"{HOWS[row['wrapped']]}, {row['runqueue']}, {row['sync']}"
                series.setdefault(label, []).append((row["harts"], row["per_megacycle"]))
        drawn.append(Plot(f"throughput-{section}", f"The master restriction: sections of {section} cycles", "harts",
                          "operations in a million cycles", series))
    return drawn
