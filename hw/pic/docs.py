"""Writes the register tables into the README: `python -m hw.pic.docs`."""

import re
from pathlib import Path

from hw.pic.registers import COUNTERS, REGISTERS

README = Path(__file__).with_name("README.md")


def with_tables(text):
    """The README's text with the tables that the declarations give now."""
    for name, registers in (("registers", REGISTERS), ("counters", COUNTERS)):
        parts = re.split(rf"(?s)(<!-- {name}: [^\n]*-->\n).*?(<!-- end of {name} -->)", text)
        if len(parts) != 4:
            raise ValueError(f"{README.name} has {len(parts) // 3} places for the table of {name}, not one")
        before, begin, end, after = parts
        text = before + begin + registers.markdown() + end + after
    return text


if __name__ == "__main__":
    README.write_text(with_tables(README.read_text()))
