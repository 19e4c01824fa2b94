"""Writes the register tables into the README: `python -m hw.pic.docs`."""

import re
from pathlib import Path

from hw.pic.registers import COUNTERS, REGISTERS

README = Path(__file__).with_name("README.md")


def with_tables(text):
    """The README's text with the tables that the declarations give now."""
    for name, registers in (("registers", REGISTERS), ("counters", COUNTERS)):
        text, found = re.subn(rf"(?s)(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)",
                              lambda match, table=registers.markdown(): match[1] + table + match[2], text)
        if found != 1:
            raise ValueError(f"{README.name} has {found} places for the table of {name}, not one")
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text()))
