"""The report of pic-latency: its figures from known records, and its tables."""

import io

import pytest

from sim.experiments import pic_latency
from sim.results import report
from sim.results.report import fit_line, solve_line
from sim.results.statistics import Samples
from sim.results.table import Table, number
from tests.unit.stub import Bench


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    bench = Bench(tmp_path_factory.mktemp("report"))
    runner = bench.run("harts=1,2", "link_latency=0,75,147", "size=16", "sweep=1000", "falls=0,174")
    return report.write(runner.out)


def test_figures_of_a_run(made):
    summary, _ = made
    row = next(row for row in summary["serial"] if row["id"] == "serial-h1-spl-optim-l75")
    # The stub: 60,000 cycles (1 ms at 60 MHz), 12 sections, 3 of them queued an interrupt, 600 cycles in 10 bodies.
    assert (row["sections_per_s"], row["interrupted_per_s"]) == (12000, 3000)
    assert row["section_us"] == 1.0
    assert row["longest_us"] == 1.5
    # its flag pair 9 cycles, off-chip pair 160 cycles at 75
    assert row["predicted_percent"] == pytest.approx(100 * (12 * 9 + 3 * 160) / 60000, abs=1e-3)
    assert row["measured_percent"] == pytest.approx(100 * 12 * (18 + 150) / 60000, abs=1e-3)


def test_pessimistic_schemes_count_arrivals_and_pay_no_fall_back(made):
    summary, _ = made
    row = next(row for row in summary["serial"] if row["id"] == "serial-h2-cli-pessim-l75")
    assert row["interrupted"] == 2
    assert row["predicted_percent"] == pytest.approx(100 * 12 * 6 / 60000, abs=1e-3)


def test_the_links_ways(made):
    summary, tables = made
    assert len(summary["link"]) == 5 * 2 * 2
    # The stub: 100 sections in 60,000 cycles.
    assert summary["link"][0]["cycles_per_section"] == 600
    table = next(table for table in tables if table.title.startswith("The link's ways"))
    assert table.rows[3][:5] == ["spl-pessim", 76, 174, 7, 5]
    assert table.title.endswith("latency 152, wires that rise 152 cycles late")


def test_the_line_and_the_match(made):
    summary, tables = made
    assert summary["off_chip_line"] == {"at_0": 10.0, "per_cycle": 2.0, "greatest_distance": 0.0}
    assert summary["match"]["latency"] == 147
    table = tables[0]
    assert table.rows[0] == ["off-chip (spl-pessim)", "304", "304", "0 %"]
    assert "latency 147 cycles" in table.notes[0]


def test_a_table_for_each_number_of_harts(made):
    _, tables = made
    shown = [table.title for table in tables if table.main]
    assert sum("on 1 hart " in title for title in shown) == 1
    assert sum("on 2 harts " in title for title in shown) == 1
    overhead = next(table for table in tables if "on 2 harts" in table.title)
    assert overhead.columns == ["scheme", "0", "75", "147"]
    assert [row[0] for row in overhead.rows] == ["spl-pessim", "spl-optim", "cli-pessim", "cli-optim", "cli-spl-pessim"]


def test_the_paper_is_compared_where_the_pair_takes_its_time(made):
    _, tables = made
    table = next(table for table in tables if table.title.startswith("Table 6"))
    assert "PIC latency 75:" in table.notes[0]      # 160 cycles at 60 MHz are 2.67 us, the paper's pair takes 2.5
    assert table.rows[0] == ["spl-pessim", "11.9", "3.20", "/ 3.72"]    # 12 pairs of 160 cycles in 60,000
    assert next(table for table in tables if table.title.startswith("Serial")).title.endswith("PIC latency 75")


def test_a_load_that_is_not_the_papers_does_not_stand_beside_it_nor_does_one_that_falls_behind(tmp_path):
    bench = Bench(tmp_path)
    runner = bench.run("harts=1", "link_latency=0,75", "size=16", "baud=921600", "schemes=cli-optim,cli-pessim")
    summary, tables = report.write(runner.out)
    titles = [table.title for table in tables]
    assert "Serial 921.6 by scheme: 1 hart, PIC latency 75" in titles and not any("115.2" in title for title in titles)
    assert not any(title.startswith(("Tables 3", "Table 3", "Table 6")) for title in titles)
    assert summary["question"] and "cli-pessim spends" in summary["answer"]
    page, text = ((runner.out / f"report.{suffix}").read_text() for suffix in ("html", "md"))
    parts = ('class="question"', 'class="answer"', 'id="section-plots"', 'id="section-beside-the-paper"')
    assert [page.index(part) for part in parts] == sorted(page.index(part) for part in parts)
    assert text.index("**Question.**") < text.index("**Answer.**") < text.index(".svg)") < text.index("| ---")
    # 16 characters' time is over after a tenth of the window: every run is behind.
    bench.plan = {run.id: {"feed_ended": 6000} for run in runner.runs}
    for baud in ("115200", "921600"):
        runner = bench.run("harts=1", "link_latency=0,75", "size=16", f"baud={baud}", "schemes=cli-pessim", out=baud)
        for made in runner.out.glob("runs/serial-*/run.json"):
            assert "6000" in made.read_text()
        summary, tables = report.write(runner.out)
        assert all(row["behind"] for row in summary["serial"]) == (baud == "921600")
        assert "grows" not in summary["answer"] and "stay" not in summary["answer"] or baud == "115200"


