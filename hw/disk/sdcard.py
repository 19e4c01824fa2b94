"""An SD card as the controller's drive, on LiteSDCard's parts for the pins (README.md, "SD cards")."""

from dataclasses import dataclass

from litesdcard.common import (
    SDCARD_CTRL_DATA_TRANSFER_NONE,
    SDCARD_CTRL_RESPONSE_LONG,
    SDCARD_CTRL_RESPONSE_NONE,
    SDCARD_CTRL_RESPONSE_SHORT,
    SDCARD_CTRL_RESPONSE_SHORT_BUSY,
    SDCARD_STREAM_STATUS_TIMEOUT,
)
from litesdcard.phy import SDPHYCMDR, SDPHYCMDW, SDPHYDATAR, SDPHYDATAW, SDPHYClocker, _sdpads_layout
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import FSM, Case, Cat, Constant, If, Memory, Mux, NextState, NextValue, Record, ResetInserter, Signal

from hw.common.memory import block_ram
from hw.disk.medium import ANSWERS, COMMAND, DATA, OPERATIONS, SECTOR_BYTES, SECTOR_WORDS, STATUSES, TAGS

ANSWER_KINDS = {"NONE": SDCARD_CTRL_RESPONSE_NONE, "SHORT": SDCARD_CTRL_RESPONSE_SHORT,
                "LONG": SDCARD_CTRL_RESPONSE_LONG, "BUSY": SDCARD_CTRL_RESPONSE_SHORT_BUSY}
# How a command or a block fails.
FAULTS = {"NONE": 0, "NO_ANSWER": 1, "ANSWER": 2, "CARD": 3, "NO_DATA": 4, "DATA_CRC": 5, "NOT_WRITTEN": 6, "BUSY": 7}

# Of the SD specification, part 1 (physical layer, simplified), 4.7.4.
STOP, SEND_STATUS, READ_SINGLE, READ_MULTIPLE, WRITE_SINGLE, WRITE_MULTIPLE = 12, 13, 17, 18, 24, 25
# Bits of a card's status (4.10.1) that tell of the command that it is in, or of the data before: OUT_OF_RANGE to
# WP_VIOLATION, LOCK_UNLOCK_FAILED, CARD_ECC_FAILED, CC_ERROR, ERROR. Two others tell of the command before, which had
# no answer then.
CARD_ERRORS = 0xfd38_0000
CRC_BYTES = 8               # behind a block on four lines, 16 bits each
WAKE_BYTES = 10             # 80 clocks: a card asks for 74 before the first command (6.4.1)
BUFFER_WORDS = 1024         # as much as the controller's programmed I/O takes at once
# Behind an answer LiteSDCard holds the command line high for 8 clocks and does not wait for their end: a command that
# begins meanwhile is lost in them. And a card wants 8 clocks of peace (4.12.4).
GAP_CLOCKS = 16
# Behind the last block that is read it gives the card 40 clocks: each byte of a command would be a bit longer in them.
BLOCK_CLOCKS = 40


@dataclass(frozen=True)
class Patience:
    """How long a card is waited for, seconds. The longest of what the specification allows, and some more: 64 clocks
    until an answer at 400 kHz, 100 ms for data, 500 ms for what is written (4.6.2, 4.12.1)."""

    answer: float = 0.002
    data: float = 0.25
    busy: float = 1.0


def crc(remainder, bits, polynomial):
    """The remainder behind `bits`, a list with the first one first, of which `remainder` was what came before: a list
    of expressions, low bit first."""
    remainder = list(remainder)
    for bit in bits:
        feedback = bit ^ remainder[-1]
        remainder = [feedback if n == 0 else (remainder[n - 1] ^ feedback if polynomial >> n & 1 else remainder[n - 1])
                     for n in range(len(remainder))]
    return remainder


