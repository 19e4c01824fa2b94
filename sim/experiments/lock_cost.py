"""The report of `lock-cost`: what locks of each kind cost, and what LOCK_DEBUG and LOCK_STATS cost on top."""

from sim.results.plot import Plot
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


def plots(summary):
    """Time per passage over harts, a line for each kind of lock and image."""
    rows = summary["contended"]
    harts = sorted(present(rows, "harts"))
    if len(harts) < 2:
        return []
    lines = {f"{kind}, {image}": [(count, cell(rows, image, count, kind)) for count in harts
                                  if cell(rows, image, count, kind) is not None]
             for kind in present(rows, "kind") for image in images(rows)}
    return [Plot("passage", "Time per passage through a contended lock", "harts",
                 "cycles per passage, all harts together", lines, log_y=True)]
