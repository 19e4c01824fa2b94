"""The command `./interlock`. Only what a command needs is imported, when it is needed: LiteX takes seconds."""

import os
import shlex
import signal
import sys
from pathlib import Path
from typing import Annotated

import typer

from sim.commands.board import board
from sim.commands.cluster import certificates, cluster
from sim.commands.common import (
    DEFAULT_SYNC,
    Failed,
    Harts,
    OnMachine,
    Options,
    Settings,
    building,
    check_tools,
    checked_scheme,
    checked_settings,
    kernel_options,
    kernel_runs,
    machine_of,
    show_tables,
    shown,
)
from sim.commands.compare import compare
from sim.commands.explore import explore
from sim.commands.faults import faults
from sim.commands.flame import flame
from sim.commands.latency import latency
from sim.commands.list import list_experiments
from sim.commands.mpd import mpd
from sim.commands.new import new
from sim.commands.program import program, user_files
from sim.commands.prune import prune
from sim.commands.query import query
from sim.commands.results import results
from sim.commands.run import resume, run
from support.parameters.build import SCHEMES

app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False,
                  help="Interlock measures what locks and interrupts cost, and what they lose.")

app.add_typer(board, name="board")
app.command()(cluster)
app.command()(certificates)
app.command("list")(list_experiments)
app.command()(new)
app.command()(program)
app.command()(mpd)
app.command()(query)
app.command()(compare)
app.command()(flame)
app.command()(latency)
app.command()(run)
app.command()(resume)
app.command()(results)
app.command()(explore)
app.command()(faults)
app.command()(prune)

GDB_BAUD = 6_000_000


@app.callback(invoke_without_command=True)
def top(context: typer.Context):
    if context.invoked_subcommand is None:
        print(context.get_help())


@app.command()
def build(
    harts: Harts = 1,
    sync: Annotated[str | None, typer.Option(help="one scheme; without it all of them")] = None,
    options: Options = None,
    machine: OnMachine = None,
    waves: Annotated[bool, typer.Option("--waves", help="a simulator that can write waves (slower)")] = False,
):
    """Build a simulator and kernel images, and print where they lie.

    Example:  ./interlock build --harts 2 --sync spl-optim
    """
    on = machine_of(harts, machine)
    config = on.config()
    schemes = [checked_scheme(sync)] if sync else SCHEMES
    chosen = kernel_options(options)
    check_tools()
    with building():
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        made = [build_simulator(config, waves=waves, two_chips=on.two_chips),
                *(build_kernel(config, scheme, options=chosen) for scheme in schemes)]
    for path in made:
        print(path)


@app.command("report")
def report_command(
    directory: Annotated[Path, typer.Argument(help="a results directory")],
    into: Annotated[list[Path] | None, typer.Option(help="put tables between the marks of this document")] = None,
    trust: Annotated[bool, typer.Option("--trust", help="the records name a Python file to make it: execute it, now "
                                                        "and later")] = False,
):
    """Make the report of a results directory again, from its records.

    Example:  ./interlock report build/results/pic-latency/2026-01-31T12-00-00 --into docs/results.md
    """
    from sim.results import record, report
    if trust:
        from sim.experiments import modules
        named = record.read_experiment(directory).get("report")
        if not isinstance(named, str) or not named.endswith(".py"):
            raise Failed(f"--trust: the records in {directory} name no Python file, leave it out", 2)
        modules.trust(named)
    try:
        summary, tables = report.write(directory)
    except record.Unwritable as error:
        print(f"interlock: {error}: the tables are shown and not kept", file=sys.stderr)
        made = report.load(directory, keep=False)
        summary, tables = made.summary, made.all_tables()
    show_tables(tables)
    for document in into or []:
        try:
            record.write_text(document, report.insert(document.read_text(), summary, tables))
        except (OSError, ValueError) as error:
            raise Failed(f"{document}: {getattr(error, 'strerror', None) or error}") from error


# What a checkpoint has booted with; a run that goes on from one cannot change it.
BOOTED = {"harts": "--harts", "sync": "--sync", "settings": "--set", "options": "--option", "image": "--image",
          "program": "--program", "files": "--file", "baud": "--baud", "gdb": "--gdb", "seed": "--seed",
          "disk": "--disk"}


