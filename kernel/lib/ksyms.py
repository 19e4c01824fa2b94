"""Print the assembler source of the kernel's table of function names (lib/symbols.h), made from a linked image.

Usage: ksyms.py [IMAGE]. Without an image the table is empty: that is for the first link, which fixes the addresses.
"""

import sys

from elftools.elf.elffile import ELFFile


def functions(path):
    """The (address, name) of every function of the ELF file, by address; one name each."""
    with open(path, "rb") as file:
        symbols = ELFFile(file).get_section_by_name(".symtab").iter_symbols()
        found = {s["st_value"]: s.name for s in symbols if s["st_info"]["type"] == "STT_FUNC" and s.name}
    return sorted(found.items())


def main():
    table = functions(sys.argv[1]) if len(sys.argv) > 1 else []
    print('.section .ksyms, "a"\n.balign 4\n.globl ksyms_count, ksyms\nksyms_count: .word', len(table))
    print("ksyms:")
    for i, (address, _) in enumerate(table):
        print(f"    .word 0x{address:x}, name{i}")
    for i, (_, name) in enumerate(table):
        print(f'name{i}: .asciz "{name}"')


if __name__ == "__main__":
    main()
