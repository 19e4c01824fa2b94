"""An SD card for the simulator, as RTL outside the chip: the whole protocol on four lines; its sectors are on a drive
of the simulator."""

from litex.gen import LiteXModule
from migen import FSM, Case, Cat, Constant, If, Memory, Mux, NextState, NextValue, Record, Signal

from hw.disk.card import READ_MULTIPLE, READ_SINGLE, SEND_STATUS, STOP, WRITE_MULTIPLE, WRITE_SINGLE, crc
from hw.disk.medium import ANSWERS, OPERATIONS, SECTOR_WORDS, STATUSES, Medium

PADS = [("clk", 1), ("cmd_i", 1), ("cmd_o", 1), ("cmd_t", 1), ("dat_i", 4), ("dat_o", 4), ("dat_t", 4)]
GO_IDLE, SEND_CID, SEND_ADDRESS, SELECT, SEND_IF_COND, SEND_CSD, SET_LENGTH, APPLICATION = 0, 2, 3, 7, 8, 9, 16, 55
BUS_WIDTH, OP_COND = 6, 41      # application commands
VOLTAGES = 0xff8000             # 2.7 to 3.6 V
RELATIVE = 0x4a17               # address
IDENTITY = 0x5a << 112
HIGH_CAPACITY = 1 << 30         # of the operating conditions
OCR = 1 << 31 | HIGH_CAPACITY | VOLTAGES    # of a card that is ready
READY, APP_CMD, ILLEGAL_COMMAND, COM_CRC_ERROR, ERROR = 1 << 8, 1 << 5, 1 << 22, 1 << 23, 1 << 19
DELAY = 4                       # clocks before an answer, and data
LATE = 700                      # clocks before an answer of a card that is `late`
NIBBLES = 16 * SECTOR_WORDS
GOOD, BAD_CRC = 0b010, 0b101    # of a block that was written


class CommandLine(LiteXModule):
    """Receives commands, bit by bit; while the card sends it ignores the line."""
    def __init__(self, line, rise, speaks, absent):
        self.index    = index    = Signal(6)
        self.argument = argument = Signal(32)
        self.command  = Signal()        # o: for a cycle: one has come,
        self.wrong    = Signal()        # o: or one with a wrong CRC

        # # #

        word     = Signal(48)
        now      = Signal(48)
        left     = Signal(max=48)
        sum7     = Signal(7)
        whole    = Signal()
        good     = Signal()
        self.comb += [
            now.eq(Cat(line, word)),
            index.eq(now[40:46]),
            argument.eq(now[8:40]),
            whole.eq(rise & (left == 1) & ~absent),
            good.eq((now[1:8] == sum7) & now[0] & now[46] & ~now[47]),
            self.command.eq(whole & good),
            self.wrong.eq(whole & ~good),
        ]
        self.sync += If(rise,
            word.eq(now),
            If(left != 0,
                left.eq(left - 1),
                If(left > 8, sum7.eq(Cat(*crc(sum7, [line], 0x09))))
            ).Elif(~line & ~speaks,
                left.eq(47),
                sum7.eq(0)
            )
        )


