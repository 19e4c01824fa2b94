"""Records as tables, and SQL over them."""

import json

import pytest

from sim.results import query, record, report, tables

SMALL = ("harts=1,2", "link_latency=0,100", "schemes=spl-pessim,cli-optim", "size=16", "sweep=1000")


@pytest.fixture
def results(bench):
    bench.plan = {"serial-h1-cli-optim-l100": {"status": 4, "reason": "no sign of life"}}
    out = bench.run(*SMALL).out
    report.write(out)
    return out


def ask(results, sql):
    return query.ask(query.connect([results]), sql)


def test_runs_have_parameters_lengths_and_failures(results):
    columns, rows = ask(results, "select id, sync, link_latency, cycles, failure, digest from runs order by id")
    assert columns == ["id", "sync", "link_latency", "cycles", "failure", "digest"]
    assert len(rows) == 3 + 8
    for made in record.read(results)[1]:
        assert (made["id"], made["sync"], made["parameters"]["link_latency"], made["run"]["cycles"], made["failure"],
                made["run"]["digest"]) in rows


def test_nested_figures_are_columns(results):
    _, rows = ask(results, """select body_cycles_total / body_cycles_count, hart, received_received, directory
        from harts join runs using (directory, id) where id = 'serial-h2-cli-optim-l0'""")
    assert rows == [(60.0, 0, 16, str(results))]


def test_result_lines_are_rows(results):
    _, rows = ask(results, "select max(cycles_per_pair) from results where result = 'table5' and id = 'table5-l100'")
    assert rows == [(210.0,)]
    _, rows = ask(results, "select count(*), sum(interrupts) from results where result = 'serial'")
    assert rows == [(8, 56)]


def test_many_directories_with_other_columns_are_one(results, bench):
    other = bench.run("harts=1", "link_latency=0,100", "schemes=spl-pessim", "size=32", out="other").out
    path = other / "runs/serial-h1-spl-pessim-l0/record.json"
    path.write_text(json.dumps(record.read_json(path) | {"options": {"lock_debug": "1"}}))
    connection = query.connect([results, other])
    _, rows = query.ask(connection, """select size, option_lock_debug, count(*) from runs
        where kind = 'serial' group by all order by all""")
    assert rows == [(16, None, 8), (32, "1", 1), (32, None, 1)]


def test_tables_follow_the_records(results):
    before, = ask(results, "select count(*) from runs")[1]
    path = results / "runs/match-l147/record.json"
    path.unlink()
    (results / "experiment.json").touch()
    assert ask(results, "select count(*) from runs")[1] == [(before[0] - 1,)]


@pytest.mark.parametrize("sql, said", [
    ("select cycels from runs", "Candidate bindings"), ("select * from rnus", "rnus"), ("selec 1", "syntax error")])
def test_a_wrong_query_gets_one_line(results, sql, said):
    with pytest.raises(record.RecordError) as caught:
        ask(results, sql)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_no_results_get_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path))
    with pytest.raises(record.RecordError, match="no results .* run an experiment"):
        query.connect()
    with pytest.raises(record.RecordError, match="cannot be read"):
        query.connect([tmp_path])


def test_figures_by_number_are_maps_and_mixed_columns_text():
    made = tables.arrow([{"id": "a", "by": {"11": 3}, "n": 1, "m": 1}, {"id": "b", "by": {}, "n": 2.5, "m": "x"}])
    assert made.to_pydict() == {"id": ["a", "b"], "by": [[(11, 3)], []], "n": [1.0, 2.5], "m": ["1", "x"]}


def test_decimals_are_numbers_that_json_knows(results):
    (row,) = ask(results, "select 0.5 * 3, sum(2), 'x'")[1]
    assert row == (1.5, 2, "x") and [type(value) for value in row] == [float, int, str]
