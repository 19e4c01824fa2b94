"""POSIX by an outside judge: the programs of judge/ run on this host's Linux and on the machine, and what they print is
compared line by line.

    python -m tests.kernel.judge --out build/judge                      all families, with every combination
    python -m tests.kernel.judge --out build/judge rename --part 7      one, with a seventh of them
    python -m tests.kernel.judge --out build/judge --harts 2 --unix beyond

A family is one program, judge/NAME.c: a further one is a further file, and nothing else (judge.h says how a line is
shown). Each runs in a folder of its own, here in memory, there on a disk; its output is a file there. Lines that
differ have to be in judge/differences.toml, with what the machine gives and the reason; what is listed and does not
differ any more is wrong, too, when every combination is made.
"""

import argparse
import fnmatch
import itertools
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sim.images import programs
from tests.kernel.machine import DEVICES, DISK_BUILDS, boot
from tests.kernel.power_cuts import KERNELS, host

SOURCES = Path(__file__).parent / "judge"
RUNNER = "run"
FAMILIES = sorted(path.stem for path in SOURCES.glob("*.c") if path.stem != RUNNER)
LIMIT = 300             # seconds that the host has for all of them
FLAGS = ("-g", "-O1", "-Wall", "-Wextra", "-Werror", "-Wno-unused", "-Wno-format-truncation")


@dataclass(frozen=True)
class Difference:
    """What the machine gives, and why it is not what Linux gives. `line` and `ours` are patterns as the shell has them,
    of what stands before and behind the ` = `; `[` stands for itself."""

    family: str
    line: str
    ours: str
    reason: str

    def is_of(self, family: str, label: str, result: str) -> bool:
        pairs = ((label, self.line), (result, self.ours))
        return family == self.family and all(fnmatch.fnmatchcase(is_, wanted.replace("[", "[[]"))
                                             for is_, wanted in pairs)


@dataclass
class Verdict:
    lines: dict[str, int] = field(default_factory=dict)         # that were compared, by family
    wrong: list[str] = field(default_factory=list)
    excused: dict[Difference, int] = field(default_factory=dict)

    def report(self) -> str:
        counts = ", ".join(f"{family} {count}" for family, count in self.lines.items())
        known = "".join(f"  {count:4} of {d.family}: {d.line} = {d.ours}: {d.reason}\n"
                        for d, count in self.excused.items() if count)
        return (f"{sum(self.lines.values())} lines compared ({counts}); {sum(self.excused.values())} differ as listed, "
                f"{len(self.wrong)} otherwise\n{known}" + "".join(f"{line}\n" for line in self.wrong))


def differences() -> list[Difference]:
    with open(SOURCES / "differences.toml", "rb") as file:
        return [Difference(family, **one) for family, all_ in tomllib.load(file).items() for one in all_]


def parts(line: str) -> tuple[str, str]:
    label, _, result = line.partition(" = ") if " = " in line else (line, "", "")
    return label, result


def compare(outputs: dict[str, tuple[str, str]], whole: bool = True) -> Verdict:
    """Of each family what Linux and what the machine printed. `whole`: a difference that is listed has to be there."""
    listed = [d for d in differences() if d.family in outputs]
    verdict = Verdict(excused=dict.fromkeys(listed, 0))
    for family, (theirs, ours) in outputs.items():
        section = ""
        verdict.lines[family] = 0
        for linux, machine in itertools.zip_longest(theirs.splitlines(), ours.splitlines(), fillvalue="(nothing)"):
            verdict.lines[family] += 1
            if linux == machine:
                section = linux
                continue
            (label, wanted), (other, got) = parts(linux), parts(machine)
            known = [d for d in listed if label == other and d.is_of(family, label, got)]
            for d in known[:1]:
                verdict.excused[d] += 1
            if not known and label != other:        # from here on nothing can be compared
                verdict.wrong.append(f"{family}, behind `{section}`:\n  Linux      {linux}\n  machine    {machine}\n"
                                     "  and the rest is not compared")
                break
            if not known:
                verdict.wrong.append(f"{family}: {label}\n  Linux      {wanted}\n  machine    {got}")
            section = linux
    if whole:
        verdict.wrong += [f"differences.toml: {d.family}: `{d.line} = {d.ours}` does not differ any more"
                          for d, count in verdict.excused.items() if not count]
    return verdict


