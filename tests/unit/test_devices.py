"""The devices at a chip's pins (sim/harness/devices), each with a chip that does anything at random (devices.cpp):
saved in any cycle and restored it goes on the same; its promises hold; times on wires follow from lengths
and gaps. And in every class of the harness that is in checkpoints, each member is saved and loaded, or marked as not.

DEVICE_SEEDS=100 for the long form."""

import functools
import os
import random
import re
import struct
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sim.model.build import HARNESS
from sim.model.toolchain import COMPILER, LANGUAGE, LINKER, find, run, tool_versions
from support.cache import cached
from support.parameters import drive
from support.parameters.drive import DEFAULT_PROFILE, PROFILES
from support.parameters.headers import OF_HARNESS, harness_headers

SEEDS = int(os.environ.get("DEVICE_SEEDS", "1"))
DRIVER = Path(__file__).with_name("devices.cpp")
# devices/line_speed.cpp is compiled alone: its header has the same names as <termios.h>.
ALONE = "devices/line_speed.cpp"
TOGETHER = sorted(str(path.relative_to(HARNESS)) for names in ("devices/*", "support/*", "watch/statistics") for path in
                  HARNESS.glob(f"{names}.cpp") if path.name not in ("line_speed.cpp", "crew.cpp"))
TYPES = "#pragma once\n#include <cstdint>\n" + "".join(
    f"using {name} = uint{bits}_t;\n" for name, bits in (("CData", 8), ("SData", 16), ("IData", 32), ("QData", 64)))
FLAGS = (LANGUAGE, "-O1", "-g1", "-Wall", "-Wextra", "-Wno-deprecated-declarations", "-fsanitize=address,undefined",
         "-fno-sanitize-recover=all", f"-I{HARNESS}",
         f"-I{harness_headers()}", "-I.")


@pytest.fixture(scope="module")
def program():
    def build(folder):
        (folder / "verilated.h").write_text(TYPES)
        (folder / "together.cpp").write_text("".join(f'#include "{name}"\n' for name in TOGETHER))
        run([find(COMPILER), f"--ld-path={find(LINKER)}", *FLAGS, "-o", "devices", DRIVER, "together.cpp",
             HARNESS / ALONE, "-lslirp", "-pthread"], folder)

    sources = {str(path.relative_to(HARNESS)): path for path in sorted(HARNESS.rglob("*.[ch]*"))}
    return cached("harness-devices", {**sources, "driver": DRIVER, "flags": repr(FLAGS[:-3]),
                                      "generated": repr({name: made() for name, made in OF_HARNESS.items()}),
                                      "tools": repr(tool_versions())}, build) / "devices"


FAULTS = "bad=3:2,bad=40,silent=9,silent=30"
WORLDS = {
    **{f"disk-{profile}{name}": ("disk", 12_000, f"image,profile={profile},write=copy{more}") for profile in PROFILES
       for name, more in (("", ""), ("-faults", f",{FAULTS}"))},
    "disk-cut": ("disk", 12_000, "image,profile=scsi,write=copy,cut=9000000"),
    "disk-left": ("disk", 12_000, "image,profile=ide,cache_kb=64,write=copy,left=400000,left=900000"),
    **{f"ether-{mbits}-{how}": ("ether", 60_000, mbits, how) for mbits in (10, 100, 1000) for how in ("plain", "odd")},
    **{f"{line}-{baud}-{how}": (line, 60_000, baud, how) for line in ("console", "line")
       for baud in (115_200, 921_600, 6_000_000, 15_000_000) for how in ("plain", "odd")},
    "trace": ("trace", 30_000), "host": ("host", 30_000),
}


@pytest.mark.parametrize("world", WORLDS)
def test_a_device_goes_on_from_any_cycle_and_keeps_its_times(program, tmp_path, world):
    what, steps, *options = WORLDS[world]
    for seed in range(SEEDS):
        done = subprocess.run(list(map(str, [program, what, seed, steps, tmp_path / str(seed), *options])),
                              capture_output=True, text=True)
        assert done.returncode == 0, f"seed {seed}: {done.stderr}"
        assert int(re.search(r"restored (\d+) times", done.stdout)[1]) > steps // 1000


def test_every_profile_of_a_drive_is_tried(program, tmp_path):
    done = subprocess.run([program, "disk", "1", "1", tmp_path, "image,profile=none"], capture_output=True, text=True)
    assert f"(valid: {', '.join(sorted(PROFILES))})" in done.stderr


# Reading users' files

def read(program, what, text):
    done = subprocess.run([program, "read", what, text], capture_output=True, text=True)
    assert done.returncode in (0, 2) and bool(done.returncode) == bool(done.stderr), done.stderr
    return done.stdout.splitlines(), done.stderr