class CardPins(LiteXModule):
    """LiteSDCard's PHY, of its parts: with the pads' class and all times to choose, and data that can be given up.

    io: a class as litesdcard.phy.SDPHYIOGen, for `pads`."""
    def __init__(self, pads, clock_hz, io, patience):
        self.divider = Signal(9)
        self.give_up = Signal()     # i: forget the block under way

        # # #

        # What has CSRs is kept out of LiteX's sight: the registers are the drive's.
        clocker = SDPHYClocker()
        cmdw    = SDPHYCMDW()
        cmdr    = SDPHYCMDR(clock_hz, patience.answer, cmdw, patience.busy)
        dataw   = ResetInserter()(SDPHYDATAW())
        datar   = ResetInserter()(SDPHYDATAR(clock_hz, patience.data))
        parts   = cmdw, cmdr, dataw, datar
        sdpads  = Record(_sdpads_layout)
        self.submodules += clocker, *parts, io(clocker, sdpads, pads)
        self.comb += [
            clocker.divider.storage.eq(self.divider),
            clocker.stop.eq(dataw.stop | datar.stop),
            clocker.clk_en.eq(sdpads.clk),
            dataw.reset.eq(self.give_up),
            datar.reset.eq(self.give_up),
        ]
        for name in ("clk", "cmd.oe", "cmd.o", "data.oe", "data.o"):
            def pad(record, name=name):
                for part in name.split("."):
                    record = getattr(record, part)
                return record
            together = 0
            for part in parts:
                together = together | pad(part.pads_out)
            self.comb += pad(sdpads).eq(together)
        for part in parts:
            self.comb += [
                part.pads_out.ready.eq(clocker.ce),
                part.pads_in.valid.eq(sdpads.data_i_ce),
                part.pads_in.cmd.i.eq(sdpads.cmd.i),
                part.pads_in.data.i.eq(sdpads.data.i),
            ]
        self.clock  = clocker.ce    # o: once a clock of the card's, whether or not it goes out
        self.high   = Signal()      # o: nobody holds a data line low
        self.comb += self.high.eq(sdpads.data_i_ce & (sdpads.data.i == 15))
        self.cmdw, self.cmdr, self.dataw, self.datar = cmdw.sink, cmdr, dataw, datar

    def get_csrs(self, sort=False):
        return []