@app.command()
def sim(
    context: typer.Context,
    harts: Harts = 1,
    sync: Annotated[str, typer.Option(help="the kernel's synchronisation scheme")] = DEFAULT_SYNC,
    settings: Settings = None,
    options: Options = None,
    machine: OnMachine = None,
    program: Annotated[list[str] | None, typer.Option(
        metavar="FILE.c|FILE.mpd|NAME",
        help="run this program of user mode (docs/programs.md); others are there")] = None,
    files: Annotated[list[str] | None, typer.Option(
        "--file", metavar="[NAME=]PATH", help="a file that programs of user mode can read")] = None,
    image: Annotated[Path | None, typer.Option(help="boot this ELF file instead of the kernel")] = None,
    send: Annotated[Path | None, typer.Option(help="a file for the data line")] = None,
    baud: Annotated[int | None, typer.Option(help="bit rate of the data line (115200; with --gdb 6000000)")] = None,
    disk: Annotated[list[str] | None, typer.Option(
        metavar="IMAGE[,NAME=VALUE...]", help="a disk with this content, and its profile: profile=ide")] = None,
    gdb: Annotated[bool, typer.Option("--gdb", help="wait for a debugger on the data line, a pseudo-terminal")] = False,
    pty: Annotated[bool, typer.Option("--pty", help="a pseudo-terminal as console: Ctrl-C is the target's")] = False,
    seed: Annotated[int, typer.Option(min=0, help="perturbs latencies where the boot arguments ask for it")] = 1,
    out: Annotated[Path | None, typer.Option(help="directory for run.json, the trace and what is received")] = None,
    max_cycles: Annotated[int | None, typer.Option(min=1, help="stop after so many cycles")] = None,
    hang_cycles: Annotated[int | None, typer.Option(min=0, help="so many without a sign of life are a hang")] = None,
    wave: Annotated[Path | None, typer.Option(help="write FST waves to this file")] = None,
    wave_begin: Annotated[str | None, typer.Option(
        metavar="WHEN", help="their first cycle: N, or behind pc:SYMBOL[+OFFSET] or event:ID[:ARGUMENT]")] = None,
    wave_end: Annotated[str | None, typer.Option(metavar="WHEN", help="the first cycle after them")] = None,
    wave_cycles: Annotated[int | None, typer.Option(min=1, help="instead of --wave-end: so many cycles")] = None,
    timeline: Annotated[Path | None, typer.Option(help="what each hart does, for https://ui.perfetto.dev")] = None,
    flame: Annotated[Path | None, typer.Option(help="cycles by call stack, for './interlock flame'")] = None,
    latencies: Annotated[Path | None, typer.Option(help="every interrupt's, for './interlock latency'")] = None,
    samples: Annotated[Path | None, typer.Option(help="counters over time, as CSV")] = None,
    sample_cycles: Annotated[int | None, typer.Option(min=1, help="cycles between them (10000)")] = None,
    checkpoint: Annotated[Path | None, typer.Option(help="write the state of the run to this file")] = None,
    checkpoint_at: Annotated[str | None, typer.Option(
        metavar="WHEN", help="when: cycle:N, pc:SYMBOL[+OFFSET] or event:ID[:ARGUMENT]")] = None,
    checkpoint_stop: Annotated[bool, typer.Option("--checkpoint-stop", help="and end there")] = False,
    restore: Annotated[Path | None, typer.Option(help="go on from a checkpoint; nothing is booted")] = None,
    ether: Annotated[list[str] | None, typer.Option(
        metavar="NAME=VALUE", help="the Ethernet wire's far end: in=FILE and out=FILE (pcap), start=CYCLE or log, "
        "tap=NAME, user, mbits=N, unplug=A:B")] = None,
    pokes: Annotated[list[str] | None, typer.Option(
        "--poke", metavar="NAME=VALUE[@CYCLE]", help="write a register of the machine: link_read_latency=75")] = None,
    nodes: Annotated[int | None, typer.Option(
        min=1, max=4096, help="so many machines, the data line of each leads to the next one's")] = None,
    node: Annotated[list[str] | None, typer.Option(
        metavar="K:OPTION=VALUE", help="for node K alone, an option of the simulator: 0:bootargs=run=hello")] = None,
    wire: Annotated[str, typer.Option(
        help="what joins --nodes: serial, a ring of data lines, or ether, a switch")] = "serial",
    latency: Annotated[int, typer.Option(
        min=1, help="cycles that a character or a frame takes from node to node")] = 1000,
    jobs: Annotated[int, typer.Option(min=1, help="threads that carry nodes: same result")] = 1,
    no_skip: Annotated[bool, typer.Option("--no-skip", help="simulate idle cycles too: same result")] = False,
    check_skip: Annotated[bool, typer.Option("--check-skip", help="prove it: compare every register")] = False,
):
    """Run one simulation with its console on the terminal. --set gives the kernel's boot arguments, --machine what is
    to be built otherwise than soc/config.py has it. --restore needs the --machine that its checkpoint was made with.

    Example:  ./interlock sim --harts 2 --sync spl-optim --set run=hello
    """
    from sim.wires.nodes import WIRES
    if restore:
        from sim.sweep.checkpoint import CheckpointError, harts_of, nodes_of
        given = [option for name, option in BOOTED.items()
                 if getattr(context.get_parameter_source(name), "name", "DEFAULT") != "DEFAULT"]
        if given:
            raise Failed(f"{given[0]} and --restore: the checkpoint has booted already, give only what comes after "
                         "(--poke writes registers)", 2)
        try:
            harts = harts_of(restore)
            wired = nodes_of(restore) > 1
            nodes = nodes or (nodes_of(restore) if wired else None)
        except CheckpointError as error:
            raise Failed(str(error), 2) from error
    if wire not in WIRES:
        raise Failed(f"--wire {wire}: give one of {', '.join(WIRES)}", 2)
    if node and not nodes:
        raise Failed("--node needs --nodes N", 2)
    if nodes and gdb:
        raise Failed("--gdb and --nodes: a debugger wants one machine, leave out one of them", 2)
    if nodes and pty:
        raise Failed("--pty and --nodes: who types wants one machine, leave out one of them", 2)
    if pty and hang_cycles is None:
        hang_cycles = 0     # who types may think for long
    if disk and not any(text.partition("=")[0].strip() == "disks" for text in machine or []):
        machine = [*(machine or []), f"disks={len(disk)}"]
    on = machine_of(harts, machine)
    config = on.config()
    if wire == "ether" and not config.ethers:
        raise Failed("--wire ether: this machine has no Ethernet, give --machine ethers=1, too", 2)
    checked_scheme(sync)
    chosen = kernel_options(options)
    words = checked_settings(settings)
    if image and (program or files):
        raise Failed("--image has its files already: leave out --program and --file", 2)
    if gdb and send:
        raise Failed("--gdb and --send both want the data line: give one of them", 2)
    of_the_wire = ether_options(ether or (), bool(config.ethers))
    line_baud = (GDB_BAUD if gdb else 115200) if baud is None else baud
    added: dict[str, Path] = {}
    if program or files:
        words, added = user_files(words, program or (), files or ())
    held = None if image or restore else kernel_runs(words)
    bootargs = " ".join([*words, *([f"gdb=wait gdb.baud={line_baud}"] if gdb else [])])
    for path in (image, send):
        if path and not path.is_file():
            raise Failed(f"{path}: there is no such file", 2)
    check_tools()
    with building():
        from sim.images.kernel import build_kernel
        from sim.model.build import build_simulator
        simulator = build_simulator(config, waves=wave is not None, two_chips=on.two_chips)
        booted = image or (None if restore else build_kernel(config, sync, options=chosen, runs=held,
                                                                     files=added))
    console = "file" if nodes else "pty" if pty else "tty"
    command = [str(simulator), "--console", console, *(["--uart1", "pty"] if gdb else [])]
    if restore:
        command += ["--restore", str(restore)]
    else:
        command += ["--image", str(booted), "--bootargs", bootargs, "--seed", str(seed), "--uart1-baud", str(line_baud)]
    command += [word for poke in pokes or [] for word in ("--poke", poke)]
    command += [word for one in disk or [] for word in ("--disk", one)]
    command += of_the_wire
    for option, wanted in (("--checkpoint-stop", checkpoint_stop), ("--no-skip", no_skip),
                           ("--check-skip", check_skip), ("--target-status", bool(program))):
        command += [option] if wanted else []
    if gdb:
        print(f"debug with: gdb-multiarch {shlex.quote(str(shown(booted)))} -ex 'target remote DEVICE', "
              "DEVICE as the simulator names it", file=sys.stderr)
    console_baud = next((word.partition("=")[2] for word in words if word.startswith("console.baud=")), None)
    for option, value in (("--uart1-in", send), ("--out", out), ("--max-cycles", max_cycles), ("--wave", wave),
                          ("--hang-cycles", hang_cycles), ("--uart0-baud", console_baud),
                          ("--wave-begin", wave_begin), ("--wave-end", wave_end), ("--wave-cycles", wave_cycles),
                          ("--timeline", timeline), ("--flame", flame), ("--latencies", latencies),
                          ("--samples", samples), ("--sample-cycles", sample_cycles),
                          ("--checkpoint", checkpoint), ("--checkpoint-at", checkpoint_at)):
        if value is not None:
            command += [option, str(value)]
    sys.stdout.flush()
    if nodes:
        from sim.wires.nodes import options as options_of
        sys.exit(run_nodes([*command, *options_of(nodes, wire, latency, node or (), jobs, bool(restore) and wired)],
                           nodes, out))
    os.execv(simulator, command)


