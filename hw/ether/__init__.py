"""Ethernet: LiteEth's MAC with descriptor rings in main RAM (README.md is the manual)."""

from hw.ether.core import Ether
from hw.ether.phy import WirePHY

__all__ = ["Ether", "WirePHY"]
