"""LiteSDCard's pads behind registers, for clock rate."""

from litesdcard.phy import SDPHYIO
from migen import Record


def registered(io: type[SDPHYIO]) -> type[SDPHYIO]:
    """`io`, which joins LiteSDCard's PHY to its pads, with a register behind the pads. What the card answers is seen a
    cycle later, with the strobe that goes with it; the PHY waits for the strobe, and so for any time.

    Without it there is a path from a pad through all of LiteSDCard to the pads again: the card that is no longer busy
    takes the next byte, and CRC and DMA with it."""
    class Registered(io):
        def __init__(self, clocker, sdpads, pads):
            outside = Record(sdpads.layout)
            super().__init__(clocker, outside, pads)

            # # #

            self.comb += outside.clk.eq(sdpads.clk)
            self.sync += sdpads.data_i_ce.eq(outside.data_i_ce)
            for inner, outer in ((sdpads.cmd, outside.cmd), (sdpads.data, outside.data)):
                self.comb += [outer.o.eq(inner.o), outer.oe.eq(inner.oe)]
                self.sync += inner.i.eq(outer.i)
    return Registered
