"""The report of `vm`: page faults beside their floors, copies of maps, shootdowns, and the growth of shadow chains."""

from sim.results.plot import Plot
from sim.results.table import Table, span

RESULTS = ("fault", "trap", "fork", "fork_page", "parallel", "shootdown", "chain")     # of lines @vm_...
KINDS = {"zero": "page of 0", "order": "pages of 0 in order", "copy": "copy on write",
         "shared": "there already", "pager": "from a pager"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]

    def lines(kind):
        return [{"machine": made["harts"], "sync": made["sync"]} | line
                for made in good for line in made["run"]["results"].get(kind, [])]

    return {kind: lines(f"vm_{kind}") for kind in RESULTS}


def in_order(rows, summary):
    order = summary["settings"]["schemes"]
    return sorted(rows, key=lambda row: (order.index(row["sync"]), row["machine"]))


def ratio(a, b):
    return f"{a / b:.2f}" if b else "-"


def tables(summary):
    """The report's tables, in order."""
    made = [
        Table("Page faults: cycles, and times the floor", ["scheme", "harts", "fault", "cycles", "floor", "x"],
              [[row["sync"], row["machine"], KINDS[row["kind"]], row["cycles"], row["floor"],
                ratio(row["cycles"], row["floor"])] for row in in_order(summary["fault"], summary)],
              ["Of one hart. The floor is clearing or copying the page. Neither has the trap; a bare one is "
               f"{summary['trap'][0]['cycles']} cycles." if summary["trap"] else ""]),
        Table("Copying a map: cycles for each resident page more", ["scheme", "harts", "cycles", "floor", "x"],
              [[row["sync"], row["machine"], f"{row['hundredths'] / 100:.1f}", f"{row['floor'] / 100:.1f}",
                ratio(row["hundredths"], row["floor"])] for row in in_order(summary["fork_page"], summary)],
              ["The floor is loading and storing an entry of the page table. No page is copied."]),
        Table("All harts fault, each in a map of its own",
              ["scheme", "harts", "cycles a page", "clearing alone", "reached"],
              [[row["sync"], row["harts"], row["cycles"] // row["pages"], row["floor"] // row["pages"],
                ratio(row["floor"], row["cycles"])] for row in in_order(summary["parallel"], summary)],
              ["Clearing alone: all harts clear pages in a loop at the same time."]),
        Table("Shootdown: cycles to take a right from one page", ["scheme", "state", "harts called", "cycles", "floor"],
              [[row["sync"], row["state"], row["harts"], row["cycles"], row["floor"]]
               for row in in_order(summary["shootdown"], summary) if row["machine"] == most(summary)],
              ["The floor is calling the same harts for nothing."]),
        Table("Shadow chains of a parent that creates children and writes a page between",
              ["scheme", "copies", "collapse", "children", "objects", "parent's chain", "first child's", "last child's",
               "cycles of a fault"],
              [[row["sync"], row["strategy"], "yes" if row["collapse"] else "no", row["children"], row["objects"],
                row["parent"], row["first"], row["last"], row["cycles"]]
               for row in in_order(summary["chain"], summary)],
              ["The fault is a child's read of a page not written since: the last child's where copies are "
               "symmetric, the first one's where they are not, whose chains are the longest."]),
    ]
    return [table for table in made if table.rows]


def most(summary):
    return max(row["machine"] for row in summary["shootdown"])


def plots(summary):
    """The parent's or first child's chain over children, by each strategy, with collapse and without."""
    made = {}
    for row in summary["chain"]:
        if row["sync"] == summary["settings"]["schemes"][0]:
            name = f"{row['strategy']}, {'with' if row['collapse'] else 'without'} collapse"
            made.setdefault(name, []).append((row["children"], max(row["parent"], row["first"], row["last"])))
    if not made or len(next(iter(made.values()))) < 2:
        return []
    return [Plot("chains", "The longest shadow chain", "children", "objects", made)]


def answer(summary):
    """Faults, copies and harts beside their floors; the longest chains with and without collapse."""
    zero = [row["cycles"] / row["floor"] for row in summary["fault"] if row["kind"] == "zero" and row["floor"]]
    pages = [row["hundredths"] / row["floor"] for row in summary["fork_page"] if row["floor"]]
    harts = max((row["harts"] for row in summary["parallel"]), default=0)
    reached = [row["floor"] / row["cycles"] for row in summary["parallel"] if row["harts"] == harts and row["cycles"]]
    said = [text.format(span(values)) for text, values in (
        ("a fault of memory of 0 takes {} times its floor", zero),
        ("a resident page more of a map that is copied {} times", pages),
        (f"{harts} harts that fault reach {{}} of what they clear in a loop", reached)) if values]
    text = f"{', '.join(said)}." if said else ""
    children = max((row["children"] for row in summary["chain"]), default=0)
    chains = [row for row in summary["chain"] if row["children"] == children]
    lengths = [f"{longest(chains, strategy, True)} by {strategy} copies with collapse and "
               f"{longest(chains, strategy, False)} without"
               for strategy in dict.fromkeys(row["strategy"] for row in chains)]
    if lengths:
        text += f" After {children} children the longest chain has, in objects, {', '.join(lengths)}."
    return text[:1].upper() + text[1:]


def longest(rows, strategy, collapse):
    found = [max(row["parent"], row["first"], row["last"]) for row in rows
             if row["strategy"] == strategy and bool(row["collapse"]) == collapse]
    return max(found, default="-")
