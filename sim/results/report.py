"""Reports, made from records only: a summary of figures, and tables for the terminal and for report.md.

The part of a single experiment is in the module that its `report` names: `summarise(experiment, records)` gives figures
that are plain JSON, beside those of `frame`, which all experiments have; `tables(summary)` lays them out, and where
defined, `comparisons(summary)` puts them beside a paper's (sim/results/comparison.py), `plots(summary)` draws them
(sim/results/plot), the most significant first, and `answer(summary)` answers the experiment's question in two
sentences. All depend only on their arguments, so a report of the same records is the same to the byte. `OBSERVED` names
the kinds of runs whose figures need an outside observer: those of a board are left out.
"""

import re
import traceback
from dataclasses import dataclass
from pathlib import Path

from sim.experiments.modules import report_of
from sim.results import record, sampling
from sim.results.statistics import plain
from sim.results.table import Table
from sim.results.tables import collect


def fit_line(points):
    """Least squares through (x, y) points: intercept, slope, and the greatest distance of a point from the line."""
    n = len(points)
    if len({x for x, _ in points}) < 2:
        raise ValueError("a line needs points at two places at least")
    mean_x = sum(x for x, _ in points) / n
    mean_y = sum(y for _, y in points) / n
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    intercept = mean_y - slope * mean_x
    return intercept, slope, max(abs(intercept + slope * x - y) for x, y in points)


def solve_line(points, y):
    """The x at which the line through the two points with y nearest to `y` reaches it; ValueError if none does.

    Neighbours and not all points: a cost need not be linear down to the smallest x.
    """
    below = sorted((point for point in points if point[1] <= y), key=lambda point: point[1])
    above = sorted((point for point in points if point[1] > y), key=lambda point: point[1])
    pair = below[-1:] + above[:1] if below and above else below[-2:] or above[:2]
    intercept, slope, _ = fit_line(pair)
    if slope <= 0 or intercept > y:
        raise ValueError(f"nothing gives {y}")
    return (y - intercept) / slope


def frame(experiment, records):
    """The beginning of every summary: what was requested, and the outcome."""
    return {
        "experiment": experiment["experiment"],
        "settings": experiment["settings"],
        "notes": experiment["notes"],
        "clock_hz": experiment["clock_hz"],
        "asked": len(experiment["runs"]),
        "finished": len(records),
        "failures": [{"id": made["id"], "reason": made["failure"]} for made in records if made["failure"]],
    }


def on_board(made):
    """The name of the board that executed a record's run; None in the simulator."""
    return made["run"].get("board")


def summarise(module, experiment, records):
    """All figures of an experiment whose report is in `module`."""
    unseen = [made["id"] for made in records if on_board(made) and made["kind"] in getattr(module, "OBSERVED", ())]
    boards = {"boards": boards_of(records), "unseen": unseen} if boards_of(records) else {}
    return frame(experiment, records) | boards | sampling.summarise(
        module, experiment, [made for made in records if made["id"] not in unseen])


def boards_of(records):
    """A line for each board that executed runs."""
    found = [on_board(made) for made in records if on_board(made)]
    return sorted({f"{board['name']}, {board['harts']} harts, {board['clock_hz'] / 1e6:g} MHz, build "
                   f"{board['fingerprint']}" for board in found})


def board_table(summary):
    """The table on boards in a report of runs on one; None if there are none."""
    if not summary.get("boards"):
        return None
    notes = ["No observer watches a board from outside. What only a simulator sees is missing: sections and primitives "
             "as they retire, wires to handlers, a run's exact length, the digest."]
    if summary["unseen"]:
        notes.append("Without figures for that reason, their records are there: " + ", ".join(summary["unseen"]) + ".")
    return Table("Carried out on a board", ["board"], [[board] for board in summary["boards"]], notes)


@dataclass
class Report:
    """The report of a results directory. `tables` are the module's own, without the comparisons."""

    experiment: dict        # experiment.json
    records: list
    summary: dict
    comparisons: list
    tables: list
    plots: list

    def asked(self):
        """The experiment's question, and the answer of its records in two sentences; "" if missing."""
        return self.summary["question"], self.summary["answer"]

    def all_tables(self):
        """The tables of the terminal and report.md, in order: the paper beside ours first."""
        return [*(comparison.table() for comparison in self.comparisons), *self.tables]


