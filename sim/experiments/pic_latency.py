"""The report of `pic-latency`: what a pair costs over the PIC's latency, and what that costs a serial load."""

from sim.experiments import paper_sync as paper
from sim.experiments.pic_latency_paper import comparisons as comparisons
from sim.experiments.pic_latency_paper import nearest_latency
from sim.results import claims, sampling
from sim.results.plot import Plot
from sim.results.report import fit_line
from sim.results.statistics import Samples, always, apply, bounds, ever
from sim.results.table import Table, number

OBSERVED = ("serial", "link")      # kinds of runs whose figures need an outside observer
MARGIN = 0.10               # within which an overhead is called the same
SEEN = 0.02                 # of a figure: a difference that is less is not worth a word
BEHIND_CHARACTERS = 16      # a receiver that ends so much later than the line has not kept up: its FIFO's depth


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    clock_hz = experiment["clock_hz"]
    good = [made for made in records if made["failure"] is None]
    pairs = {made["parameters"]["link_latency"]: pair_cycles(made) for made in good if made["kind"] == "table5"}
    matches = [made for made in good if made["kind"] == "match"]
    summary = {
        "pair_cycles": {str(latency): pairs[latency] for latency in sorted(pairs)},
        "off_chip_line": None,
        "match": None,
        "serial": [serial_figures(made, pairs, clock_hz) for made in good if made["kind"] == "serial"],
        "link": [link_figures(made) for made in good if made["kind"] == "link"],
    }
    if len(pairs) > 1:
        line = fit_line([(latency, pair["spl-pessim"]) for latency, pair in pairs.items()])
        names = ("at_0", "per_cycle", "greatest_distance")
        summary["off_chip_line"] = {name: round(value, 3) for name, value in zip(names, line, strict=True)}
    if matches:
        summary["match"] = {"latency": matches[0]["parameters"]["link_latency"], "pair_cycles": pair_cycles(matches[0])}
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
    latency = made["parameters"]["link_latency"]
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
        "one_per_s": round(1 / seconds, 1),     # what an event that came once is worth
        "baud": made["parameters"]["baud"],
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


def link_figures(made):
    """What one run over the link's ways gives, under the synthetic load on one hart."""
    parameters, results = made["parameters"], made["run"]["results"]
    statistics, = (hart["statistics"] for hart in made["run"]["harts"])
    line, arrivals = results["synthetic"][0], results["arrivals"][0]
    return {
        "sync": made["sync"],
        "far": parameters["far"],
        "back": parameters["back"],
        "fall": parameters["fall"],
        "cycles": line["cycles"],
        "interrupts": line["interrupts"],
        "spurious": arrivals["spurious"],
        "lost": arrivals["lost"],
        "cycles_per_section": round(line["cycles"] / line["sections"], 1),
        "measured_percent": round(100 * (statistics["enter_cycles"]["total"] + statistics["leave_cycles"]["total"])
                                  / line["cycles"], 4),
    }


def lookup(value, path):
    for name in path:
        value = value[name]
    return value


def tables(summary):
    """The report's tables, in order."""
    made = [claim_table(summary), latency_table(summary)]
    for harts in sorted({row["harts"] for row in summary["serial"]}):
        made.append(overhead_table(summary, harts, "predicted_percent",
                                   "by the model of Table 2 from the pairs above", True))
        made.append(overhead_table(summary, harts, "measured_percent",
                                   "measured from outside", False))
    if summary["serial"]:
        made += [scheme_table(summary), detail_table(summary)]
    made.append(link_table(summary))
    return [table for table in made if table]


def latency_table(summary):
    """The pairs of all schemes over the PIC's latency."""
    latencies = list(summary["pair_cycles"])
    if not latencies:
        return None
    rows = [[scheme, *(f"{summary['pair_cycles'][latency][scheme]:.2f}" for latency in latencies)]
            for scheme in paper.SCHEMES]
    notes = []
    if sampling.count(summary) > 1 and not any(isinstance(pair, Samples) for found in summary["pair_cycles"].values()
                                               for pair in found.values()):
        notes.append(f"The same to the cycle in all {sampling.count(summary)} samples: a loop that is in the cache "
                     "does not depend on where its code lies.")
    return Table("Cycles per pair over the PIC's access latency", ["scheme", *latencies], rows, notes,
                 main=not summary["match"])


def cell(row, figure):
    """A figure of a run, marked where a layout did not keep up, or lost bytes."""
    return number(row[figure]) + "~" * ever(row["behind"]) + "!" * (not always(row["identical"]))


