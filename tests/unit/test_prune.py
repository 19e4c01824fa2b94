"""Pruning: by age and size, never what is in use, beside builds and beside another pruning process."""

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.sweep import prune
from sim.sweep.store import INDEX, Store
from sim.sweep.worker import digest_of
from support import cache
from support.cache import REPO, cached, discard, held

DAY = 86_400


@pytest.fixture
def root(tmp_path, monkeypatch):
    """A build folder; this process forgets what it uses between tests."""
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path))
    monkeypatch.setattr(cache, "_leases", {})
    return tmp_path


def build(name, size=0, ago=0.0):
    """An unused entry of the cache, `size` bytes long, last used so many days `ago`."""
    entry = cached("thing", {"name": name}, lambda folder: (folder / "content").write_bytes(bytes(size)))
    release()
    os.utime(entry, (time.time() - ago * DAY,) * 2)
    return entry


def release():
    for lease in cache._leases.values():
        lease.close()
    cache._leases.clear()


def keep(root, key, ago=0.0):
    folder = root / "run"
    folder.mkdir(exist_ok=True)
    (folder / "run.json").write_text("{}")
    store = Store()
    store.keep(key, folder, "then")
    os.utime(store.entry(key), (time.time() - ago * DAY,) * 2)
    return store.entry(key)


