"""The report of `pic-latency`: paper `sync`'s tables 3 to 6 beside what the records of our machine say."""

from sim.experiments import paper_sync as paper
from sim.report import Table, fit_line, number

LOAD = "Serial 115.2"
BEHIND_CHARACTERS = 16      # a receiver that ends so much later than the line has not kept up: its FIFO's depth
LABELS = {"off-chip": "off-chip (spl-pessim)", "on-chip": "on-chip (cli-pessim)", "flag": "set flag (spl-optim)"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    clock_hz = experiment["clock_hz"]
    good = [made for made in records if made["failure"] is None]
    pairs = {made["parameters"]["latency"]: pair_cycles(made) for made in good if made["kind"] == "table5"}
    matches = [made for made in good if made["kind"] == "match"]
    summary = {
        "pair_cycles": {str(latency): pairs[latency] for latency in sorted(pairs)},
        "off_chip_line": None,
        "match": None,
        "serial": [serial_figures(made, pairs, clock_hz) for made in good if made["kind"] == "serial"],
    }
    if len(pairs) > 1:
        line = fit_line([(latency, pair["spl-pessim"]) for latency, pair in pairs.items()])
        names = ("at_0", "per_cycle", "greatest_distance")
        summary["off_chip_line"] = {name: round(value, 3) for name, value in zip(names, line, strict=True)}
    if matches:
        summary["match"] = {"latency": matches[0]["parameters"]["latency"], "pair_cycles": pair_cycles(matches[0])}
    return summary


def pair_cycles(made):
    """Cycles per pair of each scheme, from a Table 5 run; loop cost already taken off by the target."""
    return {line["scheme"]: line["cycles_per_pair"] for line in made["run"]["results"]["table5"]}


def costs_us(scheme, pair, clock_hz):
    """The costs that the model of Table 2 wants, in microseconds, from the pairs measured at one latency: the pair that
    is the scheme's own, and those it may fall back on."""
    cycles = {"off-chip": pair["spl-pessim"], "on-chip": pair["cli-pessim"]} | {paper.PRIMITIVE[scheme]: pair[scheme]}
    return {primitive: 1e6 * cost / clock_hz for primitive, cost in cycles.items()}


def serial_figures(made, pairs, clock_hz):
    """What one run under the serial load gives. Rates are per second of simulated time, over all harts."""
    run = made["run"]
    harts = [hart["statistics"] for hart in run["harts"]]
    line = run["results"]["serial"][0]
    latency = made["parameters"]["latency"]
    cycles = run["window"]["cycles"]
    seconds = cycles / clock_hz

    def total(*path):
        return sum(lookup(hart, path) for hart in harts)

    line_cycles = run["serial"]["uart1"]["feed_ended"] - run["serial"]["uart1"]["feed_began"]
    character_cycles = 10 * clock_hz / made["parameters"]["baud"]
    outermost = total("body_cycles", "count")
    queued = total("queued")
    interrupted = queued if made["sync"] in paper.FALL_BACK else total("sections_interrupted")
    primitive = total("enter_cycles", "total") + total("leave_cycles", "total")
    predicted = None
    if latency in pairs:
        predicted = paper.overhead_percent(made["sync"], total("entered") / seconds, interrupted / seconds,
                                           costs_us(made["sync"], pairs[latency], clock_hz))
    return {
        "id": made["id"],
        "harts": made["harts"],
        "sync": made["sync"],
        "latency": latency,
        "cycles": cycles,
        "sections": total("entered"),
        "sections_per_s": round(total("entered") / seconds, 1),
        "interrupted": interrupted,
        "interrupted_per_s": round(interrupted / seconds, 1),
        "section_us": round(1e6 * total("body_net_cycles", "total") / outermost / clock_hz, 4) if outermost else None,
        "longest_us": round(1e6 * max(lookup(hart, ("body_cycles", "max")) for hart in harts) / clock_hz, 3),
        "interrupts": line["interrupts"],
        "predicted_percent": None if predicted is None else round(predicted, 4),
        "measured_percent": round(100 * primitive / cycles, 4),
        "sent": made["received"]["sent"],
        "received": made["received"]["received"],
        "identical": made["received"]["identical"],
        "overruns": line["overruns"],
        "behind": cycles - line_cycles > BEHIND_CHARACTERS * character_cycles,
    }


def lookup(value, path):
    for name in path:
        value = value[name]
    return value


def tables(summary):
    """The report's tables, in order."""
    made = [pair_table(summary), latency_table(summary)]
    for harts in sorted({row["harts"] for row in summary["serial"]}):
        made.append(overhead_table(summary, harts, "predicted_percent",
                                   "by the model of Table 2 from the pairs above", True))
        made.append(overhead_table(summary, harts, "measured_percent",
                                   "measured from outside", False))
    if summary["serial"]:
        made += [paper_table(summary), detail_table(summary)]
    return [table for table in made if table]


def pair_table(summary):
    """Table 5, at the latency where our off-chip pair costs what the paper's did."""
    match, clock_hz = summary["match"], summary["clock_hz"]
    if not match:
        return None
    rows = []
    for primitive, label in LABELS.items():
        scheme = next(s for s, p in paper.PRIMITIVE.items() if p == primitive)
        cycles = match["pair_cycles"][scheme]
        rows.append([label, f"{cycles:.2f}", number(1e6 * cycles / clock_hz),
                     paper.PAIR_CYCLES[primitive], paper.PAIR_US[primitive]])
    line = summary["off_chip_line"]
    notes = [f"PIC access latency {match['latency']} cycles: there our off-chip pair costs what the paper's did."]
    if line:
        notes.append(f"Our off-chip pair costs {number(line['at_0'])} + {number(line['per_cycle'], 4)} x latency "
                     f"cycles (no point further off than {number(line['greatest_distance'])}).")
    notes.append(f"Clocks: ours {clock_hz / 1e6:g} MHz, the paper's {paper.CLOCK_HZ / 1e6:g} MHz.")
    return Table("Table 5: cost of one pair of each primitive",
                 ["primitive", "ours, cycles", "ours, us", "paper, cycles", "paper, us"], rows, notes)


def latency_table(summary):
    """The pairs of all schemes over the PIC's latency."""
    latencies = list(summary["pair_cycles"])
    if not latencies:
        return None
    rows = [[scheme, *(f"{summary['pair_cycles'][latency][scheme]:.2f}" for latency in latencies)]
            for scheme in paper.SCHEMES]
    return Table("Cycles per pair over the PIC's access latency", ["scheme", *latencies], rows,
                 main=not summary["match"])


def overhead_table(summary, harts, figure, how, main):
    """Schemes by latency, per cent of one hart's time."""
    rows = [row for row in summary["serial"] if row["harts"] == harts]
    latencies = sorted({row["latency"] for row in rows})
    cells = {(row["sync"], row["latency"]): number(row[figure]) + "~" * row["behind"] + "!" * (not row["identical"])
             for row in rows}
    schemes = [scheme for scheme in paper.SCHEMES if any(key[0] == scheme for key in cells)]
    table = Table(f"Overhead in % on {harts} hart{'s' * (harts > 1)} over PIC latency in cycles, {how}",
                  ["scheme", *map(str, latencies)],
                  [[scheme, *(cells.get((scheme, latency), "-") for latency in latencies)] for scheme in schemes],
                  main=main)
    if any(row["behind"] for row in rows):
        table.notes.append("~ the receiver did not keep up with the line; rates are those it reached")
    if not all(row["identical"] for row in rows):
        table.notes.append("! bytes were lost, and counted as overruns or drops")
    return table


def paper_table(summary):
    """Tables 3, 4 and 6 for the serial load, at the latency whose off-chip pair takes the paper's time."""
    clock_hz = summary["clock_hz"]
    latencies = {row["latency"] for row in summary["serial"] if str(row["latency"]) in summary["pair_cycles"]}
    if not latencies:
        return None

    def pair_us(latency):
        return 1e6 * summary["pair_cycles"][str(latency)]["spl-pessim"] / clock_hz

    latency = min(sorted(latencies), key=lambda value: abs(pair_us(value) - paper.PAIR_US["off-chip"]))
    harts = min(row["harts"] for row in summary["serial"])
    rows = []
    for row in summary["serial"]:
        if row["latency"] == latency and row["harts"] == harts:
            optimistic = row["sync"] in paper.FALL_BACK
            entered = (paper.OPTIMISTIC_ENTERED if optimistic else paper.PESSIMISTIC_ENTERED)[LOAD]
            interrupted = paper.OPTIMISTIC_INTERRUPTED[LOAD] if optimistic else None
            rows.append([row["sync"], number(row["sections_per_s"], 5), number(entered, 5),
                         number(row["interrupted_per_s"]), number(interrupted), number(row["section_us"]),
                         number(paper.SECTION_US[LOAD], 1) if not optimistic else "-",
                         number(row["predicted_percent"]), number(row["measured_percent"]),
                         paper.OVERHEAD.get(row["sync"], {}).get(LOAD, "-")])
    return Table(f"{LOAD} beside the paper: {harts} hart{'s' * (harts > 1)}, PIC latency {latency} "
                 f"(our off-chip pair takes {pair_us(latency):.2f} us, the paper's {paper.PAIR_US['off-chip']} us)",
                 ["scheme", "sections/s", "paper", "interrupted/s", "paper", "section, us", "paper",
                  "predicted %", "measured %", "paper %"], rows)


def detail_table(summary):
    rows = [[row["harts"], row["sync"], row["latency"], number(row["sections_per_s"], 5),
             number(row["interrupted_per_s"]), number(row["section_us"]), number(row["longest_us"]),
             number(row["predicted_percent"]), number(row["measured_percent"]), row["interrupts"],
             f"{row['received']}/{row['sent']}", row["overruns"]] for row in summary["serial"]]
    return Table("All runs under the serial load",
                 ["harts", "scheme", "latency", "sections/s", "interrupted/s", "section, us", "longest, us",
                  "predicted %", "measured %", "interrupts", "bytes", "overruns"], rows, main=False)
