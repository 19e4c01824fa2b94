"""Moves data between drive and memory as requests in a ring say, and answers in another (README.md)."""

from litedram.common import LiteDRAMNativePort
from litedram.frontend.dma import LiteDRAMDMAReader, LiteDRAMDMAWriter
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import FSM, Array, Case, Cat, Constant, If, Memory, Mux, NextState, NextValue, Record, ResetInserter, Signal

from hw.common.memory import MAIN_RAM, in_main_ram
from hw.disk.medium import ANSWER, ANSWERS, DATA, SECTOR_WORDS, STATUSES, TAGS, operation
from hw.disk.registers import CLUSTER_SECTORS, MOST_ENTRIES_LOG2, RESET_ENTRIES_LOG2

REQUEST_WORDS = 4          # of 64 bits in a request, of which the last is software's
READ_WORDS = 3
IN_WORDS = 64              # from the drive, on their way to memory
ANSWERS_AHEAD = 4
READ_AHEAD = 64            # from memory, on their way to the drive
RESET_CYCLES = 8           # until what was on its way from the drive has come, and is thrown away
SLOT = [("pointer", 29), ("segments", 16), ("address", 27), ("words", 29), ("bad", 1)]   # of a request under way


class Engine(LiteXModule):
    """The rings' side of the controller, and all that speaks with the drive.

    port: a native port of memory with `busy` (hw/cpu, "Device ports"), addressed in words from the start of main RAM.
    ram_bytes: of main RAM, a power of two. medium: hw.disk.medium.Medium. pio: hw.disk.pio.ProgrammedIO."""
    def __init__(self, port, ram_bytes, medium, pio):
        self.sq_base = Signal(32)
        self.cq_base = Signal(32)
        self.log2    = Signal(4, reset=RESET_ENTRIES_LOG2)
        self.sq_tail = Signal(16)
        self.sq_head = Signal(16)
        self.cq_head = Signal(16)
        self.cq_tail = Signal(16)
        self.refused = Signal(32)
        self.stray   = Signal(32)
        self.count   = Signal(16)    # i: written
        self.enters  = Signal()      # ... as the tail of the requests,
        self.takes   = Signal()      # ... as the head of the completions
        self.running = Signal()      # o: requests have been entered: the rings stay where they are
        self.reset   = Signal()      # i: for a cycle
        self.resetting = Signal()

        # # #

        # The port: one of the two engines at a time asks for something ------------------------------------------------

        def port_like():
            return LiteDRAMNativePort("both", address_width=port.address_width, data_width=port.data_width)

        to_write, to_read = port_like(), port_like()
        self.writer = writer = LiteDRAMDMAWriter(to_write, fifo_depth=16)
        self.reader = reader = LiteDRAMDMAReader(to_read, fifo_depth=READ_AHEAD)
        self.comb += [
            port.cmd.valid.eq(to_write.cmd.valid | to_read.cmd.valid),
            port.cmd.we.eq(to_write.cmd.valid),
            port.cmd.addr.eq(Mux(to_write.cmd.valid, to_write.cmd.addr, to_read.cmd.addr)),
            to_write.cmd.ready.eq(port.cmd.ready),
            to_read.cmd.ready.eq(port.cmd.ready & ~to_write.cmd.valid),
            port.wdata.valid.eq(to_write.wdata.valid),
            port.wdata.data.eq(to_write.wdata.data),
            port.wdata.we.eq(to_write.wdata.we),
            to_write.wdata.ready.eq(port.wdata.ready),
            to_read.rdata.valid.eq(port.rdata.valid),
            to_read.rdata.data.eq(port.rdata.data),
            port.rdata.ready.eq(1),
        ]

        # What the drive sends -----------------------------------------------------------------------------------------

        self.in_fifo = in_fifo = ResetInserter()(stream.SyncFIFO(DATA, IN_WORDS))
        self.answers = answers = ResetInserter()(stream.SyncFIFO(ANSWER, ANSWERS_AHEAD))
        answer = answers.source
        self.comb += [
            medium.data_in.connect(in_fifo.sink),
            medium.answer.connect(answers.sink),
            in_fifo.reset.eq(self.resetting),
            answers.reset.eq(self.resetting),
            medium.reset.eq(self.reset),
        ]

        # Requests under way -------------------------------------------------------------------------------------------

        slots  = Memory(sum(width for _, width in SLOT), TAGS)
        lookup = slots.get_port(async_read=True)
        update = slots.get_port(write_capable=True)
        self.specials += slots, lookup, update
        in_use = Signal(TAGS)

        tag      = Signal(5)
        pointer  = Signal(29)     # of the next segment's entry, in words of 64 bits
        segments = Signal(16)     # after the one under way
        address  = Signal(27)     # in it, in words from the start of main RAM
        words    = Signal(29)     # left of it
        bad      = Signal()       # the segments were too few, or outside of main RAM
        state    = Cat(pointer, segments, address, words, bad)
        loaded   = Record(SLOT, name="loaded")
        left     = Signal(16)     # words of the drive's
        inwards  = Signal()
        pending  = Signal(max=READ_AHEAD + 1)   # words of data that were asked of memory for the drive
        kept     = Signal()       # the answer is of a request that is in use
        known    = Signal()
        position = Signal(max=CLUSTER_SECTORS * SECTOR_WORDS + 1)       # in the buffer of programmed I/O
        follows  = Signal()       # its word is that of the cycle before

        self.comb += [
            lookup.adr.eq(answer.tag),
            loaded.raw_bits().eq(lookup.dat_r),
            update.adr.eq(tag),
            update.dat_w.eq(state),
            known.eq((in_use >> answer.tag[:4]) & ~answer.tag[4]),
        ]

        mask = Signal(MOST_ENTRIES_LOG2)
        self.comb += Case(self.log2, {n: mask.eq((1 << n) - 1) for n in range(MOST_ENTRIES_LOG2 + 1)})

        # Counters that software writes go on, and not beyond what there is. Differences are modulo 2^16 ---------------

        inside = Signal()           # both rings are, wholly
        waiting, room, more = Signal(16), Signal(16), Signal(16)    # requests: entered, that fit, that are to be
        there, taken = Signal(16), Signal(16)                       # completions: in memory, that are to be taken
        visible = Signal()          # one is in memory, perhaps, and not counted

        def ring_inside(base, entry_words):
            """The rest of main RAM from `base` on has room for the ring."""
            bits = ram_bytes.bit_length() - 1
            return in_main_ram(base[3:], ram_bytes) & (
                base[3:bits] + ((mask + 1) * entry_words) <= 1 << bits - 3)

        self.comb += [
            waiting.eq(self.sq_tail - self.sq_head),
            room.eq(mask + 1 - waiting),
            more.eq(self.count - self.sq_tail),
            there.eq(self.cq_tail - self.cq_head + visible),
            taken.eq(self.count - self.cq_head),
        ]
        self.sync += [
            inside.eq(ring_inside(self.sq_base, REQUEST_WORDS) & ring_inside(self.cq_base, 1)),
            If(self.enters & (more <= room) & inside & ~self.resetting,
                self.sq_tail.eq(self.count),
                self.running.eq(1)
            ),
            If(self.takes & (taken <= there) & ~self.resetting,
                self.cq_head.eq(self.count)
            ),
        ]

        def word_address(base, offset):
            return base[3:30] + offset

        request  = Array(Signal(64, name=f"request_{n}") for n in range(READ_WORDS))
        step     = Signal(max=READ_WORDS + 1)
        got      = Signal(max=READ_WORDS + 1)
        op, want_tag, count = operation(request[0][:8]), request[0][16:32], request[0][32:48]
        lba, list_at, listed = request[1][:32], request[2][3:32], request[2][32:48]
        free_tag = Signal()
        self.comb += free_tag.eq((want_tag < TAGS) & ~(in_use >> want_tag[:4]))

        end_tag    = Signal(16)
        end_status = Signal(8)
        end_moved  = Signal(16)
        releases   = Signal()     # the tag is free again
        full       = Signal()
        lap        = Signal()
        entry      = Signal(16)
        self.comb += [
            entry.eq(self.cq_tail - self.cq_head),
            full.eq(entry > mask),
            lap.eq(~(self.cq_tail >> self.log2)),
        ]

        # A completion that finds the ring full is put aside, so that the drive's other answers go on: one a tag at the
        # most, as the tag is not free before.
        self.aside = aside = ResetInserter()(stream.SyncFIFO([("tag", 4), ("status", 8), ("moved", 16)], TAGS))
        self.comb += aside.reset.eq(self.resetting)

        # A segment: address and length in bytes, of which the low 3 bits are taken as 0.
        segment       = reader.source.data
        outside       = Signal()
        segment_start = Signal(30)    # in words
        segment_end   = Signal(31)
        self.comb += [
            segment_start.eq(segment[3:32]),
            segment_end.eq(segment_start + segment[35:64]),
            outside.eq((segment[35:64] != 0) & (
                (segment_start < MAIN_RAM // 8) | (segment_end > (MAIN_RAM + ram_bytes) // 8))),
        ]

        to_drive = Signal()       # the word that memory gives is the drive's
        issue    = Signal()       # a word is asked of memory for the drive
        self.comb += [
            to_drive.eq(reader.source.valid & (pending != 0)),
            If(pending != 0,
                medium.data_out.valid.eq(reader.source.valid & ~self.resetting),
                medium.data_out.data.eq(reader.source.data),
                reader.source.ready.eq(medium.data_out.ready | self.resetting)
            ),
        ]
        self.sync += pending.eq(pending + issue - (to_drive & reader.source.ready))

        wait = Signal(max=RESET_CYCLES + 1)
        self.sync += If(self.reset,
            self.resetting.eq(1)
        )

        #  -------------------------------------------------------------------------------------------------------------

        told_status = Signal(8)
        self.comb += [
            told_status.eq(Mux((answer.status == STATUSES["OK"]) & loaded.bad, STATUSES["MEMORY"], answer.status)),
            aside.sink.tag.eq(answer.tag),
            aside.sink.status.eq(told_status),
            aside.sink.moved.eq(answer.length),
        ]

        serviceable = Signal()    # what the drive says can be done at once
        of_pio      = Signal()
        self.comb += [
            of_pio.eq(answer.tag == TAGS),
            If(of_pio,
                Case(answer.kind, {
                    ANSWERS["SEND"]: serviceable.eq(pio.free),
                    ANSWERS["TAKE"]: serviceable.eq(pio.filled),
                    "default": serviceable.eq(1),
                })
            ).Else(
                serviceable.eq(1)
            ),
        ]

        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act("IDLE",
            If(self.resetting,
                NextValue(wait, RESET_CYCLES),
                NextState("RESET")
            ).Elif(aside.source.valid & ~full,
                aside.source.ready.eq(1),
                NextValue(end_tag, aside.source.tag),
                NextValue(end_status, aside.source.status),
                NextValue(end_moved, aside.source.moved),
                NextValue(releases, 1),
                NextState("COMPLETE")
            ).Elif(answer.valid & serviceable,
                answer.ready.eq(1),
                NextValue(tag, answer.tag),
                NextValue(left, answer.length),
                NextValue(inwards, answer.kind == ANSWERS["SEND"]),
                NextValue(kept, known),
                NextValue(pointer, loaded.pointer),
                NextValue(segments, Mux(known, loaded.segments, 0)),
                NextValue(address, loaded.address),
                NextValue(words, Mux(known, loaded.words, 0)),
                NextValue(bad, loaded.bad | ~known),
                NextValue(position, 0),
                NextValue(follows, 0),
                If(of_pio,
                    Case(answer.kind, {
                        ANSWERS["SEND"]: NextState("PIO_IN"),
                        ANSWERS["TAKE"]: NextState("PIO_OUT"),
                        "default": [
                            pio.ended.eq(pio.busy),
                            pio.end_code.eq(answer.status),
                            pio.end_moved.eq(answer.length),
                        ],
                    })
                ).Else(
                    If(~known,
                        # Its data is let go, or is zeroes.
                        NextValue(self.stray, self.stray + 1)
                    ),
                    If(answer.kind == ANSWERS["DONE"],
                        NextValue(end_tag, answer.tag),
                        NextValue(end_status, told_status),
                        NextValue(end_moved, answer.length),
                        NextValue(releases, 1),
                        If(known & full,
                            aside.sink.valid.eq(1)
                        ).Elif(known,
                            NextState("COMPLETE")
                        )
                    ).Else(
                        NextState("MOVE")
                    )
                )
            ).Elif(pio.asks,
                medium.command.valid.eq(1),
                medium.command.op.eq(pio.sent_op),
                medium.command.tag.eq(TAGS),
                medium.command.lba.eq(pio.sent_lba),
                medium.command.count.eq(pio.sent_count),
                medium.command.burst.eq(pio.sent_cluster),
                pio.sent.eq(medium.command.ready)
            ).Elif((self.sq_head != self.sq_tail) & ~full,
                NextValue(step, 0),
                NextValue(got, 0),
                NextState("FETCH")
            )
        )

        # A request is fetched, and the drive told ---------------------------------------------------------------------

        fsm.act("FETCH",
            reader.sink.valid.eq(step != READ_WORDS),
            reader.sink.address.eq(word_address(self.sq_base, ((self.sq_head & mask) << 2) + step)),
            If(reader.sink.valid & reader.sink.ready,
                NextValue(step, step + 1)
            ),
            reader.source.ready.eq(1),
            If(reader.source.valid,
                Case(got, {n: NextValue(request[n], reader.source.data) for n in range(READ_WORDS)}),
                NextValue(got, got + 1),
                If(got == READ_WORDS - 1,
                    NextState("BEGIN")
                )
            )
        )
        fsm.act("BEGIN",
            NextValue(tag, want_tag),
            NextValue(pointer, list_at),
            NextValue(segments, listed),
            NextValue(address, 0),
            NextValue(words, 0),
            NextValue(bad, 0),
            NextValue(end_tag, want_tag),
            NextValue(end_status, STATUSES["TAG"]),
            NextValue(end_moved, 0),
            NextValue(releases, 0),
            NextValue(self.sq_head, self.sq_head + 1),
            If(free_tag,
                NextState("COMMAND")
            ).Else(
                NextValue(self.refused, self.refused + 1),
                NextState("COMPLETE")
            )
        )
        fsm.act("COMMAND",
            medium.command.valid.eq(~self.resetting),
            medium.command.op.eq(op),
            medium.command.tag.eq(tag),
            medium.command.lba.eq(lba),
            medium.command.count.eq(count),
            If(self.resetting,
                NextState("IDLE")
            ).Elif(medium.command.ready,
                update.we.eq(1),
                NextValue(in_use, in_use | (1 << tag[:4])),
                NextState("IDLE")
            )
        )

        # Data between drive and memory --------------------------------------------------------------------------------

        fsm.act("MOVE",
            If(self.resetting,
                NextState("IDLE")
            ).Elif(left == 0,
                If(pending == 0,
                    update.we.eq(kept),
                    NextState("IDLE")
                )
            ).Elif(words == 0,
                If(segments == 0,
                    NextValue(bad, 1),
                    If(pending == 0,
                        NextState("NOWHERE")
                    )
                ).Elif(in_main_ram(pointer, ram_bytes),
                    reader.sink.valid.eq(1),
                    reader.sink.address.eq(pointer),
                    If(reader.sink.ready,
                        NextState("SEGMENT")
                    )
                ).Else(
                    NextValue(segments, 0)
                )
            ).Elif(inwards,
                writer.sink.valid.eq(in_fifo.source.valid),
                writer.sink.address.eq(address),
                writer.sink.data.eq(in_fifo.source.data),
                in_fifo.source.ready.eq(writer.sink.ready),
                If(in_fifo.source.valid & writer.sink.ready,
                    NextValue(address, address + 1),
                    NextValue(words, words - 1),
                    NextValue(left, left - 1)
                )
            ).Else(
                reader.sink.valid.eq(1),
                reader.sink.address.eq(address),
                If(reader.sink.ready,
                    issue.eq(1),
                    NextValue(address, address + 1),
                    NextValue(words, words - 1),
                    NextValue(left, left - 1)
                )
            )
        )
        # The segment's entry comes behind the data that was asked for before.
        fsm.act("SEGMENT",
            If(pending == 0,
                reader.source.ready.eq(1),
                If(reader.source.valid,
                    NextValue(pointer, pointer + 1),
                    NextValue(segments, Mux(outside, 0, segments - 1)),
                    NextValue(address, segment[3:30]),
                    NextValue(words, Mux(outside, 0, segment[35:64])),
                    NextValue(bad, bad | outside),
                    NextState("MOVE")
                )
            )
        )
        # What no segment is for is let go, or is zeroes.
        fsm.act("NOWHERE",
            If(self.resetting | (left == 0),
                update.we.eq(kept),
                NextState("IDLE")
            ).Elif(inwards,
                in_fifo.source.ready.eq(1),
                If(in_fifo.source.valid,
                    NextValue(left, left - 1)
                )
            ).Else(
                medium.data_out.valid.eq(1),
                If(medium.data_out.ready,
                    NextValue(left, left - 1)
                )
            )
        )

        # Data between drive and the buffer of programmed I/O ----------------------------------------------------------

        self.comb += pio.index.eq(position)
        fsm.act("PIO_IN",
            pio.word_in.eq(in_fifo.source.data),
            pio.words.eq(position),
            If(self.resetting,
                NextState("IDLE")
            ).Elif(left == 0,
                pio.arrived.eq(position != 0),
                NextState("IDLE")
            ).Else(
                in_fifo.source.ready.eq(1),
                If(in_fifo.source.valid,
                    pio.store.eq(1),
                    NextValue(position, position + 1),
                    NextValue(left, left - 1)
                )
            )
        )
        # A word every other cycle: the memory's port has an address register.
        fsm.act("PIO_OUT",
            If(self.resetting,
                NextState("IDLE")
            ).Elif(left == 0,
                pio.emptied.eq(1),
                NextState("IDLE")
            ).Elif(~follows,
                NextValue(follows, 1)
            ).Else(
                medium.data_out.valid.eq(1),
                medium.data_out.data.eq(pio.word),
                If(medium.data_out.ready,
                    NextValue(position, position + 1),
                    NextValue(left, left - 1),
                    NextValue(follows, 0)
                )
            )
        )

        # A request ends: there is room, and none of it goes while this comes ------------------------------------------

        fsm.act("COMPLETE",
            If(self.resetting,
                NextState("IDLE")
            ).Else(
                writer.sink.valid.eq(1),
                writer.sink.address.eq(word_address(self.cq_base, self.cq_tail & mask)),
                writer.sink.data.eq(Cat(end_tag, end_status, Constant(0, 7), lap, end_moved)),
                If(writer.sink.ready,
                    NextState("VISIBLE")
                )
            )
        )
        fsm.act("VISIBLE",
            visible.eq(1),
            If(~port.busy & ~to_write.wdata.valid,
                NextValue(self.cq_tail, self.cq_tail + 1),
                If(releases,
                    NextValue(in_use, in_use & ~(1 << end_tag[:4]))
                ),
                NextState("IDLE")
            )
        )

        # Until memory has given and taken all that it was asked, and the drive's last words have come -----------------

        fsm.act("RESET",
            pio.clear.eq(1),
            NextValue(wait, wait - 1),
            If(port.busy | to_write.wdata.valid | (pending != 0),
                NextValue(wait, RESET_CYCLES)
            ).Elif(wait == 0,
                NextValue(self.resetting, 0),
                NextValue(in_use, 0),
                NextValue(self.sq_head, 0),
                NextValue(self.sq_tail, 0),
                NextValue(self.cq_tail, 0),
                NextValue(self.cq_head, 0),
                NextValue(self.running, 0),
                NextState("IDLE")
            )
        )
