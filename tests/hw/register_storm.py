"""Any store to any register, at any time, of any bytes, while a core works: refused, ignored or effective as its README
says. The harness is here; a core's test says what its registers keep of a value, which stores would end the work on
purpose, and does the work.

    storm = Storm(clock, bus, REGISTERS.registers, seed=1, keeps={...}, harmless={...})
    await storm.among(work(storm), least=200)

`work` makes its own accesses by `storm.read` and `storm.write`, or holds `storm.lock` for several in a row."""

import random

import cocotb
from cocotb.triggers import Lock

from hw.common.memory import MAIN_RAM

PAUSES = (1, 1, 2, 3, 7, 40)     # cycles between two stores
ALL = 0xf


def odd_values(chance, register, ram_bytes):
    """A value for a register of hw/common/regmap.py: of its fields the least and the greatest, values beyond them,
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
    """The bytes of a store: a hart's words, half words and bytes, and combinations that no hart makes."""
    return chance.choice((0xf, 0xf, 0x1, 0x2, 0x4, 0x8, 0x3, 0xc, chance.randrange(16)))


class Storm:
    """The stores, and the values that reads of the registers must then return.

    bus: a master with `read(offset)` and `write(offset, value, bytes)`. lanes: of a register, the bytes that a store
    needs to take effect; for LiteX's CSRs all (`ALL`), which is the default where `whole` is set.
    keeps: by name, what a register that is read and written keeps of a stored value, a function of `(value, kept)`;
    None: the store is ignored. Else all bits of the value in fields.
    harmless: by name, what is stored instead of a value, so that the work goes on, a function of `(value, whole
    store)`; None: the register is left alone.
    on: by name, a function that is called with each value that is stored whole.
    unread: registers that are not read. steady: registers that are only read, and keep their reset value.
    often: registers that are chosen more often, once more for each time that they are here."""

    def __init__(self, clock, bus, registers, seed, ram_bytes=1 << 16, whole=False, keeps=None, harmless=None, on=None,
                 unread=(), steady=(), often=()):
        self.clock, self.bus, self.ram_bytes, self.whole = clock, bus, ram_bytes, whole
        self.chance = random.Random(seed)
        self.registers = {register.name: register for register in registers}
        self.keeps, self.harmless, self.on = keeps or {}, harmless or {}, on or {}
        self.lock = Lock()
        names = set(self.registers)
        assert names >= {*self.keeps, *self.harmless, *self.on, *unread, *steady}, "a register that there is not"
        self.kept = {name: register.reset for name, register in self.registers.items()
                     if name in steady or register.access == "rw" and name not in unread}
        self.choices = [*self.registers.values(), *(self.registers[name] for name in often)]
        self.stores = dict.fromkeys(self.registers, 0)

    def counts(self, register, select):
        """Whether a store of these bytes takes effect."""
        lanes = ALL if self.whole else register.lanes
        return select & lanes == lanes

    async def store(self, name, value, select=ALL):
        """A store; the caller holds the lock."""
        register = self.registers[name]
        if self.counts(register, select):
            if register.access == "rw" and name in self.kept:
                kept = self.keeps.get(name, lambda value, _: value)(value & register.mask, self.kept[name])
                if kept is not None:
                    self.kept[name] = kept
            if name in self.on:
                self.on[name](value & register.mask)
        await self.bus.write(register.offset, value, select)

    async def load(self, name):
        """A read; the caller holds the lock."""
        return await self.bus.read(self.registers[name].offset)

    async def write(self, name, value):
        async with self.lock:
            await self.store(name, value)

    async def read(self, name):
        async with self.lock:
            return await self.load(name)

    async def once(self):
        """A store that does not disturb the work, and a look."""
        register = self.chance.choice(self.choices)
        name, select = register.name, any_bytes(self.chance)
        value = odd_values(self.chance, register, self.ram_bytes)
        async with self.lock:
            if name in self.harmless:
                value = self.harmless[name](value, self.counts(register, select))
            if value is None:
                return
            await self.store(name, value, select)
            self.stores[name] += 1
            looked = self.chance.choice(list(self.kept))
            self.clock.equal(f"{looked} behind {value:#x} in {name}, bytes {select:#x}", await self.load(looked),
                             self.kept[looked])

    async def forever(self):
        while True:
            await self.clock.tick(self.chance.choice(PAUSES))
            await self.once()

    async def among(self, *works, least=200):
        """Store until all works, coroutines, are done; AssertionError unless there were so many stores, and some to
        each register."""
        stores = cocotb.start_soon(self.forever())
        tasks = [cocotb.start_soon(work) for work in works]
        while not all(task.done() for task in tasks):
            await self.clock.tick(20)
            self.clock.check(not stores.done(), "the stores have ended")
        async with self.lock:       # not within an access
            stores.cancel()
        for task in tasks:
            await task
        self.clock.check(sum(self.stores.values()) >= least, f"only {sum(self.stores.values())} stores")
        self.clock.check(all(self.stores.values()), f"no store to one of them: {self.stores}")


class CsrWrites:
    """Writes that reach the CSRs behind a `bridged` bench.CsrBank, seen at its bus: `now()` is the (name, value)
    of the write in this cycle, or None. The CSR has it in the next cycle."""

    def __init__(self, dut, csrs, prefix="seen"):
        self.we, self.adr, self.dat_w = (getattr(dut, f"{prefix}_{name}") for name in ("we", "adr", "dat_w"))
        self.names = {register.offset // 4: register for register in csrs}

    def now(self):
        if not self.we.value:
            return None
        register = self.names[int(self.adr.value)]
        return register.name, int(self.dat_w.value) & register.mask
