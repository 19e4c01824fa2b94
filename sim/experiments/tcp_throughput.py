"""The report of `tcp-throughput`: bytes a second over request sizes and streams, as Figures 5 to 8 of paper `mach`."""

from sim.results import claims, sampling
from sim.results.plot import Plot
from sim.results.table import Table, number

# The kernels in the paper's order, and what it calls them.
KERNELS = {"serial": "Mach/0.2", "global": "Mach/0.4", "connection": "Mach/0.5", "connection-rw": "Mach/0.5.3",
           "krp-classic": "-", "krp": "-", "krp-many": "-"}
MARGIN = 0.10       # within which two throughputs are called the same
SMALL = 512         # bytes of a request up to which the serial kernel gains nothing
PAPER_MOST = 803_000    # bytes a second
# What more streams add in the paper, percent: (kernel, bytes of a request, streams).
PAPER_GAINS = {("serial", 1000, 10): 17, ("serial", 16384, 10): 42.5, ("connection", 1000, 2): 83,
               ("connection", 1000, 10): 517}
# Of a segment on the wire beside its data: preamble, Ethernet, IP and TCP headers, FCS, gap; an acknowledgement takes
# the least frame.
SEGMENT, OVERHEAD, LEAST = 1460, 8 + 14 + 20 + 20 + 4 + 12, 8 + 64 + 12


def summarise(experiment, records):
    """Each run's aggregate throughput, from the records alone."""
    rows = []
    for made in records:
        if made["failure"] is not None:
            continue
        lines = [line for node in made["run"].get("nodes", [made["run"]]) for line in node["results"].get("stream", ())]
        first, ended = min(lines, key=lambda line: line["first_us"]), max(line["last_us"] for line in lines)
        carried = sum(line["bytes"] for line in lines) - first["first_bytes"]   # before its time began
        us, parameters = ended - first["first_us"], made["parameters"]
        rows.append({"kernel": parameters["kernel"], "harts": made["harts"], "size": parameters["size"],
                     "streams": parameters["stream"], "mbits": parameters["mbits"],
                     "bytes": carried, "us": us, "rate": carried * 1_000_000 / max(us, 1)})
    return {"rows": rows}


def wire_limit(mbits):
    """Bytes a second that full segments leave, each other one acknowledged; collisions there are none."""
    return mbits * 125_000 * SEGMENT / (SEGMENT + OVERHEAD + LEAST / 2)


def order(row):
    return row["mbits"], row["harts"], list(KERNELS).index(row["kernel"]), row["size"], row["streams"]


def rates(summary):
    """(kernel, harts, size, streams) -> bytes a second."""
    return {(row["kernel"], row["harts"], row["size"], row["streams"]): row["rate"]
            for row in sorted(summary["rows"], key=order)}


def tables(summary):
    """The report's tables, in order."""
    if not summary["rows"]:
        return []
    of = rates(summary)
    streams = sorted({key[3] for key in of})
    mbits = summary["rows"][0]["mbits"]
    cells = [[kernel, KERNELS[kernel], harts, size, *(number(of[kernel, harts, size, n] / 1000, 4)
              if (kernel, harts, size, n) in of else "-" for n in streams)]
             for kernel, harts, size in dict.fromkeys(key[:3] for key in of)]
    most = max(of.values(), key=float)
    made = [Table("Aggregate throughput", ["kernel", "paper's", "harts", "request, bytes", *map(str, streams)], cells,
                  [f"Thousand bytes a second over streams. The wire, {mbits} Mbit/s, leaves "
                   f"{wire_limit(mbits) / 1000:,.0f} to full segments; the most here is {number(most / 1000, 4)}, the "
                   f"paper's {PAPER_MOST / 1000:,.0f}."], texts=2)]
    return made + [table for table in (gain_table(of), claim_table(of, summary)) if table]


def gain_table(of):
    """What more streams add, beside the paper."""
    cells = []
    for kernel, harts, size, streams in of:
        one = of.get((kernel, harts, size, 1))
        if streams == 1 or one is None:
            continue
        told = PAPER_GAINS.get((kernel, size, streams), 0 if kernel == "serial" and size <= SMALL else None)
        cells.append([kernel, harts, size, streams, number(100 * (of[kernel, harts, size, streams] / one - 1), 3),
                      "-" if told is None else f"{told:g}"])
    return Table("What more streams add, percent", ["kernel", "harts", "request, bytes", "streams", "here", "paper"],
                 cells, ["In the paper one stream leaves most of the wire free. Where one stream fills a good part of "
                         "it here, as a processor takes less time for a segment than the wire does, more can add no "
                         "more than the rest; with 100 Mbit/s (--set mbits=100) the processors are the limit. Small "
                         "requests share segments (RFC 1122, 4.2.3.4), so one stream of them does more than one "
                         "request a round trip."]) if cells else None


