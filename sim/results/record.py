"""Records: the files that one experiment leaves, and how they are read again.

    <out>/experiment.json       what was asked for: settings, tools, machine description, the identities of all runs
    <out>/runs/<id>/            the simulator's own files of one run: run.json, console.txt, received bytes, ...
    <out>/runs/<id>/node-K/     of several nodes: the files of node K, all but run.json, which is one for all
    <out>/runs/<id>/record.json the record of that run
    <out>/records.jsonl         all records, one a line, in the order of experiment.json
    <out>/tables/*.parquet      the same as tables for SQL (sim/results/tables.py)
    <out>/summary.json          the figures of the report
    <out>/report.md             the report
    <out>/report.html           the same as a page, with plots to click on

Everything in a record but its `host` entry is the same whenever the same run is repeated.

A results directory may come from anywhere: its content is data. It holds files and directories alone; a symbolic link,
a FIFO or a device in it is refused, as writing through one would change files elsewhere.
"""

import errno
import json
import math
import os
import re
import secrets
import stat
from pathlib import Path

LARGEST_BYTES = 1 << 30                     # of a JSON file that is read
DEEPEST = 100                               # levels of nesting in it
BRACKETS = re.compile(r'"(?:[^"\\]|\\.)*"?|[][{}]')
LARGEST_INTEGER = 1 << 64
LONGEST_NAME = 255                          # bytes, of a file
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
NODE_FILE = re.compile(r"^node-\d+/")     # the folder of a node's files in that of its run


class RecordError(Exception):
    """A record could not be written or read; the text is one line."""


class Unwritable(RecordError):
    """A place that can be read but not written."""


def out_of_memory(error):
    """Whether an exception means that the host has no memory left."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM


def disk_is_full(error):
    """Whether an OSError means that there is no room left."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)


def unwritten(error):
    """The exception that describes the OSError of a write."""
    return Unwritable if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS) else RecordError


def write_text(path, text):
    """Writes a text file as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path, content):
    """Writes a file whole or not at all; a full disk is a RecordError."""
    # An unpredictable name, opened only if no file has it: the content goes into no file but a new one.
    aside = path.with_name(f".{path.name[:200]}.{secrets.token_hex(8)}.tmp")
    try:
        with open(aside, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        if disk_is_full(error):
            raise RecordError(f"the disk is full: {path} could not be written") from error
        raise unwritten(error)(f"{path} could not be written: {error.strerror}") from error


def write_json(path, value):
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def make_directory(path):
    """Makes a directory and those above it; RecordError in one line if it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if disk_is_full(error):
            raise RecordError(f"the disk is full: {path} could not be made") from error
        raise unwritten(error)(f"{path} cannot be made: {error.strerror}") from error


def inside(folder, name):
    """The file `name` in `folder`, or NODE/name of a run of several nodes; RecordError if it is neither."""
    plain = NODE_FILE.sub("", name) if isinstance(name, str) else ""
    if plain in ("", ".", "..") or "/" in plain or "\0" in plain or len(plain.encode(errors="replace")) > LONGEST_NAME:
        raise RecordError(f"{shortened(name)} is no name of a file of a run")
    return Path(folder) / name


def nodes_of(simulated):
    """The part of a run.json of each of its machines; for a single one, the whole."""
    return simulated.get("nodes") or [simulated]


def failed_node(simulated):
    """The number of the machine that made a run of several fail; None if none did."""
    return next((number for number, node in enumerate(simulated.get("nodes", ())) if node["exit"]["status"]), None)


def results_of(simulated, kind):
    """The lines `@kind` that the machines of a run printed, one node's after the other's."""
    return [line for node in nodes_of(simulated) for line in node.get("results", {}).get(kind, ())]


def shortened(value):
    """A value from a file, for a message: one line, printable, not long."""
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def read_json(path):
    """The content of a JSON file; RecordError in one line if it is missing, cut short, no plain file or outside the
    JSON of records: numbers are finite, integers less than 2^64, strings are Unicode."""
    try:
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK), encoding="utf-8") as file:     # does not block on a FIFO
            found = os.fstat(file.fileno())
            if not stat.S_ISREG(found.st_mode):
                raise RecordError(f"{path} cannot be read: it is no plain file")
            if found.st_size > LARGEST_BYTES:
                raise RecordError(f"{path} cannot be read: it is larger than a record")
            text = file.read()
        if depth(text) > DEEPEST:
            raise RecordError(f"{path} is not a record: it is nested too deep")
        value = json.loads(text, parse_int=_integer, parse_float=_finite, parse_constant=_finite)
        if SURROGATE.search(text):
            json.dumps(value, ensure_ascii=False).encode()
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    except UnicodeError as error:
        raise RecordError(f"{path} is not whole: it holds text that is not Unicode") from error
    except ValueError as error:
        raise RecordError(f"{path} is not whole: {error}") from error
    return value


def depth(text):
    """The nesting depth of lists and dictionaries in a JSON text. A recursive parser's limit may be beyond its
    stack."""
    now = most = 0
    for mark in BRACKETS.findall(text):
        now += 1 if mark in ("[", "{") else -1 if mark in ("]", "}") else 0
        most = max(most, now)
    return most


def _integer(text):
    if len(text) > 20 or abs(int(text)) >= LARGEST_INTEGER:
        raise ValueError(f"the integer {text[:20]}... is out of range")
    return int(text)


def _finite(text):
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"the number {text[:20]} is out of range")
    return value


