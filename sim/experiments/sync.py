"""The report of `sync`: tables 2 to 6 and figure 1 of the paper, for the serial load and a synthetic one."""

import math

from sim.experiments import paper_sync as paper
from sim.experiments.pic_latency_paper import LABELS, scheme_of
from sim.experiments.sync_load import difference_cycles, figures, lock_figures, pair_cycles, timed_figures
from sim.results.comparison import UNEXPLAINED, Comparison, Factor
from sim.results.plot import Histogram
from sim.results.table import Table, number, span

# Kinds of runs whose figures need an outside observer.
OBSERVED = ("serial", "synthetic", "quiet", "bare", "shared", "timed-synthetic", "timed-serial")
LOAD = "Serial 115.2"       # of the paper; the synthetic load is none of its
AGREE = 0.10
# Table 2, in words; section 7.1 has no model of cli-spl-pessim's own.
MODEL = {scheme: f"entered x {paper.PRIMITIVE[scheme]}" + (
    f" + interrupted x {paper.FALL_BACK[scheme]}" if scheme in paper.FALL_BACK else "") for scheme in paper.SCHEMES}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    clock_hz = experiment["clock_hz"]
    good = {made["id"]: made for made in records if made["failure"] is None}
    of = {}
    for made in good.values():
        of.setdefault(made["kind"], []).append(made)
    pairs = pair_cycles(of["table5"][0]) if "table5" in of else None
    summary = {"pairs": pairs, "latency": of["table5"][0]["parameters"]["link_latency"] if pairs else None,
               "serial": [], "synthetic": [], "quiet": [], "softints": [], "locks": [], "timed": [], "lengths": []}
    if not pairs:
        return summary
    for kind in ("serial", "synthetic"):
        for made in of.get(kind, ()):
            row = figures(made, pairs, clock_hz)
            summary[kind].append(row | {"reason": reason(row)})
    for made in of.get("quiet", ()):
        row, bare = figures(made, pairs, clock_hz), good.get(made["id"].replace("quiet", "bare", 1))
        if bare:
            row |= {"difference": difference_cycles(made, bare)}
            summary["quiet"].append(row | {"reason": difference_reason(row)})
    summary["softints"] = [made["run"]["results"]["softint_cost"][0] | {"sync": made["sync"]}
                           for made in of.get("softint", ())]
    summary["locks"] = [lock_figures(made) for made in of.get("shared", ())]
    timed = of.get("timed-synthetic", []) + of.get("timed-serial", [])
    summary["timed"] = [timed_figures(made, clock_hz) for made in timed]
    for kind in ("synthetic", "serial"):
        if kind in of:      # the run with the most of them
            summary["lengths"].append(lengths(min(of[kind], key=lambda made: (
                -made["harts"], paper.SCHEMES.index(made["sync"]), made["id"]))))
    return summary


def lengths(made):
    """How often sections of each length came, in one run, over all harts: what Figure 1 shows."""
    found = [hart["statistics"]["body_net_lengths"] for hart in made["run"]["harts"]]
    spreads = [hart["statistics"]["body_net_cycles"] for hart in made["run"]["harts"]]
    most = max(len(each["counts"]) for each in found)
    return {"harts": made["harts"], "sync": made["sync"], "kind": made["kind"], "step": found[0]["step"],
            "counts": [sum(each["counts"][i] if i < len(each["counts"]) else 0 for each in found) for i in range(most)],
            "mean": sum(each["total"] for each in spreads) / sum(each["count"] for each in spreads),
            "least": min(each["min"] for each in spreads)}


def apart(model, figure):
    """Whether a figure is further from the model's than the two may be."""
    return model is not None and figure is not None and abs(figure - model) > AGREE * abs(model)


def reason(row):
    """Which parts of a pair's cost put model and measurement more than a tenth apart, each with what it is of the
    difference: "" where the two agree."""
    if not apart(row["model_percent"], row["measured_percent"]):
        return ""
    gap = (row["measured_percent"] - row["model_percent"]) / 100 * row["share_cycles"] / row["entered"]
    waiting = " with other harts at the link" if row["pair"] > 100 and row["harts"] > 1 else ""
    parts = [(row["least"] - row["pair"],
              f"a pair takes {row['least']} cycles at least where it stands and {row['pair']:g} in Table 5's loop"),
             (row["mean"] - row["least"],
              f"it takes {row['mean'] - row['least']:.1f} cycles more on average than at least{waiting}")]
    if row["fall_back"] is not None:
        more = "more" if row["fall_back"] >= 0 else "less"
        parts.append((gap - sum(part for part, _ in parts),
                      f"an interrupted section costs {abs(row['fall_back']):,.0f} cycles {more}, where the model has "
                      "one more pair"))
    return explained(gap, parts) or f"{UNEXPLAINED}: {parts[0][1]}"


