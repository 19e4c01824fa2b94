"""The report of `system-calls`: what user mode costs."""

from sim.results.table import Table, span

COSTS = {
    "null": "null call",
    "clock": "clock_gettime",
    "yield": "sched_yield, alone",
    "thread_switch": "switch, same process",
    "process_switch": "switch, other process",
    "spawn": "spawn and wait",
}


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "runs": [figures(made) for made in good],
    }


def figures(made):
    """The costs of one machine under one scheme, in cycles."""
    line = made["run"]["results"]["syscall_cost"][0]
    return {"harts": made["harts"], "sync": made["sync"]} | {cost: line[cost] for cost in COSTS}


def tables(summary):
    """The report's tables, in order."""
    if not summary["runs"]:
        return []
    order = summary["settings"]["schemes"]
    rows = [[row["sync"], row["harts"], *(row[cost] for cost in COSTS)]
            for row in sorted(summary["runs"], key=lambda row: (order.index(row["sync"]), row["harts"]))]
    notes = ["Cycles, medians, from user mode to user mode, seen by the program `cost` on the last hart, without clock "
             "interrupts. A switch is from one thread's sched_yield to the other's return from its own. Between "
             "processes it also changes satp and fills the TLB again. The program spawned exits at once."]
    return [Table("System calls and switches", ["scheme", "harts", *COSTS.values()], rows, notes)]


def answer(summary):
    """The range over schemes and harts of a null call, a switch and a process."""
    if not summary["runs"]:
        return ""

    def over(cost):
        return span([row[cost] for row in summary["runs"]])
    return (f"Over schemes and harts a null call takes {over('null')} cycles and a switch to a thread of the same "
            f"process {over('thread_switch')}. A switch to another process takes {over('process_switch')}, and to "
            f"spawn one that exits at once and wait for it {over('spawn')}.")
