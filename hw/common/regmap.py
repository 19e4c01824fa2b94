"""Register maps: one declaration from which the RTL decode, the C header and the README table are all made.

A core declares its registers as data (:class:`RegisterMap` of :class:`Register` of :class:`Field`); its decoding and
strobes are made from that (hw/common/decode.py), `c_header()` gives the same to C and assembler, and `markdown()`
prints the table of the core's README. All registers are 32 bits wide; offsets are in bytes from the start of the core's
window.
"""

from dataclasses import dataclass, field, replace
from typing import Any

WIDTH = 32
ACCESSES = ("rw", "ro", "wo")


@dataclass(frozen=True)
class Field:
    """Bits `lsb + width - 1 .. lsb` of a register. `values` may name values of the field, for header and table."""

    name: str
    lsb: int
    width: int
    description: str
    reset: int = 0
    values: dict[str, int] = field(default_factory=dict)

    def __post_init__(self):
        if not (0 <= self.lsb and 1 <= self.width and self.lsb + self.width <= WIDTH):
            raise ValueError(f"field {self.name}: bits {self.lsb}+{self.width} do not fit {WIDTH} bits")
        for name, value in {"reset": self.reset, **self.values}.items():
            if not 0 <= value < 1 << self.width:
                raise ValueError(f"field {self.name}: {name} {value} does not fit {self.width} bits")

    @property
    def mask(self) -> int:
        """The field's bits in place: its value in a register is `(value & mask) >> lsb`."""
        return (1 << self.width) - 1 << self.lsb

    @property
    def bits(self) -> slice:
        """The field as an index of a Migen signal: `value[field.bits]`."""
        return slice(self.lsb, self.lsb + self.width)

    def get(self, value: int) -> int:
        """The field's part of a register's value."""
        return (value & self.mask) >> self.lsb

    def put(self, value: int) -> int:
        """`value` moved to the field's place; ValueError if it does not fit."""
        if not 0 <= value < 1 << self.width:
            raise ValueError(f"field {self.name}: {value} does not fit {self.width} bits")
        return value << self.lsb


