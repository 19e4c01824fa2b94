"""The report of `tcp-cost`: what TCP costs under each kernel of the network, beside what it cannot do without."""

from sim.experiments.tcp_throughput import KERNELS
from sim.results.plot import Plot
from sim.results.statistics import bounds
from sim.results.table import Table, number

AIM = 95            # percent of what headers leave of the wire
# Of a full segment on the wire: its data, and preamble, headers of Ethernet, IP and TCP with timestamps, FCS, gap.
DATA, OVERHEAD = 1448, 8 + 14 + 20 + 32 + 4 + 12
LEAST = 8 + 64 + 12     # bytes of the least frame on the wire
SIDES = {"send": 1, "receive": 0}       # side -> node


def summarise(experiment, records):
    """All figures, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    of = {kind: [made for made in good if made["kind"] == kind]
          for kind in ("wire", "segments", "streams", "echo", "floor", "interrupt")}
    floors = {line["bytes"]: line for made in of["floor"] for line in node(made, 0)["results"]["tcp_floor"]}
    return {
        "wire": [{"kernel": kernel(made), "rate": rate(made), "percent": 100 * rate(made) / left(made)}
                 for made in of["wire"]],
        "segments": segments(of["segments"], floors),
        "streams": [{"kernel": kernel(made), "harts": made["harts"], "streams": made["parameters"]["streams"],
                     "rate": rate(made)} for made in of["streams"]],
        "echo": [trip(made, line) for made in of["echo"] for line in node(made, 1)["results"]["netcost"]],
        "interrupt": {line["to"]: line["p50"] for made in of["interrupt"]
                      for line in node(made, 0)["results"]["intr_latency"] if line["load"] == "idle"},
    }


def node(made, number_of):
    return made["run"]["nodes"][number_of]


def kernel(made):
    return made["parameters"]["kernel"]


def left(made):
    """Bytes a second that headers leave of the wire of 10 Mbit/s: it carries both ways at once."""
    return 10 * 125_000 * DATA / (DATA + OVERHEAD)


def rate(made):
    """Bytes a second over all streams, from the first read's end to the last one's."""
    lines = [line for one in made["run"]["nodes"] for line in one["results"].get("stream", ())]
    first = min(lines, key=lambda line: line["first_us"])
    carried = sum(line["bytes"] for line in lines) - first["first_bytes"]
    return carried * 1_000_000 / max(max(line["last_us"] for line in lines) - first["first_us"], 1)


def busy(made, side):
    spent = [hart["statistics"]["accounting"] for hart in node(made, SIDES[side])["harts"]]
    return sum(cycles for one in spent for mode, cycles in one.items() if mode != "idle")


def sent(made, side):
    return node(made, SIDES[side])["ether"]["frames_from_target"]


def segments(records, floors):
    """Of each kernel and side: cycles of a segment without data and of a byte, as the difference of two runs that
    differ in how many segments they send, and the difference of two sizes of these. The floor has the same frames."""
    runs = {}
    for made in records:
        runs.setdefault((kernel(made), made["parameters"]["size"]), []).append(made)
    found = {}
    for (name, size), some in runs.items():
        some.sort(key=lambda made: made["parameters"]["count"])
        if len(some) < 2:
            continue
        few, many = some[0], some[-1]
        count = sent(many, "send") - sent(few, "send")
        data = (many["parameters"]["count"] - few["parameters"]["count"]) * size
        acknowledged = (sent(many, "receive") - sent(few, "receive")) / max(count, 1)
        for side in SIDES:
            other = "receive" if side == "send" else "send"
            floor = size in floors and floors[size][side] + acknowledged * floors[0][other]
            found.setdefault((name, side), []).append(
                {"bytes": data / max(count, 1), "cycles": (busy(many, side) - busy(few, side)) / max(count, 1),
                 "floor": floor or None})
    rows = []
    for (name, side), points in found.items():
        points.sort(key=lambda point: point["bytes"])
        less, more = points[0], points[-1]
        if more["bytes"] <= less["bytes"]:
            continue
        row = {"kernel": name, "side": side, "bytes": more["bytes"], "whole": more["cycles"]}
        row |= dict(zip(("segment", "byte"), line_through(less, more, "cycles"), strict=True))
        if less["floor"] and more["floor"]:
            row |= {"whole_floor": more["floor"], "times": more["cycles"] / more["floor"]}
            row |= dict(zip(("segment_floor", "byte_floor"), line_through(less, more, "floor"), strict=True))
        rows.append(row)
    return rows


def line_through(less, more, what):
    """What a segment without data takes, and what each byte."""
    each = (more[what] - less[what]) / (more["bytes"] - less["bytes"])
    return less[what] - each * less["bytes"], each


def trip(made, line):
    """A round trip; `wire`: what both of its frames take from bit to bit, whatever the processors do."""
    parameters, clock = made["parameters"], made["run"]["harness"]["clock_hz"]
    return {"kernel": kernel(made), "least": line["min"], "cycles": line["p50"],
            "wire": 2 * (parameters["nodes_latency"] + LEAST * 8 * clock / 1_000_000_000)}


def ordered(rows, *more):
    return sorted(rows, key=lambda row: (list(KERNELS).index(row["kernel"]), *(row[name] for name in more)))


def tables(summary):
    """The report's tables, in order."""
    return [made for made in (wire_table(summary), segment_table(summary), stream_table(summary), echo_table(summary))
            if made]


