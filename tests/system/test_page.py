"""The report's page in a browser: opened, clicked through, and its contents compared with the records."""

import csv
import json

import pytest

from sim.results import report
from sim.results.page.parts import Page, Picture, Section
from sim.results.page.render import render
from sim.results.plot import HeatMap, Histogram, Intervals, Plot
from tests.system.chromium import cells, chromium, drawn, grid, heads, opened, until
from tests.unit.stub import Bench

FAILED = "serial-h2-cli-pessim-l75"
MOST_BYTES = 6_000_000


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """A results directory with one run that failed."""
    bench = Bench(tmp_path_factory.mktemp("page"))
    bench.plan = {FAILED: {"status": 4, "reason": "no instruction <b>retired</b>"}}
    runner = bench.run("harts=1,2", "link_latency=0,75,147", "size=16", "sweep=1000")
    report.write(runner.out)
    return runner.out


@pytest.fixture(scope="module")
def records(results):
    """The records on the disk, by their identity."""
    return {path.parent.name: json.loads(path.read_text()) for path in results.glob("runs/*/record.json")}


@pytest.fixture
def page(browser, results):
    shown = opened(browser, results / "report.html")
    yield shown
    assert not shown.complaints
    assert shown.asked == [(results / "report.html").as_uri()], "the page wants more than itself"
    shown.context.close()


def test_every_run_is_there(page, records):
    table = grid(page, "Every run")
    columns = heads(table)
    shown = {row[0]: dict(zip(columns, row, strict=True)) for row in cells(table)}
    assert shown.keys() == records.keys()
    for identity, made in records.items():
        row = shown[identity]
        assert row["link_latency"] == str(made["parameters"]["link_latency"])
        assert row["scheme"] == made["sync"] and row["harts"] == str(made["harts"])
        assert row["cycles"] == f"{made['run']['cycles']:,}" and row["digest"] == made["run"]["digest"]
        assert row["outcome"] == (made["failure"] or "ok")


def test_a_failed_run_is_named_on_top_and_its_reason_is_only_text(page, records):
    warning = page.locator("[role=alert]")
    assert warning.all_inner_texts() == [f"Failed: {FAILED}: {records[FAILED]['failure']}"]
    assert "<b>" in warning.inner_text() and not warning.locator("b").count()
    assert page.locator("tr.failed").count() == 1


def test_a_click_on_a_run_shows_its_record(page, records):
    identity = "serial-h1-spl-optim-l75"
    page.locator("#every-run tr").filter(has_text=identity).click()
    dialog = page.locator("#details")
    assert dialog.locator("h3").inner_text() == identity
    shown = dict(zip(dialog.locator("dt").all_inner_texts(), dialog.locator("dd").all_inner_texts(), strict=True))
    made = records[identity]
    assert shown["boot arguments"] == made["bootargs"] and shown["digest"] == made["run"]["digest"]
    assert f"bytes={made['run']['results']['serial'][0]['bytes']}" in shown["@serial"]
    dialog.get_by_role("button", name="close").click()
    assert not dialog.is_visible()


def test_a_runs_record_is_opened_by_keyboard(page, records):
    """Tab goes from row to row, Enter or the space bar opens, Escape closes and leaves the focus where it was."""
    table = grid(page, "Every run")
    first = table.locator("tbody tr").first
    first.focus()
    for number, key in enumerate(("Enter", "Space", "Enter")):
        row = table.locator("tbody tr").nth(number)
        assert row.evaluate("r => r === document.activeElement && getComputedStyle(r).outlineStyle !== 'none'")
        page.keyboard.press(key)
        dialog = page.locator("#details")
        assert dialog.evaluate("d => d.open"), key
        assert dialog.locator("h3").text_content() == row.locator("td").first.text_content()
        page.keyboard.press("Escape")
        assert not dialog.evaluate("d => d.open")
        page.keyboard.press("Tab")


# Texts that overlap or lie outside the window, as far as their containers let them show.
OVERLAPS = """() => {
  const seen = [], found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = walker.nextNode());) {
    const of = node.parentElement;
    if (!node.textContent.trim() || of.closest("svg, script, style") || !of.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    for (const whole of range.getClientRects()) {
      let [left, top, right, bottom] = [whole.left, whole.top, whole.right, whole.bottom];
      for (let e = of; e && e !== document.body; e = e.parentElement) {
        if (getComputedStyle(e).overflow === "visible") continue;
        const box = e.getBoundingClientRect();
        [left, top] = [Math.max(left, box.left), Math.max(top, box.top)];
        [right, bottom] = [Math.min(right, box.right), Math.min(bottom, box.bottom)];
      }
      if (right - left < 2 || bottom - top < 2) continue;
      const text = node.textContent.trim().slice(0, 40);
      if (left < -1 || right > innerWidth + 1) found.push(`${text} is beside the window`);
      seen.push({ left, top, right, bottom, text, head: of.closest("thead") !== null });
    }
  }
  for (const [i, a] of seen.entries()) for (const b of seen.slice(i + 1)) {
    if (a.head !== b.head) continue;        // a heading that stays lies over what is rolled below it
    if (Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2
        && Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 4) found.push(`${a.text} / ${b.text}`);
  }
  const root = document.documentElement;
  if (root.scrollWidth > root.clientWidth) found.push(`${root.scrollWidth} pixels wide`);
  return found;
}"""


