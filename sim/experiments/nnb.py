"""The report of `nnb`: completion times over users, as Figures 1 to 4 of paper `mach`, and the locks behind them."""

from sim.results import claims, sampling
from sim.results.plot import Plot
from sim.results.statistics import share
from sim.results.table import Table, number

KERNELS = ("serial", "parallel", "beyond")
FIGURES = {8: ("Figure 1", "empty calls"), 18: ("Figure 2", "random reads"), 3: ("Figure 3", "disk I/O"),
           1: ("Figure 4", "the average user")}
MARGIN = 0.10   # within which two completion times are called the same
FREE_LIST = "bfreelist"
FEW = 50        # attempts: a ratio of fewer says little
MOST_LOCKS = 6  # of each table's part


def summarise(experiment, records):
    """All figures of the report, from the records alone."""
    good = [made for made in records if made["failure"] is None]
    return {
        "times": [line | place(made) for made in good if made["kind"] == "nnb"
                  for line in made["run"]["results"]["nnb"]],
        "variants": [line | place(made) | {"how": how(made)} for made in good if made["kind"] in ("biodone", "shared")
                     for line in made["run"]["results"]["nnb"]],
        "locks": [row for made in good if made["kind"] in ("nnb", "locks") and place(made)["by"] == "kernel"
                  for row in locks(made)],
    }


def place(made):
    parameters = made["parameters"]
    by = "kernel" if made["kind"] == "locks" else parameters.get("by", "processes")
    return {"kernel": parameters["kernel"], "by": by, "sync": made["sync"], "harts": made["harts"],
            "disks": parameters.get("disks", 1)}


def how(made):
    """What is different in a variant."""
    return "one descriptor table" if made["kind"] == "shared" else f"{made['parameters']['threads']} biodone_threads"


def locks(made):
    """One row for each class of locks that was wanted in the measured parts: of one test, or of all together."""
    lines = made["run"]["results"]["nnb"]
    test, users = only(lines, "test"), only(lines, "users")
    for entry in made["run"]["locks"]["classes"]:
        if entry["attempts"]:
            yield place(made) | {
                "test": test, "users": users, "cycles": sum(line["cycles"] for line in lines), "class": entry["class"],
                "kind": entry["kind"], "attempts": entry["attempts"], "misses": entry["misses"],
                "blocks": entry["blocks"], "refused": entry["failures"], "waited": entry["wait_cycles"]["total"]}


def only(lines, name):
    """What they all have there, or `all`."""
    values = {line[name] for line in lines}
    return values.pop() if len(values) == 1 else "all"


def order(row):
    return str(row["test"]), row["by"], row["disks"], row["harts"], row["sync"], KERNELS.index(row["kernel"])


def titled(test):
    figure, what = FIGURES.get(test, ("", ""))
    return f"{figure}: test {test}, {what}" if figure else f"Test {test}"


def tables(summary):
    """The report's tables, in order."""
    made = []
    for test in [*FIGURES, *sorted({row["test"] for row in summary["times"]} - set(FIGURES))]:
        rows = sorted((row for row in summary["times"] if row["test"] == test), key=order)
        if rows:
            made.append(times_table(test, rows, summary["settings"]))
    if summary["times"]:
        made.append(gain_table(summary["times"]))
        made.append(claim_table(summary))
    if summary["locks"]:
        made.append(lock_table(summary["locks"]))
    if summary["variants"]:
        made.append(variant_table(summary))
    return [table for table in made if table]


def times_table(test, rows, settings):
    users = sorted({row["users"] for row in rows})
    much = {name: settings["size"] * settings[name] for name in ("average", "loops", "calls", "reads")}
    taken = {(order(row), row["users"]): row["cycles"] for row in rows}
    cells = [[row["kernel"], row["by"], row["sync"], row["disks"], row["harts"],
              *(number(taken[order(row), n] / 1000, 3) if (order(row), n) in taken else "-" for n in users)]
             for row in {order(row): row for row in rows}.values()]
    return Table(f"{titled(test)}: completion time",
                 ["kernel", "users", "scheme", "disks", "harts", *(f"{n}" for n in users)], cells,
                 ["Thousand cycles from the common start to the end of the last user, over users. A user does: "
                  + {1: f"{much['average']} time(s) what the average user does",
                            3: f"{much['loops']} loop(s) of 15 reads and writes",
                            8: f"{much['calls']} empty calls",
                            18: f"{much['reads']} random reads"}.get(test, "a test") + "."], texts=3)


