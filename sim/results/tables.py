"""The records of a results directory as flat tables, kept in Parquet (`<out>/tables/`) and read with SQL.

    runs        one row a run: what was asked for (parameters, `option_*`), how it ended, lengths, what was received
    harts       one row a run and hart: its statistics
    results     one row for each line `@kind key=value ...` that a target printed; `result` is the kind
    locks       one row a run and lock class
    lock_sites  one row a run, place of acquisition and lock class
    interrupts  one row a run and source of the interrupt controller: its rises, wire to handler, wire to thread
    wires       one row a run and wire between nodes

All have `id`, the run's; all but `runs` and `wires` have `node`, 0 where a machine is alone. Nested figures are columns
such as `body_cycles_total` (cycles), `body_cycles_log2` a list whose element i counts values from 2^i to 2^(i+1)-1, and
figures by number (`interrupts_by_cause`) a map.
"""

import json
from pathlib import Path

from sim.results import record

NAMES = ("runs", "harts", "results", "locks", "lock_sites", "interrupts", "wires")
TEXT = ("failure", "reason")        # text, also if all values are missing


def rows(records):
    """All tables of `records`: name -> rows, each a dictionary."""
    tables = {name: [] for name in NAMES}
    for made in records:
        tables["runs"].append(run_row(made))
        for node, run in enumerate(record.nodes_of(made["run"])):
            add_node(tables, {"id": made["id"], "node": node}, run)
        tables["wires"] += [{"id": made["id"], "wire": index} | wire
                            for index, wire in enumerate(made["run"].get("wires", ()))]
    return tables


def add_node(tables, key, run):
    """Adds the rows of one machine, each of which begins with `key`."""
    for index, hart in enumerate(run.get("harts", ())):
        others = {name: value for name, value in hart.items() if name != "statistics"}
        tables["harts"].append(key | {"hart": index} | flat(others) | flat(hart.get("statistics", {})))
    for kind, lines in run.get("results", {}).items():
        tables["results"] += [key | {"result": kind, "line": index} | flat(apart(line, (*key, "result", "line")))
                              for index, line in enumerate(lines)]
    locks = run.get("locks", {})
    tables["locks"] += [key | flat(entry) for entry in locks.get("classes", ())]
    tables["lock_sites"] += [key | flat(entry) for entry in locks.get("sites", ())]
    tables["interrupts"] += [key | {"source": int(source)} | flat(entry)
                             for source, entry in run.get("interrupts", {}).items()]


def run_row(made):
    """The row of a record: its parameters by their own names, build options as `option_NAME`."""
    run = made["run"]
    names = ("experiment", "id", "kind", "harts", "sync", "failure", "bootargs", "image_sha256")
    row = {name: made[name] for name in names}
    row |= {f"option_{name}": value for name, value in made["options"].items()}
    row |= {name: value for name, value in made["parameters"].items() if name not in row}
    whole = ("window", "exit", "serial", "received")
    more = {name: run[name] for name in ("cycles", "simulated_seconds", "trace_records", "digest", "reason")
            if name in run} | {name: (made if name == "received" else run).get(name) or {} for name in whole}
    more["soc"] = made["soc"]
    more["host"] = {name: value for name, value in made["host"].items() if name not in ("command", "key")}
    return row | apart(flat(more), row)


def apart(row, taken):
    """`row` with names that are `taken` written `value_NAME`."""
    return {f"value_{name}" if name in taken else name: value for name, value in row.items()}


def flat(value, prefix=""):
    """A nested dictionary as one: names joined with `_`. Counts by number, and empty ones, stay together."""
    row = {}
    for name, inner in value.items():
        if isinstance(inner, dict) and inner and not all(map(is_key, inner)):
            row |= flat(inner, f"{prefix}{name}_")
        elif inner != {} or name.endswith(("_by_cause", "_in_section", "_probes")):
            row[prefix + name] = inner
    return row


def arrow(rows):
    """Rows as an Arrow table; a column of mixed kinds becomes text."""
    import pyarrow
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["id"]
    made = {}
    for name in columns:
        values = [row.get(name) for row in rows]
        kind = column_kind(name, [value for value in values if value is not None])
        if kind == pyarrow.string():
            values = [value if value is None or isinstance(value, str) else str(value) for value in values]
        elif pyarrow.types.is_map(kind):
            values = [None if value is None else [(int(key), count) for key, count in value.items()]
                      for value in values]
        made[name] = pyarrow.array(values, kind)
    return pyarrow.table(made)


def is_int64(value):
    return isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63


def column_kind(name, values):
    """The Arrow type that all `values` of a column have; text where there is none."""
    import pyarrow
    kinds = {type(value) for value in values}
    counted = pyarrow.map_(pyarrow.int64(), pyarrow.int64())
    for python, kind, fits in (
            (bool, pyarrow.bool_(), lambda value: True), (str, pyarrow.string(), lambda value: True),
            (list, pyarrow.list_(pyarrow.int64()), lambda value: all(map(is_int64, value))),
            (dict, counted, lambda value: all(map(is_int64, value.values())) and all(map(is_key, value)))):
        if kinds == {python} and all(map(fits, values)):
            return kind
    if name in TEXT or not kinds <= {int, float}:
        return pyarrow.string()
    if float in kinds:
        return pyarrow.float64()
    return pyarrow.int64() if all(map(is_int64, values)) else pyarrow.string()


def is_key(text):
    """Whether a name counts something by number, as an int64 column can hold it."""
    return text.isdecimal() and text.isascii() and len(text) < 19


def write(directory, records):
    """Writes all tables of `records` to `directory`/tables, each whole or not at all; RecordError."""
    import pyarrow
    from pyarrow import parquet
    folder = Path(directory) / "tables"
    record.make_directory(folder)
    for name, content in rows(records).items():
        sink = pyarrow.BufferOutputStream()
        parquet.write_table(arrow(content), sink)
        record.write_bytes(folder / f"{name}.parquet", sink.getvalue())


def collect(directory):
    """Writes records.jsonl and the tables from the single records, and returns the result of `record.read`."""
    experiment, records = record.read(directory)
    write(directory, records)
    record.write_text(Path(directory) / "records.jsonl",
                      "".join(json.dumps(made, sort_keys=True) + "\n" for made in records))
    return experiment, records
