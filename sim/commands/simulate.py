"""The command `sim`: one simulation, with its console on the terminal."""

import os
import shlex
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from sim.commands import given
from sim.commands.common import (
    DEFAULT_SYNC,
    Failed,
    Harts,
    OnMachine,
    Options,
    Settings,
    Sync,
    building,
    check_tools,
    checked_scheme,
    checked_settings,
    kernel_options,
    kernel_runs,
    machine_of,
    shown,
)
from sim.commands.groups import grouped
from sim.commands.program import user_files
from support.parameters.declared import ParameterError
from support.parameters.simulator import MOST, OF_ONE_NODE, OPTIONS, WIRE_LATENCY

GDB_BAUD = 6_000_000
LINE_BAUD = OPTIONS["uart1-baud"].default
# Fixed at a checkpoint's boot; a run that resumes from one cannot change them.
BOOTED = {"harts": "--harts", "sync": "--sync", "settings": "--set", "options": "--option", "image": "--image",
          "program": "--program", "files": "--file", "baud": "--baud", "gdb": "--gdb", "seed": "--seed",
          "disk": "--disk"}


def like(name, *names, help="", **more):
    """An option that the simulator has too: with its range and, unless there is another, its help."""
    option = OPTIONS[name]
    low, high = option.range or (None, None)

    def checked(value):
        try:
            return value if value is None else option.checked(value)
        except ParameterError as error:
            raise Failed(f"--{error}", 2) from error

    return typer.Option(*(names or (f"--{name}",)), min=low, max=None if high == MOST else high,
                        help=help or option.text, metavar=None if option.range else option.value or None,
                        callback=checked if option.range else None, **more)


def of_a_node(incomplete: str):
    """Completion of --node."""
    node, colon, name = incomplete.partition(":")
    return [(f"{node}:{one}=", OPTIONS[one].help) for one in OF_ONE_NODE if colon and one.startswith(name)]


@dataclass
class Booted:
    """What runs."""

    harts: Harts = 1
    sync: Sync = DEFAULT_SYNC
    settings: Settings = None
    options: Options = None
    machine: OnMachine = None
    program: Annotated[list[str] | None, typer.Option(
        metavar="FILE.c|FILE.mpd|NAME",
        help="run this user program (docs/programs.md), beside the standard ones")] = None
    files: Annotated[list[str] | None, typer.Option(
        "--file", metavar="[NAME=]PATH", help="a file that user programs can read")] = None
    image: Annotated[Path | None, typer.Option(help="boot this ELF file instead of the kernel")] = None
    seed: Annotated[int, like("seed", help="perturbs latencies where the boot arguments ask for it")] = 1


@dataclass
class Attached:
    """Lines, wires and drives."""

    pty: Annotated[bool, typer.Option("--pty", help="a pseudo-terminal as console: Ctrl-C is the target's")] = False
    expect: Annotated[list[str] | None, typer.Option(
        metavar="TEXT", help="wait until the console has printed this; repeatable, in order. The run ends with status "
        "0 after the last one, when all is typed; a run that ends earlier has status 1")] = None
    typed: Annotated[list[str] | None, typer.Option(
        "--input", metavar="TEXT", help="type this when the --expect of the same number has been printed; without any, "
        "when the console listens. \\n ends a line")] = None
    send: Annotated[Path | None, typer.Option(help="a file for the data line")] = None
    baud: Annotated[int | None, like("uart1-baud", "--baud", help="bit rate of the data line (115200; with --gdb "
                                     f"{GDB_BAUD})")] = None
    gdb: Annotated[bool, typer.Option("--gdb", help="wait for a debugger on the data line, a pseudo-terminal")] = False
    disk: Annotated[list[str] | None, typer.Option(
        metavar="IMAGE[,NAME=VALUE...]", help="a disk with this content, and its profile: profile=ide")] = None
    ether: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="the Ethernet wire's far end: in=FILE and out=FILE (pcap), start=CYCLE or log, "
        "tap=NAME, user, mbits=N, unplug=A:B")] = None
    pokes: Annotated[list[str] | None, typer.Option(
        "--poke", metavar="NAME=VALUE[@CYCLE]", help="write a register of the machine: link_read_latency=75")] = None


