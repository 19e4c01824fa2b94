"""The report of handlers: its ratios from known records."""

from sim.experiments import definition, handlers


def made(kind, sync="spl-optim", **results):
    return {"failure": None, "kind": kind, "sync": sync, "parameters": {}, "run": {"results": results}}


def line(low, middle, high, **more):
    return [{"count": 4, "min": low, "p50": middle, "max": high} | more]


RECORDS = [made("floor-ether", handler_floor=line(90, 100, 110, device="ether")),
           made("floor-dma", handler_floor=line(40, 50, 60, device="dma")),
           made("ether", handler=line(150, 250, 300)),
           made("dma", "spl-pessim", disk_handler=line(1, 2, 3, cause="seek") + line(70, 100, 130, cause="done")),
           {"failure": "hang"}]


def test_figures_from_known_records():
    [table] = handlers.tables(handlers.summarise({}, RECORDS))
    assert [row[1:] for row in table.rows] == [["spl-pessim", 50, 70, 100, 130, "2.00"],
                                               ["spl-optim", 100, 150, 250, 300, "2.50"]]


def test_no_floor_no_table():
    assert handlers.tables(handlers.summarise({}, RECORDS[2:])) == []


def test_the_experiment_covers_each_device_and_its_floor():
    experiment = definition.load("handlers")
    kinds = {run.kind for run in experiment.runs(experiment.settings([]), 60_000_000)}
    assert kinds == {f"{before}{device}" for device in handlers.DEVICES for before in ("", "floor-")}
