"""Every board of the catalog: its SoC generates, repeatably, with its pins and clocks, and the kernel's registers."""

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest

from firmware.build import rom_words
from soc.boards.board import SMALL_CACHES, Device
from soc.boards.build import generate_board
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from soc.build import generate_soc
from soc.config import SoCConfig
from support.cache import REPO

FPGA = [name for name, board in BOARDS.items() if board.oscillator_hz]


def kinds():
    """The boards with their first FPGA, and with each that leaves something of the board out."""
    for name in FPGA:
        first, *others = BOARDS[name].devices
        yield name, first
        yield from ((name, device) for device in others if BOARDS[name].sd and not BOARDS[name].serves_sd(device))


@pytest.fixture(scope="module", params=kinds(), ids="-".join)
def generated(request):
    """A board, the FPGA, and its SoC with one hart: if that elaborates, it does with more."""
    name, device = request.param
    return BOARDS[name], device, generate_board(name, device, harts=1)


def csrs(include):
    return dict(re.findall(r"#define CSR_(\w+)_BASE \(CSR_BASE \+ (0x[0-9a-f]+)L\)",
                           (include / "generated" / "csr.h").read_text()))


def top_ports(verilog):
    text = verilog.read_text()
    header = text[text.index("module interlock ("):]
    return {name: int(high or 0) + 1 for high, name in re.findall(
        r"(?:input|output|inout)\s+(?:wire|reg)\s+(?:\[(\d+):0\]\s+)?(\w+)", header[:header.index(");")])}


def test_every_pin_has_its_place(generated):
    *_, soc = generated
    constraints = soc.constraints.read_text()
    places = re.findall(r'LOCATE COMP "([^"]+)" SITE "(\w+)";', constraints)
    pins = [f"{name}[{i}]" if width > 1 else name for name, width in top_ports(soc.verilog[0]).items()
            for i in range(width)]
    assert sorted(name for name, _ in places) == sorted(pins)
    assert len({site for _, site in places}) == len(places), "two pins in one place"
    for pin in pins:
        assert f'IOBUF PORT "{pin}" IO_TYPE=' in constraints, f"{pin} has no voltage"


def test_what_comes_in_as_a_clock_has_its_frequency(generated):
    board, device, soc = generated
    clocks = dict(re.findall(r'FREQUENCY PORT "(\w+)" ([\d.]+) MHz;', soc.constraints.read_text()))
    ports = top_ports(soc.verilog[0])
    assert clocks and clocks.keys() <= ports.keys()
    assert clocks.get("eth_clocks_rx") == ("125.0" if board.serves_ethernet(device) else None)
    assert [float(mhz) for name, mhz in clocks.items() if name.startswith("clk")] == [board.oscillator_hz / 1e6]


def test_the_system_clock_is_what_software_is_told(generated):
    """From the PLL's parameters: input / CLKI_DIV * CLKFB_DIV * (divider of the output fed back) / divider."""
    board, _, soc = generated
    text = soc.verilog[0].read_text()
    pll, = re.findall(r"EHXPLLL #\((.*?)\) EHXPLLL", text, re.DOTALL)
    parameters = {name: value.strip('"') for name, value in re.findall(r"\.(\w+)\s*\(\s*([^)]*?)\s*\)", pll)}
    number = {name: int(re.sub(r"\d+'d", "", value)) for name, value in parameters.items() if "DIV" in name}
    fed_back = parameters["FEEDBK_PATH"].removeprefix("INT_O")
    vco = board.oscillator_hz / number["CLKI_DIV"] * number["CLKFB_DIV"] * number[f"CLKO{fed_back}_DIV"]
    assert vco / number["CLKOP_DIV"] == board.memory_clocks * soc.description["clock_hz"]


def test_the_reset_goes_over_a_clock_tree(generated):
    *_, soc = generated
    assert re.search(r"DCCA DCCA\([^;]*\.CLKI\s*\(sys_rst_synchronized\)[^;]*\.CLKO\s*\(sys_rst\)",
                     soc.verilog[0].read_text())


def test_interrupts_pass_a_register_before_the_controller(generated):
    *_, soc = generated
    clocked = re.findall(r"^always @\(posedge sys_clk\) begin$(.*?)^end$", soc.verilog[0].read_text(), re.M | re.S)
    clocked = "\n".join(clocked)
    registers = re.findall(r"^ +(\w+_sources\d?) <= \w+_sources\d?;$", clocked, re.M)
    assert any(re.search(rf"^ +\w+_(wire|seen) <= {register};$", clocked, re.M) for register in registers)


def test_the_devices_are_those_of_the_catalog(generated):
    board, device, soc = generated
    banks = csrs(soc.include)
    assert ("SDCARD" in banks, "ETHER" in banks, "LEDS" in banks) == (
        board.serves_sd(device), board.serves_ethernet(device), True)
    assert ("DDRPHY" in banks) == ("DDR3" in board.memory)
    header = (soc.include / "generated" / "soc.h").read_text()
    assert f'#define CONFIG_BOARD "{board.name}"' in header and "#define CONFIG_BOOT_LOADER\n" in header
    disk = re.search(r"#define DISK0_BASE 0x(\w+)L", (soc.include / "generated" / "mem.h").read_text())
    assert (disk and disk[1]) == ("f0060000" if board.serves_sd(device) else None)


