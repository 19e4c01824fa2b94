"""What an experiment file may hold: its tables, their entries and types. What they mean: definition.py."""

import difflib
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_-]*$")]
# Of a machine: one value, or several that are varied over. Names and values are machine.py's to check.
MachineTable = dict[str, bool | int | str | Annotated[list[bool | int | str], Field(min_length=1)]]


class SettingError(ValueError):
    """A name or a value that the user gave is not possible; the text is one line that says what is."""


def unknown(what, name, valid):
    """The error for a `name` that is not among `valid`, with a close match if there is one."""
    close = difflib.get_close_matches(str(name), [str(v) for v in valid], n=1)
    hint = f", did you mean '{close[0]}'?" if close else ""
    return SettingError(f"unknown {what} '{name}'{hint} (valid: {', '.join(str(v) for v in valid)})")


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=False)


class KeyTable(_Table):
    """A setting: whole numbers of a `range`, or one of `choices`: a list, or the name of a build option or of `sync`,
    whose choices it has. Neither: those of the declared parameters whose value it is (meaning.py). A list as default
    makes it a list; ["*"] has all choices."""

    help: str
    default: int | str | list[int] | list[str]
    choices: list[str] | str = []
    range: Annotated[list[int], Field(min_length=2, max_length=2)] = []
    names: dict[str, int] = {}
    none: bool = False      # of a list: it may be empty, `none`, and kinds of runs that vary over it have no runs


class SolveTable(_Table):
    """A value that follows from the results of runs before: the one of `for` at which `value` comes to `equals`."""

    run: str
    result: str
    primitive: str
    value: str
    equals: int | float
    for_: str = Field(alias="for")


class RunsTable(_Table):
    """A kind of runs."""

    name: Name
    bootargs: str
    result: str
    cycles: str
    vary: dict[str, str] = {}
    harts: int | None = None
    sync: str | None = None
    build: dict[str, str] = {}
    program: str | None = None
    input: str | None = None
    disk: str | None = None
    frames: str | None = None
    flow: str | None = None
    checkpoint: str | None = None
    poke: dict[str, str] = {}
    solve: SolveTable | None = None


class PlotTable(_Table):
    """Lines through the rows of a query: its columns `x` and `y`, a line for each value of the columns `line`."""

    x: str
    y: str
    line: list[str] = []
    x_label: str = ""
    y_label: str = ""
    log_x: bool = False
    log_y: bool = False


class CollectTable(_Table):
    """A table of the report: the rows that a query over the records gives (docs/laboratory.md, "Tables")."""

    title: str
    query: str
    notes: list[str] = []
    plot: PlotTable | None = None


class ExperimentTable(_Table):
    """An experiment file."""

    description: str
    question: str | None = None
    report: Name | None = None
    console_baud: Annotated[int, Field(ge=9600)]
    layout: Annotated[list[int | str], Field(min_length=1)] = [0]
    keys: dict[Name, KeyTable]
    machine: MachineTable = {}
    devices: MachineTable = {}
    nodes: MachineTable = {}
    quick: dict[str, bool | int | str | list[bool] | list[int] | list[str]]
    runs: Annotated[list[RunsTable], Field(min_length=1)]
    collect: list[CollectTable] = []


def check(table):
    """The `table` of an experiment file as one of the models above; SettingError names the first wrong entry."""
    try:
        return ExperimentTable.model_validate(table)
    except ValidationError as error:
        # A misspelt entry is also one that is missing: what is there but unknown says more.
        raise _one_line(min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")) from None


def _one_line(error):
    model, words = ExperimentTable, []
    *path, last = error["loc"]
    for step in path:
        if isinstance(step, int):
            words[-1] += f" {step + 1}"
            continue
        words.append(step)
        field = getattr(model, "model_fields", {}).get(step) or _aliased(model, step)
        model = _model_of(field.annotation) if field else model
    if error["type"] == "extra_forbidden":
        return unknown(f"entry in {' '.join(words)}" if words else "entry", last, _entries(model))
    where = " ".join([*words, str(last)])
    return SettingError(f"{where}: {error['msg'][0].lower()}{error['msg'][1:]}")


def _aliased(model, name):
    return next((field for field in getattr(model, "model_fields", {}).values() if field.alias == name), None)


def _entries(model):
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_of(annotation):
    """The table that a field holds, alone or in a list or dictionary; None if it holds none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_of(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model), None)
