"""The character FIFO of both directions, and at depth one the holding register of a 16450."""

from litex.gen import LiteXModule
from migen import If, Memory, Mux, Signal

from hw.common.memory import block_ram


class CharacterFifo(LiteXModule):
    """FIFO whose head can be read in the same cycle, with the 16550's two ways to overrun.

    Full, it drops what is pushed and keeps what it holds. With `single` set it holds one character, and a push replaces
    that. Either way `lost` pulses, and a push that comes with a pop loses nothing.

    width: bits of an entry. depth: its capacity in entries, a power of two; `limit` may make it hold fewer.
    """
    def __init__(self, width, depth):
        self.limit  = Signal(max=depth + 1, reset=depth)  # i: entries it holds; change it only together with `clear`
        self.single = Signal()       # i: be a holding register; change it only together with `clear`
        self.clear  = Signal()       # i: drop everything; stronger than push and pop
        self.push   = Signal()       # i: pulse: enter `data`
        self.data   = Signal(width)  # i: the new entry
        self.pop    = Signal()       # i: pulse: drop the head; nothing happens when empty
        self.head   = Signal(width)  # o: the oldest entry; meaningful while `count` is not 0
        self.count  = Signal(max=depth + 1)  # o: entries held
        self.lost    = Signal()      # o: pulse: an entry was lost
        self.arrived = Signal()      # o: pulse: `head` is an entry that was not the head in the cycle before

        # # #

        # A memory of one word has no address bits: depth one uses one of two.
        memory = block_ram(Memory(width, max(depth, 2)))  # not an attribute: LiteX would put it on the CSR bus
        write_port = memory.get_port(write_capable=True)
        read_port  = memory.get_port()  # reads the next head, and what is being written to it
        self.specials += memory, write_port, read_port

        produce = Signal.like(write_port.adr)
        consume = Signal.like(read_port.adr)
        ahead   = Signal.like(consume)  # `consume` a cycle on, but after `clear`
        full    = Signal()
        popping = Signal()
        adding  = Signal()
        replacing = Signal()

        self.comb += [
            full.eq(Mux(self.single, self.count != 0, self.count == self.limit)),
            popping.eq(self.pop & (self.count != 0)),
            self.lost.eq(self.push & full & ~popping & ~self.clear),
            adding.eq(self.push & (~full | popping)),
            replacing.eq(self.lost & self.single),

            write_port.adr.eq(Mux(replacing, consume, produce)),
            write_port.dat_w.eq(self.data),
            write_port.we.eq(adding | replacing),
            ahead.eq(consume + popping),
            read_port.adr.eq(ahead),
            self.head.eq(read_port.dat_r),
        ]
        self.sync += [
            self.arrived.eq(replacing | (popping & (self.count > 1)) | (adding & (self.count == popping))),
            If(adding,
                produce.eq(produce + 1)
            ),
            consume.eq(ahead),
            If(adding & ~popping,
                self.count.eq(self.count + 1)
            ).Elif(popping & ~adding,
                self.count.eq(self.count - 1)
            ),
            If(self.clear,
                produce.eq(0),
                consume.eq(0),
                self.count.eq(0),
                self.arrived.eq(0)
            )
        ]
