"""The report of `spinlocks`: what the spin lock algorithms cost, hand over and deal out, beside the physical floor."""

from sim.results.plot import Plot
from sim.results.table import Table, number

FIGURES = ("acquisitions", "least", "most", "jain", "handovers", "handover", "handover_min", "handover_max", "wait",
           "wait_max")


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    contended = [made for made in good if made["kind"] == "contended"]
    return {
        "uncontended": {made["parameters"]["algorithm"]: uncontended_figures(made)
                        for made in good if made["kind"] == "uncontended"},
        "transfer": transfer_cycles(contended),
        "contended": [{"algorithm": line["algorithm"], "harts": line["harts"], "section": line["section"],
                       "window": line["window"], **{name: line[name] for name in FIGURES}}
                      for made in contended for line in made["run"]["results"]["spinlocks"]],
        "disturbed": [{name: line[name] for name in ("algorithm", "harts", "lines", "alone", "held")}
                      for made in contended for line in made["run"]["results"].get("spinlocks_memory", [])],
    }


def uncontended_figures(made):
    """The @lock_floor lines by section, with the cheapest bare pair's name."""
    figures = {}
    for line in made["run"]["results"]["lock_floor"]:
        pairs = [pair for pair in made["run"]["results"]["lock_pair"] if pair["section"] == line["section"]]
        bare = next(pair["pair"] for pair in pairs if pair["cycles"] == line["floor"])
        figures[line["section"]] = {name: line[name] for name in ("cycles", "floor", "ratio")} | {"bare": bare}
    return figures


def transfer_cycles(contended):
    """Cycles of one coherent transfer of a line by harts of the machine: the mean over hart 0's partners."""
    found = {}
    for made in contended:
        lines = made["run"]["results"].get("line_transfer", [])
        if lines:
            found[str(made["harts"])] = round(sum(line["cycles"] for line in lines) / len(lines), 2)
    return found


def algorithms(summary):
    """Those that have figures, in the order asked for."""
    present = {row["algorithm"] for row in summary["contended"]} | set(summary["uncontended"])
    return [name for name in summary["settings"]["algorithms"] if name in present]


def cell(summary, algorithm, harts, section, name):
    """One figure of the contended runs; None where there is none."""
    for row in summary["contended"]:
        if (row["algorithm"], row["harts"], row["section"]) == (algorithm, harts, section):
            return row[name]
    return None


def hart_counts(summary, least=1):
    return sorted({row["harts"] for row in summary["contended"] if row["harts"] >= least})


def sections(summary):
    return sorted({row["section"] for row in summary["contended"]})


def tables(summary):
    """The report's tables, in order."""
    made = [uncontended_table(summary), throughput_table(summary), handover_table(summary)]
    made += [fairness_table(summary), disturbed_table(summary), detail_table(summary)]
    return [table for table in made if table and table.rows]


def uncontended_table(summary):
    rows, notes = [], []
    for algorithm in algorithms(summary):
        figures = summary["uncontended"].get(algorithm)
        if not figures:
            continue
        empty, store = figures["empty"], figures["store"]
        rows.append([algorithm, f"{empty['cycles']:.2f}", f"{empty['ratio']:.2f}", f"{store['cycles']:.2f}",
                     f"{store['ratio']:.2f}"])
        notes = [f"Floor: {empty['floor']:.2f} cycles round an empty section ({empty['bare']}), {store['floor']:.2f} "
                 f"round a store ({store['bare']}): the cheapest bare pair that is correct by the memory model."]
    return Table("Uncontended: cycles to acquire and release a simple lock",
                 ["algorithm", "empty section", "x floor", "one store", "x floor"], rows, notes)


def throughput_table(summary):
    """Acquisitions in 1000 cycles by all harts together."""
    places = [(harts, section) for section in sections(summary) for harts in hart_counts(summary)]
    rows = [[algorithm, *(number(rate(summary, algorithm, *place)) for place in places)]
            for algorithm in algorithms(summary)]
    return Table("Throughput: acquisitions per 1000 cycles, all harts together",
                 ["section, harts", *(f"{section}, {harts}" for harts, section in places)], rows)


def rate(summary, algorithm, harts, section):
    count, window = (cell(summary, algorithm, harts, section, name) for name in ("acquisitions", "window"))
    return None if count is None else 1000 * count / window


def handover_table(summary):
    places = [(harts, section) for section in sections(summary) for harts in hart_counts(summary, 2)]
    rows = [["floor: one transfer", *(number(summary["transfer"].get(str(harts))) for harts, _ in places)]]
    for algorithm in algorithms(summary):
        rows.append([algorithm, *(number(cell(summary, algorithm, harts, section, "handover"))
                                  for harts, section in places)])
    if not places:
        rows = []
    return Table("Hand-over: cycles from release to the waiting hart's acquisition",
                 ["section, harts", *(f"{section}, {harts}" for harts, section in places)], rows)


def fairness_table(summary):
    """Of the greatest number of harts, which is where it shows."""
    if not hart_counts(summary, 2):
        return None
    harts = hart_counts(summary)[-1]
    rows = []
    for section in sections(summary):
        for algorithm in algorithms(summary):
            jain, least, most, longest = (cell(summary, algorithm, harts, section, name)
                                          for name in ("jain", "least", "most", "wait_max"))
            if jain is not None:
                rows.append([algorithm, section, f"{jain:.3f}", least, most, longest])
    return Table(f"Fairness on {harts} harts",
                 ["algorithm", "section", "Jain's index", "least", "most", "longest wait"], rows,
                 ["Jain's index is 1 where all harts get the lock equally often; least, most: acquisitions of the hart "
                  "that gets fewest and most; waits in cycles."])


