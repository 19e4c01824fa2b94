"""A register each way between the harts and the bus they share, for clock rate."""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import If, Signal


class BusRegister(LiteXModule):
    """What `master` (a Wishbone slave here) is asked goes out on `bus` a cycle later, and the answer comes back a cycle
    after it came. So every access takes two cycles more, and no path leads from a hart's bus through a device and back.

    In simulation these paths cost nothing, so only boards have it."""
    def __init__(self, master):
        self.bus = bus = wishbone.Interface(data_width=master.data_width, address_width=master.address_width,
                                            addressing=master.addressing)

        # # #

        answered = Signal()
        self.comb += answered.eq(bus.ack | bus.err)
        self.sync += [
            master.ack.eq(0),
            master.err.eq(0),
            If(bus.cyc,
                If(answered,
                    bus.cyc.eq(0),
                    bus.stb.eq(0),
                    master.ack.eq(bus.ack),
                    master.err.eq(bus.err),
                    master.dat_r.eq(bus.dat_r)
                )
            ).Elif(master.cyc & master.stb & ~master.ack & ~master.err,
                bus.cyc.eq(1),
                bus.stb.eq(1),
                bus.we.eq(master.we),
                bus.adr.eq(master.adr),
                bus.sel.eq(master.sel),
                bus.dat_w.eq(master.dat_w)
            ),
        ]
