"""The verification suite of MPD (user/mpd/vsuite): its programs, and their results on the host."""

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from sim.images import mpd
from sim.images.programs import NAME_SIZE, ProgramError
from user.mpd.compiler import CompileError, compile_text

FOLDER = mpd.USER / "mpd/vsuite"
LONGEST = 60        # seconds, on a busy host
SECTIONS = ("prints", "says", "refused")


@dataclass
class Case:
    """A program of the suite and its expected results."""

    topic: str
    name: str
    text: str = ""
    files: dict[str, str] = field(default_factory=dict)
    prints: str = ""
    says: str = ""
    refused: str | None = None
    status: int = 0
    unordered: bool = False

    @property
    def file(self) -> str:
        return f"{self.name}.mpd"

    @property
    def source(self) -> str:
        """The source to compile: text without a component is the body of one."""
        if self.text.startswith(("resource ", "global ", "body ", "#", "/*")) or self.text == "":
            return self.text
        return f"resource test()\n{self.text}end\n"

    def expected(self, text: str) -> str:
        return text.replace("FILE", self.file)


@dataclass
class Outcome:
    prints: str = ""
    says: str = ""
    refused: str | None = None
    status: int = 0


def parse(path: Path) -> list[Case]:
    """The cases of one file."""
    cases: list[Case] = []
    section, file = "", ""
    for line in path.read_text().splitlines(keepends=True):
        if line.startswith("== "):
            cases.append(Case(path.stem, line[3:].strip()))
            section = "text"
        elif line.startswith("-- "):
            section, _, file = line[3:].strip().partition(" ")
            if section == "status":
                cases[-1].status = int(file)
            elif section == "unordered":
                cases[-1].unordered = True
            elif section == "refused":
                cases[-1].refused = ""
            elif section == "file":
                cases[-1].files[file] = ""
            elif section not in SECTIONS:
                raise ProgramError(f"{path}: '{line.strip()}' is no section of a case")
        elif section == "text":
            cases[-1].text += line
        elif section == "file":
            cases[-1].files[file] += line
        elif section in SECTIONS:
            setattr(cases[-1], section, (getattr(cases[-1], section) or "") + line)
    return cases


def cases(topics: Sequence[str] = ()) -> list[Case]:
    """All, or those of the topics, or of the names."""
    found = [case for path in sorted(FOLDER.glob("*.txt")) for case in parse(path)]
    known = {case.topic for case in found} | {case.name for case in found}
    for topic in topics:
        if topic not in known:
            raise ProgramError(f"the suite has no topic and no program '{topic}'; its topics are "
                               f"{', '.join(sorted({case.topic for case in found}))}")
    return [case for case in found if not topics or case.topic in topics or case.name in topics]


def compiled(case: Case) -> str:
    """Its C; CompileError."""
    return compile_text(case.source, case.file, lambda name: (f"{name}.mpd", case.files[f"{name}.mpd"])
                        if f"{name}.mpd" in case.files else None)


def on_machine(chosen: Sequence[Case], back_end: str = mpd.ASSEMBLER, threads: int = 1) -> dict[str, Path]:
    """The files in the user archive, on /bin, to execute the programs, all of which compile: `suite`, which is to be
    started with /bin/list, their list, and the programs themselves. A file's name has only the first characters of a
    long name."""
    names = {case.name: case.name[:NAME_SIZE - 1] for case in chosen}
    if len({*names.values(), "suite", "list"}) < len(names) + 2:
        raise ProgramError(f"programs of the suite differ in the first {NAME_SIZE - 1} characters of their names")
    files: dict[str, Path] = {"suite": mpd.build_suite("".join(f"/bin/{name}\n" for name in names.values()))}
    files["list"] = files["suite"].with_name("list")
    for case in chosen:
        files[names[case.name]] = mpd.link_for_machine(names[case.name], compiled(case), back_end, threads)
    return files


def told(console: str) -> dict[str, Outcome]:
    """The outcomes from the console, by file name; output and messages are one text here."""
    found: dict[str, Outcome] = {}
    name, text = "", ""
    for line in console.replace("\r", "").splitlines(keepends=True):
        if line.startswith("@begin "):
            name, text = Path(line.split()[1]).name, ""
        elif line.startswith("@end "):
            found[name] = Outcome(text, status=int(line.split()[2]))
        else:
            text += line
    return found


def differences_on_machine(chosen: Sequence[Case], console: str, threads: int = 1) -> list[str]:
    """Of the programs that `on_machine` has put there, the differences from the expected results."""
    found = told(console)
    wrong = [difference(replace(case, prints=case.prints + case.expected(case.says), says=""),
                        found.get(case.name[:NAME_SIZE - 1], Outcome("nothing")), threads) for case in chosen]
    return [one for one in wrong if one]


def on_host(chosen: Sequence[Case], back_end: str = mpd.ASSEMBLER, threads: int = 1, times: int = 1,
            more: Sequence[str] = ()) -> Iterator[tuple[Case, Outcome]]:
    """Compiles, links and executes one after the other, each so many times; `more` flags, of DISTURBED and RACES. Low
    optimisation: more costs more time than it saves; but a procedure checks its stack before it writes to it only if it
    is optimised."""
    objects = mpd.host_objects(back_end, threads, more)
    with tempfile.TemporaryDirectory(prefix="vsuite-") as scratch:
        for case in chosen:
            try:
                text = compiled(case)
            except CompileError as error:
                yield case, Outcome(refused=error.of(case.file) + "\n")
                continue
            source, program = Path(scratch) / "program.c", Path(scratch) / "program"
            source.write_text(text)
            made = subprocess.run(["gcc", *mpd.FLAGS, *mpd.HOST_FLAGS, f"-DMPD_THREADS={threads}", *more, "-O1",
                                   "-Werror", source, *objects, "-lm", "-o", program], capture_output=True, text=True)
            if made.returncode:
                yield case, Outcome(says=made.stderr, status=127)
                continue
            for number in range(times):
                try:
                    done = subprocess.run([program], capture_output=True, text=True, timeout=LONGEST, cwd=scratch,
                                          stdin=subprocess.DEVNULL, errors="replace",
                                          env=os.environ | {"MPD_DISTURB": str(number)})
                    yield case, Outcome(done.stdout, done.stderr, None, done.returncode)
                except subprocess.TimeoutExpired:
                    yield case, Outcome(says=f"it takes more than {LONGEST} s\n", status=124)


def difference(case: Case, outcome: Outcome, threads: int = 1) -> str:
    """The differences from the expected results, in a few lines; nothing if there are none."""
    wanted = {"prints": case.prints, "says": case.expected(case.says), "refused": case.refused, "status": case.status}
    if case.refused is not None:
        wanted["refused"] = case.expected(case.refused)
    made = []
    for what, expected in wanted.items():
        found = getattr(outcome, what)
        any_order = case.unordered and threads > 1 and what == "prints"
        if any_order and sorted(str(found).splitlines()) == sorted(case.prints.splitlines()):
            continue
        if found != expected:
            made.append(f"{case.topic}/{case.name}, {what}:\n  expected {expected!r}\n  found    {found!r}")
    return "\n".join(made)
