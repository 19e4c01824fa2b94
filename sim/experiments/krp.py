"""The report of `krp`: what a transaction server does under each kernel of the network, as Figures 4 to 8 of paper
`krp` and its table, of the node that serves."""

from sim.results import claims, sampling
from sim.results.plot import Plot
from sim.results.statistics import share
from sim.results.table import Table, number

KERNELS = ("serial", "global", "connection", "connection-rw", "krp-classic", "krp", "krp-many")
CLASSIC, SCALABLE = "krp-classic", "krp"
# What the paper's table says of both, and the locks of ours that its rows name.
PAPER = {"hold": (54.8, 35.2), "spin": (24.1, 4.4), "locks": (204_153, 162_033), "lock8": (31.4, 5)}
LOCK_8, GLOBAL = "I/O lock 8", "TCP/IP global"
MARGIN = 0.10       # within which two rates are called the same
# Figure of the paper -> what of a row it shows, and its unit.
FIGURES = {"Figure 4": ("packets", "packets sent a second"), "Figure 5": ("orders", "orders a second"),
           "Figure 6": ("spinning", "% of all harts' time spinning"),
           "Figure 7": ("user", "% of all harts' time in user mode"),
           "Figure 8": ("buffered", "reads and writes of sockets a second")}


def summarise(experiment, records):
    """Each run's figures of the server's node, from the records alone."""
    return {"rows": [row(made) for made in records if made["failure"] is None]}


def row(made):
    node, clock = made["run"]["nodes"][0], made["run"]["harness"]["clock_hz"]
    lines = node["results"]["orders"]
    seconds = max(max(line["last_us"] for line in lines) - min(line["first_us"] for line in lines), 1) / 1_000_000
    orders = sum(line["orders"] for line in lines)
    statistics = [hart["statistics"] for hart in node["harts"]]
    window = node["window"]["cycles"]
    spent = {mode: share(sum(one["accounting"][mode] for one in statistics), window * len(statistics))
             for mode in ("user", "system", "interrupt", "spinning", "idle")}
    classes = [entry for entry in node["locks"]["classes"] if entry["kind"] == "simple"]
    held = {entry["class"]: 100 * entry["hold_cycles"]["total"] / window for entry in classes}
    waited = sum(entry["wait_cycles"]["total"] for entry in classes)
    return {"kernel": made["parameters"]["kernel"], "harts": made["harts"], "clients": made["parameters"]["client"],
            "orders": orders / seconds, "packets": node["results"]["net"][0]["sent"] / seconds,
            "buffered": 2 * orders / seconds, **spent, "hold": sum(held.values()),
            "spin": 100 * waited / window, "locks": sum(entry["attempts"] for entry in classes) * clock / window,
            "lock8": held.get(LOCK_8, 0.0), "global": held.get(GLOBAL, 0.0)}


def order(row):
    return row["harts"], row["clients"], KERNELS.index(row["kernel"])


def tables(summary):
    """The report's tables, in order."""
    rows = sorted(summary["rows"], key=order)
    if not rows:
        return []
    done = Table("What the server does",
                 ["kernel", "harts", "clients", "orders/s", "packets/s", "user, %", "system, %", "interrupt, %",
                  "spinning, %", "idle, %"],
                 [[row["kernel"], row["harts"], row["clients"], number(row["orders"], 4), number(row["packets"], 4),
                   *(number(row[mode], 3) for mode in ("user", "system", "interrupt", "spinning", "idle"))]
                  for row in rows],
                 ["Percent of all harts' time from the server's start to its end."])
    held = Table("Simple locks",
                 ["kernel", "harts", "clients", "held, %", "spun for, %", "locks/s", f"{LOCK_8}, %", f"{GLOBAL}, %",
                  "headroom, harts"],
                 [[row["kernel"], row["harts"], row["clients"], number(row["hold"], 3), number(row["spin"], 3),
                   number(row["locks"], 4), number(row["lock8"], 3), number(row["global"], 3),
                   number(row["harts"] * 100 / row["global"], 2) if float(row["global"]) else "-"] for row in rows],
                 [f"Percent of the window, all locks added up; the paper, classic and scalable: held "
                  f"{PAPER['hold'][0]} and {PAPER['hold'][1]}, spun for {PAPER['spin'][0]} and {PAPER['spin'][1]}, "
                  f"locks a second {PAPER['locks'][0]:,} and {PAPER['locks'][1]:,}, I/O lock 8 {PAPER['lock8'][0]} "
                  f"and below {PAPER['lock8'][1]}. "
                  "Headroom: harts with which the designated one would be busy all the time, if work grew with them "
                  "(the paper's estimate). With several databases their locks are added up."])
    return [done, held, *claim_tables(summary, rows)]


def claim_tables(summary, rows):
    """What the paper says of its two kernels, with the most clients."""
    tried = []
    for harts in sorted({row["harts"] for row in rows}):
        most = max(row["clients"] for row in rows if row["harts"] == harts)
        of = {row["kernel"]: row for row in rows if (row["harts"], row["clients"]) == (harts, most)}
        if CLASSIC not in of or SCALABLE not in of:
            continue
        classic, krp = of[CLASSIC], of[SCALABLE]
        rule = f"{harts} harts, {most} clients: {{}} of {CLASSIC} (a), {SCALABLE} (b)"
        if harts == 1:
            tried.append(claims.same("one hart loses nothing by it", rule.format("orders a second"), classic["orders"],
                                     krp["orders"], MARGIN))
            continue
        tried.append(claims.less("more orders are answered", rule.format("orders a second"), classic["orders"],
                                 krp["orders"]))
        tried.append(claims.less("less time is spent spinning", f"{harts} harts, {most} clients: % of {SCALABLE} (a), "
                                 f"{CLASSIC} (b)", krp["spinning"], classic["spinning"]))
        tried.append(claims.less("user mode gets more time", rule.format("%"), classic["user"], krp["user"]))
        if "krp-many" in of:
            tried.append(claims.less("several databases answer more", f"{harts} harts, {most} clients: orders a "
                                     f"second of {SCALABLE} (a), krp-many (b)", krp["orders"],
                                     of["krp-many"]["orders"]))
    return [claims.table("What paper krp claims of its kernels", tried, sampling.count(summary))] if tried else []


def plots(summary):
    """Figures 4 to 8: over clients, for each number of harts."""
    drawn = []
    rows = sorted(summary["rows"], key=order)
    for harts in sorted({row["harts"] for row in rows}):
        for figure, (what, unit) in FIGURES.items():
            series = {}
            for row in rows:
                if row["harts"] == harts:
                    series.setdefault(row["kernel"], []).append((row["clients"], row[what]))
            drawn.append(Plot(f"{what}-{harts}harts", f"{figure}: {unit}, {harts} harts", "clients", unit, series))
    return drawn


def answer(summary):
    """Orders a second under each kernel with the most harts and clients."""
    if not summary["rows"]:
        return ""
    place = max((row["harts"], row["clients"]) for row in summary["rows"])
    parts = [f"{row['kernel']} {number(row['orders'], 4)}" for row in sorted(summary["rows"], key=order)
             if (row["harts"], row["clients"]) == place]
    return f"Orders a second, {place[1]} clients on {place[0]} harts: {', '.join(parts)}."
