"""An SD card's protocol: commands and their answers, at its pins, on LiteSDCard's parts."""

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
from migen import FSM, Case, Cat, Constant, If, Mux, NextState, NextValue, Record, ResetInserter, Signal

ANSWER_KINDS = {"NONE": SDCARD_CTRL_RESPONSE_NONE, "SHORT": SDCARD_CTRL_RESPONSE_SHORT,
                "LONG": SDCARD_CTRL_RESPONSE_LONG, "BUSY": SDCARD_CTRL_RESPONSE_SHORT_BUSY}
# How a command or a block fails.
FAULTS = {"NONE": 0, "NO_ANSWER": 1, "ANSWER": 2, "CARD": 3, "NO_DATA": 4, "DATA_CRC": 5, "NOT_WRITTEN": 6, "BUSY": 7}

# Of the SD specification, part 1 (physical layer, simplified), 4.7.4.
STOP, SEND_STATUS, READ_SINGLE, READ_MULTIPLE, WRITE_SINGLE, WRITE_MULTIPLE = 12, 13, 17, 18, 24, 25
# Bits of a card's status (4.10.1) that concern the current command, or the data before: OUT_OF_RANGE to WP_VIOLATION,
# LOCK_UNLOCK_FAILED, CARD_ECC_FAILED, CC_ERROR, ERROR. Two others concern the command before, which had no answer
# then.
CARD_ERRORS = 0xfd38_0000
CRC_BYTES = 8               # after a block on four lines, 16 bits each
WAKE_BYTES = 10             # 80 clocks: a card asks for 74 before the first command (6.4.1)
# After an answer LiteSDCard holds the command line high for 8 clocks and does not wait for their end: a command that
# begins meanwhile is lost in them. And a card needs 8 idle clocks (4.12.4).
GAP_CLOCKS = 16
# After the last block of a read it gives the card 40 clocks: each byte of a command would be a bit longer in them.
BLOCK_CLOCKS = 40


@dataclass(frozen=True)
class Patience:
    """Time-outs for a card, in seconds. The longest that the specification allows, and some more: 64 clocks until an
    answer at 400 kHz, 100 ms for data, 500 ms for writes (4.6.2, 4.12.1)."""

    answer: float = 0.002
    data: float = 0.25
    busy: float = 1.0


def crc(remainder, bits, polynomial):
    """The remainder after `bits`, a list with the first one first, with `remainder` as the remainder before them: a
    list of expressions, low bit first."""
    remainder = list(remainder)
    for bit in bits:
        feedback = bit ^ remainder[-1]
        remainder = [feedback if n == 0 else (remainder[n - 1] ^ feedback if polynomial >> n & 1 else remainder[n - 1])
                     for n in range(len(remainder))]
    return remainder


class CardPins(LiteXModule):
    """LiteSDCard's PHY, from its parts: with a choice of the pads' class and all times, and data that can be aborted.

    io: a class as litesdcard.phy.SDPHYIOGen, for `pads`."""
    def __init__(self, pads, clock_hz, io, patience):
        self.divider = Signal(9)
        self.give_up = Signal()     # i: drop the block under way

        # # #

        # Modules with CSRs are hidden from LiteX: the registers are the drive's.
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
        self.high   = Signal()      # o: no data line is held low
        self.comb += self.high.eq(sdpads.data_i_ce & (sdpads.data.i == 15))
        self.cmdw, self.cmdr, self.dataw, self.datar = cmdw.sink, cmdr, dataw, datar

    def get_csrs(self, sort=False):
        return []


