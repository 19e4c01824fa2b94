"""The report of `andrew-nfs`: the client's row of tables 3, 4 and 6 of paper `sync` for its load Andrew NFS."""

from sim.experiments import andrew
from sim.experiments.andrew import answer, comparisons, plots, tables  # noqa: F401


def summarise(experiment, records):
    """All figures of the report, from the client's part of the records."""
    return andrew.summarise(experiment, [of_client(made) for made in records], "Andrew NFS")


def of_client(made):
    """A record with what the last node did, which is the server's client."""
    return made if made["failure"] is not None else made | {"run": made["run"].get("nodes", [made["run"]])[-1]}