class Commands(LiteXModule):
    """A command to the card and its answer, one at a time, with the gap behind it. No command is begun in the gap.

    `index`, `argument`, `kind` (ANSWER_KINDS), `checked` (the answer has index and CRC) and `wake` (80 clocks, and no
    command) hold while `go`, until `started`."""
    def __init__(self, pins, gap=GAP_CLOCKS):
        self.go       = Signal()
        self.index    = Signal(6)
        self.argument = Signal(32)
        self.kind     = Signal(2)
        self.checked  = Signal()
        self.wake     = Signal()
        self.block    = Signal()        # i: for a cycle: a block has come
        self.idle     = Signal()        # o: no command is under way, nor is one in its gap
        self.started  = Signal()        # o: for a cycle
        self.sent     = Signal()        # o: for a cycle: the card has the command
        self.done     = Signal()        # o: for a cycle: it has been answered, or will not be
        self.fault    = Signal(3)       # o: with `done`, and until the next one begins: FAULTS
        self.response = Signal(128)     # o: without its first byte, and of a short answer without its last

        # # #

        cmdw, cmdr = pins.cmdw, pins.cmdr
        count   = Signal(max=32)
        rest    = Signal(max=gap + BLOCK_CLOCKS + 1)
        index, argument, kind = Signal(6), Signal(32), Signal(2)
        checked, wake = Signal(), Signal()
        wrong   = Signal()
        sum7    = Signal(7)             # CRC of what was sent, or has come
        byte    = Signal(8)
        adds    = Signal()
        clears  = Signal()
        last    = Signal()
        long    = Signal()
        expected = Signal(8)
        self.comb += [
            long.eq(kind == ANSWER_KINDS["LONG"]),
            expected.eq(Mux(long, 0x3f, index)),
            cmdw.cmd_type.eq(kind),
            cmdw.last.eq(last),
            cmdw.data.eq(byte),
            last.eq(count == Mux(wake, WAKE_BYTES - 1, 5)),
            cmdr.sink.cmd_type.eq(kind),
            cmdr.sink.data_type.eq(SDCARD_CTRL_DATA_TRANSFER_NONE),
            cmdr.sink.length.eq(Mux(long, 17, 6)),
        ]
        self.sync += [
            If(self.block,
                rest.eq(gap + BLOCK_CLOCKS)
            ).Elif(self.done,
                rest.eq(gap)
            ).Elif((rest != 0) & pins.clock,
                rest.eq(rest - 1)
            ),
            If(clears,
                sum7.eq(0)
            ).Elif(adds,
                sum7.eq(Cat(*crc(sum7, [byte[7 - n] for n in range(8)], 0x09)))
            ),
        ]

        self.fsm = fsm = FSM(reset_state="IDLE")
        fsm.act("IDLE",
            self.idle.eq(rest == 0),
            clears.eq(1),
            NextValue(count, 0),
            If(self.go & (rest == 0),
                self.started.eq(1),
                NextValue(self.fault, FAULTS["NONE"]),
                NextValue(wrong, 0),
                NextValue(index, self.index),
                NextValue(argument, self.argument),
                NextValue(kind, Mux(self.wake, ANSWER_KINDS["NONE"], self.kind)),
                NextValue(checked, self.checked),
                NextValue(wake, self.wake),
                NextState("SEND")
            )
        )
        fsm.act("SEND",
            cmdw.valid.eq(1),
            Case(count, {
                0: byte.eq(Cat(index, Constant(1, 2))),
                **{1 + n: byte.eq(argument[24 - 8 * n:32 - 8 * n]) for n in range(4)},
                "default": byte.eq(Cat(1, sum7)),
            }),
            If(wake, byte.eq(0xff)),
            If(cmdw.ready,
                adds.eq(1),
                NextValue(count, count + 1),
                If(last,
                    self.sent.eq(1),
                    clears.eq(1),
                    NextValue(count, 0),
                    If(kind == ANSWER_KINDS["NONE"],
                        NextState("DONE")
                    ).Else(
                        NextState("ANSWER")
                    )
                )
            )
        )
        # The last byte of an answer that busy follows stays with LiteSDCard, and its CRC: what comes last is no byte.
        fsm.act("ANSWER",
            cmdr.sink.valid.eq(1),
            cmdr.source.ready.eq(1),
            byte.eq(cmdr.source.data),
            If(cmdr.source.valid,
                If(cmdr.source.status == SDCARD_STREAM_STATUS_TIMEOUT,
                    NextValue(self.fault, FAULTS["NO_ANSWER"]),
                    If((kind == ANSWER_KINDS["BUSY"]) & (count == 5), NextValue(self.fault, FAULTS["BUSY"])),
                    NextState("DONE")
                ).Else(
                    NextValue(count, count + 1),
                    adds.eq(1),
                    If(long & (count == 0),
                        clears.eq(1)        # its CRC is that of the register that it carries
                    ),
                    If(long | ~cmdr.source.last,
                        NextValue(self.response, Cat(byte, self.response))
                    ),
                    If((count == 0) & checked & (byte != expected),
                        NextValue(wrong, 1)
                    ),
                    If(cmdr.source.last,
                        If(wrong | (checked & (kind != ANSWER_KINDS["BUSY"]) & (byte != Cat(1, sum7))),
                            NextValue(self.fault, FAULTS["ANSWER"])
                        ),
                        NextState("DONE")
                    )
                )
            )
        )
        fsm.act("DONE",
            self.done.eq(1),
            NextState("IDLE")
        )


