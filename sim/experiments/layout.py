"""The report of `layout`: each path's cycles over layouts drawn at random, with the ordered one, and its floor."""

from sim.experiments.paper_sync import SCHEMES
from sim.results.plot import Intervals
from sim.results.statistics import Samples
from sim.results.table import Table, number

LAYOUTS_APART = True        # the summary is of all layouts, not of one: sim/results/sampling.py
LINKED, ORDERED = 0, "profile"


def line(kind, field, where=None):
    """The figure `field` of the first @kind line, or of that whose entries are those of `where`."""
    def figure(run, sync):
        found = [each for each in run["results"].get(kind, ()) if (where or {}).items() <= each.items()]
        return found[0][field] if found else None
    return figure


def section(run, sync):
    """Cycles to enter and to leave a section, mean, as the simulator saw them on hart 0."""
    seen = [run["harts"][0]["statistics"][name] for name in ("enter_cycles", "leave_cycles")]
    return sum(one["total"] / one["count"] for one in seen) if all(one["count"] for one in seen) else None


def pair(run, sync):
    return next((each["cycles_per_pair"] for each in run["results"]["table5"] if each["scheme"] == sync), None)


def each_call(op):
    def figure(run, sync):
        found = [each for each in run["results"]["file_cost"] if each["op"] == op]
        return found[0]["cycles"] / found[0]["count"] if found else None
    return figure


