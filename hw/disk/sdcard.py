"""An SD card as the controller's drive, on LiteSDCard's parts for the pins (README.md, "SD cards")."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import FSM, Cat, If, Mux, NextState, NextValue, Record, ResetInserter, Signal

from hw.disk.blocks import BUFFER_WORDS, Block, BlockBuffer
from hw.disk.card import (
    ANSWER_KINDS,
    CARD_ERRORS,
    FAULTS,
    GAP_CLOCKS,
    READ_MULTIPLE,
    READ_SINGLE,
    SEND_STATUS,
    STOP,
    WRITE_MULTIPLE,
    WRITE_SINGLE,
    CardPins,
    Commands,
    Patience,
)
from hw.disk.medium import ANSWERS, COMMAND, OPERATIONS, SECTOR_WORDS, STATUSES, TAGS

PATIENCE = Patience()
LEAST_DIVIDER = 4       # with 2, the PHY looks for the answer to a block before its end has come back
SHORT, BUSY = ANSWER_KINDS["SHORT"], ANSWER_KINDS["BUSY"]


class Request(LiteXModule):
    """The current request, and its progress."""
    def __init__(self):
        self.op      = op = Signal(3)
        self.tag     = Signal(5)
        self.burst   = Signal(5)
        self.sector  = Signal(32)
        self.left    = Signal(16)       # sectors not yet moved
        self.moved   = Signal(16)       # sectors that the controller has, or the card
        self.piece   = Signal(5)        # read and not yet sent on, or accepted and not yet written
        self.many    = Signal()
        self.ordered = Signal()         # the card has the command
        self.status  = Signal(8)
        self.end     = Signal(33)
        self.most    = Signal(5)        # sectors of a piece
        self.reads   = Signal()
        self.writing = Signal()

        # # #

        self.comb += [
            self.end.eq(self.sector + Mux(op == OPERATIONS["SEEK"], 1, self.left)),
            self.most.eq(Mux(self.burst == 0, 1, self.burst)),
            self.reads.eq(op == OPERATIONS["READ"]),
            self.writing.eq(op == OPERATIONS["WRITE"]),
        ]

    def load(self, first):
        """Statements of the drive's state machine: the command `first` becomes the current one."""
        return [
            NextValue(self.moved, 0),
            NextValue(self.piece, 0),
            NextValue(self.ordered, 0),
            NextValue(self.status, STATUSES["OK"]),
            NextValue(self.op, first.op),
            NextValue(self.tag, first.tag),
            NextValue(self.burst, first.burst),
            NextValue(self.sector, first.lba),
            NextValue(self.left, first.count),
            NextValue(self.many, first.count != 1),
        ]


