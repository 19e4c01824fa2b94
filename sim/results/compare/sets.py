"""Chooses the records of a set: results directories, or a question to all results."""

import contextlib
from dataclasses import dataclass, field
from pathlib import Path

from sim.results import query
from sim.results.record import RecordError, checked_record, inside, read, read_json


@dataclass
class Set:
    """The records of a set that ended well, and how many did not."""

    name: str               # "A" or "B"
    asked: str              # as the user wrote it
    records: list
    directories: list
    failed: int = 0
    sources: dict = field(default_factory=dict)     # id() of a record -> its directory


def choose(name, asked):
    """The `Set` that `asked` selects; RecordError in one line if there is none.

    A path is a results directory, or a folder with several below it. Anything else is a condition on the table `runs`,
    such as "experiment = 'pic-latency' and seed < 5", or a whole query that returns `directory` and `id`.
    """
    found = from_path(Path(asked)) if is_path(asked) else from_query(asked)
    good = [(directory, made) for directory, made in found if made["failure"] is None]
    if not good:
        raise RecordError(f"{name}, {asked}: there are no records of runs that ended well")
    return Set(name, asked, [made for _, made in good], sorted({directory for directory, _ in good}),
               len(found) - len(good), {id(made): directory for directory, made in good})


def is_path(asked):
    with contextlib.suppress(OSError):      # a long query is no path
        return Path(asked).exists() or not any(character in asked for character in " =<>'")
    return False


def from_path(path):
    """Directory and record of all results at `path` or below it."""
    directories = [path] if (path / "experiment.json").is_file() else sorted(
        found.parent for found in path.glob("**/experiment.json"))
    if not directories:
        raise RecordError(f"{path}: there are no results (no experiment.json there or below it)")
    return [(str(directory), made) for directory in directories for made in read(directory)[1]]


def from_query(asked):
    """Directory and record of all runs selected by a condition or query over all results."""
    sql = asked if asked.lstrip().lower().startswith(("select", "with", "from")) else (
        f"select directory, id from runs where {asked}")
    columns, rows = query.ask(query.connect(), sql)
    if not {"directory", "id"} <= set(columns):
        raise RecordError(f"the query gives {', '.join(columns)}: it has to give directory and id")
    places = {(row[columns.index("directory")], row[columns.index("id")]) for row in rows}
    paths = ((directory, identity, inside(Path(directory) / "runs", identity) / "record.json")
             for directory, identity in sorted(places))
    return [(directory, checked_record(read_json(path), identity, path)) for directory, identity, path in paths]
