"""The table of the tests' times, beside their budget (tests/conftest.py)."""

import subprocess
import sys
import tomllib
from types import SimpleNamespace

from support.cache import REPO
from tests.conftest import BUDGET, processor_seconds, pytest_collection_modifyitems, table


def test_each_folder_stands_beside_its_budget_and_who_is_over_it_tells_the_slowest():
    used = {"tests/hw/test_a.py": [150, 300], "tests/hw/test_b.py": [30, 60], "tests/unit/test_c.py": [30, 30],
            "tests/conftest.py": [1, 1]}
    lines = list(table(used, {"hw": 2, "unit": 1}, {"hw": 4}))
    assert [line.split() for line in lines] == [
        ["hw", "3.0", "of", "2", "(cold", "4)", "6.0", "by", "the", "clock", "over"],
        ["2.5", "tests/hw/test_a.py"], ["0.5", "tests/hw/test_b.py"],
        ["unit", "0.5", "of", "1", "0.5", "by", "the", "clock"],
        ["together", "3.5", "of", "3", "(cold", "4)", "6.5", "by", "the", "clock"]]


def test_every_folder_of_tests_has_a_budget():
    folders = {path.parent.relative_to(REPO / "tests").parts[0] for path in (REPO / "tests").rglob("test_*.py")}
    minutes = tomllib.loads(BUDGET.read_text())
    assert minutes["minutes"].keys() == folders and minutes["cold"].keys() <= folders


def test_what_a_program_that_was_started_took_is_counted():
    before = processor_seconds()
    subprocess.run([sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"], check=True)
    assert 0.3 <= processor_seconds() - before < 5


def test_what_needs_no_cluster_comes_where_the_second_worker_begins():
    names = ["board/a.py", "formal/b.py", "hw/c.py", "hw/test_dram.py", "kernel/d.py", "kernel/e.py", "system/f.py"]
    items = [SimpleNamespace(path=BUDGET.parent / name) for name in names]
    pytest_collection_modifyitems(items)
    assert [item.path.relative_to(BUDGET.parent).as_posix() for item in items] == [
        "board/a.py", "hw/test_dram.py", "kernel/d.py", "formal/b.py", "hw/c.py", "kernel/e.py", "system/f.py"]
