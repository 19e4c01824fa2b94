"""The report of `handlers`: what drivers' handlers take beside the accesses that they cannot do without."""

from sim.experiments import paper_sync as paper
from sim.results.plot import Intervals
from sim.results.statistics import bounds, least, most
from sim.results.table import Table, number

DEVICES = {"dma": "disk, DMA: a request of a sector", "pio": "disk, programmed I/O: 8 KB",
           "ether": "Ethernet: a frame of 64 bytes"}
# The same devices otherwise: label, whose floor, and whether the figures are for each request or frame of several.
BESIDE = {"dma-8": ("disk, DMA: each of 8 requests under way", "dma", True),
          "dma-thread": ("disk, DMA: the handler wakes biodone_thread", "dma", False),
          "dma-event": ("disk, DMA: the handler posts an event", "dma", False),
          "ether-8": ("Ethernet: each of 8 frames at once", "ether-8", True),
          "ether-threads": ("Ethernet: the handler wakes netisr_thread", "ether", False)}
LABELS = DEVICES | {kind: label for kind, (label, *_) in BESIDE.items()}


def summarise(experiment, records):
    """All figures of the report, from the records alone, in cycles."""
    good = [made for made in records if made["failure"] is None]
    floors = {}
    for made in good:
        for line in made["run"]["results"].get("handler_floor", []):
            name = line["device"] + (f"-{line['burst']}" if line["burst"] > 1 else "")
            floors[name] = line["p50"] / line["burst"]
    rows = [{"device": made["kind"], "sync": made["sync"], **handler(made)} for made in good if made["kind"] in LABELS]
    for row in rows:
        row |= beside_floor(row, floors)
    order = list(LABELS)
    return {"floors": floors,
            "rows": sorted(rows, key=lambda row: (order.index(row["device"]), paper.SCHEMES.index(row["sync"])))}


def handler(made):
    results = made["run"]["results"]
    if made["kind"] == "pio":
        line = next(line for line in results["disk_handler"] if line["cause"] == "data")
    else:
        line = results["handler"][0]
    row = {name: line[name] for name in ("count", "min", "p50", "max")}
    if BESIDE.get(made["kind"], (0, 0, False))[2]:
        disk = results.get("disk", [None])[0]
        row["things"] = disk["bytes"] // disk["request"] if disk else results["test"][0]["frames"]
        row["each"] = line["total"] / row["things"]
    return row


def beside_floor(row, floors):
    """What a handler cannot do without, what it takes, and how many times that is; nothing where no floor is known."""
    floor = floors.get(BESIDE.get(row["device"], (0, row["device"], False))[1])
    if not floor:
        return {}
    if row["device"] == "dma-8":        # what an interrupt reads and writes is for all requests that it finds
        floor *= row["count"] / row["things"]
    each = row.get("each", row["p50"])
    return {"floor": floor, "takes": each, "ratio": each / floor}


def measured(summary):
    """The rows that have a floor."""
    return [row for row in summary["rows"] if "ratio" in row]


def tables(summary):
    """The report's tables."""
    cells, beside = [], []
    for row in measured(summary):
        ends = ("-", "-") if "each" in row else (least(row["min"]), most(row["max"]))
        figures = [round(row["floor"]), ends[0], round(row["takes"]), ends[1], f"{row['ratio']:.2f}"]
        (cells if row["device"] in DEVICES else beside).append([LABELS[row["device"]], row["sync"], *figures])
    head = ["interrupt", "scheme", "floor", "least", "median", "greatest", "x floor"]
    shown = []
    if cells:
        shown.append(Table("Handlers of devices beside their registers and rings", head, cells, [
            "Cycles. The floor is the median of the accesses to registers and to rings in memory that a handler "
            "needs, in a row and by themselves (run=handler-floor); it is timed from the first instruction to the "
            "last. A soft interrupt wakes the waiting thread."], texts=2))
    if beside:
        shown.append(Table("Bursts, and other ways to wake the waiting thread", head, beside, [
            "With several at once: all interrupts' cycles over the requests or frames that they were for; floors "
            "likewise. A handler that wakes a thread or posts an event does so itself."], texts=2))
    return shown


def plots(summary):
    """How many floors each handler takes."""
    points = [(f"{LABELS[row['device']]}, {row['sync']}", low, float(row["ratio"]), high)
              for row in measured(summary) for low, high in [map(float, bounds(row["ratio"]))]]
    return [Intervals("floors", "Handlers beside their floor, median and 95 % interval over layouts", "times the floor",
                      points, 1)] if points else []


def answer(summary):
    """The devices' handlers, and the dearest other way to wake the waiting thread."""
    rows = [(row, row["ratio"]) for row in measured(summary)]
    devices = [(row, ratio) for row, ratio in rows if row["device"] in DEVICES]
    others = [(row, ratio) for row, ratio in rows if row["device"] not in DEVICES]
    if not devices:
        return ""
    parts = []
    for device, label in DEVICES.items():
        ratios = sorted((ratio for row, ratio in devices if row["device"] == device), key=float)
        if ratios:
            ends = list(dict.fromkeys([number(ratios[0]), number(ratios[-1])]))
            parts.append(f"{label}, {' to '.join(ends)} floors")
    text = f"Over the schemes, the medians of their handlers are: {'; '.join(parts)}."
    if others:
        row, ratio = max(others, key=lambda each: float(each[1]))
        text += f" The dearest other way is \"{LABELS[row['device']]}\" under {row['sync']}, {number(ratio)} floors."
    return text
