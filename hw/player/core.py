"""Plays bytes from main RAM into a serial port, as the far end of its line would send them (manual: README.md)."""

from litex.gen import LiteXModule
from litex.soc.cores.dma import WishboneDMAReader
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Cat, If, Signal

FIFO_WORDS = 4
STOP_BIT = 9    # a character is a start bit, 8 data bits and this one
PAUSE    = 10   # no character: the next byte has not come


class LinePlayer(LiteXModule):
    """`bus` is a master of the coherent bus, of `data_width` bits; `clock_hz` is that of the system clock.

    Each edge is at the cycle nearest to its time since the first one, so no error adds up. They are those of the
    simulator's line (sim/harness/devices/serial.h): a port receives the same, to the cycle, from either."""
    def __init__(self, clock_hz, data_width=64):
        word = data_width // 8
        self.bus  = wishbone.Interface(data_width=data_width, address_width=32, addressing="word")
        self.go   = Signal()         # i: the receiver is ready: the line falls in the next cycle
        self.line = Signal(reset=1)  # o: to the port

        self.add_registers(word)

        # # #

        self.stops  = Signal()
        self.comb += self.stops.eq(self.run.re & ~self.run.storage)
        self.add_reader(data_width)
        self.add_bit_times(clock_hz)
        self.add_line()

    def add_registers(self, word):
        self.address = CSRStorage(32, description="Physical address of the first byte. The low "
            f"{word.bit_length() - 1} bits are taken as 0. It counts when `run` is written.")
        self.length = CSRStorage(32, description="Bytes, likewise; with 0, a write of `run` does nothing.")
        self.baud = CSRStorage(32, reset=115_200, description="Bit rate, bit/s, at most the clock's rate. To be "
            "changed while not `busy`: a change counts at once, within a bit.")
        self.run = CSRStorage(1, description="**A write of 1 reads the first bytes** and waits for the sign to begin; "
            "it is ignored while `busy`. A write of 0 stops: the line rises, and what was to come is left out.")
        self.ready = CSRStatus(description="1 while it waits for the sign to begin, and has the first byte; a sign "
            "that comes sooner is ignored.")
        self.busy = CSRStatus(description="1 from the write of 1 to `run` until all is played, or has been read after "
            "a stop.")
        self.played = CSRStatus(32, description="Bytes whose stop bit is over, since `run` was written 1.")
        self.late = CSRStatus(32, description="Bits for which the line stayed high since then, because main RAM had "
            "not given the next byte.")

    def add_reader(self, data_width):
        """Reads bytes ahead. A read is never aborted: what is not needed any more is read and dropped."""
        reading, drop = Signal(), Signal()
        base, length  = Signal(32), Signal(32)  # of the current read
        self.left    = Signal(32)  # bytes that have not begun
        self.playing = Signal()
        self.begins  = Signal()
        self.take    = Signal()
        self.reader = reader = WishboneDMAReader(self.bus, endianness="big", fifo_depth=FIFO_WORDS)  # as it is
        reader.add_ctrl()
        self.octets = octets = stream.Converter(data_width, 8)
        self.comb += [
            self.begins.eq(self.run.re & self.run.storage & ~self.busy.status & (self.length.storage != 0)),
            reader.base.eq(base),
            reader.length.eq(length),
            reader.enable.eq(reading),
            reader.source.connect(octets.sink),
            octets.source.ready.eq(self.take | drop),
            self.busy.status.eq(reading | self.playing),
        ]
        self.sync += [
            If(reading & (self.left == 0),
                drop.eq(1)
            ),
            If(drop & reader.done & ~octets.source.valid,
                reading.eq(0)
            ),
            If(self.stops,
                drop.eq(1)
            ),
            If(self.begins,
                reading.eq(1),
                drop.eq(0),
                base.eq(self.address.storage),
                length.eq(self.length.storage + data_width // 8 - 1)  # of whole words
            ),
        ]

    def add_bit_times(self, clock_hz):
        """`phase` grows by `baud` a cycle and loses `clock_hz` with each edge, where it is not negative."""
        width = clock_hz.bit_length() + 2
        self.phase = Signal((width, True))
        self.step  = Signal((width, True))   # of a cycle with an edge
        self.first = Signal((width, True))   # in the first cycle: half a cycle is added, which rounds to the nearest
        self.edge  = Signal()
        self.slope = self.baud.storage[:width - 1]
        self.comb += self.edge.eq(~self.phase[-1])
        self.sync += [
            self.step.eq(self.slope - clock_hz),
            self.first.eq(self.step + ((self.slope - 1) >> 1)),
        ]

    def add_line(self):
        left, playing, take, edge, octets = self.left, self.playing, self.take, self.edge, self.octets
        waiting = Signal()  # for the sign
        starts  = Signal()
        over    = Signal()  # the previous character has ended, so that one may begin
        bit     = Signal(max=PAUSE + 1)
        shift   = Signal(8)
        self.comb += [
            self.ready.status.eq(waiting & octets.source.valid),
            starts.eq(self.ready.status & self.go),
            over.eq(playing & edge & (bit >= STOP_BIT)),
            take.eq(starts | (over & (left != 0) & octets.source.valid)),
        ]
        self.sync += [
            self.phase.eq(self.phase + self.slope),
            If(edge,
                self.phase.eq(self.phase + self.step)
            ),
            If(playing & edge & (bit != PAUSE),
                bit.eq(bit + 1),
                Cat(self.line, shift).eq(Cat(shift, 1)),
                If(bit == STOP_BIT,
                    self.played.status.eq(self.played.status + 1)
                )
            ),
            If(over & ~take,
                If(left == 0,
                    playing.eq(0)
                ).Else(
                    self.late.status.eq(self.late.status + 1)
                )
            ),
            If(starts,
                waiting.eq(0),
                playing.eq(1),
                self.phase.eq(self.first)
            ),
            If(take,
                bit.eq(0),
                Cat(self.line, shift).eq(Cat(0, octets.source.data)),
                left.eq(left - 1)
            ),
            If(self.stops,
                waiting.eq(0),
                playing.eq(0),
                self.line.eq(1)
            ),
            If(self.begins,
                waiting.eq(1),
                left.eq(self.length.storage),
                self.played.status.eq(0),
                self.late.status.eq(0)
            ),
        ]