@dataclass(frozen=True)
class Register:
    """A 32-bit register at byte `offset`, or with `count` an array of them, `stride` bytes apart.

    `access` is "rw", "ro" or "wo". Bits that no field covers are reserved: they read as 0, and writes to them are
    ignored. A register without fields is one 32-bit value with the reset value `reset`.
    """

    name: str
    offset: int
    access: str
    description: str
    fields: tuple[Field, ...] = ()
    reset: int = 0
    count: int = 1
    stride: int = 4

    def __post_init__(self):
        if self.access not in ACCESSES:
            raise ValueError(f"register {self.name}: access {self.access!r} is not one of {', '.join(ACCESSES)}")
        if self.offset % 4 or self.stride % 4:
            raise ValueError(f"register {self.name}: not aligned to 4 bytes")
        used = 0
        for part in self.fields:
            if used & part.mask:
                raise ValueError(f"register {self.name}: field {part.name} overlaps another")
            used |= part.mask
        if self.fields:
            object.__setattr__(self, "reset", sum(part.put(part.reset) for part in self.fields))

    @property
    def mask(self) -> int:
        """The bits that have a meaning; the others are reserved."""
        return sum(part.mask for part in self.fields) if self.fields else (1 << WIDTH) - 1

    @property
    def lanes(self) -> int:
        """The bytes in which it has fields, a bit each: a store of fewer has no effect (`stored`)."""
        return sum(1 << byte for byte in range(WIDTH // 8) if self.mask >> 8 * byte & 0xff)

    def stored(self, select: Any) -> Any:
        """Whether a store of the bytes `select`, a number or a signal, has all of its fields: else it does nothing."""
        return (select & self.lanes) == self.lanes

    def resetting_to(self, value: int) -> "Register":
        """The same register in a build in which it resets to `value`."""
        return replace(self, reset=value, fields=tuple(replace(part, reset=part.get(value)) for part in self.fields))

    def __getitem__(self, name: str) -> Field:
        for part in self.fields:
            if part.name == name:
                return part
        raise KeyError(f"register {self.name} has no field {name}")

    def pack(self, **values: int) -> int:
        """The value with these fields; the others are 0. KeyError for an unknown field, ValueError for a value that
        does not fit."""
        return sum(self[name].put(value) for name, value in values.items())

    def unpack(self, value: int) -> dict[str, int]:
        """The fields of a value, by name."""
        return {part.name: part.get(value) for part in self.fields}

    def at(self, index: int = 0) -> int:
        """Byte offset of element `index` of an array register; IndexError outside it."""
        if not 0 <= index < self.count:
            raise IndexError(f"register {self.name} has {self.count} elements, no element {index}")
        return self.offset + self.stride * index


@dataclass(frozen=True)
class Alias:
    """More places where a block of registers appears: register R of the block is at `base + stride * i + R.offset`."""

    name: str
    base: int
    stride: int
    count: int
    registers: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class RegisterMap:
    """All registers of a core, in a window of `size` bytes. Offsets that hold no register read as 0."""

    name: str
    size: int
    description: str
    registers: tuple[Register, ...]
    aliases: tuple[Alias, ...] = ()

    def __post_init__(self):
        taken: dict[int, str] = {}
        for offset, name in self.places():
            if not 0 <= offset <= self.size - 4:
                raise ValueError(f"{name} at 0x{offset:x} lies outside the window of 0x{self.size:x} bytes")
            if taken.setdefault(offset, name) != name:
                raise ValueError(f"{name} and {taken[offset]} are both at 0x{offset:x}")

    def __getitem__(self, name: str) -> Register:
        for register in self.registers:
            if register.name == name:
                return register
        raise KeyError(f"{self.name} has no register {name}")

    def with_resets(self, **values: int) -> "RegisterMap":
        """The map of a build whose registers of these names reset to these values; KeyError for an unknown one."""
        for name in values:
            self[name]
        return replace(self, registers=tuple(register.resetting_to(values[register.name]) if register.name in values
                                             else register for register in self.registers))

    def places(self):
        """Yield (byte offset, unique name) of every offset at which a register answers."""
        for register in self.registers:
            for i in range(register.count):
                yield register.at(i), f"{register.name}[{i}]" if register.count > 1 else register.name
        for alias in self.aliases:
            for i in range(alias.count):
                for name in alias.registers:
                    yield alias.base + alias.stride * i + self[name].offset, f"{alias.name}[{i}].{name}"

    def c_header(self, prefix: str) -> str:
        """The map as a header for C and assembler: only `#define`s of plain numbers, masks in place.

        For a register R with a field F: `<prefix>_R` (offset), `<prefix>_R_RESET` (unless it is only written),
        `<prefix>_R_F_SHIFT`, `<prefix>_R_F_MASK` (in place),
        and `<prefix>_R_F_<value>` for named values. For an array also `_STRIDE`, `_COUNT` and `_AT(i)`.
        For an alias A: `<prefix>_A` (base), `_STRIDE`, `_COUNT` and `_AT(i)`, to which a register's offset is added.
        """
        guard = f"{prefix}_REGS_H"
        lines = [f"/* {self.name}: generated from the core's register declarations, do not edit. */",
                 f"#ifndef {guard}", f"#define {guard}", "", f"#define {prefix}_SIZE 0x{self.size:x}"]

        def array(name, base, stride, count):
            return [f"#define {name} 0x{base:02x}", f"#define {name}_STRIDE 0x{stride:x}",
                    f"#define {name}_COUNT {count}", f"#define {name}_AT(i) (0x{base:x} + 0x{stride:x} * (i))"]

        for alias in self.aliases:
            lines += ["", f"/* {alias.name}: {alias.description} */"]
            lines += array(f"{prefix}_{alias.name}", alias.base, alias.stride, alias.count)
        for register in self.registers:
            name = f"{prefix}_{register.name}"
            lines += ["", f"/* {register.name} ({register.access}): {register.description} */"]
            if register.count > 1:
                lines += array(name, register.offset, register.stride, register.count)
            else:
                lines += [f"#define {name} 0x{register.offset:02x}"]
            if register.access != "wo":
                lines += [f"#define {name}_RESET 0x{register.reset:x}"]
            for part in register.fields:
                lines += [f"#define {name}_{part.name}_SHIFT {part.lsb}",
                          f"#define {name}_{part.name}_MASK 0x{part.mask:x}"]
                lines += [f"#define {name}_{part.name}_{value} {number}" for value, number in part.values.items()]
        return "\n".join(lines + ["", f"#endif /* {guard} */", ""])

    def markdown(self) -> str:
        """The map as Markdown tables: the aliases, then one row a register and one a field."""
        lines = []
        if self.aliases:
            lines += ["| block | offset | registers | what it is |", "|---|---|---|---|"]
            for alias in self.aliases:
                place = f"`0x{alias.base:03x}`"
                if alias.count > 1:
                    place += f" + `0x{alias.stride:02x}` * i, i < {alias.count}"
                lines += [f"| `{alias.name}` | {place} | {', '.join(f'`{r}`' for r in alias.registers)} "
                          f"| {alias.description} |"]
            lines += [""]
        lines += ["| offset | register | bits | access | reset | description |", "|---|---|---|---|---|---|"]
        for register in self.registers:
            place = f"`0x{register.offset:03x}`"
            if register.count > 1:
                place += f" + {register.stride} * i, i < {register.count}"
            lines += [f"| {place} | **`{register.name}`** | 31:0 | {register.access} | `0x{register.reset:x}` "
                      f"| {register.description} |"]
            for part in register.fields:
                bits = f"{part.lsb + part.width - 1}:{part.lsb}" if part.width > 1 else f"{part.lsb}"
                named = "".join(f" `{value}` = {number}." for value, number in part.values.items())
                lines += [f"| | `{part.name}` | {bits} | | `0x{part.reset:x}` | {part.description}{named} |"]
        return "\n".join(lines) + "\n"