def check_plain(directory):
    """RecordError if something in a results directory is neither a file nor a directory."""
    directory = Path(directory)
    for folder, folders, files in os.walk(directory):
        for name in (*folders, *files):
            path = Path(folder, name)
            try:
                mode = path.lstat().st_mode
            except FileNotFoundError:       # another command's, being renamed
                continue
            if stat.S_ISLNK(mode):
                raise RecordError(f"{path} is a symbolic link: results hold files alone, remove it")
            if not stat.S_ISREG(mode) and not stat.S_ISDIR(mode):
                raise RecordError(f"{path} is neither a file nor a directory: remove it")


def stable(record):
    """A record without the parts that depend on the host and time."""
    return {name: value for name, value in record.items() if name != "host"}


def make(run, experiment, settings, image, simulated, received, failure, host):
    """The record of a run. `simulated` is the simulator's run.json ({} if it left none), `failure` None or one line;
    `host` describes where and how it was executed."""
    target = dict(simulated)
    simulated_on = target.pop("host", {})
    return {
        "experiment": experiment,
        "id": run.id,
        "kind": run.kind,
        "harts": run.harts,
        "sync": run.sync,
        "options": dict(run.options),
        "layout": run.parameters["layout"],
        "parameters": run.parameters,
        "bootargs": run.bootargs,
        "image_sha256": image,
        "tools": settings["tools"],
        "soc": settings["soc"][run.machine.alone.label],
        "received": received,
        "failure": failure,
        "run": target,
        "host": simulated_on | host,
    }


def compare_received(sent, folder):
    """Checks what the target received (its blob 1) byte for byte against what was `sent`.

    Returns the number of bytes sent and received, whether all arrived right, and the first place where they differ.
    """
    blob = folder / "blob-1.bin"
    got = blob.read_bytes() if blob.is_file() else b""
    if got == sent:
        return {"sent": len(sent), "received": len(got), "identical": True, "first_difference": None}
    pairs = zip(sent, got, strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(got)))
    return {"sent": len(sent), "received": len(got), "identical": False, "first_difference": first}


ENTRIES = {"experiment": str, "runs": list, "settings": dict, "notes": list, "soc": dict, "tools": dict}
RECORD = {"experiment": str, "id": str, "kind": str, "harts": int, "sync": str, "options": dict, "parameters": dict,
          "bootargs": str, "image_sha256": str, "tools": dict, "soc": dict, "received": (dict, type(None)),
          "failure": (str, type(None)), "run": dict, "host": dict}


class _ListOf:
    """A list whose members are of one kind."""

    def __init__(self, kind):
        self.kind = kind


class _MapOf(_ListOf):
    """A dictionary whose values are of one kind."""


# The optional entries of a machine in a simulator's run.json.
MACHINE = {"harts": _ListOf({"statistics": dict}), "results": _MapOf(_ListOf(dict)), "interrupts": _MapOf(dict),
           "locks": {"classes": _ListOf(dict), "sites": _ListOf(dict)}, "exit": dict, "window": dict, "serial": dict}
RUN = MACHINE | {"nodes": _ListOf(MACHINE), "wires": _ListOf(dict), "cycles": int}


def misfit(value, shape, where):
    """Where `value` does not have a `shape`, and what is expected; None if it fits. Missing entries fit."""
    if isinstance(shape, _ListOf):
        outer = dict if isinstance(shape, _MapOf) else list
        if not isinstance(value, outer):
            return f"'{where}' is no {outer.__name__}"
        members = value.items() if outer is dict else enumerate(value)
        found = (misfit(inner, shape.kind, f"{where}.{str(name)[:40]}") for name, inner in members)
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            return f"'{where}' is no dict"
        found = (misfit(value[name], kind, f"{where}.{name}") for name, kind in shape.items() if name in value)
    else:
        kinds = shape if isinstance(shape, tuple) else (shape,)
        right = isinstance(value, kinds) and not (isinstance(value, bool) and bool not in kinds)
        return None if right else f"'{where}' is no {kinds[0].__name__}"
    return next((said for said in found if said), None)


def checked_record(made, run_id, path):
    """A record as read; RecordError in one line if it does not belong to the run `run_id`."""
    if not isinstance(made, dict):
        raise RecordError(f"{path} is no record: it is no dict")
    missing = next((name for name in RECORD if name not in made), None)
    said = f"it has no '{missing}'" if missing else misfit(made, RECORD, "record") or misfit(made["run"], RUN, "run")
    if not said and made["id"] != run_id:
        said = f"it is that of {shortened(made['id'])}"
    if not said and not all(name.isascii() and name.isdecimal() and len(name) < 10 for machine in nodes_of(made["run"])
                            for name in machine.get("interrupts", ())):
        said = "'run.interrupts' has a source that is no number"
    if said:
        raise RecordError(f"{path} is no record: {said}")
    return made


def read_experiment(directory):
    """The experiment.json of a results directory; RecordError in one line if it is none, or something in the directory
    leads elsewhere."""
    path = Path(directory) / "experiment.json"
    made = read_json(path)
    for name, kind in ENTRIES.items():
        if not isinstance(made, dict) or not isinstance(made.get(name), kind):
            raise RecordError(f"{path} is not an experiment's: it has no '{name}'")
    for run in made["runs"]:
        inside(Path(directory) / "runs", run)
    check_plain(directory)
    return made


def read(directory, left_out=None):
    """The experiment.json of a results directory and its records, in the order given there. A damaged one is a
    RecordError, which goes into the list `left_out` if there is one, and the rest is returned."""
    directory = Path(directory)
    experiment = read_experiment(directory)
    records = []
    for run_id in experiment["runs"]:
        path = directory / "runs" / run_id / "record.json"
        if path.is_file():
            try:
                records.append(checked_record(read_json(path), run_id, path))
            except RecordError as error:
                if left_out is None:
                    raise
                left_out.append(error)
    return experiment, records
