"""Moves data between drive and memory by the requests of a ring, and answers in another (README.md)."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import FSM, Array, Case, Cat, Constant, If, Memory, Mux, NextState, NextValue, Record, ResetInserter, Signal

from hw.common.memory import MAIN_RAM, in_main_ram
from hw.disk.medium import ANSWER, ANSWERS, DATA, SECTOR_WORDS, STATUSES, TAGS, operation
from hw.disk.port import SharedPort
from hw.disk.registers import CLUSTER_SECTORS
from hw.disk.rings import Rings

READ_WORDS = 3             # of a request, for the controller
IN_WORDS = 64              # from the drive, on their way to memory
ANSWERS_AHEAD = 4
READ_AHEAD = 64            # from memory, on their way to the drive
RESET_CYCLES = 8           # until data in transit from the drive has come, and is dropped
SLOT = [("pointer", 29), ("segments", 16), ("address", 27), ("words", 29), ("bad", 1)]   # of a request under way
COMPLETION = [("tag", 4), ("status", 8), ("moved", 16)]


class FromDrive(LiteXModule):
    """Buffers what the drive sends; a reset drops it."""
    def __init__(self, medium, reset, resetting):
        self.data    = data    = ResetInserter()(stream.SyncFIFO(DATA, IN_WORDS))
        self.answers = answers = ResetInserter()(stream.SyncFIFO(ANSWER, ANSWERS_AHEAD))

        # # #

        self.comb += [
            medium.data_in.connect(data.sink),
            medium.answer.connect(answers.sink),
            data.reset.eq(resetting),
            answers.reset.eq(resetting),
            medium.reset.eq(reset),
        ]


class Requests(LiteXModule):
    """The requests under way: the position of each in its segments, by tag, and the current one.

    answer: the drive's, to whose request `loaded` belongs."""
    def __init__(self, answer):
        slots  = Memory(sum(width for _, width in SLOT), TAGS)
        lookup = slots.get_port(async_read=True)
        update = slots.get_port(write_capable=True)
        self.specials += slots, lookup, update
        self.in_use = in_use = Signal(TAGS)
        self.loaded = loaded = Record(SLOT, name="loaded")
        self.known  = known  = Signal()     # `answer` is for a request in use
        self.update = update.we             # i: store the current one

        self.tag      = tag      = Signal(5)
        self.pointer  = pointer  = Signal(29)     # of the next segment's entry, in words of 64 bits
        self.segments = segments = Signal(16)     # after the one under way
        self.address  = address  = Signal(27)     # in it, in words from the start of main RAM
        self.words    = words    = Signal(29)     # left of it
        self.bad      = bad      = Signal()       # the segments were too few, or outside of main RAM
        self.kept     = Signal()                  # the answer was for a request in use

        # # #

        self.comb += [
            lookup.adr.eq(answer.tag),
            loaded.raw_bits().eq(lookup.dat_r),
            update.adr.eq(tag),
            update.dat_w.eq(Cat(pointer, segments, address, words, bad)),
            known.eq((in_use >> answer.tag[:4]) & ~answer.tag[4]),
        ]

    def load(self, answer):
        """Statements of the engine's state machine: the request of `answer` becomes the current one."""
        known, loaded = self.known, self.loaded
        return [
            NextValue(self.tag, answer.tag),
            NextValue(self.kept, known),
            NextValue(self.pointer, loaded.pointer),
            NextValue(self.segments, Mux(known, loaded.segments, 0)),
            NextValue(self.address, loaded.address),
            NextValue(self.words, Mux(known, loaded.words, 0)),
            NextValue(self.bad, loaded.bad | ~known),
        ]


class Request(LiteXModule):
    """A request as it is fetched: `words`, and their fields."""
    def __init__(self, in_use):
        self.words = request = Array(Signal(64, name=f"request_{n}") for n in range(READ_WORDS))
        self.step  = Signal(max=READ_WORDS + 1)     # words requested
        self.got   = Signal(max=READ_WORDS + 1)     # and come
        self.op    = operation(request[0][:8])
        self.tag   = request[0][16:32]
        self.count = request[0][32:48]
        self.lba   = request[1][:32]
        self.list  = request[2][3:32]
        self.listed = request[2][32:48]
        self.free_tag = Signal()

        # # #

        self.comb += self.free_tag.eq((self.tag < TAGS) & ~(in_use >> self.tag[:4]))


