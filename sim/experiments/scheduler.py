"""The report of `scheduler`: throughput and wakeup latency by run queues, and a thread switch beside its floor."""

from sim.results.plot import Plot
from sim.results.table import Table, number, span

LOADS = {"yield": "yields", "pairs": "turns of pairs"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "loads": [line | place(made) for made in good if made["kind"] == "load"
                  for line in made["run"]["results"]["scheduler"]],
        "wakeups": [line | place(made) for made in good if made["kind"] == "load"
                    for line in made["run"]["results"]["wakeup"]],
        "floors": [line | place(made) for made in good if made["kind"] == "floor"
                   for line in made["run"]["results"]["switch_floor"]],
    }


def place(made):
    return {"sync": made["sync"], "runqueue": made["parameters"]["queue"], "harts": made["harts"]}


def tables(summary):
    """The report's tables, in order."""
    made = []
    if summary["loads"]:
        rows = [[row["sync"], LOADS[row["load"]], row["runqueue"], row["harts"], number(row["per_megacycle"], 4),
                 number(row["cycles"] * row["harts"] / row["operations"], 4), row["stolen"]]
                for row in sorted(summary["loads"], key=lambda row: (row["sync"], row["load"], row["runqueue"],
                                                                     row["harts"]))]
        made.append(Table("Throughput by run queues, two threads a hart",
                          ["scheme", "load", "run queues", "harts", "operations in a million cycles",
                           "cycles of a hart for each", "stolen"], rows))
    if summary["wakeups"]:
        rows = [[row["sync"], row["place"], row["runqueue"], row["harts"], row["median"], row["most"]]
                for row in sorted(summary["wakeups"], key=lambda row: (row["sync"], row["place"], row["runqueue"],
                                                                       row["harts"]))]
        made.append(Table("From posting an event to the more urgent thread that waits for it, cycles",
                          ["scheme", "on which hart", "run queues", "harts", "median", "longest"], rows))
    if summary["floors"]:
        rows = [[row["sync"], row["runqueue"], number(row["floor"], 4), number(row["switch"], 4),
                 f"{row['ratio']:.2f}",
                 *(number(row[key], 4) for key in ("yield", "yield_floor", "wake_floor"))] for row in summary["floors"]]
        made.append(Table("A thread switch beside saving and restoring the registers, cycles, 1 hart",
                          ["scheme", "run queues", "floor", "switch", "ratio", "whole yield", "its floor",
                           "floor of waking a thread from a handler"], rows,
                          ["The floor is 14 stores and 14 loads in a row, in the caches. The whole yield has the "
                           "section, the run queue's lock and the choice besides; its floor is one simple lock taken "
                           "and let go in a section, and the floor of the switch. To wake a thread from a handler "
                           "takes two such pairs (the waiters, and the run queue) and the switch."]))
    return made


def answer(summary):
    """Run queues for each hart beside one for all, on the most harts; the switch beside its floor."""
    said = []
    harts = max((row["harts"] for row in summary["loads"]), default=0)
    for load, text in LOADS.items():
        for sync in dict.fromkeys(row["sync"] for row in summary["loads"]):
            of = {row["runqueue"]: row["per_megacycle"] for row in summary["loads"]
                  if (row["load"], row["sync"], row["harts"]) == (load, sync, harts)}
            if {"global", "per-hart"} <= of.keys():
                said.append(f"{number(of['per-hart'] / of['global'])} times as many {text} under {sync}")
    text = f"On {harts} harts a run queue for each hart gives {', '.join(said)} as one for all." if said else ""
    if summary["floors"]:
        text += f" A thread switch takes {span([row['ratio'] for row in summary['floors']])} times its floor."
    return text.strip()


def plots(summary):
    """Throughput over the harts, a line for each kind of run queue and scheme."""
    drawn = []
    for load, text in LOADS.items():
        series = {}
        for row in sorted(summary["loads"], key=lambda row: (row["sync"], row["runqueue"], row["harts"])):
            if row["load"] == load:
                label = f"{row['runqueue']}, {row['sync']}"
                series.setdefault(label, []).append((row["harts"], row["per_megacycle"]))
        if series:
            drawn.append(Plot(load, f"Scheduler: {text}, two threads a hart", "harts",
                              "operations in a million cycles", series))
    return drawn
