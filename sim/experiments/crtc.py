"""The report of `crtc` and `crtc-nodes`: what creating tasks on other nodes costs, over objects and over nodes.

Figures 8, 9 and 10 of paper `crtc`, by the original way and each of its steps, pages that come over the wire, and
copies of memory that other nodes have.
"""

import math
from statistics import fmean

from sim.results import claims, sampling
from sim.results.comparison import Comparison
from sim.results.plot import Plot
from sim.results.record import nodes_of, results_of
from sim.results.table import Table, number

STEPS = {0: "original", 1: "eager state", 3: "and eager chains", 7: "and no synchronisation"}
ORIGINAL, IMPROVED = 0, 7
COPIES = {0: "no asymmetric copy", 1: "a copy by reference", 2: "a distributed copy"}
KINDS = {"read": "other nodes read", "written": "other nodes write", "distributed": "put between the objects of all"}
STATE_PERCENT, SHADOW_PERCENT = 30, 14      # section 6: what eager state saves, what one shadow more does
SHADOW_DEPTH = 2        # with so many ancestors a region has one object more than the original's vector
HEADERS = 24            # bytes of Ethernet that are on the wire: preamble, addresses, type, check, gap
FRAME = 24              # of a frame of ours, before what it carries (kernel/ipc/transport.h)
HEAD = 48               # of a request for a page, or of the head of its answer
PIECE, PAGE = 1408, 4096
MBITS = 100
GROWTH = (7, 59)        # tasks: of 8 nodes and of 60
LOCAL_FAULT = 8283      # cycles of a fault whose page a pager of the same node gives (docs/results-vm.md)


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "ones": [one for made in good if made["kind"] == "one" for one in [single(made)]],
        "turns": [row for made in good if made["kind"] == "turns" for row in in_turn(made)],
        "many": [at(made) | {"tree": made["parameters"]["tree"], "tasks": line["nodes"], "objects": line["objects"],
                             "send": line["send"], "create": line["create"]}
                 for made in good if made["kind"] == "many" for line in results_of(made["run"], "spread")],
        "copies": [at(made) | {"copied": made["parameters"]["copied"],
                               "fault": round(fmean(line["fault"] for line in results_of(made["run"], "remote")))}
                   for made in good if made["kind"] == "copies"],
        "inserted": [at(made) | {name: line[name] for name in ("nodes", *KINDS)}
                     for made in good if made["kind"] == "copied" for line in results_of(made["run"], "remote_copy")],
        "faults": [fault for made in good for fault in [faults(made)] if fault],
        "wire": round(wire_cycles(experiment["clock_hz"], experiment["settings"]["nodes_latency"])),
    }


def at(made):
    return {"transport": made["parameters"]["transport"]}


def single(made):
    """Creating one task: the mean of the run."""
    lines = results_of(made["run"], "remote")
    return at(made) | {"step": made["parameters"]["step"], "depth": made["parameters"]["depth"],
                       "objects": lines[0]["objects"],
                       **{name: round(fmean(line[name] for line in lines))
                          for name in ("create", "allocate", "vector")}}


def in_turn(made):
    """The first 1, 3, 7 and so on of the tasks that a run creates one after the other, and all."""
    took = [line["create"] for line in results_of(made["run"], "remote")]
    counts = [2 ** n - 1 for n in range(1, 11) if 2 ** n - 1 < len(took)] + [len(took)]
    return [at(made) | {"tasks": count, "create": sum(took[:count])} for count in counts]


def faults(made):
    """Pages that came over the wire in a run, or None."""
    rows = [line for node in nodes_of(made["run"]) for line in node["results"].get("xmm", ()) if line["supplied"]]
    if not rows:
        return None
    name = {"one": lambda p: f"one, {STEPS.get(p['step'], p['step'])}, {p['depth']} ancestors",
            "turns": lambda p: "in turn, original",
            "copies": lambda p: f"one, {COPIES[p['copied']]}",
            "copied": lambda p: "copies of shared memory",
            "many": lambda p: tree_name(p["tree"])}[made["kind"]](made["parameters"])
    supplied = sum(row["supplied"] for row in rows)
    return at(made) | {"kind": made["kind"], "name": name, "pages": supplied,
                       "mean": round(sum(row["mean"] * row["supplied"] for row in rows) / supplied),
                       "least": min(row["least"] for row in rows), "most": max(row["most"] for row in rows)}


def wire_cycles(clock_hz, latency):
    """A request's way and its answer's, head and page: bytes on the line, and twice the wire's latency."""
    frames = [HEAD, HEAD, *(min(PIECE, PAGE - begin) for begin in range(0, PAGE, PIECE))]
    return sum(size + FRAME + HEADERS for size in frames) * 8 / (MBITS * 1e6) * clock_hz + 2 * latency


def tree_name(tree):
    return f"at once, tree of {tree}" if tree else "at once, flat"


def tables(summary):
    """The report's tables, in order."""
    made = [objects_table(summary), steps_table(summary), nodes_table(summary), growth_table(summary),
            copies_table(summary), inserted_table(summary), faults_table(summary), claims_table(summary)]
    return [table for table in made if table and table.rows]