@dataclass
class Limits:
    """How long, and how."""

    max_cycles: Annotated[int | None, like("max-cycles")] = None
    hang_cycles: Annotated[int | None, like("hang-cycles")] = None
    no_skip: Annotated[bool, like("no-skip")] = False
    check_skip: Annotated[bool, like("check-skip")] = False


@dataclass
class Written:
    """What is written."""

    out: Annotated[Path | None, like("out")] = None
    wave: Annotated[Path | None, like("wave", help="write FST waves to this file")] = None
    wave_begin: Annotated[str | None, like("wave-begin")] = None
    wave_end: Annotated[str | None, like("wave-end")] = None
    wave_cycles: Annotated[int | None, like("wave-cycles")] = None
    timeline: Annotated[Path | None, like("timeline")] = None
    flame: Annotated[Path | None, like("flame", help="cycles by call stack, for './interlock flame'")] = None
    flame_begin: Annotated[str | None, like("flame-begin")] = None
    flame_end: Annotated[str | None, like("flame-end")] = None
    symbols: Annotated[list[str] | None, like("symbols", help=OPTIONS["symbols"].help + "; those of --program and of "
                                              "the image's own are known")] = None
    latencies: Annotated[Path | None, like("latencies", help="every interrupt's, for './interlock latency'")] = None
    samples: Annotated[Path | None, like("samples")] = None
    sample_cycles: Annotated[int | None, like("sample-cycles")] = None


@dataclass
class Checkpoints:
    """Checkpoints."""

    checkpoint: Annotated[Path | None, like("checkpoint")] = None
    checkpoint_at: Annotated[str | None, like("checkpoint-at")] = None
    checkpoint_stop: Annotated[bool, like("checkpoint-stop")] = False
    restore: Annotated[Path | None, like("restore", help="go on from a checkpoint; nothing is booted")] = None


@dataclass
class Nodes:
    """Several machines."""

    nodes: Annotated[int | None, like("nodes", help="number of machines; each one's data line leads to the next")
                     ] = None
    node: Annotated[list[str] | None, like("node", autocompletion=of_a_node)] = None
    wire: Annotated[str, typer.Option(
        help="what joins --nodes: serial, a ring of data lines, or ether, a switch")] = "serial"
    latency: Annotated[int, typer.Option(
        min=1, max=MOST, help="cycles that a character or a frame takes from node to node")] = WIRE_LATENCY.default
    jobs: Annotated[int, like("jobs")] = 1
    ranks: Annotated[int, like("ranks")] = 1
    mpi: Annotated[str | None, typer.Option(
        metavar="ARGUMENTS", help="start the --ranks by OpenMPI's mpirun, with these arguments more: '--hostfile FILE' "
        "for several machines, which have this folder, too; '' for this one")] = None


