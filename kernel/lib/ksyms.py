"""Print the assembler source of the kernel's table of function names (lib/symbols.h), made from readelf's output
for a linked image. Empty input gives an empty table: that is for the first link, which fixes the addresses.

Usage: readelf -sW IMAGE | ksyms.py
"""

import sys


def functions(lines):
    """The (address, name) of every function in `lines` of readelf, by address; one name each."""
    fields = (line.split() for line in lines)
    found = {int(f[1], 16): f[7] for f in fields if len(f) == 8 and f[3] == "FUNC"}
    return sorted(found.items())


def main():
    table = functions(sys.stdin)
    print('.section .ksyms, "a"\n.balign 4\n.globl ksyms_count, ksyms\nksyms_count: .word', len(table))
    print("ksyms:")
    for i, (address, _) in enumerate(table):
        print(f"    .word 0x{address:x}, .Lname{i}")
    for i, (_, name) in enumerate(table):
        print(f'.Lname{i}: .asciz "{name}"')


if __name__ == "__main__":
    main()
