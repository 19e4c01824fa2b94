"""Blocks of the results pages: what measures each, whether the code is still the same, and how it gets into a page.

docs/results.toml declares them, a table each: `experiment`, `pages`, and where they are not the defaults `settings`
("key=value"), `layouts` (how many), `seeds`. docs/results.json is written by `./interlock results`: what each was
measured with (commit, digest of the code, seconds) and every figure that a page's prose has. A page has

    <!-- begin BLOCK: part; part --> ... <!-- end BLOCK -->     `question`, `plot NAME`, or how a table's title begins
    <!--= BLOCK: PATH -->text<!-- -->                           a figure in prose

A table of more than ten rows or 24 cells is a file below docs/tables, and a link in the page. The first mark of a block
in a page is followed by what it was measured with.

PATH leads to a figure of the summary: `serial[harts=1,sync=spl-optim,latency=75].measured_percent`, behind it `:N` for
N significant digits, or `:median` to leave the interval out.
"""

import json
import os
import re
import subprocess
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

from sim.results import record, sampling
from sim.results.table import FOLDED_ROWS, number
from support.cache import REPO, digest

DECLARED, LEDGER = Path("docs/results.toml"), Path("docs/results.json")
LAYOUTS = 5             # the default of a block
FOLDED_CELLS = 24       # larger tables are files, too
SOURCES = ("kernel", "user", "firmware", "soc", "hw", "support")       # the sources of objects and SoC
SUFFIXES = (".c", ".h", ".S", ".ld", ".mk", ".py", ".scala", ".toml", ".json", "Makefile")
FRESH, STALE, CHANGED, NEVER = "fresh", "stale", "sources changed", "never measured"
EMPTY = "> **Stale.** Not measured yet: `./interlock results {name}` does it."
REFERENCE = re.compile(r"<!--= (?P<block>[a-z][\w-]*): (?P<path>[^>]*?) -->(?P<text>[^<]*)<!-- -->")
MARKS = r"(?P<begin><!-- begin {name}: (?P<parts>[^>]*?) -->)(?P<content>.*?)(?P<end><!-- end {name} -->)"
STATE = re.compile(r"^(<sub>Measured .*</sub>|> \*\*Stale\.\*\* .*)\n+", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One block. `minutes`: about how long it takes on two cores."""

    name: str
    experiment: str
    pages: tuple
    settings: tuple = ()
    layouts: int = LAYOUTS
    seeds: tuple = (1,)
    minutes: int = 60

    def overrides(self):
        """The arguments of `--set`."""
        axes = []
        if self.layouts:
            axes.append(f"layout={','.join(map(str, range(1, self.layouts + 1)))}")
        return [*self.settings, *axes, f"seed={','.join(map(str, self.seeds))}"]


def load(root=REPO):
    """All blocks, by name; RecordError in one line if the file that declares them is wrong."""
    path = root / DECLARED
    try:
        tables = tomllib.loads(path.read_text())
        made = {}
        for name, table in tables.items():
            lists = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
            made[name] = Block(name, **({"experiment": name} | lists))
    except (OSError, tomllib.TOMLDecodeError, TypeError) as error:
        raise record.RecordError(f"{path}: {getattr(error, 'strerror', None) or error}") from error
    return made


def ledger(root=REPO):
    """The measured blocks: block -> its entry."""
    path = root / LEDGER
    return record.read_json(path) if path.is_file() else {}


def write_ledger(entries, root=REPO):
    record.write_text(root / LEDGER, json.dumps(entries, indent=1, sort_keys=True) + "\n")


# ---- the code that a block measures


def commit(root=REPO):
    """The commit, with a + if tracked files differ from it; "unknown" outside a checkout."""
    def git(*words):
        return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout
    try:
        changed = git("status", "--porcelain", "--untracked-files=no", "--", *SOURCES, "sim")
        return git("rev-parse", "--short=9", "HEAD").strip() + "+" * bool(changed.strip())
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def sources(block, root=REPO, report=True):
    """A digest of all sources of the code and the experiment: the same sources make the same code. Without `report`
    that of what makes the records."""
    inputs = {"settings": " ".join(block.overrides())}
    for name in SOURCES:
        for path in sorted((root / name).rglob("*")):
            if path.is_file() and path.name.endswith(SUFFIXES) and "__pycache__" not in path.parts and not (
                    path.is_relative_to(root / "kernel" / "test")):
                inputs[path.relative_to(root).as_posix()] = path
    return digest(inputs | experiment_files(block.experiment, root, report))[:16]


def experiment_files(name, root=REPO, report=True):
    """The file of an experiment, and the module of its report if that is wanted."""
    folder = root / "sim" / "experiments"
    table = tomllib.loads((folder / f"{name}.toml").read_text())
    module = table.get("report") if report else None
    return {f"{name}.toml": folder / f"{name}.toml"} | ({f"{module}.py": folder / f"{module}.py"} if module else {})


def code(block):
    """A digest over kernel objects, SoC and experiment, which are built if they are not yet."""
    from sim.experiments import definition
    from sim.images.kernel import kernel_objects
    from sim.images.programs import command_files
    from soc.build import generate_soc
    experiment = definition.load(block.experiment)
    values = experiment.settings(block.overrides())
    inputs = {"settings": " ".join(block.overrides())} | experiment_files(block.experiment)
    targets = {run.target for run in experiment.runs(values, 60_000_000)}
    for machine, sync, options, _, *program in sorted(targets):
        inputs |= {f"program {name}": path for name, path in command_files(program).items()}
        config = machine.config()
        inputs[f"soc {machine.label}"] = f"{generate_soc(config, machine.two_chips).fingerprint:016x}"
        chosen = {name: value for name, value in options if name != "layout"}
        inputs[f"kernel {machine.label} {sync} {sorted(chosen.items())}"] = loaded(
            kernel_objects(config, sync, chosen))
    return digest(inputs)[:16]


def loaded(folder):
    """A digest of the loaded parts of the objects in a folder; line numbers are not among them."""
    from elftools.elf.elffile import ELFFile
    inputs = {}
    for path in sorted(Path(folder).rglob("*.o")):
        with open(path, "rb") as file:
            for index, section in enumerate(ELFFile(file).iter_sections()):
                if section["sh_flags"] & 2:     # SHF_ALLOC
                    inputs[f"{path.relative_to(folder)} {index} {section.name}"] = section.data() or str(
                        section["sh_size"])
    return digest(inputs)


def state(block, entry, root=REPO, exact=False):
    """Whether a block's figures are those of the current code. Without `exact` nothing is built, and if sources differ
    the code may still be the same."""
    if not entry or "digest" not in entry:
        return NEVER
    if entry.get("sources") == sources(block, root):
        return FRESH
    if not exact:
        return CHANGED
    return FRESH if code(block) == entry["digest"] else STALE


# ---- pages


@dataclass
class Made:
    """The content for pages: the tables, plots and answer of a report."""

    tables: list
    plots: list = field(default_factory=list)
    question: str = ""
    answer: str = ""


def headed(block, entry, how):
    """The first line of a block: what it was measured with, or that it is stale."""
    if how == NEVER:
        return ("> **Stale.** Measured with another kernel and one placement of its code, so without an interval. "
                f"`./interlock results {block.name}` measures it anew.")
    told = measured(block, entry)
    if how == FRESH:
        return f"<sub>Measured {told}</sub>"
    changed = "The code has" if how == STALE else "Sources of the code have"
    return f"> **Stale.** {changed} changed since this was measured {told}"


def measured(block, entry):
    settings = ", ".join(block.settings) or "its defaults"
    seeds = ", ".join(map(str, entry["seeds"]))
    return (f"by `./interlock results {block.name}`: experiment {block.experiment} with {settings}; "
            f"{len(entry['layouts']) or 1} layouts, seed{'s' * (len(entry['seeds']) > 1)} {seeds}; commit "
            f"{entry['commit']}, code {entry['digest']}.")


def shown(part, block, made, page):
    """The Markdown of one part of a block."""
    if part == "question":
        if not made.question:
            raise record.RecordError(f"{page}: experiment {block.experiment} has no question")
        return f"**Question.** {made.question}\n\n**Answer.** {made.answer}" if made.answer else (
            f"**Question.** {made.question}")
    kind, _, name = part.partition(" ")
    if kind == "plot":
        plot = next((plot for plot in made.plots if plot.name == name), None)
        if not plot:
            raise record.RecordError(f"{page}: there is no plot {name} in block {block.name} "
                                     f"({', '.join(plot.name for plot in made.plots)})")
        return f"![{plot.title}]({os.path.relpath(plot_file(block, plot), Path(page).parent)})"
    return "\n\n".join(in_page(table, block, page) for table in made.tables if table.title.startswith(part))


def in_page(table, block, page):
    """A table in a page, or the link to its file."""
    if not is_file(table):
        return table.markdown().replace("## ", "### ", 1)
    path = os.path.relpath(table_file(block, table), Path(page).parent)
    return "\n\n".join([f"### {table.title}", f"[{len(table.rows)} rows]({path})", *table.notes])


def is_file(table):
    """Whether a table is too long or too wide for a page."""
    return len(table.rows) > FOLDED_ROWS or len(table.rows) * len(table.columns) > FOLDED_CELLS


def table_file(block, table):
    """The file of a long table."""
    return f"docs/tables/{block.name}-{re.sub(r'[^a-z0-9]+', '-', table.title.lower()).strip('-')}.csv"


def plot_file(block, plot):
    return f"docs/plots/{block.name}-{plot.name}.svg"


def put(text, block, entry, made, page):
    """A page with the block's content put between its marks. RecordError if the page has none."""
    pattern = re.compile(MARKS.format(name=re.escape(block.name)), re.DOTALL)
    begin = first_mark(pattern, text)

    def replaced(mark):
        parts = [part.strip() for part in mark["parts"].split(";")]
        content = [shown(part, block, made, page) for part in parts]
        head = headed(block, entry, FRESH) if mark.start() == begin else ""
        return "\n\n".join([mark["begin"], *filter(None, [head, *content]), mark["end"]])
    text, count = pattern.subn(replaced, text)
    if not count:
        raise record.RecordError(f"{page}: no '<!-- begin {block.name}: ... -->' and '<!-- end {block.name} -->' in it")
    return text


def mark(text, block, entry, how):
    """A page in which the block shows its state; its figures stay."""
    pattern = re.compile(MARKS.format(name=re.escape(block.name)), re.DOTALL)
    begin = first_mark(pattern, text)

    def replaced(found):
        content = STATE.sub("", found["content"].strip() + "\n").strip()
        head = headed(block, entry, how) if content else EMPTY.format(name=block.name)
        head = head if found.start() == begin or not content else ""
        return "\n\n".join([found["begin"], *filter(None, [head, content]), found["end"]])
    return pattern.sub(replaced, text)


def first_mark(pattern, text):
    """Where the block's first mark of a page is, which alone says what the block was measured with."""
    found = pattern.search(text)
    return found and found.start()


def parts_of(text, block):
    """The parts of a block that a page has."""
    return [part.strip() for found in re.finditer(MARKS.format(name=re.escape(block.name)), text, flags=re.DOTALL)
            for part in found["parts"].split(";")]


# ---- figures in prose


def figure(summary, path):
    """The text of the figure at a path; RecordError in one line if there is none."""
    way, _, form = path.partition(":")
    value = summary
    for step in re.findall(r"[\w-]+|\[[^\]]*\]", way):
        try:
            if step.startswith("["):
                wanted = dict(pair.strip().split("=", 1) for pair in step[1:-1].split(","))
                found = [row for row in value if all(str(row.get(name)) == text for name, text in wanted.items())]
                if len(found) != 1:
                    raise record.RecordError(f"{path}: {len(found)} rows are {step}")
                value = found[0]
            else:
                value = value[step]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise record.RecordError(f"{path}: there is no {step}") from error
    if isinstance(value, str):
        return value
    if not isinstance(value, int | float):
        raise record.RecordError(f"{path}: that is no figure")
    digits = int(form) if form.isdigit() else 3
    if form == "median":
        return number(float(value), digits)
    return f"{value:,}" if isinstance(value, int) else number(value, digits)


def references(text, block):
    """The paths of a block's figures in a page's prose, in order."""
    return [found["path"] for found in REFERENCE.finditer(text) if found["block"] == block.name]


def fill(text, block, figures):
    """A page whose prose has these figures of the block."""
    def replaced(found):
        if found["block"] != block.name:
            return found[0]
        return f"<!--= {found['block']}: {found['path']} -->{figures[found['path']]}<!-- -->"
    return REFERENCE.sub(replaced, text)


# ---- from records to pages


def entry_of(block, report, digest_of_code, digest_of_sources, seconds, root=REPO):
    """The ledger's entry of a measured block."""
    said = report.summary["sampling"]
    return {"experiment": block.experiment, "settings": list(block.settings), "layouts": said["layouts"],
            "seeds": said["seeds"], "samples": said["samples"], "commit": commit(root), "digest": digest_of_code,
            "sources": digest_of_sources, "seconds": round(seconds)}


def publish(block, report, entry, root=REPO):
    """Puts a block's report into its pages, its plots beside them and its entry into the ledger."""
    made = Made(report.all_tables(), report.plots, *report.asked())
    figures, written = {}, {}
    for page in block.pages:
        text = put((root / page).read_text(), block, entry, made, page)
        figures |= {path: figure(report.summary, path) for path in references(text, block)}
        written[page] = text
    for page, text in written.items():
        files = {plot_file(block, plot): plot.files()["svg"] for plot in made.plots
                 if f"plot {plot.name}" in parts_of(text, block)}
        files |= {table_file(block, table): table.csv().encode() for table in made.tables
                  if is_file(table) and table.title.startswith(tuple(parts_of(text, block)))}
        for path, content in files.items():
            record.make_directory((root / path).parent)
            record.write_bytes(root / path, content)
        record.write_text(root / page, fill(text, block, figures))
    entries = ledger(root)
    entries[block.name] = entry | {"figures": figures}
    write_ledger(entries, root)


def mark_all(root=REPO, exact=False):
    """Makes every block of every page show its state; returns name -> state. With `exact`, blocks whose code is the
    same are fresh from then on: the ledger gets the digest of the sources as they are."""
    entries, states = ledger(root), {}
    for block in load(root).values():
        states[block.name] = state(block, entries.get(block.name), root, exact)
        if exact and states[block.name] == FRESH:
            entries[block.name]["sources"] = sources(block, root)
        for page in block.pages:
            path = root / page
            text = path.read_text()
            marked = mark(text, block, entries.get(block.name), states[block.name])
            if marked != text:
                record.write_text(path, marked)
    if exact:
        write_ledger(entries, root)
    return states


def stale(root=REPO):
    """Names of blocks whose sources differ from the measured ones, and the number of blocks."""
    entries, blocks = ledger(root), load(root)
    return [name for name, block in blocks.items() if state(block, entries.get(name), root) != FRESH], len(blocks)


def note(report):
    return sampling.note(report.summary["sampling"])
