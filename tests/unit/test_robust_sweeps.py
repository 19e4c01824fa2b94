"""Errors around a sweep get one line and lose nothing: two sweeps in one folder, unreadable or hostile contents, a
machine without memory."""

import errno
import json
import subprocess
import sys
from types import SimpleNamespace

import pytest

from sim import cli, start
from sim.commands import run as commands
from sim.commands.common import Failed
from sim.experiments import definition, modules
from sim.results import query, record, report
from sim.sweep import cluster
from sim.sweep.folder import claimed
from sim.sweep.runner import Job, why_failed
from sim.sweep.store import Store
from support.cache import REPO

SMALL = ("harts=1", "link_latency=0,100", "schemes=spl-pessim,cli-optim", "size=16", "sweep=1000")
HOLDER = """
import sys
from pathlib import Path
from sim.sweep.folder import claimed
with claimed(Path(sys.argv[1]), new=False):
    print("has it", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    return tmp_path


@pytest.fixture
def made(bench, root):
    """The results directory of a sweep."""
    return bench.run(*SMALL).out


@pytest.mark.parametrize("what", ["run", "resume"])
def test_another_command_in_a_results_directory_is_told_so(made, root, what, monkeypatch):
    before = {path: path.read_bytes() for path in made.rglob("*") if path.is_file()}
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(made)], cwd=REPO, stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE)
    try:
        assert holder.stdout.readline() == b"has it\n"
        with pytest.raises(record.RecordError, match=f"^another ./interlock works in {made}: wait for it to end"):
            if what == "resume":
                commands.resume(made)
            else:
                with claimed(made, new=True):
                    pytest.fail("two have it")
    finally:
        holder.kill()
        holder.wait()
    (made / ".lock").unlink()
    assert {path: path.read_bytes() for path in made.rglob("*") if path.is_file()} == before
    with claimed(made, new=False):      # a killed sweep keeps no other out
        pass
    assert not (made / ".lock").exists()


def test_a_new_sweep_takes_no_folder_that_has_something(made, root):
    with pytest.raises(record.RecordError, match="is there already"), claimed(made, new=True):
        pass
    with claimed(root / "fresh", new=True):
        assert (root / "fresh").is_dir()
    assert not (root / "fresh").exists()        # nothing was left in it


@pytest.mark.parametrize("content", ["", "[]", "{}", "5", '{"failure": null}', '{"failure": null, "host": []}'])
def test_an_unreadable_record_is_made_again(bench, root, content):
    runner = bench.run(*SMALL)
    victim = runner.out / "runs/serial-h1-cli-optim-l100/record.json"
    before = json.loads(victim.read_text())
    victim.write_text(content)
    again = bench.run(*SMALL)
    assert not again.failures and again.reused == len(again.runs) - 1
    assert record.stable(json.loads(victim.read_text())) == record.stable(before)


def test_an_unreadable_kept_run_is_made_again(bench, root):
    store = Store(root / "kept")
    first = bench.run(*SMALL, store=store)
    for index in (root / "kept").rglob("kept.json"):
        index.write_text("nonsense")
    second = bench.run(*SMALL, out="second", store=store)
    assert not second.failures and second.reused == 0
    third = bench.run(*SMALL, out="third", store=store)
    assert third.reused == len(first.runs)


@pytest.mark.parametrize("content, said", [
    ("{", "is not whole"), ("[]", "is not an experiment's: it has no 'experiment'"),
    ('{"experiment": "x", "runs": [], "settings": 5}', "it has no 'settings'"),
    ('{"experiment": "x", "runs": ["../../x"], "settings": {}, "notes": [], "soc": {}, "tools": {}}',
     "'../../x' is no name of a file of a run")])
def test_a_wrong_experiment_json_gets_one_line(root, content, said):
    (root / "experiment.json").write_text(content)
    for ask in (commands.resume, report.load):
        with pytest.raises(record.RecordError) as caught:
            ask(root)
        assert said in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize("name", ["../escaped", "a/b", "..", "", "/etc/x", "nul\0"])
def test_a_worker_writes_nowhere_but_into_its_runs_folder(root, name):
    folder = root / "out/runs/one"
    folder.mkdir(parents=True)
    job = Job(SimpleNamespace(id="one"), None, "", folder, "")
    future = SimpleNamespace(status="finished", done=lambda: True, result=lambda: {
        "status": 0, "host": "mallory", "files": {"run.json": b"{}", name: b"owned"}})
    pool = cluster.Cluster.__new__(cluster.Cluster)
    pool.client, pool.active, pool.address = SimpleNamespace(status="running"), {job: future}, "x"
    (done, reason, _), = pool.ended()
    assert done is job and reason.startswith("its worker mallory sent what is not a run's: ")
    assert not any(path.is_file() for path in root.rglob("*"))


def test_records_do_not_have_a_python_file_executed(made, root):
    hostile, sign = root / "hostile.py", root / "executed"
    hostile.write_text(f"open({str(sign)!r}, 'w')\n")
    context = record.read_json(made / "experiment.json")
    for name, said in ((str(hostile), "a Python file that would be executed"), ("../../hostile", "there is no report"),
                       ("os", "there is no report"), ("schema", "makes no report"), (5, "is no name of a module")):
        record.write_json(made / "experiment.json", context | {"report": name})
        with pytest.raises(record.RecordError, match=said):
            report.load(made)
        if name != "schema":
            with pytest.raises(record.RecordError, match=said):
                commands.resume(made)
        assert not sign.exists()
    record.write_json(made / "experiment.json", context | {"report": str(hostile)})
    modules.trust(hostile)
    with pytest.raises(record.RecordError, match="AttributeError"):     # executed: and makes no report
        report.load(made)
    assert sign.exists()


def test_queries_of_records_see_no_files(root):
    (root / "secret.csv").write_text("a\n1\n")
    connection = query.over([])
    for sql in (f"select * from read_csv('{root}/secret.csv')", f"copy (select 1) to '{root}/written.csv'",
                f"attach '{root}/x.db'", "set enable_external_access = true"):
        with pytest.raises(record.RecordError, match="the query is wrong"):
            query.ask(connection, sql)
    assert not (root / "written.csv").exists()


def test_a_simulator_without_memory_is_named_and_the_others_go_on(bench, root):
    killed, aborted = "serial-h1-cli-optim-l100", "serial-h1-cli-optim-l0"
    bench.plan = {killed: {"kill": True}, aborted: {"no_memory": True}}
    runner = bench.run(*SMALL)
    said = {failure.id: failure.reason for failure in runner.failures}
    assert set(said) == {killed, aborted} and all("memory" in reason for reason in said.values())
    assert len(record.read(runner.out)[1]) == len(runner.runs)
    bench.plan = {}
    assert not bench.run(*SMALL).failures       # as `resume` does


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_a_runner_without_memory_keeps_what_is_finished(bench, root, monkeypatch, error):
    runner = bench.runner(*SMALL, jobs=1)
    start, count = runner.pool.start, []

    def fail(job, cost):
        count.append(job)
        if len(count) == 4:
            raise error
        start(job, cost)
    monkeypatch.setattr(runner.pool, "start", fail)
    with pytest.raises(Failed, match=r"^out of memory \(fewer --jobs take less\); 3 finished records are in .*resume"):
        commands.execute(runner, bench.targets(runner), runner.out, False)
    assert len(record.read(runner.out)[1]) == 3


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOMEM, "Cannot allocate memory")])
def test_any_command_without_memory_ends_in_one_line(monkeypatch, capsys, error):
    def fail(**_):
        raise error
    monkeypatch.setattr(cli, "app", fail)
    monkeypatch.setattr(start, "take_signals", lambda: None)
    monkeypatch.setattr(start, "take_errors", lambda: None)
    with pytest.raises(SystemExit) as ended:
        start.main()
    said = capsys.readouterr().err or str(ended.value.code)
    assert ended.value.code not in (0, None) and "out of memory" in said and said.count("\n") <= 1


def test_every_report_of_ours_may_be_made():
    for name in definition.names():
        modules.report_of({"report": definition.load(name).report})


@pytest.mark.parametrize("name", [
    "", ".", "..", "a/b", "/a", "../a", "node-1", "node-0/x", "node-12/console.txt", "node-0/", "node-0/..",
    "node-0/../x", "node-/x", "node-0/node-1/x", "node-x/y", "a\0", 3, None])
def test_only_files_of_a_run_are_written(tmp_path, name):
    good = name in ("node-1", "node-0/x", "node-12/console.txt")
    if good:
        assert record.inside(tmp_path, name) == tmp_path / name
    else:
        with pytest.raises(record.RecordError, match="is no name of a file of a run"):
            record.inside(tmp_path, name)


def test_of_several_nodes_the_one_that_failed_says_why():
    def node(status, reason):
        return {"exit": {"status": status}, "reason": reason}
    simulated = {"nodes": [node(0, "node 1 ended before"), node(1, "the target ended with code 7")]}
    assert why_failed(1, simulated) == "the target ended with an error: node 1: the target ended with code 7"
    assert record.failed_node({"nodes": [node(0, "")]}) is record.failed_node({}) is None
