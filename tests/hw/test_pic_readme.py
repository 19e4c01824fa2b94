"""The PIC's README has a test plan whose tests exist."""

import re

from hw.docs import readme
from support.cache import REPO


def test_every_test_of_the_plan_exists_and_every_test_is_in_it():
    plan = readme("pic").read_text().split("## Test plan")[1]
    planned = set(re.findall(r"`(\w+)\.py: (\w+)`", plan))
    there = set()
    for path in (REPO / "tests/hw").glob("test_*.py"):
        if path.stem.startswith(("test_pic", "test_link")):
            text = path.read_text()
            there |= {(path.stem, name) for name in re.findall(r"(?m)^@cocotb.test\(\)\nasync def (\w+)", text)}
            there |= {(path.stem, name) for name in re.findall(r"(?m)^def (test_\w+)", text)}
    # What only starts the coroutines of its file is no line of the plan.
    runners = {("test_pic", "test_pic"), ("test_link", "test_link")}
    there -= runners
    assert planned == there
