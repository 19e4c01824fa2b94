"""The report of `andrew`: tables 3, 4 and 6 and figure 1 of paper `sync` for its load Andrew local."""

from sim.experiments import paper_sync as paper
from sim.experiments import sync
from sim.experiments.sync_load import figures, pair_cycles, timed_figures
from sim.results.comparison import Comparison
from sim.results.statistics import share
from sim.results.table import Table, number, span

LOAD = "Andrew local"
SAME_PERCENT = 5        # by which the slice's rate may differ from that of the whole
PHASES = ("directories", "copy", "stat", "read", "compile")


def summarise(experiment, records, load=LOAD):
    """All figures of the report, from the records alone; `load` is the paper's name of it."""
    good = [made for made in records if made["failure"] is None]
    clock_hz = experiment["clock_hz"]
    pairs = {made["parameters"]["link_latency"]: pair_cycles(made) for made in good if made["kind"] == "table5"}
    summary = {"load": load, "whole": [], "slice": [], "harts": [], "timed": [], "phases": [], "lengths": []}
    for made in good:
        latency = made["parameters"].get("link_latency")
        if made["kind"] == "timed":
            summary["timed"].append(timed_figures(made, clock_hz))
        elif made["kind"] in summary and latency in pairs:
            summary[made["kind"]].append(row_of(made, pairs[latency], clock_hz))
        if made["kind"] == "whole":
            summary["phases"].append({"sync": made["sync"], "cycles": phases(made)})
    longest = min((made for made in good if made["kind"] in ("whole", "slice")),
                  key=lambda made: (-made["run"]["window"]["cycles"], made["id"]), default=None)
    if longest:
        summary["lengths"] = [sync.lengths(longest) | {"kind": "andrew"}]
    return summary


def row_of(made, pair, clock_hz):
    """The figures of one run, with the PIC's latency and the reason for a difference between model and measurement."""
    # A queued interrupt's trap is no measure here: those that are handled at once are others, and longer.
    row = figures(made, pair, clock_hz) | {"fall_back": None, "latency": made["parameters"]["link_latency"]}
    row["measured_percent"] = row["marks_percent"]
    return row | more(made, clock_hz) | {"reason": sync.reason(row)}


def more(made, clock_hz):
    """What figures() does not give: the longest section, and what the harts did."""
    harts = [hart["statistics"] for hart in made["run"]["harts"]]
    cycles = made["run"]["window"]["cycles"]
    busy = sum(sum(hart["accounting"].values()) - hart["accounting"]["idle"] for hart in harts)
    return {"cycles": cycles, "busy_percent": 100 * busy / cycles,
            "most_us": 1e6 * max(hart["body_net_cycles"]["max"] for hart in harts) / clock_hz,
            "user_percent": 100 * sum(hart["accounting"]["user"] for hart in harts) / cycles}


def phases(made):
    """Cycles of each phase."""
    begun = made["run"]["results"].get("andrew_phase", [])
    return {now["name"]: then["cycles"] - now["cycles"] for now, then in zip(begun, begun[1:], strict=False)}


def load_of(summary):
    return summary.get("load", LOAD)


def tables(summary):
    """The report's tables, in order."""
    made = [phase_table(summary), section_table(summary), timed_table(summary, load_of(summary)),
            overhead_table(sets(summary), load_of(summary)), slice_table(summary), latency_table(summary),
            harts_table(summary)]
    return [table for table in made if table]


def phase_table(summary):
    rows = [[row["sync"], *(number(row["cycles"][phase] / 1e6) for phase in PHASES),
             number(sum(row["cycles"].values()) / 1e6)] for row in summary["phases"] if row["cycles"]]
    return Table("Phases of the whole set", ["scheme", *PHASES, "all"], rows, ["Million cycles."]) if rows else None


def sets(summary):
    """The runs on one hart at the whole set's latency: of the whole set, and of the slice."""
    return [("whole", row) for row in summary["whole"]] + [
        ("slice", row) for row in summary["slice"] if row["latency"] == summary["settings"]["link_latency"]]


