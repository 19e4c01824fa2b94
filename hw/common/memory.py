"""Which memory of an FPGA a core uses, and which addresses are main RAM."""

import re
from collections.abc import Callable
from typing import Any

from migen import Memory, Module

LUT_RAM_WORDS = 16
MAIN_RAM = 0x4000_0000     # its start
WORD_BYTES = 8             # of a device's port
DECLARED = r"^(reg \[\d+:0\] {}\[0:\d+\];)"


def in_main_ram(word: Any, ram_bytes: int) -> Any:
    """Whether `word`, an address in words of a device's port with all of its 29 bits, is in the main RAM of
    `ram_bytes`, a power of two: an expression of one comparison."""
    bits = (ram_bytes // WORD_BYTES).bit_length() - 1
    return word[bits:] == MAIN_RAM // WORD_BYTES >> bits


def block_ram(memory: Memory) -> Memory:
    """`memory`, to be in block RAM if it has more words than LUT RAM has without multiplexers: a tool would use LUTs
    for many more, if it is wide. All its reads have to go to registers, or through ports that have an address
    register."""
    memory.in_block_ram = True
    return memory


def block_rams(module: Module, name_of: Callable[[Memory], str]) -> list[str]:
    """The names, in the Verilog, of the memories in `module`, which is finalised, that are to be in block RAM."""
    return sorted(name_of(special) for special in module._fragment.specials
                  if isinstance(special, Memory) and getattr(special, "in_block_ram", False)
                  and special.depth > LUT_RAM_WORDS)


def with_block_rams(text: str, names: list[str]) -> str:
    """The Verilog `text`, with the attribute that yosys and the vendors' tools know on the memories `names`.
    RuntimeError if one of them is not declared there exactly once."""
    for name in names:
        declaration = re.compile(DECLARED.format(re.escape(name)), re.MULTILINE)
        text, found = declaration.subn(r'(* ram_style = "block" *) \1', text)
        if found != 1:
            raise RuntimeError(f"memory {name} is declared {found} times in the Verilog, not once")
    return text