def difference_reason(row):
    """Why what masking adds to the whole is not the pair of Table 5: "" where the two agree."""
    if not apart(row["pair"], row["difference"]):
        return ""
    waiting = " with other harts at the link" if row["pair"] > 100 and row["harts"] > 1 else ""
    return explained(row["difference"] - row["pair"], [
        (row["mean"] - row["pair"], f"between the marks a pair takes {row['mean']:.1f} cycles{waiting}")]
        ) or f"{UNEXPLAINED}: between the marks a pair takes {row['mean']:.1f} cycles"


def explained(gap, parts):
    """The parts, (size, text) each, that have the gap's sign and are a tenth of it at least; "" without one."""
    said = [f"{text} ({100 * part / gap:.0f} % of the difference)" for part, text in parts if part / gap >= AGREE]
    return "; ".join(said)


def label(row, with_interval):
    interval = f", {row['interval']:,} cycles" if with_interval and row["interval"] is not None else ""
    return f"{row['sync']}, {row['harts']} hart{'s' * (row['harts'] > 1)}{interval}"


def several_intervals(summary):
    return len({row["interval"] for row in summary["synthetic"]}) > 1


def tables(summary):
    """The report's tables, in order."""
    if not summary["pairs"]:
        return []
    made = [Table("Table 2: the model, costs a second", ["scheme", "overhead"],
                  [[scheme, MODEL[scheme]] for scheme in paper.SCHEMES], main=False)]
    made += [rate_table(summary, 3, "cli-pessim"), rate_table(summary, 4, "spl-optim"), timing_table(summary)]
    for kind in ("serial", "synthetic"):
        made.append(overhead_table(summary, kind))
    made += [softint_table(summary), difference_table(summary), lock_table(summary)]
    return [table for table in made if table]


def softint_table(summary):
    """What the model of Table 2 leaves out: calling a soft interrupt that was posted in a section."""
    if not summary["softints"]:
        return None
    rows = [[row["sync"], row["post"], row["call"], row["back"], row["more"]] for row in summary["softints"]]
    return Table("Beside Table 2: a soft interrupt posted in a section, cycles, 1 hart",
                 ["scheme", "posting", "from there to its first instruction", "from its end to behind the section",
                  "more than an empty section"], rows,
                 ["The model of Table 2 has sections and interruptions only. cli-pessim and cli-spl-pessim leave a "
                  "section by one instruction and look for nothing: posting stores to the CLINT, whose software "
                  "interrupt traps when the section ends. The others look when they leave."])


def the_papers(summary, kind):
    """Whether a load is one of the paper's: the serial one at its rate."""
    return kind == "serial" and summary["settings"].get("baud") == paper.SERIAL_BAUD


