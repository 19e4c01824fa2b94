"""The report of `table7`: interrupts of disks, serial lines and Ethernet, beside those of paper `sync`, section 6."""

from math import sqrt

from sim.experiments import paper_sync as paper
from sim.results.table import Table, number, span

DISKS = ("ide", "scsi", "cdrom", "floppy")
CAUSES = {"seek": "seek has ended", "data": "data", "done": "request has ended"}
MESSAGE = {"ether-small": 64, "ether-large": 1024}      # bytes of an echo request
FIGURES = ("seconds", "interrupts", "per_second", "mean", "deviation", "min", "median", "max")


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    rows = [row(made, experiment["clock_hz"]) for made in good if made["kind"] != "ether-size"]
    sizes = [size_row(made, experiment["clock_hz"]) for made in good if made["kind"] == "ether-size"]
    return {"rows": sorted(rows, key=lambda each: (place_of(each["kind"]), paper.SCHEMES.index(each["sync"]))),
            "sizes": sorted(sizes, key=lambda each: (each["frame"], each["protocol"]))}


def place_of(test):
    """Where a test stands in the paper's table; lines of other rates behind its own."""
    known = list(paper.TABLE7)
    if test in known:
        return known.index(test), 0
    return known.index("serial-115200") + 0.5, int(test.rpartition("-")[2])


def row(made, clock_hz):
    """One test: times in seconds and microseconds."""
    clock_hz, results = made["parameters"].get("clock_hz", clock_hz), made["run"]["results"]
    more = {}
    if made["kind"] in DISKS:
        test, moved = made["kind"], results["disk"][0]
        handled = {line["cause"]: spread(line, clock_hz) for line in results["disk_handler"]}
        more = {name: moved[name] for name in ("spurious", "errors")}
        size, interrupts = moved["bytes"], moved["interrupts"]
    else:
        handled = {"all": spread(results["handler"][0], clock_hz)}
        interrupts = handled["all"]["count"]
        if made["kind"] in MESSAGE:
            test, moved = made["kind"], results["test"][0]
            size = moved["echoes"] * MESSAGE[test]
        else:
            test, moved = f"serial-{made['parameters']['baud']}", results["serial"][0]
            size = moved["bytes"]
    seconds = moved["cycles"] / clock_hz
    return {"kind": test, "sync": made["sync"], "bytes": size, "seconds": seconds, "interrupts": interrupts,
            "per_second": interrupts / seconds, "handled": handled} | more


def size_row(made, clock_hz):
    parameters = made["parameters"]
    return {"frame": parameters["frame"], "protocol": parameters["protocol"]} | spread(
        made["run"]["results"]["handler"][0], parameters.get("clock_hz", clock_hz))


def spread(line, clock_hz):
    """Count, mean, deviation (in per cent of the mean), least, median and greatest, in microseconds."""
    mean = line["total"] / line["count"]
    deviation = sqrt(max(line["squares"] / line["count"] - mean * mean, 0))
    us = 1e6 / clock_hz
    return {"count": line["count"], "mean": mean * us, "deviation": 100 * deviation / mean, "min": line["min"] * us,
            "median": line["p50"] * us, "max": line["max"] * us}


def tables(summary):
    """The report's tables, in order."""
    rows, sizes = summary["rows"], summary.get("sizes", [])
    return [*([main_table(rows)] if rows else []),
            *([split_table(rows)] if any(each["kind"] == "floppy" for each in rows) else []),
            *([size_table(sizes)] if sizes else [])]


def answer(summary):
    """Interrupts and handling times of each device, over the schemes."""
    parts = []
    for test in dict.fromkeys(row["kind"] for row in summary["rows"]):
        own = [row | row["handled"]["all"] for row in summary["rows"]
               if row["kind"] == test and "all" in row["handled"]]
        if own:
            parts.append(f"{test}, {span([row['per_second'] for row in own])} a second, "
                         f"{span([row['mean'] for row in own])} us each")
    return f"Over the schemes, interrupts and the mean time to handle one: {'; '.join(parts)}." if parts else ""


def line(test, device, figures):
    """A row of the main table."""
    return [test, device, number(figures["bytes"] / 1024), *(number(figures[name]) for name in FIGURES)]


def main_table(rows):
    cells, scales = [], {}
    for test in dict.fromkeys(each["kind"] for each in rows):
        theirs = paper.TABLE7.get(test)
        if theirs:
            cells.append(line(test, "paper", theirs))
        for each in (each for each in rows if each["kind"] == test):
            if theirs and theirs["bytes"] != each["bytes"]:
                scales[test] = theirs["bytes"] / each["bytes"]
            cells.append(line(test, each["sync"], each | each["handled"]["all"]))
    smaller = ", ".join(f"{test} {scale:.4g}" for test, scale in scales.items())
    ether = any(each["kind"] in MESSAGE for each in rows)
    return Table("Table 7: interrupts of devices, and the time to handle them",
                 ["test", "scheme", "KB", "s", "interrupts", "a second", "mean, us", "deviation, %", "least", "median",
                  "greatest"], cells, [
        "Ours: from the first to the last instruction of the driver's handler, which the target's cycle counter times. "
        "The paper's are of spl-optim.",
        *([f"Smaller than the paper's transfer by a factor of: {smaller}."] if smaller else []),
        "The drives' speed is a profile that was chosen to come to the paper's durations (hw/disk/README.md), and the "
        "data register's time so that 8 KB take its 1.5 ms: what is measured is the handling of all the others, and "
        "how these spread. A serial line's duration is its bit rate's.",
        *(["Echo requests come from a file, at the pace of the paper's ping, over 10 Mbit/s: how long the test takes "
           "is given, not measured. Our core moves frames by DMA, so that a handler's time does not grow with the "
           "frame; the paper's board had the processor copy them. An answer that was sent needs no interrupt."]
          if ether else []),
    ], texts=2)


def size_table(sizes):
    """A frame's length and protocol against the time to handle its interrupt (section 6.3)."""
    protocols = list(dict.fromkeys(each["protocol"] for each in sizes))
    cells = []
    for frame in dict.fromkeys(each["frame"] for each in sizes):
        own = {each["protocol"]: each for each in sizes if each["frame"] == frame}
        cells.append([frame + 4, *(number(own[name][what]) if name in own else "-" for name in protocols
                                   for what in ("mean", "min", "max"))])
    return Table("Time to handle an Ethernet interrupt over the frame's length, spl-optim, microseconds",
                 ["bytes with FCS", *(f"{name}, {what}" for name in protocols
                                      for what in ("mean", "least", "greatest"))],
                 cells, ["The paper found no difference between protocols, as what differs is done behind the handler, "
                         "and a time that grows with the packet."],
                 main=False)


def split_table(rows):
    cells = [[each["sync"], CAUSES[cause], each["handled"][cause]["count"], *map(number, (
        each["handled"][cause]["mean"], each["handled"][cause]["deviation"], each["handled"][cause]["min"],
        each["handled"][cause]["max"])), paper.FLOPPY_US[cause]]
        for each in rows if each["kind"] == "floppy" for cause in CAUSES if cause in each["handled"]]
    return Table("Interrupts of the floppy, by what they are for (section 6.1)",
                 ["scheme", "for", "interrupts", "mean, us", "deviation, %", "least", "greatest", "paper, us"], cells,
                 ["An interrupt for the last data of a request and for its end counts as one for data. Ours hands over "
                  "4 KB, so that there are about as many as the paper counted: at a bus access for two bytes that "
                  "takes longer."], texts=2)
