"""The report of `webstone`: tables 3, 4 and 6 and figure 1 of paper `sync` for its load WebStone, and what its clients
got. All but that is of node 0, which serves, between its first client's begin and its last one's end."""

from sim.experiments import andrew, sync
from sim.experiments import paper_sync as paper
from sim.experiments.sync_load import pair_cycles, timed_figures
from sim.results.statistics import share
from sim.results.table import Table, number

LOAD = "WebStone"
SLOWEST = "spl-pessim"      # that the others are compared with


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    clock_hz = experiment["clock_hz"]
    good = [server_of(made) for made in records if made["failure"] is None]
    pairs = {made["parameters"]["link_latency"]: pair_cycles(made) for made in good if made["kind"] == "table5"}
    summary = {"load": [], "timed": [timed_figures(made, clock_hz) for made in good if made["kind"] == "timed"],
               "lengths": []}
    loads = [made for made in good if made["kind"] == "load" and made["parameters"]["link_latency"] in pairs]
    for made in loads:
        pair = pairs[made["parameters"]["link_latency"]]
        summary["load"].append(andrew.row_of(made, pair, clock_hz) | client_figures(made))
    longest = min(loads, key=lambda made: (-made["run"]["window"]["cycles"], made["id"]), default=None)
    if longest:
        summary["lengths"] = [sync.lengths(longest) | {"kind": "webstone"}]
    return summary


def server_of(made):
    """The record as if the server's machine were alone; what the others printed is in its entry `clients`."""
    server, *others = made["run"]["nodes"]
    return made | {"run": server, "clients": [line for node in others for line in node["results"].get("webstone", ())]}


def client_figures(made):
    """What all clients got. Connections and bytes a second add up over machines; times are means over requests."""
    lines = made["clients"]
    requests = sum(line["requests"] for line in lines)
    return {"connections_per_s": sum(1e6 * line["connections"] / line["us"] for line in lines),
            "requests_per_s": sum(1e6 * line["requests"] / line["us"] for line in lines),
            "bytes_per_s": sum(1e6 * line["bytes"] / line["us"] for line in lines),
            "mean_ms": sum(line["mean_us"] * line["requests"] for line in lines) / requests / 1000,
            "p90_ms": max(line["p90_us"] for line in lines) / 1000,
            "load_factor": sum(line["load_percent"] for line in lines) / 100}


def tables(summary):
    """The report's tables, in order."""
    made = [client_table(summary), section_table(summary), andrew.timed_table(summary, LOAD),
            andrew.overhead_table([("", row) for row in at_the_papers(summary)], LOAD), latency_table(summary)]
    return [table for table in made if table]


def slowest(summary, row):
    """The requests a second of the scheme that the others are compared with, on the same machine."""
    return next((other["requests_per_s"] for other in summary["load"] if other["sync"] == SLOWEST
                 and (other["harts"], other["latency"]) == (row["harts"], row["latency"])), None)


def client_table(summary):
    rows = []
    for row in summary["load"]:
        base = slowest(summary, row)
        rows.append([row["sync"], row["harts"], row["latency"], number(row["connections_per_s"]),
                     number(row["requests_per_s"]), number(row["bytes_per_s"] / 1000), number(row["mean_ms"]),
                     number(row["p90_ms"]), number(row["load_factor"]), number(row["busy_percent"] / row["harts"]),
                     f"{100 * (row['requests_per_s'] / base - 1):+.1f}" if base else "-"])
    if not rows:
        return None
    said = summary["settings"]
    return Table("What clients got", [
        "scheme", "harts", "PIC latency", "connections/s", "requests/s", "KB/s", "a request, ms, mean", "90 % within",
        "load factor", "server busy, %", f"requests/s beside {SLOWEST}'s, %"], rows,
        [f"{said['clients']} clients, {said['workers']} processes of the server, {said['requests']} requests, "
         f"{said['mbits']} Mbit/s. KB of 1,000 bytes; load factor: clients that wait, in the mean (Little). The order "
         "of requests is the same in all runs of a seed."])


def at_the_papers(summary):
    """The runs on the fewest harts at the PIC's latency at which a pair costs what the paper's does."""
    least = min((row["harts"] for row in summary["load"]), default=None)
    return [row for row in summary["load"]
            if (row["harts"], row["latency"]) == (least, summary["settings"]["link_latency"])]


def section_table(summary):
    """What Tables 3 and 4 have, seen from outside, in every scheme."""
    rows = [[row["sync"], row["harts"], row["latency"], number(row["entered_per_s"], 5),
             number(row["interrupted_per_s"]), number(share(row["interrupted"], row["entered"]), 2),
             number(row["section_us"]), number(row["most_us"]), number(row["user_percent"] / row["harts"])]
            for row in summary["load"]]
    if not rows:
        return None
    return Table("Sections under WebStone", [
        "scheme", "harts", "PIC latency", "sections/s", "interrupted/s", "interrupted, %", "duration, us, mean",
        "most", "user mode, %"], rows,
        [f"{andrew.sections_note(LOAD)} Its server had another processor, {paper.CLOCK_HZ / 1e6:g} MHz."])


def latency_table(summary):
    """Overhead over the PIC's latency."""
    latencies = sorted({row["latency"] for row in summary["load"]})
    rows = []
    for scheme, harts in dict.fromkeys((row["sync"], row["harts"]) for row in summary["load"]):
        own = {row["latency"]: row for row in summary["load"] if (row["sync"], row["harts"]) == (scheme, harts)}
        rows.append([scheme, harts, *andrew.latency_cells(own, latencies)])
    if len(latencies) < 2:
        return None
    return Table("Overhead over the PIC's latency in cycles, in % of one hart's time",
                 ["scheme", "harts", *andrew.latency_columns(latencies)], rows)


def comparisons(summary):
    """Table 6 beside the paper's."""
    return andrew.overhead_comparisons(at_the_papers(summary), LOAD, summary["clock_hz"])


def plots(summary):
    """Figure 1."""
    return sync.plots({"lengths": summary["lengths"]})


def answer(summary):
    """What the dearest scheme costs, and how much more is served without it."""
    rows = {row["sync"]: row for row in at_the_papers(summary)}
    parts = [f"{name} {number(row['model_percent'])} %" for name, row in rows.items()]
    if not parts:
        return ""
    text = f"Of the server's time, by the model: {', '.join(parts)}."
    others = {name: row["requests_per_s"] for name, row in rows.items() if name != SLOWEST}
    if SLOWEST in rows and others:
        best = max(others, key=lambda name: float(others[name]))
        more = 100 * (others[best] / rows[SLOWEST]["requests_per_s"] - 1)
        text += f" {best} answers {number(more)} % more requests a second than {SLOWEST}."
    return text
