"""The boot ROM's self-test on the simulated board: a sound board passes, and each planted fault is found, by the part
of the self-test that covers it and with a message that names it."""

import re
import zlib

import pytest

from hw.disk.card import FAULTS
from soc.boards.build import generate_board
from soc.boards.catalog import BOARDS
from support.parameters.machine import MAX_HARTS
from tests.board.faulty import build as faulty
from tests.board.faulty.build import BLOCK, CARD_MIB
from tests.board.faulty.faults import Fault
from tests.board.faulty.phy import IDENTIFIER

PARTS = ("harts", "memory", "caches", "pic", "serial", "sd", "ethernet")
SHORT = 1_050_000             # cycles from reset to the end of the short form, whatever it finds
ROM_BYTES = 24 << 10        # of block memory that a board's boot ROM may take
HARTS_BYTES = 1 << 10       # of it for code that several harts need
SOUND = {
    "harts": "ok: 2",
    "memory": "ok: 3 KiB of 1 MiB",
    "caches": "ok: 2 harts",
    "pic": r"ok: interrupts in \d+ to \d+ cycles",
    "serial": "ok: uart0 and uart1, looped back inside",
    "sd": f"ok: {CARD_MIB} MiB, CRC-32 of block 0 is 0x{zlib.crc32(BLOCK):08x}",
    "ethernet": f"ok: frames looped; link; PHY {IDENTIFIER:08x} at 1",
}


@pytest.fixture(scope="module")
def board():
    return faulty.build()


def report(console: str) -> dict[str, str]:
    """What the console says of each part."""
    found = re.findall(rf"^({'|'.join(PARTS)}) (.*?)\r?$", console, re.MULTILINE)
    assert tuple(name for name, _ in found) == PARTS
    return dict(found)


def test_a_sound_board_passes(board, tmp_path):
    console, leds = board.run(Fault.NONE, tmp_path, SHORT)
    assert "Interlock boot ROM: 2 harts at 16.000 MHz, build " in console
    for part, line in report(console).items():
        assert re.fullmatch(SOUND[part], line), part
    running = [number << 1 for number in range(1, len(PARTS) + 1)]
    assert leds == [*running, 1]


NO_LINK = f"absent: no link; PHY {IDENTIFIER:08x} at 1 answers"
LINK = f"ok: link; PHY {IDENTIFIER:08x} at 1"
NO_FRAME = "failed: a frame of 60 bytes in a loop does not come back"
NO_RAM = {"caches": "absent: needs main RAM", "sd": "absent: needs main RAM"}


@pytest.mark.parametrize(("faults", "found"), [
    (Fault.DATA_LINE | Fault.SOURCE_WIRE | Fault.NO_LINK, NO_RAM | {
        "memory": "failed: data lines: 0x00000000 at 0x4000012c, not 0x00000020",
        "pic": "failed: uart 1: wire does not rise",
        "ethernet": NO_LINK}),
    (Fault.ADDRESS_LINE | Fault.PIC_REGISTER | Fault.SERIAL, NO_RAM | {
        "memory": r"failed: address lines: 0x00004000 at 0x40000000, not 0xffffffff",
        "ethernet": LINK,
        "pic": "failed: level of hart 0 holds 0x1, not 0x5",
        "serial": "failed: uart1: 0x8 comes back as 0x0"}),
    (Fault.CELL | Fault.HART_WIRE | Fault.NO_PHY, NO_RAM | {
        "memory": "failed: cells: 0x00000002 at 0x40080044, not 0x00000000",
        "pic": "failed: hart 1 takes no interrupt",
        "ethernet": "failed: no PHY answers"}),
    (Fault.DEAD_HART | Fault.NO_CARD, {
        "harts": "failed: hart 1 does not answer",
        "memory": "failed: harts 0x2 have not tried their share",
        "caches": "ok: 1 hart",
        "sd": "absent: no card answers"}),
    # Hart 0 does not even see that hart 1 has answered; the copy engine shows hart 0's own fault.
    (Fault.STALE_LINE, {
        "harts": "failed: hart 1 does not answer",
        "memory": "failed: harts 0x2 have not tried their share",
        "caches": r"failed: hart 0, a line that the copy engine rewrote: 0x\w+, not 0x\w+",
        "ethernet": NO_FRAME,
        "sd": r"failed: block 0 comes with CRC-32 0x\w{8}, then 0x\w{8}"}),
    (Fault.STALE_RAM, {
        "caches": r"failed: hart \d, additions under a lock: 0x\w+, not 0x40",
        "ethernet": NO_FRAME,
        "sd": r"failed: block 0 comes with CRC-32 0x\w{8}, then 0x\w{8}"}),
    (Fault.OLD_CARD, {}),
    (Fault.CARD_DATA | Fault.FRAMES, {
        "sd": f"failed: block 0 does not come, fault {FAULTS['DATA_CRC']}",
        "ethernet": NO_FRAME}),
], ids=lambda value: str(value).replace("Fault.", "") if isinstance(value, Fault) else "")
def test_a_fault_is_found_and_nothing_else(board, tmp_path, faults, found):
    console, leds = board.run(faults, tmp_path, SHORT)
    for part, line in report(console).items():
        assert re.fullmatch({**SOUND, **found}[part], line), part
    failed = [number for number, part in enumerate(PARTS, 1) if found.get(part, "").startswith("failed")]
    assert leds[-1] == (failed[0] << 1 if failed else 0) | 1


def test_the_rom_has_room_for_all_harts_there_can_be():
    one, most = (generate_board("sim", harts=harts).rom_image.stat().st_size for harts in (1, MAX_HARTS))
    assert most <= ROM_BYTES and most - one <= HARTS_BYTES


@pytest.mark.parametrize("name", BOARDS)
def test_the_rom_takes_little_block_memory(name):
    """With one hart: test_targets.py has that board too, and each other one costs a cluster."""
    assert generate_board(name, harts=1).rom_image.stat().st_size <= ROM_BYTES - HARTS_BYTES
