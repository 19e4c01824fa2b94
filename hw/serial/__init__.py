"""16550-class serial port."""

from hw.serial.core import Serial16550

__all__ = ["Serial16550"]
