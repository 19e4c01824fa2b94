"""What a SoC is built from: its parameters, checked, and the sources and packages that make it."""

import dataclasses
import hashlib
from dataclasses import dataclass
from importlib import metadata

from hw.cpu.generate import ClusterParameters
from support.cache import REPO
from support.parameters.machine import MachineParameters

ETHER_PORTS = 2          # of the cluster's device ports: one to receive, one to send
GENERATORS = ("litedram", "liteeth", "litex", "migen", "pythondata-cpu-vexriscv")
SOURCE_FOLDERS = ("firmware", "hw", "soc")


def source_files():
    """The files that determine a SoC, in order: all of `SOURCE_FOLDERS` but prose and Python's caches."""
    for folder in SOURCE_FOLDERS:
        for path in sorted((REPO / folder).rglob("*")):
            if path.is_file() and path.suffix != ".md" and "__pycache__" not in path.parts:
                yield path


@dataclass(frozen=True)
class SoCConfig(MachineParameters):
    """Parameters of a SoC. ValueError, in one line that says what to write instead, for one that cannot be built."""

    def __post_init__(self):
        super().__post_init__()
        self.cluster()      # checks the caches

    def cluster(self) -> ClusterParameters:
        """Parameters of the CPU cluster, which starts in the boot ROM at 0."""
        return ClusterParameters(harts=self.harts, icache_bytes=self.icache_bytes, icache_ways=self.icache_ways,
                                 dcache_bytes=self.dcache_bytes, dcache_ways=self.dcache_ways,
                                 itlb_entries=self.tlb_entries, dtlb_entries=self.tlb_entries,
                                 prediction=self.prediction,
                                 device_ports=max(1, self.disks + ETHER_PORTS * self.ethers))

    def origin(self) -> str:
        """A hash (16 hex digits) of all that determines the generated files: the parameters, the sources and the
        versions of the packages that generate it."""
        total = hashlib.sha256(repr(sorted(dataclasses.asdict(self).items())).encode())
        for package in GENERATORS:
            total.update(f"{package} {metadata.version(package)}\n".encode())
        for path in source_files():
            content = path.read_bytes()
            total.update(f"{path.relative_to(REPO).as_posix()} {len(content)}\n".encode())
            total.update(content)
        return total.hexdigest()[:16]
