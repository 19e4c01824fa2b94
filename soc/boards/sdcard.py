"""LiteSDCard's pads behind registers, for clock rate."""

from types import SimpleNamespace

from litesdcard.phy import SDPHYIO
from migen import Record, Signal


def registered(io: type[SDPHYIO]) -> type[SDPHYIO]:
    """`io`, which connects LiteSDCard's PHY to its pads, with registers before and after the pads. The card gets its
    clock and the signals with it a cycle later, the PHY gets the answer, with its strobe, two cycles later; the PHY
    waits for the strobe, and so for any time.

    Reading works at every rate. Writing needs a card clock of 4 cycles or more in
    `sdcard_divider`: with 2, the end of the written data comes back when the PHY already looks for the card's answer to
    it.

    Without the registers there is a path from a pad through all of LiteSDCard to the pads again: a card that is no
    longer busy accepts the next byte, and CRC and DMA with it."""
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


class SimulatedPads(SDPHYIO):
    """Pads as an FPGA's, a register each way, for a card of soc.boards.sd_card; a line that nothing drives is high."""
    def __init__(self, clocker, sdpads, pads):
        drives_cmd, drives_data = Signal(), Signal()
        cmd, data = Signal(), Signal(4)
        self.sync += [
            pads.clk.eq(~clocker.clk),
            drives_cmd.eq(sdpads.cmd.oe),
            drives_data.eq(sdpads.data.oe),
            cmd.eq(sdpads.cmd.o),
            data.eq(sdpads.data.o),
            sdpads.cmd.i.eq(pads.cmd_i),
            sdpads.data.i.eq(pads.dat_i),
        ]
        self.comb += [
            pads.cmd_i.eq((cmd | ~drives_cmd) & (pads.cmd_o | pads.cmd_t)),
            *[pads.dat_i[n].eq((data[n] | ~drives_data) & (pads.dat_o[n] | pads.dat_t[n])) for n in range(4)],
        ]
        self.add_data_i_ce(clocker, sdpads)