class Commands(LiteXModule):
    """A command to the card and its answer, one at a time, with the gap after it. No command begins in the gap.

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
        self.sent     = Signal()        # o: for a cycle: the command has been sent
        self.done     = Signal()        # o: for a cycle: it has been answered, or has timed out
        self.fault    = Signal(3)       # o: with `done`, and until the next one begins: FAULTS
        self.response = Signal(128)     # o: without its first byte, and of a short answer without its last

        # # #

        self.count   = Signal(max=32)   # of the bytes sent, or received
        self.index_now, self.argument_now, self.kind_now = Signal(6), Signal(32), Signal(2)     # of the one under way
        self.checked_now, self.wake_now = Signal(), Signal()
        self.wrong   = Signal()         # so is its answer
        self.sum7    = Signal(7)        # CRC of what was sent, or received
        self.byte    = Signal(8)
        self.adds    = Signal()         # the byte to it
        self.clears  = Signal()
        self.rest    = Signal(max=gap + BLOCK_CLOCKS + 1)   # of the gap, in clocks
        self.add_gap(pins, gap)
        self.add_sum()
        self.fsm = FSM(reset_state="IDLE")
        self.add_begin()
        self.add_sending(pins.cmdw)
        self.add_answer(pins.cmdr)
        self.fsm.act("DONE",
            self.done.eq(1),
            NextState("IDLE")
        )

    def add_gap(self, pins, gap):
        self.sync += If(self.block,
            self.rest.eq(gap + BLOCK_CLOCKS)
        ).Elif(self.done,
            self.rest.eq(gap)
        ).Elif((self.rest != 0) & pins.clock,
            self.rest.eq(self.rest - 1)
        )

    def add_sum(self):
        self.sync += If(self.clears,
            self.sum7.eq(0)
        ).Elif(self.adds,
            self.sum7.eq(Cat(*crc(self.sum7, [self.byte[7 - n] for n in range(8)], 0x09)))
        )

    def add_begin(self):
        self.fsm.act("IDLE",
            self.idle.eq(self.rest == 0),
            self.clears.eq(1),
            NextValue(self.count, 0),
            If(self.go & (self.rest == 0),
                self.started.eq(1),
                NextValue(self.fault, FAULTS["NONE"]),
                NextValue(self.wrong, 0),
                NextValue(self.index_now, self.index),
                NextValue(self.argument_now, self.argument),
                NextValue(self.kind_now, Mux(self.wake, ANSWER_KINDS["NONE"], self.kind)),
                NextValue(self.checked_now, self.checked),
                NextValue(self.wake_now, self.wake),
                NextState("SEND")
            )
        )

    def add_sending(self, cmdw):
        count, byte, wake = self.count, self.byte, self.wake_now
        last = Signal()
        self.comb += [
            cmdw.cmd_type.eq(self.kind_now),
            cmdw.last.eq(last),
            cmdw.data.eq(byte),
            last.eq(count == Mux(wake, WAKE_BYTES - 1, 5)),
        ]
        self.fsm.act("SEND",
            cmdw.valid.eq(1),
            Case(count, {
                0: byte.eq(Cat(self.index_now, Constant(1, 2))),
                **{1 + n: byte.eq(self.argument_now[24 - 8 * n:32 - 8 * n]) for n in range(4)},
                "default": byte.eq(Cat(1, self.sum7)),
            }),
            If(wake, byte.eq(0xff)),
            If(cmdw.ready,
                self.adds.eq(1),
                NextValue(count, count + 1),
                If(last,
                    self.sent.eq(1),
                    self.clears.eq(1),
                    NextValue(count, 0),
                    If(self.kind_now == ANSWER_KINDS["NONE"],
                        NextState("DONE")
                    ).Else(
                        NextState("ANSWER")
                    )
                )
            )
        )

    def add_answer(self, cmdr):
        """LiteSDCard keeps the last byte of an answer before busy, and its CRC: the last one received is neither."""
        count, byte, kind, checked = self.count, self.byte, self.kind_now, self.checked_now
        long     = Signal()
        expected = Signal(8)
        self.comb += [
            long.eq(kind == ANSWER_KINDS["LONG"]),
            expected.eq(Mux(long, 0x3f, self.index_now)),
            cmdr.sink.cmd_type.eq(kind),
            cmdr.sink.data_type.eq(SDCARD_CTRL_DATA_TRANSFER_NONE),
            cmdr.sink.length.eq(Mux(long, 17, 6)),
        ]
        self.fsm.act("ANSWER",
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
                    self.adds.eq(1),
                    If(long & (count == 0),
                        self.clears.eq(1)        # its CRC is that of the register that it carries
                    ),
                    If(long | ~cmdr.source.last,
                        NextValue(self.response, Cat(byte, self.response))
                    ),
                    If((count == 0) & checked & (byte != expected),
                        NextValue(self.wrong, 1)
                    ),
                    If(cmdr.source.last,
                        If(self.wrong | (checked & (kind != ANSWER_KINDS["BUSY"]) & (byte != Cat(1, self.sum7))),
                            NextValue(self.fault, FAULTS["ANSWER"])
                        ),
                        NextState("DONE")
                    )
                )
            )
        )
