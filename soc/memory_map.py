"""The memory map, in bytes. Addresses that the CPU cluster decodes are in `hw/common/hart_io.py` and here, the same."""

from dataclasses import dataclass

from hw.common.hart_io import POSTED_BASE, WINDOW_BASE
from soc.config import SoCConfig


@dataclass(frozen=True)
class Region:
    """A piece of the physical address space. `path` is a hart's path to it: `memory` (its ports to main RAM), `bus`
    (the Wishbone bus that all harts share) or `hart` (a private port of each hart)."""

    origin: int
    size: int
    path: str
    mode: str        # of r, w, x
    what: str
    # Cycles of a load until its value can be used, and of a store until the next instruction, without contention
    # from others: of cached memory with a hit, and `miss` with a miss. Measured (tests/system/soc/selftest.c).
    load: int
    store: int | None
    miss: int | None = None

    @property
    def cached(self) -> bool:
        """Addresses with bit 31 set are I/O: uncached, one access at a time."""
        return self.origin < 0x8000_0000


def memory_map(config: SoCConfig) -> dict[str, Region]:
    """All regions of a SoC by name, in order of address."""
    ram_bytes = config.ram_mib << 20
    trace_bytes = max(16 * config.trace_depth, 0x1000)
    return {
        "rom":          Region(0x0000_0000, 0x1_0000, "bus", "rx", "Boot ROM; every hart starts here.", 3, None, 46),
        "sram":         Region(0x1000_0000, 0x2000, "bus", "rwx", "On-chip RAM; the boot ROM's stacks.", 3, 1, 46),
        "main_ram":     Region(0x4000_0000, ram_bytes, "memory", "rwx", "Main RAM; images go here.", 3, 2, 31),
        "pic_window":   Region(WINDOW_BASE, 0x1_0000, "hart", "rw", "Interrupt controller, behind its link.", 10, 8),
        "trace_window": Region(POSTED_BASE, 0x1000, "hart", "rw", "Trace port: a store logs. Stores are posted.", 7, 2),
        "csr":          Region(0xf000_0000, 0x1_0000, "bus", "rw", "Control and status registers (CSRs).", 16, 14),
        "clint":        Region(0xf001_0000, 0x1_0000, "bus", "rw", "Timers, software interrupts, time.", 16, 14),
        "uart0":        Region(0xf002_0000, 0x1000, "bus", "rw", "Serial port 0: the console.", 16, 14),
        "uart1":        Region(0xf002_1000, 0x1000, "bus", "rw", "Serial port 1: data.", 16, 14),
        "pic_counters": Region(0xf003_0000, 0x1000, "bus", "r", "Counters of interrupt sources.", 16, None),
        "trace_buffer": Region(0xf004_0000, trace_bytes, "bus", "r", "Records that the trace port has kept.", 16, None),
        **{f"disk{n}": Region(0xf006_0000 + 0x1000 * n, 0x1000, "bus", "rw", f"Disk controller {n}.", 16, 14)
           for n in range(config.disks)},
    }
