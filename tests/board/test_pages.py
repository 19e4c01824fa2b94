"""The boards' pages are right: every board has one, with its commands; the tests, verbs and links in them exist."""

import re

import pytest

from sim.commands.board import board as board_commands
from soc.boards.catalog import BOARDS
from soc.boards.restart import BREAK_SECONDS, HOLD_CYCLES
from support.cache import REPO

DOCS = REPO / "docs"
INDEX = DOCS / "boards.md"
BOUGHT = [board for board in BOARDS.values() if board.oscillator_hz]
PAGES = [INDEX, *(DOCS / "boards" / f"{board.name}.md" for board in BOUGHT)]


def anchors(text):
    """The names of headings in links, as GitHub makes them."""
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in
            re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


@pytest.mark.parametrize("board", BOUGHT, ids=lambda board: board.name)
def test_every_board_has_its_page(board):
    text = (DOCS / "boards" / f"{board.name}.md").read_text()
    for part in ("**Buy**", "**Connect**", "**LEDs**", "**Reset**", "## If it does not answer", "--port /dev/tty",
                 f"make bitstream BOARD={board.name}\n", f"make flash BOARD={board.name}\n"):
        assert part in re.sub(r" +#.*", "", text) + text, part      # with and without remarks behind commands
    for device in list(board.devices)[1:]:
        assert f"DEVICE={device}" in text


def test_the_index_has_what_the_catalog_has():
    rows = {cells[0]: cells for line in INDEX.read_text().splitlines() if line.startswith("| [")
            for cells in [[cell.strip() for cell in line.strip("|").split("|")]]}
    assert len(rows) == len(BOUGHT)
    for board in BOUGHT:
        cells, = [cells for name, cells in rows.items() if f"(boards/{board.name}.md)" in name]
        assert all(device in cells[1] for device in board.devices)
        assert re.findall(r"\d+", cells[2]) == [
            str(device.harts) for device in board.devices.values() if device.fits]
        assert ("none" in cells[2]) == (not all(device.fits for device in board.devices.values()))
        assert cells[3].startswith(f"{board.ram_mib} MiB ")
        assert (cells[4] != "", cells[5]) == (board.sd, board.ethernet)


def test_what_the_catalog_has_has_been_built():
    """A row of the page of builds for each FPGA of each board."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in
            (DOCS / "boards-resources.md").read_text().splitlines() if line.startswith("| ")]
    for board in BOUGHT:
        for size, device in board.devices.items():
            verdict = "yes" if device.fits else "**no room**"
            reached = rf"[\d.]+ / {device.clock_hz / 1e6:.4g}" if device.fits else "-"
            built = [row for row in rows if row[:4] == [board.name, size, "-", str(device.harts)] and row[5] == verdict
                     and re.fullmatch(reached, row[4])]
            assert len(built) == 1, f"{board.name} {size}"


def test_the_self_tests_have_their_numbers():
    source = (REPO / "firmware" / "board" / "selftest.c").read_text()
    table = re.findall(r'^    \{"(\w+)", test_\w+\},', source, re.MULTILINE)
    assert re.findall(r"^\| (\d) \| `(\w+)`:", INDEX.read_text(), re.MULTILINE) == [
        (str(number), name) for number, name in enumerate(table, 1)]


def test_the_numbers_of_a_reset_are_those_of_the_hardware():
    text = (REPO / "soc" / "README.md").read_text()
    assert f"for {HOLD_CYCLES:,} cycles" in text and f"low for {BREAK_SECONDS} s" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_and_verbs_are_there(page):
    text = page.read_text()
    for target in re.findall(r"\]\(([^)]+)\)", text):
        if not target.startswith("https://"):
            path, _, anchor = target.partition("#")
            file = (page.parent / path).resolve() if path else page
            assert file.exists(), target
            assert not anchor or anchor in anchors(file.read_text()), target
    verbs = re.findall(r"^([a-z-]+):", (REPO / "Makefile").read_text(), re.MULTILINE)
    for verb in re.findall(r"\bmake ([a-z-]+) BOARD|`make ([a-z-]+)", text):
        assert "".join(verb) in verbs, verb
    commands = [command.name or command.callback.__name__ for command in board_commands.registered_commands]
    for command in re.findall(r"interlock board ([\w-]+)", text):
        assert command in commands, command
