"""The report of `lock-cost`: what locks of each kind cost, and what LOCK_DEBUG and LOCK_STATS cost on top."""

from sim.results.plot import Intervals, Plot
from sim.results.statistics import bounds
from sim.results.table import Table, number

IMAGES = {(0, 0): "plain", (1, 0): "debug", (0, 1): "statistics", (1, 1): "both"}     # by debug, stats


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "uncontended": [figures(line, harts=made["harts"])
                        for made in good for line in made["run"]["results"]["lock_cost"]],
        "contended": [figures(line, harts=line["harts"])
                      for made in good for line in made["run"]["results"]["lock_contended"]],
    }


def figures(line, harts):
    return {"image": IMAGES[line["debug"], line["stats"]], "harts": harts, "kind": line["kind"],
            "cycles": line["cycles"]}


def cell(rows, image, harts, kind):
    """Cycles of one lock in one image; None where there is no such run."""
    for row in rows:
        if (row["image"], row["harts"], row["kind"]) == (image, harts, kind):
            return row["cycles"]
    return None


def present(rows, name):
    """The values of a column, in the order in which they first come."""
    return list(dict.fromkeys(row[name] for row in rows))


def images(rows):
    return [image for image in IMAGES.values() if image in present(rows, "image")]


def tables(summary):
    """The report's tables, in order."""
    made = []
    rows = summary["uncontended"]
    if rows:
        harts = min(present(rows, "harts"))
        made.append(Table("Uncontended: cycles to acquire and release, times the plain image's",
                          ["lock", *headings(rows)], [[kind, *costs(rows, harts, kind)]
                                                      for kind in present(rows, "kind")],
                          ["convert: read, upgrade to write, downgrade, release. nested: a mutex inside another; both "
                           "pairs are in the figure. simple: with the section that it needs."]))
    rows = summary["contended"]
    if rows:
        settings = summary["settings"]
        made.append(Table(f"Contended: cycles per passage of all harts together, held for {settings['section']}, away "
                          f"for {settings['pause']}", ["lock, harts", *headings(rows)],
                          [[f"{kind}, {harts}", *costs(rows, harts, kind)] for kind in present(rows, "kind")
                           for harts in sorted(present(rows, "harts"))]))
    return made


def headings(rows):
    return [heading for image in images(rows) for heading in ([image] if image == "plain" else [image, "x"])]


def costs(rows, harts, kind):
    """The cells of a table's row: cycles in each image, and how many times those of the plain one."""
    cells = []
    plain = cell(rows, "plain", harts, kind)
    for image in images(rows):
        cycles = cell(rows, image, harts, kind)
        cells.append(number(cycles))
        if image != "plain":
            cells.append(f"{cycles / plain:.1f}" if plain and cycles is not None else "-")
    return cells


def ratios(summary):
    """(kind, image, times the plain image's) of uncontended locks, on the least number of harts."""
    rows = summary["uncontended"]
    if not rows:
        return []
    harts = min(present(rows, "harts"))
    return [(kind, image, cell(rows, image, harts, kind) / cell(rows, "plain", harts, kind))
            for kind in present(rows, "kind") for image in images(rows) if image != "plain"
            and cell(rows, image, harts, kind) and cell(rows, "plain", harts, kind)]


def answer(summary):
    """The least and the greatest cost of a plain lock, and what checking and counting make of it."""
    rows = summary["uncontended"]
    if not rows:
        return ""
    harts = min(present(rows, "harts"))
    plain = sorted(((cell(rows, "plain", harts, kind), kind) for kind in present(rows, "kind")
                    if cell(rows, "plain", harts, kind)), key=lambda each: float(each[0]))
    if not plain:
        return ""
    text = (f"Uncontended, a pair takes from {number(plain[0][0])} cycles ({plain[0][1]}) to {number(plain[-1][0])} "
            f"({plain[-1][1]}).")
    parts = []
    for image in images(rows):
        found = sorted((ratio for _, of, ratio in ratios(summary) if of == image), key=float)
        if found:
            parts.append(f"with {image} {number(found[0])} to {number(found[-1])} times as long")
    return text + (f" It takes {', '.join(parts)}." if parts else "")


def plots(summary):
    """What checking and counting cost; time per passage over harts, a line for each kind of lock and image."""
    points = [(f"{kind}, {image}", float(bounds(ratio)[0]), float(ratio), float(bounds(ratio)[1]))
              for kind, image, ratio in ratios(summary)]
    made = [Intervals("checked", "Uncontended locks, median and 95 % interval over layouts", "times the plain image's",
                      points, 1)] if points else []
    rows = summary["contended"]
    harts = sorted(present(rows, "harts"))
    if len(harts) < 2:
        return made
    lines = {f"{kind}, {image}": [(count, cell(rows, image, count, kind)) for count in harts
                                  if cell(rows, image, count, kind) is not None]
             for kind in present(rows, "kind") for image in images(rows)}
    return [*made, Plot("passage", "Time per passage through a contended lock", "harts",
                 "cycles per passage, all harts together", lines, log_y=True)]