def section_table(summary):
    """What Tables 3 and 4 have, seen from outside, in every scheme."""
    rows = [[held, row["sync"], number(row["entered_per_s"], 5), number(row["interrupted_per_s"]),
             number(share(row["interrupted"], row["entered"]), 2), number(row["section_us"]), number(row["most_us"]),
             number(row["user_percent"])] for held, row in sets(summary)]
    if not rows:
        return None
    return Table("Sections of the whole set and of the slice", [
        "set", "scheme", "sections/s", "interrupted/s", "interrupted, %", "duration, us, mean", "most",
        "user mode, %"], rows,
                 [sections_note(load_of(summary))], texts=2)


def sections_note(load):
    return (f"Seen from outside. The paper's: {paper.PESSIMISTIC_ENTERED[load]:,} sections/s of "
            f"{paper.SECTION_US[load]:g} us (cli-pessim); {paper.OPTIMISTIC_ENTERED[load]:,}/s, of which "
            f"{paper.OPTIMISTIC_INTERRUPTED[load]}/s are interrupted (spl-optim).")


def timed_table(summary, load):
    """Tables 3 and 4 by the paper's own method; `load` is the paper's name of it."""
    rows = [[row["sync"], number(row["entered_per_s"], 5), number(row["deviation_percent"], 2),
             number(row["most_per_s"], 5), number(row["section_us"]), number(row["interrupted_per_s"]),
             number(100 * row["interrupted_per_s"] / row["entered_per_s"], 2) if row["entered_per_s"] else "-",
             row["polls"], *theirs(row["sync"], load)] for row in summary["timed"]]
    if not rows:
        return None
    return Table("Tables 3 and 4: sections entered, timed in the kernel and polled",
                 ["scheme", "sections/s", "deviation, %", "most/s", "duration, us", "interrupted/s", "interrupted, %",
                  "polls", "paper: sections/s", "deviation, %", "most/s", "duration, us", "interrupted/s"], rows,
                 [f"Polls are {summary['settings']['poll']} ms apart, the paper's a second: the shorter, the more they "
                  "deviate. An image that times takes longer to leave a section, and has the fewer a second."])


def theirs(scheme, load):
    """Of that load: sections a second, their deviation, the most, their duration; how many are interrupted."""
    if scheme == "cli-pessim":
        return [f"{paper.PESSIMISTIC_ENTERED[load]:,}", f"{paper.PESSIMISTIC_DEVIATION[load]:g}",
                f"{paper.PESSIMISTIC_MOST[load]:,}", f"{paper.SECTION_US[load]:g}", "-"]
    if scheme == "spl-optim":
        return [f"{paper.OPTIMISTIC_ENTERED[load]:,}", f"{paper.OPTIMISTIC_DEVIATION[load]}", "-", "-",
                f"{paper.OPTIMISTIC_INTERRUPTED[load]}"]
    return ["-"] * 5


def overhead_table(sets, load):
    """Table 6: the model's overhead beside what was measured. `sets`: pairs of a set's name, or "" for the only one,
    and a row."""
    rows, notes = [], []
    for held, row in sets:
        named = [held, row["sync"]] if held else [row["sync"]]
        apart = 100 * (row["measured_percent"] / row["model_percent"] - 1)
        rows.append([*named, number(row["pair"]), number(row["mean"]), number(row["model_percent"]),
                     number(row["measured_percent"]), f"{apart:+.0f}", paper.printed_overhead(row["sync"], load)])
        if row["reason"]:
            notes.append(f"{', '.join(named)}: {row['reason']}.")
    if not rows:
        return None
    names = ["set", "scheme"] if sets[0][0] else ["scheme"]
    return Table("Table 6: overhead in % of the time", [
        *names, "pair, cycles", "where it stands", "by the model", "measured", "measured to model, %",
        f"paper, {load}"], rows, notes, texts=len(names))


