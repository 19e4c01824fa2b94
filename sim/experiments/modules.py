"""The module that makes an experiment's report: one of this package, one beside a file elsewhere, or `collected`.

A record says which. One from elsewhere is a Python file that is executed, and a record may come from anywhere: so only
those are executed that this build folder's owner has run an experiment with, or has said to trust.
"""

import importlib
import importlib.util
from pathlib import Path

from sim.results.record import RecordError
from support.cache import build_root, locked

TRUSTED = "trusted-reports.txt"     # in the build folder: a path a line


def trust(path):
    """From now on the report module at `path` may be executed."""
    path, known = str(Path(path).resolve()), build_root() / TRUSTED
    known.parent.mkdir(parents=True, exist_ok=True)
    with locked(known.with_suffix(".lock")):
        if path not in _trusted():
            with open(known, "a") as file:
                file.write(f"{path}\n")


def _trusted():
    known = build_root() / TRUSTED
    return known.read_text().splitlines() if known.is_file() else []


def checked(name):
    """`name`, if a record may name that report module; RecordError in one line if not."""
    if not isinstance(name, str) or "\n" in name:
        raise RecordError(f"the report {name!r} is no name of a module")
    if name.endswith(".py"):
        if str(Path(name).resolve()) not in _trusted():
            raise RecordError(f"the records name {name} to make their report, a Python file that would be executed, and"
                              " no experiment was run with it here: if you trust it, give './interlock report DIRECTORY"
                              " --trust'")
    elif not name.isidentifier() or not Path(__file__).with_name(f"{name}.py").is_file():
        raise RecordError(f"there is no report '{name}' (sim/experiments)")
    return name


def report_of(experiment):
    """The report module of an experiment.json; RecordError in one line if it is not there, must not be executed or does
    not load."""
    name = checked(experiment["report"] or "collected")
    if not name.endswith(".py"):
        module = importlib.import_module(f"sim.experiments.{name}")
        if not hasattr(module, "summarise"):
            raise RecordError(f"sim/experiments/{name}.py makes no report")
        return module
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (OSError, SyntaxError, ImportError) as error:
        raise RecordError(f"the report {name} does not load: {error}") from error
    return module
