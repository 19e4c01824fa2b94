"""The report of `processes`: what fork, execve, threads, signals, pipes and switches cost."""

from sim.results.plot import Plot
from sim.results.table import Table, span

COSTS = {
    "null": "null call",
    "fork": "fork, exit, wait",
    "fork_exec": "with execve",
    "vfork_exec": "vfork with execve",
    "spawn": "spawn, exit, wait",
    "thread": "new thread",
    "signal": "signal to oneself",
    "pipe": "byte there and back",
}
SWITCHES = {"switch_1": "2 threads of one", "switch_2": "2", "switch_4": "4", "switch_8": "8", "switch_16": "16"}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "runs": [figures(made) for made in good],
    }


def figures(made):
    """The costs of one machine under one scheme, in cycles; the signal's as a multiple of its floor, two null calls."""
    line = made["run"]["results"]["process_cost"][0]
    costs = {cost: line[cost] for cost in COSTS | SWITCHES}
    return {"harts": made["harts"], "sync": made["sync"],
            "signal_over_floor": round(line["signal"] / (2 * line["null"]), 2)} | costs


def tables(summary):
    """The report's tables, in order."""
    if not summary["runs"]:
        return []
    order = summary["settings"]["schemes"]
    runs = sorted(summary["runs"], key=lambda row: (order.index(row["sync"]), row["harts"]))
    costs = [[row["sync"], row["harts"], *(row[cost] for cost in COSTS), row["signal_over_floor"]] for row in runs]
    switches = [[row["sync"], row["harts"], *(row[cost] for cost in SWITCHES)] for row in runs]
    return [
        Table("Processes, threads and signals", ["scheme", "harts", *COSTS.values(), "signal / two null calls"], costs,
              ["Cycles, medians, from user mode to user mode, seen by the program `process_cost` on the last hart, "
               "without clock interrupts. The programs executed exit at once. A new thread is timed to its first "
               "instruction. A signal is kill, the handler, and sigreturn: two calls at least."]),
        Table("One switch among so many processes", ["scheme", "harts", *SWITCHES.values()], switches,
              ["Cycles for one step of sched_yield around all of them, on one hart. The first column is the floor: two "
               "threads in one address space."]),
    ]


def answer(summary):
    """The range over schemes and harts of the whole life of a process, a thread and a signal."""
    if not summary["runs"]:
        return ""

    def over(cost):
        return span([row[cost] for row in summary["runs"]])
    return (f"Over schemes and harts, fork to wait takes {over('fork')} cycles, with execve {over('fork_exec')}, by "
            f"vfork {over('vfork_exec')}; a new thread {over('thread')}. A signal takes "
            f"{over('signal_over_floor')} times its floor of two null calls; a switch among 16 processes "
            f"{over('switch_16')} cycles, between two threads of one {over('switch_1')}.")


def plots(summary):
    """A switch over how many processes there are, and fork with all that follows over harts: a line a scheme."""
    drawn, order = [], summary["settings"]["schemes"]
    runs = sorted(summary["runs"], key=lambda row: (order.index(row["sync"]), row["harts"]))
    for harts in sorted({row["harts"] for row in runs}):
        lines = {row["sync"]: [(int(name.removeprefix("switch_")), row[name]) for name in SWITCHES
                               if name != "switch_1"] for row in runs if row["harts"] == harts}
        drawn.append(Plot(f"switches-{harts}", f"One switch among processes, {harts} hart{'s' * (harts > 1)}",
                          "processes", "cycles", lines, log_x=True))
    if len({row["harts"] for row in runs}) > 1:
        lines = {}
        for row in runs:
            lines.setdefault(row["sync"], []).append((row["harts"], row["fork_exec"]))
        drawn.append(Plot("fork-exec", "fork, execve, exit, wait", "harts", "cycles", lines))
    return drawn
