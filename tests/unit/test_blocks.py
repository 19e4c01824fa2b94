"""Blocks of the results pages: which are stale, how a page says so, and that figures in prose are the records'."""

import re
from types import SimpleNamespace

import pytest

from sim.results import blocks, sampling
from sim.results.blocks import CHANGED, FRESH, NEVER, STALE, Block
from sim.results.plot import Plot
from sim.results.record import RecordError
from sim.results.statistics import Samples
from sim.results.table import Table
from support.cache import REPO

PAGE = """# Results

The flag costs <!--= load: rows[sync=spl-optim,latency=75].percent -->old<!-- --> %,
<!--= load: pairs -->old<!-- --> pairs; of another: <!--= other: x -->kept<!-- -->.

<!-- begin load: question; plot over; Rows -->

old

<!-- end load -->
"""


def asked():
    return "What does it cost?", "Little. It does not grow."


@pytest.fixture
def tree(tmp_path):
    """A tree with one block, and sources."""
    for name in (*blocks.SOURCES, "docs", "sim/experiments", "kernel/test"):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    (tmp_path / "docs/results.toml").write_text('[load]\npages = ["docs/page.md", "README.md"]\nlayouts = 3\n')
    (tmp_path / "docs/page.md").write_text(PAGE)
    (tmp_path / "README.md").write_text("<!-- begin load: plot over -->\n<!-- end load -->\n")
    (tmp_path / "sim/experiments/load.toml").write_text("")
    (tmp_path / "kernel/a.c").write_text("int a;\n")
    return tmp_path


def report_of():
    percent = Samples([0.80, 0.87, 0.90])
    rows = [{"sync": "spl-optim", "latency": latency, "percent": percent} for latency in (0, 75)]
    summary = {"rows": rows, "pairs": 1200, "sampling": {"layouts": [1, 2, 3], "seeds": [1], "samples": 3}}
    tables = [Table("Rows", ["scheme", "%"], [["spl-optim", str(n)] for n in range(11)]),
              Table("Others", ["x"], [["y"]])]
    return SimpleNamespace(summary=summary, all_tables=lambda: tables, asked=asked,
                           plots=[Plot("over", "Over latency", "cycles", "%", {"spl-optim": [(0, percent)]})])


def publish(tree, made=None):
    block = blocks.load(tree)["load"]
    entry = blocks.entry_of(block, made or report_of(), "c0de", blocks.sources(block, tree), 61.4, tree)
    blocks.publish(block, made or report_of(), entry, tree)
    return block


def test_a_page_gets_question_plot_tables_and_what_they_were_measured_with(tree):
    publish(tree)
    text = (tree / "docs/page.md").read_text()
    content = text[text.index("<!-- begin"):]
    parts = ("Measured by `./interlock results load`", "**Question.** What does it cost?",
             "**Answer.** Little. It does not grow.", "](plots/load-over.svg)", "### Rows",
             "[11 rows](tables/load-rows.csv)")
    assert [content.index(part) for part in parts] == sorted(content.index(part) for part in parts)
    assert "3 layouts, seed 1; commit" in content and "code c0de" in content
    assert "Others" not in text and "old" not in text
    assert "](docs/plots/load-over.svg)" in (tree / "README.md").read_text()
    assert (tree / "docs/plots/load-over.svg").read_bytes().startswith(b"<?xml")
    assert (tree / "docs/tables/load-rows.csv").read_text().startswith("scheme,%\nspl-optim,0\n")
    before = text
    publish(tree)
    assert (tree / "docs/page.md").read_text() == before


@pytest.mark.parametrize("rows, columns, linked", [(10, 2, False), (11, 1, True), (6, 4, False), (5, 5, True)])
def test_a_table_that_is_long_or_wide_is_a_file(tree, rows, columns, linked):
    made = report_of()
    made.all_tables = lambda: [Table("Rows", ["x"] * columns, [["1"] * columns] * rows)]
    publish(tree, made)
    assert (f"[{rows} rows](tables/load-rows.csv)" in (tree / "docs/page.md").read_text()) == linked
    assert (tree / "docs/tables/load-rows.csv").exists() == linked


def test_a_block_says_once_in_a_page_what_it_was_measured_with(tree):
    path = tree / "docs/page.md"
    path.write_text(path.read_text() + "\n<!-- begin load: Others -->\n<!-- end load -->\n")
    block = publish(tree)
    assert path.read_text().count("Measured by") == 1 and "### Others" in path.read_text()
    path.write_text(blocks.mark(path.read_text(), block, blocks.ledger(tree)["load"], STALE))
    assert path.read_text().count("**Stale.**") == 1 and "Measured by" not in path.read_text()


