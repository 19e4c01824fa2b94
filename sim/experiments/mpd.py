"""The report of `mpd`: tables 2 to 4 of paper `mpd`, and its three classes of operations, computed."""

import statistics

from sim.results.table import Table, number

# The rows of tables 3 and 4, and what the paper says of each: how many switches, and whether a process is created.
ROWS = {
    "loop": ("loop control overhead", 0, False),
    "local_call": ("local call, optimised", 0, False),
    "call": ("interresource call, no new process", 0, False),
    "call_new": ("interresource call, new process", 0, True),
    "create": ("process create/destroy", 0, True),
    "p": ("semaphore P only", 0, False),
    "v": ("semaphore V only", 0, False),
    "pair": ("semaphore pair", 0, False),
    "switching_pair": ("semaphore requiring context switch", 1, False),
    "message": ("asynchronous send/receive", 0, False),
    "switching_message": ("message passing requiring context switch", 1, False),
    "rendezvous": ("rendezvous", 2, False),
}
SWITCHES = ("assembler", "library", "system-calls")
# Microseconds, in the order of SWITCHES: table 2, then tables 3 and 4, for a Pentium 4 at 1600 MHz and a StrongARM at
# 233 MHz, for which there is no assembler.
PAPER_RAW = {"A": (0.013, 0.138, 1.453), "B": (None, 0.237, 9.649)}
PAPER_A = {
    "loop": (0.002, 0.002, 0.002), "local_call": (0.011, 0.011, 0.011), "call": (0.270, 0.260, 0.250),
    "call_new": (0.650, 4.200, 4.350), "create": (0.540, 4.020, 4.280), "p": (0.011, 0.011, 0.011),
    "v": (0.008, 0.008, 0.008), "pair": (0.019, 0.019, 0.019), "switching_pair": (0.110, 0.220, 1.550),
    "message": (0.300, 0.290, 0.300), "switching_message": (0.400, 0.560, 1.920), "rendezvous": (0.600, 0.850, 4.200),
}
PAPER_B = {
    "loop": (None, 0.057, 0.056), "local_call": (None, 0.376, 0.355), "call": (None, 4.300, 4.080),
    "call_new": (None, 27.250, 55.900), "create": (None, 25.240, 58.780), "p": (None, 0.304, 0.301),
    "v": (None, 0.254, 0.249), "pair": (None, 0.506, 0.487), "switching_pair": (None, 1.570, 11.180),
    "message": (None, 5.550, 5.190), "switching_message": (None, 6.740, 30.140), "rendezvous": (None, 9.600, 54.000),
}
SAME = 0.1          # by which a row without a switch may differ between two ways of switching
SLACK = 0.5         # of a raw switch: by so much a row may miss the number of switches that it makes
CLOSE = 0.4         # of the distance from assembler to system calls: so far away is a creation by the library


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    clock_hz = experiment["clock_hz"]
    raw = gather(good, "csloop", lambda line: {name: value / 100 for name, value in line.items()})
    rows = gather(good, "mpd", lambda line: {name: line[name] / line["n"] for name in ROWS})
    machines = []
    for key in sorted(set(raw) & set(rows)):
        machines.append({"sync": key[0], "latency": key[1], "raw": raw[key], "rows": rows[key],
                         "classes": classes(raw[key], rows[key])})
    return {"machines": machines, "clock_hz": clock_hz}


def gather(records, result, figures):
    """(scheme, latency) -> way of switching -> name -> median, least and most cycles over the placings."""
    found = {}
    for made in records:
        lines = [figures(line) for line in made["run"]["results"][result]]
        found.setdefault((made["sync"], made["parameters"]["latency"]), {})[made["parameters"]["switch"]] = {
            name: [statistics.median(values), min(values), max(values)] for name, values in
            {name: [line[name] for line in lines] for name in lines[0]}.items()}
    return found


def classes(raw, rows):
    """For each row what the paper says of it, and whether it is so here; nothing without all three ways."""
    if any(switch not in rows or switch not in raw for switch in SWITCHES):
        return {}
    made = {}
    raws = [raw[switch]["switch"][0] for switch in SWITCHES]
    for name, (_, switches, creates) in ROWS.items():
        own = [rows[switch][name][0] for switch in SWITCHES]
        more = [own[1] - own[0], own[2] - own[0]]
        if creates:
            share = more[0] / more[1] if more[1] else 0.0
            made[name] = {"class": "creation", "holds": share >= CLOSE, "library": share, "system": None}
        elif switches:
            times = [extra / (each - raws[0]) for extra, each in zip(more, raws[1:], strict=True)]
            made[name] = {"class": f"{switches} raw switch{'es' if switches > 1 else ''} more", "library": times[0],
                          "system": times[1], "holds": all(abs(each - switches) <= SLACK for each in times)}
        else:
            apart = [extra / own[0] if own[0] else 0.0 for extra in more]
            made[name] = {"class": "same", "library": apart[0], "system": apart[1],
                          "holds": all(abs(each) <= SAME for each in apart)}
    return made


def of_paper(values):
    return ["n/a" if value is None else f"{value:.3f}" for value in values]