class Segment(LiteXModule):
    """A segment as read from memory: address and length in bytes, of which the low 3 bits are taken as 0."""
    def __init__(self, segment, ram_bytes):
        self.start   = segment[3:30]        # in words from the start of main RAM
        self.words   = segment[35:64]
        self.outside = outside = Signal()           # partly outside main RAM

        # # #

        segment_start = Signal(30)    # in words
        segment_end   = Signal(31)
        self.comb += [
            segment_start.eq(segment[3:32]),
            segment_end.eq(segment_start + segment[35:64]),
            outside.eq((segment[35:64] != 0) & (
                (segment_start < MAIN_RAM // 8) | (segment_end > (MAIN_RAM + ram_bytes) // 8))),
        ]


class ToDrive(LiteXModule):
    """Words read from memory for the drive: those of the next `pending` reads."""
    def __init__(self, medium, source, resetting):
        self.pending = pending = Signal(max=READ_AHEAD + 1)   # words requested from memory for the drive
        self.issue   = issue   = Signal()       # i: a word is requested

        # # #

        to_drive = Signal()       # the word from memory is for the drive
        self.comb += [
            to_drive.eq(source.valid & (pending != 0)),
            If(pending != 0,
                medium.data_out.valid.eq(source.valid & ~resetting),
                medium.data_out.data.eq(source.data),
                source.ready.eq(medium.data_out.ready | resetting)
            ),
        ]
        self.sync += pending.eq(pending + issue - (to_drive & source.ready))


class Completions(LiteXModule):
    """The completion that is to be entered, and those that found the ring full: put aside, so that the drive's other
    answers proceed; at most one per tag, as the tag is not free before."""
    def __init__(self, answer, loaded_bad, resetting):
        self.aside    = aside = ResetInserter()(stream.SyncFIFO(COMPLETION, TAGS))
        self.tag      = Signal(16)
        self.status   = Signal(8)
        self.moved    = Signal(16)
        self.releases = Signal()     # the tag is free again
        self.told     = told = Signal(8)    # o: the status of `answer`

        # # #

        self.comb += [
            aside.reset.eq(resetting),
            told.eq(Mux((answer.status == STATUSES["OK"]) & loaded_bad, STATUSES["MEMORY"], answer.status)),
            aside.sink.tag.eq(answer.tag),
            aside.sink.status.eq(told),
            aside.sink.moved.eq(answer.length),
        ]

    def end(self, tag, status, moved, releases):
        """Statements of the engine's state machine: this completion is to be entered."""
        return [
            NextValue(self.tag, tag),
            NextValue(self.status, status),
            NextValue(self.moved, moved),
            NextValue(self.releases, releases),
        ]

    def word(self, lap):
        """The completion's word in memory."""
        return Cat(self.tag, self.status, Constant(0, 7), lap, self.moved)


class Engine(LiteXModule):
    """The rings' side of the controller, and all that communicates with the drive.

    port: a native port of memory with `busy` (hw/cpu, "Device ports"), addressed in words from the start of main RAM.
    ram_bytes: of main RAM, a power of two. medium: hw.disk.medium.Medium. pio: hw.disk.pio.ProgrammedIO."""
    def __init__(self, port, ram_bytes, medium, pio):
        self.rings   = rings = Rings(ram_bytes)
        self.refused = Signal(32)
        self.stray   = Signal(32)
        self.reset   = Signal()      # i: for a cycle
        self.resetting = Signal()

        # # #

        self.port        = SharedPort(port, READ_AHEAD)
        self.from_drive  = FromDrive(medium, self.reset, self.resetting)
        self.answer      = answer = self.from_drive.answers.source
        self.requests    = requests = Requests(answer)
        self.request     = Request(requests.in_use)
        self.segment     = Segment(self.port.reader.source.data, ram_bytes)
        self.to_drive    = ToDrive(medium, self.port.reader.source, self.resetting)
        self.completions = Completions(answer, requests.loaded.bad, self.resetting)
        self.left        = Signal(16)     # words of the drive's current answer
        self.inwards     = Signal()
        self.position    = Signal(max=CLUSTER_SECTORS * SECTOR_WORDS + 1)       # in the buffer of programmed I/O
        self.follows     = Signal()       # its word is that of the cycle before
        self.wait        = Signal(max=RESET_CYCLES + 1)
        self.comb += rings.resetting.eq(self.resetting)
        self.sync += If(self.reset,
            self.resetting.eq(1)
        )

        self.fsm = FSM(reset_state="IDLE")
        self.choose(medium, pio)
        self.fetch(medium)
        self.move(medium, ram_bytes)
        self.move_programmed(medium, pio)
        self.complete()
        self.forget(pio)

    def choose(self, medium, pio):
        """Chooses the next: a completion put aside, the drive's answer, a command of programmed I/O, a request."""
        rings, completions, aside = self.rings, self.completions, self.completions.aside
        self.fsm.act("IDLE",
            If(self.resetting,
                NextValue(self.wait, RESET_CYCLES),
                NextState("RESET")
            ).Elif(aside.source.valid & ~rings.full,
                aside.source.ready.eq(1),
                *completions.end(aside.source.tag, aside.source.status, aside.source.moved, releases=1),
                NextState("COMPLETE")
            ).Elif(self.answer.valid & self.serviceable(pio),
                self.answer.ready.eq(1),
                *self.serve(pio)
            ).Elif(pio.asks,
                medium.command.valid.eq(1),
                medium.command.op.eq(pio.sent_op),
                medium.command.tag.eq(TAGS),
                medium.command.lba.eq(pio.sent_lba),
                medium.command.count.eq(pio.sent_count),
                medium.command.burst.eq(pio.sent_cluster),
                pio.sent.eq(medium.command.ready)
            ).Elif((rings.sq_head != rings.sq_tail) & ~rings.full,
                NextValue(self.request.step, 0),
                NextValue(self.request.got, 0),
                NextState("FETCH")
            )
        )

    def serviceable(self, pio):
        """Whether the drive's answer can be served at once."""
        answer = self.answer
        serviceable = Signal()
        self.of_pio = of_pio = Signal()
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
        return serviceable

    def serve(self, pio):
        """Statements of the state machine that serve the drive's answer."""
        answer, known, completions = self.answer, self.requests.known, self.completions
        return [
            *self.requests.load(answer),
            NextValue(self.left, answer.length),
            NextValue(self.inwards, answer.kind == ANSWERS["SEND"]),
            NextValue(self.position, 0),
            NextValue(self.follows, 0),
            If(self.of_pio,
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
                    # Its data is dropped, or is zeroes.
                    NextValue(self.stray, self.stray + 1)
                ),
                If(answer.kind == ANSWERS["DONE"],
                    *completions.end(answer.tag, completions.told, answer.length, releases=1),
                    If(known & self.rings.full,
                        completions.aside.sink.valid.eq(1)
                    ).Elif(known,
                        NextState("COMPLETE")
                    )
                ).Else(
                    NextState("MOVE")
                )
            ),
        ]

    def fetch(self, medium):
        """Fetches a request, and sends it to the drive."""
        rings, requests, request = self.rings, self.requests, self.request
        reader, step, got = self.port.reader, self.request.step, self.request.got
        self.fsm.act("FETCH",
            reader.sink.valid.eq(step != READ_WORDS),
            reader.sink.address.eq(rings.request_address(step)),
            If(reader.sink.valid & reader.sink.ready,
                NextValue(step, step + 1)
            ),
            reader.source.ready.eq(1),
            If(reader.source.valid,
                Case(got, {n: NextValue(request.words[n], reader.source.data) for n in range(READ_WORDS)}),
                NextValue(got, got + 1),
                If(got == READ_WORDS - 1,
                    NextState("BEGIN")
                )
            )
        )
        self.fsm.act("BEGIN",
            NextValue(requests.tag, request.tag),
            NextValue(requests.pointer, request.list),
            NextValue(requests.segments, request.listed),
            NextValue(requests.address, 0),
            NextValue(requests.words, 0),
            NextValue(requests.bad, 0),
            *self.completions.end(request.tag, STATUSES["TAG"], 0, releases=0),
            NextValue(rings.sq_head, rings.sq_head + 1),
            If(request.free_tag,
                NextState("COMMAND")
            ).Else(
                NextValue(self.refused, self.refused + 1),
                NextState("COMPLETE")
            )
        )
        self.fsm.act("COMMAND",
            medium.command.valid.eq(~self.resetting),
            medium.command.op.eq(request.op),
            medium.command.tag.eq(requests.tag),
            medium.command.lba.eq(request.lba),
            medium.command.count.eq(request.count),
            If(self.resetting,
                NextState("IDLE")
            ).Elif(medium.command.ready,
                requests.update.eq(1),
                NextValue(requests.in_use, requests.in_use | (1 << requests.tag[:4])),
                NextState("IDLE")
            )
        )

    def move(self, medium, ram_bytes):
        """Moves data between drive and memory."""
        requests, reader, writer, left = self.requests, self.port.reader, self.port.writer, self.left
        pointer, segments, address, words = requests.pointer, requests.segments, requests.address, requests.words
        to_drive, source = self.to_drive, self.from_drive.data.source
        moves = [
            NextValue(address, address + 1),
            NextValue(words, words - 1),
            NextValue(left, left - 1),
        ]
        self.fsm.act("MOVE",
            If(self.resetting,
                NextState("IDLE")
            ).Elif(left == 0,
                If(to_drive.pending == 0,
                    requests.update.eq(requests.kept),
                    NextState("IDLE")
                )
            ).Elif(words == 0,
                If(segments == 0,
                    NextValue(requests.bad, 1),
                    If(to_drive.pending == 0,
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
            ).Elif(self.inwards,
                writer.sink.valid.eq(source.valid),
                writer.sink.address.eq(address),
                writer.sink.data.eq(source.data),
                source.ready.eq(writer.sink.ready),
                If(source.valid & writer.sink.ready,
                    *moves
                )
            ).Else(
                reader.sink.valid.eq(1),
                reader.sink.address.eq(address),
                If(reader.sink.ready,
                    to_drive.issue.eq(1),
                    *moves
                )
            )
        )
        self.next_segment()
        self.move_nowhere(medium)

    def next_segment(self):
        """The segment's entry comes after the data requested before."""
        requests, reader, segment = self.requests, self.port.reader, self.segment
        self.fsm.act("SEGMENT",
            If(self.to_drive.pending == 0,
                reader.source.ready.eq(1),
                If(reader.source.valid,
                    NextValue(requests.pointer, requests.pointer + 1),
                    NextValue(requests.segments, Mux(segment.outside, 0, requests.segments - 1)),
                    NextValue(requests.address, segment.start),
                    NextValue(requests.words, Mux(segment.outside, 0, segment.words)),
                    NextValue(requests.bad, requests.bad | segment.outside),
                    NextState("MOVE")
                )
            )
        )

    def move_nowhere(self, medium):
        """Data without a segment is dropped, or is zeroes."""
        source, left = self.from_drive.data.source, self.left
        self.fsm.act("NOWHERE",
            If(self.resetting | (left == 0),
                self.requests.update.eq(self.requests.kept),
                NextState("IDLE")
            ).Elif(self.inwards,
                source.ready.eq(1),
                If(source.valid,
                    NextValue(left, left - 1)
                )
            ).Else(
                medium.data_out.valid.eq(1),
                If(medium.data_out.ready,
                    NextValue(left, left - 1)
                )
            )
        )

    def move_programmed(self, medium, pio):
        """Moves data between drive and the buffer of programmed I/O."""
        source = self.from_drive.data.source
        position, left, follows = self.position, self.left, self.follows
        self.comb += pio.index.eq(position)
        self.fsm.act("PIO_IN",
            pio.word_in.eq(source.data),
            pio.words.eq(position),
            If(self.resetting,
                NextState("IDLE")
            ).Elif(left == 0,
                pio.arrived.eq(position != 0),
                NextState("IDLE")
            ).Else(
                source.ready.eq(1),
                If(source.valid,
                    pio.store.eq(1),
                    NextValue(position, position + 1),
                    NextValue(left, left - 1)
                )
            )
        )
        # A word every other cycle: the memory's port has an address register.
        self.fsm.act("PIO_OUT",
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

    def complete(self):
        """A request ends: there is room, and no other completion takes it meanwhile."""
        rings, completions, writer, in_use = self.rings, self.completions, self.port.writer, self.requests.in_use
        self.fsm.act("COMPLETE",
            If(self.resetting,
                NextState("IDLE")
            ).Else(
                writer.sink.valid.eq(1),
                writer.sink.address.eq(rings.completion_address()),
                writer.sink.data.eq(completions.word(rings.lap)),
                If(writer.sink.ready,
                    NextState("VISIBLE")
                )
            )
        )
        self.fsm.act("VISIBLE",
            rings.visible.eq(1),
            If(self.port.visible,
                NextValue(rings.cq_tail, rings.cq_tail + 1),
                If(completions.releases,
                    NextValue(in_use, in_use & ~(1 << completions.tag[:4]))
                ),
                NextState("IDLE")
            )
        )

    def forget(self, pio):
        """Waits until memory has done all its reads and writes, and the drive's last words have come."""
        rings, wait = self.rings, self.wait
        self.fsm.act("RESET",
            pio.clear.eq(1),
            NextValue(wait, wait - 1),
            If(~self.port.visible | (self.to_drive.pending != 0),
                NextValue(wait, RESET_CYCLES)
            ).Elif(wait == 0,
                NextValue(self.resetting, 0),
                NextValue(self.requests.in_use, 0),
                *[NextValue(counter, 0) for counter in (rings.sq_head, rings.sq_tail, rings.cq_tail, rings.cq_head,
                                                        rings.running)],
                NextState("IDLE")
            )
        )
