"""Plots: the files are made, hold the points, and are the same every time."""

import xml.etree.ElementTree as ElementTree

from sim.plot import Plot

PLOT = Plot("throughput", "Throughput", "harts", "pairs per 1000 cycles",
            {"mcs": [(1, 10.0), (2, 8.5)], "ticket": [(1, 11.0), (2, 6.0)]}, {"floor": 12.0})


def test_files_are_the_same_every_time(tmp_path):
    content = []
    for name in ("a", "b"):
        folder = tmp_path / name
        folder.mkdir()
        PLOT.write(folder)
        content.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert sorted(content[0]) == ["throughput.csv", "throughput.png", "throughput.svg"]
    assert content[0] == content[1]


def test_points_and_labels_are_in_the_files(tmp_path):
    PLOT.write(tmp_path)
    assert (tmp_path / "throughput.csv").read_text().splitlines() == [
        "series,harts,pairs per 1000 cycles", "mcs,1,10.0", "mcs,2,8.5", "ticket,1,11.0", "ticket,2,6.0", "floor,,12.0"]
    drawn = "".join(ElementTree.parse(tmp_path / "throughput.svg").getroot().itertext())
    for text in ("mcs", "ticket", "floor", "Throughput", "harts"):
        assert text in drawn
    assert (tmp_path / "throughput.png").read_bytes().startswith(b"\x89PNG")