def disturbed_table(summary):
    """What waiting harts cost the holder, where its section needs memory."""
    rows = [[row["algorithm"], row["harts"], f"{row['alone']:.1f}", f"{row['held']:.1f}",
             f"{100 * (row['held'] / row['alone'] - 1):.1f}"] for row in summary["disturbed"]]
    lines = summary["disturbed"][0]["lines"] if summary["disturbed"] else 0
    return Table(f"Disturbance: cycles of a section that reads {lines} lines of memory",
                 ["algorithm", "harts", "no hart waits", "all others wait", "longer by %"], rows)


def detail_table(summary):
    rows = [[row["algorithm"], row["harts"], row["section"], row["acquisitions"], f"{row['least']}/{row['most']}",
             number(row["jain"]), row["handovers"], number(row["handover"]),
             f"{row['handover_min']}..{row['handover_max']}", number(row["wait"]), row["wait_max"]]
            for row in summary["contended"]]
    return Table("All contended runs", ["algorithm", "harts", "section", "acquisitions", "least/most", "Jain",
                                        "hand-overs", "cycles", "range", "wait", "longest"], rows, main=False)


def answer(summary):
    """The cheapest algorithm alone, and on the most harts."""
    alone = {name: summary["uncontended"][name]["empty"]["ratio"] for name in algorithms(summary)
             if name in summary["uncontended"]}
    parts = []
    if alone:
        best, worst = (choose(alone, key=lambda name: float(alone[name])) for choose in (min, max))
        parts.append(f"Alone {best} is the cheapest, {number(alone[best])} times the floor, and {worst} the dearest, "
                     f"{number(alone[worst])} times.")
    harts = hart_counts(summary, 2)
    if harts:
        said = []
        for section in sections(summary):
            rates = {name: rate(summary, name, harts[-1], section) for name in algorithms(summary)
                     if rate(summary, name, harts[-1], section) is not None}
            if rates:
                best, worst = (choose(rates, key=lambda name: float(rates[name])) for choose in (max, min))
                said.append(f"{best} ({number(rates[best])} in 1000 cycles; {worst} {number(rates[worst])}) with "
                            f"sections of {section} cycles")
        parts.append(f"On {harts[-1]} harts the most acquisitions are by {'; '.join(said)}.")
    return " ".join(parts)


def plots(summary):
    """The classic plots, each with the floor: time per passage, hand-over, throughput, fairness, longest wait."""
    if not summary["contended"]:
        return []
    made = []
    if len(hart_counts(summary)) > 1:
        made += [by_harts(summary, section) for section in sections(summary)]
    if hart_counts(summary, 2):
        made.append(handover_plot(summary))
        if len(hart_counts(summary)) > 1:
            made += [fairness_plot(summary), longest_wait_plot(summary)]
    if len(sections(summary)) > 1:
        made.append(throughput_plot(summary))
    return made


def series(summary, xs, value):
    """A line for each algorithm: `value(algorithm, x)` over those `xs` that have one."""
    lines = {}
    for algorithm in algorithms(summary):
        points = [(x, value(algorithm, x)) for x in xs]
        lines[algorithm] = [point for point in points if point[1] is not None]
    return {label: points for label, points in lines.items() if points}


def by_harts(summary, section):
    """Time per passage over harts, as Anderson, and Mellor-Crummey and Scott, draw it."""
    def passage(algorithm, harts):
        figure = rate(summary, algorithm, harts, section)
        return round(1000 / figure, 2) if figure else None
    floor = {f"floor: section + one transfer ({harts} harts)": section + cycles
             for harts, cycles in summary["transfer"].items() if int(harts) == hart_counts(summary)[-1]}
    return Plot(f"passage-{section}", f"Time per passage, section of {section} cycles", "harts",
                "cycles per acquisition, all harts together", series(summary, hart_counts(summary), passage), floor)


def handover_plot(summary):
    section = sections(summary)[-1]
    lines = series(summary, hart_counts(summary, 2),
                   lambda algorithm, harts: cell(summary, algorithm, harts, section, "handover"))
    floor = [(int(harts), cycles) for harts, cycles in sorted(summary["transfer"].items())]
    return Plot("handover", f"Hand-over, section of {section} cycles", "harts", "cycles from release to acquisition",
                lines | {"floor: one transfer of a line": floor})


def throughput_plot(summary):
    harts = hart_counts(summary)[-1]
    lines = series(summary, sections(summary), lambda algorithm, section: rate(summary, algorithm, harts, section))
    if str(harts) in summary["transfer"]:
        transfer = summary["transfer"][str(harts)]
        lines["floor: section + one transfer"] = [(section, round(1000 / (section + transfer), 3))
                                                  for section in sections(summary)]
    return Plot("throughput", f"Throughput on {harts} harts", "section, cycles", "acquisitions per 1000 cycles", lines)


def fairness_plot(summary):
    section = sections(summary)[-1]
    return Plot("fairness", f"Fairness, section of {section} cycles", "harts", "Jain's index", series(
        summary, hart_counts(summary), lambda algorithm, harts: cell(summary, algorithm, harts, section, "jain")))


def longest_wait_plot(summary):
    section = sections(summary)[-1]
    return Plot("longest-wait", f"Longest wait, section of {section} cycles", "harts", "cycles", series(
        summary, hart_counts(summary), lambda algorithm, harts: cell(summary, algorithm, harts, section, "wait_max")))
