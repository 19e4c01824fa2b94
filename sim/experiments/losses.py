"""The report of `losses`: which device loses what, and how long its interrupts wait (paper `sync`, section 6.4)."""

from sim.experiments.serial_loss import characters, heat_maps, scheme_table, schemes_of, values, with_overruns
from sim.results.statistics import ever
from sim.results.table import Table, number

SOURCES = {"ticker": "ticker", "serial": "serial line", "ether": "Ethernet", "disk": "disk"}     # by falling priority
FLOWS = {0: "none", 1: "driver", 2: "port"}
COUNTS = ("sent", "bytes", "overruns", "dropped", "frames", "no_descriptor", "overrun", "full", "disk", "cycles",
          "ticks", "merged", "starved")


def summarise(experiment, records):
    """What every run lost and how long its interrupts waited, in microseconds, from the records alone."""
    settings, rows = experiment["settings"], []
    for made in records:
        if made["failure"] is not None:
            continue
        parameters, results = made["parameters"], made["run"]["results"]
        us = 1e6 / parameters.get("clock_hz", experiment["clock_hz"])
        handlers = {line["name"]: line for line in results["handler"]}
        rows.append({
            "kind": made["kind"], "sync": made["sync"], "baud": parameters["baud"],
            "depth": parameters.get("depth", settings["depth"]), "flow": parameters.get("flow", 0),
            "latency": parameters.get("distance", settings["link_latency"]),
            "wait": {line["name"]: line["max_wait"] * us for line in results["waits"]},
            "longest": {name: line["max"] * us for name, line in handlers.items()},
            "mean": {name: line["total"] / line["count"] * us for name, line in handlers.items()},
            **{name: results["losses"][0][name] for name in COUNTS}})
    return {"rows": rows, "depth": settings["depth"], "latency": settings["link_latency"]}


def tables(summary):
    """The report's tables, in order."""
    rows = [row for row in summary["rows"] if row["kind"] == "loss"]
    made = [claim_table(rows), argument_table(rows, summary["depth"]), delay_table(rows)] if rows else []
    return [*made, *flow_tables(summary), *far_tables(summary),
            *(scheme_table(rows, scheme, ("overruns", "dropped")) for scheme in schemes_of(rows))]


def claim_table(rows):
    lossy = {(row["baud"], row["depth"]) for row in rows if row["sync"] == "cli-pessim" and ever(row["overruns"])}
    cells = []
    for scheme in schemes_of(rows):
        own = [row for row in rows if row["sync"] == scheme]
        there = [row for row in own if (row["baud"], row["depth"]) in lossy]
        cells.append([scheme, f"{sum(ever(row['overruns']) for row in own)} of {len(own)}",
                      *(sum(row[name] for row in own) for name in ("sent", "overruns", "dropped")),
                      f"{sum(row['merged'] for row in own)} of {sum(row['ticks'] + row['merged'] for row in own)}",
                      sum(row["no_descriptor"] + row["overrun"] + row["full"] for row in own),
                      f"{sum(not ever(row['overruns']) for row in there)} of {len(there)}" if lossy else "-"])
    return Table("What is lost: a serial line beside a disk by programmed I/O and frames",
                 ["scheme", "settings with overruns", "characters sent", "overruns", "dropped by the driver",
                  "ticks merged", "frames dropped", "without overruns where cli-pessim has them"], cells, [
        "A setting is a bit rate and a FIFO depth. Overruns are characters that the port lost, as its FIFO was full; "
        "ticks are of a device that interrupts every 500 us at the clock's level and keeps no more than one: it merges "
        "with the next. Frames are dropped by the core or by a full ipintrq."])


def argument_table(rows, depth):
    """Section 6.4, with measured figures."""
    cells = []
    for row in rows:
        if row["depth"] == depth:
            most = max(row["longest"].values())
            cells.append([row["sync"], f"{row['baud']:,}", number(row["longest"]["disk"]),
                          number(characters(most, row["baud"])), number(row["wait"]["serial"]),
                          number(characters(row["wait"]["serial"], row["baud"])),
                          f"{row['overruns']} of {row['sent']}"])
    return Table(f"The argument of section 6.4, with a FIFO of {depth}",
                 ["scheme", "bit/s", "longest handler of the disk, us", "characters that come in the longest handler",
                  "longest wait of the serial line, us", "characters that come in it", "lost"], cells, [
        "The paper reckons: 2 ms in the disk's handler, a character each 70 us, so 28 characters against a buffer of "
        f"16. A character of ten bits takes 86.8 us: {characters(2000, 115_200):.0f} characters.",
        "A wait is from the wire to the claim. The port interrupts when its FIFO is half full, so half of the depth is "
        "what it can wait for."], texts=2)


