"""What each folder of tests took, beside its budget (tests/budget.toml): printed at the end of every run."""

import tomllib
from collections import defaultdict
from pathlib import Path

BUDGET = Path(__file__).with_name("budget.toml")
SLOWEST = 5     # files shown of a folder that is over its budget


def pytest_terminal_summary(terminalreporter):
    files = defaultdict(float)
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "duration", None) and getattr(report, "fspath", None):
                files[Path(report.fspath).as_posix()] += report.duration
    budget = tomllib.loads(BUDGET.read_text())["minutes"]
    terminalreporter.section("minutes, by folder")
    for line in table(files, budget):
        terminalreporter.write_line(line)


def table(files, budget):
    """Lines of text: folder, minutes and budget; the slowest files of a folder that is over its own.

    `files` has the seconds of each file by its path, `tests/FOLDER/...`; `budget` the minutes of each folder."""
    folders = defaultdict(dict)
    for path, seconds in files.items():
        parts = Path(path).parts
        if "tests" in parts[:-2]:
            folders[parts[parts.index("tests") + 1]][path] = seconds
    for folder, of_files in sorted(folders.items()):
        minutes, allowed = sum(of_files.values()) / 60, budget.get(folder, 0)
        over = minutes > allowed
        yield f"{folder:<10} {minutes:6.1f} of {allowed:g}{'   over' if over else ''}"
        if over:
            slowest = sorted(of_files.items(), key=lambda item: -item[1])[:SLOWEST]
            yield from (f"           {seconds / 60:6.1f}  {path}" for path, seconds in slowest)