def test_figures_in_prose_are_filled_in_and_kept(tree):
    publish(tree)
    text = (tree / "docs/page.md").read_text()
    assert "costs <!--= load: rows[sync=spl-optim,latency=75].percent -->0.870 (0.729..0.984)<!-- --> %" in text
    assert "-->1,200<!-- --> pairs" in text and "-->kept<!-- -->" in text
    assert blocks.ledger(tree)["load"]["figures"] == {"rows[sync=spl-optim,latency=75].percent": "0.870 (0.729..0.984)",
                                                      "pairs": "1,200"}


@pytest.mark.parametrize("path, text", [
    ("rows[latency=0].percent:median", "0.870"), ("rows[latency=0].percent:2", "0.87 (0.73..0.98)"),
    ("rows[latency=0].sync", "spl-optim")])
def test_forms_of_a_figure(path, text):
    assert blocks.figure(report_of().summary, path) == text


@pytest.mark.parametrize("path, said", [
    ("rows[latency=1].percent", "0 rows are"), ("rows[sync=spl-optim].percent", "2 rows are"),
    ("nothing", "no nothing"), ("rows", "no figure"), ("pairs.x", "no x")])
def test_a_path_that_leads_nowhere_is_one_line(path, said):
    with pytest.raises(RecordError, match=said):
        blocks.figure(report_of().summary, path)


def test_a_page_without_marks_or_a_plot_that_is_not_there_changes_nothing(tree):
    (tree / "README.md").write_text("<!-- begin load: plot none -->\n<!-- end load -->\n")
    with pytest.raises(RecordError, match="no plot none"):
        publish(tree)
    (tree / "README.md").write_text("nothing\n")
    with pytest.raises(RecordError, match="README.md: no '<!-- begin load"):
        publish(tree)
    assert (tree / "docs/page.md").read_text() == PAGE and not (tree / "docs/results.json").exists()


def test_a_block_is_stale_when_code_or_experiment_change_and_its_page_says_so(tree):
    block = publish(tree)
    entry = blocks.ledger(tree)["load"]
    assert blocks.state(block, entry, tree) == FRESH and blocks.stale(tree) == ([], 1)
    (tree / "kernel/test/b.c").write_text("int b;\n")         # no block measures a test
    (tree / "kernel/README.md").write_text("words\n")
    assert blocks.state(block, entry, tree) == FRESH
    for changed in ("kernel/a.c", "sim/experiments/load.toml", "hw/new.py"):
        path = tree / changed
        before = path.read_text() if path.exists() else None
        path.write_text("# changed\n")
        assert blocks.state(block, entry, tree) == CHANGED and blocks.stale(tree) == (["load"], 1), changed
        if before is None:
            path.unlink()
        else:
            path.write_text(before)
    assert blocks.state(block, None, tree) == NEVER
    assert blocks.state(Block("load", "load", (), layouts=5), entry, tree) == CHANGED


@pytest.mark.parametrize("now, how", [("c0de", FRESH), ("0dd", STALE)])
def test_where_sources_differ_the_code_decides(tree, monkeypatch, now, how):
    block = publish(tree)
    (tree / "kernel/a.c").write_text("int a;   // a comment\n")
    monkeypatch.setattr(blocks, "code", lambda _: now)
    assert blocks.state(block, blocks.ledger(tree)["load"], tree, exact=True) == how
    assert blocks.mark_all(tree, exact=True) == {"load": how}
    text = (tree / "docs/page.md").read_text()
    assert ("> **Stale.**" in text) == (how == STALE) and "### Rows" in text
    blocks.mark_all(tree, exact=True)
    assert (tree / "docs/page.md").read_text() == text       # said once
    assert blocks.stale(tree) == (["load"] if how == STALE else [], 1)      # what has been found out is kept
    monkeypatch.setattr(blocks, "code", lambda _: "c0de")
    blocks.mark_all(tree, exact=True)
    assert "**Stale.**" not in (tree / "docs/page.md").read_text()


# ---- the pages of this tree


def test_every_block_is_in_its_pages_and_every_mark_is_of_a_block():
    known = blocks.load()
    marks = {}
    for path in [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]:
        text = path.read_text()
        for name in re.findall(r"<!-- begin ([a-z][\w-]*):", text):
            marks.setdefault(name, set()).add(path.relative_to(REPO).as_posix())
            assert f"<!-- end {name} -->" in text
    assert marks == {name: set(block.pages) for name, block in known.items()}


