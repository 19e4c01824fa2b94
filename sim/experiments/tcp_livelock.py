"""The report of `tcp-livelock`: what servers in user mode answer under a flood of datagrams, and what it leaves."""

from sim.experiments.tcp_throughput import KERNELS
from sim.results.plot import Plot
from sim.results.table import Table, number

SERVER, FLOODER = 0, 2      # nodes
WAYS = {"threads": "interrupt threads", "poll": "polling", "scheme": "schemes"}


def summarise(experiment, records):
    """Every load that was offered, from the records alone."""
    return {"rows": [row(made) for made in records if made["failure"] is None]}


def row(made):
    server, flooder = made["run"]["nodes"][SERVER]["results"], made["run"]["nodes"][FLOODER]["results"]
    line, per_second = server["netload"][0], 1000 / made["parameters"]["ms"]
    label = made["sync"] if made["kind"] == "scheme" else made["parameters"]["kernel"]
    return {"kind": made["kind"], "label": label, "harts": made["harts"], "period": made["parameters"]["period"],
            "offered": flooder["net_flood"][0]["offered"] * per_second, "datagrams": line["datagrams"] * per_second,
            "orders": line["orders"] * per_second, "counted": line["counted"]}


def order(row):
    names = list(KERNELS)
    return (list(WAYS).index(row["kind"]), names.index(row["label"]) if row["label"] in names else 0, row["label"],
            row["harts"], -row["period"] if row["period"] else -1_000_000)


def lines(summary):
    """(kind, label, harts) -> its loads, from none to the most, each with the share of what the program does alone."""
    found = {}
    for one in sorted(summary["rows"], key=order):
        found.setdefault((one["kind"], one["label"], one["harts"]), []).append(one)
    made = {}
    for where, loads in found.items():
        alone = loads[0]["counted"] if not loads[0]["period"] else 0
        made[where] = [load | {"share": 100 * load["counted"] / alone if alone else None} for load in loads]
    return made


def tables(summary):
    """The report's tables, in order."""
    made = []
    for kind, what in WAYS.items():
        rows = []
        for (of, label, harts), loads in lines(summary).items():
            if of == kind:
                rows += [[label, harts, number(load["offered"], 4), number(load["datagrams"], 4),
                          number(load["orders"], 4), "-" if load["share"] is None else number(load["share"], 3)]
                         for load in loads]
        if rows:
            made.append(Table(f"Servers under a flood, {what}",
                              ["scheme" if kind == "scheme" else "kernel", "harts", "offered, datagrams/s",
                               "received, datagrams/s", "orders answered/s", "left to a program, %"], rows,
                              ["Received: by a program from its socket. Orders: over a TCP connection from another "
                               "node, one after the other; one of which a segment is lost is answered after a second "
                               "at least. Left: of what a program beside both servers counts without the flood."]))
    return made


def plots(summary):
    """What is received, what is answered and what is left over the offered load, for each way."""
    drawn = []
    for what, unit, name in (("datagrams", "received, datagrams/s", "received"),
                             ("orders", "orders answered/s", "answered"),
                             ("share", "% of what a program counts alone", "left")):
        for kind in WAYS:
            series = {f"{label}, {harts} harts" if harts > 1 else label:
                      [(round(float(load["offered"])), load[what]) for load in loads if load[what] is not None]
                      for (of, label, harts), loads in lines(summary).items() if of == kind}
            series = {label: sorted(points) for label, points in series.items() if points}
            if series:
                drawn.append(Plot(f"{name}-{kind}", f"Under a flood, {WAYS[kind]}: {name}", "offered, datagrams/s",
                                  unit, series))
    return drawn


def answer(summary):
    """What is left under the most load, of the best and the worst kernel."""
    most = {label: loads[-1] for (kind, label, _), loads in lines(summary).items() if kind == "threads"}
    if not most:
        return ""
    best, worst = (pick(most, key=lambda label: float(most[label]["datagrams"])) for pick in (max, min))
    return (f"At {number(most[best]['offered'], 4)} datagrams a second offered, a server in user mode receives "
            f"{number(most[worst]['datagrams'], 4)} ({worst}) to {number(most[best]['datagrams'], 4)} ({best}) a "
            f"second with interrupt threads.")
