"""The module that makes an experiment's report: one of this package, one beside a file elsewhere, or `collected`."""

import importlib
import importlib.util
from pathlib import Path

from sim.results.record import RecordError


def report_of(experiment):
    """The report module of an experiment.json; RecordError in one line if it is not there or does not load."""
    name = experiment["report"] or "collected"
    if not name.endswith(".py"):
        return importlib.import_module(f"sim.experiments.{name}")
    spec = importlib.util.spec_from_file_location(Path(name).stem, name)
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (OSError, SyntaxError, ImportError) as error:
        raise RecordError(f"the report {name} does not load: {error}") from error
    return module