def test_markdown(made):
    summary, tables = made
    text = report.markdown(summary, tables)
    assert text.startswith("# pic-latency\n")
    assert "harts=1,2" in text
    for table in tables:
        assert f"## {table.title}\n" in text
    widths = [line.count("|") for line in tables[0].markdown().splitlines() if line.startswith("|")]
    assert len(set(widths)) == 1


def test_tables_go_between_the_marks_of_a_document(made):
    summary, tables = made
    document = "before\n<!-- begin pic-latency: Overhead in % on 2; Table 5 -->\nold\n<!-- end pic-latency -->\nafter\n"
    text = report.insert(document, summary, tables)
    assert "old" not in text and text.startswith("before\n<!-- begin") and text.endswith("-->\nafter\n")
    titles = [line for line in text.splitlines() if line.startswith("### ")]
    assert len(titles) == 4 and titles[0].startswith("### Overhead in % on 2 harts") and "Table 5" in titles[2]
    assert report.insert(text, summary, tables) == text
    with pytest.raises(ValueError, match="no '<!-- begin"):
        report.insert("nothing", summary, tables)


def test_bars_in_cells_do_not_break_a_table():
    assert "a\\|b" in Table("t", ["x"], [["a|b"]]).markdown()


@pytest.mark.parametrize("value, text", [
    (None, "-"), (0, "0"), (11.94, "11.9"), (0.2613, "0.261"), (0.0041, "0.004"), (47762, "47,762"), (304.0, "304")])
def test_numbers(value, text):
    assert number(value) == text


def test_line_through_points_on_it():
    intercept, slope, distance = fit_line([(0, 12), (10, 32), (1200, 2412)])
    assert (intercept, slope, distance) == pytest.approx((12, 2, 0), abs=1e-6)


def test_line_says_how_far_points_are_off():
    _, _, distance = fit_line([(0, 0), (1, 2), (2, 2)])
    assert distance == pytest.approx(2 / 3)


def test_line_needs_two_places():
    with pytest.raises(ValueError, match="two places"):
        fit_line([(75, 160), (75, 161)])


@pytest.mark.parametrize("points, x", [
    ([(0, 35), (75, 177), (142, 311), (600, 1227)], 138.5),     # between neighbours, whatever happens at 0
    ([(0, 10), (50, 110)], 147),                                # beyond the last two
    ([(200, 410), (300, 610)], 147),                            # before the first two
])
def test_where_a_cost_is_reached(points, x):
    assert solve_line(points, 304) == pytest.approx(x)


def test_a_slow_pair_cannot_be_made_cheap():
    with pytest.raises(ValueError, match="nothing gives 304"):
        solve_line([(0, 400), (9, 409)], 304)


def test_a_wide_table_keeps_every_figure_on_the_terminal():
    from rich.console import Console
    console = Console(width=120, record=True, file=io.StringIO())
    columns = ["scheme", *(f"a long heading of figure {index}" for index in range(6))]
    console.print(Table("t", columns, [["spl-optim, 1 hart", *(f"{index}23,456.78" for index in range(6))]]).rich())
    text = console.export_text()
    assert "…" not in text and "spl-optim" in text and all(f"{index}23,456.78" in text for index in range(6))


@pytest.mark.parametrize("seen, lines", [((1.0, 2.0), 0), ((2.0, 1.0), 1), ((1.01, 1.0), 0),
                                         ((Samples([2.0, 0.5, 3.0]), 1.0), 0)])
def test_what_model_and_measurement_rank_differently_is_said(seen, lines):
    rows = [{"sync": name, "predicted_percent": model, "measured_percent": measured}
            for name, model, measured in zip(("a", "b"), (0.71, 0.87), seen, strict=True)]
    found = pic_latency.ranked_apart(rows)
    assert len(found) == lines and all("a and b differently: by the model 0.710 and 0.870 %" in line for line in found)


def test_a_wide_table_with_intervals_keeps_every_figure_on_the_terminal():
    from rich.console import Console
    console = Console(width=132, record=True, file=io.StringIO())
    figures = [number(Samples([14.1 + index, 13.9, 15.5])) for index in range(8)]
    console.print(Table("t", ["scheme", *map(str, range(8))], [["cli-spl-pessim", *figures]]).rich())
    text = console.export_text()
    assert "…" not in text and all(part in text for figure in figures for part in figure.split())
