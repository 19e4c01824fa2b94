"""The report of losses, and the frames that experiments have on the wire."""

import pytest

from sim.experiments import definition, losses
from sim.sweep.runner import task_of
from sim.sweep.worker import File
from sim.wires import frames

CLOCK_HZ = 60_000_000


def made(sync, overruns, wait, kind="loss", **parameters):
    names = ("serial", "ether", "disk", "ticker")
    counts = dict.fromkeys(losses.COUNTS, 0) | {"sent": 93, "overruns": overruns, "ticks": 80, "merged": 20}
    return {"failure": None, "kind": kind, "sync": sync, "parameters": {"baud": 115200, "depth": 16} | parameters,
            "run": {"results": {
                "losses": [counts],
                "handler": [{"name": name, "count": 2, "total": 180000, "max": 120000} for name in names],
                "waits": [{"name": name, "max_wait": wait, "merged": 0} for name in names]}}}


def summary(*records):
    return losses.summarise({"clock_hz": CLOCK_HZ, "settings": {"depth": 16, "link_latency": 138}}, records)


def test_who_loses_where_another_does_not():
    tables = losses.tables(summary(made("cli-pessim", 20, 90000), made("cli-spl-pessim", 0, 300), {"failure": "hang"}))
    claim, argument, delay = tables[:3]
    assert [row[0] for row in claim.rows] == ["cli-pessim", "cli-spl-pessim"]
    assert [row[-1] for row in claim.rows] == ["0 of 1", "1 of 1"] and claim.rows[0][5] == "20 of 100"
    assert argument.rows[0][2:4] == ["2,000", "23.0"] and argument.rows[0][-1] == "20 of 93"
    assert delay.rows[1][2] == "5.00"


def test_flow_control_and_distance_stand_beside_the_same_without():
    rows = summary(made("cli-pessim", 20, 9000), made("cli-pessim", 19, 9000, "flow", flow=1),
                   made("cli-pessim", 0, 9000, "flow", flow=2), made("cli-pessim", 25, 9600, "far", distance=300))
    flow, far = losses.flow_tables(rows)[0], losses.far_tables(rows)[0]
    assert flow.rows == [["cli-pessim", "115,200", "20 of 93", "19 of 93", "0 of 93"]]
    assert far.rows == [["cli-pessim", "115,200", "20 of 93", "25 of 93", "150", "160"]]


def test_a_run_has_its_line_and_its_frames():
    experiment = definition.load("losses")
    run = next(run for run in experiment.runs(experiment.settings([]), CLOCK_HZ) if run.kind == "flow")
    files = {name: File(f"/x/{name}", "0") for name in ("simulator", "image", "disk", "input")}
    command = task_of(run, files).command({name: file.path for name, file in files.items()}, "/out")
    assert command[command.index("--uart1-flow") + 1] == "rts"
    experiment = definition.load("table7")
    run = next(run for run in experiment.runs(experiment.settings(["pings=3"]), CLOCK_HZ) if run.kind == "ether-large")
    files = {name: File(f"/x/{name}", "0") for name in ("simulator", "image", "frames")}
    command = task_of(run, files).command({name: file.path for name, file in files.items()}, "/out")
    assert command[command.index("--ether-in") + 1] == "/x/frames"
    assert command[command.index("--ether-mbits") + 1] == "10"


def test_frames_come_as_they_are_asked_for(tmp_path):
    (tmp_path / "f").write_bytes(frames.Flood.of("2,us=500,bytes=64,mbits=10").pcap())
    (first, arp), *echoes = frames.read_pcap(tmp_path / "f")
    assert (first, arp) == (0, frames.arp()) and echoes == [(500, frames.echo(0)), (1000, frames.echo(1))]
    for protocol in ("echo", "udp"):
        (tmp_path / "g").write_bytes(frames.Flood.of(f"1,us=1,frame=1514,protocol={protocol}").pcap())
        assert len(frames.read_pcap(tmp_path / "g")[1][1]) == 1514


@pytest.mark.parametrize("text", ["", "2", "2,us=1", "2,us=x,bytes=64", "2,us=1,bytes=7", "2,us=1,frame=1515",
                                  "0,us=1,bytes=64", "2,us=1,bytes=64,protocol=tcp", "2,us=1,bytes=64,more=1"])
def test_frames_that_cannot_be_are_told(text):
    with pytest.raises(ValueError, match="frames"):
        frames.Flood.of(text)
