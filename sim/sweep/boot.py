"""Runs that are resumed from a checkpoint: their common part is booted once, and they begin there.

Such a run differs from the others of its boot in its pokes (sim/harness/README.md, "Checkpoints"). The boot is a run of
its own, without a record: the first run that needs it starts it, and all wait until it has ended.
"""

import dataclasses
import hashlib

KIND = "boot"
CHECKPOINT = "boot.checkpoint"  # in the folder of the boot
CYCLES = 400_000                # about what the kernel takes to come up on one hart


def of(run):
    """The boot of a run that has a `checkpoint`: the same for all that differ in their pokes and nodes only. One
    machine boots; nodes are made of it."""
    shared = repr((run.target, run.bootargs, run.seed, run.console_baud, run.input_bytes, run.disk, run.frames,
                   run.flow, run.checkpoint, run.parameters.get("baud")))
    name = hashlib.sha256(shared.encode()).hexdigest()[:8]
    return dataclasses.replace(run, id=f"{KIND}-{run.kind}-{name}", kind=KIND, cycles=CYCLES, result="", pokes=(),
                               on=run.machine.alone.said)


def goes_on(run):
    """Whether the run begins at a checkpoint."""
    return bool(run.checkpoint) and run.kind != KIND


def arguments(run):
    """What the simulator is told beside what it would be told to do all of the run."""
    if not run.checkpoint:
        return []
    if run.kind == KIND:
        return ["--checkpoint", "{out}/" + CHECKPOINT, "--checkpoint-at", run.checkpoint, "--checkpoint-stop"]
    return ["--restore", "{checkpoint}", *(word for name, value in run.pokes for word in ("--poke", f"{name}={value}"))]


class Boots:
    """Which boots are under way, and which runs wait for them."""

    def __init__(self):
        self._waiting = {}      # identity of a boot under way -> runs
        self._ended = {}        # identity of a boot -> None, or why it failed

    def wait(self, run):
        """Lets a run wait for its boot; gives the boot if it is still to be begun, else None."""
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
        """The boot has ended, with one line why it `failure`d or None: gives the runs that waited."""
        self._ended[boot.id] = failure
        return self._waiting.pop(boot.id, [])
