"""The report of `livelock`: delivered against offered datagrams, the highest rate without loss, what a program beside
it has left, for each way to receive, each cure, each scheme."""

from sim.results.plot import Plot
from sim.results.statistics import always
from sim.results.table import Table, number

LOSSLESS = 0.99     # of what is offered has to be delivered: the window cuts off what is under way


def summarise(experiment, records):
    """Every load that was offered, from the records alone."""
    rows = []
    for made in records:
        if made["failure"] is not None:
            continue
        clock = made["run"]["harness"]["clock_hz"]
        parameters = made["parameters"]
        label = {"way": lambda p=parameters: p["way"], "cure": lambda p=parameters: cure(p["share"]),
                 "scheme": lambda p=parameters, m=made: f"{m['sync']}, {p['link_latency']}"}[made["kind"]]()
        for line in made["run"]["results"]["livelock"]:
            per_second = clock / line["window"]
            rows.append({
                "kind": made["kind"], "label": label, "period": line["period"],
                "offered": line["offered"] * per_second, "delivered": line["delivered"] * per_second,
                "share": line["counted"] / line["alone"] if line["alone"] else 0.0,
                "lossless": line["delivered"] >= LOSSLESS * line["offered"] - 2,
                **{name: line[name] for name in ("no_descriptor", "full", "unread", "interrupts", "frames")},
            })
    return {"rows": rows, "latency": experiment["settings"]["link_latency"]}


def cure(share):
    return "poll, feedback" + (f", {share} % of a tick" if share < 100 else "")


def labels(rows):
    return list(dict.fromkeys(row["label"] for row in rows))


def of(summary, *kinds):
    return [row for row in summary["rows"] if row["kind"] in kinds]


def tables(summary):
    """The report's tables, in order."""
    made = []
    ways, schemes = of(summary, "way", "cure"), of(summary, "scheme")
    if ways:
        made.append(rates(ways, "Where frames are worked on, spl-optim", "way",
                          [f"PIC access latency {summary['latency']} cycles."]))
        made.append(losses(ways))
    if schemes:
        made.append(rates(schemes, "Interrupt threads under each scheme", "scheme, PIC latency", []))
    return made


def rates(rows, title, first, notes):
    """Of each label: highest rate without loss, most delivered at any, delivered and left to the program at the end."""
    cells = []
    for label in labels(rows):
        own = sorted((row for row in rows if row["label"] == label), key=lambda row: row["offered"])
        lossless = [row["offered"] for row in own if always(row["lossless"])]
        cells.append([label, f"{max(lossless):,.0f}" if lossless else "none offered",
                      f"{max(row['delivered'] for row in own):,.0f}", f"{own[-1]['offered']:,.0f}",
                      f"{own[-1]['delivered']:,.0f}", f"{100 * own[-1]['share']:.1f} %"])
    return Table(title, [first, "without loss, up to", "most delivered", "at most offered", "then delivered",
                         "left to the program"], cells,
                 ["Datagrams a second. Left: of what the program does without load.", *notes])


def losses(rows):
    """Where datagrams were dropped at the highest load."""
    cells = []
    for label in labels(rows):
        row = max((row for row in rows if row["label"] == label), key=lambda row: row["offered"])
        cells.append([label, row["no_descriptor"], row["full"], row["unread"], row["interrupts"], row["frames"]])
    return Table("Where they are dropped at the highest load", ["way", "ring empty (by the core)", "ipintrq full",
                 "reader's queue full", "interrupts", "frames taken"], cells,
                 ["What the core drops costs the hart nothing; what is dropped later has been worked on for nothing."],
                 main=False)


def answer(summary):
    """What is delivered at the highest load in each way, beside the most at any."""
    rows = of(summary, "way", "cure") or of(summary, "scheme")
    parts = []
    for label in labels(rows):
        own = sorted((row for row in rows if row["label"] == label), key=lambda row: float(row["offered"]))
        most = max((row["delivered"] for row in own), key=float)
        if float(most):
            parts.append(f"{label} {number(100 * own[-1]['delivered'] / most)} % (a program keeps "
                         f"{number(100 * own[-1]['share'])} %)")
    if not parts:
        return ""
    return (f"At the highest load, {number(float(max(row['offered'] for row in rows)))} datagrams a second, each way "
            f"still delivers, of the most that it delivers at any: {'; '.join(parts)}.")


def plots(summary):
    """Delivered against offered, and the program's share, over ways and over schemes."""
    made = []
    for name, rows, what in (("ways", of(summary, "way", "cure"), "where frames are worked on"),
                             ("schemes", of(summary, "scheme"), "interrupt threads, scheme and PIC latency")):
        if not rows:
            continue
        most = max(float(row["offered"]) for row in rows)
        delivered, left = ({label: [(round(float(row["offered"])), value(row)) for row in rows if row["label"] == label]
                            for label in labels(rows)}
                           for value in (lambda row: round(row["delivered"]), lambda row: round(100 * row["share"], 1)))
        made += [
            Plot(f"delivered-{name}", f"Delivered against offered: {what}", "offered, datagrams/s",
                 "delivered, datagrams/s", sorted_points(delivered), log_x=most > 20_000),
            Plot(f"left-{name}", f"Left to a program: {what}", "offered, datagrams/s", "% of what it does alone",
                 sorted_points(left), log_x=most > 20_000),
        ]
    return made


def sorted_points(series):
    return {label: sorted(points) for label, points in series.items()}
