"""Off-chip programmable interrupt controller: the link, the controller behind it, and the on-chip counters."""

from hw.pic.controller import OffChipPIC
from hw.pic.link import Link
from hw.pic.registers import COUNTERS, REGISTERS

__all__ = ["COUNTERS", "REGISTERS", "Link", "OffChipPIC"]
