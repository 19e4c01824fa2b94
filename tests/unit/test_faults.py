"""The lists of small faults (tests/faults) are up to date, and planted faults are told from unnoticed ones."""

import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import time

import pytest

from sim.commands.faults import by_area
from sim.faults import planted as faults
from sim.faults.planted import (
    NO_SUCH_TEST,
    NOT_A_FAULT,
    NOTICED,
    UNNOTICED,
    Fault,
    FaultError,
    Nursery,
    Trial,
    chosen,
    judge,
    load,
)
from support.cache import REPO

FAULTS = load()
AREAS = {"boards", "parameters", "vm", "scheduler", "locks", "schemes", "inside", "interrupts", "layout", "user", "pic",
         "programs", "link", "serial", "results", "clint", "skipping", "nodes", "fs", "net",
         "sdcard", "disk", "ether", "model", "mpd",
         "style", "cores", "ipc", "boundaries", "web", "nfs", "peers"}


def test_every_area_has_its_faults():
    assert {fault.area for fault in FAULTS} == AREAS
    assert len(FAULTS) >= 60


def test_what_a_fault_changes_is_there_exactly_once():
    assert not [f"{fault.area}.toml, {fault.id}: {fault.places()} times in {fault.file}" for fault in FAULTS
                if fault.places() != 1]


def test_the_tests_that_shall_notice_are_there():
    """Collected in one go, as pytest knows them; a file or a function stands for all its tests."""
    wanted = sorted({test for fault in FAULTS for test in fault.tests})
    files = sorted({test.partition("::")[0] for test in wanted})
    done = subprocess.run([sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *files],
                          cwd=REPO, capture_output=True, text=True)
    known = done.stdout.splitlines()
    assert not [test for test in wanted if not any(name == test or name.startswith((f"{test}[", f"{test}::"))
                                                   for name in known)]


@pytest.fixture
def lists(tmp_path):
    """Writes a list of faults of the file victim.c, and loads it."""
    def write(*lines):
        (tmp_path / "area.toml").write_text('[[group]]\nfile = "victim.c"\ntests = ["t"]\nfaults = [\n'
                                            + "".join(f"    {line},\n" for line in lines) + "]\n")
        return load(tmp_path)

    (tmp_path / "victim.c").write_text("if (a < b)\n    c = d;\nif (b < a)\n    d = c;\n")
    return write


def test_a_fault_is_planted_and_taken_out_again(lists, tmp_path):
    fault, = lists("""['less', 'a < b', 'a <= b']""")
    before = (tmp_path / "victim.c").read_text()
    with pytest.raises(ZeroDivisionError), fault.planted(tmp_path):
        assert (tmp_path / "victim.c").read_text() == before.replace("a < b", "a <= b")
        raise ZeroDivisionError
    assert (tmp_path / "victim.c").read_text() == before


@pytest.mark.parametrize("line, words", [
    ("['twice', 'if (', 'while (']", "what fault twice changes is 2 times in victim.c"),
    ("['gone', 'a > b', 'a >= b']", "what fault gone changes is 0 times in victim.c"),
])
def test_a_stale_list_is_told_in_one_line(lists, tmp_path, line, words):
    fault, = lists(line)
    with pytest.raises(FaultError, match=words) as error, fault.planted(tmp_path):
        pass
    assert "\n" not in str(error.value)


def test_a_fault_may_take_longer_than_others(lists):
    short, long = lists("""['short', 'a < b', 'a <= b']""", """['long', 'b < a', 'b <= a', {limit = 1800}]""")
    assert (short.limit_s, long.limit_s) == (0, 1800)


@pytest.mark.parametrize("lines", [
    ["['short', 'a < b']"], ["['same', 'a < b', 'a < b']"], ["['odd', 'a', 'b', {test = ['t']}]"],
    ["['one', 'a', 'b']", "['one', 'b', 'a']"], ["nonsense"],
])
def test_a_list_that_is_wrong_is_refused(lists, lines):
    with pytest.raises(FaultError, match="tests/faults"):
        lists(*lines)


def test_what_is_chosen():
    assert {fault.area for fault in chosen(FAULTS, ["link"])} == {"link"}
    assert [fault.id for fault in chosen(FAULTS, [FAULTS[0].id])] == [FAULTS[0].id]
    with pytest.raises(FaultError, match="no fault and no area 'nothing'"):
        chosen(FAULTS, ["nothing"])


PASSED = "tests/unit/test_a.py::test_b[1-a b] PASSED [ 50%]\n"
FAILED = "tests/unit/test_a.py::test_c[2-a b] FAILED [100%]\n"


