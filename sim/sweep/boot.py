"""Runs that are resumed from a checkpoint: their common part is booted once, and they begin there.

Such a run differs from the others of its boot in its pokes (sim/harness/README.md, "Checkpoints"). The boot is a run of
its own, without a record: the first run that needs it starts it, and all wait until it has ended.
"""

import dataclasses
import hashlib

KIND = "boot"
CHECKPOINT = "boot.checkpoint"  # in the folder of the boot
CYCLES = 400_000                # about the kernel's boot time on one hart


def of(run):
    """The boot of a run that has a `checkpoint`: the same for all that differ only in their pokes and nodes. One
    machine boots; nodes are made from it."""
    shared = repr((run.target, run.bootargs, run.seed, run.console_baud, run.input_bytes, run.disk, run.frames,
                   run.flow, run.checkpoint, run.parameters.get("baud")))
    name = hashlib.sha256(shared.encode()).hexdigest()[:8]
    return dataclasses.replace(run, id=f"{KIND}-{run.kind}-{name}", kind=KIND, cycles=CYCLES, result="", pokes=(),
                               on=run.machine.alone.said)


def goes_on(run):
    """Whether the run begins at a checkpoint."""
    return bool(run.checkpoint) and run.kind != KIND


def arguments(run):
    """The simulator's arguments in addition to those of the whole run."""
    if not run.checkpoint:
        return []
    if run.kind == KIND:
        return ["--checkpoint", "{out}/" + CHECKPOINT, "--checkpoint-at", run.checkpoint, "--checkpoint-stop"]
    return ["--restore", "{checkpoint}", *(word for name, value in run.pokes for word in ("--poke", f"{name}={value}"))]


class Boots:
    """The boots under way, and the runs that wait for them."""

    def __init__(self):
        self._waiting = {}      # identity of a boot under way -> runs
        self._ended = {}        # identity of a boot -> None, or why it failed

    def wait(self, run):
        """Lets a run wait for its boot; returns the boot if it has to be started, else None."""
        boot = of(run)
        begun = boot.id in self._waiting
        self._waiting.setdefault(boot.id, []).append(run)
        return None if begun else boot

    def made(self, run):
        """Whether the run need not wait (any more)."""
        return not goes_on(run) or of(run).id in self._ended

    def failure(self, run):
        """Why the boot of the run failed, one line; None if it did not."""
        return self._ended[of(run).id] if goes_on(run) else None

    def ended(self, boot, failure):
        """The boot has ended, with one line on its `failure` or None: returns the runs that waited."""
        self._ended[boot.id] = failure
        return self._waiting.pop(boot.id, [])
