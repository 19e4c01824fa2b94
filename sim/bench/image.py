"""Main RAM as the harness lays it out before the first cycle, for a simulator that loads it from a file."""

import struct
from pathlib import Path

RAM_BASE = 0x4000_0000
HEADER_BOOTARGS = 0xC       # of the image: address of the buffer for the boot arguments (sim/harness/README.md, "In")
PT_LOAD = 1


def main_ram(image: Path, bootargs: str) -> bytes:
    """The start of main RAM with the ELF file `image` in it and its boot arguments, whole 64-bit words."""
    elf = image.read_bytes()
    table, = struct.unpack_from("<I", elf, 0x1C)
    entry_size, entries = struct.unpack_from("<HH", elf, 0x2A)
    ram = bytearray()

    def put(address: int, content: bytes):
        at = address - RAM_BASE
        ram.extend(bytes(max(0, at + len(content) - len(ram))))
        ram[at:at + len(content)] = content

    for i in range(entries):
        kind, offset, _, address, size = struct.unpack_from("<5I", elf, table + i * entry_size)
        if kind == PT_LOAD and size:
            put(address, elf[offset:offset + size])
    buffer, = struct.unpack_from("<I", ram, HEADER_BOOTARGS)
    put(buffer, bootargs.encode() + b"\0")
    ram.extend(bytes(-len(ram) % 8))
    return bytes(ram)
