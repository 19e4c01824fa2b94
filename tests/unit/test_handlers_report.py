"""The report of handlers: its ratios from known records."""

from sim.experiments import definition, handlers


def made(kind, sync="spl-optim", **results):
    return {"failure": None, "kind": kind, "sync": sync, "parameters": {}, "run": {"results": results}}


def line(low, middle, high, **more):
    return [{"count": 4, "min": low, "p50": middle, "max": high} | more]


def floor(device, middle, burst=1):
    return made("floor", handler_floor=line(middle - 10, middle, middle + 10, device=device, burst=burst))


RECORDS = [floor("ether", 100), floor("dma", 50), floor("ether", 400, 8),
           made("ether", handler=line(150, 250, 300)),
           made("dma", "spl-pessim", handler=line(70, 100, 130)),
           made("ether-8", handler=line(700, 800, 900, total=3200), test=[{"frames": 32}]),
           made("dma-8", handler=line(70, 100, 130, total=500), disk=[{"bytes": 4096, "request": 512}]),
           {"failure": "hang"}]


def test_figures_from_known_records():
    [table, beside] = handlers.tables(handlers.summarise({}, RECORDS))
    assert [row[1:] for row in table.rows] == [["spl-pessim", 50, 70, 100, 130, "2.00"],
                                               ["spl-optim", 100, 150, 250, 300, "2.50"]]
    # 4 interrupts for 8 requests: half of the floor and of their time is each request's.
    assert [row[2:] for row in beside.rows] == [[25, "-", 62, "-", "2.50"],
                                                [50, "-", 100, "-", "2.00"]]


def test_no_floor_no_table():
    assert handlers.tables(handlers.summarise({}, RECORDS[3:])) == []


def test_the_experiment_covers_each_device_and_its_floor():
    experiment = definition.load("handlers")
    kinds = {run.kind for run in experiment.runs(experiment.settings([]), 60_000_000)}
    assert kinds >= {f"{before}{device}" for device in handlers.DEVICES for before in ("", "floor-")}
    assert kinds >= set(handlers.BESIDE) | {"floor-ether-8"}