class State(LiteXModule):
    """The card's state, and its answers to commands.

    line: CommandLine. moving: a data command has not ended. spoilt: for a cycle: the written data is lost. card: the
    card, for its inputs `old` and `complains`."""
    def __init__(self, line, sectors, moving, spoilt, card):
        self.legal   = Signal()         # o: the command is legal in this state,
        self.answers = Signal()         # o: and answered
        self.moves   = Signal()         # o: it is a data command
        self.long, self.plain = Signal(), Signal()      # o: the answer has 136 bits; it has no CRC
        self.value    = Signal(32)      # o: the answer's content
        self.register = Signal(120)

        # # #

        self.awake, self.asked, self.identified = Signal(), Signal(), Signal()
        self.selected, self.application, self.length_known = Signal(), Signal(), Signal()
        self.errors = Signal(32)        # of the status, until they are reported
        self.judge(line, sectors, moving, card)
        self.follow(line, spoilt)

    def judge(self, line, sectors, moving, card):
        """The card's reaction to a command in its current state."""
        index, argument, value, legal, register = line.index, line.argument, self.value, self.legal, self.register
        identified, selected, application, long = self.identified, self.selected, self.application, self.long
        status, conditions = Signal(32), Signal(32)
        size       = Signal(22)         # in units of 512 KiB, less one
        csd, csd_1 = Signal(120), Signal(120)
        self.comb += [
            size.eq(sectors[10:] - 1),
            conditions.eq(VOLTAGES | Mux(self.asked, 1 << 31, 0) | Mux(card.old, 0, HIGH_CAPACITY)),
            # Without its CRC byte. The old card's unit is 512 blocks of 512 bytes, of which it has twice as many.
            csd.eq(Cat(Constant(0, 40), size, Constant(1 << 56, 58))),
            csd_1.eq(Cat(Constant(0, 39), Constant(7, 3), Constant(0, 12), 1, size[:11], Constant(0, 6),
                         Constant(9, 4), Constant(0, 44))),
            status.eq(Mux(card.complains & self.moves, ERROR, 0) | self.errors | READY | Mux(application, APP_CMD, 0)),
            value.eq(status),
            legal.eq(0),
            self.answers.eq(1),
            Case(index, {
                GO_IDLE: [legal.eq(1), self.answers.eq(0)],
                SEND_IF_COND: [legal.eq(~identified & ~card.old), value.eq(argument)],
                APPLICATION: [legal.eq(1), value.eq(status | APP_CMD)],
                OP_COND: [legal.eq(application & ~identified), value.eq(conditions),
                          self.plain.eq(1)],
                SEND_CID: [legal.eq(self.awake & ~identified), long.eq(1), register.eq(IDENTITY)],
                SEND_ADDRESS: [legal.eq(identified), value.eq(RELATIVE << 16 | 0x500)],
                SEND_CSD: [legal.eq(identified & ~selected), long.eq(1),
                           register.eq(Mux(card.old, csd_1, csd))],
                SELECT: legal.eq(identified & (argument[16:] == RELATIVE)),
                BUS_WIDTH: legal.eq(application & selected & (argument[:2] == 2)),
                SET_LENGTH: legal.eq(selected & (argument == 512)),
                SEND_STATUS: legal.eq(identified & (argument[16:] == RELATIVE)),
                STOP: legal.eq(moving),
                **{number: [legal.eq(selected & self.length_known & ~moving), self.moves.eq(1)]
                   for number in (READ_SINGLE, READ_MULTIPLE, WRITE_SINGLE, WRITE_MULTIPLE)},
            }),
        ]

    def follow(self, line, spoilt):
        """The state after a command."""
        awake, asked, identified, selected = self.awake, self.asked, self.identified, self.selected
        application, length_known, errors = self.application, self.length_known, self.errors
        self.sync += [
            If(spoilt,
                errors.eq(errors | ERROR)
            ),
            If(line.wrong,
                errors.eq(errors | COM_CRC_ERROR)
            ),
            If(line.command,
                application.eq(0),
                If(self.legal,
                    errors.eq(0),
                    Case(line.index, {
                        GO_IDLE: [awake.eq(0), asked.eq(0), identified.eq(0), selected.eq(0), length_known.eq(0)],
                        APPLICATION: application.eq(1),
                        OP_COND: [asked.eq(1), awake.eq(asked)],
                        SEND_CID: identified.eq(1),
                        SELECT: selected.eq(1),
                        BUS_WIDTH: length_known.eq(1),
                    })
                ).Else(
                    errors.eq(errors | ILLEGAL_COMMAND)
                )
            ),
        ]