class SDCardDrive(LiteXModule):
    """The drive of the controller whose `medium` (hw.disk.medium) this is: the card at `pads`.

    Software wakes the card with commands of its own, and then says how many sectors there are: from then on it is a
    drive, which serves its requests one after the other. `io` as of CardPins."""
    def __init__(self, medium, pads, clock_hz, io, patience=Patience(), gap=GAP_CLOCKS):
        self.divider = CSRStorage(9, reset=256, description="Cycles of the card's clock; a power of two, 4 or more.")
        self.argument = CSRStorage(32, description="Of the next command.")
        self.command = CSRStorage(description="A write sends a command, if there is none under way.", fields=[
            CSRField("index", 6, description="Which."),
            CSRField("kind", 2, description="Its answer: 0 none, 1 short, 2 long, 3 short and busy behind it."),
            CSRField("checked", 1, description="The answer has an index and a CRC."),
            CSRField("wake", 1, description="No command: 80 clocks."),
        ])
        self.status = CSRStatus(description="Of that command.", fields=[
            CSRField("busy", 1, description="It is under way."),
            CSRField("fault", 3, description="How it failed: as faults_last."),
        ])
        self.response = CSRStatus(128, description="The answer; of a short one its 32 bits, the lowest here.")
        self.card = CSRStorage(description="The card, once it is awake.", fields=[
            CSRField("relative", 16, description="Its relative address."),
            CSRField("blocks", 1, description="It counts in blocks, and not in bytes: its capacity is high."),
        ])
        self.sectors = CSRStorage(32, description="Sectors of 512 bytes; 0: it is no drive.")
        self.faults = CSRStatus(description="Requests and blocks that failed.", fields=[
            CSRField("last", 3, description="Why the last one did: 1 no answer, 2 a wrong one, 3 the card's status, "
                     "4 no data, 5 its CRC, 6 the card did not take it, 7 it stays busy."),
            CSRField("count", 16, description="How many, modulo 2^16."),
        ])

        # # #

        pins     = CardPins(pads, clock_hz, io, patience)
        commands = Commands(pins, gap)
        self.submodules += pins
        self.commands = commands
        self.queue = queue = ResetInserter()(stream.SyncFIFO(COMMAND, TAGS + 1))
        asked = Signal()        # software's command waits
        mine  = Signal()        # the command under way is software's
        fault = Signal(3)       # of software's last
        self.comb += [
            pins.divider.eq(self.divider.storage),
            medium.command.connect(queue.sink),
            queue.reset.eq(medium.reset),
            medium.sectors.eq(self.sectors.storage),
            self.status.fields.busy.eq(asked | mine),
            self.status.fields.fault.eq(fault),
            self.response.status.eq(commands.response),
        ]
        self.sync += [
            If(commands.started, asked.eq(0)),
            If(self.command.re & ~mine, asked.eq(1)),
            If(mine & commands.done, mine.eq(0), fault.eq(commands.fault)),
        ]

        # A buffer, for one direction at a time ------------------------------------------------------------------------

        memory = block_ram(Memory(64, BUFFER_WORDS))
        fill   = memory.get_port(write_capable=True)
        head   = memory.get_port(has_re=True)
        self.specials += memory, fill, head
        written   = Signal(max=2 * BUFFER_WORDS)    # words ever, modulo
        given     = Signal(max=2 * BUFFER_WORDS)    # of them, which may go on
        fetched   = Signal(max=2 * BUFFER_WORDS)
        waits     = Signal()                        # the word at `head` has not gone
        goes      = Signal()
        fetches   = Signal()
        room      = Signal.like(written)
        ready     = Signal.like(written)
        puts      = Signal()
        keeps     = Signal()    # what is in the buffer may go on
        drops     = Signal()    # what may not go on is forgotten
        clear     = Signal()
        writing   = Signal()
        empty     = Signal()
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

        # A block, to the card or from it ------------------------------------------------------------------------------

        place     = Signal(max=SECTOR_BYTES + CRC_BYTES)
        receiving = Signal()
        sending   = Signal()
        over      = Signal()        # it has come, or gone
        how       = Signal(3)       # FAULTS, but for its CRC
        sums      = [Signal(16, name=f"crc16_{n}") for n in range(4)]      # of the lines
        byte      = Signal(8)
        moves     = Signal()
        in_data   = Signal()
        begins    = Signal()
        was_high  = Signal()        # the lines, before the block: without supply a card holds them low
        timer     = Signal(max=int(patience.busy * clock_hz) + 1)
        up        = ResetInserter()(stream.Converter(8, 64))
        down      = ResetInserter()(stream.Converter(64, 8))
        self.submodules += up, down
        datar, dataw = pins.datar, pins.dataw
        self.comb += [
            in_data.eq(place < SECTOR_BYTES),
            up.reset.eq(begins | clear),
            down.reset.eq(begins | clear),
            datar.sink.valid.eq(receiving),
            datar.sink.block_length.eq(SECTOR_BYTES),
            datar.source.ready.eq(1),
            up.sink.data.eq(byte),
            up.source.ready.eq(1),
            down.sink.data.eq(head.dat_r),
            If(receiving,
                byte.eq(datar.source.data),
                moves.eq(datar.source.valid & (datar.source.status != SDCARD_STREAM_STATUS_TIMEOUT)),
                up.sink.valid.eq(moves & in_data)
            ).Elif(sending,
                # The remainder is what leaves with each clock, line by line: adding it to itself leaves zeroes.
                byte.eq(Mux(in_data, down.source.data,
                            Cat(*(remainder[14] for remainder in sums), *(remainder[15] for remainder in sums)))),
                down.sink.valid.eq(waits),
                dataw.sink.valid.eq(~in_data | down.source.valid),
                dataw.sink.data.eq(byte),
                dataw.sink.last.eq(place == SECTOR_BYTES + CRC_BYTES - 1),
                moves.eq(dataw.sink.valid & dataw.sink.ready),
                down.source.ready.eq(dataw.sink.ready & in_data)
            ),
        ]
        self.sync += [
            If(moves,
                place.eq(place + 1),
                *[remainder.eq(Cat(*crc(remainder, [byte[4 + n], byte[n]], 0x1021)))
                  for n, remainder in enumerate(sums)]
            ),
            If(timer != 0,
                timer.eq(timer - 1)
            ),
            commands.block.eq(0),
            If(pins.high, was_high.eq(1)),
            If(receiving & datar.source.valid,
                If((datar.source.status == SDCARD_STREAM_STATUS_TIMEOUT) | ~was_high,
                    how.eq(FAULTS["NO_DATA"])
                ),
                If(~moves | (place == SECTOR_BYTES + CRC_BYTES - 1),
                    receiving.eq(0),
                    over.eq(1),
                    commands.block.eq(1)
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
            If(begins,
                place.eq(0),
                over.eq(0),
                was_high.eq(0),
                how.eq(FAULTS["NONE"]),
                timer.eq(int(patience.busy * clock_hz)),
                receiving.eq(~writing),
                sending.eq(writing),
                *[remainder.eq(0) for remainder in sums]
            ),
            If(pins.give_up,
                receiving.eq(0),
                sending.eq(0)
            ),
        ]

        # Requests -----------------------------------------------------------------------------------------------------

        op, tag, burst = Signal(3), Signal(5), Signal(5)
        sector   = Signal(32)
        left     = Signal(16)       # sectors that have not been moved
        moved    = Signal(16)       # that the controller has, or the card
        piece    = Signal(5)        # that came and have not been sent on, or are taken and not written
        owed     = Signal(max=BUFFER_WORDS + 1)     # words that were asked for and have not come
        takes    = Signal()
        many     = Signal()
        ordered  = Signal()         # the card has the command
        status   = Signal(8)
        end      = Signal(33)
        most     = Signal(5)
        card_bad = Signal()
        under_way, begins_work, ends_work = Signal(), Signal(), Signal()   # the card may be in the midst of data
        fails    = Signal()
        why      = Signal(3)
        first    = queue.source
        reads    = Signal()
        self.comb += [
            end.eq(sector + Mux(op == OPERATIONS["SEEK"], 1, left)),
            most.eq(Mux(burst == 0, 1, burst)),
            card_bad.eq((commands.response[:32] & CARD_ERRORS) != 0),
            datar.sink.last.eq(left == 1),
            reads.eq(op == OPERATIONS["READ"]),
            writing.eq(op == OPERATIONS["WRITE"]),
            If(writing,
                fill.dat_w.eq(medium.data_out.data),
                medium.data_out.ready.eq((room != 0) & (owed != 0)),
                puts.eq(medium.data_out.valid & medium.data_out.ready),
            ).Else(
                fill.dat_w.eq(up.source.data),
                puts.eq(up.source.valid),
                medium.data_in.valid.eq(waits),
                goes.eq(medium.data_in.ready)
            ),
            medium.data_in.data.eq(head.dat_r),
            medium.answer.tag.eq(tag),
        ]
        self.sync += [
            If(clear,
                owed.eq(0)
            ).Elif(takes,
                owed.eq(medium.answer.length)
            ).Elif(writing & puts,
                owed.eq(owed - 1)
            ),
            If(begins_work, under_way.eq(1)).Elif(ends_work, under_way.eq(0)),
            If(fails,
                self.faults.fields.last.eq(why),
                self.faults.fields.count.eq(self.faults.fields.count + 1)
            ),
        ]

        def order(state, index, argument, kind, then, *sent):
            """Two states that send a command and wait for its answer, and then do `then`."""
            fsm.act(state,
                commands.go.eq(1),
                commands.index.eq(index),
                commands.argument.eq(argument),
                commands.kind.eq(kind),
                commands.checked.eq(1),
                If(commands.started,
                    NextState(state + "-ANSWER")
                )
            )
            fsm.act(state + "-ANSWER", *sent, If(commands.done, NextState(state + "-LOOK")))
            fsm.act(state + "-LOOK", *then)

        def failed(reason):
            return [fails.eq(1), why.eq(reason), NextState("FAIL")]

        def answered(*then):
            return [
                If(commands.fault != FAULTS["NONE"],
                    *failed(commands.fault)
                ).Elif(card_bad,
                    *failed(FAULTS["CARD"])
                ).Else(*then)
            ]

        short, busy = ANSWER_KINDS["SHORT"], ANSWER_KINDS["BUSY"]
        place_of = Mux(self.card.fields.blocks, sector, sector << 9)
        self.fsm = fsm = ResetInserter()(FSM(reset_state="RESET"))
        self.comb += fsm.reset.eq(medium.reset)
        fsm.act("RESET",
            clear.eq(1),
            pins.give_up.eq(1),
            If(commands.idle & ~mine,
                If(under_way,
                    NextState("HUSH")
                ).Else(
                    NextState("IDLE")
                )
            )
        )
        # Whatever the card is at, it stops; nothing comes of it if it was at nothing.
        order("HUSH", STOP, 0, busy, [ends_work.eq(1), NextState("IDLE")])

        fsm.act("IDLE",
            NextValue(moved, 0),
            NextValue(piece, 0),
            NextValue(ordered, 0),
            NextValue(status, STATUSES["OK"]),
            NextValue(op, first.op),
            NextValue(tag, first.tag),
            NextValue(burst, first.burst),
            NextValue(sector, first.lba),
            NextValue(left, first.count),
            NextValue(many, first.count != 1),
            If(asked,
                commands.go.eq(1),
                commands.index.eq(self.command.fields.index),
                commands.argument.eq(self.argument.storage),
                commands.kind.eq(self.command.fields.kind),
                commands.checked.eq(self.command.fields.checked),
                commands.wake.eq(self.command.fields.wake),
                If(commands.started, NextState("SOFTWARE"))
            ).Elif(first.valid,
                first.ready.eq(1),
                NextState("LOOK")
            )
        )
        self.sync += If(fsm.ongoing("IDLE") & asked & commands.started, mine.eq(1))
        fsm.act("SOFTWARE", If(~mine, NextState("IDLE")))

        fsm.act("LOOK",
            NextState("DONE"),
            If(op > max(OPERATIONS.values()),
                NextValue(status, STATUSES["OPERATION"])
            ).Elif(op != OPERATIONS["FLUSH"],
                If(end > self.sectors.storage,
                    NextValue(status, STATUSES["RANGE"])
                ).Elif(op == OPERATIONS["DISCARD"],
                    NextValue(moved, left)
                ).Elif(left != 0,
                    If(reads, NextState("ROOM")),
                    If(writing, NextState("TAKE"))
                )
            )
        )

        # The card's clock stands still between blocks until there is room for one.
        fsm.act("ROOM",
            If(room >= SECTOR_WORDS,
                If(ordered,
                    begins.eq(1),
                    NextState("READ-BLOCK")
                ).Else(
                    begins_work.eq(1),
                    NextValue(ordered, 1),
                    NextState("READ")
                )
            )
        )
        # Data may come before the answer has ended.
        order("READ", Mux(many, READ_MULTIPLE, READ_SINGLE), place_of, short,
              answered(NextState("READ-BLOCK")), begins.eq(commands.sent))
        fsm.act("READ-BLOCK",
            If(over,
                If(how != FAULTS["NONE"],
                    *failed(how)
                ).Elif(Cat(*sums) != 0,
                    *failed(FAULTS["DATA_CRC"])
                ).Else(
                    NextValue(left, left - 1),
                    NextValue(piece, piece + 1),
                    NextState("READ-NEXT")
                )
            )
        )
        fsm.act("READ-NEXT",
            If((piece == most) | (left == 0),
                medium.answer.valid.eq(1),
                medium.answer.kind.eq(ANSWERS["SEND"]),
                medium.answer.length.eq(piece << 6),
                If(medium.answer.ready,
                    keeps.eq(1),
                    NextValue(moved, moved + piece),
                    NextValue(piece, 0),
                    If(left != 0,
                        NextState("ROOM")
                    ).Elif(many,
                        NextState("READ-STOP")
                    ).Else(
                        NextState("DONE")
                    )
                )
            ).Else(
                NextState("ROOM")
            )
        )
        # The status may say that the card would have gone on behind its end.
        order("READ-STOP", STOP, 0, busy, [
            If(commands.fault != FAULTS["NONE"],
                *failed(commands.fault)
            ).Else(
                NextState("DONE")
            )])

        fsm.act("TAKE",
            medium.answer.valid.eq(1),
            medium.answer.kind.eq(ANSWERS["TAKE"]),
            medium.answer.length.eq(Mux(left < most, left, most) << 6),
            If(medium.answer.ready,
                takes.eq(1),
                NextValue(piece, Mux(left < most, left, most)),
                NextState("TAKEN")
            )
        )
        fsm.act("TAKEN",
            If(ready >= SECTOR_WORDS,
                If(ordered,
                    begins.eq(1),
                    NextState("WRITE-BLOCK")
                ).Else(
                    begins_work.eq(1),
                    NextValue(ordered, 1),
                    NextState("WRITE")
                )
            )
        )
        order("WRITE", Mux(many, WRITE_MULTIPLE, WRITE_SINGLE), place_of, short,
              answered(begins.eq(1), NextState("WRITE-BLOCK")))
        fsm.act("WRITE-BLOCK",
            goes.eq(down.sink.ready & down.sink.valid),
            If(over,
                If(how != FAULTS["NONE"],
                    *failed(how)
                ).Else(
                    NextValue(left, left - 1),
                    NextValue(moved, moved + 1),
                    NextValue(piece, piece - 1),
                    If(left == 1,
                        NextState("WRITE-STATUS"),
                        If(many, NextState("WRITE-STOP"))
                    ).Elif(piece == 1,
                        NextState("TAKE")
                    ).Else(
                        NextState("TAKEN")
                    )
                )
            )
        )
        # What the card finds out while it is busy behind the end, only the next status tells: that is this request's.
        order("WRITE-STOP", STOP, 0, busy, answered(NextState("WRITE-STATUS")))
        order("WRITE-STATUS", SEND_STATUS, self.card.fields.relative << 16, short, answered(NextState("DONE")))

        order("FAIL", STOP, 0, busy, [
            pins.give_up.eq(1),
            drops.eq(~writing),
            NextValue(status, STATUSES["MEDIUM"]),
            NextState("DRAIN")
        ], pins.give_up.eq(1))
        fsm.act("FAIL", pins.give_up.eq(1))
        # What was asked for comes all the same.
        fsm.act("DRAIN",
            If(writing, goes.eq(1)),
            If(~writing | ((owed == 0) & empty),
                NextState("DONE")
            )
        )
        # A request's data has left the buffer before the next one's comes, which may go the other way.
        fsm.act("DONE",
            ends_work.eq(1),
            medium.answer.valid.eq(empty),
            medium.answer.kind.eq(ANSWERS["DONE"]),
            medium.answer.status.eq(status),
            medium.answer.length.eq(moved),
            If(empty,
                keeps.eq(writing),
                If(medium.answer.ready, NextState("IDLE"))
            )
        )
        assert DATA == [("data", 64)]
