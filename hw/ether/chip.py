"""A PHY chip of LiteEth's at the core, in place of the simulator's wire (phy.py): LiteEth's conversion from its
clocks and width to the system's."""

from liteeth.common import eth_phy_description
from liteeth.mac.core import LiteEthMACCore
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import If, Signal
from migen.genlib.cdc import MultiReg


class ChipPHY(LiteXModule):
    """As hw.ether.phy.WirePHY for the core, at LiteEth's `phy`, whose clock domains are `eth_rx` and `eth_tx`.

    The wire's speed is the PHY's: `speed` has no effect. A PHY that does not report its link counts as linked. The loop
    is in the system's clock domain, before the chip's; it takes effect once no frame is under way, in or out."""
    dw = 32

    def __init__(self, phy):
        self.speed  = Signal(2)     # i
        self.loop   = Signal()      # i: sent frames come back, and do not leave
        self.link   = Signal()      # o
        self.sink   = sink   = stream.Endpoint(eth_phy_description(32))
        self.source = source = stream.Endpoint(eth_phy_description(32))
        self.sent   = Signal()      # o: a frame's last word left
        self.unsent = Signal()      # o: ... and there was no link

        # # #

        # Preamble and FCS are the core's, and so is padding.
        self.chip = chip = LiteEthMACCore(phy, 32, with_sys_datapath=True, with_preamble_crc=False, with_padding=False)
        carrier, last = Signal(reset=1), Signal()
        loops = Signal()                  # `loop`, in effect
        inside, comes = Signal(), Signal()
        status = getattr(getattr(phy, "rx", None), "inband_status", None)
        if status is not None:
            self.specials += MultiReg(status.fields.link_status, carrier)
        self.comb += [
            self.link.eq(carrier | loops),
            last.eq(sink.valid & sink.ready & sink.last),
            self.sent.eq(last & self.link),
            self.unsent.eq(last & ~self.link),
            If(loops,
                sink.connect(source, omit={"ready"}),
                sink.ready.eq(1),
                chip.source.ready.eq(1)
            ).Else(
                sink.connect(chip.sink),
                chip.source.connect(source, omit={"ready"}),
                chip.source.ready.eq(1)
            ),
        ]
        self.sync += [
            If(sink.valid & sink.ready,
                inside.eq(~sink.last)
            ),
            If(chip.source.valid,
                comes.eq(~chip.source.last)
            ),
            If(~inside & ~sink.valid & ~comes & ~chip.source.valid,
                loops.eq(self.loop)
            ),
        ]
