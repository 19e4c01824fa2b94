"""Register maps: invalid ones are refused, and the C header agrees with the declaration."""

import subprocess

import pytest

from hw.common.regmap import Alias, Field, Register, RegisterMap

CONTROL = Register("CONTROL", 0x00, "rw", "Control.", (
    Field("ON", 0, 1, "On."), Field("MODE", 4, 3, "Mode.", 2, {"FAST": 5, "SLOW": 2})))
CHANNEL = Register("CHANNEL", 0x40, "rw", "Channel.", reset=7, count=4, stride=8)
MAP = RegisterMap("Example", 0x100, "An example.", (CONTROL, CHANNEL),
                  (Alias("VIEW", 0x80, 0x10, 2, ("CONTROL",), "Views."),))


def test_places():
    assert list(MAP.places()) == [(0x00, "CONTROL"), (0x40, "CHANNEL[0]"), (0x48, "CHANNEL[1]"), (0x50, "CHANNEL[2]"),
                                  (0x58, "CHANNEL[3]"), (0x80, "VIEW[0].CONTROL"), (0x90, "VIEW[1].CONTROL")]


def test_fields():
    mode = CONTROL["MODE"]
    assert (CONTROL.mask, CONTROL.reset, CHANNEL.mask, CHANNEL.reset) == (0x71, 0x20, 0xffff_ffff, 7)
    assert (mode.mask, mode.put(5), mode.get(0xffff_ffdf), mode.bits) == (0x70, 0x50, 5, slice(4, 7))
    assert (CONTROL.pack(MODE=5, ON=1), CONTROL.unpack(0x71)) == (0x51, {"ON": 1, "MODE": 7})
    with pytest.raises(ValueError, match="field MODE: 8 does not fit 3 bits"):
        mode.put(8)
    with pytest.raises(KeyError, match="no field SPEED"):
        CONTROL["SPEED"]
    with pytest.raises(KeyError, match="no field SPEED"):
        CONTROL.pack(SPEED=0)
    with pytest.raises(IndexError, match="no element 4"):
        CHANNEL.at(4)


def test_another_build_resets_to_other_values():
    other = MAP.with_resets(CONTROL=0x31, CHANNEL=0)
    assert (other["CONTROL"].reset, other["CONTROL"]["MODE"].reset, other["CHANNEL"].reset) == (0x31, 3, 0)
    assert "| `0x031` |" not in other.markdown() and "rw | `0x31` |" in other.markdown()
    assert MAP["CONTROL"].reset == 0x20
    with pytest.raises(KeyError, match="no register SPEED"):
        MAP.with_resets(SPEED=1)


@pytest.mark.parametrize("message, wrong", [
    ("do not fit 32 bits", lambda: Field("A", 30, 3, "")),
    ("reset 4 does not fit", lambda: Field("A", 0, 2, "", 4)),
    ("X 9 does not fit", lambda: Field("A", 0, 2, "", 0, {"X": 9})),
    ("access 'r' is not one of", lambda: Register("A", 0, "r", "")),
    ("not aligned", lambda: Register("A", 2, "rw", "")),
    ("field B overlaps", lambda: Register("A", 0, "rw", "", (Field("A", 0, 4, ""), Field("B", 3, 1, "")))),
    ("outside the window", lambda: RegisterMap("M", 4, "", (Register("A", 4, "rw", ""),))),
    ("are both at 0x0", lambda: RegisterMap("M", 8, "", (Register("A", 0, "rw", ""), Register("B", 0, "rw", "")))),
])
def test_what_cannot_be_is_refused(message, wrong):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_c_header_compiles_to_the_declared_numbers(tmp_path):
    (tmp_path / "ex.h").write_text(MAP.c_header("EX"))
    values = {"EX_SIZE": 0x100, "EX_CONTROL": 0, "EX_CONTROL_MODE_SHIFT": 4, "EX_CONTROL_MODE_MASK": 0x70,
              "EX_CONTROL_MODE_FAST": 5, "EX_CONTROL_RESET": 0x20, "EX_CHANNEL_RESET": 7,
              "EX_CHANNEL_COUNT": 4, "EX_CHANNEL_AT(3)": 0x58, "EX_VIEW_AT(1)": 0x90}
    checks = "".join(f'_Static_assert({name} == {value}, "{name}");\n' for name, value in values.items())
    (tmp_path / "ex.c").write_text(f'#include "ex.h"\n{checks}')
    subprocess.run(["gcc", "-Wall", "-Werror", "-fsyntax-only", tmp_path / "ex.c"], check=True)


def test_markdown_has_a_row_for_every_register_and_field():
    table = MAP.markdown()
    for text in ("| `VIEW` | `0x080` + `0x10` * i, i < 2 | `CONTROL` |",
                 "| `0x000` | **`CONTROL`** | 31:0 | rw | `0x20` |",
                 "| | `MODE` | 6:4 | | `0x2` |", "`FAST` = 5",
                 "| `0x040` + 8 * i, i < 4 | **`CHANNEL`** |"):
        assert text in table
