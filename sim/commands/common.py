"""What commands share: errors, options, builds and the display of progress.

A command is a function in a module beside this one, registered in sim/cli.py. It imports only what it needs, when it
needs it: LiteX takes seconds.
"""

import contextlib
import errno
import os
import shlex
import sys
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer

from sim.results.table import printable
from support.parameters.build import OPTIONS, SCHEMES, SYNC
from support.parameters.machine import MACHINE

DEFAULT_SYNC = SYNC.default
PLAIN_PROGRESS_S = 10.0
PLAIN_WIDTH = 132       # of tables without a terminal

def _named(names):
    """Completion of NAME=VALUE, by the names."""
    def complete(incomplete: str):
        return [(f"{name}=", help) for name, help in names() if f"{name}=".startswith(incomplete)]
    return complete


def _boot_names():
    from support.parameters.boot import known_to
    return [(name, declared[0].help) for name, declared in known_to(None).items()]


def _machine_names():
    from support.parameters.machine import DEVICES, MACHINE
    declared = [*MACHINE.values(), *DEVICES.values()]
    return [(parameter.name, parameter.help) for parameter in declared if parameter.name != "harts"]


Harts = Annotated[int, typer.Option(help=MACHINE["harts"].line())]
Sync = Annotated[str, typer.Option(help=SYNC.help, autocompletion=lambda: list(SCHEMES))]
Options = Annotated[list[str] | None, typer.Option(
    "--option", metavar="NAME=VALUE", help="a build option of the kernel: lock_debug=1",
    autocompletion=_named(lambda: [(option.name, option.help) for option in OPTIONS.values()]))]
OnMachine = Annotated[list[str] | None, typer.Option(
    "--machine", metavar="NAME=VALUE", help="a parameter of the machine: tlb_entries=2",
    autocompletion=_named(_machine_names))]
Settings = Annotated[list[str] | None, typer.Option(
    "--set", metavar="KEY=VALUE", help="a boot argument of the kernel: run=hello", autocompletion=_named(_boot_names))]


class Failed(Exception):
    """Ends the command with one line and an exit status."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


def machine_of(harts, texts):
    """The one machine given by --harts and --machine."""
    from sim.experiments import machine
    from sim.experiments.schema import SettingError
    entries = [machine.of_option(text) for text in texts or []]
    for entry, _ in entries:
        if entry.table == "nodes":
            raise SettingError(f"--machine {entry.name}: it says what one machine is; sim has --nodes for several, an "
                               "experiment [nodes]")
    return machine.Machine.of(harts, {entry.name: entry.parse(value) for entry, value in entries})


def describe(machine):
    """A machine's description for a record."""
    import dataclasses

    from soc.build import generate_soc
    config = machine.config()
    fingerprint = generate_soc(config, machine.two_chips).fingerprint
    return dataclasses.asdict(config) | machine.attached() | {"fingerprint": f"{fingerprint:016x}"}


def checked_scheme(name):
    from sim.experiments.definition import unknown
    if name not in SCHEMES:
        raise unknown("scheme", name, SCHEMES)
    return name


def kernel_options(texts):
    """The build options of `--option`; an unknown one is a usage error."""
    from sim.images.kernel import checked_options
    options = {}
    for text in texts or []:
        name, separator, value = text.partition("=")
        if not separator:
            raise Failed(f"--option {text!r}: give it as name=value (names: {', '.join(OPTIONS)})", 2)
        options[name] = value
    try:
        checked_options(options)
    except ValueError as error:
        raise Failed(str(error), 2) from error
    return options


def kernel_runs(words):
    """The runs that the image needs for these boot arguments; one that it does not read or take is a usage error."""
    from sim.images.kernel import checked_bootargs, runs_of
    held = runs_of(" ".join(words))
    try:
        checked_bootargs(words)
    except ValueError as error:
        raise Failed(str(error), 2) from error
    return held


def checked_settings(texts):
    """The boot arguments of `--set`; one that is not key=value is a usage error."""
    for text in texts or []:
        name, separator, _ = text.partition("=")
        if not name or not separator or any(character.isspace() for character in text):
            raise Failed(f"--set {text!r}: give it as key=value without spaces", 2)
    return tuple(texts or ())


def check_tools():
    from support import tools
    try:
        return tools.check()
    except tools.ToolError as error:
        raise Failed(str(error)) from error


def _may_be_made_in(folder):
    """Tries to create a file: a folder's permissions do not show a read-only file system."""
    with tempfile.TemporaryFile(dir=folder):
        pass


def checked_folder(option, folder):
    """Rejects a folder that cannot be made or written, before anything is built for it."""
    there = next(path for path in (folder, *folder.absolute().parents) if os.path.lexists(path))
    try:
        _may_be_made_in(there)
    except OSError as error:
        raise Failed(f"{option} {folder}: nothing can be written there: {error.strerror}", 2) from error


