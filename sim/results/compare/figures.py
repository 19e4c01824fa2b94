"""The figures of a record, by name; the names are those of the tables and columns of `./interlock query`.

    runs.cycles                             of the run
    harts.entered                           all harts together: counts and totals added
    harts.body_cycles_mean, ..._max         of a spread, over all harts
    results[table5 spl-optim].cycles_per_pair   of a line that the target printed; its words tell lines apart
    locks[run queue].attempts, interrupts[16].wire_to_handler_mean
"""

from sim.results import tables

LEFT_OUT = ("host_", "soc_", "option_", "log2", "window_begin", "window_end", "exit_", "serial_uart",
            "received_first_difference")
SPREAD = ("count", "total", "min", "max")


def figures(made, hidden=()):
    """Name -> number, of one record; without the figures of the host.

    `hidden`: values of parameters that need not match; a word that all lines of a kind share is left out of their names
    if it is one of them, so that the same lines under another scheme, say, have the same names.
    """
    content = tables.rows([made])
    taken = set(made["parameters"]) | {"harts"}
    found = {f"runs.{name}": value for name, value in numbers(content["runs"][0]) if name not in taken}
    found |= {f"harts.{name}": value for name, value in combined(content["harts"]).items()}
    for table, by in (("locks", "class"), ("interrupts", "source")):
        for row in content[table]:
            found |= {f"{table}[{row[by]}].{name}": value for name, value in combined([row]).items() if name != by}
    for kind, rows in grouped(content["results"]).items():
        lines = [[value for name, value in row.items() if isinstance(value, str) and name not in ("id", "result")]
                 for row in rows]
        shared = {word for word in hidden if all(word in words for words in lines)}
        seen = {}
        for row, words in zip(rows, lines, strict=True):
            of = [f"node {row['node']}"] if row.get("node") else []
            label = " ".join([kind, *of, *(word for word in words if word not in shared)])
            seen[label] = seen.get(label, 0) + 1
            numbered = label if seen[label] == 1 else f"{label} #{seen[label]}"
            found |= {f"results[{numbered}].{name}": value for name, value in numbers(row)
                      if name not in ("line", "node")}
    return found


def grouped(rows):
    """The target's result lines, by kind."""
    kinds = {}
    for row in rows:
        kinds.setdefault(row["result"], []).append(row)
    return kinds


def numbers(row):
    return [(name, value) for name, value in row.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and not name.startswith(LEFT_OUT)]


def combined(rows):
    """The numbers of several rows as one: the sums; of spreads (NAME_count, _total, _min, _max) count, mean and max."""
    columns = {}
    for row in rows:
        for name, value in numbers(row):
            columns.setdefault(name, []).append(value)
    spreads = [name.removesuffix("_total") for name in columns
               if name.endswith("_total") and f"{name.removesuffix('_total')}_count" in columns]
    inside = {f"{spread}_{part}" for spread in spreads for part in SPREAD}
    made = {name: sum(values) for name, values in columns.items() if name not in inside | {"hart", "node"}}
    for spread in spreads:
        count = sum(columns[f"{spread}_count"])
        made[f"{spread}_count"] = count
        if count:
            made[f"{spread}_mean"] = sum(columns[f"{spread}_total"]) / count
            made[f"{spread}_max"] = max(columns[f"{spread}_max"])
    return made