class AnswerLine(LiteXModule):
    """Sends answers, bit by bit: that to `line`'s command, from `state`; late if `card.late`."""
    def __init__(self, out, fall, speaks, line, state, card):
        shift  = Signal(128)
        to_go  = Signal(max=136 + LATE + 1)
        delay  = Signal(max=LATE + 1)
        bits   = Signal(max=137)
        bare   = Signal()       # no CRC
        inner  = Signal()       # the CRC does not count the first byte
        sum_out = Signal(7)
        bit    = Signal()
        self.comb += [
            delay.eq(Mux(card.late, LATE, DELAY)),
            If((to_go > bits) | (to_go == 1),
                bit.eq(1)
            ).Elif(to_go > 8,
                bit.eq(shift[-1])
            ).Else(
                bit.eq(bare | (sum_out[-1] ^ card.twists))
            ),
        ]
        self.sync += [
            If(fall,
                out.eq(bit),
                speaks.eq((to_go != 0) & (to_go <= bits)),
                If(to_go != 0,
                    to_go.eq(to_go - 1)
                ),
                If((to_go != 0) & (to_go <= bits),
                    shift.eq(Cat(0, shift[:-1])),
                    If(inner & (to_go > bits - 8),
                        sum_out.eq(0)
                    ).Else(
                        sum_out.eq(Cat(*crc(sum_out, [bit], 0x09)))
                    )
                )
            ),
            If(line.command & state.legal & state.answers,
                sum_out.eq(0),
                bare.eq(state.plain),
                inner.eq(state.long),
                If(state.long,
                    shift.eq(Cat(state.register, Constant(0x3f, 8))),
                    bits.eq(136),
                    to_go.eq(136 + delay)
                ).Else(
                    shift.eq(Cat(Constant(0, 88), state.value, Mux(state.plain, 0x3f, line.index), Constant(0, 2))),
                    bits.eq(48),
                    to_go.eq(48 + delay)
                )
            ),
        ]


