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

    A frame is read whole before its first word leaves: memory may take its time. `done` strobes when a descriptor that
    asks for it is done with: its buffer has been read; `bad` when its length is none of a frame, or its
    buffer not in main RAM. A ring that leaves main RAM has no descriptors there."""
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
        self.info = info = stream.SyncFIFO([("length", LENGTH_BITS), ("words", 9), ("half", 1), ("shift", 1)],
                                           FIFO_FRAMES)

        # From memory --------------------------------------------------------------------------------------------------

        write, read, read_next = (Signal(max=FIFO_WORDS) for _ in range(3))
        room    = Signal(max=FIFO_WORDS)
        address = Signal(32)
        length  = Signal(16)
        notify  = Signal()
        error   = Signal()
        words   = Signal(14)
        asked, due = Signal(9), Signal(9)
        place   = Signal(29)       # of the descriptor, in words
        end     = Signal(29)       # of the buffer: its last word
        self.comb += [
            room.eq(read - write - 1),
            words.eq((address[:3] + length + 7) >> 3),
            place.eq(Cat(0, self.base[4:] + self.head)),
            end.eq(address[3:] + words - 1),
            port.rdata.ready.eq(1),
            fill.adr.eq(write),
            fill.dat_w.eq(port.rdata.data),
        ]
        self.fsm = fsm = FSM(reset_state="IDLE")
        self.comb += self.busy.eq(info.source.valid | ~fsm.ongoing("IDLE"))
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
            NextValue(asked, words),
            NextValue(due, words),
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
        self.comb += [
            info.sink.length.eq(length),
            info.sink.words.eq(words),
            info.sink.half.eq(address[2]),
            info.sink.shift.eq(address[1]),
        ]
        write_status(fsm, port, place, Cat(length, Signal(14), error, 1), [
            NextValue(self.head, (self.head + 1) & self.mask),
            self.done.eq(notify),
        ])
        self.sync += If(~self.enable & fsm.ongoing("IDLE"), self.head.eq(0))

        # To the MAC: words of 32 bits from any even address on --------------------------------------------------------

        self.crc      = crc      = BufferizeEndpoints({"sink": DIR_SINK})(
            LiteEthMACCRC32Inserter(eth_phy_description(32)))
        self.preamble = preamble = LiteEthMACPreambleInserter(32)
        self.pipeline = stream.Pipeline(crc, preamble, self.source)

        # Short frames are padded here: LiteEth's padding counts on behind a frame of 57 to 59 bytes, and the next
        # leaves too short.
        out     = stream.Endpoint(eth_phy_description(32))
        self.comb += out.connect(crc.sink)
        half    = Signal()
        held    = Signal(16)
        left    = Signal(LENGTH_BITS)   # bytes to send,
        own     = Signal(LENGTH_BITS)   # and those of them that are in the buffer
        begin   = Signal(max=FIFO_WORDS)
        now     = Signal(32)
        word    = Signal(32)
        takes, ends = Signal(), Signal()
        kept    = Signal(32)     # the bits of the word that are the frame's
        self.comb += [
            look.adr.eq(read_next),
            now.eq(Mux(half, look.dat_r[32:], look.dat_r[:32])),
            word.eq(Mux(info.source.shift, Cat(held, now[:16]), now)),
            kept.eq(Mux(own >= 4, 0xffff_ffff, Array([0, 0xff, 0xffff, 0xff_ffff])[own[:2]])),
            out.data.eq(word & kept),
            out.last.eq(left <= 4),
            If(out.last, out.last_be.eq(Array([8, 1, 2, 4])[left[:2]])),
            If(ends,
                read_next.eq(begin + info.source.words)
            ).Else(
                read_next.eq(read + (takes & half))
            ),
        ]
        self.sync += [
            read.eq(read_next),
            If(takes,
                half.eq(~half),
                held.eq(now[16:])
            ),
        ]
        self.sender = sender = FSM(reset_state="IDLE")
        sender.act("IDLE",
            NextValue(half, info.source.half),
            NextValue(left, Mux(info.source.length < MIN_BYTES, MIN_BYTES, info.source.length)),
            NextValue(own, info.source.length),
            NextValue(begin, read),
            If(info.source.valid, NextState("PRIME"))
        )
        sender.act("PRIME",
            If(info.source.shift, takes.eq(1)),
            NextState("SEND")
        )
        sender.act("SEND",
            out.valid.eq(1),
            If(out.ready,
                takes.eq(1),
                NextValue(left, left - 4),
                NextValue(own, Mux(own >= 4, own - 4, 0)),
                If(out.last,
                    ends.eq(1),
                    info.source.ready.eq(1),
                    NextState("IDLE")
                )
            )
        )
