"""The controller on another chip, behind a few wires (README.md)."""

from hw.pic.pins.far import PICChip
from hw.pic.pins.near import PinLink, RemotePIC
from hw.pic.pins.wires import Pads

__all__ = ["PICChip", "Pads", "PinLink", "RemotePIC"]
