"""Results directories from elsewhere are data: nothing in them is followed, and odd contents give one line."""

import copy
import json
import os
import random
import subprocess
import sys
import threading

import pytest

from sim.commands.query import show
from sim.results import query, record, report

SMALL = ("harts=1", "link_latency=0,100", "schemes=spl-pessim,cli-optim", "size=16", "sweep=1000")
RUN = "serial-h1-cli-optim-l0"
ODD = (None, True, -1, 1 << 63, 1e300, "", "x" * 5000, "[/bold]\x1b[2J", "\x00", [], {}, [[]], {"a": {}}, [None],
       {"1": 2})


@pytest.fixture
def results(bench):
    return bench.run(*SMALL).out


def one_line(error):
    assert "\n" not in str(error) and len(str(error)) < 1500, str(error)
    return str(error)


def everything(folder):
    return {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


COMMANDS = {
    "report": report.write,
    "query": lambda directory: query.connect([directory]),
    "resume": record.read_experiment,
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["tables", "runs", f"runs/{RUN}", f"runs/{RUN}/record.json", f"runs/{RUN}/anything",
                                  "report.md", "report.html", "summary.json", "records.jsonl", "anything",
                                  "experiment.json"])
def test_a_link_is_refused_and_nothing_is_written_through_it(results, tmp_path, name, command):
    outside, place = tmp_path / "outside", results / name
    if place.exists():
        place.rename(outside)
    elif name == "tables":
        outside.mkdir()
    else:
        outside.write_text("alias sudo=true\n")
    place.symlink_to(outside)
    before = everything(tmp_path)
    with pytest.raises(record.RecordError) as caught:
        COMMANDS[command](results)
    assert f"{place} is a symbolic link" in one_line(caught.value)
    assert everything(tmp_path) == before


@pytest.mark.parametrize("name", ["report.md", f"runs/{RUN}/record.json", "experiment.json"])
def test_a_fifo_is_refused_and_not_waited_for(results, name):
    (results / name).unlink(missing_ok=True)
    os.mkfifo(results / name)
    with pytest.raises(record.RecordError) as caught:
        report.write(results)
    assert str(results / name) in one_line(caught.value)


def test_a_file_is_written_through_no_name_that_was_there(tmp_path):
    """Whatever other names exist: a write goes to a new file, which then gets its name."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    for name in (".report.md.tmp", ".report.md", "report.md.tmp"):
        (tmp_path / name).symlink_to(victim)
    record.write_text(tmp_path / "report.md", "theirs")
    assert (victim.read_text(), (tmp_path / "report.md").read_text()) == ("mine", "theirs")
    (tmp_path / "link").symlink_to(victim)
    record.write_text(tmp_path / "link", "theirs")
    assert victim.read_text() == "mine" and not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("text, said", [
    ("[" * 200_000 + "]" * 200_000, "nested too deep"), ('{"id": "\\ud800"}', "not Unicode"),
    (b'"\xff"', "not Unicode"),
    ('{"harts": 1' + "0" * 400 + "}", "out of range"), ('{"harts": 1' + "0" * 5000 + "}", "out of range"),
    ('{"harts": 1e999}', "out of range"), ('{"harts": NaN}', "out of range"), ("null", "is no record"),
    ("{", "is not whole"), ("", "is not whole")])
def test_a_record_that_is_none_is_named_and_a_query_goes_on(results, text, said):
    path = results / "runs" / RUN / "record.json"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(record.RecordError) as caught:
        report.write(results)
    assert said in one_line(caught.value) and str(path) in str(caught.value)
    left_out = []
    connection = query.connect([results], left_out)
    assert [str(path) in one_line(error) for error in left_out] == [True]
    whole = len(record.read_experiment(results)["runs"])
    assert query.ask(connection, "select count(*) from runs")[1] == [(whole - 1,)]
    again = []
    query.connect([results], again)
    assert len(again) == 1, "a damaged record is said each time"


def test_a_damaged_directory_stops_no_query_over_all(results, monkeypatch, tmp_path):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    kept = tmp_path / "build/results/pic-latency"
    kept.mkdir(parents=True)
    (kept / "bad").mkdir()
    (kept / "bad/experiment.json").write_text("[")
    (kept / "linked").mkdir()
    (kept / "linked/experiment.json").symlink_to("/dev/zero")
    with pytest.raises(record.RecordError):
        query.connect(None, [])
    results.rename(kept / "good")
    left_out = []
    rows = query.ask(query.connect(None, left_out), "select count(*) from runs")[1]
    assert len(left_out) == 2 and rows[0][0] > 4
    with pytest.raises(record.RecordError):
        query.connect([kept / "bad"], [])


def places(value, path=()):
    yield path
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, below in inner:
        yield from places(below, (*path, name))


def mutated(value, rng):
    """A copy with one or two places holding something else, or gone."""
    value = copy.deepcopy(value)
    for _ in range(rng.choice((1, 1, 2))):
        path = rng.choice([path for path in places(value) if path])
        inner = value
        for name in path[:-1]:
            inner = inner[name]
        if rng.random() < 0.3:
            del inner[path[-1]]
        else:
            inner[path[-1]] = rng.choice(ODD)
    return value


@pytest.mark.parametrize("seed", range(4))
def test_whatever_a_record_holds_it_is_a_report_or_one_line(results, seed):
    rng = random.Random(seed)
    files = [results / "experiment.json", *sorted(results.glob("runs/*/record.json"))]
    refused = 0
    for _ in range(int(os.environ.get("STRANGE_RECORDS", "12"))):
        path = rng.choice(files)
        kept = path.read_text()
        path.write_text(json.dumps(mutated(json.loads(kept), rng)))
        for command in (report.load, lambda directory: query.connect([directory], [])):
            try:
                command(results)
            except record.RecordError as error:
                one_line(error)
                refused += 1
        path.write_text(kept)
    assert refused


def test_two_reports_and_queries_at_once(results):
    failed = []

    def often(command):
        try:
            for _ in range(3):
                command()
        except Exception as error:      # any is a failure
            failed.append(error)
    ask = [sys.executable, "-c", "import sys; from pathlib import Path; from sim.results import query, record\n"
           "for _ in range(3): (Path(sys.argv[1]) / 'experiment.json').touch(); query.connect([sys.argv[1]])", results]
    beside = [subprocess.Popen(list(map(str, ask))) for _ in range(2)]
    thread = threading.Thread(target=often, args=(lambda: report.write(results),))
    thread.start()
    thread.join()
    assert not failed and [process.wait() for process in beside] == [0, 0]
    assert not list(results.rglob("*.tmp"))


def test_a_directory_that_cannot_be_written_is_asked_all_the_same(results, monkeypatch):
    expected = query.ask(query.connect([results]), "select id, cycles from runs order by id")
    monkeypatch.setattr(record, "write_bytes", refuse)
    (results / "experiment.json").touch()
    connection = query.connect([results])
    assert query.ask(connection, "select id, cycles from runs order by id") == expected
    assert query.ask(connection, "select distinct directory from runs")[1] == [(str(results),)]
    assert report.load(results, keep=False).all_tables()
    with pytest.raises(record.Unwritable):
        report.write(results)


def refuse(path, _):
    raise record.Unwritable(f"{path} could not be written: Read-only file system")


def test_cells_are_text_and_no_markup_nor_escapes(capsys):
    show(["[bold]n", "x"], [("[/foo]", 1), ("a\x1b[31mred\x07", 2.5)])
    shown = capsys.readouterr().out
    assert "[bold]n" in shown and "[/foo]" in shown and "a\\x1b[31mred\\x07" in shown and "\x1b" not in shown


@pytest.mark.parametrize("sql", ["", "   ", ";", "-- nothing"])
def test_an_empty_query_gets_one_line(results, sql):
    with pytest.raises(record.RecordError):
        query.ask(query.connect([results]), sql)
