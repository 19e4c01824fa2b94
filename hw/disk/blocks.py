"""Blocks on their way to an SD card or from it, and the buffer that they are kept in."""

from litesdcard.common import SDCARD_STREAM_STATUS_TIMEOUT
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Cat, If, Memory, Mux, ResetInserter, Signal

from hw.common.memory import block_ram
from hw.disk.card import CRC_BYTES, FAULTS, crc
from hw.disk.medium import SECTOR_BYTES

BUFFER_WORDS = 1024         # as much as the controller's programmed I/O takes at once


class BlockBuffer(LiteXModule):
    """Words of 64 bits, for one direction at a time: data from the card is passed on once its block is found good."""
    def __init__(self):
        self.writing = writing = Signal()   # i: they are for the card
        self.puts    = puts    = Signal()   # i: `word` comes
        self.goes    = goes    = Signal()   # i: `first` goes
        self.keeps   = keeps   = Signal()   # i: the buffer's content may be passed on
        self.drops   = drops   = Signal()   # i: the rest of it is dropped
        self.clear   = clear   = Signal()   # i
        self.waits   = waits   = Signal()   # o: `first` has not gone
        self.empty   = empty   = Signal()   # o
        self.room    = room    = Signal(max=2 * BUFFER_WORDS)   # o: words that fit,
        self.ready   = ready   = Signal(max=2 * BUFFER_WORDS)   # o: and words that are in it

        # # #

        memory = block_ram(Memory(64, BUFFER_WORDS))
        fill   = memory.get_port(write_capable=True)
        head   = memory.get_port(has_re=True)
        self.specials += memory, fill, head
        self.word, self.first = fill.dat_w, head.dat_r
        written   = Signal(max=2 * BUFFER_WORDS)    # words ever, modulo
        given     = Signal(max=2 * BUFFER_WORDS)    # of them, those that may be passed on
        fetched   = Signal(max=2 * BUFFER_WORDS)
        fetches   = Signal()
        self.comb += [
            room.eq(BUFFER_WORDS - (written - fetched)),
            ready.eq(written - fetched + waits),
            empty.eq((written == fetched) & ~waits),
            fetches.eq((Mux(writing, written, given) != fetched) & (~waits | goes)),
            head.adr.eq(fetched),
            head.re.eq(fetches),
            fill.adr.eq(written),
            fill.we.eq(puts),
        ]
        self.sync += [
            If(puts, written.eq(written + 1)),
            If(fetches, fetched.eq(fetched + 1)),
            waits.eq(fetches | (waits & ~goes)),
            If(keeps, given.eq(written)),
            If(drops, written.eq(given)),
            If(clear,
                written.eq(0),
                given.eq(0),
                fetched.eq(0),
                waits.eq(0)
            ),
        ]


class Block(LiteXModule):
    """A block, to the card or from it, between the pins and the buffer.

    busy_cycles: the time-out for a busy card."""
    def __init__(self, pins, buffer, busy_cycles):
        self.begins = Signal()      # i: for a cycle: one is moved
        self.over   = Signal()      # o: it has been read, or written
        self.how    = Signal(3)     # o: FAULTS, except its CRC
        self.sums   = [Signal(16, name=f"crc16_{n}") for n in range(4)]      # o: of the lines, with their CRC
        self.came   = Signal()      # o: for a cycle, after one that was read

        # # #

        self.up   = ResetInserter()(stream.Converter(8, 64))
        self.down = ResetInserter()(stream.Converter(64, 8))
        self.receiving = Signal()
        self.sending   = Signal()
        self.place     = Signal(max=SECTOR_BYTES + CRC_BYTES)
        self.moves     = Signal()
        self.timer     = Signal(max=busy_cycles + 1)
        self.was_high  = Signal()        # the lines, before the block: without supply a card holds them low
        self.join(pins, buffer)
        self.follow(pins, buffer, busy_cycles)

    def join(self, pins, buffer):
        """Bytes between pins and converters, followed by the CRC."""
        byte, in_data, place, moves, up, down = Signal(8), Signal(), self.place, self.moves, self.up, self.down
        receiving, sending, sums, datar, dataw = self.receiving, self.sending, self.sums, pins.datar, pins.dataw
        self.comb += [
            in_data.eq(place < SECTOR_BYTES),
            up.reset.eq(self.begins | buffer.clear),
            down.reset.eq(self.begins | buffer.clear),
            datar.sink.valid.eq(receiving),
            datar.sink.block_length.eq(SECTOR_BYTES),
            datar.source.ready.eq(1),
            up.sink.data.eq(byte),
            up.source.ready.eq(1),
            down.sink.data.eq(buffer.first),
            If(receiving,
                byte.eq(datar.source.data),
                moves.eq(datar.source.valid & (datar.source.status != SDCARD_STREAM_STATUS_TIMEOUT)),
                up.sink.valid.eq(moves & in_data)
            ).Elif(sending,
                # The remainder leaves with each clock, line by line: adding it to itself leaves zeroes.
                byte.eq(Mux(in_data, down.source.data,
                            Cat(*(remainder[14] for remainder in sums), *(remainder[15] for remainder in sums)))),
                down.sink.valid.eq(buffer.waits),
                dataw.sink.valid.eq(~in_data | down.source.valid),
                dataw.sink.data.eq(byte),
                dataw.sink.last.eq(place == SECTOR_BYTES + CRC_BYTES - 1),
                moves.eq(dataw.sink.valid & dataw.sink.ready),
                down.source.ready.eq(dataw.sink.ready & in_data)
            ),
        ]
        self.sync += If(moves,
            place.eq(place + 1),
            *[remainder.eq(Cat(*crc(remainder, [byte[4 + n], byte[n]], 0x1021))) for n, remainder in enumerate(sums)]
        )

    def follow(self, pins, buffer, busy_cycles):
        """The block's end and its result."""
        place, moves, timer, was_high = self.place, self.moves, self.timer, self.was_high
        receiving, sending, over, how, datar, dataw = (self.receiving, self.sending, self.over, self.how, pins.datar,
                                                       pins.dataw)
        self.sync += [
            If(timer != 0,
                timer.eq(timer - 1)
            ),
            self.came.eq(0),
            If(pins.high, was_high.eq(1)),
            If(receiving & datar.source.valid,
                If((datar.source.status == SDCARD_STREAM_STATUS_TIMEOUT) | ~was_high,
                    how.eq(FAULTS["NO_DATA"])
                ),
                If(~moves | (place == SECTOR_BYTES + CRC_BYTES - 1),
                    receiving.eq(0),
                    over.eq(1),
                    self.came.eq(1)
                )
            ),
            If(sending,
                If(moves & dataw.sink.last,
                    sending.eq(0),
                    over.eq(1),
                    If(~dataw.status.fields.accepted, how.eq(FAULTS["NOT_WRITTEN"]))
                ).Elif(timer == 0,
                    sending.eq(0),
                    over.eq(1),
                    how.eq(FAULTS["BUSY"])
                )
            ),
            If(self.begins,
                place.eq(0),
                over.eq(0),
                was_high.eq(0),
                how.eq(FAULTS["NONE"]),
                timer.eq(busy_cycles),
                receiving.eq(~buffer.writing),
                sending.eq(buffer.writing),
                *[remainder.eq(0) for remainder in self.sums]
            ),
            If(pins.give_up,
                receiving.eq(0),
                sending.eq(0)
            ),
        ]