def overhead_table(summary, harts, figure, how, main):
    """Schemes by latency, per cent of one hart's time."""
    rows = [row for row in summary["serial"] if row["harts"] == harts]
    latencies = sorted({row["latency"] for row in rows})
    cells = {(row["sync"], row["latency"]): cell(row, figure) for row in rows}
    schemes = [scheme for scheme in paper.SCHEMES if any(key[0] == scheme for key in cells)]
    table = Table(f"Overhead in % on {harts} hart{'s' * (harts > 1)} over PIC latency in cycles, {how}",
                  ["scheme", *map(str, latencies)],
                  [[scheme, *(cells.get((scheme, latency), "-") for latency in latencies)] for scheme in schemes],
                  main=main)
    if any(ever(row["behind"]) for row in rows):
        table.notes.append("~ the receiver did not keep up with the line; rates are those it reached")
    if not all(always(row["identical"]) for row in rows):
        table.notes.append("! bytes were lost, and counted as overruns or drops")
    return table


def load_of(rows):
    """The serial load's name, by the rate that its runs had."""
    return ", ".join(f"Serial {baud / 1000:g}" for baud in sorted({row["baud"] for row in rows}))


def scheme_table(summary):
    """All schemes under the serial load, at the latency whose off-chip pair takes the paper's time."""
    latency = nearest_latency(summary)
    if latency is None:
        return None
    harts = min(row["harts"] for row in summary["serial"])
    chosen = [row for row in summary["serial"] if (row["latency"], row["harts"]) == (latency, harts)]
    rows = [[row["sync"], number(row["sections_per_s"], 5), number(row["interrupted_per_s"]), number(row["section_us"]),
             cell(row, "predicted_percent"), cell(row, "measured_percent")] for row in chosen]
    notes = [f"One event in this window is {number(chosen[0]['one_per_s'])} a second: fewer cannot be seen."]
    notes += ranked_apart(chosen)
    return Table(f"{load_of(chosen)} by scheme: {harts} hart{'s' * (harts > 1)}, PIC latency {latency}",
                 ["scheme", "sections/s", "interrupted/s", "section, us", "predicted %", "measured %"], rows, notes)


def ranked_apart(rows):
    """A line for each two schemes that model and measurement put in another order, by more than their intervals."""
    lines = []
    known = [row for row in rows if row["predicted_percent"] is not None]
    for index, one in enumerate(known):
        for other in known[index + 1:]:
            model, seen = (sign(one[figure], other[figure]) for figure in ("predicted_percent", "measured_percent"))
            if model * seen < 0:
                first, second = (one, other) if model < 0 else (other, one)
                lines.append(
                    f"Model and measurement rank {first['sync']} and {second['sync']} differently: by the model "
                    f"{number(first['predicted_percent'])} and {number(second['predicted_percent'])} %, measured "
                    f"{number(first['measured_percent'])} and {number(second['measured_percent'])} %.")
    return lines


def sign(a, b):
    """-1 if a is less than b in all of the interval of their difference, 1 if it is more; 0 if neither, or if they are
    closer than SEEN."""
    if abs(float(a) - float(b)) <= SEEN * max(abs(float(a)), abs(float(b))):
        return 0
    low, high = bounds(apply(lambda x, y: x - y, a, b))
    return -1 if high < 0 else int(low > 0)


def claim_table(summary):
    """What paper `sync` claims of the schemes, on the least number of harts."""
    rows = summary["serial"]
    if not rows:
        return None
    harts = min(row["harts"] for row in rows)
    at = {(row["sync"], row["latency"]): row for row in rows if row["harts"] == harts and not ever(row["behind"])}
    tried = []

    def measured(scheme, latency):
        return at[scheme, latency]["measured_percent"]

    latencies = sorted({latency for _, latency in at})
    for scheme in paper.SCHEMES:
        own = [latency for latency in latencies if (scheme, latency) in at]
        if len(own) > 1 and scheme != "spl-pessim":
            tried.append(claims.same(f"{scheme} costs the same at any distance of the controller",
                                     f"measured %, at latency {own[0]} (b) and {own[-1]} (a)",
                                     measured(scheme, own[-1]), measured(scheme, own[0]), MARGIN))
    near = nearest_latency(summary)
    for less, more in (("spl-optim", "spl-pessim"), ("cli-pessim", "spl-pessim"), ("spl-optim", "cli-pessim"),
                       ("cli-optim", "cli-pessim")):
        if (less, near) in at and (more, near) in at:
            tried.append(claims.less(f"{less} costs less than {more}", f"measured %, at latency {near}: {less} (a), "
                                     f"{more} (b)", measured(less, near), measured(more, near)))
    if not tried:
        return None
    return claims.table(f"What paper sync claims, {load_of(rows)}, {harts} hart{'s' * (harts > 1)}", tried,
                        sampling.count(summary))


