"""The PIC's README has a test plan whose tests exist."""

import re

from hw.docs import readme
from support.cache import REPO


def test_every_test_of_the_plan_exists_and_every_test_is_in_it():
    plan = readme("pic").read_text().split("## Test plan")[1]
    planned = set(re.findall(r"`(\w+)`", plan))
    there = set()
    for path in (REPO / "tests/hw").glob("test_*.py"):
        if path.stem.startswith(("test_pic", "test_link")):
            text = path.read_text()
            there |= set(re.findall(r"(?m)^@cocotb.test\(\)\nasync def (\w+)", text))
            there |= set(re.findall(r"(?m)^def (test_\w+)", text))
    assert planned == there - {"test_pic", "test_link"}      # these start the coroutines of their files
