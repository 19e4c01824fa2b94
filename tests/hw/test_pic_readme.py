"""The PIC's README says what is: its register tables, and a test plan whose tests exist."""

import re

import pytest

from hw.pic.docs import README, with_tables
from hw.pic.registers import COUNTERS, REGISTERS
from support.cache import REPO


def test_register_tables_are_those_of_the_declarations():
    assert with_tables(README.read_text()) == README.read_text(), "run: python -m hw.pic.docs"


def test_a_table_that_is_missing_is_noticed():
    with pytest.raises(ValueError, match="0 places for the table of registers"):
        with_tables("no tables")


def test_headers_name_every_register():
    for registers, prefix in ((REGISTERS, "PIC"), (COUNTERS, "PIC_COUNT")):
        header = registers.c_header(prefix)
        for register in registers.registers:
            assert f"#define {prefix}_{register.name} 0x{register.offset:02x}\n" in header


def test_every_test_of_the_plan_exists_and_every_test_is_in_it():
    plan = README.read_text().split("## Test plan")[1]
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