def rate_table(summary, which, scheme):
    """Tables 3 and 4: sections per second and their duration, by the paper's own method, in its own scheme."""
    rows = []
    for row in summary["timed"]:
        if row["sync"] == scheme:
            load = LOAD if the_papers(summary, row["load"]) else None
            cells = [f"{row['load']}, {row['harts']} hart{'s' * (row['harts'] > 1)}", number(row["entered_per_s"], 5),
                     number(row["deviation_percent"], 2)]
            if which == 3:
                cells += [number(row["most_per_s"], 5), number(row["section_us"])]
                theirs = load and [f"{paper.PESSIMISTIC_ENTERED[load]:,} ({paper.PESSIMISTIC_DEVIATION[load]:g} %)",
                          f"{paper.PESSIMISTIC_MOST[load]:,}", f"{paper.SECTION_US[load]:g}"]
            else:
                share = row["interrupted_per_s"] / row["entered_per_s"] if row["entered_per_s"] else 0
                cells += [number(row["interrupted_per_s"]), number(100 * share, 2)]
                theirs = load and [f"{paper.OPTIMISTIC_ENTERED[load]:,}", f"{paper.OPTIMISTIC_INTERRUPTED[load]:,}",
                          f"{100 * paper.OPTIMISTIC_INTERRUPTED[load] / paper.OPTIMISTIC_ENTERED[load]:.2g}"]
            rows.append([*cells, load or "-", *(theirs or ["-"] * 3)])
    if not rows:
        return None
    if which == 3:
        columns = ["load", "sections/s", "deviation, %", "most/s", "duration, us", "paper's", "sections/s (deviation)",
                   "most/s", "duration, us"]
        title = "Table 3: sections entered, and their duration, timed in the kernel (cli-pessim)"
    else:
        columns = ["load", "sections/s", "deviation, %", "interrupted/s", "interrupted, %", "paper's", "sections/s",
                   "interrupted/s", "interrupted, %"]
        title = "Table 4: sections that are interrupted (spl-optim)"
    notes = ["Outermost sections, of all harts together; deviation and most are of the polls, 1 ms (synthetic) or 8 "
             "bytes (serial) apart."]
    return Table(title, columns, rows, notes)


def timing_table(summary):
    """The two ways to time a section, and what the one in the kernel disturbs."""
    rows = []
    for row in summary["timed"]:
        plain = next((other for other in summary[row["load"]] if (other["harts"], other["sync"], other["interval"])
                      == (row["harts"], row["sync"], row["interval"])), None)
        rows.append([f"{row['load']}, {label(row, several_intervals(summary))}", row["inside"]["sections"],
                     row["outside"]["sections"], number(row["section_us"], 4), number(row["outside_us"], 4),
                     f"{100 * (row['section_us'] / row['outside_us'] - 1):+.2f}",
                     number(row["net_us"], 4), number(plain and plain["section_us"], 4), number(row["mean"]),
                     number(plain and plain["mean"])])
    if not rows:
        return None
    return Table("Sections timed in the kernel and from outside, in the same run",
                 ["load", "sections, kernel", "outside", "us, kernel", "outside", "difference, %",
                  "net of traps, us", "untimed", "pair, cycles", "untimed"],
                 rows, ["What timing disturbs: beside the length of a section and the cycles of its pair stand those "
                        "of an image that does not time."])


def overhead_table(summary, kind):
    """Table 6: the model's overhead beside what was measured, with the reason where they are not close."""
    rows = []
    notes = ["Interrupted are sections in which an interrupt was queued (optimistic schemes) or the hart's wire rose "
             "(the others; with spl-pessim the controller holds it back)."]
    with_interval, theirs = several_intervals(summary), the_papers(summary, kind)
    for row in summary[kind]:
        rows.append([label(row, with_interval), number(row["entered_per_s"], 5), number(row["interrupted_per_s"]),
                     number(row["section_us"]), number(row["model_percent"]), number(row["measured_percent"]),
                     f"{100 * (row['measured_percent'] / row['model_percent'] - 1):+.0f}",
                     *([paper.printed_overhead(row["sync"], LOAD)] if theirs else [])])
        if row["reason"]:
            notes.append(f"{label(row, with_interval)}: {row['reason']}.")
    if not rows:
        return None
    of = "every hart's" if kind == "synthetic" else "one hart's"
    return Table(f"Table 6, {kind} load: overhead in % of {of} time", [
        "scheme", "sections/s", "interrupted/s", "section, us", "by the model", "measured",
        "measured to model, %", *([f"paper, {LOAD}"] if theirs else [])], rows, notes)


def difference_table(summary):
    """What masking adds to the same work, beside the model's pair: of the whole time, not only between marks."""
    rows = [[label(row, False), number(row["pair"]), number(row["mean"]), number(row["difference"]),
             f"{100 * (row['difference'] / row['pair'] - 1):+.0f}"] for row in summary["quiet"]]
    if not rows:
        return None
    return Table("Masking alone: cycles a section that it adds to the same work without it", [
        "scheme", "Table 5's pair", "between the marks", "by difference", "difference to pair, %"], rows,
        [f"{label(row, False)}: {row['reason']}." for row in summary["quiet"] if row["reason"]])