@pytest.mark.parametrize("status, output, how, by", [
    (0, PASSED, UNNOTICED, "1 tests pass"),
    (1, PASSED + FAILED, NOTICED, "tests/unit/test_a.py::test_c[2-a b]"),
    (1, FAILED + "E   KernelError: the kernel with spl-optim does not build:\n", NOT_A_FAULT, "does not build"),
    (1, FAILED + "E   AssertionError: a/b.c:1:23: error: unused parameter 'c'\n", NOT_A_FAULT, "does not build"),
    (2, "ERROR tests/unit/test_a.py\n", NOT_A_FAULT, "imported"),
    (4, "ERROR: not found: test_d\n", NO_SUCH_TEST, "test_d"),
    (None, PASSED, "no end", "within 9 s"),
])
def test_what_a_run_of_the_tests_says(status, output, how, by):
    judged = judge(status, output, 9)
    assert judged[0] == how and by in judged[1]


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A tree with a module, its tests and a list of faults; its build folder."""
    tree = tmp_path / "tree"
    (tree / "tests").mkdir(parents=True)
    (tree / "victim.py").write_text("def least(a, b):\n    return a if a < b else b\n")
    (tree / "tests/test_victim.py").write_text(
        "import time\nfrom pathlib import Path\n\nfrom victim import least\n\n\n"
        "def test_least():\n    assert least(1, 2) == 1\n    (Path.cwd() / 'left').touch()\n\n\n"
        "def test_end():\n    while least(0, 0) != 0:\n        time.sleep(0.1)\n")
    (tree / "pytest.ini").write_text("[pytest]\npythonpath = .\n")
    (tree / ".venv").symlink_to(REPO / ".venv")
    subprocess.run(["git", "init", "-q", tree], check=True)
    monkeypatch.setattr(faults, "REPO", tree)
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    (tmp_path / "build/cache/kind/entry").mkdir(parents=True)
    return tree


def fault_of(was, becomes, *tests):
    return Fault(becomes, "toy", "victim.py", was, becomes, tests or ("tests/test_victim.py",), "")


def test_faults_are_planted_in_a_copy_that_goes_again(toy):
    before = {path: path.read_text() for path in toy.rglob("*.py")}
    planted = [fault_of("a < b", "a > b"), fault_of("a < b", "a <= b"), fault_of("if a", "if if a"),
               fault_of("a < b", "a << b", "tests/test_victim.py::test_nothing")]
    with Nursery(2, 300) as nursery:
        said = {trial.fault.becomes: trial for trial in
                nursery.plant_all(planted, lambda fault: None, lambda fault, test: None)}
        assert nursery.failing_without(["tests/test_victim.py::test_least"]) == []
        with pytest.raises(FaultError, match="is in use"), Nursery(1, 300):
            pass
    with Nursery(1, 1) as nursery:
        endless = fault_of("else b", "else b + 1")
        assert nursery.plant(endless, nursery.trees[0], lambda test: None).how == "no end"
        patient = dataclasses.replace(fault_of("a < b", "a > b"), limit_s=300)
        assert nursery.plant(patient, nursery.trees[0], lambda test: None).how == NOTICED
    assert {name: trial.how for name, trial in said.items()} == {
        "a > b": NOTICED, "a <= b": UNNOTICED, "a << b": NO_SUCH_TEST, "if if a": NOT_A_FAULT}
    assert said["a > b"].by == "tests/test_victim.py::test_least"
    assert all(0.05 < trial.processor_s < 60 for trial in said.values())
    assert {path: path.read_text() for path in toy.rglob("*.py")} == before
    assert not (toy / "left").exists()
    assert sorted(path.name for path in (toy.parent / "build").iterdir()) == ["cache", "faults.lock"]


def test_the_table_of_areas():
    one, two = (Fault(name, "a", "f", "x", "y", ("t",), "") for name in "pq")
    same = dataclasses.replace(one, id="r", area="b", equivalent="as before")
    trials = [Trial(one, NOTICED, "tests/unit/test_a.py::test_b", 61, 5.2), Trial(two, UNNOTICED, "", 3, 1)]
    assert [line.split() for line in list(by_area([one, two, same], trials))[1:]] == [
        ["a", "2", "1", "1", "0", "1:04", "0:06"], ["b", "1", "0", "0", "1", "0:00", "0:00"],
        ["together", "3", "1", "1", "1", "1:04", "0:06"]]


# The command's part that plants, in a toy tree: a fault whose test does not end, and a test run without a fault.
INTERRUPTED = """
import signal, sys
from pathlib import Path
from sim import start
from sim.faults import planted as faults
from sim.commands.faults import plant
faults.REPO = Path.cwd()
signal.signal(signal.SIGTERM, start.interrupted)
fault = faults.Fault("toy", "toy", "victim.py", "else b", "else b + 1", ("tests/test_victim.py::test_end",), "")
fault.check.__func__.__defaults__ = fault.places.__func__.__defaults__ = (faults.REPO,)
if sys.argv[1] == "planted":
    plant([fault], 1, 300, None)
else:
    (faults.REPO / "victim.py").write_text("def least(a, b):\\n    return 1\\n")
    with faults.Nursery(1, 300) as nursery:
        nursery.failing_without(fault.tests)
"""


@pytest.mark.parametrize("phase", ("planted", "without"))
def test_a_termination_leaves_nothing_behind(toy, phase):
    """Neither the tests' process, nor the command waiting for their time limit."""
    (toy / "tests/test_victim.py").write_text(
        "import os, time\n\nfrom victim import least\n\n\ndef test_end():\n    while least(0, 0) != 0:\n"
        f"        open({str(toy.parent / 'pid')!r}, 'w').write(str(os.getpid()))\n        time.sleep(0.1)\n")
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, phase], cwd=toy, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, env=os.environ | {"PYTHONPATH": str(REPO)})
    pid = toy.parent / "pid"
    try:
        until = time.monotonic() + 60
        while not (pid.exists() and pid.read_text()):
            assert process.poll() is None and time.monotonic() < until, "the test did not begin"
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) != 0
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid.read_text()), 0)
        assert not (toy.parent / "build/faults").exists()
    finally:
        process.kill()
        if pid.exists():
            with contextlib.suppress(ProcessLookupError, ValueError):
                os.kill(int(pid.read_text()), signal.SIGKILL)