def slice_table(summary):
    """Whether the slice stands for the whole."""
    rows = []
    for whole in summary["whole"]:
        for part in summary["slice"]:
            if (part["sync"], part["latency"]) == (whole["sync"], whole["latency"]):
                apart = 100 * (part["entered_per_s"] / whole["entered_per_s"] - 1)
                rows.append([whole["sync"], number(whole["cycles"] / 1e6), number(part["cycles"] / 1e6),
                             number(whole["entered_per_s"], 5), number(part["entered_per_s"], 5), f"{apart:+.1f}",
                             "yes" if abs(apart) <= SAME_PERCENT else "NO"])
    if not rows:
        return None
    return Table("The slice beside the whole set", ["scheme", "whole, million cycles", "slice", "whole, sections/s",
                                                    "slice", "difference, %", f"within {SAME_PERCENT} %"], rows)


def latency_table(summary):
    """Overhead over the PIC's latency."""
    latencies = sorted({row["latency"] for row in summary["slice"]})
    rows = []
    for scheme in dict.fromkeys(row["sync"] for row in summary["slice"]):
        own = {row["latency"]: row for row in summary["slice"] if row["sync"] == scheme}
        rows.append([scheme, *latency_cells(own, latencies)])
    if not rows:
        return None
    return Table("Overhead over the PIC's latency in cycles, the slice, 1 hart, in % of the time",
                 ["scheme", *latency_columns(latencies)], rows)


def latency_columns(latencies):
    return [f"{name}, {at}" for name in ("model", "measured") for at in latencies]


def latency_cells(rows, latencies):
    """The overhead of `rows`, which are found by latency: by the model, and measured."""
    return [number(rows[at][f"{name}_percent"]) if at in rows else "-"
            for name in ("model", "measured") for at in latencies]


def harts_table(summary):
    rows = [[row["sync"], row["harts"], number(row["cycles"] / 1e6), number(row["busy_percent"]),
             number(row["entered_per_s"], 5), number(row["interrupted_per_s"]), number(row["section_us"]),
             number(row["most_us"]), number(row["model_percent"]), number(row["measured_percent"])]
            for row in summary["harts"]]
    if not rows:
        return None
    return Table("The slice on several harts, a command for each file, as many processes at once", [
        "scheme", "harts", "million cycles", "harts busy, %", "sections/s", "interrupted/s", "duration, us, mean",
        "most", "overhead, %, model", "measured"], rows, ["All harts together; overhead in % of one hart's time."])


def comparisons(summary):
    """Table 6 beside the paper's: of the whole set, where that was run."""
    of_whole = {row["sync"] for row in summary["whole"]}
    return overhead_comparisons([row for held, row in sets(summary) if held == "whole" or row["sync"] not in of_whole],
                                load_of(summary), summary["clock_hz"])


def overhead_comparisons(rows, load, clock_hz):
    rows = [row for row in rows if row["sync"] in paper.OVERHEAD]
    if not rows:
        return []
    return [Comparison(f"Table 6: overhead by the model, {load}", "%", [
        (row["sync"], paper.OVERHEAD[row["sync"]][load], row["model_percent"],
         sync.difference_to_paper(row, load, clock_hz)) for row in rows], f"sync, Table 6, {load}")]


def answer(summary):
    """What each scheme costs by the model and measured, and how often sections are interrupted."""
    rows = sets(summary)
    if not rows:
        return ""
    parts = [f"{row['sync']} {number(row['model_percent'])} % ({number(row['measured_percent'])} % measured)"
             for held, row in rows if held == rows[0][0]]
    interrupted = span([share(row["interrupted"], row["entered"]) for _, row in rows])
    return (f"Of the time of {load_of(summary)}, by the model: {', '.join(parts)}. Of the sections "
            f"{interrupted} % are interrupted.")


def plots(summary):
    """Figure 1."""
    return sync.plots({"lengths": summary["lengths"]})
