"""An image for a loader: the pieces of main RAM that it consists of, and the place of its boot arguments."""

import struct

from elftools.common.exceptions import ELFError
from elftools.elf.constants import SH_FLAGS
from elftools.elf.elffile import ELFFile

BASE = 0x4000_0000          # firmware/README.md, "Image header"
MAGIC = 0x314B_4C49
FEED = "serial_input"
HEADER = struct.Struct("<4x4I")     # magic, end, boot arguments: address, size


class ImageError(Exception):
    """The image cannot be loaded; the text is one line that names the remedy."""


def pieces(path, bootargs, ram_bytes, feed=b""):
    """The content for main RAM: pairs of address and bytes, with the boot arguments. ImageError.

    Sections that only reserve memory (.bss, .noinit) are left out, though the linker may have filled them: an image
    clears its own memory. `feed`: bytes that the board's line player plays into the data line; they go to the image's
    symbol FEED.
    """
    try:
        with open(path, "rb") as file:
            elf = ELFFile(file)
            if elf["e_machine"] != "EM_RISCV" or elf.elfclass != 32 or elf["e_type"] != "ET_EXEC":
                raise ImageError(f"the image {path} is not a linked 32-bit RISC-V program")
            segments = [(segment["p_paddr"], segment.data(), segment["p_memsz"]) for segment in elf.iter_segments()
                        if segment["p_type"] == "PT_LOAD" and segment["p_memsz"]]
            reserved = _reserved(elf)
            feeds = [(_feed_address(path, elf, len(feed)), feed)] if feed else []
    except OSError as error:
        raise ImageError(f"the image {path} cannot be read: {error.strerror}") from error
    except (ELFError, struct.error) as error:
        raise ImageError(f"the image {path} is not a whole ELF file: {error}") from error
    for address, content, size in segments:
        if address < BASE or address + max(size, len(content)) > BASE + ram_bytes:
            raise ImageError(f"the image {path} does not fit main RAM: a segment wants {address:#x} to "
                             f"{address + size:#x}, RAM is {BASE:#x} to {BASE + ram_bytes:#x}")
    where, size = _buffer(path, segments)
    text = bootargs.encode()
    if len(text) >= size:
        raise ImageError(f"the boot arguments have {len(text)} bytes, the image's buffer takes {size - 1}: give fewer")
    found = [piece for address, content, _ in segments for piece in _without(address, content, reserved)]
    return _overlaid(found, where, text.ljust(len(text) // 4 * 4 + 4, b"\0")[:size]) + feeds


def _reserved(elf):
    """The ranges of sections that only reserve memory: pairs of beginning and end, in order."""
    sections = [section.header for section in elf.iter_sections()]
    return sorted((section.sh_addr, section.sh_addr + section.sh_size) for section in sections
                  if section.sh_type == "SHT_NOBITS" and section.sh_flags & SH_FLAGS.SHF_ALLOC
                  and not section.sh_flags & SH_FLAGS.SHF_TLS)


def _without(address, content, reserved):
    """The pieces of `content`, which begins at `address`, that are outside `reserved`."""
    end = address + len(content)
    for begin, behind in [*reserved, (end, end)]:
        if address < (last := min(begin, end)):
            yield address, content[len(content) - (end - address):len(content) - (end - last)]
        address = max(address, behind)


def _feed_address(path, elf, size):
    """The address of the image's bytes for the data line."""
    table = elf.get_section_by_name(".symtab")
    for symbol in (table.get_symbol_by_name(FEED) if table else None) or []:
        if symbol["st_size"] >= size:
            return symbol["st_value"]
        raise ImageError(f"{size} bytes are too many for the data line: the image {path} keeps {symbol['st_size']}")
    raise ImageError(f"the image {path} has no {FEED}: it receives nothing on the data line of a board")


def _buffer(path, segments):
    """Address and size of the buffer for boot arguments."""
    for address, content, _ in segments:
        if address == BASE and len(content) >= HEADER.size:
            magic, end, where, size = HEADER.unpack_from(content)
            if magic == MAGIC and BASE <= where and where + size <= end:
                return where, size
    raise ImageError(f"the image {path} has no header at {BASE:#x} (firmware/README.md): link it as the kernel is")


def _overlaid(found, where, text):
    """The pieces with `text` at the address `where`, in the piece that has it or as one of its own."""
    for index, (address, content) in enumerate(found):
        if address <= where and where + len(text) <= address + len(content):
            at = where - address
            return [*found[:index], (address, content[:at] + text + content[at + len(text):]), *found[index + 1:]]
    return [*found, (where, text)]
