"""What a run under a load of paper `sync` gives: how often sections are entered and interrupted, how long they are, and
what masking costs, by the model of Table 2, seen from outside, and as the difference to the same work unmasked."""

import statistics

from sim.experiments import paper_sync as paper


def pair_cycles(made):
    """Cycles per pair of each scheme, from a Table 5 run; the cost of the loop is taken off by the target."""
    return {line["scheme"]: line["cycles_per_pair"] for line in made["run"]["results"]["table5"]}


def hart_cycles(made):
    """Cycles for which each hart was under the load: its own for the synthetic one, the window for the serial one."""
    run = made["run"]
    if "synthetic" in run["results"]:
        return [line["cycles"] for line in run["results"]["synthetic"]]
    return [run["window"]["cycles"]] * len(run["harts"])


def figures(made, pairs, clock_hz):
    """The figures of one run. Rates are per second of simulated time, of all harts together; costs are in cycles a
    section. `percent`: of one hart's time under the serial load, which is one thread's, and of every hart's under the
    synthetic one, which all have."""
    run = made["run"]
    harts = [hart["statistics"] for hart in run["harts"]]
    cycles = hart_cycles(made)
    synthetic = "synthetic" in run["results"]
    share = sum(cycles) if synthetic else cycles[0]

    def total(name, figure=None):
        return sum(hart[name] if figure is None else hart[name][figure] for hart in harts)

    def per_second(name):
        return sum(hart[name] / (spent / clock_hz) for hart, spent in zip(harts, cycles, strict=True))

    scheme = made["sync"]
    entered = total("entered")
    interrupted = "queued" if scheme in paper.FALL_BACK else "sections_interrupted"
    count = total("body_net_cycles", "count")
    primitive = total("enter_cycles", "total") + total("leave_cycles", "total")
    fall_back = fall_back_cycles(harts)
    model = pairs[scheme] * entered
    if scheme in paper.FALL_BACK:
        model += pairs[FALL_BACK_SCHEME[paper.FALL_BACK[scheme]]] * total("queued")
    return {
        "id": made["id"], "harts": made["harts"], "sync": scheme, "interval": made["parameters"].get("interval"),
        "entered": entered, "entered_per_s": per_second("entered"),
        "interrupted": total(interrupted), "interrupted_per_s": per_second(interrupted),
        "section_us": 1e6 * total("body_net_cycles", "total") / count / clock_hz if count else None,
        "share_cycles": share,
        "pair": pairs[scheme],
        "least": min(hart["enter_cycles"]["min"] for hart in harts if hart["enter_cycles"]["count"])
        + min(hart["leave_cycles"]["min"] for hart in harts if hart["leave_cycles"]["count"]),
        "mean": primitive / entered,
        "model_percent": 100 * model / share,
        "marks_percent": 100 * primitive / share,
        "fall_back": fall_back,
        "measured_percent": 100 * (primitive + total("queued") * (fall_back or 0)) / share,
    }


def fall_back_cycles(harts):
    """Cycles that a queued interrupt takes more than one that is handled at once: the trap that queues it and the
    replay, less a trap that handles. None where none was queued."""
    def all_harts(name):
        spreads = [hart[name] for hart in harts]
        return sum(each["count"] for each in spreads), sum(each["total"] for each in spreads)
    (queueing, queueing_cycles), (_, replay_cycles) = all_harts("queueing_trap_cycles"), all_harts("replay_cycles")
    handling, handling_cycles = all_harts("handling_trap_cycles")
    if not queueing or not handling:
        return None
    return (queueing_cycles + replay_cycles) / queueing - handling_cycles / handling


# The scheme whose pair is the primitive that an interrupted section falls back on.
FALL_BACK_SCHEME = {"off-chip": "spl-pessim", "on-chip": "cli-pessim"}


def difference_cycles(made, bare):
    """Cycles a section that the run `made` took more than `bare`, the same work with nothing masked. No interrupt comes
    in either."""
    more = sum(hart_cycles(made)) - sum(hart_cycles(bare))
    return more / sum(line["sections"] for line in made["run"]["results"]["synthetic"])


def lock_figures(made):
    """Of a run whose sections are under one lock: per cent of the harts' time spent in the primitives of masking, and
    waiting for the lock."""
    spent = sum(hart_cycles(made))
    harts = [hart["statistics"] for hart in made["run"]["harts"]]
    masking = sum(hart[name]["total"] for hart in harts for name in ("enter_cycles", "leave_cycles"))
    shared = next(entry for entry in made["run"]["locks"]["classes"] if entry["class"] == "shared")
    return {"harts": made["harts"], "sync": made["sync"], "interval": made["parameters"]["interval"],
            "masking_percent": 100 * masking / spent, "wait_percent": 100 * shared["wait_cycles"]["total"] / spent,
            "attempts": shared["attempts"], "misses": shared["misses"]}


def timed_figures(made, clock_hz):
    """What the kernel timed itself, by the paper's method, beside what was seen from outside in the same run."""
    results = made["run"]["results"]
    harts = [hart["statistics"] for hart in made["run"]["harts"]]
    outside = {"sections": sum(hart["outermost"] for hart in harts),
               "cycles": sum(hart["body_cycles"]["total"] for hart in harts)}
    inside = {name: sum(line[name] for line in results["crit_timing"]) for name in ("sections", "cycles")}
    rates = [line["sections"] * clock_hz / line["cycles"] for line in results.get("crit_poll", ()) if line["cycles"]]
    return {
        "load": "synthetic" if "synthetic" in results else "serial",
        "harts": made["harts"], "sync": made["sync"], "interval": made["parameters"].get("interval"),
        "inside": inside, "outside": outside,
        "section_us": 1e6 * inside["cycles"] / inside["sections"] / clock_hz,
        "net_us": 1e6 * sum(hart["body_net_cycles"]["total"] for hart in harts) / clock_hz
        / sum(hart["body_net_cycles"]["count"] for hart in harts),
        "mean": sum(hart[name]["total"] for hart in harts for name in ("enter_cycles", "leave_cycles"))
        / sum(hart["entered"] for hart in harts),
        "outside_us": 1e6 * outside["cycles"] / outside["sections"] / clock_hz,
        "polls": len(rates),
        "entered_per_s": statistics.fmean(rates) if rates else None,
        "deviation_percent": 100 * statistics.pstdev(rates) / statistics.fmean(rates) if rates else None,
        "most_per_s": max(rates, default=None),
        "interrupted_per_s": sum(hart["queued"] for hart in harts) * clock_hz / hart_cycles(made)[0],
    }