def tables(summary):
    """The report's tables, in order."""
    made = [table for table in [scheme_table(summary)] if table]
    for machine in summary["machines"]:
        where = f"{machine['sync']}, PIC {machine['latency']} cycles"
        made += [raw_table(machine, where, summary["clock_hz"]), row_table(machine, where, summary["clock_hz"])]
        if machine["classes"]:
            made.append(class_table(machine, where))
    return made


def whole(summary):
    """The machines that have all three ways, by scheme and latency."""
    return {(machine["sync"], machine["latency"]): machine for machine in summary["machines"] if machine["classes"]}


def holding(machine):
    return sum(found["holds"] for found in machine["classes"].values())


def scheme_table(summary):
    """What the scheme and the PIC's latency do to the dearest way."""
    found = whole(summary)
    latencies = sorted({latency for _, latency in found})
    rows = []
    for scheme in dict.fromkeys(scheme for scheme, _ in found):
        own = [found.get((scheme, latency)) for latency in latencies]
        rows.append([scheme, *(number(at["raw"]["system-calls"]["switch"][0]) if at else "-" for at in own),
                     *(number(at["rows"]["system-calls"]["rendezvous"][0]) if at else "-" for at in own),
                     *(str(holding(at)) if at else "-" for at in own)])
    columns = ["scheme", *(f"{name}, PIC {latency}" for name in
                           ("raw switch, cycles", "rendezvous, cycles", "classes that hold") for latency in latencies)]
    return Table("Contexts by system calls under each scheme", columns, rows, [
        f"Medians over placings in memory. Classes: how many of the paper's {len(ROWS)} rows are in the class that the "
        "paper puts them in."]) if rows else None


def answer(summary):
    """A switch's cost each way, and how many of the paper's rows are in their class."""
    found = whole(summary)
    if not found:
        return ""
    first = min(found, key=lambda key: (key[0] != "spl-optim", key[1], key[0]))
    costs = [number(found[first]["raw"][switch]["switch"][0]) for switch in SWITCHES]
    by_calls = [machine["raw"]["system-calls"]["switch"][0] for machine in found.values()]
    held = [holding(machine) for machine in found.values()]
    return (f"A switch takes {costs[0]} cycles by assembler, {costs[1]} by a library and {costs[2]} by system calls "
            f"({first[0]}, PIC {first[1]} cycles); by system calls {number(min(by_calls))} to {number(max(by_calls))} "
            f"over schemes and latencies. Of the paper's {len(ROWS)} rows {min(held)} to {max(held)} are in their "
            "class.")


def microseconds(cycles, clock_hz):
    return number(1e6 * cycles / clock_hz, 3)


def raw_table(machine, where, clock_hz):
    rows = []
    for i, switch in enumerate(SWITCHES):
        if switch in machine["raw"]:
            own = machine["raw"][switch]
            middle, least, most = own["switch"]
            rows.append([switch, number(middle), f"{number(least)} to {number(most)}", microseconds(middle, clock_hz),
                         *of_paper([PAPER_RAW["A"][i], PAPER_RAW["B"][i]]), number(own["build"][0]),
                         number(own["null"][0])])
    return Table(f"Table 2: raw context switches ({where})",
                 ["contexts by", "cycles", "over placings", "us", "paper, A, us", "B", "building one, cycles",
                  "null system call, cycles"], rows)


def row_table(machine, where, clock_hz):
    there = [switch for switch in SWITCHES if switch in machine["rows"]]
    rows = []
    for name, (text, _, _) in ROWS.items():
        middles = [machine["rows"][switch][name][0] for switch in there]
        at = [SWITCHES.index(switch) for switch in there]
        rows.append([text, *(number(value) for value in middles),
                     *(microseconds(value, clock_hz) for value in middles),
                     *of_paper([PAPER_A[name][i] for i in at]), *of_paper([PAPER_B[name][i] for i in at])])
    columns = ["operation"] + [f"{before}{switch}{behind}" for before, behind in
                               (("", ", cycles"), ("", ", us"), ("paper, A: ", ""), ("B: ", "")) for switch in there]
    return Table(f"Tables 3 and 4: the run-time system ({where})", columns, rows, [
        "Medians over placings in memory, the loop's control included. The paper's in us: A is a Pentium 4 at "
        "1600 MHz, B a StrongARM at 233 MHz, which has no assembler."])


def class_table(machine, where):
    rows = []
    for name, found in machine["classes"].items():
        rows.append([ROWS[name][0], found["class"], number(found["library"]),
                     "-" if found["system"] is None else number(found["system"]), "yes" if found["holds"] else "NO"])
    columns = ["operation", "class", "library", "system calls", "holds"]
    return Table(f"The paper's three classes ({where})", columns, rows, [
        f"same: by how much the row is dearer than by assembler, as a share; holds within {SAME:.0%}. Raw switches "
        f"more: what it is dearer, in differences of raw switches; holds within {SLACK:g}. Creation: the library's "
        f"excess over assembler as a share of that of system calls; holds from {CLOSE:.0%} on, since building a "
        "context is a system call in both."], texts=2)
