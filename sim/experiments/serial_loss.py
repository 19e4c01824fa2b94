"""The report of `serial-loss`: which scheme loses characters at which bit rate and FIFO depth, beside the arithmetic of
paper `sync`, section 6.4."""

from sim.experiments import paper_sync as paper
from sim.results.plot import HeatMap
from sim.results.statistics import ever, share
from sim.results.table import Table, number

CHARACTER_BITS = 10     # 8N1


def summarise(experiment, records):
    """What every run lost, from the records alone."""
    rows, alone = [], []
    for made in records:
        if made["failure"] is None and made["kind"] == "alone":
            alone.append({"baud": made["parameters"]["baud"], "depth": made["parameters"]["depth"],
                          "overruns": made["run"]["results"]["serial"][0]["overruns"]})
        elif made["failure"] is None:
            line, busy = made["run"]["results"]["serial"][0], made["run"]["results"]["busy"][0]
            rows.append({
                "id": made["id"], "sync": made["sync"], "baud": made["parameters"]["baud"],
                "depth": made["parameters"]["depth"], "sent": made["received"]["sent"],
                "received": made["received"]["received"], "overruns": line["overruns"], "dropped": line["dropped"],
                "handlers": busy["interrupts"], "handlers_lost": busy["lost"],
            })
    settings = experiment["settings"]
    return {"rows": rows, "alone": alone, "handler_us": settings["handler"], "rate": settings["rate"]}


def characters(us, baud):
    """How many characters come in so many microseconds."""
    return us * baud / CHARACTER_BITS / 1e6


def values(rows, name):
    return sorted({row[name] for row in rows})


def schemes_of(rows):
    return [scheme for scheme in paper.SCHEMES if any(row["sync"] == scheme for row in rows)]


def tables(summary):
    """The report's tables, in order."""
    rows = summary["rows"]
    if not rows:
        return []
    return [claim_table(summary), arithmetic_table(summary),
            *(scheme_table(rows, scheme) for scheme in schemes_of(rows))]


def claim_table(summary):
    """How much each scheme lost, and where cli-pessim lost and it did not: but for what the line loses by itself."""
    rows = summary["rows"]
    alone = sorted((row["baud"], row["depth"]) for row in summary["alone"] if ever(row["overruns"]))
    lossy = {(row["baud"], row["depth"]) for row in rows if row["sync"] == "cli-pessim" and ever(row["overruns"])}
    lossy -= set(alone)
    cells = []
    for scheme in schemes_of(rows):
        own = [row for row in rows if row["sync"] == scheme]
        there = [row for row in own if (row["baud"], row["depth"]) in lossy]
        cells.append([scheme, f"{sum(ever(row['overruns']) for row in own)} of {len(own)}",
                      sum(row["overruns"] for row in own), sum(row["dropped"] for row in own),
                      f"{sum(not ever(row['overruns']) for row in there)} of {len(there)}" if lossy else "-"])
    notes = ["A setting is a bit rate and a FIFO depth. Overruns are counted by the port (hw/serial)."]
    if any(ever(row["dropped"]) for row in rows):
        settings = "; ".join(f"{baud:,} bit/s, FIFO of {depth}" for baud, depth in sorted(
            {(row["baud"], row["depth"]) for row in rows if ever(row["dropped"])}))
        notes.append("Dropped were characters that came out of the port in time and found the driver's ring full: "
                     "beside the handler too little of the hart's time was left for the line discipline. That is so "
                     f"with {settings}.")
    if alone:
        settings = "; ".join(f"{baud:,} bit/s, FIFO of {depth}" for baud, depth in alone)
        notes.append("The last column leaves out what loses characters without that device, too, as the way from the "
                     f"wire to the driver takes longer than the characters that the FIFO holds: {settings}.")
    return Table(f"Characters lost beside a handler of {summary['handler_us']} us, {summary['rate']} times a second",
                 ["scheme", "settings with loss", "overruns", "dropped by the driver",
                  "without loss where cli-pessim loses"], cells,
                 notes)


