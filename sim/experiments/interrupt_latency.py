"""The report of `interrupt-latency`: from the wire to the handler, to the thread, and to a thread that waits."""

from sim.experiments import paper_sync
from sim.results.plot import Plot
from sim.results.statistics import Samples, most
from sim.results.table import Table, number

LOADS = ("idle", "loaded")
WAYS = {"handler": "driver's handler", "thread": "interrupt thread", "relayed": "waiter, by way of the thread",
        "event": "waiter, straight from the handler", "remote": "interrupt thread on another hart"}
PLOTTED = ("handler", "thread", "event")


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "latency": [figures(made, line) for made in good if made["kind"] == "latency"
                    for line in made["run"]["results"]["intr_latency"]],
        "outside": [outside(made) for made in good if made["kind"] == "latency" and "board" not in made["run"]],
        "floor": [{"sync": made["sync"], "latency": made["parameters"]["link_latency"]}
                  | made["run"]["results"]["intr_floor"][0] for made in good if made["kind"] == "floor"],
    }


def place(made):
    return {"harts": made["harts"], "sync": made["sync"], "latency": made["parameters"]["link_latency"]}


def figures(made, line):
    """One way under one load; cycles from the rise of the wire."""
    return place(made) | {key: line[key] for key in ("load", "to", "samples", "min", "p50", "p90", "max")} | {
        "mean": round(line["total"] / line["samples"], 1)}


def outside(made):
    """The same interrupts as the simulator saw them, both loads together, beside what the target says."""
    seen = made["run"]["interrupts"]["0"]       # the timer of hart 0
    row = place(made)
    for way in ("handler", "thread"):
        lines = [line for line in made["run"]["results"]["intr_latency"] if line["to"] == way]
        spread = seen[f"wire_to_{way}"]
        row[way] = {"count": spread["count"], "mean": round(spread["total"] / max(spread["count"], 1), 1),
                    "target_count": sum(line["samples"] for line in lines),
                    "target_mean": round(sum(line["total"] for line in lines)
                                         / sum(line["samples"] for line in lines), 1)}
    return row


def tables(summary):
    """The report's tables, in order."""
    made = [floor_table(summary)]
    for harts in sorted({row["harts"] for row in summary["latency"]}):
        made.append(latency_table(summary, harts, PLOTTED, True))
        made.append(latency_table(summary, harts, ("relayed", "event", "remote"), False))
    made.append(outside_table(summary))
    return [table for table in made if table]


def floor_table(summary):
    if not summary["floor"]:
        return None
    rows = [[row["sync"], row["latency"], row["trap"], row["bare"], row["kernel"], f"{row['ratio']:.2f}",
             f"{row['ratio_in_software']:.2f}"] for row in ordered(summary["floor"])]
    return Table("Interrupt entry beside the bare trap, cycles from the wire",
                 ["scheme", "PIC latency", "trap vector", "bare trap", "kernel", "ratio", "ratio behind the vector"],
                 rows, ["To the first instruction of the driver's handler, everything in the caches, nothing masked. "
                        "The bare trap is kernel/bench/bare_trap.S: the fewest instructions that save what C may "
                        "change, claim, and call the handler. All share what the hardware takes to the trap vector."])


def ordered(rows):
    return sorted(rows, key=lambda row: (paper_sync.SCHEMES.index(row["sync"]), row["latency"]))


def latency_table(summary, harts, ways, main):
    found = {(row["sync"], row["latency"], row["to"], row["load"]): row
             for row in summary["latency"] if row["harts"] == harts}
    ways = [way for way in ways if any(key[2] == way for key in found)]
    rows = []
    for sync, latency in dict.fromkeys((row["sync"], row["latency"]) for row in ordered(
            [row for row in summary["latency"] if row["harts"] == harts])):
        cells = [found.get((sync, latency, way, load)) for way in ways for load in LOADS]
        rows.append([sync, latency, *(with_most(cell) if cell else "-" for cell in cells)])
    title = f"Cycles from the wire on {harts} hart{'s' * (harts > 1)}, median (greatest)"
    notes = ["; ".join(f"{way}: to the {WAYS[way]}" for way in ways) + "."]
    return Table(title + ("" if main else ": by the thread, straight, and to another hart"),
                 ["scheme", "PIC latency", *(f"{way}, {load}" for way in ways for load in LOADS)], rows, notes, main)


def with_most(cell):
    """The median of a way, and the greatest of any layout."""
    greatest = number(most(cell["max"]), 0)
    if isinstance(cell["p50"], Samples):
        return f"{number(cell['p50'], 0)}, most {greatest}"
    return f"{number(cell['p50'], 0)} ({greatest})"


def answer(summary):
    """Wire to handler and to thread, idle, over the schemes, at the greatest latency on the least number of harts."""
    if not summary["latency"]:
        return ""
    harts = min(row["harts"] for row in summary["latency"])
    latency = max(row["latency"] for row in summary["latency"])
    parts = []
    for way in ("handler", "thread"):
        rows = sorted((row for row in summary["latency"] if (row["harts"], row["latency"], row["to"], row["load"])
                       == (harts, latency, way, "idle")), key=lambda row: float(row["p50"]))
        if rows:
            parts.append(f"to the {WAYS[way]} takes {number(rows[0]['p50'], 0)} ({rows[0]['sync']}) to "
                         f"{number(rows[-1]['p50'], 0)} cycles ({rows[-1]['sync']})")
    text = (f"On {harts} idle hart{'s' * (harts > 1)} with a PIC latency of {latency} cycles the way from the wire "
            f"{' and '.join(parts)}.") if parts else ""
    ratios = sorted((row["ratio"] for row in summary["floor"] if row["latency"] == latency), key=float)
    if ratios:
        text += (f" The kernel's entry takes {number(ratios[0])} to {number(ratios[-1])} times as long as a trap that "
                 "does nothing but claim and call.")
    return text.strip()


def outside_table(summary):
    """The target's own figures and the simulator's are of the same interrupts."""
    if not summary["outside"]:
        return None
    rows = [[row["harts"], row["sync"], row["latency"], row["handler"]["count"], row["handler"]["target_mean"],
             row["handler"]["mean"], row["thread"]["target_mean"], row["thread"]["mean"]]
            for row in sorted(summary["outside"], key=lambda row: row["harts"])]
    return Table("The same interrupts seen from outside, mean cycles from the wire",
                 ["harts", "scheme", "PIC latency", "interrupts", "handler, target", "handler, simulator",
                  "thread, target", "thread, simulator"], rows, main=False)


def plots(summary):
    """Medians over the PIC's latency, a line a scheme, on the least number of harts."""
    if not summary["latency"]:
        return []
    harts = min(row["harts"] for row in summary["latency"])
    drawn = []
    for way in PLOTTED:
        for load in LOADS:
            rows = [row for row in ordered(summary["latency"])
                    if (row["harts"], row["to"], row["load"]) == (harts, way, load)]
            series = {}
            for row in rows:
                series.setdefault(row["sync"], []).append((row["latency"], row["p50"]))
            drawn.append(Plot(f"{way}-{load}", f"From the wire to the {WAYS[way]}, {load}, {harts} "
                              f"hart{'s' * (harts > 1)}", "PIC access latency, cycles", "median, cycles", series))
    return drawn
