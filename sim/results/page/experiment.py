"""The page of an experiment: the paper beside ours, tables, plots, every run, and what made them."""

import json

from sim.results import sampling
from sim.results.page.parts import Grid, Listing, Page, Picture, Section
from sim.results.record import nodes_of
from sim.results.statistics import plain
from sim.results.table import number

GONE = "not finished"


def page(report):
    """The `Page` of a sim.results.report.Report, made only from its records."""
    summary = report.summary
    main, others = ([table for table in report.tables if table.main is wanted] for wanted in (True, False))
    sections = [
        Section("Plots", [Picture(plot) for plot in report.plots]),
        Section("Beside the paper", [comparison_grid(one) for one in report.comparisons]),
        Section("Results", [grid(table, True) for table in main]),
        Section("More tables", [grid(table, False) for table in others]),
        Section("Runs", [runs_grid(report)]),
        Section("Made with", made_with(report.experiment)),
    ]
    failed = len(summary["failures"])
    warnings = [f"Failed: {failure['id']}: {failure['reason']}" for failure in summary["failures"]]
    if summary["finished"] < summary["asked"]:
        warnings.append(f"{summary['asked'] - summary['finished']} of {summary['asked']} runs are not finished: "
                        "the figures are of the others.")
    return Page(
        title=summary["experiment"],
        lead=f"{summary['finished']} of {summary['asked']} runs finished, {failed} failed. "
             f"Clock of the target: {summary['clock_hz'] / 1e6:g} MHz. {sampling.note(summary['sampling'])}",
        sections=[section for section in sections if section.parts],
        warnings=[*warnings, *summary["notes"]],
        question=summary["question"],
        answer=summary["answer"],
        attached={"summary.json": json.dumps(plain(summary), indent=1, sort_keys=True) + "\n"},
    )


def grid(table, shown):
    return Grid(table.title, table.columns, table.rows, table.notes, shown, tuple(range(table.texts)))


def comparison_grid(comparison):
    """With the reason in a separate column; rows that need one are marked."""
    rows = comparison.entries()
    marks = {index: "unexplained" for index, (_, *row) in enumerate(comparison.rows) if comparison.left_open(*row)}
    columns = ["", f"paper, {comparison.unit}", f"ours, {comparison.unit}", "difference", "reason"]
    return Grid(comparison.heading(), columns, rows, comparison.notes, wide=(0, 4), marks=marks)


def runs_grid(report):
    """Every requested run, with the parameters that vary."""
    records = {made["id"]: made for made in report.records}
    varied = varied_parameters(report.records)
    columns = ["run", "outcome", "kind", "harts", "scheme", *varied, "cycles", "simulated s", "host s", "digest"]
    rows, marks, details = [], {}, {}
    for index, run_id in enumerate(report.experiment["runs"]):
        made = records.get(run_id)
        if made is None:
            rows.append([run_id, GONE, *["-"] * (len(columns) - 2)])
            marks[index] = "failed"
            continue
        run, host = made["run"], made["host"]
        rows.append([run_id, made["failure"] or "ok", made["kind"], made["harts"], made["sync"],
                     *(made["parameters"].get(name, made["options"].get(name, "-")) for name in varied),
                     number(run.get("cycles"), 0), number(run.get("simulated_seconds"), 4),
                     number(host.get("seconds"), 2), run.get("digest", "-")])
        if made["failure"]:
            marks[index] = "failed"
        details[index] = run_details(made)
    return Grid("Every run", columns, rows, ["A click on a run shows what it was started with and what it said."],
                wide=(0, 1, 2, 4, len(columns) - 1), marks=marks, details=details)


def varied_parameters(records):
    """Names of parameters and build options that differ between runs, except those with a column of their own."""
    values = {}
    for made in records:
        for name, value in (made["parameters"] | made["options"]).items():
            values.setdefault(name, set()).add(str(value))
    return [name for name, found in values.items() if len(found) > 1 and name not in ("harts", "sync")]


def run_details(made):
    """The details that the page shows of a clicked run: name -> text."""
    shown = {"outcome": made["failure"] or "ok", "boot arguments": made["bootargs"],
             "parameters": words(made["parameters"]), "build options": words(made["options"]) or "none",
             "image, SHA-256": made["image_sha256"], "digest": made["run"].get("digest", "-"),
             "ended": words(made["run"].get("exit", {})) or "-"}
    if made["received"]:
        shown["received"] = words(made["received"])
    nodes = nodes_of(made["run"])
    for index, node in enumerate(nodes):
        for kind, lines in node.get("results", {}).items():
            shown[f"{index}: " * (len(nodes) > 1) + f"@{kind}"] = "\n".join(words(line) for line in lines)
    shown["started"] = made["host"].get("started", "-")
    shown["command"] = made["host"].get("command", "-")
    return shown


def words(pairs):
    return " ".join(f"{name}={value}" for name, value in pairs.items())


def named(label):
    """A machine's name for readers; `label` is that of sim/experiments/machine.py."""
    harts, *said = label.split(" ")
    return ", ".join([f"{harts} hart{'s' * (harts != '1')}", *said])


def made_with(experiment):
    """Settings, tools and machines."""
    settings = [(name, ", ".join(map(str, value)) if isinstance(value, list) else value)
                for name, value in experiment["settings"].items()]
    machines = [(named(label), words(soc)) for label, soc in experiment["soc"].items()]
    listings = [Listing("Settings", settings), Listing("Machine", machines),
                Listing("Tools", list(experiment["tools"].items()))]
    return [listing for listing in listings if listing.pairs]