@grouped
def sim(context: typer.Context, what: Booted, attached: Attached, limits: Limits, written: Written,
        saved: Checkpoints, several: Nodes):
    """Run one simulation with its console on the terminal. --set gives the kernel's boot arguments, --machine the
    hardware parameters other than the defaults (`./interlock parameters` lists all). --restore needs the --machine that
    its checkpoint was made with.

    Example:  ./interlock sim --harts 2 --sync spl-optim --set run=hello
    """
    wired = goes_on(context, what, several, saved.restore) if saved.restore else False
    check_together(what, attached, several)
    if attached.pty and limits.hang_cycles is None:
        limits.hang_cycles = 0     # a user that types may pause for long
    machine = what.machine
    if attached.disk and not any(text.partition("=")[0].strip() == "disks" for text in machine or []):
        machine = [*(machine or []), f"disks={len(attached.disk)}"]
    on = machine_of(what.harts, machine)
    config = on.config()
    if several.wire == "ether" and not config.ethers:
        raise Failed("--wire ether: this machine has no Ethernet, give --machine ethers=1, too", 2)
    checked_scheme(what.sync)
    chosen = kernel_options(what.options)
    words = checked_settings(what.settings)
    of_the_wire = given.ether(attached.ether or (), bool(config.ethers), written.out)
    given.disks(attached.disk or (), config.disks)
    for option, path in (("--image", what.image), ("--send", attached.send)):
        if path:
            given.a_file(option, path)
    check_written(written, saved)
    given.nodes(several.node or (), several.nodes or 1, on.two_chips, written.out)
    ours = not what.image and not saved.restore
    given.pokes(attached.pokes or (), on.two_chips, [*words, f"seed={what.seed}"] if ours else None)
    added: dict[str, Path] = {}
    if what.program or what.files:
        words, added = user_files(words, what.program or (), what.files or ())
    held = kernel_runs(words) if ours else None
    check_tools()
    with building():
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        simulator = build_simulator(config, waves=written.wave is not None, two_chips=on.two_chips)
        booted = what.image or (build_kernel(config, what.sync, options=chosen, runs=held, files=added) if ours
                                else None)
        symbols = symbols_of(config, chosen, added, ours) if written.flame else {}
    command = [str(simulator), *command_of(what, attached, limits, written, saved, several, words, booted),
               *of_the_wire, *(word for one in symbols.items() for word in ("--symbols", "=".join(map(str, one)))),
               *(word for text in written.symbols or () for word in ("--symbols", text))]
    if attached.gdb:
        print(f"debug with: gdb-multiarch {shlex.quote(str(shown(booted)))} -ex 'target remote DEVICE', "
              "DEVICE as the simulator names it", file=sys.stderr)
    sys.stdout.flush()
    if several.nodes:
        from sim.wires.nodes import options as options_of
        command += options_of(several.nodes, several.wire, several.latency, several.node or (), several.jobs, wired)
        sys.exit(run_nodes(carried(command, several), several.nodes, written.out))
    os.execv(simulator, command)


def carried(command, several):
    """The simulator's command line, for as many processes as --ranks says."""
    if several.mpi is None:
        return [*command, "--ranks", str(several.ranks)] if several.ranks > 1 else command
    with building():
        from sim.model.mpi import launched
        return launched(command, several.ranks, shlex.split(several.mpi))


def check_written(written, saved):
    """Failed, in one line, if something cannot be written, or a moment is invalid."""
    given.written((("--wave", written.wave), ("--timeline", written.timeline), ("--flame", written.flame),
                   ("--latencies", written.latencies), ("--samples", written.samples),
                   ("--checkpoint", saved.checkpoint)), written.out)
    for option, text in (("--wave-begin", written.wave_begin), ("--wave-end", written.wave_end),
                         ("--flame-begin", written.flame_begin), ("--flame-end", written.flame_end)):
        given.moment(option, text, plain=True)
    given.symbols(written.symbols or ())
    given.moment("--checkpoint-at", saved.checkpoint_at, plain=False)


def symbols_of(config, options, files, ours):
    """ELF files of the user programs in an image, by their names."""
    from sim.images.kernel import program_symbols
    from sim.images.programs import symbols
    return (program_symbols(config, options) if ours else {}) | symbols(files)