class SDCardDrive(LiteXModule):
    """The drive of the controller whose `medium` (hw.disk.medium) this is: the card at `pads`.

    Software wakes the card with commands of its own, and then sets the number of sectors: from then on it is a drive,
    which serves its requests one after the other. `io` as in CardPins."""
    def __init__(self, medium, pads, clock_hz, io, patience=PATIENCE, gap=GAP_CLOCKS):
        self.add_registers()

        # # #

        pins = CardPins(pads, clock_hz, io, patience)
        self.submodules += pins
        self.commands = Commands(pins, gap)
        self.queue    = ResetInserter()(stream.SyncFIFO(COMMAND, TAGS + 1))
        self.request  = Request()
        self.buffer   = BlockBuffer()
        self.block    = Block(pins, self.buffer, int(patience.busy * clock_hz))
        self.asked    = Signal()        # software's command waits
        self.ask      = Record([("argument", 32), *((field.name, field.size) for field in self.command.fields.fields)])
        self.mine     = Signal()        # the command under way is software's
        self.owed     = Signal(max=BUFFER_WORDS + 1)     # words that were requested and have not come
        self.takes    = Signal()        # data is requested
        # The card may be transferring data: it is, from one of these to the other.
        self.under_way, self.begins_work, self.ends_work = Signal(), Signal(), Signal()
        self.fails    = Signal()
        self.why      = Signal(3)
        self.card_bad = Signal()
        self.fsm = ResetInserter()(FSM(reset_state="RESET"))
        self.comb += [
            pins.divider.eq(Mux(self.divider.storage < LEAST_DIVIDER, LEAST_DIVIDER, self.divider.storage)),
            self.commands.block.eq(self.block.came),
            medium.command.connect(self.queue.sink),
            self.queue.reset.eq(medium.reset),
            self.fsm.reset.eq(medium.reset),
            medium.sectors.eq(self.sectors.storage),
        ]
        self.join_data(medium, pins)
        self.keep_account(medium)
        self.begin(pins)
        self.read(medium)
        self.write(medium)
        self.end(medium, pins)
        self.serve_software()

    def add_registers(self):
        self.divider = CSRStorage(9, reset=256, description="Cycles of the card's clock, of any moment: even, 4 "
            "or more; an odd number is taken as the one below, less than 4 as 4.")
        self.argument = CSRStorage(32, description="Of the next command.")
        self.command = CSRStorage(description="A write sends a command with `argument` as it is then, once no request "
            "is under way; ignored while `status.busy`.", fields=[
            CSRField("index", 6, description="Which."),
            CSRField("kind", 2, description="Its answer: 0 none, 1 short, 2 long, 3 short and busy behind it."),
            CSRField("checked", 1, description="The answer has an index and a CRC."),
            CSRField("wake", 1, description="No command: 80 clocks."),
        ])
        self.status = CSRStatus(description="Of that command.", fields=[
            CSRField("busy", 1, description="It is under way, or waits for a request to end."),
            CSRField("fault", 3, description="How it failed: as faults_last."),
        ])
        self.response = CSRStatus(128, description="The answer, until the card gets another command, of a request "
            "too; of a short one its 32 bits, the lowest here.")
        self.card = CSRStorage(description="The card, once it is awake. For commands of requests from now on.", fields=[
            CSRField("relative", 16, description="Its relative address."),
            CSRField("blocks", 1, description="It counts in blocks, and not in bytes: its capacity is high."),
        ])
        self.sectors = CSRStorage(32, description="Sectors of 512 bytes; 0: it is no drive. For requests from now on.")
        self.faults = CSRStatus(description="Requests and blocks that failed.", fields=[
            CSRField("last", 3, description="Why the last one did: 1 no answer, 2 a wrong one, 3 the card's status, "
                     "4 no data, 5 its CRC, 6 the card did not take it, 7 it stays busy."),
            CSRField("count", 16, description="How many, modulo 2^16."),
        ])

    def serve_software(self):
        """Software's command, and the result of its last one."""
        commands, asked, mine, fault = self.commands, self.asked, self.mine, Signal(3)
        begins = self.fsm.ongoing("IDLE") & asked & commands.started
        self.comb += [
            self.status.fields.busy.eq(asked | mine),
            self.status.fields.fault.eq(fault),
            self.response.status.eq(commands.response),
        ]
        self.sync += [
            If(self.command.re & ~asked & ~mine,
                asked.eq(1),
                self.ask.argument.eq(self.argument.storage),
                *(getattr(self.ask, field.name).eq(getattr(self.command.fields, field.name))
                  for field in self.command.fields.fields)
            ),
            If(mine & commands.done, mine.eq(0), fault.eq(commands.fault)),
            If(begins, asked.eq(0), mine.eq(1)),
        ]

    def join_data(self, medium, pins):
        """Words between the buffer and the controller."""
        request, buffer, up = self.request, self.buffer, self.block.up
        self.comb += [
            buffer.writing.eq(request.writing),
            pins.datar.sink.last.eq(request.left == 1),
            If(request.writing,
                buffer.word.eq(medium.data_out.data),
                medium.data_out.ready.eq((buffer.room != 0) & (self.owed != 0)),
                buffer.puts.eq(medium.data_out.valid & medium.data_out.ready),
            ).Else(
                buffer.word.eq(up.source.data),
                buffer.puts.eq(up.source.valid),
                medium.data_in.valid.eq(buffer.waits),
                buffer.goes.eq(medium.data_in.ready)
            ),
            medium.data_in.data.eq(buffer.first),
            medium.answer.tag.eq(request.tag),
        ]

    def keep_account(self, medium):
        """Outstanding words, whether the card is transferring data, and failures."""
        self.comb += self.card_bad.eq((self.commands.response[:32] & CARD_ERRORS) != 0)
        self.sync += [
            If(self.buffer.clear,
                self.owed.eq(0)
            ).Elif(self.takes,
                self.owed.eq(medium.answer.length)
            ).Elif(self.request.writing & self.buffer.puts,
                self.owed.eq(self.owed - 1)
            ),
            If(self.begins_work, self.under_way.eq(1)).Elif(self.ends_work, self.under_way.eq(0)),
            If(self.fails,
                self.faults.fields.last.eq(self.why),
                self.faults.fields.count.eq(self.faults.fields.count + 1)
            ),
        ]

    def order(self, state, index, argument, kind, then, *sent):
        """States that send a command and wait for its answer, and then do `then`."""
        commands = self.commands
        self.fsm.act(state,
            commands.go.eq(1),
            commands.index.eq(index),
            commands.argument.eq(argument),
            commands.kind.eq(kind),
            commands.checked.eq(1),
            If(commands.started,
                NextState(state + "-ANSWER")
            )
        )
        self.fsm.act(state + "-ANSWER", *sent, If(commands.done, NextState(state + "-LOOK")))
        self.fsm.act(state + "-LOOK", *then)

    def failed(self, reason):
        """Statements of a state: the request ends with this reason."""
        return [self.fails.eq(1), self.why.eq(reason), NextState("FAIL")]

    def answered(self, *then):
        """Statements of the state after an answer: if it is good, `then`."""
        return [
            If(self.commands.fault != FAULTS["NONE"],
                *self.failed(self.commands.fault)
            ).Elif(self.card_bad,
                *self.failed(FAULTS["CARD"])
            ).Else(*then)
        ]

    def ordered(self, command, *then):
        """Statements of a state: `then`, if the card has the command; else the command is sent."""
        return [
            If(self.request.ordered,
                *then
            ).Else(
                self.begins_work.eq(1),
                NextValue(self.request.ordered, 1),
                NextState(command)
            )
        ]

    def place(self):
        """The request's first sector, in the card's units."""
        sector = self.request.sector
        return Mux(self.card.fields.blocks, sector, sector << 9)

    def begin(self, pins):
        """From a reset to a request that needs the card."""
        fsm, commands, request, first = self.fsm, self.commands, self.request, self.queue.source
        fsm.act("RESET",
            self.buffer.clear.eq(1),
            pins.give_up.eq(1),
            If(commands.idle & ~self.mine,
                If(self.under_way,
                    NextState("HUSH")
                ).Else(
                    NextState("IDLE")
                )
            )
        )
        # The card stops whatever it is doing; an idle card ignores this.
        self.order("HUSH", STOP, 0, BUSY, [self.ends_work.eq(1), NextState("IDLE")])
        fsm.act("IDLE",
            *request.load(first),
            If(self.asked,
                commands.go.eq(1),
                *(getattr(commands, name).eq(getattr(self.ask, name)) for name, *_ in self.ask.layout),
                If(commands.started, NextState("SOFTWARE"))
            ).Elif(first.valid,
                first.ready.eq(1),
                NextState("LOOK")
            )
        )
        fsm.act("SOFTWARE", If(~self.mine, NextState("IDLE")))
        fsm.act("LOOK",
            NextState("DONE"),
            If(request.op > max(OPERATIONS.values()),
                NextValue(request.status, STATUSES["OPERATION"])
            ).Elif(request.op != OPERATIONS["FLUSH"],
                If(request.end > self.sectors.storage,
                    NextValue(request.status, STATUSES["RANGE"])
                ).Elif(request.op == OPERATIONS["DISCARD"],
                    NextValue(request.moved, request.left)
                ).Elif(request.left != 0,
                    If(request.reads, NextState("ROOM")),
                    If(request.writing, NextState("TAKE"))
                )
            )
        )

    def read(self, medium):
        """Blocks from the card, piece by piece."""
        fsm, request, block, buffer = self.fsm, self.request, self.block, self.buffer
        left, piece = request.left, request.piece
        # The card's clock stops between blocks until there is room for one.
        fsm.act("ROOM",
            If(buffer.room >= SECTOR_WORDS,
                *self.ordered("READ", block.begins.eq(1), NextState("READ-BLOCK"))
            )
        )
        # Data may come before the answer has ended.
        self.order("READ", Mux(request.many, READ_MULTIPLE, READ_SINGLE), self.place(), SHORT,
                   self.answered(NextState("READ-BLOCK")), block.begins.eq(self.commands.sent))
        fsm.act("READ-BLOCK",
            If(block.over,
                If(block.how != FAULTS["NONE"],
                    *self.failed(block.how)
                ).Elif(Cat(*block.sums) != 0,
                    *self.failed(FAULTS["DATA_CRC"])
                ).Else(
                    NextValue(left, left - 1),
                    NextValue(piece, piece + 1),
                    NextState("READ-NEXT")
                )
            )
        )
        fsm.act("READ-NEXT",
            If((piece == request.most) | (left == 0),
                medium.answer.valid.eq(1),
                medium.answer.kind.eq(ANSWERS["SEND"]),
                medium.answer.length.eq(piece << 6),
                If(medium.answer.ready,
                    buffer.keeps.eq(1),
                    NextValue(request.moved, request.moved + piece),
                    NextValue(piece, 0),
                    If(left != 0,
                        NextState("ROOM")
                    ).Elif(request.many,
                        NextState("READ-STOP")
                    ).Else(
                        NextState("DONE")
                    )
                )
            ).Else(
                NextState("ROOM")
            )
        )
        # The status may report that the card would have continued past its end.
        self.order("READ-STOP", STOP, 0, BUSY, [
            If(self.commands.fault != FAULTS["NONE"],
                *self.failed(self.commands.fault)
            ).Else(
                NextState("DONE")
            )])

    def write(self, medium):
        """Blocks to the card, piece by piece."""
        fsm, request, block, buffer = self.fsm, self.request, self.block, self.buffer
        left, piece, most, down = request.left, request.piece, request.most, self.block.down
        fsm.act("TAKE",
            medium.answer.valid.eq(1),
            medium.answer.kind.eq(ANSWERS["TAKE"]),
            medium.answer.length.eq(Mux(left < most, left, most) << 6),
            If(medium.answer.ready,
                self.takes.eq(1),
                NextValue(piece, Mux(left < most, left, most)),
                NextState("TAKEN")
            )
        )
        fsm.act("TAKEN",
            If(buffer.ready >= SECTOR_WORDS,
                *self.ordered("WRITE", block.begins.eq(1), NextState("WRITE-BLOCK"))
            )
        )
        self.order("WRITE", Mux(request.many, WRITE_MULTIPLE, WRITE_SINGLE), self.place(), SHORT,
                   self.answered(block.begins.eq(1), NextState("WRITE-BLOCK")))
        fsm.act("WRITE-BLOCK",
            buffer.goes.eq(down.sink.ready & down.sink.valid),
            If(block.over,
                If(block.how != FAULTS["NONE"],
                    *self.failed(block.how)
                ).Else(
                    NextValue(left, left - 1),
                    NextValue(request.moved, request.moved + 1),
                    NextValue(piece, piece - 1),
                    If(left == 1,
                        NextState("WRITE-STATUS"),
                        If(request.many, NextState("WRITE-STOP"))
                    ).Elif(piece == 1,
                        NextState("TAKE")
                    ).Else(
                        NextState("TAKEN")
                    )
                )
            )
        )
        # Errors that the card finds while busy after the end are only in the next status: that belongs to this request.
        self.order("WRITE-STOP", STOP, 0, BUSY, self.answered(NextState("WRITE-STATUS")))
        self.order("WRITE-STATUS", SEND_STATUS, self.card.fields.relative << 16, SHORT,
                   self.answered(NextState("DONE")))

    def end(self, medium, pins):
        """A request ends, well or not."""
        fsm, request, buffer = self.fsm, self.request, self.buffer
        writing = request.writing
        self.order("FAIL", STOP, 0, BUSY, [
            pins.give_up.eq(1),
            buffer.drops.eq(~writing),
            NextValue(request.status, STATUSES["MEDIUM"]),
            NextState("DRAIN")
        ], pins.give_up.eq(1))
        fsm.act("FAIL", pins.give_up.eq(1))
        # Requested data comes all the same.
        fsm.act("DRAIN",
            If(writing, buffer.goes.eq(1)),
            If(~writing | ((self.owed == 0) & buffer.empty),
                NextState("DONE")
            )
        )
        # A request's data leaves the buffer before that of the next one, which may go the other way, comes.
        fsm.act("DONE",
            self.ends_work.eq(1),
            medium.answer.valid.eq(buffer.empty),
            medium.answer.kind.eq(ANSWERS["DONE"]),
            medium.answer.status.eq(request.status),
            medium.answer.length.eq(request.moved),
            If(buffer.empty,
                buffer.keeps.eq(writing),
                If(medium.answer.ready, NextState("IDLE"))
            )
        )