@pytest.mark.parametrize("name", ["image", "a,b.img", ",", "a,,b", "a,write=copy", "a,bad=1,b", ",,", "a=b,c"])
def test_a_drives_path_may_hold_commas(program, tmp_path, name):
    image = str(tmp_path / name)
    Path(image).write_bytes(bytes(512))
    for more in ("", ",profile=scsi", ",bad=3:1,profile=ide,write=no"):
        words, wrong = read(program, "drive", image + more)
        assert words == [image, more.partition("profile=")[2].partition(",")[0] or DEFAULT_PROFILE], wrong
        assert drive.parted(image + more)[0] == image       # Python's reading is the same


@pytest.mark.parametrize("seed", range(12))
def test_frames_that_a_capture_has_cut_are_named(program, tmp_path, seed):
    """Files of either byte order and unit of time, some of whose frames are shorter than they were on the wire."""
    chance = random.Random(seed)
    order, micro = chance.choice("<>"), chance.choice((True, False))
    snap, cuts, stamps = chance.choice((60, 96, 65535)), [], []
    content = struct.pack(f"{order}IHHIIII", 0xa1b2c3d4 if micro else 0xa1b23c4d, 2, 4, 0, 0, snap, 1)
    for number in range(1, chance.randrange(2, 30)):
        whole = chance.choice((60, snap - 1, snap, snap + 1, 1514, 61)) % 1515
        kept = min(whole, snap) if seed % 3 else whole
        stamps.append((number * (1000 if micro else 1), kept))
        content += struct.pack(f"{order}IIII", 0, number, kept, whole) + bytes(kept)
        cuts += [number] if kept < whole else []
    (tmp_path / "in.pcap").write_bytes(content)
    frames, wrong = read(program, "pcap", tmp_path / "in.pcap")
    if cuts:
        assert not frames and f"{len(cuts)} of {number} frames are cut" in wrong and f"frame {cuts[0]} first" in wrong
    else:
        assert frames == [f"{at} {size}" for at, size in stamps], wrong


# The contents of a checkpoint

@dataclass
class Class:
    """A class of the harness, as the compiler has laid it out, and its functions that save and load it."""

    name: str
    bases: list = field(default_factory=list)
    members: dict = field(default_factory=dict)     # by name: type


# Functions that save or load; in a class with `serialize` or `state`, that does both.
BOTH, SAVE, LOAD = ("serialize", "state"), ("save",), ("load", "restore")
OF_ITS_OWN = r"(?<![\w.])(?<!->)\w+"      # a name that is not another object's
NOT_SAVED = re.compile(r"//.*\bnot saved\b", re.IGNORECASE)


def laid_out(text):
    """The classes in clang's output of the layout of all records."""
    classes = {}
    for block in text.split("*** Dumping AST Record Layout\n")[1:]:
        lines = [line.partition("|")[2] for line in block.splitlines() if re.match(r"\s*[\d:-]+ \|", line)]
        name = re.match(r" (?:class|struct) (.*?)(?: \(empty\))?$", lines[0]) if lines else None
        if not name:
            continue
        made = classes[name[1]] = Class(name[1])
        for line in lines[1:]:
            if not re.match(r"   \S", line) or "vtable pointer" in line:
                continue
            base = re.match(r"\s*(?:class|struct) (\S+) \((?:primary )?base\)", line)
            if base:
                made.bases.append(base[1])
            else:
                kind, _, member = line.strip().removesuffix(" (empty)").rpartition(" ")
                made.members[member] = kind
    return classes


def braces(text, begin):
    """The text between the brace at or after `begin` and the one that closes it."""
    begin = text.index("{", begin)
    depth = 0
    for at in range(begin, len(text)):
        depth += {"{": 1, "}": -1}.get(text[at], 0)
        if not depth:
            return text[begin + 1:at]
    raise AssertionError("a brace is not closed")


@functools.cache
def body_of_class(text, name):
    if name not in text:
        return None
    found = re.search(rf"^ *(?:class|struct) {name}\b[^;{{]*{{", text, re.MULTILINE)
    return braces(text, found.start()) if found else None


def saving(sources, name):
    """The bodies of the functions that save and load a class, by kind, and the text of the class itself."""
    short = name.rpartition("::")[2]
    outer = name.rpartition("::")[0].rpartition("::")[2]
    found, own = {}, ""
    for text in sources:
        scope = body_of_class(text, outer) if outer else text
        body = body_of_class(scope, short) if scope else None
        if body is not None:
            own += body
            inside = re.sub(r"(?ms)^ *(?:class|struct) \w+[^;{]*\{.*?^ *\};", "", body)
            for function in (*BOTH, *SAVE, *LOAD):
                head = rf"(?:void|{short}) {function}\((?:[^()]|\(\))*\)(?: const)?(?: override)?\s*{{"
                for match in re.finditer(head, inside):
                    found[function] = found.get(function, "") + braces(inside, match.start())
        for function in (*BOTH, *SAVE, *LOAD) if f"{short}::" in text else ():
            for match in re.finditer(rf"^[\w<> ]*\b{short}::{function}\([^;{{]*{{", text, re.MULTILINE):
                found[function] = found.get(function, "") + braces(text, match.start())
    return found, own


