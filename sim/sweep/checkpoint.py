"""Checkpoints of runs (sim/harness/README.md), as far as programs other than the simulator read them."""

from pathlib import Path

MAGIC = b"interlock-checkpoint 2 "
HEADER_BYTES = 4096     # at most


class CheckpointError(ValueError):
    """A file is no checkpoint; the text is one line."""


def header(path):
    """A checkpoint's header: its simulator's `fingerprint`, `harts`, `cycle` (the next one to simulate), and the
    SHA-256 of its `image`, how many `nodes`. CheckpointError if the file is none, OSError if it cannot be read."""
    with open(path, "rb") as file:
        line = file.readline(HEADER_BYTES)
    if not line.startswith(MAGIC) or not line.endswith(b"\n"):
        raise CheckpointError(f"{path} is not a checkpoint of this version of the simulator")
    words = dict(word.split("=", 1) for word in line[len(MAGIC):].decode().split())
    return {"fingerprint": words["fingerprint"], "harts": int(words["harts"]), "cycle": int(words["cycle"]),
            "image": words["image"], "nodes": int(words["nodes"])}


def nodes_of(path):
    """The number of machines in a checkpoint. CheckpointError, one line, if there is none."""
    return _of(path, "nodes")


def harts_of(path):
    """The number of harts of a checkpoint's machines. CheckpointError, one line, if there is none."""
    return _of(path, "harts")


def _of(path, key):
    try:
        return header(Path(path))[key]
    except OSError as error:
        raise CheckpointError(f"{path}: {error.strerror}") from error