def chosen(summary, **what):
    return [row for row in summary["ones"] if all(row[name] == value for name, value in what.items())]


def values(rows, name):
    return list(dict.fromkeys(row[name] for row in rows))


def objects_table(summary):
    """Figure 8, as a table: a column for each way."""
    rows = []
    for transport in values(summary["ones"], "transport"):
        for depth in values(summary["ones"], "depth"):
            own = {row["step"]: row for row in chosen(summary, transport=transport, depth=depth)}
            steps = [step for step in STEPS if step in own]
            rows.append([transport, str(own[steps[0]]["objects"]), *(number(own[step]["create"]) for step in steps),
                         f"{100 * (1 - own[steps[-1]]['create'] / own[steps[0]]['create']):.0f}"])
    steps = [step for step in STEPS if step in values(summary["ones"], "step")]
    return Table("Creating one task on another node: cycles over memory objects (Figure 8)",
                 ["transport", "objects", *(STEPS[step] for step in steps), "saved in all, %"], rows,
                 ["Until the empty task and its memory are there. No page of it has been sent by then."], texts=1)


def saved(summary, transport, depth, before, after):
    """How much of the time a step saves, in percent; None if it was not measured."""
    one = chosen(summary, transport=transport, depth=depth, step=before)
    other = chosen(summary, transport=transport, depth=depth, step=after)
    return 100 * (1 - other[0]["create"] / one[0]["create"]) if one and other else None


def steps_table(summary):
    rows = []
    for transport in values(summary["ones"], "transport"):
        for depth in values(summary["ones"], "depth"):
            figures = [saved(summary, transport, depth, *pair) for pair in ((0, 1), (1, 3), (3, 7))]
            if None not in figures:
                rows.append([transport, str(depth), *(f"{figure:.1f}" for figure in figures)])
    return Table("What each step saves of the time before it, %",
                 ["transport", "ancestors", "eager state", "eager chains", "no synchronisation"], rows,
                 ["The original's vector has one shadow of each region's object: with 2 ancestors the regions have one "
                  "object more."])


def series(summary):
    """name -> [(tasks, cycles)], of each transport."""
    lines = {}
    for row in summary["turns"]:
        name = f"{row['transport']}, in turn, original"
        lines.setdefault(name, []).append((row["tasks"], row["create"]))
    for row in summary["many"]:
        lines.setdefault(f"{row['transport']}, {tree_name(row['tree'])}", []).append((row["tasks"], row["create"]))
    return {name: sorted(points) for name, points in lines.items()}


def nodes_table(summary):
    lines = series(summary)
    counts = sorted({tasks for points in lines.values() for tasks, _ in points})
    rows = [[name, *(number(dict(points)[count] / 1e6) if count in dict(points) else "-" for count in counts)]
            for name, points in lines.items()]
    return Table("Creating tasks on other nodes: million cycles over their number (Figure 9)",
                 ["", *(str(count) for count in counts)], rows)


def growth_table(summary):
    """How time grows from one number of tasks to another, beside what is proportional and what is logarithmic."""
    few, many = GROWTH
    rows = [[name, number(dict(points)[many] / dict(points)[few])] for name, points in series(summary).items()
            if {few, many} <= dict(points).keys()]
    if rows:
        rows += [["proportional", number(many / few)],
                 ["logarithmic", number(math.log2(many + 1) / math.log2(few + 1))]]
    return Table(f"Time for {many} tasks over that for {few}", ["", "times"], rows)


def faults_table(summary):
    rows = [[row["transport"], row["name"], str(row["pages"]), number(row["least"]), number(row["mean"]),
             number(row["most"])] for row in summary["faults"]]
    floor = summary["wire"] + 2 * LOCAL_FAULT
    return Table("A page that is faulted over the wire: cycles", ["transport", "run", "pages", "least", "mean", "most"],
                 rows, [f"From the request until the page is there. The two ways over the wire are {summary['wire']} "
                        f"cycles; with a fault of {LOCAL_FAULT} on each side, whose page a pager of that node gives, "
                        f"{floor}."], texts=2)


def copies_of(summary, transport):
    """Cycles of a page fault over the wire, by what kind of copy is in the chain."""
    return {row["copied"]: row["fault"] for row in summary["copies"] if row["transport"] == transport}


def copies_table(summary):
    """Figure 10, as a table."""
    rows = []
    for transport in values(summary["copies"], "transport"):
        faults = copies_of(summary, transport)
        rows.append([transport, *(number(faults[kind]) if kind in faults else "-" for kind in COPIES),
                     *(number(faults[2] / faults[kind]) if {2, kind} <= faults.keys() else "-" for kind in (0, 1))])
    return Table("A remote fault with an asymmetric copy in the chain: cycles (Figure 10)",
                 ["transport", *COPIES.values(), "distributed over none", "over by reference"], rows,
                 ["The mean of a child's first accesses: to all its pages, or, with a copy, to those that the parent "
                  "has not written since, which are the source's. By reference the managing node looks through "
                  "copy and source; distributed, both are asked, and the copy is asked again whether the page has "
                  "been pushed into it meanwhile. The paper says that this almost doubles a fault."])


