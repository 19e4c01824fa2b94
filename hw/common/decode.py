"""Hardware for a register map: from one declaration (hw/common/regmap.py) come the decoding of addresses, the
strobes of reads and writes, storage, and the values of reads."""

from typing import Any

from migen import Case, Cat, Constant, If, Record, Signal

from hw.common.regmap import Register, RegisterMap


def at(register: Register, word: Any) -> Any:
    """Whether `word`, an address in words, is that of the register, or of an element of it. The number and stride of an
    array have to be powers of two, and its offset a multiple of its size."""
    place = register.offset // 4
    if register.count == 1:
        return word == place
    within, number = register.stride // 4, register.count
    low, bits = within.bit_length() - 1, (number * within).bit_length() - 1
    assert (1 << low, 1 << bits) == (within, number * within), f"{register.name} is no array of a power of two"
    assert place >> bits << bits == place & ~(within - 1), f"{register.name} is not at a multiple of its size"
    high = word[bits:] == place >> bits
    return high if within == 1 else (word[:low] == place % within) & high


def index(register: Register, word: Any) -> Any:
    """The index of the array element at `word`."""
    low = (register.stride // 4).bit_length() - 1
    return word[low:low + (register.count - 1).bit_length()]


def fields_record(register: Register) -> Record:
    """A record of a register's fields, with their reset values. They have to be contiguous from bit 0."""
    record = Record([(part.name.lower(), part.width) for part in register.fields], name=register.name.lower())
    assert len(record) == register.fields[-1].lsb + register.fields[-1].width, f"{register.name} has gaps"
    for part in register.fields:
        getattr(record, part.name.lower()).reset = Constant(part.reset, part.width)
    return record


def packed(register: Register, *values: Any) -> Any:
    """A register's value from those of its fields, in the order of their declaration, or from one value if it has no
    fields."""
    if not register.fields:
        value, = values
        return value
    parts, bits = [], 0
    for part, value in zip(register.fields, values, strict=True):
        if part.lsb > bits:
            parts.append(Constant(0, part.lsb - bits))
        parts.append(Constant(value, part.width) if isinstance(value, int) else value)
        bits = part.lsb + (part.width if isinstance(value, int) else len(value))
        assert bits <= part.lsb + part.width, f"{register.name}.{part.name} has {part.width} bits"
        if bits < part.lsb + part.width:
            parts.append(Constant(0, part.lsb + part.width - bits))
            bits = part.lsb + part.width
    return parts[0] if len(parts) == 1 else Cat(*parts)


class Decoder:
    """The registers of a map at a bus of 32 bits.

    access: there is an access in this cycle. word: its address in words. write, select, data: it is a store, of these
    bytes of this. where: by a register's name, an additional condition for an access to be to it, where several share
    an offset."""

    def __init__(self, registers: RegisterMap, access: Any, word: Any, write: Any, select: Any, data: Any,
                 where: dict[str, Any] | None = None):
        self.registers, self.where = registers, where or {}
        self.access, self.word, self.write, self.select, self.data = access, word, write, select, data
        assert all(name in {register.name for register in registers.registers} for name in self.where)

    def here(self, name: str) -> Any:
        """Whether an access is to the register."""
        here = self.access & at(self.registers[name], self.word)
        return here & self.where[name] if name in self.where else here

    def reads(self, name: str) -> Any:
        """Whether it is read in this cycle. KeyError for one that cannot be read."""
        self.check(name, "wo", "read")
        return self.here(name) & ~self.write

    def writes(self, name: str) -> Any:
        """Whether it is written in this cycle, with all the bytes in which it has fields. KeyError for one that cannot
        be written."""
        self.check(name, "ro", "written")
        return self.here(name) & self.write & self.registers[name].stored(self.select)

    def check(self, name: str, access: str, what: str):
        if self.registers[name].access == access:
            raise KeyError(f"{self.registers.name}: {name} is not {what}")

    def field(self, name: str, field: str) -> Any:
        """The bits of a store that belong to a register's field."""
        return self.data[self.registers[name][field].bits]

    def value(self, name: str) -> Any:
        """The bits of a store that belong to the register, whose fields are contiguous from bit 0."""
        register = self.registers[name]
        return self.data[:register.mask.bit_length()]

    def given(self, into: Signal, **values: Any) -> Any:
        """The statement that puts the value that an access reads into `into`: `values` has each register that can be
        read, a value or a tuple of one for each field. Where several share an offset, the first one is read, unless
        `where` of another holds. ValueError if one is missing, or is too many."""
        readable = [register for register in self.registers.registers if register.access != "wo"]
        if wrong := {register.name for register in readable} ^ set(values):
            raise ValueError(f"{self.registers.name}: {', '.join(sorted(wrong))} cannot be read, or has no value")
        cases: dict[Any, Any] = {}
        for register in readable:
            value = values[register.name]
            statement = into.eq(packed(register, *(value if isinstance(value, tuple) else (value,))))
            place = register.offset // 4
            if place in cases:
                cases[place].append(If(self.where[register.name], statement))
            else:
                cases[place] = [statement]
        return Case(self.word, {**cases, "default": into.eq(0)})