def request(run, sync):
    disk = run["results"]["disk"][0]
    return disk["cycles"] / (disk["bytes"] // disk["request"])


def turnaround(run, sync):
    """Mean cycles from a frame's last bit on the wire to its reply's first."""
    seen = run.get("ether", {}).get("turnaround", {"count": 0})
    return seen["total"] / seen["count"] if seen["count"] else None


def idle(way):
    return line("intr_latency", "p50", {"load": "idle", "to": way})


# Path -> the kind of runs that has it and its figure; those that have its floor, which are added up.
PATHS = {
    "a scheme's pair, in the kernel's code": (("pair", section), [("pair-floor", pair)]),
    "wire to handler": (("wire", idle("handler")), [("wire-floor", line("intr_floor", "bare"))]),
    "wire to thread, by name": (("wire", idle("event")), [("wire-floor", line("intr_floor", "bare")),
                                                          ("wake-floor", line("switch_floor", "wake_floor"))]),
    "wire to interrupt thread": (("wire", idle("thread")), [("wire-floor", line("intr_floor", "bare")),
                                                            ("wake-floor", line("switch_floor", "wake_floor"))]),
    "null call": (("call", line("syscall_cost", "null")), [("fault", line("vm_trap", "cycles"))]),
    "page fault, a page of zeros": (("fault", line("vm_fault", "cycles", {"kind": "zero"})),
                                    [("fault", line("vm_fault", "floor", {"kind": "zero"}))]),
    "cached read of a byte": (("file", each_call("read")), [("file-floor", each_call("read"))]),
    "cached write of a byte": (("file", each_call("write")), [("file-floor", each_call("write"))]),
    "a request's handler": (("request", line("handler", "p50")), [("request-floor", line("handler_floor", "p50"))]),
    "a frame's handler": (("frame", line("handler", "p50")), [("frame-floor", line("handler_floor", "p50"))]),
    "disk request to return": (("request", request), [("return-floor", line("handler_floor", "p50"))]),
    "frame in to frame out": (("frame", turnaround), [("reply-floor", turnaround)]),
}


def summarise(experiment, records):
    """For each path, scheme and number of harts, its cycles and its floor's by layout."""
    good = [made for made in records if made["failure"] is None]
    rows = []
    for path, ((kind, figure), floors) in PATHS.items():
        places = {(made["harts"], made["sync"]) for made in good if made["kind"] == kind}
        for harts, sync in sorted(places, key=lambda place: (place[0], SCHEMES.index(place[1]))):
            cycles = of_layouts(good, kind, figure, sync, harts)
            if cycles:
                rows.append({"path": path, "harts": harts, "sync": sync, "cycles": cycles,
                             "floor": summed([of_layouts(good, kind, figure, sync) for kind, figure in floors])})
    return {"rows": rows}


def of_layouts(records, kind, figure, sync, harts=None):
    """The figure by layout, a string: of the run with these harts, or, of a floor, with the fewest; of `sync` if there
    is such a run."""
    found = [made for made in records if made["kind"] == kind and harts in (None, made["harts"])]
    found = [made for made in found if made["sync"] == sync] or found
    fewest = min((made["harts"] for made in found), default=0)
    values = {str(made["parameters"]["layout"]): figure(made["run"], made["sync"]) for made in found
              if made["harts"] == (harts or fewest)}
    return {layout: value for layout, value in values.items() if value is not None}


def summed(parts):
    """The sum by layout, of those that all parts have."""
    if not parts:
        return {}
    return {layout: sum(part[layout] for part in parts) for layout in parts[0]
            if all(layout in part for part in parts)}


def drawn(by_layout):
    """The values of layouts drawn at random, as an ensemble; None if there is none."""
    values = [value for layout, value in by_layout.items() if layout not in (str(LINKED), ORDERED)]
    return Samples(values) if values else None


def over_floor(row):
    """How many floors the path takes, layout by layout."""
    return {layout: value / row["floor"][layout] for layout, value in row["cycles"].items()
            if row["floor"].get(layout)}


def tables(summary):
    """The report's tables, in order."""
    rows = []
    for row in summary["rows"]:
        cycles, floor = drawn(row["cycles"]), drawn(row["floor"])
        times = drawn(over_floor(row))
        if cycles is None:
            continue
        ordered = row["cycles"].get(ORDERED)
        rows.append([row["path"], row["harts"], row["sync"], number(floor), number(min(cycles.values)), number(cycles),
                     number(max(cycles.values)), "-" if times is None else f"{times:.2f}", number(ordered),
                     number(row["cycles"].get(str(LINKED))),
                     "-" if ordered is None else f"{100 * (ordered / float(cycles) - 1):+.1f}"])
    if not rows:
        return []
    layouts = max(len(drawn(row["cycles"]).values) for row in summary["rows"] if drawn(row["cycles"]))
    return [Table("What placement is worth",
                  ["path, cycles", "harts", "scheme", "floor", "least", "median", "most", "floors", "ordered", "linked",
                   "ordered against the median, %"], rows,
                  [f"{layouts} layouts drawn at random: least, median with its 95 % interval, most. Ordered: layout "
                   "`profile`, by the call graph; linked: layout 0, the link's own order. A floor has the same "
                   "layouts."])]


def plots(summary):
    """Each path's spread over random layouts, in per cent of its median."""
    made = []
    for harts in sorted({row["harts"] for row in summary["rows"]}):
        points = []
        for row in summary["rows"]:
            values = drawn(row["cycles"])
            if row["harts"] == harts and values and float(values):
                points.append((f"{row['path']}, {row['sync']}", 100 * min(values.values) / float(values), 100.0,
                               100 * max(values.values) / float(values)))
        if points:
            made.append(Intervals(f"layout-{harts}", f"Random layouts, harts {harts}", "% of the median, least to most",
                                  points, 100.0))
    return made


def answer(summary):
    """The question's answer in two sentences, from the figures."""
    spreads = sorted((max(values.values) / min(values.values), row["path"]) for row in summary["rows"]
                     if (values := drawn(row["cycles"])) and min(values.values) > 0)
    if not spreads:
        return None
    gains = sorted(ordered / float(drawn(row["cycles"])) - 1 for row in summary["rows"]
                   if (ordered := row["cycles"].get(ORDERED)) and drawn(row["cycles"]))
    middle = spreads[len(spreads) // 2][0]
    text = (f"The slowest layout takes {100 * (middle - 1):.0f} % more than the fastest in the median path, and "
            f"{100 * (spreads[-1][0] - 1):.0f} % more in the widest ({spreads[-1][1]}).")
    if gains:
        faster = sum(gain < 0 for gain in gains)
        text += (f" The ordered layout is faster than the median of the random ones in {faster} of {len(gains)} paths, "
                 f"by {-100 * gains[len(gains) // 2]:.1f} % in the median path.")
    return text