def prune_now(*options):
    done = CliRunner().invoke(app, ["prune", *options], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return done.output


def test_by_age_what_was_used_lately_stays(root):
    old, young, run, young_run = build("a", ago=40), build("b", ago=20), keep(root, "aa1", 40), keep(root, "bb1", 20)
    said = prune_now("--dry-run")
    assert "would be freed" in said and "thing" in said and "kept runs" in said
    assert all(path.is_dir() for path in (old, young, run, young_run))
    prune_now()
    assert [path.is_dir() for path in (old, young, run, young_run)] == [False, True, False, True]
    assert cached("thing", {"name": "b"}, None) == young        # and counts as used now
    release()
    prune_now("--days", "1")
    assert young.is_dir() and not young_run.is_dir()
    assert Store().take("bb1", root) is None


def test_by_size_what_was_used_longest_ago_goes_first(root):
    entries = [build(name, 300_000, ago) for name, ago in (("a", 3), ("b", 1), ("c", 2))]
    prune_now("--gib", str(700_000 / 2**30))
    assert [entry.is_dir() for entry in entries] == [False, True, True]
    prune_now("--gib", "0", "--only", "runs")
    assert entries[1].is_dir()
    prune_now("--gib", "0")
    assert not any(entry.is_dir() for entry in entries)
    assert not list((root / "cache/thing").iterdir()), "nor are locks left"


def test_what_a_process_uses_stays_and_a_lease_of_the_dead_does_not_count(root):
    entry = build("a", ago=40)
    code = ("import sys; from support.cache import cached; cached('thing', {'name': 'a'}, None);"
            "import os; print('has it', flush=True); os.execvp('cat', ['cat'])")     # as ./interlock sim does
    process = subprocess.Popen([sys.executable, "-c", code], cwd=REPO, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    try:
        assert process.stdout.readline() == b"has it\n"
        os.utime(entry, (time.time() - 40 * DAY,) * 2)
        assert "1 more is in use and stays" in prune_now("--dry-run")
        assert "1 more is in use and stays" in prune_now() and entry.is_dir()
    finally:
        process.stdin.close()
        process.wait()
    prune_now()
    assert not entry.is_dir()
    assert not list((root / "cache/.leases").iterdir())


def test_an_entry_that_is_being_built_stays(root):
    begun, go_on = threading.Event(), threading.Event()

    def slowly(folder):
        (folder / "content").write_text("half")
        begun.set()
        assert go_on.wait(30)
    made = []
    thread = threading.Thread(target=lambda: made.append(cached("thing", {"name": "slow"}, slowly)))
    thread.start()
    assert begun.wait(30)
    scratch = [item for item in prune.found() if item.kind == prune.SCRATCH]
    assert len(scratch) == 1 and not scratch[0].remove() and scratch[0].path.is_dir()
    go_on.set()
    thread.join()
    assert (made[0] / "content").read_text() == "half"
    assert not discard(made[0])     # we use it


def test_what_killed_processes_left_goes_after_a_day(root):
    left = root / "cache/thing/.0123456789abcdef.xyz"
    half = root / "runs/aa/.half"
    faults = root / "faults"
    for path in left, half, faults:
        path.mkdir(parents=True)
        (path / "file").write_text("x")
    prune_now()
    assert left.is_dir() and half.is_dir() and faults.is_dir()
    for path in left, half, faults:
        os.utime(path, (time.time() - 2 * DAY,) * 2)
    prune_now()
    assert not left.is_dir() and not half.is_dir() and not faults.is_dir()


def test_results_are_never_touched(root):
    result = root / "results/sync/then/experiment.json"
    result.parent.mkdir(parents=True)
    result.write_text("{}")
    os.utime(result.parent, (0, 0))
    prune_now("--days", "0", "--gib", "0")
    assert result.is_file()


def test_several_that_prune_beside_builds_lose_nothing(root):
    """Builders take entries and read them, while three remove whatever they can."""
    code = """
import sys, random
from support.cache import cached
from sim.sweep import prune
dice = random.Random(int(sys.argv[2]))
for _ in range(150):
    if sys.argv[1] == "prune":
        for item in prune.chosen(prune.found(), None, 0):
            item.remove()
    else:
        name = str(dice.randrange(4))
        entry = cached("thing", {"name": name}, lambda folder: (folder / "content").write_text(name))
        assert (entry / "content").read_text() == name
        if dice.random() < 0.2:
            from support import cache
            [lease.close() for lease in cache._leases.values()]
            cache._leases.clear()
"""
    processes = [subprocess.Popen([sys.executable, "-c", code, what, str(seed)], cwd=REPO, stderr=subprocess.PIPE,
                                  text=True) for seed, what in enumerate(["prune"] * 2 + ["build"] * 3)]
    said = [process.communicate(timeout=120)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * 5, said
    assert any("building thing" in text for text in said)
    for item in prune.found():
        item.remove()
    assert not held(root / "cache") and not list((root / "cache/thing").iterdir())


def test_a_kept_run_is_whole_or_not_there(root):
    entry = keep(root, "cc1")
    into = root / "into"
    into.mkdir()
    assert Store().take("cc1", into) == "then" and (into / "run.json").is_file()
    index = (entry / INDEX).read_text()
    outside = root / "outside"
    outside.write_text("secret")
    for wrong in ("", "[]", "{}", '{"files": [], "started": "then"}', index[:-5], '{"files": {}, "started": 5}',
                  json.dumps({"files": {"../../../outside": digest_of(outside)}, "started": "then"})):
        keep(root, "cc1")
        (entry / INDEX).write_text(wrong)
        assert Store().take("cc1", into) is None and not entry.exists(), wrong
    keep(root, "cc1")
    (entry / "run.json").unlink()
    (entry / "run.json").mkdir()
    assert Store().keep("cc1", root / "run", "now") is None     # a damaged one does not prevent it
    assert Store().take("cc1", into) == "now"


def test_a_build_says_how_long_it_takes(root, capsys):
    """The first one of a kind as long as such a build takes anywhere, later ones as the last one here."""
    def said():
        return [line for line in capsys.readouterr().err.splitlines() if line.startswith("building")]

    cached("model", {"name": "first"}, lambda folder: None)
    assert said()[0].endswith(" (about 60 s)") and cache.time_of("model") == ""         # it took no time
    assert cache.time_of("kernel-objects-spl-optim") == f" (about {cache.TAKES['kernel-objects']} s)"
    (root / "cache/.took/thing").write_text("48")
    build("second")
    key = cache.digest({"name": "second"})[:16]
    assert said() == [f"building thing {key} (about 48 s)"] and (root / "cache/thing" / key).is_dir()
    for broken in ("", "x", "2"):
        (root / "cache/.took/thing").write_text(broken)
        assert cache.time_of("thing") == ""
    prune_now("--days", "0")
    assert (root / "cache/.took").is_dir() and not (root / "cache/thing" / key).exists()
