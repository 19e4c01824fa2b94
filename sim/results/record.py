"""Records: what one experiment leaves behind, and how it is read again.

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
"""

import errno
import json
import os
import re
from pathlib import Path

NODE_FILE = re.compile(r"^node-\d+/")     # the folder of a node's files in that of its run


class RecordError(Exception):
    """A record could not be written or read; the text is one line."""


def out_of_memory(error):
    """Whether an exception means that this machine has no memory left."""
    return isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM


def disk_is_full(error):
    """Whether an OSError means that there is no room left."""
    return getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT)


def write_text(path, text):
    """Writes a text file as `write_bytes` does."""
    write_bytes(path, text.encode())


def write_bytes(path, content):
    """Writes a file whole or not at all; a full disk is a RecordError."""
    aside = path.with_name(f".{path.name}.tmp")
    try:
        with open(aside, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        if disk_is_full(error):
            raise RecordError(f"the disk is full: {path} could not be written") from error
        raise RecordError(f"{path} could not be written: {error.strerror}") from error


def write_json(path, value):
    write_text(path, json.dumps(value, indent=1, sort_keys=True) + "\n")


def make_directory(path):
    """Makes a directory and those above it; RecordError in one line if it cannot be."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        if disk_is_full(error):
            raise RecordError(f"the disk is full: {path} could not be made") from error
        raise RecordError(f"{path} cannot be made: {error.strerror}") from error


def inside(folder, name):
    """The file `name` in `folder`, or NODE/name of a run of several nodes; RecordError if it is neither."""
    plain = NODE_FILE.sub("", name) if isinstance(name, str) else ""
    if plain in ("", ".", "..") or "/" in plain or "\0" in plain:
        raise RecordError(f"{name!r} is no name of a file of a run")
    return Path(folder) / name


def nodes_of(simulated):
    """What a run.json says of each of its machines; of one alone, it is that."""
    return simulated.get("nodes") or [simulated]


def failed_node(simulated):
    """The number of the machine that ended a run of several not well; None if none did."""
    return next((number for number, node in enumerate(simulated.get("nodes", ())) if node["exit"]["status"]), None)


def results_of(simulated, kind):
    """The lines `@kind` that the machines of a run printed, one node's behind the other's."""
    return [line for node in nodes_of(simulated) for line in node.get("results", {}).get(kind, ())]


def read_json(path):
    """The content of a JSON file; RecordError in one line if it is missing or cut short."""
    try:
        return json.loads(Path(path).read_text())
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise RecordError(f"{path} is not whole: {error}") from error


def stable(record):
    """A record without what depends on the machine and moment it was made."""
    return {name: value for name, value in record.items() if name != "host"}


def make(run, experiment, settings, image, simulated, received, failure, host):
    """The record of a run. `simulated` is the simulator's run.json ({} if it left none), `failure` None or one line;
    `host` is what to note of how it was carried out."""
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

    Gives the number of bytes sent and received, whether all arrived right, and the first place where they differ.
    """
    blob = folder / "blob-1.bin"
    got = blob.read_bytes() if blob.is_file() else b""
    if got == sent:
        return {"sent": len(sent), "received": len(got), "identical": True, "first_difference": None}
    pairs = zip(sent, got, strict=False)
    first = next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(sent), len(got)))
    return {"sent": len(sent), "received": len(got), "identical": False, "first_difference": first}


ENTRIES = {"experiment": str, "runs": list, "settings": dict, "notes": list, "soc": dict, "tools": dict}


def read_experiment(directory):
    """The experiment.json of a results directory; RecordError in one line if it is none."""
    path = Path(directory) / "experiment.json"
    made = read_json(path)
    for name, kind in ENTRIES.items():
        if not isinstance(made, dict) or not isinstance(made.get(name), kind):
            raise RecordError(f"{path} is not an experiment's: it has no '{name}'")
    for run in made["runs"]:
        inside(Path(directory) / "runs", run)
    return made


def read(directory):
    """The experiment.json of a results directory and the records that are there, in its order; RecordError."""
    directory = Path(directory)
    experiment = read_experiment(directory)
    paths = (directory / "runs" / run_id / "record.json" for run_id in experiment["runs"])
    return experiment, [read_json(path) for path in paths if path.is_file()]
