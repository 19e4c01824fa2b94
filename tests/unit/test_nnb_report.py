"""The report of `nnb`, from made-up records: which kernel is how much faster, and whose locks are contended."""

from sim.experiments import nnb

SETTINGS = {"size": 1, "average": 1, "loops": 1, "calls": 1000, "reads": 10}


def record(kernel, cycles, misses, kind="nnb", **parameters):
    lines = [{"test": test, "users": users, "cycles": cycles[users], "mean": 1} for test in (8, 18) for users in cycles]
    classes = [{"class": name, "kind": "mutex", "attempts": attempts, "misses": misses, "blocks": 0, "failures": 0,
                "wait_cycles": {"total": 10 * misses}} for name, attempts in (("bfreelist", 100), ("seldom", 10))]
    return {"failure": None, "kind": kind, "sync": "spl-optim", "harts": 4,
            "parameters": {"kernel": kernel, "by": "kernel"} | parameters,
            "run": {"results": {"nnb": lines}, "locks": {"classes": classes}}}


def test_gains_are_over_the_serial_kernel_and_few_attempts_are_left_out():
    records = [record("serial", {1: 1000, 8: 8000}, 0), record("parallel", {1: 500, 8: 2000}, 25),
               record("parallel", {8: 1500}, 0, kind="biodone", threads=4), {"failure": "it broke", "kind": "nnb"}]
    summary = nnb.summarise(None, records) | {"settings": SETTINGS}
    tables = {table.title: table for table in nnb.tables(summary)}
    gains = tables["As fast as the serial kernel, times"].rows
    assert [row[3:] for row in gains] == [[test, 1, 4, "2.00", "4.00 (8)", "4.00"] for test in (8, 18)]
    times = tables["Figure 2: test 18, random reads: completion time"]
    assert times.columns[-2:] == ["1", "8"]
    assert [row[-2:] for row in times.rows] == [["1.00", "8.00"], ["0.500", "2.00"]]
    locks = tables["Locks: the highest miss ratios"].rows
    assert [(row[0], row[1], row[9]) for row in locks] == [("serial", "bfreelist", "0.00"),
                                                         ("parallel", "bfreelist", "25.00")]
    assert len(nnb.plots(summary)) == 2
