"""The report of `handlers`: what drivers' handlers take beside the accesses that they cannot do without."""

from sim.experiments import paper_sync as paper
from sim.results.table import Table

DEVICES = {"dma": "disk, DMA: a request of a sector", "pio": "disk, programmed I/O: 8 KB",
           "ether": "Ethernet: a frame of 64 bytes"}
CAUSE = {"dma": "done", "pio": "data"}      # of the disk's interrupts, that which the floor is of


def summarise(experiment, records):
    """All figures of the report, from the records alone, in cycles."""
    good = [made for made in records if made["failure"] is None]
    floors = {line["device"]: line for made in good for line in made["run"]["results"].get("handler_floor", [])}
    rows = [{"device": made["kind"], "sync": made["sync"], **handler(made)} for made in good if made["kind"] in DEVICES]
    order = list(DEVICES)
    return {"floors": floors,
            "rows": sorted(rows, key=lambda row: (order.index(row["device"]), paper.SCHEMES.index(row["sync"])))}


def handler(made):
    results = made["run"]["results"]
    if made["kind"] in ("dma", "ether"):
        line = results["handler"][0]
    else:
        line = next(line for line in results["disk_handler"] if line["cause"] == CAUSE[made["kind"]])
    return {name: line[name] for name in ("count", "min", "p50", "max")}


def tables(summary):
    """The report's table."""
    cells = []
    for row in summary["rows"]:
        floor = summary["floors"].get(row["device"])
        if floor:
            cells.append([DEVICES[row["device"]], row["sync"], floor["p50"], row["min"], row["p50"], row["max"],
                          f"{row['p50'] / floor['p50']:.2f}"])
    if not cells:
        return []
    return [Table("Handlers of devices beside their registers and rings",
                  ["interrupt", "scheme", "floor", "least", "median", "greatest", "x floor"], cells, [
        "Cycles. The floor is the median of the accesses to registers and to rings in memory that the handler needs, "
        "in a row and by themselves (run=handler-floor); the handler is timed from the driver's first instruction to "
        "its last. What it does beside them: takes the lock, finds out whose request or frame it is, hands it on to "
        "who waits (a soft interrupt here), and gives a fresh buffer to the ring."], texts=2)]
