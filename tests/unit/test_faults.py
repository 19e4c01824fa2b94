"""The lists of small faults (tests/faults) are up to date, and what is planted is told from what is not noticed."""

import subprocess
import sys

import pytest

from hw.common.cache import REPO
from sim.faults import NO_SUCH_TEST, NOT_A_FAULT, NOTICED, UNNOTICED, FaultError, chosen, judge, load

FAULTS = load()
AREAS = {"scheduler", "locks", "schemes", "interrupts", "user", "pic", "link", "serial", "clint", "skipping"}


def test_every_area_has_its_faults():
    assert {fault.area for fault in FAULTS} == AREAS
    assert len(FAULTS) >= 60


def test_what_a_fault_changes_is_there_exactly_once():
    assert not [f"{fault.area}.toml, {fault.id}: {fault.places()} times in {fault.file}" for fault in FAULTS
                if fault.places() != 1]


def test_the_tests_that_shall_notice_are_there():
    """Collected in one go, as pytest knows them; a file or a function stands for all that is in it."""
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
    (2, "ERROR tests/unit/test_a.py\n", NOT_A_FAULT, "imported"),
    (4, "ERROR: not found: test_d\n", NO_SUCH_TEST, "test_d"),
    (None, PASSED, "no end", "within 9 s"),
])
def test_what_a_run_of_the_tests_says(status, output, how, by):
    judged = judge(status, output, 9)
    assert judged[0] == how and by in judged[1]