def test_blocks_take_no_more_than_an_hour_each_and_ten_together():
    minutes = [block.minutes for block in blocks.load().values()]
    assert max(minutes) <= 60 and sum(minutes) <= 600


def test_the_settings_of_every_block_are_those_of_its_experiment():
    from sim.experiments import definition
    for block in blocks.load().values():
        experiment = definition.load(block.experiment)
        runs = experiment.runs(experiment.settings(block.overrides()), 60_000_000)
        assert {sampling.place({"parameters": run.parameters}) for run in runs} == {
            (layout, seed) for layout in range(1, block.layouts + 1) or experiment.settings(block.settings)["layout"]
            for seed in block.seeds}


def test_what_make_run_asks_for_is_in_three_layouts():
    from sim.experiments import definition
    (words,) = re.findall(r"^RUN := (.*)$", (REPO / "Makefile").read_text(), re.MULTILINE)
    experiment = definition.load("pic-latency")
    settings = experiment.settings(words.split())
    assert len(settings["layout"]) >= 3
    assert {run.kind for run in experiment.runs(settings, 60_000_000)} == {"table5", "serial"}


def test_figures_in_the_prose_of_pages_are_those_that_were_measured():
    known, entries = blocks.load(), blocks.ledger()
    for path in [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]:
        for found in blocks.REFERENCE.finditer(path.read_text()):
            assert found["block"] in known, f"{path.name}: {found[0]}"
            figures = entries.get(found["block"], {}).get("figures", {})
            assert figures.get(found["path"]) == found["text"], f"{path.name}: {found[0]}"


FIGURE = re.compile(r"\d[\d,.]*(?: to \d[\d,.]*| and \d[\d,.]*)? ?(?:%|per cent|times|cycles|million|floors|[KM]B/s)")
CHOSEN = re.compile(r"\b(aims?|target|the paper's)\b|95 % interval")     # figures of aims and of papers


def bare_figures(text):
    """What looks measured in the prose of a results page, outside of blocks, references and code."""
    text = re.sub(r"<!-- begin ([\w-]+):.*?<!-- end \1 -->", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`|^    .*$", "", blocks.REFERENCE.sub("", text), flags=re.MULTILINE)
    return [found for paragraph in text.split("\n\n") if not CHOSEN.search(paragraph)
            for found in FIGURE.findall(paragraph)]


def test_figures_in_the_prose_of_results_pages_are_references():
    assert bare_figures(PAGE) == [] and bare_figures("It costs 3 to 4 % more,\n1,200 cycles.") == [
        "3 to 4 %", "1,200 cycles"]
    for path in (REPO / "docs").glob("results*.md"):
        assert not bare_figures(path.read_text()), path.name


def test_results_pages_begin_with_a_question_and_a_plot():
    for path in [REPO / "README.md", *sorted((REPO / "docs").glob("results*.md"))]:
        parts = re.search(r"<!-- begin [a-z][\w-]*: (.*?) -->", path.read_text())[1].split("; ")
        assert parts[0] == "question" and parts[1].startswith("plot "), path.name


def test_every_block_says_what_it_was_measured_with_or_that_it_is_stale():
    for name, block in blocks.load().items():
        for page in block.pages:
            found = re.search(blocks.MARKS.format(name=name), (REPO / page).read_text(), re.DOTALL)
            assert blocks.STATE.match(found["content"].strip() + "\n"), f"{page}: {name} ('./interlock results --mark')"


def test_every_plot_and_table_that_is_kept_is_shown_by_a_page():
    text = "".join(path.read_text() for path in [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))])
    for folder in ("plots", "tables"):
        for path in (REPO / "docs" / folder).iterdir():
            assert f"{folder}/{path.name})" in text, path.name


def test_no_page_of_results_has_a_long_table():
    for path in (REPO / "docs").glob("results*.md"):
        for rows in re.findall(r"(?:^\|.*\|\n)+", path.read_text(), re.MULTILINE):
            assert rows.count("\n") - 2 <= blocks.FOLDED_ROWS, path.name


def test_another_report_of_the_same_records_makes_a_block_stale_but_measures_nothing_anew(tree):
    (tree / "sim/experiments/load.toml").write_text('report = "load"\n')
    (tree / "sim/experiments/load.py").write_text("")
    block = publish(tree)
    records = blocks.sources(block, tree, report=False)
    (tree / "sim/experiments/load.py").write_text("# another\n")
    assert blocks.stale(tree) == (["load"], 1) and blocks.sources(block, tree, report=False) == records
    (tree / "sim/experiments/load.toml").write_text('report = "load"\nlimit = 1\n')
    assert blocks.sources(block, tree, report=False) != records