def claim_table(of, summary):
    """What section 4.7 says, on each number of harts; a and b are thousand bytes a second."""
    tried = []
    for harts in sorted({key[1] for key in of}):
        here = {(kernel, size, streams): rate / 1000 for (kernel, on, size, streams), rate in of.items() if on == harts}
        for size in sorted({key[1] for key in here}):
            counts = sorted(n for kernel, s, n in here if (kernel, s) == ("serial", size))
            if len(counts) > 1 and counts[0] == 1:
                rule = f"serial, requests of {size}: 1 stream (a), {counts[-1]} (b)"
                a, b = here["serial", size, 1], here["serial", size, counts[-1]]
                tried.append(claims.same(f"more streams add nothing, {harts} harts", rule, a, b, MARGIN)
                             if size <= SMALL
                             else claims.less(f"more streams add something, {harts} harts", rule, a, b))
            for a, b in (("serial", "global"), ("global", "connection"), ("serial", "connection")):
                both = sorted({n for kernel, s, n in here if (kernel, s) == (a, size)}
                              & {n for kernel, s, n in here if (kernel, s) == (b, size)})
                if both and both[-1] > 1:
                    tried.append(claims.less(
                        f"{b} carries more than {a} with many streams, {harts} harts",
                        f"requests of {size}, {both[-1]} streams: {a} (a), {b} (b)", here[a, size, both[-1]],
                        here[b, size, both[-1]]))
            counts = sorted(n for kernel, s, n in here if (kernel, s) == ("connection", size))
            if len(counts) > 1 and counts[0] == 1:
                tried.append(claims.less(f"connection: throughput grows with streams, {harts} harts",
                                         f"requests of {size}: 1 stream (a), {counts[-1]} (b)",
                                         here["connection", size, 1], here["connection", size, counts[-1]]))
    return claims.table("What paper mach claims of its networks (section 4.7)", tried, sampling.count(summary)) \
        if tried else None


def plots(summary):
    """Figures 5 to 8: of each kernel over streams; of one stream over sizes; of the kernels with the most streams."""
    drawn = []
    of = rates(summary)
    for harts in sorted({key[1] for key in of}):
        here = {(kernel, size, n): rate / 1000 for (kernel, on, size, n), rate in of.items() if on == harts}
        kernels, y = [kernel for kernel in KERNELS if any(key[0] == kernel for key in here)], "thousand bytes a second"
        for kernel in kernels:
            figure = {"serial": "Figure 5: ", "connection": "Figure 6: "}.get(kernel, "")
            series = {}
            for (k, size, n), rate in here.items():
                if k == kernel:
                    series.setdefault(f"{size} bytes", []).append((n, rate))
            drawn.append(Plot(f"{kernel}-{harts}harts", f"{figure}{kernel}, {harts} harts", "streams", y, series))
        for figure, n in (("Figure 7: one stream", 1), ("Figure 8: the most streams", max(key[2] for key in here))):
            series = {kernel: [(size, rate) for (k, size, m), rate in here.items() if (k, m) == (kernel, n)]
                      for kernel in kernels}
            drawn.append(Plot(f"streams{n}-{harts}harts", f"{figure}, {harts} harts", "bytes of a request", y,
                              {kernel: points for kernel, points in series.items() if points}, log_x=True))
    return drawn


def answer(summary):
    """What the most streams carry under each kernel, on the most harts with the largest requests."""
    of = rates(summary)
    if not of:
        return ""
    harts = max(key[1] for key in of)
    size = max(key[2] for key in of if key[1] == harts)
    n = max(key[3] for key in of if key[1:3] == (harts, size))
    parts = [f"{kernel} {number(of[kernel, harts, size, n] / 1000, 4)}" for kernel in KERNELS
             if (kernel, harts, size, n) in of]
    return (f"Thousand bytes a second, {n} streams of requests of {size} bytes on {harts} harts: {', '.join(parts)}.")
