"""What is known of a board without a build for it."""

from dataclasses import asdict, dataclass, field
from typing import Any

from soc.config import SoCConfig

CACHES = ("icache_bytes", "icache_ways", "dcache_bytes", "dcache_ways")
# For an FPGA that cannot hold a SoC's default caches: one way each.
SMALL_CACHES: dict[str, Any] = {"icache_bytes": 4096, "icache_ways": 1, "dcache_bytes": 4096, "dcache_ways": 1}


@dataclass(frozen=True)
class Device:
    """One of the FPGAs that a board is sold with, and what is built for it by default; a build has shown that this fits
    and meets the clock, or that it does not fit (docs/boards-resources.md)."""

    harts: int              # built by default
    clock_hz: int           # system clock
    icache_bytes: int = SoCConfig.icache_bytes      # SMALL_CACHES where the FPGA cannot hold these
    icache_ways: int = SoCConfig.icache_ways
    dcache_bytes: int = SoCConfig.dcache_bytes
    dcache_ways: int = SoCConfig.dcache_ways
    trace_depth: int = SoCConfig.trace_depth
    sd: bool = True         # the board's SD card socket, if any, is served by default ...
    ether: bool = True      # ... and its Ethernet
    small: bool = False     # area comes before clock rate: the SoC hardly fits
    # Whether ABC9 simplifies the mapped logic by don't-cares (&mfs); not where that took over twenty minutes.
    mfs: bool = True
    fits: bool = True       # else the FPGA is too small even then (docs/boards.md says by how much)

    def parameters(self) -> dict[str, int]:
        """The parameters of soc.boards.config.BoardConfig."""
        return {name: value for name, value in asdict(self).items() if name not in ("fits", "sd", "ether", "mfs")}

    @property
    def caches(self) -> str:
        """Each hart's caches in words, and whether they are smaller than those of other boards and the simulator."""
        def text(size: int, ways: int) -> str:
            return f"{size // 1024} KiB{f' in {ways} ways' if ways > 1 else ''}"

        both = f"{text(self.icache_bytes, self.icache_ways)} + {text(self.dcache_bytes, self.dcache_ways)}"
        default = all(getattr(self, name) == getattr(SoCConfig, name) for name in CACHES)
        return both if default else f"{both}, not the default"


@dataclass(frozen=True)
class Board:
    """A board; `soc.boards.<module>` has its class `Target`."""

    name: str
    module: str
    title: str
    devices: dict[str, Device]      # by the FPGA's size, such as "85F"; the first one is the default
    oscillator_hz: int              # the source of all clocks; 0: none, the board is simulated
    ram_mib: int
    memory: str                     # the chip
    memory_clocks: int              # memory clocks per system clock
    leds: int                       # settable by software
    sd: bool = False
    ethernet: str = ""              # the port, "" without one
    serial: str = ""                # the console's way to the host
    flash: tuple[str, ...] = ()     # the program that loads a bitstream, with its options but the file
    baud: int = 115_200             # of the console after reset, bit/s
    parameters: dict[str, int] = field(default_factory=dict)  # other ones of soc.config.SoCConfig

    def serves_sd(self, device: str) -> bool:
        """Whether the board has an SD card socket, and the FPGA `device` serves it."""
        return self.sd and self.devices[device].sd

    def serves_ethernet(self, device: str) -> bool:
        """The same for Ethernet."""
        return bool(self.ethernet) and self.devices[device].ether
