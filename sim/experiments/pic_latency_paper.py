"""Paper `sync`'s tables 3 to 6 beside what the records of `pic-latency` say, where the load is the paper's and the
receiver kept up."""

from sim.experiments import paper_sync as paper
from sim.results.comparison import Comparison, Factor
from sim.results.statistics import ever
from sim.results.table import number

LOAD = "Serial 115.2"
LABELS = {"off-chip": "off-chip (spl-pessim)", "on-chip": "on-chip (cli-pessim)", "flag": "set flag (spl-optim)"}

def comparisons(summary):
    """Tables 5, 3, 4 and 6, those of them that there are figures for."""
    made = [*pairs(summary), *serial(summary)]
    return [comparison for comparison in made if comparison.rows]


def scheme_of(primitive):
    """The scheme whose pair is this primitive."""
    return next(scheme for scheme, found in paper.PRIMITIVE.items() if found == primitive)


def pairs(summary):
    """Table 5, at the latency where our off-chip pair costs what the paper's did."""
    match, clock_hz, line = summary["match"], summary["clock_hz"], summary["off_chip_line"]
    if not match:
        return []
    cycles = {primitive: match["pair_cycles"][scheme_of(primitive)] for primitive in LABELS}
    notes = [f"PIC access latency {match['latency']} cycles: there our off-chip pair costs what the paper's did."]
    if line:
        notes.append(f"Our off-chip pair costs {number(line['at_0'])} + {number(line['per_cycle'], 4)} x latency "
                     f"cycles (no point further off than {number(line['greatest_distance'])}).")
    clocks = f"Clocks: ours {clock_hz / 1e6:g} MHz, the paper's {paper.CLOCK_HZ / 1e6:g} MHz."
    slower = Factor(f"our clock is {clock_hz / 1e6:g} MHz", paper.CLOCK_HZ / clock_hz)
    return [
        Comparison("Table 5: cost of one pair of each primitive", "cycles",
                   [(label, paper.PAIR_CYCLES[primitive], cycles[primitive], [])
                    for primitive, label in LABELS.items()],
                   "sync", notes),
        Comparison("Table 5: the same in time", "us",
                   [(label, paper.PAIR_US[primitive], 1e6 * cycles[primitive] / clock_hz, [
                       slower, Factor("a pair's cycles", cycles[primitive] / paper.PAIR_CYCLES[primitive])])
                    for primitive, label in LABELS.items()], "sync", [clocks]),
    ]


def pair_us(summary, latency):
    """What an off-chip pair takes at a latency, in microseconds."""
    return 1e6 * summary["pair_cycles"][str(latency)]["spl-pessim"] / summary["clock_hz"]


def nearest_latency(summary):
    """The latency whose off-chip pair takes the paper's time, of those that have both pairs and serial runs."""
    latencies = {row["latency"] for row in summary["serial"] if str(row["latency"]) in summary["pair_cycles"]}
    return min(sorted(latencies), default=None,
               key=lambda latency: abs(pair_us(summary, latency) - paper.PAIR_US["off-chip"]))


def serial(summary):
    """Tables 3, 4 and 6 for the serial load, on the least number of harts."""
    latency = nearest_latency(summary)
    if latency is None:
        return []
    harts, clock_hz = min(row["harts"] for row in summary["serial"]), summary["clock_hz"]
    rows = {row["sync"]: row for row in summary["serial"] if (row["latency"], row["harts"]) == (latency, harts)
            and row["baud"] == paper.SERIAL_BAUD and not ever(row["behind"])}
    place = (f"{harts} hart{'s' * (harts > 1)}, PIC latency {latency}: there our off-chip pair takes "
             f"{pair_us(summary, latency):.2f} us, the paper's {paper.PAIR_US['off-chip']} us.")
    masked, optimistic = rows.get("cli-pessim"), rows.get("spl-optim")
    entered, durations, interrupted, seldom = [], [], [], []
    if masked:
        entered.append(("entered, cli-pessim (Table 3)", paper.PESSIMISTIC_ENTERED[LOAD], masked["sections_per_s"], []))
        durations.append(("mean, cli-pessim", paper.SECTION_US[LOAD], masked["section_us"],
                          [Factor(f"our clock is {clock_hz / 1e6:g} MHz", paper.CLOCK_HZ / clock_hz)]))
    if optimistic:
        theirs = paper.OPTIMISTIC_INTERRUPTED[LOAD]
        entered.append(("entered, spl-optim (Table 4)", paper.OPTIMISTIC_ENTERED[LOAD], optimistic["sections_per_s"],
                        []))
        interrupted.append(("interrupted, spl-optim (Table 4)", theirs, optimistic["interrupted_per_s"], []))
        seldom.append(f"One interrupted section in this window is {number(optimistic['one_per_s'])} a second; at the "
                      f"paper's rate there would be {number(theirs / optimistic['one_per_s'])}.")
    return [
        Comparison(f"Tables 3 and 4: critical sections, {LOAD}", "per second", [*entered, *interrupted], "sync",
                   [place, *seldom]),
        Comparison(f"Table 3: duration of a critical section, {LOAD}", "us", durations, "sync", [place]),
        Comparison(f"Table 6: overhead that the model of Table 2 predicts, {LOAD}", "%",
                   [(scheme, paper.OVERHEAD[scheme][LOAD], rows[scheme]["predicted_percent"],
                     overhead_factors(summary, rows[scheme], latency)) for scheme in paper.OVERHEAD if scheme in rows],
                   "sync", [place]),
    ]


def overhead_factors(summary, row, latency):
    """What the model multiplies: sections a second, and what a pair takes."""
    scheme = row["sync"]
    theirs = (paper.OPTIMISTIC_ENTERED if scheme in paper.FALL_BACK else paper.PESSIMISTIC_ENTERED)[LOAD]
    ours_us = 1e6 * summary["pair_cycles"][str(latency)][scheme] / summary["clock_hz"]
    return [Factor("sections a second", row["sections_per_s"] / theirs),
            Factor("a pair's time", ours_us / paper.PAIR_US[paper.PRIMITIVE[scheme]])]
