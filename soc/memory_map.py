"""Where everything lies, in bytes. What the CPU cluster decides is in `hw/common/hart_io.py` and here in step."""

from dataclasses import dataclass

from hw.common.hart_io import POSTED_BASE, WINDOW_BASE
from soc.config import SoCConfig

MIB = 1 << 20


@dataclass(frozen=True)
class Region:
    """A piece of the physical address space. `path` is how a hart gets there: `memory` (its ports to main RAM), `bus`
    (the Wishbone bus that all harts share) or `hart` (a private port of each hart)."""

    origin: int
    size: int
    path: str
    mode: str      # of r, w, x
    what: str

    @property
    def cached(self) -> bool:
        """Addresses with bit 31 set are I/O: uncached, one access at a time."""
        return self.origin < 0x8000_0000


def memory_map(config: SoCConfig) -> dict[str, Region]:
    """All regions of a SoC by name, in order of address."""
    trace_bytes = max(16 * config.trace_depth, 0x1000)
    return {
        "rom":          Region(0x0000_0000, 0x1_0000, "bus", "rx", "Boot ROM; every hart starts here."),
        "sram":         Region(0x1000_0000, 0x2000, "bus", "rwx", "On-chip RAM; the boot ROM's stacks."),
        "main_ram":     Region(0x4000_0000, config.ram_mib * MIB, "memory", "rwx", "Main RAM; images start here."),
        "pic_window":   Region(WINDOW_BASE, 0x1_0000, "hart", "rw", "Interrupt controller, behind its link."),
        "trace_window": Region(POSTED_BASE, 0x1000, "hart", "rw", "Trace port: a store logs. Stores are posted."),
        "csr":          Region(0xf000_0000, 0x1_0000, "bus", "rw", "Control and status registers (CSRs)."),
        "clint":        Region(0xf001_0000, 0x1_0000, "bus", "rw", "Time; timers and software interrupts of harts."),
        "uart0":        Region(0xf002_0000, 0x1000, "bus", "rw", "Serial port 0: the console."),
        "uart1":        Region(0xf002_1000, 0x1000, "bus", "rw", "Serial port 1: data."),
        "pic_counters": Region(0xf003_0000, 0x1000, "bus", "r", "Counters of interrupt sources, not behind the link."),
        "trace_buffer": Region(0xf004_0000, trace_bytes, "bus", "r", "Records that the trace port has kept."),
    }
