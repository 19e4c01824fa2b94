"""POSIX by an outside judge: the programs of judge/ run on this host's Linux and on the machine, and their output is
compared line by line.

    python -m tests.kernel.judge --out build/judge                      all families, with every combination
    python -m tests.kernel.judge --out build/judge rename --part 7      one, with a seventh of them
    python -m tests.kernel.judge --out build/judge --harts 2 --unix beyond

A family is one program, judge/NAME.c: a new one is a new file, and nothing else (judge.h says how a line is
shown, say.h for families whose processes print beside each other). Each runs in a folder of its own, here in memory,
there on a disk; its output is a file there. Lines that differ must be in judge/differences.toml, with the machine's
result and the reason; an entry that no longer differs is an error, too, when every combination is run.
"""

import argparse
import contextlib
import fcntl
import fnmatch
import itertools
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sim.images import programs
from support.cache import Input, cached
from tests.kernel.machine import DEVICES, DISK_BUILDS, boot
from tests.kernel.power_cuts import KERNELS, host

SOURCES = Path(__file__).parent / "judge"
HELPERS = ("run", "sh")
FAMILIES = sorted(path.stem for path in SOURCES.glob("*.c") if path.stem not in HELPERS)
TERMINALS = 6           # for judge/terminals.c to hang up
FAST = "ram_read_latency=0"      # only results are compared: an eighth fewer cycles give them
LIMIT = 300             # seconds for all of them on the host
FLAGS = ("-D_GNU_SOURCE", "-Wno-unused", "-Wno-format-truncation")
# gcc need not warn of errors on purpose.
HOST_FLAGS = ("-O1", "-static", "-pthread", "-Wall", "-Wextra", "-Werror", "-Wno-unused-result", "-Wno-clobbered",
              "-Wno-stringop-overflow", "-Wno-stringop-overread", "-Wno-nonnull")


@dataclass(frozen=True)
class Difference:
    """A result of the machine that differs from Linux's, and why. `line` and `ours` are shell patterns
    of the text before and behind the ` = `; `[` stands for itself."""

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
    label, _, result = line.partition(" = ") if " = " in line else line.rpartition(": ")
    return (label, result) if label else (line, "")


def compare(outputs: dict[str, tuple[str, str]], whole: bool = True) -> Verdict:
    """Compares each family's output on Linux and on the machine. `whole`: each listed difference must occur."""
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
            if not known and label != other:        # later lines cannot be compared
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


def as_by_login():
    """Resets signals that were ignored or masked where the judge was started (nohup, a shell's background)."""
    for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def host_program(name: str) -> Path:
    inputs: dict[str, Input] = {path.name: path for path in (SOURCES / f"{name}.c", *sorted(SOURCES.glob("*.h")))}
    entry = cached("judge-host", inputs | {"flags": repr((FLAGS, HOST_FLAGS))}, lambda out: host(
        "gcc", *HOST_FLAGS, *FLAGS, SOURCES / f"{name}.c", "-o", out / name), quiet=True)
    return entry / name


def words(families: Mapping[str, int]) -> list[str]:
    """The runner's arguments."""
    return ["/bin", "/w", *(f"{name}:{part}" for name, part in families.items())]


@contextlib.contextmanager
def terminals() -> Iterator[list[int]]:
    """Their descriptors, with numbers that no program uses. One hangs up when it receives a form feed."""
    pairs = [os.openpty() for _ in range(TERMINALS)]
    slaves = [fcntl.fcntl(slave, fcntl.F_DUPFD, 200) for _, slave in pairs]
    masters = {master for master, _ in pairs}
    over = threading.Event()

    def serve():
        while not over.is_set():
            for master in select.select(masters, [], [], 0.05)[0]:
                if b"\f" in os.read(master, 4096):
                    masters.discard(master)
                    os.close(master)

    server = threading.Thread(target=serve)
    try:
        for _, slave in pairs:
            os.close(slave)
        server.start()
        yield slaves
    finally:
        over.set()
        server.join()
        for fd in (*slaves, *masters):
            os.close(fd)


def on_host(families: Mapping[str, int]) -> dict[str, str]:
    """Their output here, each with one of so many combinations, in a new folder as root, as they change
    whatever they can, in memory if possible: there, times and counts of links are as in POSIX, whatever
    the disk is mounted with."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as root, terminals() as slaves:
        for name in ("bin", "w", "dev"):
            (Path(root) / name).mkdir()
        (Path(root) / "dev/null").write_text("")
        for name in (*HELPERS, *families):
            shutil.copy(host_program(name), f"{root}/bin/{name}")
        as_root = [] if os.geteuid() == 0 else ["unshare", "--user", "--map-root-user"]
        subprocess.run([*as_root, "chroot", root, f"/bin/{HELPERS[0]}", *words(families)], check=True, timeout=LIMIT,
                       env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "TERMINALS": " ".join(map(str, slaves))},
                       stdin=subprocess.DEVNULL, start_new_session=True, preexec_fn=as_by_login, pass_fds=slaves)
        return {name: (Path(root) / f"w/{name}.out").read_text(errors="replace") for name in families}


def on_machine(families: Mapping[str, int], folder: Path, harts: int, sync: str, options=None,
               bootargs: str = "journal=1", max_cycles: int = 400_000_000) -> dict[str, str]:
    """Their output there. Programs are in the image's archive, as many are executed again and again; the output
    is on a disk."""
    files = folder / "files"
    (files / "w").mkdir(parents=True)
    archive = {name: programs.build_program([SOURCES / f"{name}.c"], name, FLAGS) for name in (*HELPERS, *families)}
    disk = folder / "disk.img"
    disk.write_bytes(bytes(4096 << 10))
    host("mke2fs", "-q", "-F", "-t", "ext2", "-O", "none,filetype,sparse_super,has_journal", "-J", "size=1",
         "-b", 1024, "-I", 128, "-N", 512, "-g", 1024, "-d", files, disk)
    bootargs = (f"run=user program=/bin/{HELPERS[0]} args={','.join(words(families))} root=disk0 hz=1000 {FAST} "
                f"{bootargs}")
    run = boot(folder / "run", harts, sync, bootargs,
               options=DISK_BUILDS[sync] if options is None else options, machine=DEVICES, files=archive,
               more=["--disk", f"{disk},write=copy,profile=fast"], max_cycles=max_cycles, hang_cycles=max_cycles)
    left = folder / "run/disk0.img"
    host("e2fsck", "-fn", left)
    printed = {name: host("debugfs", "-R", f"cat /w/{name}.out", left).decode(errors="replace") for name in families}
    if run.status:
        raise RuntimeError(run.report())
    return printed


def judge(folder: Path, families: Mapping[str, int], harts: int = 1, sync: str = "cli-optim",
          options=None, bootargs: str = "journal=1", max_cycles: int = 2_000_000_000) -> Verdict:
    """`families`: each with the part of its combinations, one of so many."""
    theirs = on_host(families)
    ours = on_machine(families, folder, harts, sync, options, bootargs, max_cycles)
    for name in families:
        (folder / f"{name}.linux").write_text(theirs[name])
        (folder / f"{name}.machine").write_text(ours[name])
    return compare({name: (theirs[name], ours[name]) for name in families}, set(families.values()) == {1})


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
    verdict = judge(arguments.out, dict.fromkeys(arguments.families or FAMILIES, arguments.part), arguments.harts,
                    arguments.sync, KERNELS[arguments.unix] if arguments.unix else None, f"journal={arguments.journal}")
    print(verdict.report(), end="")
    return bool(verdict.wrong)


if __name__ == "__main__":
    sys.exit(main())
