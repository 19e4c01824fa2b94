"""Runs docs/tutorial.md, docs/programs.md and docs/your-own-kernel.md as a reader would: every command in order, every
file as written there; a command's output must contain what the page shows of it."""

import re
import shutil
import subprocess
from dataclasses import dataclass, field

import pytest

from support.cache import REPO

# Each says that all goes to build/<name>.
PAGES = [REPO / "docs" / name for name in ("tutorial.md", "programs.md", "your-own-kernel.md")]
TIMEOUT_S = 900                         # for one command that has to build


@dataclass
class Step:
    """A command, its expected exit status and lines of output; or a file's path and content."""

    line: int
    command: str = ""
    status: int = 0
    shown: list = field(default_factory=list)
    path: str = ""
    content: str = ""


def steps(text):
    """The page's steps in order.

    ```sh holds commands (`status=N` behind it: of the last one), ```text what the command before it prints,
    <!-- file: PATH --> names the file that the block behind it is; other blocks are not allowed.
    """
    made, path = [], None
    for block in re.finditer(r"<!-- file: (\S+) -->|^```(\w*) ?(.*)\n((?s:.*?))^```$", text, re.MULTILINE):
        line = text[:block.start()].count("\n") + 1
        name, kind, word, content = block.groups()
        if name:
            path = name
        elif path:
            made.append(Step(line, path=path, content=content))
            path = None
        elif kind == "sh":
            made += [Step(line, command=command) for command in content.splitlines()]
            if word:
                made[-1].status = int(word.removeprefix("status="))
        else:
            assert kind == "text" and made[-1].command, f"line {line}: what is this block?"
            made[-1].shown += content.splitlines()
    return made


def figures_aside(line):
    """A line without what changes when the kernel does: numbers, digests, widths of columns."""
    return re.sub(r"\s+", " ", re.sub(r"\b(0x)?[0-9a-f]*\d[0-9a-f.,:]*\b", "N", line)).strip()


def holds(printed, shown):
    """Whether the lines `shown` begin, in order, lines that were `printed`; gives the first that does not."""
    lines = map(figures_aside, printed.splitlines())
    for wanted in shown:
        if not any(line.startswith(figures_aside(wanted)) for line in lines):
            return wanted
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_page(page):
    left = REPO / "build" / page.stem
    shutil.rmtree(left, ignore_errors=True)
    left.mkdir(parents=True)
    for step in steps(page.read_text()):
        where = f"{page.name}, line {step.line}"
        if step.path:
            (REPO / step.path).write_text(step.content)
            continue
        done = subprocess.run(step.command, shell=True, executable="/bin/bash", cwd=REPO, text=True, timeout=TIMEOUT_S,
                              stdin=subprocess.DEVNULL, capture_output=True)
        printed = done.stdout + done.stderr
        told = f"{where}: {step.command}\n{printed}"
        assert done.returncode == step.status, f"exit status {done.returncode}, {told}"
        missing = holds(printed, step.shown)
        assert missing is None, f"not printed: {missing}\n{told}"


@pytest.mark.parametrize("page, least", list(zip(PAGES, (9, 3, 8), strict=True)))
def test_the_page_is_read_whole(page, least):
    """Every line of the page that looks like a command is a step."""
    text = page.read_text()
    commands = [step.command for step in steps(text) if step.command]
    assert len(commands) >= least
    assert re.findall(r"^(?:\./interlock|make|grep) .*", text, re.MULTILINE) == commands


@pytest.mark.parametrize("printed, shown, missing", [
    ("a 1\nb 2\nc 3", ["a 9", "c 8"], None),
    ("a 1\nb 2", ["b 1", "a 1"], "a 1"),
    ("digest 5a1c20d5 cycles 1,234 in 0:03", ["digest 99ffee00 cycles 999 in 1:11"], None),
    ("one  two", ["one two"], None),
    ("panic: lost", ["panic: found"], "panic: found"),
])
def test_figures_may_move_and_words_may_not(printed, shown, missing):
    assert holds(printed, shown) == missing