def gains_of(times):
    """(kernel, by, sync, test, disks, harts) -> {users: how many times as fast as the serial kernel}."""
    taken = {(row["test"], row["by"], row["disks"], row["harts"], row["sync"], row["users"], row["kernel"]):
             row["cycles"] for row in times}
    found = {}
    for test, by, disks, harts, sync in sorted({key[:5] for key in taken}):
        for kernel in KERNELS[1:]:
            gains = {key[5]: taken[key[:6] + ("serial",)] / cycles for key, cycles in taken.items()
                     if key[:5] == (test, by, disks, harts, sync) and key[6] == kernel
                     and key[:6] + ("serial",) in taken}
            if gains:
                found[kernel, by, sync, test, disks, harts] = gains
    return found


def gain_table(times):
    """How many times as fast as the serial kernel."""
    rows = []
    for place_, gains in gains_of(times).items():
        best = max(gains, key=lambda n: gains[n])
        rows.append([*place_, f"{gains[min(gains)]:.2f}", f"{gains[best]:.2f} ({best})", f"{gains[max(gains)]:.2f}"])
    return Table("As fast as the serial kernel, times",
                 ["kernel", "users", "scheme", "test", "disks", "harts", "fewest users", "best (users)",
                  "most users"], rows, texts=3)


def claim_table(summary):
    """What paper `mach` says of its two kernels (section 3.3), with one disk and the most users, on each number of
    harts; a and b are thousand cycles, gains or miss ratios."""
    found = {}
    for row in summary["times"]:
        if row["disks"] == 1:
            found[row["test"], row["harts"], row["users"], row["kernel"]] = row["cycles"] / 1000
    gains = {(test, harts, kernel): of_users for (kernel, _, _, test, disks, harts), of_users
             in gains_of(summary["times"]).items() if disks == 1}
    tried = []
    for test, harts in sorted({key[:2] for key in found}):
        users = max(key[2] for key in found if key[:2] == (test, harts))
        serial, parallel = (found.get((test, harts, users, kernel)) for kernel in KERNELS[:2])
        if serial is None or parallel is None:
            continue
        rule = f"thousand cycles with {users} users, parallel (a), serial (b)"
        if test == 8:
            tried.append(claims.same(f"test 8 takes the same under both, {harts} harts", rule, parallel, serial,
                                     MARGIN))
        else:
            tried.append(claims.less(f"test {test} is faster under the parallel kernel, {harts} harts", rule, parallel,
                                     serial))
            for kernel, text in ((KERNELS[1], "decays as users are added"),
                                 (KERNELS[2], "of what the paper proposes is kept as users are added")):
                of_users = gains.get((test, harts, kernel), {})
                if len(of_users) > 1 and harts > 1:
                    best = max(of_users, key=lambda n: float(of_users[n]))
                    rule = f"times as fast with {users} users (a), with {best}, the most gain (b)"
                    tried.append((claims.less if kernel == KERNELS[1] else claims.same)(
                        f"the gain {text}: test {test}, {harts} harts", rule, of_users[users], of_users[best],
                        *([] if kernel == KERNELS[1] else [MARGIN])))
    ratios = {}
    for row in summary["locks"]:
        if row["kernel"] == KERNELS[1] and row["attempts"] >= FEW:
            ratio = share(row["misses"], row["attempts"])
            ratios[row["class"]] = max(ratios.get(row["class"], 0), ratio, key=float)
    listed = ratios.pop(FREE_LIST, None)
    if listed is not None and ratios:
        other = max(ratios, key=lambda name: float(ratios[name]))
        tried.append(claims.less(f"{FREE_LIST} is missed ten times as often as any other lock",
                                 f"ten times the misses of {other}, % (a), of {FREE_LIST}, % (b)", 10 * ratios[other],
                                 listed))
    return claims.table("What paper mach claims of its kernels", tried, sampling.count(summary)) if tried else None


