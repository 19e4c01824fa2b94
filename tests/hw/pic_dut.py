"""The PIC behind its link as the tests build it, and the bench's view of it: ports, wires, CSRs and counters."""

from litex.gen import LiteXModule

from hw.pic import COUNTERS, REGISTERS, Link, OffChipPIC
from hw.pic.model import Counts
from hw.pic.registers import CONTEXT
from tests.hw import bench


def build(harts, late_accounting=False, **parameters):
    """The module and its ports: port<h>, sources, irq, counters, csr."""
    top = LiteXModule()
    top.link = link = Link(harts, **parameters)
    top.pic = pic = OffChipPIC(link, late_accounting=late_accounting)
    top.bank = bank = bench.CsrBank(link, pic, bridged=True)
    return top, {"sources": pic.sources, "irq": link.irq, "counters": pic.counters_bus, "csr": bank.bus,
                 "wide": bank.wishbone, "seen": bank.seen,
                 **{f"port{h}": port for h, port in enumerate(link.ports)}}


def offset(name, hart=None, index=0):
    """Byte offset of a register: the accessing hart's own, that of the context of `hart`, or element `index`."""
    base = REGISTERS.aliases[0].base + REGISTERS.aliases[0].stride * hart if hart is not None else 0
    assert hart is None or name in CONTEXT
    return base + REGISTERS[name].at(index)


class Pic:
    """A running PIC. `await Pic.start(dut, harts)` resets it and waits until it takes accesses."""

    @classmethod
    async def start(cls, dut, harts, **csrs):
        """Reset; then set the link's CSRs given by name."""
        self = cls()
        self.dut = dut
        self.clock = await bench.start(dut, sources=0)
        self.ports = [bench.HartPort(dut, f"port{h}", self.clock) for h in range(harts)]
        link = Link(harts)
        self.csr = bench.CsrBus(dut, self.clock, bench.csr_layout(link, OffChipPIC(link)))
        self.bus = bench.WishboneBus(dut, "counters", self.clock)
        await self.clock.tick(33)
        for name, value in csrs.items():
            await self.csr.write(name, value)
        return self

    async def read(self, name, hart=0, index=0):
        """Read a register through the port of `hart`; of a context, that hart's own."""
        return await self.ports[hart].read(offset(name, index=index))

    async def write(self, name, value, hart=0, index=0, mask=0xf):
        """Write a register through the port of `hart`; of a context, that hart's own."""
        await self.ports[hart].write(offset(name, index=index), value, mask)

    async def configure(self, source, priority, edge=False, route=0, to_any=False):
        """Set up a source; it still has to be enabled."""
        register = REGISTERS["SOURCE"]
        await self.write("SOURCE", register["PRIORITY"].put(priority) | register["EDGE"].put(int(edge))
                         | register["ROUTE"].put(route) | register["ANY"].put(int(to_any)), index=source)

    async def claim(self, hart=0):
        """Claim: the source's number, or None."""
        register = REGISTERS["CLAIM"]
        value = await self.read("CLAIM", hart)
        return None if register["NONE"].get(value) else register["SOURCE"].get(value)

    async def pulse(self, *sources):
        """A cycle in which the wires of the sources are up."""
        up = sum(1 << source for source in sources)
        self.dut.sources.value = int(self.dut.sources.value) | up
        await self.clock.tick()
        self.dut.sources.value = int(self.dut.sources.value) & ~up
        await self.clock.tick()

    async def settle(self):
        """Wait until what happened to sources has reached the harts' interrupt wires."""
        await self.clock.tick(3)

    def irq(self):
        """The interrupt wires of all harts in the cycle just ended, a mask."""
        return int(self.dut.irq.value)

    async def read_counters(self, source):
        """What the accounting shows of a source now: its model.Counts."""
        value = {register.name: await self.bus.read(register.at(source)) for register in COUNTERS.registers}
        return Counts(value["RISES"], value["DELIVERIES"], value["MERGED"], value["MAX_WAIT"],
                      value["TOTAL_WAIT_HIGH"] << 32 | value["TOTAL_WAIT_LOW"])

    async def counters(self, source):
        """What the accounting says of a source, once all is counted: its model.Counts."""
        await self.clock.tick(35)
        return await self.read_counters(source)
