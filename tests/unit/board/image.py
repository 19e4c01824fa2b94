"""An image with a header, for tests of what loads it."""

import subprocess

SOURCE = """
    .globl _start, bootargs, serial_input
_start: j _start
    .word {magic}, _end, bootargs, 64
    .fill {filler}, 1, 0x5a
    .balign 4
bootargs: .space 64
    .section .noinit, "aw", @nobits
    .balign 8
serial_input: .space 32
    .size serial_input, 32
    .section .archive, "a"
    .fill {archived}, 1, 0xa5
"""
SCRIPT = """
PHDRS {{ all PT_LOAD; }}
SECTIONS {{ . = {base}; .text : {{ *(.text) }} :all .noinit : {{ *(.noinit) }} .archive : {{ *(.archive) }} _end = .; }}
"""


def make_image(folder, name="image", magic=0x314b4c49, base=0x4000_0000, filler=5000, archived=0):
    """The ELF file: with boot arguments of up to 63 bytes, room for 32 bytes of the data line, and `archived` bytes
    behind that."""
    (folder / f"{name}.S").write_text(SOURCE.format(magic=magic, filler=filler, archived=archived))
    (folder / f"{name}.ld").write_text(SCRIPT.format(base=base))
    path = folder / f"{name}.elf"
    subprocess.run(["riscv64-unknown-elf-gcc", "-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-nostdlib", "-Wl,-n",
                    "-Wl,--build-id=none", "-Wl,--no-warn-rwx-segments", "-T", folder / f"{name}.ld",
                    folder / f"{name}.S", "-o", path], check=True)
    return path
