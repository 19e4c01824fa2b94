"""The command `query`: SQL over records."""

import csv
import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.common import PLAIN_WIDTH
from sim.results.table import printable


class Format(StrEnum):
    """How rows are written."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def query(
    sql: Annotated[str | None, typer.Argument(help="without a query, list tables and columns")] = None,
    directory: Annotated[list[Path] | None, typer.Option(help="only these results; without it all of them")] = None,
    form: Annotated[Format, typer.Option("--format", help="table, csv or json")] = Format.TABLE,
):
    """Ask the records of experiments with SQL (DuckDB): tables runs, harts, results, locks, lock_sites, interrupts.

    Example:  ./interlock query "select sync, avg(cycles) from runs group by all order by all" --format csv
    """
    from sim.results import query, tables
    left_out: list[Exception] = []
    connection = query.connect(directory, left_out)
    for error in left_out:
        print(f"interlock: left out: {error}", file=sys.stderr)
    if sql is None:
        sql = f"""select table_name as "table", string_agg(column_name, ', ' order by column_index) as columns
                  from duckdb_columns() where table_name in {tables.NAMES} and schema_name = 'main'
                  group by all order by all"""
    columns, rows = query.ask(connection, sql)
    if form is Format.JSON:
        print(json.dumps([dict(zip(columns, row, strict=True)) for row in rows], indent=1, default=str))
    elif form is Format.CSV:
        out = csv.writer(sys.stdout, lineterminator="\n")
        out.writerow(columns)
        out.writerows(rows)
    else:
        show(columns, rows)


def show(columns, rows):
    """Rows as a table: numbers to the right, nothing for what is missing."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text
    drawn = Table(box=box.SIMPLE_HEAD)
    for index, column in enumerate(columns):
        numbers = all(isinstance(row[index], int | float | None) for row in rows)
        drawn.add_column(Text(printable(column)), justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        drawn.add_row(*(Text("" if value is None else f"{value:.6g}" if isinstance(value, float) else
                             printable(str(value))) for value in row))
    Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH).print(drawn)
