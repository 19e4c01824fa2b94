"""The line player: the far end of a serial line, on the chip."""