def arithmetic_table(summary):
    """Section 6.4: how many characters come while the handler keeps everything masked, and what holds them."""
    rows = summary["rows"]
    measured = [scheme for scheme in ("cli-pessim", "cli-spl-pessim") if scheme in schemes_of(rows)]
    cells = []
    for baud in values(rows, "baud"):
        come = characters(summary["handler_us"], baud)
        line = [f"{baud:,}", number(1e6 * CHARACTER_BITS / baud), number(come), f"over {come:.0f}"]
        for scheme in measured:
            enough = [row["depth"] for row in rows if (row["sync"], row["baud"]) == (scheme, baud)
                      and not ever(row["overruns"])]
            most = max(row["depth"] for row in rows if row["sync"] == scheme)
            line.append(min(enough) if enough else f"over {most}")
        cells.append(line)
    theirs = characters(2000, 115_200)
    return Table("The arithmetic of section 6.4", [
        "bit/s", "us each", "in a handler", "FIFO needed", *(f"enough, {scheme}" for scheme in measured)], cells, [
        "us each: a character's time; in a handler: characters that come while it works; enough: the least depth, of "
        "those measured, with which nothing was lost.",
        "The paper reckons with 70 us a character at 115.2 kbit/s, so 28 characters in its longest handler of 2 ms, "
        "and a buffer of 16. With a start and a stop bit a character takes 86.8 us: "
        f"{theirs:.0f} characters, which is still more than 16.",
        "A FIFO that interrupts when it is half full may be nearly half full when the handler begins: then up to twice "
        "the depth is needed."])


def scheme_table(rows, scheme, lost=("overruns",)):
    """Characters lost of those sent, by rate and depth; `lost` names what counts them."""
    found = {(row["baud"], row["depth"]): row for row in rows if row["sync"] == scheme}
    depths = values(rows, "depth")
    columns = ["bit/s", *(f"FIFO of {depth}" for depth in depths)]

    def cell(row):
        return f"{sum(row[name] for name in lost)} of {row['sent']}" if row else "-"

    return Table(f"Characters lost with {scheme}, of those sent", columns, [
        [f"{baud:,}", *(cell(found.get((baud, depth))) for depth in depths)] for baud in values(rows, "baud")],
        main=False)


def with_overruns(rows):
    """In how many of each scheme's settings characters are lost to overruns, in words."""
    return ", ".join(f"{scheme} in {sum(ever(row['overruns']) for row in own)} of {len(own)}"
                     for scheme in schemes_of(rows) for own in [[row for row in rows if row["sync"] == scheme]])


def answer(summary):
    """The settings in which each scheme loses characters, and the lowest rate at which one does."""
    rows = summary["rows"]
    if not rows:
        return ""
    text = (f"Beside a handler of {summary['handler_us']} us characters are lost to overruns, of the settings of bit "
            f"rate and FIFO depth, under {with_overruns(rows)}.")
    lossy = [row for row in rows if ever(row["overruns"])]
    first = min(lossy, key=lambda row: (row["baud"], -row["depth"]), default=None)
    if first:
        text += (f" The lowest rate that loses any is {first['baud']:,} bit/s with a FIFO of {first['depth']} "
                 f"characters, where {characters(summary['handler_us'], first['baud']):.0f} come in a handler.")
    return text


def plots(summary):
    return heat_maps(summary["rows"], f"a handler of {summary['handler_us']} us") if summary["rows"] else []


def heat_maps(rows, beside):
    """A heat map for each scheme: per cent of the characters that overruns cost."""
    panels = {scheme: [(row["baud"], row["depth"], round(share(row["overruns"], row["sent"]), 2)) for row in rows
                       if row["sync"] == scheme] for scheme in schemes_of(rows)}
    return [HeatMap("overruns", f"Characters lost to overruns beside {beside}",
                    "bit rate, bit/s", "FIFO depth, characters", "lost, %", panels)]
