"""SQL over records, with DuckDB: the tables of sim/results/tables.py as views, over one results directory or many.

Each view has a column `directory` beside those of its table: which results the row is of.
"""

from decimal import Decimal
from pathlib import Path

import duckdb

from sim.results import record, tables
from support.cache import build_root


def directories():
    """All results directories under build/results, in order of name."""
    return sorted(path.parent for path in (build_root() / "results").glob("*/*/experiment.json"))


def connect(chosen=None, left_out=None):
    """A DuckDB connection whose views are the tables of the `chosen` results directories, of all without it.

    Directories and records that cannot be read are RecordErrors. With a list `left_out`, errors of records, and without
    `chosen` those of directories too, go into it, and the rest is returned; if nothing is left, the first is raised.
    """
    every = chosen is None
    directories_read = [Path(path) for path in (directories() if every else chosen)]
    if not directories_read:
        raise record.RecordError(f"there are no results in {build_root() / 'results'} yet: run an experiment")
    connection = duckdb.connect()
    kept, beside = [], {}
    for directory in directories_read:
        try:
            made = refresh(directory, left_out)
        except record.RecordError as error:
            if not every or left_out is None:
                raise
            left_out.append(error)
            continue
        kept.append(directory)
        if made:
            beside[directory] = made
    if not kept:
        raise left_out[0]
    for name in tables.NAMES:
        connection.execute(f"create view {name} as {' union all by name '.join(parts(connection, name, kept, beside))}")
    return connection


def parts(connection, name, kept, beside):
    """The queries that together make the table `name` of the directories `kept`: those whose tables are files, then
    each of those `beside`, whose tables could not be written."""
    # A view takes no parameters; quotes in a path are doubled, as SQL requires.
    quoted = {path: str(path).replace("'", "''") for path in kept}
    files = [f"'{quoted[path]}/tables/{name}.parquet'" for path in kept if path not in beside]
    if files:
        yield f"""select regexp_replace(filename, '/tables/[^/]*$', '') as directory, * exclude (filename)
            from read_parquet([{', '.join(files)}], union_by_name = true, filename = true)"""
    for index, (path, made) in enumerate(beside.items()):
        connection.register(f"beside_{index}_{name}", tables.arrow(made[name]))
        yield f"select '{quoted[path]}' as directory, * from beside_{index}_{name}"


def over(records):
    """A DuckDB connection with the tables of `records` alone, in memory."""
    connection = duckdb.connect()
    for name, rows in tables.rows(records).items():
        connection.register(name, tables.arrow(rows))
    # The queries may come with a record from anywhere: they see these tables, and no file.
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def refresh(directory, left_out=None):
    """Writes the tables of a results directory if records are newer than they are. If they cannot be written, returns
    their rows (sim/results/tables.py), else None. Damaged records: as in `record.read`."""
    made = directory / "tables" / f"{tables.NAMES[-1]}.parquet"
    sources = [directory / "experiment.json", *directory.glob("runs/*/record.json")]
    record.check_plain(directory)
    if made.is_file() and sources[0].is_file() and made.stat().st_mtime >= max(
            path.stat().st_mtime for path in sources):
        return None
    damaged = []
    records = record.read(directory, damaged if left_out is not None else None)[1]
    if damaged:
        left_out += damaged
        return tables.rows(records)     # not kept: the next query reports it again
    try:
        tables.write(directory, records)
    except record.Unwritable:
        return tables.rows(records)
    return None


def ask(connection, sql, where=""):
    """Column names and rows of a query; RecordError in one line, which begins with `where`, if it is wrong."""
    try:
        answer = connection.execute(sql)
        if answer is None or answer.description is None:
            raise record.RecordError(f"{where}the query is empty")
        return [column[0] for column in answer.description], [tuple(map(plain, row)) for row in answer.fetchall()]
    except (duckdb.Error, UnicodeError) as error:
        said = str(error).split("\nLINE ")[0].replace("\n", " ").strip()
        raise record.RecordError(f"{where}the query is wrong: {' '.join(said.split())}") from error


def plain(value):
    """A value as a Python and JSON type: SQL's literals such as 0.5 make decimals."""
    return float(value) if isinstance(value, Decimal) else value
