"""Plots of each kind: the files are made, hold the data shown, and are always the same; plotly takes the figures."""

import xml.etree.ElementTree as ElementTree

import plotly.graph_objects
import pytest

from sim.results.plot import HeatMap, Histogram, Intervals, Plot, log2_bins
from sim.results.statistics import Samples

LINES = Plot("throughput", "Throughput", "harts", "pairs per 1000 cycles",
             {"mcs": [(1, 10.0), (2, 8.5)], "ticket": [(1, 11.0), (2, 6.0)]}, {"floor": 12.0})
HEAT = HeatMap("overruns", "Characters lost", "bit rate, bit/s", "FIFO depth", "overruns",
               {"cli-pessim": [(115200, 16, 40), (9600, 16, 0), (9600, 8, 0), (115200, 8, 900)],
                "cli-spl-pessim": [(9600, 8, 0), (115200, 8, 0)]}, log=True)
SPREAD = Histogram("latency", "From the wire to the handler", "cycles", "interrupts",
                   {"idle": [(64, 128, 20), (128, 256, 3), (1024, 2048, 1)]}, {"fitted": [(64, 30), (2048, 1)]}, True)
ERRORS = Intervals("overhead", "Overhead, B beside A", "difference, %", [("spl-optim", -1.5, 0.5, 2.5)], 0)
KINDS = pytest.mark.parametrize("plot", [LINES, HEAT, SPREAD, ERRORS], ids=lambda plot: type(plot).__name__)


@KINDS
def test_files_are_the_same_every_time(plot, tmp_path):
    content = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        fresh = type(plot)(**{field: getattr(plot, field) for field in plot.__dataclass_fields__})
        fresh.write(folder)
        content.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert sorted(content[0]) == [f"{plot.name}.{suffix}" for suffix in ("csv", "png", "svg")]
    assert content[0] == content[1]
    assert content[0][f"{plot.name}.png"].startswith(b"\x89PNG")


@KINDS
def test_plotly_takes_the_figure(plot):
    plotly.graph_objects.Figure(plot.figure())      # refuses unknown attributes and values


@pytest.mark.parametrize("plot, rows", [
    (LINES, ["series,harts,pairs per 1000 cycles", "mcs,1,10.0", "mcs,2,8.5", "ticket,1,11.0", "ticket,2,6.0",
             "floor,,12.0"]),
    (HEAT, ['panel,"bit rate, bit/s",FIFO depth,overruns', "cli-pessim,115200,16,40", "cli-pessim,9600,16,0",
            "cli-pessim,9600,8,0", "cli-pessim,115200,8,900", "cli-spl-pessim,9600,8,0", "cli-spl-pessim,115200,8,0"]),
    (SPREAD, ['series,"cycles, from",to,interrupts', "idle,64,128,20", "idle,128,256,3", "idle,1024,2048,1",
              "fitted,64,,30", "fitted,2048,,1"]),
    (ERRORS, [',low,"difference, %",high', "spl-optim,-1.5,0.5,2.5"]),
], ids=lambda given: type(given).__name__)
def test_what_is_shown_is_in_the_csv(plot, rows):
    assert plot.csv().splitlines() == rows


@pytest.mark.parametrize("plot, texts", [
    (LINES, ("mcs", "ticket", "floor", "Throughput", "harts")),
    (HEAT, ("cli-pessim", "cli-spl-pessim", "9600", "115200", "900", "overruns", "FIFO depth")),
    (SPREAD, ("idle", "fitted", "cycles", "interrupts")),
    (ERRORS, ("spl-optim", "difference, %")),
], ids=lambda given: type(given).__name__)
def test_texts_are_in_the_svg(plot, texts):
    drawn = list(ElementTree.fromstring(plot.files()["svg"]).itertext())
    for text in texts:
        assert text in drawn


def test_a_heat_map_is_in_order_and_leaves_gaps():
    first, second = HEAT.figure()["data"]
    assert first["x"] == ["9600", "115200"] and first["y"] == ["8", "16"]
    assert first["customdata"] == [[0, 900], [0, 40]]
    assert second["customdata"] == [[0, 0], [None, None]] and second["z"][1] == [None, None]
    assert first["z"][0][0] == 0        # 0 has a colour on a scale by decades
    assert HEAT.figure()["layout"]["coloraxis"]["colorbar"]["ticktext"] == ["0", "1", "10", "100"]


def test_a_scale_that_is_not_by_decades_has_round_marks():
    plot = HeatMap("h", "H", "x", "y", "lost, %", {"a": [(1, 1, 21.18)]})
    assert plot.figure()["layout"]["coloraxis"]["colorbar"]["ticktext"] == ["0", "5", "10", "15", "20"]


def test_the_steps_of_a_histogram_go_down_over_gaps():
    data = SPREAD.figure()["data"][0]
    corners = list(zip(data["x"], data["y"], strict=True))
    assert corners == [(64, 0), (64, 20), (128, 20), (128, 3), (256, 3), (256, 0), (1024, 0), (1024, 1), (2048, 1),
                       (2048, 0)]


def test_bins_of_a_recorded_spread():
    assert log2_bins({"log2": [0, 0, 5, 0, 2, 0]}) == [(4, 8, 5), (8, 16, 0), (16, 32, 2)]
    assert log2_bins({"log2": [3]}) == [(0, 2, 3)]
    assert log2_bins({"log2": []}) == []


def test_zero_has_a_place_on_a_logarithmic_axis():
    line = Plot("l", "L", "latency", "cycles", {"a": [(0, 1), (100, 3)]}, log_x=True).figure()
    assert line["data"][0]["x"] == [0, 3] and line["data"][0]["customdata"] == [0, 100]
    assert line["layout"]["xaxis"]["ticktext"] == ["0", "100"]


def test_names_on_an_axis_stay_in_their_order():
    plot = Plot("l", "L", "scheme", "cycles", {"a": [("spl-pessim", 5), ("cli-optim", 3)], "b": [("cli-optim", 4)]})
    data, xaxis = plot.figure()["data"], plot.figure()["layout"]["xaxis"]
    assert [trace["x"] for trace in data] == [[0, 1], [1]] and xaxis["ticktext"] == ["spl-pessim", "cli-optim"]
    drawn = list(ElementTree.fromstring(plot.files()["svg"]).itertext())
    assert drawn.index("spl-pessim") < drawn.index("cli-optim")


def test_figures_with_an_interval_have_a_band_and_marked_points_are_hollow():
    plot = Plot("b", "B", "latency", "%", {"a": [(0, Samples([1, 2, 3])), (75, 4)]}, {"floor": Samples([1, 1, 2])},
                hollow={"a": [75]}, hollow_means="fell behind")
    band, line, floor = plot.figure()["data"]
    assert band["x"] == [0, 75, 75, 0] and band["y"] == [0, 4, 4, pytest.approx(4.484, abs=1e-3)]
    assert line["y"] == [2, 4] and line["marker"]["symbol"] == ["circle", "circle-open"]
    assert line["text"] == ["2 (0..4.48414)", "4; fell behind"] and floor["y"] == [1, 1]
    plotly.graph_objects.Figure(plot.figure())
    assert plot.csv().splitlines()[0] == "series,latency,%,low,high,fell behind"
    assert plot.csv().splitlines()[2] == "a,75,4.0,4.0,4.0,yes"
    texts = list(ElementTree.fromstring(plot.files()["svg"]).itertext())
    assert "hollow: fell behind" in texts