def ether_options(given, there):
    """What the simulator's command line says for `--ether NAME=VALUE`."""
    names = {"in": "--ether-in", "out": "--ether-out", "start": "--ether-start", "mbits": "--ether-mbits",
             "unplug": "--ether-unplug", "tap": "--ether"}
    if given and not there:
        raise Failed("--ether: this machine has no Ethernet, give --machine ethers=1", 2)
    words = []
    far_ends = [text for text in given if text.partition("=")[0] in ("in", "tap", "user")]
    if len(far_ends) > 1:
        raise Failed(f"--ether {far_ends[0]} and --ether {far_ends[1]}: the wire has one far end, give one of them", 2)
    if any(text.startswith("start=") for text in given) and not any(text.startswith("in=") for text in given):
        raise Failed("--ether start=CYCLE: that is of the frames of a file, give --ether in=FILE, too", 2)
    for text in given:
        name, _, value = text.partition("=")
        if text == "user":
            words += ["--ether", "user"]
            continue
        if name not in names or not value:
            raise Failed(f"--ether {text}: give it as NAME=VALUE (names: {', '.join(names)}), or user", 2)
        words += [names[name], f"tap:{value}" if name == "tap" else value]
    return words


def run_nodes(command, nodes, out):
    """Runs several machines, prints their consoles one after the other; the exit status."""
    import subprocess
    import tempfile

    from sim.wires.nodes import consoles
    with tempfile.TemporaryDirectory() as scratch:
        folder = out or Path(scratch)
        status = subprocess.run(command if out else [*command, "--out", scratch], stdin=subprocess.DEVNULL).returncode
        for line in consoles(folder, nodes):
            print(line)
    return 128 - status if status < 0 else status