def goes_on(context, what, several, checkpoint):
    """Reads the run's settings from its checkpoint; returns whether that has the nodes' wires."""
    from sim.sweep.checkpoint import CheckpointError, harts_of, nodes_of
    said = [option for name, option in BOOTED.items()
            if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"]
    if said:
        raise Failed(f"{said[0]} and --restore: the checkpoint has booted already, give only what comes after "
                     "(--poke writes registers)", 2)
    given.a_file("--restore", checkpoint)
    try:
        what.harts = harts_of(checkpoint)
        wired = nodes_of(checkpoint) > 1
        several.nodes = several.nodes or (nodes_of(checkpoint) if wired else None)
    except CheckpointError as error:
        raise Failed(str(error), 2) from error
    return wired


def check_together(what, attached, several):
    """Options that exclude or need each other."""
    from sim.wires.nodes import WIRES
    if several.wire not in WIRES:
        raise Failed(f"--wire {several.wire}: give one of {', '.join(WIRES)}", 2)
    for wrong, text in (
            (several.node and not several.nodes, "--node needs --nodes N"),
            (several.ranks > (several.nodes or 1), f"--ranks {several.ranks}: give at most one for each of --nodes"),
            (several.mpi is not None and several.ranks < 2, "--mpi needs --ranks N, 2 or more"),
            (several.nodes and attached.gdb, "--gdb and --nodes: a debugger wants one machine, leave out one of them"),
            (len(attached.typed or []) > len(attached.expect or []) > 0,
             "--input: more than there are --expect: each is typed behind the --expect of the same number"),
            ("" in (attached.expect or []), "--expect: give some text"),
            (several.nodes and (attached.expect or attached.typed), "--expect and --input want one machine: leave out "
                                                                    "--nodes"),
            (several.nodes and attached.pty, "--pty and --nodes: a terminal wants one machine, leave out one of them"),
            (what.image and (what.program or what.files), "--image has its files already: leave out --program and "
                                                          "--file"),
            (attached.gdb and attached.send, "--gdb and --send both want the data line: give one of them")):
        if wrong:
            raise Failed(text, 2)


def is_piped(file):
    """Whether a file or a program types: neither a person nor nothing."""
    mode = os.fstat(file.fileno()).st_mode
    return stat.S_ISREG(mode) or stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def command_of(what, attached, limits, written, saved, several, words, booted):
    """The simulator's options, except those of the Ethernet wire and of several nodes."""
    line_baud = (GDB_BAUD if attached.gdb else LINE_BAUD) if attached.baud is None else attached.baud
    command = ["--console", "file" if several.nodes else "pty" if attached.pty else "tty"]
    command += ["--uart1", "pty"] if attached.gdb else []
    if not several.nodes and not attached.pty and (is_piped(sys.stdin) or attached.typed and not attached.expect):
        command += ["--uart0-flow", "rts"]
    command += [word for text in attached.expect or [] for word in ("--expect", text)]
    command += [word for text in attached.typed or [] for word in ("--type", text)]
    if saved.restore:
        command += ["--restore", str(saved.restore)]
    else:
        bootargs = " ".join([*words, *([f"gdb=wait gdb.baud={line_baud}"] if attached.gdb else [])])
        command += ["--image", str(booted), "--bootargs", bootargs, "--seed", str(what.seed), "--uart1-baud",
                    str(line_baud)]
    command += [word for poke in attached.pokes or [] for word in ("--poke", poke)]
    command += [word for one in attached.disk or [] for word in ("--disk", one)]
    for option, wanted in (("--checkpoint-stop", saved.checkpoint_stop), ("--no-skip", limits.no_skip),
                           ("--check-skip", limits.check_skip), ("--target-status", bool(what.program))):
        command += [option] if wanted else []
    console_baud = next((word.partition("=")[2] for word in words if word.startswith("console.baud=")), None)
    for option, value in (
            ("--uart1-in", attached.send), ("--out", written.out), ("--max-cycles", limits.max_cycles),
            ("--wave", written.wave), ("--hang-cycles", limits.hang_cycles), ("--uart0-baud", console_baud),
            ("--wave-begin", written.wave_begin), ("--wave-end", written.wave_end),
            ("--wave-cycles", written.wave_cycles), ("--timeline", written.timeline), ("--flame", written.flame),
            ("--flame-begin", written.flame_begin), ("--flame-end", written.flame_end),
            ("--latencies", written.latencies), ("--samples", written.samples),
            ("--sample-cycles", written.sample_cycles), ("--checkpoint", saved.checkpoint),
            ("--checkpoint-at", saved.checkpoint_at)):
        if value is not None:
            command += [option, str(value)]
    return command


def run_nodes(command, nodes, out):
    """Runs several machines, prints their consoles one after the other; returns the exit status."""
    import subprocess
    import tempfile

    from sim.wires.nodes import consoles
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        status = subprocess.run(command if out else [*command, "--out", scratch], stdin=subprocess.DEVNULL).returncode
        for line in consoles(folder, nodes):
            print(line)
    return 128 - status if status < 0 else status