def test_the_kernel_finds_its_registers_where_they_were(generated):
    """Registers that both have are at the same address on boards and in the simulator."""
    kind, device, soc = generated
    same = SoCConfig(disks=int(kind.serves_sd(device)), ethers=int(kind.serves_ethernet(device)))
    simulated, board = csrs(generate_soc(same).include), csrs(soc.include)
    assert simulated.items() <= board.items()
    assert len(set(board.values())) == len(board)


def test_the_reference_has_the_boards_registers_and_costs(generated):
    board, device, soc = generated
    text = soc.reference.read_text()
    assert "On a board an access of the bus takes 2 cycles more" in text
    for name in ["leds_out", *(["sdcard_command"] if board.serves_sd(device) else []),
                 *(["ether_rx_mask", "ethphy_mdio_w"] if board.serves_ethernet(device) else [])]:
        assert f"**`{name}`**" in text


def test_the_boot_rom_is_in_the_verilog(generated):
    *_, soc = generated
    words = rom_words(soc.dir)
    assert re.search(rf"\[0\] = 'h0*{words[0]:x};", soc.verilog[0].read_text())
    assert f"64'd{soc.fingerprint}" in soc.verilog[0].read_text()
    assert soc.description["fingerprint"] == f"{soc.fingerprint:016x}"


@pytest.mark.parametrize("name, device", [(name, device) for name in FPGA for device in BOARDS[name].devices])
def test_each_fpga_of_each_board_can_be_configured(name, device):
    config = board_config(name, device)
    expected = BOARDS[name].devices[device]
    assert (config.harts, config.clock_hz, config.ram_mib) == (expected.harts, expected.clock_hz, BOARDS[name].ram_mib)
    assert config.ram_read_latency == 0


def test_generation_repeats(tmp_path):
    """Another process, folder and order of Python's sets: the same bytes."""
    cached = generate_board("orangecrab", harts=1)
    parameters = json.dumps(dataclasses.asdict(board_config("orangecrab", harts=1)))
    subprocess.run([sys.executable, "-m", "soc.boards.generate", tmp_path, parameters], cwd=REPO, check=True,
                   env=os.environ | {"PYTHONHASHSEED": "7"}, capture_output=True)
    for path in cached.dir.iterdir():
        if path.is_file():
            assert (tmp_path / path.name).read_bytes() == path.read_bytes(), path.name


@pytest.mark.parametrize("arguments, message", [
    (["ulx4s"], "there is no board 'ulx4s' (valid: ulx3s, "),
    (["ulx3s", "--device", "12F"], "board ulx3s has no FPGA '12F' (valid: 85F, 45F, 25F)"),
    (["ulx3s", "--harts", "9"], "harts=9: give a whole number from 1 to 8"),
    (["ulx3s", "--disks", "2"],
     "disks=2: board ulx3s has 1 socket for SD cards, and a disk controller is one's: give 1"),
    (["colorlight_i5", "--disks", "1"], "disks=1: board colorlight_i5 has no socket for SD cards"),
    (["ulx3s", "--ethers", "1"], "ethers=1: board ulx3s has no Ethernet: leave it out"),
    (["ulx3s", "--ram-mib", "64"], "ram_mib=64: board ulx3s has 32"),
    (["ulx3s", "--clock-hz", "61234567"],
     "clock_hz=61234567: the board's PLL cannot make that from 25 MHz: give 61250000"),
])
def test_what_cannot_be_built_is_refused_in_one_line(arguments, message):
    done = subprocess.run([sys.executable, "-m", "soc.boards.build", *arguments], cwd=REPO, capture_output=True,
                          text=True)
    assert done.returncode == 2 and done.stdout == ""
    assert message in done.stderr.splitlines()[-1]


def test_the_boards_are_listed():
    text = subprocess.run([sys.executable, "-m", "soc.boards"], cwd=REPO, check=True, capture_output=True,
                          text=True).stdout
    for board in BOARDS.values():
        rows = [line.replace(",", "").split() for line in text.splitlines() if line.startswith(board.name + " ")]
        assert [row[1:5] for row in rows] == [
            [size, *(str(device.harts) if device.fits else "too small").split(), f"{device.clock_hz / 1e6:g}",
             str(board.ram_mib)][:4] for size, device in board.devices.items()]


def test_a_device_says_that_its_caches_are_not_the_default():
    assert "default" not in Device(harts=1, clock_hz=40_000_000).caches
    other = Device(harts=1, clock_hz=40_000_000, icache_bytes=16384, icache_ways=4)
    assert other.caches.startswith("16 KiB in 4 ways + ") and other.caches.endswith(", not the default")
    config = board_config("ulx3s_pins", "25F")
    assert {name: getattr(config, name) for name in SMALL_CACHES} == SMALL_CACHES