class Blocks(LiteXModule):
    """Blocks between the data lines and `store`, from a command for data on to its end.

    line: CommandLine. moves: its command is a legal data command. card: the card, for its faults."""
    def __init__(self, pads, store, rise, fall, line, moves, card):
        self.moving = moving = Signal()     # o
        self.spoilt = Signal()              # o: for a cycle

        # # #

        memory = Memory(64, SECTOR_WORDS)
        self.put = put = memory.get_port(write_capable=True)
        self.get = get = memory.get_port(async_read=True)
        self.specials += memory, put, get
        self.sector  = Signal(32)
        self.many    = Signal()
        self.stopped = stopped = Signal()
        self.words   = Signal(max=SECTOR_WORDS + 1)
        self.at      = Signal(max=NIBBLES + 24)
        self.sums    = [Signal(16, name=f"card_crc16_{n}") for n in range(4)]
        self.failed  = Signal()
        self.in_data = Signal()
        self.out     = out = Signal(4, reset=15)
        self.drives  = drives = Signal(4)
        self.low     = low = Signal()       # busy
        driven       = Signal(4)
        self.comb += [
            pads.dat_t.eq(~driven),
            self.in_data.eq(self.at < NIBBLES),
            store.command.lba.eq(self.sector),
            store.command.count.eq(1),
            put.adr.eq(self.words),
            get.adr.eq(self.at[4:10]),
        ]
        self.sync += If(fall,
            pads.dat_o.eq(out & ~Mux(low, 1, 0)),
            driven.eq(drives | low)
        )
        self.fsm = fsm = FSM(reset_state="IDLE")
        self.comb += moving.eq(~fsm.ongoing("IDLE"))
        self.sync += If(line.command & (line.index == STOP) & moving, stopped.eq(1))
        self.begin(line, moves, card)
        self.fetch(store)
        self.send(fall, card)
        self.receive(pads, rise, fall, card)
        self.keep(store, fall, card)

    def begin(self, line, moves, card):
        index, argument = line.index, line.argument
        self.fsm.act("IDLE",
            NextValue(self.stopped, 0),
            NextValue(self.words, 0),
            NextValue(self.failed, 0),
            NextValue(self.sector, Mux(card.old, argument[9:], argument)),
            NextValue(self.many, (index == READ_MULTIPLE) | (index == WRITE_MULTIPLE)),
            If(moves,
                NextState("RECEIVE"),
                If((index == READ_SINGLE) | (index == READ_MULTIPLE), NextState("FETCH"))
            )
        )

    def fetch(self, store):
        """Reads a sector from the store."""
        fsm, words = self.fsm, self.words
        fsm.act("FETCH",
            store.command.valid.eq(1),
            store.command.op.eq(OPERATIONS["READ"]),
            NextValue(words, 0),
            NextValue(self.at, 0),
            If(store.command.ready, NextState("FETCHED"))
        )
        fsm.act("FETCHED",
            store.answer.ready.eq(1),
            store.data_in.ready.eq(1),
            self.put.we.eq(store.data_in.valid),
            self.put.dat_w.eq(store.data_in.data),
            If(store.data_in.valid, NextValue(words, words + 1)),
            If(store.answer.valid & (store.answer.kind == ANSWERS["DONE"]),
                NextValue(self.failed, store.answer.status != STATUSES["OK"]),
                NextState("PAUSE")
            )
        )

    def send(self, fall, card):
        """Sends a block to the host."""
        fsm, place, sums, in_data, out, drives = self.fsm, self.at, self.sums, self.in_data, self.out, self.drives
        # A byte's high half comes first.
        half = Signal(4)
        self.comb += Case(place[:4], {n: half.eq(self.get.dat_r[8 * (n // 2) + (4 if n % 2 == 0 else 0):][:4])
                                      for n in range(16)})
        fsm.act("PAUSE",
            *[NextValue(remainder, 0) for remainder in sums],
            If(self.stopped,
                NextState("IDLE")
            ).Elif(fall & ~card.mute & ~self.failed,
                NextValue(place, place + 1),
                If(place == DELAY,
                    out.eq(0),
                    drives.eq(15),
                    NextValue(place, 0),
                    NextState("SEND")
                )
            )
        )
        fsm.act("SEND",
            drives.eq(15),
            If(place == NIBBLES + 16,
                out.eq(15)
            ).Elif(in_data,
                out.eq(half ^ Mux((place == 100) & card.garbles, 2, 0))
            ).Else(
                out.eq(Cat(*(remainder[-1] for remainder in sums)))
            ),
            If(self.stopped,
                NextState("IDLE")
            ).Elif(fall,
                NextValue(place, place + 1),
                # The CRC is that of the correct data.
                *[NextValue(remainder, Cat(*crc(remainder, [Mux(in_data, half[n], remainder[-1])], 0x1021)))
                  for n, remainder in enumerate(sums)],
                If(place == NIBBLES + 16,
                    NextValue(self.sector, self.sector + 1),
                    NextState("IDLE"),
                    If(self.many, NextState("FETCH"))
                )
            )
        )

    def receive(self, pads, rise, fall, card):
        """Receives a block from the host, and sends the token with its status."""
        fsm, place, sums, failed, stopped = self.fsm, self.at, self.sums, self.failed, self.stopped
        nibble  = Signal(4)
        fresh   = Signal(64)        # the word being received
        token   = Signal(5)
        fsm.act("RECEIVE",
            *[NextValue(remainder, 0) for remainder in sums],
            NextValue(place, 0),
            NextValue(self.words, 0),
            If(stopped,
                self.spoilt.eq(card.spoils),
                NextState("IDLE")
            ).Elif(rise & (pads.dat_i == 0),
                NextState("BLOCK")
            )
        )
        fsm.act("BLOCK",
            self.put.adr.eq(place[4:10]),
            self.put.dat_w.eq(Cat(fresh[8:], pads.dat_i, nibble)),
            If(stopped,
                NextState("IDLE")
            ).Elif(rise,
                NextValue(place, place + 1),
                NextValue(nibble, pads.dat_i),
                *[NextValue(remainder, Cat(*crc(remainder, [pads.dat_i[n]], 0x1021)))
                  for n, remainder in enumerate(sums)],
                If(self.in_data & place[0],
                    NextValue(fresh, self.put.dat_w),
                    self.put.we.eq(place[:4] == 15)
                ),
                If(place == NIBBLES + 16,       # the end
                    NextState("JUDGE")
                ).Elif(place == NIBBLES + 15,
                    NextValue(failed, Cat(*(Cat(*crc(remainder, [pads.dat_i[n]], 0x1021))
                                            for n, remainder in enumerate(sums))) != 0)
                )
            )
        )
        fsm.act("JUDGE",
            NextValue(place, 0),
            NextValue(token, Cat(1, Mux(failed | card.refuses, Constant(BAD_CRC, 3), Constant(GOOD, 3)), 0)),
            If(fall, NextState("TOKEN"))
        )
        fsm.act("TOKEN",
            self.out.eq(Cat(token[-1], Constant(7, 3))),
            self.drives.eq(1),
            If(fall,
                NextValue(token, token << 1),
                NextValue(place, place + 1),
                If(place == 4,
                    NextState("RECEIVE"),
                    If(~failed & ~card.refuses, NextState("KEEP"))
                )
            )
        )

    def keep(self, store, fall, card):
        """Writes a sector to the store; the card is busy."""
        fsm, words, low, many, stopped = self.fsm, self.words, self.low, self.many, self.stopped
        giving = Signal()
        fsm.act("KEEP",
            low.eq(1),
            store.command.valid.eq(1),
            store.command.op.eq(OPERATIONS["WRITE"]),
            NextValue(words, 0),
            NextValue(self.at, 0),
            If(store.command.ready, NextState("KEPT"))
        )
        fsm.act("KEPT",
            low.eq(1),
            store.answer.ready.eq(~giving & (words == 0) | (words == SECTOR_WORDS)),
            store.data_out.valid.eq(giving),
            store.data_out.data.eq(self.get.dat_r),
            self.get.adr.eq(words),
            If(giving & store.data_out.ready,
                NextValue(words, words + 1),
                If(words == SECTOR_WORDS - 1, NextValue(giving, 0))
            ),
            If(store.answer.valid & store.answer.ready,
                If(store.answer.kind == ANSWERS["TAKE"],
                    NextValue(giving, 1)
                ).Elif(store.answer.kind == ANSWERS["DONE"],
                    NextState("WRITTEN")
                )
            )
        )
        fsm.act("WRITTEN",
            low.eq(1),
            NextValue(words, 0),
            If(fall & ~card.stays_busy,
                self.spoilt.eq(card.spoils & (~many | stopped)),
                NextValue(self.sector, self.sector + 1),
                NextState("IDLE"),
                If(many & ~stopped, NextState("RECEIVE"))
            )
        )


class SDCard(LiteXModule):
    """`pads`: the card's, each direction separate; it samples when `pads.clk` rises, and changes its outputs when that
    falls, as at default speed. `store`: where its sectors are.

    It is ready at the second request. A command with a wrong CRC, or illegal in its state, is not answered, and the
    next status reports it."""
    def __init__(self):
        self.pads  = pads  = Record(PADS)
        self.store = store = Medium()
        self.absent  = Signal()     # i: there is no card
        self.garbles = Signal()     # i: a bit of each block that it sends is wrong
        self.mute    = Signal()     # i: it sends no block
        self.refuses = Signal()     # i: it accepts no block
        self.stays_busy = Signal()  # i: it stays busy after a block
        self.spoils  = Signal()     # i: it detects after the end that the write failed
        self.complains = Signal()   # i: its status has an error when it accepts a data command
        self.twists  = Signal()     # i: the CRC of its answers is wrong
        self.late    = Signal()     # i: it answers after the wait has timed out
        self.old     = Signal()     # i: it is of version 1 and counts in bytes (SDSC); else high capacity
        self.lost    = Signal(8)    # o: commands that came with a wrong CRC

        # # #

        before, rise, fall = Signal(), Signal(), Signal()
        self.sync += before.eq(pads.clk)
        self.comb += [rise.eq(pads.clk & ~before), fall.eq(~pads.clk & before)]

        moving, spoilt, speaks = Signal(), Signal(), Signal()
        self.line   = line   = CommandLine(pads.cmd_i, rise, speaks, self.absent)
        self.state  = state  = State(line, store.sectors, moving, spoilt, self)
        self.answer = AnswerLine(pads.cmd_o, fall, speaks, line, state, self)
        self.blocks = blocks = Blocks(pads, store, rise, fall, line, line.command & state.legal & state.moves, self)
        self.comb += [
            moving.eq(blocks.moving),
            spoilt.eq(blocks.spoilt),
            pads.cmd_t.eq(~speaks),
        ]
        self.sync += If(line.wrong,
            self.lost.eq(self.lost + 1)
        )
