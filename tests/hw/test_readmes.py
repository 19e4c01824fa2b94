"""The cores' READMEs show the registers as declared, and a test names each register and field."""

import ast
import re
from pathlib import Path

import pytest

from hw.arrivals.core import ArrivalPlayer
from hw.common.csr import csr_registers
from hw.common.regmap import Field, Register
from hw.disk.registers import REGISTERS as DISK
from hw.dma.core import CopyEngine
from hw.docs import TABLES, ether, readme, sd_card, with_tables
from hw.host.core import HostPort, Identity
from hw.pic.counters import Accounting
from hw.pic.link import Link
from hw.pic.pins import Pads, PinLink, RemotePIC
from hw.pic.registers import COUNTERS
from hw.pic.registers import REGISTERS as PIC
from hw.player.core import LinePlayer
from hw.ram.core import MainRAM
from hw.serial.registers import REGISTERS as SERIAL
from hw.trace.core import TracePort
from hw.trace.registers import PORT, buffer_map

HERE = Path(__file__).parent


def of(module):
    return csr_registers(module.get_csrs())


# What the tests of these names are for.
TESTS = {
    "test_arrivals": of(ArrivalPlayer()),
    "test_disk": DISK.registers,
    "test_sdcard": of(sd_card()),
    "test_ether": of(ether()),
    "test_host": (*of(CopyEngine()), *of(HostPort()), *of(Identity(0, 1, 1))),
    "test_link": of(Link(1)),
    "test_pic": (*PIC.registers, *COUNTERS.registers, *of(Accounting())),
    "test_pins": of(RemotePIC(PinLink(1), Pads(3))),
    "test_player": of(LinePlayer(60_000_000)),
    "test_ram": of(MainRAM(1 << 16)),
    "test_serial": SERIAL.registers,
    "test_trace": (*PORT.registers, *buffer_map(16).registers, *of(TracePort(1, 16))),
}
# Files beside those that begin so.
WITH = {"test_pic": ["test_link", "pic_dut", "pic_compare"], "test_link": ["pic_compare", "test_pic"],
        "test_pins": ["pins_dut"]}


@pytest.mark.parametrize("core", TABLES)
def test_register_tables_are_those_of_the_declarations(core):
    text = readme(core).read_text()
    assert with_tables(core, text) == text, "run: python -m hw.docs"


def test_every_readme_with_registers_is_looked_at():
    for path in (HERE.parents[1] / "hw").rglob("README.md"):
        if re.search(r"^\| (offset|CSR) \|", path.read_text(), re.MULTILINE):
            assert path.parent.relative_to(HERE.parents[1] / "hw").as_posix() in TABLES, path


def test_every_file_of_a_test_plan_exists():
    root = HERE.parents[1]
    for path in (root / "hw").rglob("README.md"):
        for name in re.findall(r"`(tests/[\w/]+(?:\.py)?)`", path.read_text()):
            assert (root / name).exists(), f"{path}: {name}"


def test_a_table_that_is_missing_is_noticed():
    with pytest.raises(ValueError, match="0 places for the table of registers"):
        with_tables("pic", "no tables")


@pytest.mark.parametrize("registers, prefix", [(PIC, "PIC"), (COUNTERS, "PIC_COUNT"), (DISK, "DISK"),
                                               (SERIAL, "SERIAL")])
def test_headers_name_every_register(registers, prefix):
    header = registers.c_header(prefix)
    for register in registers.registers:
        assert f"#define {prefix}_{register.name} 0x{register.offset:02x}\n" in header


def named(text):
    """The words by which a test may name a register: in its strings except docstrings, as keywords, and as
    members."""
    words = set()
    tree = ast.parse(text)
    documents = {id(node.body[0].value) for node in ast.walk(tree)
                 if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
                 and isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documents:
            words |= set(re.findall(r"\w+", node.value))
        elif isinstance(node, ast.keyword) and node.arg:
            words.add(node.arg)
        elif isinstance(node, ast.Attribute):
            words.add(node.attr)
    return words


def unnamed(registers, text):
    """The registers and fields that the test does not name. A register's only field may go by the register's name."""
    words = named(text)
    for register in registers:
        name = register.name.split("[")[0]
        if name not in words:
            yield name
        if len(register.fields) > 1:
            yield from (f"{name}.{part.name}" for part in register.fields if part.name not in words)


@pytest.mark.parametrize("tests", TESTS)
def test_every_register_and_field_is_named_by_a_test(tests):
    paths = [path for name in (tests, *WITH.get(tests, [])) for path in sorted(HERE.glob(f"{name}*.py"))]
    missing = sorted(set(unnamed(TESTS[tests], "\n".join(path.read_text() for path in paths))))
    assert not missing, f"{tests} names no {', '.join(missing)}"


def test_a_field_that_no_test_names_is_noticed():
    registers = (Register("MODE", 0, "rw", "", (Field("FAST", 0, 1, ""), Field("WIDE", 1, 1, ""))),
                 Register("COUNT", 4, "ro", ""))
    text = ('"""COUNT of all."""\n\ndef test():\n    """WIDE."""\n    COUNT = 1\n'
            '    assert read("MODE")["FAST"] == COUNT\n')
    assert sorted(unnamed(registers, text)) == ["COUNT", "MODE.WIDE"]
    assert not list(unnamed(registers, text + 'check(WIDE=1, which="the COUNT")\n'))