def detail_table(summary):
    rows = [[row["harts"], row["sync"], row["latency"], number(row["sections_per_s"], 5),
             number(row["interrupted_per_s"]), number(row["section_us"]), number(row["longest_us"]),
             number(row["predicted_percent"]), number(row["measured_percent"]), row["interrupts"],
             f"{row['received']}/{row['sent']}", row["overruns"]] for row in summary["serial"]]
    return Table("All runs under the serial load",
                 ["harts", "scheme", "latency", "sections/s", "interrupted/s", "section, us", "longest, us",
                  "predicted %", "measured %", "interrupts", "bytes", "overruns"], rows, main=False)


def link_table(summary):
    """Interrupts that found nothing and what sections cost, by the link's ways."""
    if not summary["link"]:
        return None
    far = summary["link"][0]["far"]
    rows = [[row["sync"], row["back"], row["fall"], row["interrupts"], row["spurious"], row["lost"],
             number(row["cycles_per_section"], 5), number(row["measured_percent"])] for row in summary["link"]]
    return Table(f"The link's ways: synthetic load on 1 hart, latency {far}, wires that rise {far} cycles late",
                 ["scheme", "way back", "fall late", "interrupts", "spurious", "merged on the wire",
                  "cycles a section", "measured %"], rows)


def answer(summary):
    """The experiment's question answered: the dearest and the cheapest scheme where the off-chip pair takes the paper's
    time, and which schemes depend on the distance."""
    near = nearest_latency(summary)
    if near is None:
        return ""
    harts = min(row["harts"] for row in summary["serial"])
    rows = sorted((row for row in summary["serial"] if row["harts"] == harts), key=lambda row: row["latency"])
    here = sorted((row for row in rows if row["latency"] == near), key=lambda row: float(row["measured_percent"]))
    text = (f"At a latency of {near} cycles {here[-1]['sync']} spends {number(here[-1]['measured_percent'])} % of one "
            "hart's time on masking")
    text += f", {here[0]['sync']} {number(here[0]['measured_percent'])} %." if len(here) > 1 else "."
    grow, stay = [], []
    for scheme in dict.fromkeys(row["sync"] for row in here):
        own = [row for row in rows if row["sync"] == scheme and not ever(row["behind"])]
        if len(own) > 1:
            first, last = own[0]["measured_percent"], own[-1]["measured_percent"]
            (stay if abs(float(last) - float(first)) <= MARGIN * float(first) else grow).append(
                (scheme, own[-1]["latency"], first, last))
    parts = [f"{scheme} grows from {number(first)} to {number(last)} % up to a latency of {latency}, the farthest at "
             "which the receiver keeps up" for scheme, latency, first, last in grow]
    if stay:
        parts.append(f"{', '.join(scheme for scheme, *_ in stay)} stay within {MARGIN:.0%} of what they cost at the "
                     "nearest")
    return f"{text} {'; '.join(parts)}." if parts else text


def plots(summary):
    """Overheads and pairs over the PIC's latency, a line a scheme."""
    drawn = []
    for harts in sorted({row["harts"] for row in summary["serial"]}):
        rows = sorted((row for row in summary["serial"] if row["harts"] == harts), key=lambda row: row["latency"])
        if len({row["latency"] for row in rows}) > 1:
            lines, late = {}, {}
            for row in sorted(rows, key=lambda row: paper.SCHEMES.index(row["sync"])):
                lines.setdefault(row["sync"], []).append((row["latency"], row["measured_percent"]))
                if ever(row["behind"]):
                    late.setdefault(row["sync"], []).append(row["latency"])
            drawn.append(Plot(f"overhead-{harts}", f"Overhead on {harts} hart{'s' * (harts > 1)}, measured from "
                              "outside", "PIC access latency, cycles", "% of one hart's time", lines, log_x=True,
                              log_y=True, hollow=late, hollow_means="did not keep up with the line"))
    if len(summary["pair_cycles"]) > 1:
        drawn.append(Plot("pairs", "Cost of a pair over the PIC's access latency", "PIC access latency, cycles",
                          "cycles per pair",
                          {scheme: [(int(latency), pair[scheme]) for latency, pair in summary["pair_cycles"].items()]
                           for scheme in paper.SCHEMES}, log_x=True, log_y=True))
    return drawn