def wire_table(summary):
    rows = [[row["kernel"], number(row["rate"] / 1000, 4), number(row["percent"], 3), verdict(row["percent"])]
            for row in ordered(summary["wire"])]
    return Table("10 Mbit/s filled by one hart and one stream",
                 ["kernel", "thousand bytes/s", "% of what headers leave", f"{AIM} %"], rows,
                 [f"Headers and gaps leave {DATA} of {DATA + OVERHEAD} bytes of a full segment with timestamps; "
                  "acknowledgements go the other way of the wire at the same time. The start is counted, in which the "
                  "window opens."]) if rows else None


def verdict(percent):
    low, high = bounds(percent)
    return "met" if low >= AIM else "missed" if high < AIM else "open"


def segment_table(summary):
    rows = [[row["kernel"], row["side"], *(number(row[name], 4) for name in ("segment", "byte", "whole")),
             *(number(row[name], 4) if name in row else "-"
               for name in ("segment_floor", "byte_floor", "whole_floor", "times"))]
            for row in ordered(summary["segments"], "side")]
    return Table("Cycles of a segment and of a byte, beside the floor",
                 ["kernel", "side", "a segment", "a byte", "a full one", "floor, a segment", "floor, a byte",
                  "floor, a full one", "times"], rows,
                 ["At 1 Gbit/s, one hart; cycles in which the hart was not idle, program and system calls with them. "
                  "The floor, measured: one copy, one checksum, the driver's accesses for the segment and for the "
                  "acknowledgements that came with it."]) if rows else None


def stream_table(summary):
    of = {(row["kernel"], row["harts"]): row["rate"] for row in ordered(summary["streams"], "harts")}
    if not of:
        return None
    harts = sorted({on for _, on in of})
    streams = summary["streams"][0]["streams"]
    rows = [[name, *(number(of[name, on] / 1000, 4) if (name, on) in of else "-" for on in harts),
             number(of[name, harts[-1]] / of[name, harts[0]], 3)
             if {(name, harts[0]), (name, harts[-1])} <= of.keys() else "-"]
            for name in dict.fromkeys(key[0] for key in of)]
    return Table(f"{streams} streams on several harts, thousand bytes a second",
                 ["kernel", *(f"{on} harts" if on > 1 else "1 hart" for on in harts), "times"], rows,
                 ["At 1 Gbit/s, requests of 16,384 bytes; times: the most harts over the fewest."])


def echo_table(summary):
    twice = {way: 2 * cycles for way, cycles in summary["interrupt"].items() if way in ("thread", "relayed")}
    rows = [[row["kernel"], number(row["cycles"], 4), number(row["wire"], 4), number(row["cycles"] - row["wire"], 4),
             *(number(twice[way], 4) if way in twice else "-" for way in ("thread", "relayed")),
             number((row["cycles"] - row["wire"]) / twice["thread"], 3) if "thread" in twice else "-"]
            for row in ordered(summary["echo"])]
    return Table("The round trip of one byte, cycles",
                 ["kernel", "round trip", "of it the wire", "the rest", "twice interrupt to thread",
                  "twice to a waiting thread", "times"], rows,
                 ["Write to the return of the read, median, at 1 Gbit/s, one hart each. The wire: its latency and the "
                  "bits of two least frames. Times: the rest over twice interrupt to thread."]) if rows else None


def plots(summary):
    """What several harts carry, under each kernel."""
    series = {}
    for row in ordered(summary["streams"], "harts"):
        series.setdefault(row["kernel"], []).append((row["harts"], row["rate"] / 1000))
    return [Plot("harts", "Streams at 1 Gbit/s over harts", "harts", "thousand bytes a second", series)] * bool(series)


def answer(summary):
    """The best kernel of each figure."""
    parts = []
    if summary["wire"]:
        best = max(summary["wire"], key=lambda row: float(row["percent"]))
        parts.append(f"one hart fills {number(best['percent'], 3)} % of what headers leave of 10 Mbit/s "
                     f"({best['kernel']})")
    times = [row for row in summary["segments"] if "times" in row]
    if times:
        best = min(times, key=lambda row: float(row["times"]))
        parts.append(f"a full segment takes {number(best['times'], 3)} times its floor to {best['side']} "
                     f"({best['kernel']})")
    if summary["echo"]:
        best = min(summary["echo"], key=lambda row: float(row["cycles"]))
        parts.append(f"a byte's round trip takes {number(best['cycles'], 4)} cycles ({best['kernel']})")
    return "At best " + "; ".join(parts) + "." if parts else ""
