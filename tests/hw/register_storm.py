"""Stores that software ought not to make: to any register, of any bytes of it, with values at and beyond its fields."""

from hw.common.memory import MAIN_RAM


def odd_values(chance, register, ram_bytes):
    """A value for a register of hw/common/regmap.py: of its fields the least and the greatest, what is beyond them,
    addresses at main RAM's ends and far from it, or any."""
    fields = [part for part in register.fields] or [None]
    part = chance.choice(fields)
    low, width = (part.lsb, part.width) if part else (0, 32)
    field = chance.choice((0, 1, (1 << width) - 1, (1 << width) - 2, 1 << width - 1, chance.getrandbits(width)))
    beyond = chance.choice((0, 1 << low + width, 0xffff_ffff << low + width, chance.getrandbits(32) << low + width))
    addresses = (0, MAIN_RAM - 8, MAIN_RAM, MAIN_RAM + ram_bytes - 8, MAIN_RAM + ram_bytes, MAIN_RAM + 2 * ram_bytes,
                 MAIN_RAM | 0x2000_0000, 0xf000_0000, 0xffff_fff8)
    value = chance.choice((field << low | beyond, field << low, chance.getrandbits(32), chance.choice(addresses)))
    return value & 0xffff_ffff


def any_bytes(chance):
    """Which bytes a store has: as a hart's words, half words and bytes, and as no hart has them."""
    return chance.choice((0xf, 0xf, 0x1, 0x2, 0x4, 0x8, 0x3, 0xc, chance.randrange(16)))
