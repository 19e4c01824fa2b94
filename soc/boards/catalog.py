"""The boards there are targets for."""

from soc.boards.board import Board, Device

BOARDS = {board.name: board for board in (
    Board(
        name="ulx3s",
        title="Radiona ULX3S",
        devices={
            "85F": Device(harts=4, clock_hz=60_000_000),
            "45F": Device(harts=2, clock_hz=60_000_000),
            "25F": Device(harts=1, clock_hz=60_000_000),
        },
        ram_mib=32,
        memory="SDR SDRAM, 16 bits (MT48LC16M16 and its like)",
        leds=8,
        sd=True,
        serial="USB socket US1 (FTDI FT231X)",
        flash=("openFPGALoader", "--board", "ulx3s"),
    ),
    Board(
        name="sim",
        title="Simulated board (no FPGA)",
        devices={"verilator": Device(harts=1, clock_hz=60_000_000)},
        ram_mib=32,
        memory="LiteDRAM's model of the ULX3S's SDRAM",
        leds=8,
        serial="a pseudo-terminal",
    ),
)}