def terminated(*_):
    raise KeyboardInterrupt


def standard_streams():
    """Sees to it that input, output and messages are open, as the next file opened would get the number of one that is
    not: an input that is closed is empty, an output that is closed ends the command."""
    for number, name in ((0, None), (1, "output"), (2, "error")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)      # gets the lowest number that is free: this one
            if name:
                os.write(2, f"interlock: standard {name} is closed: give it a file, or /dev/null\n".encode())
                os._exit(1)


def main():
    standard_streams()
    from sim.experiments.definition import SettingError
    from sim.results.record import RecordError, disk_is_full, out_of_memory
    signal.signal(signal.SIGTERM, terminated)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:       # nohup's
        signal.signal(signal.SIGHUP, terminated)
    text, status = "", 0
    try:
        status = app(prog_name="interlock", standalone_mode=False) or 0
        sys.stdout.flush()
    except BrokenPipeError:     # who reads the output has enough of it, as `head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(128 + signal.SIGPIPE)
    except typer.Abort:
        text, status = "interrupted", 130
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except typer.TyperException as error:
        text, status = error.format_message(), 2
    except SettingError as error:
        text, status = str(error), 2
    except Failed as error:
        text, status = str(error), error.status
    except RecordError as error:
        text, status = str(error), 1
    except KeyboardInterrupt:
        text, status = "interrupted", 130
    except MemoryError:
        text, status = "out of memory: close other programs, or give fewer --jobs", 1
    except OSError as error:
        if out_of_memory(error):
            sys.exit("interlock: out of memory: close other programs, or give fewer --jobs")
        if not disk_is_full(error):
            raise
        text, status = f"the disk is full{f': {error.filename}' if error.filename else ''}", 1
    if text:
        print(f"interlock: {text}", file=sys.stderr)
    sys.exit(status)


if __name__ == "__main__":
    main()
