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


def connect(chosen=None):
    """A DuckDB connection whose views are the tables of the `chosen` results directories, of all without it.

    RecordError where there is none, or one cannot be read.
    """
    chosen = [Path(path) for path in (directories() if chosen is None else chosen)]
    if not chosen:
        raise record.RecordError(f"there are no results in {build_root() / 'results'} yet: run an experiment")
    for directory in chosen:
        refresh(directory)
    connection = duckdb.connect()
    for name in tables.NAMES:
        # A view takes no parameters; what quotes a path holds is doubled, as SQL wants it.
        files = ", ".join("'{}'".format(str(path / "tables" / f"{name}.parquet").replace("'", "''"))
                          for path in chosen)
        connection.execute(f"""create view {name} as
            select regexp_replace(filename, '/tables/[^/]*$', '') as directory, * exclude (filename)
            from read_parquet([{files}], union_by_name = true, filename = true)""")
    return connection


def over(records):
    """A DuckDB connection with the tables of `records` alone, in memory."""
    connection = duckdb.connect()
    for name, rows in tables.rows(records).items():
        connection.register(name, tables.arrow(rows))
    # The queries may be those of a record that comes from anybody: they see these tables, and no file.
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
    return connection


def refresh(directory):
    """Writes the tables of a results directory if records are newer than they are."""
    made = directory / "tables" / f"{tables.NAMES[-1]}.parquet"
    sources = [directory / "experiment.json", *directory.glob("runs/*/record.json")]
    if not made.is_file() or not sources[0].is_file() or made.stat().st_mtime < max(
            path.stat().st_mtime for path in sources):
        tables.write(directory, record.read(directory)[1])


def ask(connection, sql, where=""):
    """Column names and rows of a query; RecordError in one line, which begins with `where`, if it is wrong."""
    try:
        answer = connection.execute(sql)
        return [column[0] for column in answer.description], [tuple(map(plain, row)) for row in answer.fetchall()]
    except duckdb.Error as error:
        said = str(error).split("\nLINE ")[0].replace("\n", " ").strip()
        raise record.RecordError(f"{where}the query is wrong: {' '.join(said.split())}") from error


def plain(value):
    """A value as Python and JSON know it: SQL's literals such as 0.5 make decimals."""
    return float(value) if isinstance(value, Decimal) else value