def said_not_to_be_saved(own):
    """The members whose line, or the comment that begins their paragraph, says so."""
    said, paragraph = set(), False
    for line in own.splitlines():
        if not line.strip():
            paragraph = False
        elif line.strip().startswith("//"):
            paragraph = paragraph or bool(NOT_SAVED.search(line))
        else:
            code = line.partition("//")[0]
            if paragraph or NOT_SAVED.search(line):
                said |= set(re.findall(r"\b(\w+)(?= ?(?:;|,|=|\{))", code))
    return said


def bases_of(classes, name):
    """All of a class's bases, as far as they are the harness's."""
    direct = [base for base in classes[name].bases if base in classes]
    return [*direct, *(more for base in direct for more in bases_of(classes, base))]


def of(classes, name):
    """A class's members, those of its bases included."""
    return {member: kind for each in (name, *bases_of(classes, name)) for member, kind in classes[each].members.items()}


def forgotten(classes, sources, name):
    """Members of a class that are neither saved and restored nor marked as not."""
    found, own = saving(sources, name)
    for base in bases_of(classes, name):
        more, text = saving(sources, base)
        own += text
        found = {function: found.get(function, "") + more.get(function, "") for function in (*found, *more)}
    both = "".join(found.get(function, "") for function in BOTH)
    saved = both + "".join(found.get(function, "") for function in SAVE)
    loaded = both + "".join(found.get(function, "") for function in LOAD)
    if not saved:
        return set(), set()
    words = set(re.findall(OF_ITS_OWN, saved)) & set(re.findall(OF_ITS_OWN, loaded))
    fixed = {member for member, kind in of(classes, name).items() if kind.endswith("&") or kind.startswith("const ")}
    fixed |= {word for line in re.findall(r"^ *const ([^;{]*);", own, re.MULTILINE)
              for word in re.findall(r"\w+", line)}
    said = said_not_to_be_saved(own)
    members = set(of(classes, name))
    return members - words - fixed - said, members & words & said


@pytest.fixture(scope="module")
def layouts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layouts")
    (folder / "verilated.h").write_text(TYPES)
    (folder / "all.cpp").write_text("".join(f'#include "{name}"\n' for name in (
        *(name for name in TOGETHER if name.startswith("devices/")), "run/node.h", "watch/watch.h", "watch/hang.h")))
    done = subprocess.run([find(COMPILER), LANGUAGE, "-fsyntax-only", "-w", *FLAGS[-3:], "-Xclang",
                           "-fdump-record-layouts-complete", "all.cpp"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return laid_out(done.stdout)


@pytest.fixture(scope="module")
def sources():
    return [path.read_text() for path in sorted(HARNESS.rglob("*.[ch]*"))]


def is_device(classes, name):
    return "Device" in bases_of(classes, name)


def test_every_member_is_in_checkpoints_or_said_not_to_be(layouts, sources):
    there = {name for text in sources for name in re.findall(r"^ *(?:class|struct) (\w+)", text, re.MULTILINE)}
    own = {name for name in layouts if set(name.split("::")) <= there}
    checked = [name for name in sorted(own) if saving(sources, name)[0]]
    devices = [name for name in own if is_device(layouts, name) and name != "SerialPort"]
    assert {"Console", "DataLine", "Player", "Disk", "EtherPort", "TracePort", "HostPort"} <= set(devices)
    assert {*devices, "Node", "Watch", "Hart", "Disk::Written", "LineReceiver", "Message"} <= set(checked)
    wrong = {name: forgotten(layouts, sources, name) for name in checked}
    assert not {name: sorted(names) for name, (names, _) in wrong.items() if names}, "neither saved nor said not to be"
    assert not {name: sorted(names) for name, (_, names) in wrong.items() if names}, "saved, though said not to be"


def test_a_member_that_is_forgotten_is_found(layouts, sources):
    """By removing each from the functions that save a drive, one by one."""
    state = re.search(r"void Disk::state\(Archive &archive\)\n{\n    archive\((.*?)\);", "".join(sources), re.DOTALL)
    for member in re.findall(r"\w+", state[1]):
        without = [text.replace(state[1], re.sub(rf"\b{member}\b", "0", state[1])) for text in sources]
        expected = {member} - {"changed"}       # it is in `save` and `load`, too
        assert forgotten(layouts, without, "Disk")[0] == expected
