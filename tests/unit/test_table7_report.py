"""The report of table7: its figures from known records, beside the paper's."""

import pytest

from sim.experiments import definition, table7
from sim.experiments.schema import SettingError
from sim.sweep.runner import task_of
from sim.sweep.worker import File

CLOCK_HZ = 60_000_000


def spread(cause, values):
    ordered = sorted(values)
    return {"cause": cause, "count": len(values), "total": sum(values),
            "squares": sum(value ** 2 for value in values), "min": ordered[0],
            "p50": ordered[(len(values) - 1) // 2], "max": ordered[-1]}


def made(kind, handled, size, cycles):
    values = [value for each in handled.values() for value in each]
    lines = [*(spread(cause, each) for cause, each in handled.items()), spread("all", values)]
    return {"failure": None, "kind": kind, "sync": "spl-optim", "parameters": {}, "run": {"results": {
        "disk": [{"bytes": size, "cycles": cycles, "interrupts": len(values), "spurious": 0, "errors": 0}],
        "disk_handler": lines}}}


RECORDS = [made("floppy", {"seek": [240, 240], "data": [12000, 18000], "done": [1500]}, 1 << 15, 2 * CLOCK_HZ),
           made("ide", {"done": [90000, 91200, 91200, 900]}, 1 << 18, CLOCK_HZ // 10)]


def test_figures_from_known_records():
    summary = table7.summarise({"clock_hz": CLOCK_HZ}, [*RECORDS, {"failure": "hang"}])
    ide, floppy = summary["rows"]
    assert (ide["kind"], ide["seconds"], ide["per_second"]) == ("ide", 0.1, 40)
    whole = ide["handled"]["all"]
    assert (whole["min"], whole["median"], whole["max"]) == (15, 1500, 1520) and whole["mean"] == 1138.75
    assert whole["deviation"] == pytest.approx(57, abs=1)
    assert floppy["handled"]["data"]["mean"] == 250 and floppy["handled"]["seek"]["deviation"] == 0


def test_tables_stand_beside_the_papers():
    main, split = table7.tables(table7.summarise({"clock_hz": CLOCK_HZ}, RECORDS))
    assert [row[:2] for row in main.rows] == [["ide", "paper"], ["ide", "spl-optim"], ["floppy", "paper"],
                                              ["floppy", "spl-optim"]]
    assert any("ide 32" in note and "floppy 32" in note for note in main.notes)
    assert [row[1:3] for row in split.rows] == [["seek has ended", 2], ["data", 2], ["request has ended", 1]]
    assert [row[-1] for row in split.rows] == [4, 250, 25]


def test_a_run_has_its_drive():
    experiment = definition.load("table7")
    runs = experiment.runs(experiment.settings(["disk_bytes=65536"]), CLOCK_HZ)
    ide = next(run for run in runs if run.kind == "ide")
    assert ide.disk == "65536,profile=ide" and ide.machine.config().disks == 1
    files = {name: File(f"/x/{name}", "0") for name in ("simulator", "image", "disk")}
    command = task_of(ide, files).command({name: file.path for name, file in files.items()}, "/out")
    assert command[command.index("--disk") + 1] == "/x/disk,profile=ide"
    assert definition.disk_image(1, 1024)[:512] == definition.disk_image(1, 512) != definition.disk_image(2, 512)


def test_a_name_that_there_is_not_is_told():
    with pytest.raises(SettingError, match="disk_bytes"):
        definition.load("table7").settings(["disk_bites=1"])


def other(kind, parameters, line):
    handled = [{"name": "it"} | spread("all", [600, 720, 720])]
    return {"failure": None, "kind": kind, "sync": "spl-optim", "parameters": parameters,
            "run": {"results": line | {"handler": handled}}}


def test_lines_and_ethernet_stand_in_the_papers_order():
    records = [other("ether-small", {}, {"test": [{"echoes": 20, "cycles": CLOCK_HZ}]}),
               other("serial-fast", {"baud": 115200}, {"serial": [{"bytes": 512, "cycles": CLOCK_HZ}]}),
               other("serial-slow", {"baud": 1200}, {"serial": [{"bytes": 64, "cycles": CLOCK_HZ}]}),
               other("ether-size", {"frame": 60, "protocol": "udp"}, {}), *RECORDS]
    summary = table7.summarise({"clock_hz": CLOCK_HZ}, records)
    assert [row["kind"] for row in summary["rows"]] == ["ide", "floppy", "serial-115200", "serial-1200", "ether-small"]
    main, _, sizes = table7.tables(summary)
    assert [row[1] for row in main.rows if row[0].startswith("serial")] == ["paper", "spl-optim", "spl-optim"]
    assert any("serial-115200 128" in note and "ether-small 50" in note for note in main.notes)
    assert sizes.rows == [[64, "11.3", "10.0", "12.0"]]
