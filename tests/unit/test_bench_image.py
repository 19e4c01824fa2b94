"""Main RAM for LiteX's simulator is as the harness lays it out."""

import struct

from sim.bench.image import RAM_BASE, main_ram


def elf(segments):
    """An ELF file of loadable segments (address, bytes)."""
    header = bytearray(0x34)
    struct.pack_into("<I", header, 0x1C, len(header))
    struct.pack_into("<HH", header, 0x2A, 32, len(segments))
    table, data = bytearray(), bytearray()
    start = len(header) + 32 * len(segments)
    for address, content in segments:
        table += struct.pack("<8I", 1, start + len(data), address, address, len(content), len(content), 7, 4)
        data += content
    return bytes(header + table + data)


def test_segments_and_boot_arguments(tmp_path):
    image = tmp_path / "image"
    first = bytearray(range(20))
    struct.pack_into("<I", first, 0xC, RAM_BASE + 0x40)
    image.write_bytes(elf([(RAM_BASE, bytes(first)), (RAM_BASE + 0x20, b"abc")]))
    ram = main_ram(image, "run=hello")
    assert ram[:20] == first and ram[0x20:0x23] == b"abc" and ram[20:0x20] == bytes(12)
    assert ram[0x40:0x4A] == b"run=hello\0" and len(ram) % 8 == 0


def test_later_segments_do_not_cut_what_lies_before(tmp_path):
    image = tmp_path / "image"
    first = bytearray(0x40)
    struct.pack_into("<I", first, 0xC, RAM_BASE + 0x30)
    first[-1] = 7
    image.write_bytes(elf([(RAM_BASE, bytes(first)), (RAM_BASE + 0x10, b"xyz")]))
    ram = main_ram(image, "a")
    assert ram[0x10:0x13] == b"xyz" and ram[0x3F] == 7 and ram[0x30:0x32] == b"a\0"
