"""The report of an experiment file's `[[collect]]` tables: SQL over its records, each a table and, if asked, a plot."""

import re

from sim.results import query, record
from sim.results.plot import Plot
from sim.results.table import Table, number


def summarise(experiment, records):
    """What each query gives over the runs that ended well; nothing if none has, as then tables lack their columns."""
    ended = [made for made in records if made["failure"] is None]
    if not ended:
        return {"collected": []}
    connection = query.over(ended)
    collected = []
    for wanted in experiment["collect"]:
        columns, rows = query.ask(connection, wanted["query"], f"[[collect]] '{wanted['title']}': ")
        plot = wanted.get("plot")
        if plot:
            for name in (plot["x"], plot["y"], *plot.get("line", ())):
                if name not in columns:
                    raise record.RecordError(f"[[collect]] '{wanted['title']}', plot: the query has no column "
                                             f"'{name}' (columns: {', '.join(columns)})")
        collected.append({"title": wanted["title"], "columns": columns, "rows": [list(row) for row in rows],
                          "notes": wanted.get("notes", []), "plot": plot})
    return {"collected": collected}


def tables(summary):
    return [Table(made["title"], made["columns"], [[cell(value) for value in row] for row in made["rows"]],
                  made["notes"]) for made in summary["collected"]]


def cell(value):
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return number(value, 4) if value is None or isinstance(value, float) else str(value)


def plots(summary):
    drawn = []
    for made in summary["collected"]:
        plot = made["plot"]
        if not plot:
            continue
        rows = [dict(zip(made["columns"], row, strict=True)) for row in made["rows"]]
        series = {}
        for row in rows:
            if row[plot["x"]] is not None and row[plot["y"]] is not None:
                label = ", ".join(str(row[name]) for name in plot.get("line", ())) or plot["y"]
                series.setdefault(label, []).append((row[plot["x"]], row[plot["y"]]))
        if series:
            name = re.sub(r"[^a-z0-9]+", "-", made["title"].lower()).strip("-")
            drawn.append(Plot(name, made["title"], plot.get("x_label") or plot["x"], plot.get("y_label") or plot["y"],
                              {label: sorted(points) for label, points in series.items()},
                              log_x=plot.get("log_x", False), log_y=plot.get("log_y", False)))
    return drawn