def on_host(families: Sequence[str], part: int) -> dict[str, str]:
    """What they print here, with a new folder for a root, as they change whatever they can, and that in memory if it
    can be: there are times and counts of links as POSIX has them, whatever the disk is mounted with."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as root:
        for name in ("bin", "w", "dev"):
            (Path(root) / name).mkdir()
        (Path(root) / "dev/null").write_text("")
        for name in (RUNNER, *families):
            host("gcc", *FLAGS, "-static", SOURCES / f"{name}.c", "-o", f"{root}/bin/{name}", "-pthread")
        as_root = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
        subprocess.run([*as_root, "chroot", root, f"/bin/{RUNNER}", "/bin", "/w", str(part), *families], check=True,
                       timeout=LIMIT, env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}, stdin=subprocess.DEVNULL)
        return {name: (Path(root) / f"w/{name}.out").read_text(errors="replace") for name in families}


def on_machine(families: Sequence[str], part: int, folder: Path, harts: int, sync: str, options=None,
               bootargs: str = "journal=1", max_cycles: int = 400_000_000) -> dict[str, str]:
    """What they print there. Programs and outputs are on a disk, so no kernel is linked for them."""
    files = folder / "files"
    for name in ("bin", "w"):
        (files / name).mkdir(parents=True)
    for name in (RUNNER, *families):
        built = programs.build_program([SOURCES / f"{name}.c"], name, ("-Wno-unused", "-Wno-format-truncation"))
        shutil.copy(built, files / "bin" / name)
        (files / "bin" / name).chmod(0o755)
    disk = folder / "disk.img"
    disk.write_bytes(bytes(4096 << 10))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super,has_journal", "-J", "size=1",
         "-b", 1024, "-I", 128, "-N", 512, "-g", 1024, "-d", files, disk)
    words = ",".join(["/bin", "/w", str(part), *families])
    bootargs = f"run=user program=/bin/{RUNNER} args={words} root=disk0 hz=1000 {bootargs}"
    run = boot(folder / "run", harts, sync, bootargs,
               options=DISK_BUILDS[sync] if options is None else options, machine=DEVICES,
               more=["--disk", f"{disk},write=copy,profile=fast"], max_cycles=max_cycles, hang_cycles=max_cycles)
    left = folder / "run/disk0.img"
    host("e2fsck", "-fn", left)
    printed = {name: host("debugfs", "-R", f"cat /w/{name}.out", left).decode(errors="replace") for name in families}
    if run.status:
        raise RuntimeError(run.report())
    return printed


def judge(folder: Path, families: Sequence[str] = FAMILIES, part: int = 1, harts: int = 1, sync: str = "cli-optim",
          options=None, bootargs: str = "journal=1", max_cycles: int = 2_000_000_000) -> Verdict:
    theirs = on_host(families, part)
    ours = on_machine(families, part, folder, harts, sync, options, bootargs, max_cycles)
    for name in families:
        (folder / f"{name}.linux").write_text(theirs[name])
        (folder / f"{name}.machine").write_text(ours[name])
    return compare({name: (theirs[name], ours[name]) for name in families}, part == 1)


def main() -> int:
    parser = argparse.ArgumentParser(description="POSIX's calls on this host's Linux and on the machine, line by line.")
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=f"of {', '.join(FAMILIES)}; all")
    parser.add_argument("--out", type=Path, required=True, help="a folder that is not there, or is replaced")
    parser.add_argument("--part", type=int, default=1, help="one of so many combinations")
    parser.add_argument("--harts", type=int, default=1)
    parser.add_argument("--sync", default="cli-optim", choices=sorted(DISK_BUILDS))
    parser.add_argument("--journal", type=int, choices=(0, 1), default=1, help="without, it takes longer")
    parser.add_argument("--unix", choices=sorted(KERNELS), help="which kernel, instead of the scheme's of the tests")
    arguments = parser.parse_args()
    unknown = set(arguments.families) - set(FAMILIES)
    if unknown or arguments.part < 1:
        parser.error(f"no family {', '.join(sorted(unknown))}: there are {', '.join(FAMILIES)}" if unknown else
                     "--part is 1 or more")
    shutil.rmtree(arguments.out, ignore_errors=True)
    verdict = judge(arguments.out, arguments.families or FAMILIES, arguments.part, arguments.harts, arguments.sync,
                    KERNELS[arguments.unix] if arguments.unix else None, f"journal={arguments.journal}")
    print(verdict.report(), end="")
    return bool(verdict.wrong)


if __name__ == "__main__":
    sys.exit(main())
