"""The report of `table7`: interrupts of disks, beside those of paper `sync`, section 6."""

from math import sqrt

from sim.experiments import paper_sync as paper
from sim.results.table import Table, number

KINDS = ("ide", "scsi", "cdrom", "floppy")
CAUSES = {"seek": "seek has ended", "data": "data", "done": "request has ended"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    rows = [row(made, experiment["clock_hz"]) for made in records if made["failure"] is None]
    return {"rows": sorted(rows, key=lambda each: (KINDS.index(each["kind"]), paper.SCHEMES.index(each["sync"])))}


def row(made, clock_hz):
    """One test: times in seconds and microseconds."""
    clock_hz = made["parameters"].get("clock_hz", clock_hz)
    moved = made["run"]["results"]["disk"][0]
    handled = {line["cause"]: spread(line, clock_hz) for line in made["run"]["results"]["disk_handler"]}
    seconds = moved["cycles"] / clock_hz
    return {"kind": made["kind"], "sync": made["sync"], "bytes": moved["bytes"], "seconds": seconds,
            "interrupts": moved["interrupts"], "spurious": moved["spurious"], "errors": moved["errors"],
            "per_second": moved["interrupts"] / seconds, "handled": handled}


def spread(line, clock_hz):
    """Count, mean, deviation (in per cent of the mean), least, median and greatest, in microseconds."""
    mean = line["total"] / line["count"]
    deviation = sqrt(max(line["squares"] / line["count"] - mean * mean, 0))
    us = 1e6 / clock_hz
    return {"count": line["count"], "mean": mean * us, "deviation": 100 * deviation / mean, "min": line["min"] * us,
            "median": line["p50"] * us, "max": line["max"] * us}


def tables(summary):
    """The report's tables, in order."""
    rows = summary["rows"]
    if not rows:
        return []
    return [main_table(rows), *([split_table(rows)] if any(each["kind"] == "floppy" for each in rows) else [])]


def main_table(rows):
    cells, scales = [], set()
    for kind in KINDS:
        own = [each for each in rows if each["kind"] == kind]
        if not own:
            continue
        theirs = paper.TABLE7[kind]
        cells.append([kind, "paper", theirs["bytes"] >> 10, *map(number, (
            theirs["seconds"], theirs["interrupts"], theirs["per_second"], theirs["mean"], theirs["deviation"],
            theirs["min"], theirs["median"], theirs["max"]))])
        for each in own:
            scales.add((kind, theirs["bytes"] / each["bytes"]))
            whole = each["handled"]["all"]
            cells.append([kind, each["sync"], each["bytes"] >> 10, *map(number, (
                each["seconds"], each["interrupts"], each["per_second"], whole["mean"], whole["deviation"],
                whole["min"], whole["median"], whole["max"]))])
    smaller = ", ".join(f"{kind} {scale:.4g}" for kind, scale in sorted(scales) if scale != 1)
    return Table("Table 7: interrupts of disks, and the time to handle them",
                 ["test", "scheme", "KB", "s", "interrupts", "a second", "mean, us", "deviation, %", "least", "median",
                  "greatest"], cells, [
        "Ours: from the first to the last instruction of the driver's handler, which the target's cycle counter times. "
        "The paper's are of spl-optim.",
        *([f"Smaller than the paper's transfer by a factor of: {smaller}."] if smaller else []),
        "The drives' speed is a profile that was chosen to come to the paper's durations (hw/disk/README.md), and the "
        "data register's time so that 8 KB take its 1.5 ms: what is measured is the handling of all the others, and "
        "how these spread.",
    ], texts=2)


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