def lock_table(locks):
    rows = []
    for place_ in dict.fromkeys((order(row), row["users"]) for row in sorted(locks, key=order)):
        own = [row for row in locks if (order(row), row["users"]) == place_ and row["attempts"] >= FEW]
        for row in sorted(own, key=lambda row: -row["misses"] / row["attempts"])[:MOST_LOCKS]:
            rows.append([row["kernel"], row["class"], row["kind"], row["test"], row["disks"], row["harts"],
                         row["users"], row["attempts"], row["misses"], f"{share(row['misses'], row['attempts']):.2f}",
                         row["blocks"], row["refused"], f"{row['waited'] / row['cycles']:.2f}"])
    return Table("Locks: the highest miss ratios",
                 ["kernel", "class", "kind", "test", "disks", "harts", "users", "attempts", "misses", "missed, %",
                  "slept", "refused", "threads that wait, mean"], rows,
                 [f"Of those that were wanted {FEW} times at least, the {MOST_LOCKS} that were found taken most often. "
                  "The simulator counts them from outside."], texts=3)


def variant_table(summary):
    usual = {(order(row), row["users"]): row["cycles"] for row in summary["times"]}
    rows = [[row["how"], row["kernel"], row["sync"], row["test"], row["disks"], row["harts"], row["users"],
             number(row["cycles"] / 1000), number(usual[order(row), row["users"]] / 1000)
             if (order(row), row["users"]) in usual else "-"]
            for row in sorted(summary["variants"], key=lambda row: (row["how"], *order(row), row["users"]))]
    return Table("Variants: completion time",
                 ["variant", "kernel", "scheme", "test", "disks", "harts", "users", "thousand cycles", "without"], rows,
                 texts=3)


def plots(summary):
    """Completion time over users, one plot for each test and machine."""
    drawn = []
    for test, by, disks, harts in sorted({(row["test"], row["by"], row["disks"], row["harts"])
                                          for row in summary["times"]}):
        series = {}
        for row in sorted(summary["times"], key=lambda row: (*order(row), row["users"])):
            if (row["test"], row["by"], row["disks"], row["harts"]) == (test, by, disks, harts):
                several = len({r["sync"] for r in summary["times"]}) > 1
                label = f"{row['kernel']}, {row['sync']}" if several else row["kernel"]
                series.setdefault(label, []).append((row["users"], row["cycles"] / 1000))
        name = f"test{test}-{by}-{harts}harts" + (f"-{disks}disks" if disks > 1 else "")
        drawn.append(Plot(name, f"{titled(test)}; {by}, harts: {harts}, disks: {disks}", "users",
                          "completion, thousand cycles", series))
    return drawn


def answer(summary):
    """The parallel kernel's greatest gain on the most harts, and what it wants most of all locks."""
    found = gains_of(summary["times"])
    if not found:
        return ""
    harts = max(place_[5] for place_ in found)
    parts = []
    for test in [test for test in FIGURES if any(place_[3] == test for place_ in found)]:
        gains = [(value, users) for place_, of_users in found.items() for users, value in of_users.items()
                 if (place_[0], place_[3], place_[5]) == ("parallel", test, harts)]
        if gains:
            value, users = max(gains, key=lambda each: float(each[0]))
            parts.append(f"{number(value)} times in test {test} ({users} users)")
    text = (f"On {harts} harts the parallel kernel is at best {', '.join(parts)} as fast as the serial one."
            if parts else "")
    wanted = [row for row in summary["locks"] if row["kernel"] == "parallel" and row["attempts"] >= FEW]
    if wanted:
        row = max(wanted, key=lambda row: float(row["misses"] / row["attempts"]))
        text += (f" Of its locks {row['class']} is found taken most often, "
                 f"{number(share(row['misses'], row['attempts']))} % of the time at worst.")
    return text.strip()
