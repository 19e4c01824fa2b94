"""Frames from buffers in main RAM to the wire: descriptor, data into a queue, padding, FCS, preamble."""

from liteeth.common import eth_phy_description
from liteeth.mac.crc import LiteEthMACCRC32Inserter
from liteeth.mac.preamble import LiteEthMACPreambleInserter
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.stream import DIR_SINK, BufferizeEndpoints
from migen import READ_FIRST, Array, Cat, If, Memory, Mux, Signal
from migen.genlib.fsm import FSM, NextState, NextValue

from hw.common.memory import in_main_ram
from hw.ether.descriptor import write_status
from hw.ether.receive import LENGTH_BITS, MAX_BYTES, MIN_BYTES

FIFO_WORDS = 512
FIFO_FRAMES = 32
ERROR_BIT = 30           # of the status in a descriptor, beside DONE_BIT
INTERRUPT_BIT = 63       # of a descriptor's first word


class Transmitter(LiteXModule):
    """`port` is a LiteDRAM native port of its own, of `ram_bytes` of main RAM; `source` goes to the PHY.

    A frame is read whole before its first word leaves, so that memory may be slow. `done` strobes when a descriptor
    that requests it is done: its buffer has been read; `bad` when its length is invalid, or its buffer not in main RAM.
    A ring that extends beyond main RAM has no descriptors there."""
    def __init__(self, port, ram_bytes):
        self.source = stream.Endpoint(eth_phy_description(32))
        self.enable = Signal()
        self.base   = Signal(32)
        self.tail   = Signal(10)
        self.head   = Signal(10)
        self.mask   = Signal(10)
        self.busy   = Signal()
        self.done   = Signal()
        self.bad    = Signal()

        # # #

        memory = Memory(64, FIFO_WORDS)
        fill, look = memory.get_port(write_capable=True), memory.get_port(mode=READ_FIRST)
        self.specials += memory, fill, look
        self.info    = stream.SyncFIFO([("length", LENGTH_BITS), ("words", 9), ("half", 1), ("shift", 1)], FIFO_FRAMES)
        self.read    = Signal(max=FIFO_WORDS)   # the first buffered word that has not left
        self.fsm     = FSM(reset_state="IDLE")
        self.address = Signal(32)               # of the buffer,
        self.length  = Signal(16)               # bytes in it,
        self.words   = Signal(14)               # and words of memory that it touches
        self.add_fetch(port, ram_bytes)
        self.add_data(port, fill)
        self.comb += self.busy.eq(self.info.source.valid | ~self.fsm.ongoing("IDLE"))
        self.sync += If(~self.enable & self.fsm.ongoing("IDLE"), self.head.eq(0))

        # LiteEth's MAC. Short frames are padded before it: its padding keeps counting after a frame of 57 to 59 bytes,
        # and the next leaves too short.
        self.crc      = BufferizeEndpoints({"sink": DIR_SINK})(LiteEthMACCRC32Inserter(eth_phy_description(32)))
        self.preamble = LiteEthMACPreambleInserter(32)
        self.pipeline = stream.Pipeline(self.crc, self.preamble, self.source)
        self.out      = stream.Endpoint(eth_phy_description(32))
        self.comb += self.out.connect(self.crc.sink)
        self.takes    = Signal()                # the next half of a word is used,
        self.ends     = Signal()                # or the rest of the frame
        self.left     = Signal(LENGTH_BITS)     # bytes to send,
        self.own      = Signal(LENGTH_BITS)     # and those of them that are in the buffer
        self.half     = Signal()
        self.begin    = Signal(max=FIFO_WORDS)
        self.add_words(look)
        self.add_sender()

    def add_fetch(self, port, ram_bytes):
        """Fetches the next descriptor."""
        fsm, address, length, words, info = self.fsm, self.address, self.length, self.words, self.info
        self.place = place = Signal(29)     # of the descriptor, in words
        self.notify = notify = Signal()
        self.error = error = Signal()
        self.room = room = Signal(max=FIFO_WORDS)
        end = Signal(29)                    # of the buffer: its last word
        self.comb += [
            words.eq((address[:3] + length + 7) >> 3),
            place.eq(Cat(0, self.base[4:] + self.head)),
            end.eq(address[3:] + words - 1),
            port.rdata.ready.eq(1),
        ]
        fsm.act("IDLE",
            If(self.enable & (self.head != self.tail) & in_main_ram(place, ram_bytes), NextState("FETCH"))
        )
        fsm.act("FETCH",
            port.cmd.valid.eq(1),
            port.cmd.addr.eq(place),
            If(port.cmd.ready, NextState("WAIT"))
        )
        fsm.act("WAIT",
            If(port.rdata.valid,
                NextValue(address, Cat(0, port.rdata.data[1:32])),
                NextValue(length, port.rdata.data[32:48]),
                NextValue(notify, port.rdata.data[INTERRUPT_BIT]),
                NextState("CHECK")
            )
        )
        fsm.act("CHECK",
            NextValue(error, 0),
            If((length == 0) | (length > MAX_BYTES) | ~in_main_ram(address[3:], ram_bytes)
                    | ~in_main_ram(end, ram_bytes),
                NextValue(error, 1),
                self.bad.eq(1),
                NextState("STATUS")
            ).Elif((room >= words) & info.sink.ready,
                NextState("DATA")
            )
        )

    def add_data(self, port, fill):
        """Buffers its frame until it is whole; then, or if it is none, its result is written."""
        fsm, address, length, words, info = self.fsm, self.address, self.length, self.words, self.info
        write = Signal(max=FIFO_WORDS)
        asked, due = Signal(9), Signal(9)
        self.comb += [
            self.room.eq(self.read - write - 1),
            fill.adr.eq(write),
            fill.dat_w.eq(port.rdata.data),
            info.sink.length.eq(length),
            info.sink.words.eq(words),
            info.sink.half.eq(address[2]),
            info.sink.shift.eq(address[1]),
        ]
        fsm.act("CHECK",
            NextValue(asked, words),
            NextValue(due, words)
        )
        fsm.act("DATA",
            port.cmd.valid.eq(asked != 0),
            port.cmd.addr.eq(address[3:] + (words - asked)),
            If(port.cmd.valid & port.cmd.ready, NextValue(asked, asked - 1)),
            If(port.rdata.valid,
                fill.we.eq(1),
                NextValue(write, write + 1),
                NextValue(due, due - 1),
                If(due == 1, NextState("KEEP"))
            )
        )
        fsm.act("KEEP",
            info.sink.valid.eq(1),
            NextState("STATUS")
        )
        write_status(fsm, port, self.place, Cat(length, Signal(14), self.error, 1), [
            NextValue(self.head, (self.head + 1) & self.mask),
            self.done.eq(self.notify),
        ])

    def add_words(self, look):
        """To the MAC: words of 32 bits from any even address on, a short frame padded with zeroes."""
        info, out, half, left, own = self.info, self.out, self.half, self.left, self.own
        read_next = Signal(max=FIFO_WORDS)
        held = Signal(16)
        now  = Signal(32)
        word = Signal(32)
        kept = Signal(32)     # the bits of the word that belong to the frame
        self.comb += [
            look.adr.eq(read_next),
            now.eq(Mux(half, look.dat_r[32:], look.dat_r[:32])),
            word.eq(Mux(info.source.shift, Cat(held, now[:16]), now)),
            kept.eq(Mux(own >= 4, 0xffff_ffff, Array([0, 0xff, 0xffff, 0xff_ffff])[own[:2]])),
            out.data.eq(word & kept),
            out.last.eq(left <= 4),
            If(out.last, out.last_be.eq(Array([8, 1, 2, 4])[left[:2]])),
            If(self.ends,
                read_next.eq(self.begin + info.source.words)
            ).Else(
                read_next.eq(self.read + (self.takes & half))
            ),
        ]
        self.sync += [
            self.read.eq(read_next),
            If(self.takes,
                half.eq(~half),
                held.eq(now[16:])
            ),
        ]

    def add_sender(self):
        info, out, left, own = self.info, self.out, self.left, self.own
        self.sender = sender = FSM(reset_state="IDLE")
        sender.act("IDLE",
            NextValue(self.half, info.source.half),
            NextValue(left, Mux(info.source.length < MIN_BYTES, MIN_BYTES, info.source.length)),
            NextValue(own, info.source.length),
            NextValue(self.begin, self.read),
            If(info.source.valid, NextState("PRIME"))
        )
        sender.act("PRIME",
            If(info.source.shift, self.takes.eq(1)),
            NextState("SEND")
        )
        sender.act("SEND",
            out.valid.eq(1),
            If(out.ready,
                self.takes.eq(1),
                NextValue(left, left - 4),
                NextValue(own, Mux(own >= 4, own - 4, 0)),
                If(out.last,
                    self.ends.eq(1),
                    info.source.ready.eq(1),
                    NextState("IDLE")
                )
            )
        )
