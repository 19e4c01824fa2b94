"""Two chips as the tests build them: the link and the wires' near end, and the controller's on a clock of its own.

The wires between them can be disturbed: a bit of `flip` changes a wire, one of `cut` holds it low, `loop` leads the
near chip's wires back to itself. Bits count from the near chip's strobe and data on to the far one's.
"""

import random
from operator import itemgetter

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import Timer
from litex.gen import LiteXModule
from migen import Cat, ClockDomain, ClockDomainsRenamer, If, Signal

from hw.common.csr import csr_registers
from hw.pic.pins import Pads, PICChip, PinLink, RemotePIC
from tests.hw import bench
from tests.hw.pic_dut import Pic

CLOCK_HZ = 50_000_000
NEAR_PS = 1000 * bench.PERIOD_NS


def build(harts, lanes=3, symbol_cycles=4, far_harts=None):
    """The module and its ports: those of pic_dut.build, the other chip's clock and reset, and the wires'."""
    top = LiteXModule()
    near, far = Pads(lanes, "near"), Pads(lanes, "far")
    top.cd_pic = ClockDomain("pic")
    top.link = link = PinLink(harts)
    top.pic = pic = RemotePIC(link, near, symbol_cycles)
    top.chip = chip = ClockDomainsRenamer("pic")(PICChip(far_harts or harts, far, CLOCK_HZ, symbol_cycles))
    top.bank = bench.CsrBank(link, pic, bridged=True)
    wires, flip, cut = (Signal(2 * (lanes + 1)) for _ in range(3))
    loop = Signal()
    top.comb += [
        wires.eq((Cat(near.tx_strobe, near.tx_data, far.tx_strobe, far.tx_data) ^ flip) & ~cut),
        Cat(far.rx_strobe, far.rx_data, near.rx_strobe, near.rx_data).eq(wires),
        If(loop,
            Cat(near.rx_strobe, near.rx_data).eq(Cat(near.tx_strobe, near.tx_data))
        ),
    ]
    return top, {"sources": pic.sources, "irq": link.irq, "counters": pic.counters_bus, "csr": top.bank.bus,
                 "wide": top.bank.wishbone,
                 "pic_clk": top.cd_pic.clk, "pic_rst": top.cd_pic.rst, "flip": flip, "cut": cut, "loop": loop,
                 "joined": chip.joined, **{f"port{h}": port for h, port in enumerate(link.ports)}}


class PinPic(Pic):
    """A running pair of chips. `await PinPic.start(dut, harts)` resets both."""

    far_clock = None

    @classmethod
    async def start(cls, dut, harts, period_ps=NEAR_PS, phase_ps=NEAR_PS // 4, cut=0, loop=0, lanes=3, **csrs):
        """`period_ps` and `phase_ps`: of the far chip's clock."""
        if cls.far_clock:
            cls.far_clock.stop()    # of a start before in the same test
        self = cls()
        self.dut = dut
        dut.flip.value = 0
        dut.cut.value = cut
        dut.loop.value = loop
        dut.pic_rst.value = 1
        await Timer(phase_ps, "ps")
        cls.far_clock = Clock(dut.pic_clk, period_ps, unit="ps")
        cls.far_clock.start()
        await Timer(NEAR_PS - phase_ps, "ps")
        self.clock = await bench.start(dut, sources=0)
        dut.pic_rst.value = 0
        self.ports = [bench.HartPort(dut, f"port{h}", self.clock) for h in range(harts)]
        link = PinLink(harts)
        self.csr = bench.CsrBus(dut, self.clock, bench.csr_layout(link, RemotePIC(link, Pads(lanes))))
        self.bus = bench.WishboneBus(dut, "counters", self.clock)
        for name, value in csrs.items():
            await self.csr.write(name, value)
        return self

    async def state(self):
        """(joined, down, wrong)."""
        link = PinLink(1)
        status, = (register for register in csr_registers(RemotePIC(link, Pads(1)).get_csrs())
                   if register.name == "status")
        return itemgetter("joined", "down", "wrong")(status.unpack(await self.csr.read("status")))

    async def settle(self):
        """Wait until what happened to sources has reached the harts' interrupt wires: there, and back."""
        await self.clock.tick(800)

    def disturb(self, mean_cycles, seed=1):
        """From now on, single wires are wrong for a cycle or so, every `mean_cycles` cycles on average; returns the
        task, to be cancelled."""
        numbers = random.Random(seed)

        async def noise():
            while True:
                await Timer(numbers.randrange(1, 2 * mean_cycles * NEAR_PS), "ps")
                self.dut.flip.value = 1 << numbers.randrange(len(self.dut.flip))
                await Timer(numbers.randrange(NEAR_PS // 4, 2 * NEAR_PS), "ps")
                self.dut.flip.value = 0

        return cocotb.start_soon(noise())