def inserted_table(summary):
    """What the copy itself costs, over the number of nodes that have its source."""
    rows = [[row["transport"], str(row["nodes"]), *(number(row[kind]) for kind in KINDS),
             number(row["distributed"] / row["nodes"])] for row in summary["inserted"]]
    return Table("An asymmetric copy of memory that tasks of other nodes have: cycles (section 6)",
                 ["transport", "other nodes", *KINDS.values(), "of that for each node"], rows,
                 ["The managing node copies a page for each node and one more. If other nodes only read, it asks none "
                  "of them, as section 5 proposes; a page that another node may write is returned first. The original "
                  "puts the copy between the source and its shadows on every node that has the source, while no node "
                  "may write; the paper says that this takes a second on 64 nodes."])


def claims_table(summary):
    tried = []
    for row in [row for row in summary["inserted"] if row["nodes"] == max(values(summary["inserted"], "nodes"))]:
        tried.append(claims.less(f"a copy on one node is cheaper than one over {row['nodes']} more, "
                                 f"{row['transport']}", "cycles, written elsewhere (a), distributed (b)",
                                 row["written"], row["distributed"]))
    for transport in values(summary["copies"], "transport"):
        faults = copies_of(summary, transport)
        if {1, 2} <= faults.keys():
            tried.append(claims.less(f"a fault is dearer with a distributed copy, {transport}",
                                     "cycles, by reference (a), distributed (b)", faults[1], faults[2]))
    for transport in values(summary["ones"], "transport"):
        for name, before, after in (("eager state", 0, 1), ("eager chains", 1, 3), ("no synchronisation", 3, 7)):
            one = chosen(summary, transport=transport, depth=SHADOW_DEPTH, step=before)
            other = chosen(summary, transport=transport, depth=SHADOW_DEPTH, step=after)
            if one and other:
                tried.append(claims.less(f"{name}: a task is created sooner, {transport}",
                                         f"cycles with {SHADOW_DEPTH} ancestors, with it (a), without it (b)",
                                         other[0]["create"], one[0]["create"]))
    lines = series(summary)
    for transport in values(summary["many"], "transport"):
        flat, tree = (dict(lines.get(f"{transport}, {tree_name(n)}", ())) for n in (0, 2))
        if flat and tree:
            most = max(tree)
            tried.append(claims.less(f"a tree creates {most} tasks sooner than one node, {transport}",
                                     "cycles, tree of 2 (a), flat (b)", tree[most], flat[most]))
    return claims.table("What paper crtc claims", tried, sampling.count(summary)) if tried else None


def comparisons(summary):
    rows = []
    for transport in values(summary["ones"], "transport"):
        state, shadow = saved(summary, transport, 0, 0, 1), saved(summary, transport, SHADOW_DEPTH, 1, 3)
        if state is not None:
            rows.append((f"eager state, {transport}", STATE_PERCENT, state, []))
        if shadow is not None:
            rows.append((f"one shadow more of each region, {transport}", SHADOW_PERCENT, shadow, []))
    return [Comparison("Section 6: time that a step saves", "%", rows, source="crtc")] if rows else []


def plots(summary):
    made = []
    for transport in values(summary["ones"], "transport"):
        lines = {}
        for row in chosen(summary, transport=transport):
            lines.setdefault(STEPS.get(row["step"], str(row["step"])), []).append((row["objects"], row["create"]))
        if all(len(points) > 1 for points in lines.values()):
            made.append(Plot(f"objects-{transport}", f"Creating one task on another node, {transport}",
                             "memory objects", "cycles", {name: sorted(points) for name, points in lines.items()}))
    lines = series(summary)
    if any(len(points) > 1 for points in lines.values()):
        made.append(Plot("nodes", "Creating tasks on other nodes", "tasks", "cycles", lines))
    return made


def answer(summary):
    said = []
    for transport in values(summary["ones"], "transport"):
        deepest = max(values(summary["ones"], "depth"))
        one, other = (chosen(summary, transport=transport, depth=deepest, step=step) for step in (ORIGINAL, IMPROVED))
        if one and other:
            said.append(f"With {transport}, creating a task of {one[0]['objects']} objects takes "
                        f"{number(one[0]['create'])} cycles by the original way and {number(other[0]['create'])} with "
                        "all steps.")
    lines = series(summary)
    for transport in values(summary["many"], "transport"):
        of = {tree: dict(lines.get(f"{transport}, {tree_name(tree)}", ())) for tree in values(summary["many"], "tree")}
        most = max((max(points) for points in of.values() if points), default=0)
        figures = [f"{number(points[most] / 1e6)} million {tree_name(tree)}" for tree, points in of.items() if points]
        said.append(f"With {transport}, {most} tasks take {' and '.join(figures)}.")
    return " ".join(said)
