"""Checks the arguments of a simulation - drives, registers, frames, files, moments - before anything is built.
The texts go to the simulator as they are."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from sim.commands.common import Failed, checked_file, checked_folder
from support.parameters import boot, drive, simulator
from support.parameters.declared import ParameterError, close_match
from support.parameters.machine import REGISTERS

SECTOR_BYTES = 512
ETHER = {"in": "--ether-in", "out": "--ether-out", "start": "--ether-start", "mbits": "--ether-mbits",
         "unplug": "--ether-unplug", "tap": "--ether"}
MBITS = simulator.OPTIONS["ether-mbits"].choices
MOMENT = re.compile(r"cycle:\d+|pc:\S+|event:\d+(:\d+)?")
MOMENTS = "cycle:N, pc:SYMBOL[+OFFSET] or event:ID[:ARGUMENT]"


def a_file(option: str, path: str | Path):
    if not Path(path).is_file():
        raise Failed(f"{option} {path}: {'this is no file' if Path(path).exists() else 'there is no such file'}", 2)


def written(options: Iterable[tuple[str, Path | None]], out: Path | None):
    """Checks options that name an output file, and --out, the folder of a run."""
    if out:
        checked_folder("--out", out)
    for option, path in options:
        if path:
            checked_file(option, path, out)


def disks(texts: Sequence[str], controllers: int):
    """Checks `--disk`, for a machine with so many controllers."""
    if len(texts) > controllers:
        raise Failed(f"--disk: {len(texts)} drives for {controllers} disk controllers: give --machine "
                     f"disks={len(texts)}, or fewer drives", 2)
    for text in texts:
        try:
            image = drive.checked(text)
        except ParameterError as error:
            raise Failed(f"--disk {text}: {error}", 2) from error
        a_file("--disk", image)
        size = Path(image).stat().st_size
        if not size or size % SECTOR_BYTES:
            raise Failed(f"--disk {image}: {size} bytes are not a number of sectors of {SECTOR_BYTES} bytes", 2)


def pokes(texts: Iterable[str], two_chips: bool, booted: Iterable[str] | None):
    """Checks `--poke`; `booted` are the boot arguments of a kernel of ours that is booted in this run."""
    names = None if booted is None else {word.partition("=")[0] for word in booted if word != "seed=0"}
    for text in texts:
        name, equals, rest = text.partition("=")
        value, at, cycle = rest.partition("@")
        if not (name and equals and value) or at and not cycle.isdecimal():
            raise Failed(f"--poke {text}: give it as NAME=VALUE or NAME=VALUE@CYCLE", 2)
        if name not in REGISTERS:
            raise Failed(f"--poke: there is no register '{name}'{close_match(name, REGISTERS)}", 2)
        if name.startswith("cable_") and not two_chips:
            raise Failed(f"--poke {name}: this machine has no cable, give --machine device_pic=pins", 2)
        try:
            REGISTERS[name].parse(value)
        except ParameterError as error:
            raise Failed(f"--poke {error}", 2) from error
        by = [one for one in (name, *boot.SET_BY.get(name, ())) if one in (names or ())]
        if by and not at:
            raise Failed(f"--poke {text}: the boot argument {by[0]} sets this register as the kernel boots; give "
                         f"--set {name}={value}, or a later cycle: {text}@CYCLE", 2)


def ether(texts: Sequence[str], there: bool, made: Path | None) -> list[str]:
    """The simulator's arguments for `--ether NAME=VALUE`; `made` is the folder of --out."""
    if texts and not there:
        raise Failed("--ether: this machine has no Ethernet, give --machine ethers=1", 2)
    words: list[str] = []
    far_ends = [text for text in texts if text.partition("=")[0] in ("in", "tap", "user")]
    if len(far_ends) > 1:
        raise Failed(f"--ether {far_ends[0]} and --ether {far_ends[1]}: the wire has one far end, give one of them", 2)
    if any(text.startswith("start=") for text in texts) and not any(text.startswith("in=") for text in texts):
        raise Failed("--ether start=CYCLE: that is of the frames of a file, give --ether in=FILE, too", 2)
    for text in texts:
        name, _, value = text.partition("=")
        if text == "user":
            words += ["--ether", "user"]
            continue
        if name not in ETHER or not value:
            raise Failed(f"--ether {text}: give it as NAME=VALUE (names: {', '.join(ETHER)}), or user", 2)
        if name == "in":
            a_file("--ether in", value)
        if name == "out":
            checked_file("--ether out", Path(value), made)
        if name == "mbits" and value not in MBITS:
            raise Failed(f"--ether {text}: give 10, 100 or 1000", 2)
        if name == "start" and value != "log" and not value.isdecimal():
            raise Failed(f"--ether {text}: give a cycle, or log", 2)
        if name == "unplug" and not re.fullmatch(r"\d+:\d+", value):
            raise Failed(f"--ether {text}: give two cycles, unplug=A:B", 2)
        words += [ETHER[name], f"tap:{value}" if name == "tap" else value]
    return words


def moment(option: str, text: str | None, plain: bool):
    """Checks `--checkpoint-at`, `--wave-begin` and the like; `plain`: a number is a cycle."""
    if text is not None and not MOMENT.fullmatch(text) and not (plain and text.isdecimal()):
        raise Failed(f"{option} {text}: give {'N, ' if plain else ''}{MOMENTS}", 2)


def symbols(texts: Iterable[str]):
    """Checks `--symbols NAME=FILE`."""
    for text in texts:
        name, equals, path = text.partition("=")
        if not (name and equals and path):
            raise Failed(f"--symbols {text}: give it as NAME=FILE", 2)
        a_file(f"--symbols {name}", path)


def nodes(texts: Iterable[str], count: int, two_chips: bool, made: Path | None):
    """Checks `--node K:OPTION=VALUE`, for so many nodes; `made` is the folder of --out."""
    for text in texts:
        node, colon, rest = text.partition(":")
        option, equals, value = rest.partition("=")
        if not (colon and equals and node.isdecimal() and option):
            raise Failed(f"--node {text}: give it as K:OPTION=VALUE", 2)
        if int(node) >= count:
            raise Failed(f"--node {text}: there are the nodes 0 to {count - 1}", 2)
        try:
            simulator.checked_for_node(option, value)
        except ParameterError as error:
            raise Failed(f"--node {text}: {error}", 2) from error
        if option == "poke":
            pokes([value], two_chips, None)
        if option in ("image", "uart1-in", "ether-in"):
            a_file(f"--node {node}:{option}", value)
        if simulator.OPTIONS[option].of == simulator.FILE:
            checked_file(f"--node {node}:{option}", Path(value), made and made / f"node-{node}")