def delay_table(rows):
    """The greatest delay of each priority."""
    cells = []
    for scheme in schemes_of(rows):
        own = [row for row in rows if row["sync"] == scheme]
        cells.append([scheme, *(number(max(row["wait"].get(name, 0) for row in own)) for name in SOURCES),
                      number(max(row["longest"]["disk"] for row in own))])
    return Table("Greatest delay of each priority, microseconds",
                 ["scheme", *SOURCES.values(), "longest handler of the disk"], cells, [
        "From the wire to the claim, over all settings; by falling priority. Where levels count, no source waits for "
        "the handler of one below it."])


def beside_usual(summary, kind):
    """The runs of a kind and those that they are compared with, or none."""
    rows = [row for row in summary["rows"] if row["kind"] == kind]
    rates = values(rows, "baud")
    return rows + [row for row in summary["rows"] if row["kind"] == "loss" and row["depth"] == summary["depth"]
                   and row["baud"] in rates]


def flow_tables(summary):
    depth, rows = summary["depth"], beside_usual(summary, "flow")
    if not rows:
        return []
    cells = [[scheme, f"{baud:,}", *(lost_of(rows, sync=scheme, baud=baud, flow=flow) for flow in values(rows, "flow"))]
             for scheme in schemes_of(rows) for baud in values(rows, "baud")]
    return [Table(f"With RTS: characters lost of those sent, FIFO of {depth}",
                  ["scheme", "bit/s", *(f"RTS by: {FLOWS[flow]}" for flow in values(rows, "flow"))], cells, [
        "Overruns, and what found the driver's ring full. The driver takes RTS back when its ring of 256 is three "
        "quarters full: while it is kept from running it cannot, and the FIFO overruns all the same (the end of "
        "section 6.4). The port takes it back by itself when its FIFO is half full."], texts=2)]


def far_tables(summary):
    depth, rows = summary["depth"], beside_usual(summary, "far")
    if not rows:
        return []
    latencies = values(rows, "latency")
    cells = [[scheme, f"{baud:,}", *(lost_of(rows, sync=scheme, baud=baud, latency=latency) for latency in latencies),
              *(wait_of(rows, sync=scheme, baud=baud, latency=latency) for latency in latencies)]
             for scheme in schemes_of(rows) for baud in values(rows, "baud")]
    return [Table(f"Over the PIC's latency: characters lost, and the longest wait of the serial line, FIFO of {depth}",
                  ["scheme", "bit/s", *(f"lost at {latency}" for latency in latencies),
                   *(f"us at {latency}" for latency in latencies)], cells, [
        "starved: interrupts took all of the hart's time, so no thread read what came; the load was taken away at 20 "
        "times the time that it was to take."] if any(ever(row["starved"]) for row in rows) else [], texts=2)]


def found(rows, **wanted):
    return next((row for row in rows if all(row[name] == value for name, value in wanted.items())), None)


def lost_of(rows, **wanted):
    row = found(rows, **wanted)
    if not row:
        return "-"
    return f"{row['overruns'] + row['dropped']} of {row['sent']}" + (", starved" if ever(row["starved"]) else "")


def wait_of(rows, **wanted):
    row = found(rows, **wanted)
    return number(row["wait"]["serial"]) if row else "-"


def answer(summary):
    """Where the serial line overruns, and what else is lost."""
    rows = [row for row in summary["rows"] if row["kind"] == "loss"]
    if not rows:
        return ""
    frames = [row for row in rows if ever(row["no_descriptor"] + row["overrun"] + row["full"])]
    return (f"The serial line loses characters to overruns, of its settings of bit rate and FIFO depth, under "
            f"{with_overruns(rows)}. Frames are dropped in {len(frames)} of "
            f"{len(rows)} runs and ticks merged in {sum(ever(row['merged']) for row in rows)}.")


def plots(summary):
    rows = [row for row in summary["rows"] if row["kind"] == "loss"]
    return heat_maps(rows, "a disk by programmed I/O and frames") if rows else []
