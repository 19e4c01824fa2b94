"""The report of `totals`: whole ways from beginning to end, beside their floors, and where the rest goes."""

from sim.experiments.paper_sync import SCHEMES
from sim.results.plot import Intervals
from sim.results.statistics import bounds
from sim.results.table import Table, number

AIM = 2         # times the floor
MET, MISSED, OPEN = "met", "missed", "open"
# Total -> the kind of runs that has it, and what it is called.
TOTALS = {
    "event": ("wire", "wire to the waiting thread, posted by the handler"),
    "relayed": ("wire", "wire to the waiting thread, through an interrupt thread"),
    "frame-softint": ("frame-softint", "echo request to reply, net=softint"),
    "frame-thread": ("frame-thread", "echo request to reply, net=threads"),
    "request": ("request", "disk request to return"),
    "call": ("call", "system call to return"),
}
REST = "the rest"


def summarise(experiment, records):
    """Cycles of each total by scheme and harts, its floor's, and of its parts: (name, cycles, floor)."""
    good = [made for made in records if made["failure"] is None]
    rows = []
    for total, (kind, _) in TOTALS.items():
        for made in sorted((made for made in good if made["kind"] == kind),
                           key=lambda made: (made["harts"], SCHEMES.index(made["sync"]))):
            cycles, floor, part = FIGURES[kind](made, good, total)
            row = {"total": total, "harts": made["harts"], "sync": made["sync"], "cycles": cycles}
            if floor:
                row |= {"floor": floor, "ratio": cycles / floor, "beyond": cycles - floor}
            if part:
                row["part"] = {"name": part[0], "cycles": part[1], "floor": part[2]}
            rows.append(row)
    return {"rows": rows}


def line(made, kind, **where):
    return next((each for each in made["run"]["results"].get(kind, ()) if where.items() <= each.items()), None)


def floor_line(records, kind, result, sync=None, **where):
    """The first line of a run of the kind, under `sync` if it was run under several."""
    found = [made for made in records if made["kind"] == kind]
    found = [made for made in found if made["sync"] == sync] or found
    return line(found[0], result, **where) if found else None


def wire(made, records, way):
    cycles = line(made, "intr_latency", load="idle", to=way)["p50"]
    bare = floor_line(records, "wire-floor", "intr_floor", made["sync"])
    wake = floor_line(records, "wake-floor", "switch_floor", made["sync"])
    part = line(made, "intr_latency", load="idle", to="handler")["p50"]
    wakes = 2 if way == "relayed" else 1
    return (cycles, bare and wake and bare["bare"] + wakes * wake["wake_floor"],
            bare and ("the way to the handler", part, bare["bare"]))


def frame(made, records, _):
    spread = made["run"]["ether"]["turnaround"]
    floors = [each for each in records if each["kind"] == "frame-floor"]
    bare = floors[0]["run"]["ether"]["turnaround"] if floors else None
    handler = floor_line(records, "frame-handler-floor", "handler_floor")
    return (spread["total"] / spread["count"], bare and bare["total"] / bare["count"],
            handler and ("the handler", line(made, "handler")["p50"], handler["p50"]))


def request(made, records, _):
    disk = line(made, "disk")
    whole = floor_line(records, "request-floor", "handler_floor")
    handler = floor_line(records, "request-handler-floor", "handler_floor")
    return (disk["cycles"] / (disk["bytes"] // disk["request"]), whole and whole["p50"],
            handler and ("the handler", line(made, "handler")["p50"], handler["p50"]))


def call(made, records, _):
    bare = floor_line(records, "call-floor", "vm_trap")
    return line(made, "syscall_cost")["null"], bare and bare["cycles"], None


FIGURES = {"wire": wire, "frame-softint": frame, "frame-thread": frame, "request": request, "call": call}


def verdict(ratio):
    """Of an aim that is held by the median only if all of its interval holds it."""
    low, high = map(float, bounds(ratio))
    return MET if high <= AIM else MISSED if low > AIM else OPEN


def reason(row):
    """Where what is beyond the floor goes, from the row's own figures."""
    if "part" not in row:
        return "not explained"
    name, more = row["part"]["name"], row["part"]["cycles"] - row["part"]["floor"]
    share = 100 * float(more) / float(row["beyond"])
    return f"{name} {share:.0f} %, {REST} {100 - share:.0f} % of what is beyond the floor"


def tables(summary):
    """The report's table: a total missed has its reason."""
    cells = []
    for row in summary["rows"]:
        has = "ratio" in row
        said = verdict(row["ratio"]) if has else "-"
        cells.append([TOTALS[row["total"]][1], row["harts"], row["sync"], number(row.get("floor")),
                      number(row["cycles"]), f"{row['ratio']:.2f}" if has else "-", said,
                      "" if said in (MET, "-") else reason(row)])
    if not cells:
        return []
    return [Table("Totals beside their floors", ["total", "harts", "scheme", "floor", "cycles", "x floor",
                                                  f"aim: {AIM} floors", "beyond the floor"], cells, [
        "Cycles, medians over layouts. Floors, on one hart: the bare trap, and for each wake-up two simple locks and a "
        "switch's loads and stores (run=intr-floor, switch-floor); a loop that looks for a frame and sends it back, or "
        "for a request's completion (run=handler-floor, device=reply and request); the bare trap of a call "
        "(run=vm-cost). A frame's times are those of the wire: from its last bit to its reply's first, means of all.",
        f"{MET}: the whole interval is at most {AIM}; {MISSED}: all of it is more; {OPEN}: neither."], texts=1)]


def plots(summary):
    """How many floors each total takes, by number of harts."""
    made = []
    for harts in sorted({row["harts"] for row in summary["rows"]}):
        points = [(f"{TOTALS[row['total']][1]}, {row['sync']}", low, float(row["ratio"]), high)
                  for row in summary["rows"] if row["harts"] == harts and "ratio" in row
                  for low, high in [map(float, bounds(row["ratio"]))]]
        if points:
            made.append(Intervals(f"totals-{harts}", f"Totals beside their floors, harts {harts}, median and 95 % "
                                  "interval over layouts", "times the floor", points, AIM))
    return made


def answer(summary):
    """Which totals hold the aim under all schemes, and the dearest."""
    rows = [row for row in summary["rows"] if "ratio" in row]
    if not rows:
        return None
    verdicts = {total: {verdict(row["ratio"]) for row in rows if row["total"] == total} for total in TOTALS}
    held = [TOTALS[total][1] for total, found in verdicts.items() if found == {MET}]
    worst = max(rows, key=lambda row: float(row["ratio"]))
    return (f"Within {AIM} floors under every scheme and number of harts: {'; '.join(held) or 'none'}. The dearest is "
            f"\"{TOTALS[worst['total']][1]}\" under {worst['sync']} with harts {worst['harts']}, "
            f"{number(worst['ratio'])} floors: {reason(worst)}.")