def checked_file(option, path, made=None):
    """The same for a file; `made` is a folder that will exist."""
    try:
        if path.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if path.exists():
            if not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        elif not made or path.parent.absolute() != made.absolute():
            _may_be_made_in(path.parent)
    except OSError as error:
        raise Failed(f"{option} {path}: it cannot be written: {error.strerror}", 2) from error


def results_directory(name, out):
    """Where the records go: `out`, which must be new or empty, or a directory named by the time."""
    from support.cache import build_root
    if out:
        checked_folder("--out", out)
        if out.exists() and (not out.is_dir() or any(path.name != ".lock" for path in out.iterdir())):
            raise Failed(f"--out {out} is there already: give a new directory, or go on with: "
                         f"./interlock resume {out}", 2)
        return out
    stamp = datetime.now().strftime("%Y-%m-%dT%H-%M-%S")
    parent = build_root() / "results" / name
    candidates = (parent / (stamp + suffix) for suffix in ("", *(f"-{n}" for n in range(2, 100))))
    return next(path for path in candidates if not path.exists())


def shown(path):
    """A path as short as it can be written from here."""
    path = Path(path).resolve()
    return path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path


@contextlib.contextmanager
def building():
    """Wraps builds: their output goes to stderr, and errors become one line below it."""
    import subprocess

    from sim.results.record import disk_is_full
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    except subprocess.CalledProcessError as error:
        for output in (error.stdout, error.stderr):
            if output:
                text = output if isinstance(output, str) else output.decode(errors="replace")
                print("\n".join(text.rstrip().splitlines()[-30:]), file=sys.stderr)
        program = error.cmd if isinstance(error.cmd, str) else shlex.join(map(str, error.cmd[:2]))
        raise Failed(f"the build failed: {program} ... ended with status {error.returncode}") from error
    except FileNotFoundError as error:
        raise Failed(f"the build failed: {error.filename} is missing; run 'make setup'") from error
    except OSError as error:
        if disk_is_full(error):
            raise
        raise Failed(f"the build failed: {error}") from error
    except (RuntimeError, ValueError) as error:
        first, *rest = str(error).splitlines() or [type(error).__name__]
        if rest:
            print("\n".join(rest[-30:]), file=sys.stderr)
        raise Failed(f"the build failed: {first.rstrip(':')}{', see above' if rest else ''}") from error
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


class Display:
    """Shows progress on stderr: a bar on a terminal, else a line now and then."""

    def __enter__(self):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn
        self.bar = None
        self.said = -PLAIN_PROGRESS_S
        if sys.stderr.isatty():
            self.bar = Progress(TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[text]}"),
                                console=Console(stderr=True), transient=True)
            self.bar.start()
            self.task = self.bar.add_task("", total=1, text="")
        return self

    def __exit__(self, *_):
        if self.bar:
            self.bar.stop()

    def build(self, text, done, total):
        self._show("building", done, total, f"{done}/{total} {text}")

    def runs(self, progress):
        left = "" if progress.left_s is None else f", {minutes(progress.left_s)} left"
        failed = f", {progress.failed} failed" if progress.failed else ""
        reused = f", {progress.reused} from before" if progress.reused else ""
        state = f", {progress.state}" if progress.state else ""
        self._show("running", progress.done, progress.total,
                   f"{progress.done}/{progress.total} runs{reused}{failed}{state}, "
                   f"{progress.cycles / 1e6:.1f} M cycles, "
                   f"{progress.speed / 1e6:.2f} M cycles/s, {minutes(progress.elapsed_s)} gone{left}")

    def _show(self, what, done, total, text):
        if self.bar:
            self.bar.update(self.task, description=what, completed=done, total=total, text=text)
        elif time.monotonic() - self.said >= PLAIN_PROGRESS_S or done == total:
            self.said = time.monotonic()
            print(f"{what}: {text}", file=sys.stderr, flush=True)


def minutes(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


def show_tables(tables):
    from rich.console import Console
    console = Console(width=None if sys.stdout.isatty() else PLAIN_WIDTH)
    for table in tables:
        if table.main:
            console.print(printable(table.title), style="bold", soft_wrap=True, highlight=False, markup=False)
            console.print(table.rich())
            for note in table.notes:
                console.print(printable(note), soft_wrap=True, highlight=False, markup=False)
            if table.notes:
                console.print()


def show_failure(failure):
    print(f"FAILED {failure.id}: {printable(failure.reason)}", file=sys.stderr)
    for line in failure.console:
        print(f"    {printable(line)}", file=sys.stderr)
    print(f"  to repeat it: {failure.command}", file=sys.stderr)