# The exceptions of a report module if a record lacks a figure, or has one of another kind.
UNFIT = (LookupError, TypeError, AttributeError, ValueError, ArithmeticError, RecursionError)


def load(directory, keep=True):
    """The report of a results directory; RecordError if there is nothing to report, or the records do not fit their
    report. Without `keep` nothing is written into the directory."""
    experiment, records = collect(directory) if keep else record.read(directory)
    module = report_of(experiment)
    try:
        return made_of(module, experiment, records)
    except UNFIT as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        raise record.RecordError(
            f"{directory}: no report '{experiment['report'] or 'collected'}' can be made of its records: "
            f"{type(error).__name__}: {record.shortened(str(error))} ({Path(where.filename).name}:{where.lineno})"
        ) from error


def made_of(module, experiment, records):
    """The Report that `module` makes."""
    summary = summarise(module, experiment, records)
    summary["question"] = experiment.get("question") or ""
    summary["answer"] = module.answer(summary) if hasattr(module, "answer") else ""

    def optional(name):
        return getattr(module, name)(summary) if hasattr(module, name) else []
    board = board_table(summary)
    tables = [*([board] if board else []), *module.tables(summary)]
    return Report(experiment, records, summary, optional("comparisons"), tables, optional("plots"))


def write(directory):
    """Writes summary.json, report.md, report.html and the plots into a results directory; summary and tables."""
    from sim.results.page import experiment, render
    directory = Path(directory)
    made = load(directory)
    tables = made.all_tables()
    record.write_json(directory / "summary.json", plain(made.summary))
    version = made.experiment["tools"].get("interlock")
    record.write_text(directory / "report.md", markdown(made.summary, tables, made.plots, version))
    for plot in made.plots:
        plot.write(directory)
    record.write_text(directory / "report.html", render.render(experiment.page(made)))
    return made.summary, tables


def markdown(summary, tables, plots=(), version=None):
    """The report as text; `version`: of Interlock, with which the runs were made."""
    settings = ", ".join(f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
                         for name, value in summary["settings"].items())
    lines = [f"# {summary['experiment']}", ""]
    for heading in ("question", "answer"):
        if summary.get(heading):
            lines += [f"**{heading.capitalize()}.** {summary[heading]}", ""]
    lines += [line for plot in plots[:1] for line in (f"![{plot.title}]({plot.name}.svg)", "")]
    lines += [f"Settings: {settings}.",
              f"Runs: {summary['finished']} of {summary['asked']}, {len(summary['failures'])} failed."
              f"{f' Interlock {version}.' if version else ''}", "",
              sampling.note(summary["sampling"]), ""]
    for table in tables:
        lines += [table.markdown(), ""]
    for plot in plots[1:]:
        lines += [f"## {plot.title}", "", f"![{plot.title}]({plot.name}.svg)", ""]
    if summary["failures"]:
        lines += ["## Failed runs", "", *(f"- {failure['id']}: {failure['reason']}" for failure in summary["failures"]),
                  ""]
    return "\n".join(lines)


def insert(text, summary, tables):
    """A document with this report's tables put between its marks; ValueError if it has none.

    Between `<!-- begin NAME: part; part -->` and `<!-- end NAME -->` come the tables of experiment NAME whose titles
    begin with one of the parts, in the order of the parts.
    """
    name = summary["experiment"]

    def replaced(mark):
        parts = [part.strip() for part in mark["parts"].split(";")]
        chosen = [table.markdown().replace("## ", "### ", 1) for part in parts for table in tables
                  if table.title.startswith(part)]
        return "\n\n".join([mark["begin"], *chosen, mark["end"]])

    pattern = rf"(?P<begin><!-- begin {name}: (?P<parts>[^>]*?) -->).*?(?P<end><!-- end {name} -->)"
    text, count = re.subn(pattern, replaced, text, flags=re.DOTALL)
    if not count:
        raise ValueError(f"no '<!-- begin {name}: ... -->' and '<!-- end {name} -->' in it")
    return text
