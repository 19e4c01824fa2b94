"""LiteSDCard's pads behind registers, for clock rate."""

from types import SimpleNamespace

from litesdcard.phy import SDPHYIO
from migen import Record, Signal


def registered(io: type[SDPHYIO]) -> type[SDPHYIO]:
    """`io`, which joins LiteSDCard's PHY to its pads, with registers before and behind the pads. The card has its clock
    and all that goes with it a cycle later, the PHY has the answer, with the strobe that goes with it, two cycles
    later; the PHY waits for the strobe, and so for any time.

    Reading works at every rate. Who writes has to give the card's clock 4 cycles or more in
    `sdcard_phy_clocker_divider`: with 2, the end of what was written comes back when the PHY already looks for the
    card's answer to it.

    Without them there is a path from a pad through all of LiteSDCard to the pads again: the card that is no longer busy
    takes the next byte, and CRC and DMA with it."""
    class Registered(io):
        def __init__(self, clocker, sdpads, pads):
            outside = Record(sdpads.layout)
            late = SimpleNamespace(clk=Signal())
            super().__init__(late, outside, pads)

            # # #

            self.sync += [late.clk.eq(clocker.clk), sdpads.data_i_ce.eq(outside.data_i_ce)]
            for inner, outer in ((sdpads.cmd, outside.cmd), (sdpads.data, outside.data)):
                self.sync += [outer.o.eq(inner.o), outer.oe.eq(inner.oe), inner.i.eq(outer.i)]
    return Registered
