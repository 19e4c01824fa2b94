"""The boards that are targets."""

from dataclasses import replace

from soc.boards.board import SMALL_CACHES, Board, Device

ULX3S = Board(
    name="ulx3s",
    module="ulx3s",
    title="Radiona ULX3S",
    devices={
        "85F": Device(harts=4, clock_hz=45_000_000),
        "45F": Device(harts=2, clock_hz=40_000_000, small=True),
        "25F": Device(harts=1, clock_hz=40_000_000, small=True, **SMALL_CACHES, fits=False),
    },
    oscillator_hz=25_000_000,
    ram_mib=32,
    memory="SDR SDRAM, 16 bits (MT48LC16M16 and its like)",
    memory_clocks=1,
    leds=8,
    sd=True,
    serial="USB socket US1 (FTDI FT231X)",
    flash=("openFPGALoader", "--board", "ulx3s"),
)

COLORLIGHT_I9 = Board(
    name="colorlight_i9",
    module="colorlight",
    title="Colorlight i9 v7.2 on its extension board",
    # Two harts with the disk take 93 % of its tables; one with Ethernet as well, 90 %.
    devices={"45F": Device(harts=2, clock_hz=45_000_000, small=True, ether=False)},
    oscillator_hz=25_000_000,
    ram_mib=8,
    memory="SDR SDRAM, 32 bits (M12L64322A and its like)",
    memory_clocks=1,
    leds=1,
    sd=True,
    ethernet="1 Gbit/s",
    serial="USB socket of the extension board (CMSIS-DAP)",
    flash=("openFPGALoader", "--board", "colorlight-i9"),
)

BOARDS = {board.name: board for board in (
    ULX3S,
    replace(
        ULX3S,
        name="ulx3s_pins",
        module="ulx3s_pins",
        title="Radiona ULX3S, its interrupt controller on a second board",
        devices={
            "85F": Device(harts=2, clock_hz=50_000_000),
            "45F": Device(harts=2, clock_hz=45_000_000),
            "25F": Device(harts=1, clock_hz=45_000_000, sd=False, small=True, **SMALL_CACHES),
        },
    ),
    Board(
        name="ecpix5",
        module="ecpix5",
        title="LambdaConcept ECPIX-5",
        devices={
            "85F": Device(harts=4, clock_hz=60_000_000, mfs=False),
            "45F": Device(harts=1, clock_hz=60_000_000, small=True),   # two harts and a disk: 44,202 tables of 43,848
        },
        oscillator_hz=100_000_000,
        ram_mib=512,
        memory="DDR3, 16 bits (MT41K256M16)",
        memory_clocks=2,
        leds=4,
        sd=True,
        ethernet="1 Gbit/s",
        serial="USB socket of the debugger (FTDI FT2232H, its second port)",
        flash=("openFPGALoader", "--board", "ecpix5"),
    ),
    replace(
        COLORLIGHT_I9,
        name="colorlight_i5",
        title="Colorlight i5 v7.0 on its extension board",
        devices={"25F": Device(harts=1, clock_hz=40_000_000, trace_depth=256, small=True, **SMALL_CACHES, fits=False)},
        sd=False,
        flash=("openFPGALoader", "--board", "colorlight-i5"),
    ),
    COLORLIGHT_I9,
    Board(
        name="orangecrab",
        module="orangecrab",
        title="OrangeCrab r0.2",
        devices={
            "85F": Device(harts=4, clock_hz=60_000_000),
            "25F": Device(harts=1, clock_hz=60_000_000, trace_depth=256, small=True, **SMALL_CACHES, fits=False),
        },
        oscillator_hz=48_000_000,
        ram_mib=128,
        memory="DDR3, 16 bits (MT41K64M16)",
        memory_clocks=2,
        leds=3,
        sd=True,
        serial="pins 0 (in) and 1 (out), with a 3.3 V USB adapter",
        flash=("dfu-util", "--device", "1209:5af0", "--alt", "0", "--reset", "--download"),
    ),
    Board(
        name="sim",
        module="sim",
        title="Simulated board (no FPGA)",
        devices={   # the kinds of memory that boards have
            "sdr": Device(harts=1, clock_hz=60_000_000, sd=False, ether=False),
            "ddr3": Device(harts=1, clock_hz=60_000_000, sd=False, ether=False),
        },
        oscillator_hz=0,
        ram_mib=32,
        memory="LiteDRAM's models of SDRAM and DDR3, 16 bits",
        memory_clocks=1,
        leds=8,
        sd=True,
        ethernet="a wire",
        serial="a pseudo-terminal",
    ),
)}