def lock_table(summary):
    """What one lock for all harts adds, apart from masking."""
    rows = [[label(row, several_intervals(summary)), number(row["masking_percent"]), number(row["wait_percent"]),
             row["attempts"], row["misses"]] for row in summary["locks"]]
    if not rows:
        return None
    return Table("One lock for all harts, synthetic load: masking and waiting apart, in % of every hart's time",
                 ["scheme", "masking", "waiting for the lock", "attempts", "misses"], rows)


def comparisons(summary):
    """Table 5 beside the paper's; Table 6 of one hart beside it."""
    if not summary["pairs"]:
        return []
    clock_hz = summary["clock_hz"]
    made = [Comparison("Table 5: cost of a pair", "cycles", [
        (name, paper.PAIR_CYCLES[primitive], summary["pairs"][scheme_of(primitive)], [])
        for primitive, name in LABELS.items()], "sync, Table 5",
        [f"PIC latency {summary['latency']} cycles. Clocks: {clock_hz / 1e6:g} MHz, the paper's "
         f"{paper.CLOCK_HZ / 1e6:g} MHz."])]
    rows = [row for row in summary["serial"] if row["harts"] == min(other["harts"] for other in summary["serial"])
            and row["sync"] in paper.OVERHEAD]
    if rows and the_papers(summary, "serial"):
        made.append(Comparison(
            f"Table 6: overhead by the model, serial load on {rows[0]['harts']} hart{'s' * (rows[0]['harts'] > 1)}",
            "%", [(row["sync"], paper.OVERHEAD[row["sync"]][LOAD], row["model_percent"],
                   difference_to_paper(row, LOAD, clock_hz)) for row in rows], f"sync, Table 6, {LOAD}"))
    return made


def difference_to_paper(row, load, clock_hz):
    """The factors of the model's overhead, each beside the paper's: sections a second, and what a pair takes."""
    scheme = row["sync"]
    theirs = (paper.OPTIMISTIC_ENTERED if scheme in paper.FALL_BACK else paper.PESSIMISTIC_ENTERED)[load]
    pair_us, their_us = 1e6 * row["pair"] / clock_hz, paper.PAIR_US[paper.PRIMITIVE[scheme]]
    return [Factor(f"{float(row['entered_per_s']):,.0f} sections a second, the paper {theirs:,}",
                   row["entered_per_s"] / theirs),
            Factor(f"a pair takes {float(pair_us):.2f} us, the paper's {their_us}", pair_us / their_us)]


def answer(summary):
    """Sections of the serial load, what they cost by the model and measured, and where the two are apart."""
    rows = summary["serial"] or summary["synthetic"]
    if not rows:
        return ""
    harts = min(row["harts"] for row in rows)
    own = [row for row in rows if row["harts"] == harts]
    parts = [f"{label(row, several_intervals(summary))} {number(row['model_percent'])} % "
             f"({number(row['measured_percent'])} % measured)" for row in own]
    entered, lasts = (span([row[name] for row in own]) for name in ("entered_per_s", "section_us"))
    agree = sum(not row["reason"] for row in own)
    return (f"Sections are entered {entered} times a second and last {lasts} us. Of the time they cost by the model: "
            f"{'; '.join(parts)}; "
            f"model and measurement agree within {100 * AGREE:.0f} % in {agree} of {len(own)}.")


def plots(summary):
    """Figure 1: how often sections of each length come, with the exponential distribution of the same mean."""
    made = []
    for each in summary["lengths"]:
        step = each["step"]
        wide = max(1, round(float(each["mean"]) / 8 / step))    # bars of about an eighth of the mean
        groups = [sum(each["counts"][i:i + wide]) for i in range(0, len(each["counts"]), wide)]
        count = sum(each["counts"])
        bars = [(i * wide * step, (i + 1) * wide * step, 100 * n / count) for i, n in enumerate(groups)]
        mean = max(each["mean"] - each["least"], 1)      # a section has a least length, which is no draw
        curve = [(middle, 100 * wide * step / mean * math.exp(-(middle - each["least"]) / mean))
                 for middle in ((low + high) / 2 for low, high, _ in bars) if middle >= each["least"]]
        title = f"Figure 1: length of sections, {each['kind']} load ({label(each, False)})"
        made.append(Histogram(f"figure1-{each['kind']}", title, "length, cycles", "% of sections", {"sections": bars},
                              {"exponential": curve}))
    return made
