"""Writes docs/boards-resources.md and docs/boards-by-core.csv from the records of builds: `python -m
soc.boards.resources`. Entries of builds without a record stay as they are: a build takes up to an hour, and records are
not committed."""

import argparse
import csv
import io
import json
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from soc.boards.bitstream import records_folder
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from soc.fpga.placement import PlacementOptions, is_system
from soc.fpga.synthesis import SynthesisOptions
from support.cache import REPO

PAGE = REPO / "docs" / "boards-resources.md"
BY_CORE = "boards-by-core.csv"      # beside the page
INTRODUCTION = """# What the boards' bitstreams take

Made by `python -m soc.boards.resources` from the records of builds that `make bitstream` leaves in
`build/boards/records`, in place of what the page had of the same builds; do not edit.
[soc/README.md](../soc/README.md) says how a bitstream is made.

LUT, FF, EBR and MULT are the chip's look-up tables, registers, block RAMs (18 Kbit) and multipliers. *Reached* is the
clock that nextpnr says, and the one required, in MHz; a build that misses one has no bitstream. *Room*: the cells fit,
placing and routing has not been tried. *Not routed*: nextpnr was stopped. Times are processor seconds of yosys and
nextpnr. *&mfs* is ABC9's last step (`mfs` in soc/boards/catalog.py). A row is of the SoC at the time of its build."""
MEASURES = """The catalog's build, and the same with another option
([soc/README.md](../soc/README.md#bitstreams))."""
BUILDS, PATHS, TUNINGS, CORES, TOOLS = (
    "Builds", "Longest paths", "What each measure gives", "By core", "Made with")      # the page's headings
COLUMNS = {"lut": "LUT", "ff": "FF", "ebr": "EBR", "mult": "MULT"}
CORE_COLUMNS = ["build", "core", *COLUMNS.values(), "longest path, ns"]


def line(cells: list[str]) -> str:
    """A row of a table in Markdown."""
    return "| " + " | ".join(cells) + " |"


def table(heading: list[str], rows: list[list[str]], words: int = 1) -> str:
    """A table in Markdown; the first `words` columns are text, the others figures."""
    return "\n".join([line(heading), "|" + "|".join([" --- "] * words + [" ---: "] * (len(heading) - words)) + "|",
                      *map(line, rows)])


def differences(record: dict) -> str:
    """The differences of a build from the catalog, except harts; "" if none. Of the controller's own board, which the
    catalog does not have, from the usual build."""
    usual = record["parameters"]
    if record["board"] in BOARDS:
        usual = asdict(board_config(record["board"], usual["device"]))
    usual = usual | asdict(SynthesisOptions()) | asdict(PlacementOptions())
    built = record["parameters"] | record["options"]
    return ", ".join(f"{name}={value}" for name, value in sorted(built.items())
                     if name not in ("harts", "seed") and value != usual.get(name))


def told(record: dict) -> tuple[str, dict]:
    """The clock that a row shows, by its name: the system's, or the one furthest from its target if any is
    missed."""
    clocks = record["clocks"].items()
    system = [clock for clock in clocks if is_system(clock[1]["wanted_mhz"], record["clock_hz"])]
    return min(system if record["met"] else clocks, key=lambda clock: clock[1]["mhz"] / clock[1]["wanted_mhz"])


def build_row(record: dict) -> list[str]:
    """A build in the table of builds."""
    reached, verdict = "-", "**no room**"
    if record["fits"] and not record["routed"]:
        verdict = "**not routed**" if record.get("conflicts") else "room"
    if record["routed"]:
        _, clock = told(record)
        reached = f"{clock['mhz']:.1f} / {clock['wanted_mhz']:.4g}"
        verdict = "yes" if record["met"] else "**missed**"
    use, steps = record["use"], (record["synthesis"], record["placement"])
    return [record["board"], record["parameters"]["device"], differences(record) or "-", str(record["harts"]),
            reached, verdict,
            f"{use['lut']['used']} ({use['lut']['used'] / use['lut']['available']:.0%})",
            *(str(use[column]["used"]) for column in ("ff", "ebr", "mult")),
            " + ".join(f"{step['processor']:.0f}" for step in steps), str(max(step["memory"] for step in steps)),
            "yes" if record["mfs"] else "no"]