@pytest.mark.parametrize("width", [320, 400, 1280])
def test_nothing_overlaps(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
    for plot in page.locator("figure.plot").all():
        drawn(page, plot.get_attribute("id"))
    assert page.evaluate(OVERLAPS) == []
    page.locator("tr[data-details]").first.click()
    assert page.evaluate("""() => { const d = document.getElementById("details");
        return d.open && d.scrollWidth <= d.clientWidth && d.getBoundingClientRect().right <= innerWidth; }""")


# Contents of a page that are missing on paper, though on screen one can scroll or open to see them.
CUT = """() => {
  const found = [];
  const all = "main td, main th, main dd, main figcaption, main img, main p, header p";
  for (const cell of document.querySelectorAll(all)) {
    const box = cell.getBoundingClientRect();
    if (!cell.checkVisibility() && !cell.closest("[hidden]")) found.push(`${cell.textContent} is not shown`);
    for (let e = cell.parentElement; e; e = e.parentElement) {
      const around = e.getBoundingClientRect();
      if (getComputedStyle(e).overflow !== "visible" &&
          (box.right > around.right + 1 || box.bottom > around.bottom + 1))
        found.push(`${cell.textContent} is cut`);
    }
    if (box.right > innerWidth + 1) found.push(`${cell.textContent} is beside the paper`);
  }
  return found;
}"""


@pytest.mark.parametrize("scripts", [True, False])
def test_what_is_printed_is_whole(browser, results, scripts):
    """On A4 and in paper's colours; what was closed on the screen is closed there again."""
    page = opened(browser, results / "report.html", java_script_enabled=scripts, color_scheme="dark")
    page.set_viewport_size({"width": 718, "height": 1000})      # A4 between margins
    closed = page.locator("details:not([open])").count()
    assert closed
    if scripts:
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
    page.emulate_media(media="print")
    assert page.evaluate(CUT) == []
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    if scripts:
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details:not([open])").count() == closed
    page.context.close()


def test_filter(page, records):
    table = grid(page, "Every run")
    for text, wanted in (
        ("spl-optim", lambda made: made["sync"] == "spl-optim" or "spl-optim" in made["id"]),
        ("link_latency>=75 harts=2", lambda made: made["parameters"]["link_latency"] >= 75 and made["harts"] == 2),
        ("kind=serial link_latency<75", lambda made: (
            made["kind"] == "serial" and made["parameters"]["link_latency"] < 75)),
        ("outcome!=ok", lambda made: made["failure"]),
        ("no such run", lambda made: False),
    ):
        table.locator("input").fill(text)
        expected = {identity for identity, made in records.items() if wanted(made)}
        assert {row[0] for row in cells(table)} == expected, text
        assert table.locator("output").inner_text() == f"{len(expected)} of {len(records)} rows"


def test_sorting_is_by_figures_and_comes_back(page):
    table = grid(page, "Every run")
    at = heads(table).index("link_latency")
    before = cells(table)
    for order in (lambda values: sorted(values), lambda values: sorted(values, reverse=True)):
        table.locator("th button").nth(at).click()
        shown = [int(row[at]) for row in cells(table)]
        assert shown == order(shown) and len(set(shown)) == 3
    table.locator("th button").nth(at).click()
    assert cells(table) == before


def test_a_table_is_taken_away_as_it_is_shown(page):
    table = grid(page, "Every run")
    table.locator("input").fill("harts=2 scheme=cli-optim")
    with page.expect_download() as download:
        table.locator("[data-save]").click()
    rows = list(csv.reader(download.value.path().read_text().splitlines()))
    assert rows == [heads(table), *cells(table)] and len(rows) == 1 + 3


def test_costs_of_pairs_are_those_of_the_records(page, records):
    made = {made["parameters"]["link_latency"]: {line["scheme"]: line["cycles_per_pair"]
                                            for line in made["run"]["results"]["table5"]}
            for made in records.values() if made["kind"] == "table5"}
    table = grid(page, "Cycles per pair over")
    latencies = heads(table)[1:]
    for scheme, *costs in cells(table):
        assert [float(cost) for cost in costs] == [made[int(latency)][scheme] for latency in latencies]
    traces = drawn(page, "plot-pairs").evaluate("plot => plot.data.map(t => [t.name, t.customdata, t.y])")
    for scheme, places, costs in traces:
        assert dict(zip(places, costs, strict=True)) == {latency: pair[scheme] for latency, pair in made.items()}
    assert len(traces) == 5


def test_the_paper_stands_beside_ours(page, records):
    made = next(made for made in records.values() if made["kind"] == "match")
    pair = {line["scheme"]: line["cycles_per_pair"] for line in made["run"]["results"]["table5"]}
    table = grid(page, "Table 5: cost of one pair")
    assert heads(table) == ["", "paper, cycles", "ours, cycles", "difference", "reason"]
    paper = {"off-chip (spl-pessim)": 304, "on-chip (cli-pessim)": 21, "set flag (spl-optim)": 6}
    for (label, theirs, ours, apart, reason), scheme in zip(cells(table), ("spl-pessim", "cli-pessim", "spl-optim"),
                                                            strict=True):
        assert float(theirs) == paper[label] and float(ours) == pair[scheme]
        assert (apart == "0 %") == (paper[label] == pair[scheme]) and bool(reason) == (paper[label] != pair[scheme])


def test_a_plot_can_be_clicked_and_taken_away(page, results):
    plot = drawn(page, "plot-overhead-1")
    element = page.locator("#plot-overhead-1")
    shown = "plot => plot.data.map(t => t.visible ?? true)"
    assert plot.evaluate(shown) == [True] * 5
    plot.locator(".legendtoggle").first.click()
    until(lambda: plot.evaluate(shown) == ["legendonly", True, True, True, True])
    toggle = element.get_by_role("button", name="log y")
    assert plot.evaluate("plot => plot.layout.yaxis.type") == "log"
    toggle.click()
    assert plot.evaluate("plot => plot.layout.yaxis.type") == "linear"
    for suffix in ("svg", "png", "csv"):
        with page.expect_download() as download:
            element.get_by_role("link", name=suffix.upper()).click()
        assert download.value.suggested_filename == f"overhead-1.{suffix}"
        assert download.value.path().read_bytes() == (results / f"overhead-1.{suffix}").read_bytes()


def test_light_and_dark(page):
    plot = drawn(page, "plot-pairs")

    def grounds():
        return (page.evaluate("getComputedStyle(document.body).backgroundColor"),
                plot.evaluate("plot => plot.layout.paper_bgcolor"), plot.evaluate("plot => plot.layout.font.color"))
    light = grounds()
    page.locator("#theme").click()
    dark = grounds()
    assert light[0] == light[1] == "rgb(255, 255, 255)" and dark[0] == dark[1] != light[0] and dark[2] != light[2]
    page.locator("#theme").click()
    assert grounds() == light


def test_without_scripts_everything_but_the_clicking_is_there(browser, results, records):
    shown = opened(browser, results / "report.html", java_script_enabled=False)
    assert shown.locator("figure.plot img").count() == 3
    assert shown.locator("#every-run tbody tr").count() == len(records)
    shown.context.close()


def test_all_kinds_of_plots_are_drawn(browser, tmp_path):
    plots = [
        HeatMap("heat", "Characters lost", "bit rate, bit/s", "FIFO depth", "overruns",
                {"cli-pessim": [(9600, 8, 0), (115200, 8, 900)], "cli-spl-pessim": [(9600, 8, 0)]}, log=True),
        Histogram("spread", "Latency", "cycles", "interrupts", {"idle": [(64, 128, 20), (128, 256, 3)]}, log_x=True),
        Intervals("errors", "B beside A", "difference, %", [("cycles", -1.0, 0.5, 2.0)], 0),
        Plot("lines", "Throughput", "harts", "per second", {"mcs": [(1, 10.0), (2, 8.5)]}, {"floor": 12.0}),
    ]
    path = tmp_path / "page.html"
    path.write_text(render(Page("kinds", "", [Section("Plots", [Picture(plot) for plot in plots])])))
    shown = opened(browser, path)
    for plot in plots:
        drawn(shown, f"plot-{plot.name}")
    written = shown.locator("#plot-heat .heatmap-label").all_text_contents()
    assert sorted(written) == ["0", "0", "900"]
    assert not shown.complaints and len(shown.asked) == 1
    shown.context.close()


def test_the_same_records_give_the_same_page_of_a_sane_size(results):
    path = results / "report.html"
    before = path.read_bytes()
    report.write(results)
    assert path.read_bytes() == before and len(before) < MOST_BYTES
