"""A stream's FIFO in block RAM."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import If, Memory, Signal

from hw.common.memory import block_ram


class BlockFIFO(LiteXModule):
    """As LiteX's stream.SyncFIFO, cycle for cycle, for payloads so wide that it would take many look-up tables.

    layout: of the payload; `first` and `last` are not carried. depth: its capacity in words, a power of two."""
    def __init__(self, layout, depth):
        self.sink   = stream.Endpoint(layout)
        self.source = stream.Endpoint(layout)
        self.level  = Signal(max=depth + 1)  # o: words held

        # # #

        memory = block_ram(Memory(len(self.sink.payload.raw_bits()), depth))
        fill = memory.get_port(write_capable=True)
        head = memory.get_port()  # reads the next head, and what is being written to it
        self.specials += memory, fill, head

        produce = Signal(max=depth)
        consume = Signal(max=depth)
        ahead   = Signal(max=depth)  # `consume` a cycle on
        adding  = Signal()
        taking  = Signal()
        self.comb += [
            self.sink.ready.eq(self.level != depth),
            self.source.valid.eq(self.level != 0),
            adding.eq(self.sink.valid & self.sink.ready),
            taking.eq(self.source.valid & self.source.ready),
            ahead.eq(consume + taking),
            fill.adr.eq(produce),
            fill.dat_w.eq(self.sink.payload.raw_bits()),
            fill.we.eq(adding),
            head.adr.eq(ahead),
            self.source.payload.raw_bits().eq(head.dat_r),
        ]
        self.sync += [
            consume.eq(ahead),
            If(adding,
                produce.eq(produce + 1)
            ),
            If(adding & ~taking,
                self.level.eq(self.level + 1)
            ).Elif(taking & ~adding,
                self.level.eq(self.level - 1)
            )
        ]
