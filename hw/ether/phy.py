"""The wire's end in simulation: frames cross the pins in a burst, a word a cycle; the wire's time is counted beside.

So a frame on the wire costs no simulated activity but its burst: between bursts only `left` counts. A sent frame leaves
with its first bit; a received one comes with its last bit, which is when a MAC that checks it first has it.
"""

from liteeth.common import eth_interpacket_gap, eth_phy_description
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Case, Cat, If, Mux, Record, Signal

from hw.common.idle import Countdown

SPEEDS = (10_000_000, 100_000_000, 1_000_000_000)   # bit/s, by the number in `speed`
FRACTION_BITS = 16
LEFT_BITS = 24

pads_layout = [
    ("rx_valid", 1), ("rx_last", 1), ("rx_last_be", 4), ("rx_data", 32), ("link", 1),                  # i
    ("tx_valid", 1), ("tx_last", 1), ("tx_last_be", 4), ("tx_data", 32), ("speed", 2),                 # o
]


def byte_time(clock_hz, rate):
    """Cycles of a byte at `rate` bit/s, in units of 2^-FRACTION_BITS."""
    return round((8 * clock_hz << FRACTION_BITS) / rate)


def bytes_in(word):
    """The number of bytes in a word of a stream: an expression, 1 to 4."""
    return Mux(word.last & word.last_be[0], 1, Mux(word.last & word.last_be[1], 2,
               Mux(word.last & word.last_be[2], 3, 4)))


class WirePHY(LiteXModule):
    """A PHY of 32 bits for LiteEth's parts: `sink` to send, `source` for received data, which cannot be stalled.

    Preamble and FCS are among the bytes. A frame is accepted when the wire has carried the one before and the gap. One
    that comes while the link is lost ends there, as a PHY's carrier does: else the next one would be taken for the rest
    of it. One that leaves is `sent` if there was a link from its first word to its last; else no more of it crosses the
    pins. `loop` takes effect once no frame is under way, in or out."""
    dw = 32

    def __init__(self, clock_hz):
        self.pads    = Record(pads_layout)
        self.speed   = Signal(2, reset=1)
        self.loop    = Signal()      # i: sent frames come back, and nothing crosses the pins
        self.link    = Signal()      # o
        self.sink    = sink   = stream.Endpoint(eth_phy_description(32))
        self.source  = stream.Endpoint(eth_phy_description(32))
        self.sent    = Signal()      # o: a frame's last word left
        self.unsent  = Signal()      # o: ... and there was not a link all the time

        # # #

        self.takes = Signal()        # a word leaves
        self.loops = Signal()        # `loop`, in effect
        self.gone  = Signal()        # the link was lost during the frame that leaves
        self.inside = Signal()       # a frame is leaving
        self.comb += [
            self.link.eq(self.pads.link | self.loops),
            self.takes.eq(sink.valid & sink.ready),
            self.sent.eq(self.takes & sink.last & self.link & ~self.gone),
            self.unsent.eq(self.takes & sink.last & ~self.sent),
        ]
        self.add_time(clock_hz)
        self.add_pins()

    def add_time(self, clock_hz):
        """The wire's time: a whole word takes four steps, and after the last word comes the gap."""
        sink  = self.sink
        step  = Signal(LEFT_BITS + FRACTION_BITS)
        left  = Signal(LEFT_BITS)    # cycles until the wire is free
        part  = Signal(FRACTION_BITS)
        more, total = Signal(LEFT_BITS + FRACTION_BITS), Signal(LEFT_BITS + FRACTION_BITS)
        self.while_idle = [Countdown(left)]
        self.comb += [
            Case(self.speed, {n: step.eq(byte_time(clock_hz, rate)) for n, rate in enumerate(SPEEDS)}
                 | {"default": step.eq(byte_time(clock_hz, SPEEDS[-1]))}),
            sink.ready.eq(self.inside | (left == 0)),
            If(self.takes,
                If(sink.last,
                    Case(sink.last_be, {
                        **{1 << n: more.eq(step * (n + 1 + eth_interpacket_gap)) for n in range(4)},
                        "default": more.eq(step * (4 + eth_interpacket_gap))})
                ).Else(
                    more.eq(step << 2)
                )
            ),
            total.eq(Cat(part, left) + more),
        ]
        self.sync += If((total >> FRACTION_BITS) != 0,
            Cat(part, left).eq(total - (1 << FRACTION_BITS))
        ).Else(
            Cat(part, left).eq(total)
        )

    def add_pins(self):
        pads, sink, source, takes, inside, loops, gone = (
            self.pads, self.sink, self.source, self.takes, self.inside, self.loops, self.gone)
        comes, cut = Signal(), Signal()
        self.comb += [
            cut.eq(comes & ~pads.link),
            pads.tx_valid.eq(takes & pads.link & ~gone & ~loops),
            pads.tx_last.eq(sink.last),
            pads.tx_last_be.eq(sink.last_be),
            pads.tx_data.eq(sink.data),
            pads.speed.eq(self.speed),
            If(loops,
                source.valid.eq(takes),
                source.last.eq(sink.last),
                source.last_be.eq(sink.last_be),
                source.data.eq(sink.data)
            ).Else(
                source.valid.eq((pads.rx_valid & pads.link) | cut),
                source.last.eq(pads.rx_last | cut),
                source.last_be.eq(Mux(cut, 1, pads.rx_last_be)),
                source.data.eq(pads.rx_data)
            ),
        ]
        self.sync += [
            If(~inside & ~takes & ~comes & ~pads.rx_valid,
                loops.eq(self.loop)
            ),
            If(takes,
                inside.eq(~sink.last),
                gone.eq(~sink.last & (gone | ~self.link))
            ).Elif(inside & ~self.link,
                gone.eq(1)
            ),
            If(~pads.link,
                comes.eq(0)
            ).Elif(pads.rx_valid,
                comes.eq(~pads.rx_last)
            ),
        ]
