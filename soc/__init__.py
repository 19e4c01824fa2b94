"""The LiteX SoC: memory map, parts, targets."""
