"""Paper `sync`'s tables 3 to 6 beside what the records of `pic-latency` say; reasons are those of docs/results.md."""

from sim.experiments import paper_sync as paper
from sim.results.comparison import Comparison
from sim.results.table import number

LOAD = "Serial 115.2"
LABELS = {"off-chip": "off-chip (spl-pessim)", "on-chip": "on-chip (cli-pessim)", "flag": "set flag (spl-optim)"}

CHEAP_MASK = ("one instruction each clears and sets the bit of mstatus, and neither drains a pipeline as the Pentium's "
              "cli and sti do")
DEAR_FLAG = "the flag is kept per hart and nests, and who leaves looks whether something was queued"
HALF_CLOCK = "our clock is half as fast as the paper's"
LONG_SECTIONS = "the mean is drawn up by the few sections that hold a thread switch, at half the paper's clock"
RARE_ARRIVALS = ("the interrupt comes once in eight bytes and the thread has done its work long before; the paper's "
                 "machine ran other things beside it")
DEAR_LINK = "an off-chip pair takes longer here than the paper's, by the time above"


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
    reasons = {"off-chip": "", "on-chip": CHEAP_MASK, "flag": DEAR_FLAG}
    notes = [f"PIC access latency {match['latency']} cycles: there our off-chip pair costs what the paper's did."]
    if line:
        notes.append(f"Our off-chip pair costs {number(line['at_0'])} + {number(line['per_cycle'], 4)} x latency "
                     f"cycles (no point further off than {number(line['greatest_distance'])}).")
    clocks = f"Clocks: ours {clock_hz / 1e6:g} MHz, the paper's {paper.CLOCK_HZ / 1e6:g} MHz."
    reasons_us = reasons | {"off-chip": HALF_CLOCK, "flag": f"{DEAR_FLAG}; {HALF_CLOCK}"}
    return [
        Comparison("Table 5: cost of one pair of each primitive", "cycles",
                   [(label, paper.PAIR_CYCLES[primitive], cycles[primitive], reasons[primitive])
                    for primitive, label in LABELS.items()], "sync", notes),
        Comparison("Table 5: the same in time", "us",
                   [(label, paper.PAIR_US[primitive], 1e6 * cycles[primitive] / clock_hz, reasons_us[primitive])
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
    harts = min(row["harts"] for row in summary["serial"])
    rows = {row["sync"]: row for row in summary["serial"] if (row["latency"], row["harts"]) == (latency, harts)}
    place = (f"{harts} hart{'s' * (harts > 1)}, PIC latency {latency}: there our off-chip pair takes "
             f"{pair_us(summary, latency):.2f} us, the paper's {paper.PAIR_US['off-chip']} us.")
    masked, optimistic = rows.get("cli-pessim"), rows.get("spl-optim")
    entered, durations, interrupted = [], [], []
    if masked:
        entered.append(("entered, cli-pessim (Table 3)", paper.PESSIMISTIC_ENTERED[LOAD], masked["sections_per_s"], ""))
        durations.append(("mean, cli-pessim", paper.SECTION_US[LOAD], masked["section_us"], LONG_SECTIONS))
    if optimistic:
        entered.append(("entered, spl-optim (Table 4)", paper.OPTIMISTIC_ENTERED[LOAD], optimistic["sections_per_s"],
                        ""))
        interrupted.append(("interrupted, spl-optim (Table 4)", paper.OPTIMISTIC_INTERRUPTED[LOAD],
                            optimistic["interrupted_per_s"], RARE_ARRIVALS))
    reasons = {"off-chip": DEAR_LINK, "on-chip": CHEAP_MASK, "flag": f"{DEAR_FLAG}; {HALF_CLOCK}"}
    overheads = [(scheme, paper.OVERHEAD[scheme][LOAD], rows[scheme]["predicted_percent"],
                  reasons[paper.PRIMITIVE[scheme]]) for scheme in paper.OVERHEAD if scheme in rows]
    return [
        Comparison(f"Tables 3 and 4: critical sections, {LOAD}", "per second", [*entered, *interrupted], "sync",
                   [place]),
        Comparison(f"Table 3: duration of a critical section, {LOAD}", "us", durations, "sync", [place]),
        Comparison(f"Table 6: overhead that the model of Table 2 predicts, {LOAD}", "%", overheads, "sync", [place]),
    ]
