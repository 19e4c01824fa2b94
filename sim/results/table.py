"""A table of a report, for the terminal and for Markdown, and its figures."""

import csv
import io
import re
import textwrap
from dataclasses import dataclass, field

from sim.results.statistics import Samples

WIDE = 110              # characters of a row from which on the terminal shows intervals below their figures
INTERVAL = re.compile(r" (\([^()]*\.\.[^()]*\))")
FOLDED_ROWS = 10        # larger tables are folded in Markdown
HEADING_WIDTH = 14      # characters of a heading on the terminal before it wraps, where figures are narrower


@dataclass
class Table:
    """A table and the remarks below it. Cells are strings; `main` tables are those the terminal shows; the first
    `texts` columns are words, the others figures."""

    title: str
    columns: list
    rows: list
    notes: list = field(default_factory=list)
    main: bool = True
    texts: int = 1

    def markdown(self):
        def line(cells):
            return "| " + " | ".join(str(cell).replace("|", "\\|") for cell in cells) + " |"
        rule = "|" + "|".join([" --- "] * self.texts + [" ---: "] * (len(self.columns) - self.texts)) + "|"
        lines = [line(self.columns), rule, *map(line, self.rows)]
        if len(self.rows) > FOLDED_ROWS:
            lines = ["<details>", f"<summary>{len(self.rows)} rows</summary>", "", *lines, "", "</details>"]
        lines = [f"## {self.title}", "", *lines]
        for note in self.notes:
            lines += ["", note]
        return "\n".join(lines)

    def csv(self):
        """The table as a file of comma-separated values."""
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([self.columns, *self.rows])
        return text.getvalue()

    def rich(self):
        """The table for a Rich console, without title and notes."""
        from rich import box
        from rich.table import Table as RichTable
        from rich.text import Text
        rows = [[printable(str(cell)) for cell in row] for row in self.rows]
        wide = any(sum(map(len, row)) + 3 * len(row) > WIDE for row in rows)
        if wide:        # intervals go below their figures
            rows = [[INTERVAL.sub(r"\n\1", cell) for cell in row] for row in rows]
        drawn = RichTable(box=box.SIMPLE_HEAD, padding=(0, 0) if wide else (0, 1))
        for index, column in enumerate(self.columns):
            words = index < self.texts      # may be wrapped; figures stay whole
            widest = max((len(line) for row in rows for line in row[index].splitlines()), default=0)
            heading = "\n".join(textwrap.wrap(str(column), max(widest, HEADING_WIDTH))) or str(column)
            drawn.add_column(Text(heading), justify="left" if words else "right", no_wrap=not words,
                             min_width=min(widest, HEADING_WIDTH))
        for row in rows:
            drawn.add_row(*map(Text, row))      # verbatim: "[...]" is no mark-up
        return drawn


def printable(text):
    """Text from a record or a target, safe for a terminal: control characters are escaped."""
    return "".join(character if character.isprintable() or character in "\n\t" else ascii(character)[1:-1]
                   for character in text)


def number(value, digits=3):
    """A figure with so many significant digits, thousands separated; a dash for none. If it varies over layouts and
    seeds: its median, and its interval in brackets unless that is narrower than the last digit."""
    if value is None:
        return "-"
    if isinstance(value, Samples):
        return format(value, f",.{places(float(value) or value.high, digits)}f")
    if value == 0:
        return "0"
    return f"{value:,.{places(value, digits)}f}"


def span(values):
    """The least and the greatest of several figures; one if they are the same."""
    ends = [number(min(values, key=float)), number(max(values, key=float))]
    return " to ".join(dict.fromkeys(ends))


def places(value, digits):
    """The number of decimals for so many significant digits."""
    decimals = digits
    while decimals and abs(value) >= 10 ** (digits - decimals):
        decimals -= 1
    return decimals
