"""What a SoC is built from: its parameters, checked, and the sources and packages that make it."""

import dataclasses
import hashlib
from dataclasses import dataclass
from importlib import metadata

from hw.cpu.generate import PREDICTIONS, ClusterParameters
from support.cache import REPO

MAX_HARTS = 8            # PIC sources 0..7 and 8..15 are theirs
MAX_LATENCY = 65_535
MAX_DISKS = 2
ETHER_PORTS = 2          # of the cluster's device ports: one to receive, one to send
GENERATORS = ("litedram", "liteeth", "litex", "migen", "pythondata-cpu-vexriscv")
SOURCE_FOLDERS = ("firmware", "hw", "soc")


def source_files():
    """The files that decide what a SoC is, in order: all of `SOURCE_FOLDERS` but prose and what Python leaves."""
    for folder in SOURCE_FOLDERS:
        for path in sorted((REPO / folder).rglob("*")):
            if path.is_file() and path.suffix != ".md" and "__pycache__" not in path.parts:
                yield path


@dataclass(frozen=True)
class SoCConfig:
    """Parameters of a SoC. ValueError, in one line that says what to write instead, when one cannot be built."""

    harts: int = 1
    clock_hz: int = 60_000_000     # what software is told and serial bit times are made from
    ram_mib: int = 32              # main RAM, MiB
    serial_fifo: int = 128         # characters there is room for in each FIFO of both serial ports; 1 builds 16450s
    trace_depth: int = 1024        # records that the trace buffer keeps
    icache_bytes: int = 8192       # of each hart's instruction cache, all ways together
    icache_ways: int = 4           # 1, 2 or 4, of 1 to 4 KiB each
    dcache_bytes: int = 4096       # and of its data cache
    dcache_ways: int = 1
    tlb_entries: int = 4           # of each hart's TLB for instructions, and of that for data
    prediction: str = "static"     # of branches: none, static or dynamic
    disks: int = 0                 # disk controllers (hw/disk), up to 2
    ethers: int = 0                # Ethernet cores (hw/ether), 0 or 1
    # Reset values of the CSRs of the same names, in cycles.
    ram_read_latency: int = 8
    link_read_latency: int = 0
    link_write_latency: int = 0
    link_delivery_delay: int = 0
    link_read_back: int = 0
    link_write_back: int = 0
    link_fall_delay: int = 0

    def __post_init__(self):
        def powers(low, high):
            return [1 << n for n in range(low.bit_length() - 1, high.bit_length())]

        for name, low, high, why in (
            ("harts", 1, MAX_HARTS, "the interrupt controller has contexts for 8"),
            ("clock_hz", 1_000_000, 500_000_000, "serial bit times and timers are made for that"),
            ("disks", 0, MAX_DISKS, "there are interrupt sources and addresses for 2"),
            ("ethers", 0, 1, "Ethernet has one set of wires"),
            *((name, 0, MAX_LATENCY, "the register has 16 bits") for name in
              ("ram_read_latency", "link_read_latency", "link_write_latency", "link_delivery_delay", "link_read_back",
               "link_write_back", "link_fall_delay")),
        ):
            value = getattr(self, name)
            if type(value) is not int or not low <= value <= high:
                raise ValueError(f"{name}={value}: give a whole number from {low} to {high} ({why})")
        for name, low, high in (
            ("ram_mib", 1, 1024),
            ("serial_fifo", 1, 256),
            ("trace_depth", 2, 4096),
            ("tlb_entries", 2, 16),
        ):
            value = getattr(self, name)
            if type(value) is not int or value not in powers(low, high):
                raise ValueError(f"{name}={value}: give a power of two from {low} to {high}")
        if self.prediction not in PREDICTIONS:
            raise ValueError(f"prediction={self.prediction}: give {', '.join(PREDICTIONS[:-1])} or {PREDICTIONS[-1]}")
        self.cluster()      # looks at the caches

    def cluster(self) -> ClusterParameters:
        """Parameters of the CPU cluster, which starts in the boot ROM at 0."""
        return ClusterParameters(harts=self.harts, icache_bytes=self.icache_bytes, icache_ways=self.icache_ways,
                                 dcache_bytes=self.dcache_bytes, dcache_ways=self.dcache_ways,
                                 itlb_entries=self.tlb_entries, dtlb_entries=self.tlb_entries,
                                 prediction=self.prediction,
                                 device_ports=max(1, self.disks + ETHER_PORTS * self.ethers))

    def origin(self) -> str:
        """A hash (16 hex digits) of all that can change what is generated: the parameters, the sources and the versions
        of the packages that generate it."""
        total = hashlib.sha256(repr(sorted(dataclasses.asdict(self).items())).encode())
        for package in GENERATORS:
            total.update(f"{package} {metadata.version(package)}\n".encode())
        for path in source_files():
            content = path.read_bytes()
            total.update(f"{path.relative_to(REPO).as_posix()} {len(content)}\n".encode())
            total.update(content)
        return total.hexdigest()[:16]