@dataclass
class Page:
    """The page's content: rows of text, each under its key."""

    builds: dict[tuple[str, ...], list[str]]    # by board, FPGA, differences from the catalog, and harts
    paths: dict[str, list[str]]                 # by the build in words
    tunings: dict[tuple[str, ...], list[str]]   # by the build in few words, and the difference
    cores: dict[str, list[list[str]]]           # by the build in few words: a row for each core
    tools: set[str]

    @classmethod
    def of(cls, records: list[dict]) -> "Page":
        """From records in any order."""
        return cls(
            {tuple(row[:4]): row for row in map(build_row, records)},
            {(row := path_row(record))[0]: row for record in records if record["routed"]},
            {tuple(row[:2]): row for row in tunings(records)},
            {title(record): [[core, *(str(counts[column]) for column in COLUMNS), longest(record, core)]
                             for core, counts in record["cores"].items()]
             for record in records if not differences(record)},
            {record[step]["tool"] for record in records for step in ("synthesis", "placement")})

    @classmethod
    def read(cls, text: str, by_core: str = "") -> "Page":
        """From the output of `str` and `by_core`; empty from ""."""
        parts = dict(re.findall(r"^## ([^\n]*)\n\n(.*?)(?=^## |\Z)", text, re.DOTALL | re.MULTILINE))

        def rows(heading: str) -> list[list[str]]:
            lines = [text for text in parts.get(heading, "").splitlines() if text.startswith("|")]
            return [[cell.strip() for cell in text.strip("|").split("|")] for text in lines[2:]]

        cores: dict[str, list[list[str]]] = {}
        for build, *row in list(csv.reader(io.StringIO(by_core)))[1:]:
            cores.setdefault(build, []).append(row)
        return cls({tuple(row[:4]): row for row in rows(BUILDS)}, {row[0]: row for row in rows(PATHS)},
                   {tuple(row[:2]): row for row in rows(TUNINGS)}, cores,
                   set(re.findall(r"^- (.*)$", parts.get(TOOLS, ""), re.MULTILINE)))

    def __or__(self, newer: "Page") -> "Page":
        """The union; the newer one's entries replace older ones."""
        return Page(self.builds | newer.builds, self.paths | newer.paths, self.tunings | newer.tunings,
                    self.cores | newer.cores, self.tools | newer.tools)

    def by_core(self) -> str:
        """The cores of each build as CSV, in the catalog's order."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(CORE_COLUMNS)
        writer.writerows([build, *row] for build in sorted(self.cores, key=place) for row in self.cores[build])
        return text.getvalue()

    def __str__(self) -> str:
        """In Markdown, in the catalog's order, without the cores. The same rows give the same text."""
        parts = [
            INTRODUCTION, f"## {BUILDS}",
            table(["board", "FPGA", "other than in the catalog", "harts", "reached, MHz", "met", *COLUMNS.values(),
                   "time, s", "memory, MiB", "&mfs"],
                  sorted(self.builds.values(), key=lambda row: place(" ".join(row[:2]), *row[2:4])), words=3),
            f"## {PATHS}", "Of the clock that the table of builds tells of, in nanoseconds; *on wires* is the part of "
            "them that routing takes, the rest is logic.",
            table(["build", "clock", "from", "to", "ns", "on wires"],
                  sorted(self.paths.values(), key=lambda row: place(row[0])), words=4),
            f"## {TUNINGS}", MEASURES,
            table(["build", "other than in the catalog", "reached, MHz", "slower by", "LUT", "fewer LUT by"],
                  sorted(self.tunings.values(), key=lambda row: place(*row[:2])), words=2),
            f"## {CORES}", f"What each core takes in each build of the catalog, and the longest path that ends in it: "
            f"[{BY_CORE}]({BY_CORE})."]
        return "\n\n".join([*parts, f"## {TOOLS}", "\n".join(f"- {tool}" for tool in sorted(self.tools))]) + "\n"


def place(build: str, other: str = "-", harts: str = "0") -> tuple:
    """The sort key of builds: the catalog's order."""
    boards = list(BOARDS)
    board, fpga = build.replace(",", "").split()[:2]
    return (boards.index(board) if board in boards else len(boards), board, fpga, other != "-", other, int(harts),
            build)


def tunings(records: list[dict]) -> list[list[str]]:
    """Builds that differ from the catalog's only in what is measured here, each with those of the catalog."""
    rows = []
    for usual in (record for record in records if record["routed"] and not differences(record)):
        others = [record for record in records if record["routed"] and record["board"] == usual["board"]
                  and record["harts"] == usual["harts"] and record["clock_hz"] == usual["clock_hz"]
                  and record["parameters"]["device"] == usual["parameters"]["device"] and differences(record)]
        if others:
            rate, luts = told(usual)[1]["mhz"], usual["use"]["lut"]["used"]
            rows.append([title(usual), "-", f"{rate:.1f}", "", str(luts), ""])
            rows += [[title(usual), differences(record), f"{(mhz := told(record)[1]['mhz']):.1f}",
                      f"{1 - mhz / rate:.0%}", str(used := record["use"]["lut"]["used"]), f"{1 - used / luts:.1%}"]
                     for record in others]
    return rows


def longest(record: dict, core: str) -> str:
    """The longest path that ends in a core; "-" if none does."""
    return f"{record['longest_ns'][core]:.1f}" if core in record["longest_ns"] else "-"


def title(record: dict) -> str:
    """A build in few words."""
    harts = record["harts"]
    return f"{record['board']} {record['parameters']['device']}, {harts} hart{'s' if harts > 1 else ''}"


def path_row(record: dict) -> list[str]:
    """The longest path of a build's clock."""
    name, clock = told(record)
    path = clock["path"]
    what = title(record) + (f", {differences(record)}" if differences(record) else "")
    return [what, name, path["from"]["core"], path["to"]["core"], f"{path['ns']:.1f}", f"{path['wires_ns']:.1f}"]


def read(folder: Path) -> list[dict]:
    """The records in `folder`. SystemExit, one line, if there is none."""
    records = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    if not records:
        raise SystemExit(f"error: no records of builds in {folder}: 'make bitstream BOARD=ulx3s' makes one")
    return records


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.boards.resources", description=__doc__.split(":")[0])
    parser.add_argument("--out", type=Path, default=PAGE, help="the page to write (default: docs/boards-resources.md)")
    options = parser.parse_args()
    by_core = options.out.with_name(BY_CORE)
    older = Page.read(*(path.read_text() if path.exists() else "" for path in (options.out, by_core)))
    page = older | Page.of(read(records_folder()))
    options.out.write_text(str(page))
    by_core.write_text(page.by_core())
    print(options.out)


if __name__ == "__main__":
    main()
