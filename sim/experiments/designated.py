"""The report of `designated`: one hart that works off request packets beside one global lock."""

from sim.results.plot import Plot
from sim.results.statistics import bounds
from sim.results.table import Table, number

HOWS = {"global": "global lock", "designated": "designated hart"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "runs": [figures(made) for made in good],
    }


def figures(made):
    """Both ways of one machine and one kind of operation."""
    row = {"harts": made["harts"], "sync": made["sync"]}
    row |= {key: made["parameters"][key] for key in ("lines", "parallel")}
    for line in made["run"]["results"]["designated"]:
        row[line["how"]] = {key: line[key] for key in ("operations", "cycles", "caller_p50", "caller_max", "woken")}
        row[line["how"]]["per_million_cycles"] = round(1e6 * line["operations"] / line["cycles"], 1)
    row["gain"] = round(row["global"]["cycles"] / row["designated"]["cycles"], 3)
    return row


def ordered(summary):
    return sorted(summary["runs"], key=lambda row: (row["sync"], row["lines"], row["parallel"], row["harts"]))


def tables(summary):
    """The report's tables, in order."""
    if not summary["runs"]:
        return []
    rows = [[row["sync"], row["lines"], row["parallel"], row["harts"],
             *(number(row[how]["per_million_cycles"], 4) for how in HOWS), f"{row['gain']:.2f}",
             *(f"{number(row[how]['caller_p50'], 0)} ({number(row[how]['caller_max'], 0)})" for how in HOWS),
             row["designated"]["woken"]] for row in ordered(summary)]
    notes = ["An operation is `parallel` cycles of its own and an update of `lines` cache lines that all share. "
             "ops: operations in a million cycles; gain: how much sooner all are done than under the lock; "
             "caller: cycles for which the update keeps its caller waiting, median (longest). "
             "Every hart has a client, the "
             "designated one too: there each packet costs two thread switches unless the hart is busy with packets."]
    return [Table("Packets for a designated hart beside one global lock",
                  ["scheme", "lines", "parallel", "harts", "ops, lock", "ops, desig.", "gain", "caller, lock",
                   "caller, desig.", "woken"], rows, notes)]


def answer(summary):
    """The greatest gain of the designated hart and the least, with the settings of each."""
    rows = sorted(ordered(summary), key=lambda row: float(row["gain"]))
    if not rows:
        return ""
    won = sum(bounds(row["gain"])[0] > 1 for row in rows)
    ends = [f"{number(row['gain'])} times ({row['lines']} lines shared, {row['parallel']} cycles in parallel, "
            f"{row['harts']} harts)" for row in (rows[-1], rows[0])]
    return (f"In {won} of {len(rows)} settings the designated hart is the sooner done. Its gain over the global lock "
            f"is {ends[0]} at best and {ends[1]} at worst.")


def plots(summary):
    """Throughput and the caller's cost over the harts, one line for each way and size of update."""
    drawn = []
    for figure, title, y in (("per_million_cycles", "Throughput", "operations in a million cycles"),
                             ("caller_p50", "What an update costs its caller", "median, cycles")):
        for parallel in sorted({row["parallel"] for row in summary["runs"]}):
            series = {}
            for row in ordered(summary):
                for how, text in HOWS.items():
                    if row["parallel"] == parallel and row["sync"] == summary["settings"]["schemes"][0]:
                        label = f"{text}, {row['lines']} lines"
                        series.setdefault(label, []).append((row["harts"], row[how][figure]))
            drawn.append(Plot(f"{figure.replace('_', '-')}-{parallel}", f"{title}, {parallel} cycles in parallel",
                              "harts", y, series))
    return drawn
