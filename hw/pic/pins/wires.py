"""The two ends of one direction of the wires: symbols clocked by the sender, sampled by the receiver's own clock.

A symbol is a bit on each data wire, held for `symbol_cycles` cycles of the sender. In its middle the strobe toggles.
The receiver samples strobe and data in the same way and takes the data of the cycle in which it sees the strobe
changed: the data have been stable for half a symbol and stay so for another. So the clocks need not be related in any
way, as long as a receiver's period is no longer than half a symbol less the wires' skew (README.md).
"""

from litesdcard.crc import CRC
from litex.gen import LiteXModule
from migen import Case, Cat, Constant, If, Record, Signal
from migen.genlib.cdc import MultiReg
from migen.genlib.fsm import FSM, NextState, NextValue

from hw.pic.pins.frames import (
    BODY_BITS,
    CRC_BITS,
    CRC_POLYNOMIAL,
    HEADER_BITS,
    KIND_BITS,
    KINDS,
    LANES,
    body_bits,
    symbols,
)

SYMBOL_CYCLES = 4            # of the sender; even
QUIET_SYMBOLS = 2            # a receiver without a strobe for so long is between two frames,
GAP_SYMBOLS = 4              # and a sender leaves this much between them
MAX_CLOCK_RATIO = 1.5        # of the faster chip's clock to the slower one's
CRC_START = (1 << CRC_BITS) - 1


def pads_layout(lanes):
    """The pins of one chip; a cable connects its tx to the other's rx."""
    return [("tx_strobe", 1), ("tx_data", lanes), ("rx_strobe", 1), ("rx_data", lanes)]


def Pads(lanes, name=None):
    """Pins as signals, for chips that are simulated."""
    return Record(pads_layout(lanes), name=name)


def check(lanes, symbol_cycles):
    """ValueError for wires that cannot be built."""
    if lanes not in LANES:
        raise ValueError(f"{lanes} data wires in each direction cannot be built: give 1, 2 or 3")
    if symbol_cycles < SYMBOL_CYCLES or symbol_cycles % 2:
        raise ValueError(f"symbols of {symbol_cycles} cycles cannot be received: give an even number from "
                         f"{SYMBOL_CYCLES} up")


def frame_cycles(bits, lanes, symbol_cycles):
    """Cycles from the first bit of a frame with a body of `bits` bits until the next frame may begin."""
    total = symbols(HEADER_BITS, lanes) + symbols(bits, lanes) + symbols(CRC_BITS, lanes) + GAP_SYMBOLS
    return total * symbol_cycles


class Sender(LiteXModule):
    """Sends a frame, and leaves a gap after it."""
    def __init__(self, pads, symbol_cycles=SYMBOL_CYCLES):
        lanes = len(pads.tx_data)
        check(lanes, symbol_cycles)
        self.valid  = Signal()             # i: there is a frame; all below stay until `ready`
        self.ready  = Signal()             # o: it is being sent from here on
        self.header = Signal(HEADER_BITS)  # i
        self.body   = Signal(BODY_BITS)    # i: its first bit in front

        # # #

        self.frame = Signal(HEADER_BITS + BODY_BITS)    # the rest of it, its next symbol on top
        self.left  = Signal(max=symbols(BODY_BITS + HEADER_BITS, lanes) + 1)    # symbols after this one
        self.cycle = Signal(max=symbol_cycles)          # of this one
        self.first = Signal()
        self.last  = Signal()
        self.crc   = CRC(CRC_POLYNOMIAL, CRC_BITS, lanes, CRC_START)
        self.comb += [
            self.first.eq(self.cycle == 0),
            self.last.eq(self.cycle == symbol_cycles - 1),
            self.crc.din.eq(self.frame[-lanes:]),
        ]
        self.add_states(pads, lanes, symbol_cycles)

    def add_states(self, pads, lanes, symbol_cycles):
        frame, left, cycle, first, last, crc = self.frame, self.left, self.cycle, self.first, self.last, self.crc
        self.fsm = fsm = FSM(reset_state="READY")
        fsm.act("READY",
            self.ready.eq(1),
            crc.reset.eq(1),
            If(self.valid,
                NextValue(frame, Cat(self.body, self.header)),
                Case(self.header[-KIND_BITS:], {number:
                    NextValue(left, symbols(HEADER_BITS, lanes) + symbols(body_bits(kind), lanes) - 1)
                    for kind, (number, _) in KINDS.items()}),
                NextState("FRAME")
            )
        )
        symbol = [
            NextValue(cycle, cycle + 1),
            If(first,
                NextValue(pads.tx_data, frame[-lanes:])
            ),
            If(cycle == symbol_cycles // 2,
                NextValue(pads.tx_strobe, ~pads.tx_strobe)
            ),
        ]
        following = [
            NextValue(cycle, 0),
            NextValue(frame, frame << lanes),
            NextValue(left, left - 1),
        ]
        fsm.act("FRAME",
            *symbol,
            crc.enable.eq(first),
            If(last,
                *following,
                If(left == 0,
                    NextValue(frame, Cat(Constant(0, len(frame) - CRC_BITS), crc.crc)),
                    NextValue(left, symbols(CRC_BITS, lanes) - 1),
                    NextState("CHECKSUM")
                )
            )
        )
        fsm.act("CHECKSUM",
            *symbol,
            If(last,
                *following,
                If(left == 0,
                    NextValue(left, GAP_SYMBOLS - 1),
                    NextState("GAP")
                )
            )
        )
        fsm.act("GAP",
            NextValue(cycle, cycle + 1),
            If(last,
                NextValue(cycle, 0),
                NextValue(left, left - 1),
                If(left == 0,
                    NextState("READY")
                )
            )
        )


class Receiver(LiteXModule):
    """Receives frames from the wires. A wrong one is dropped, and what follows it until the wires are quiet."""
    def __init__(self, pads, symbol_cycles=SYMBOL_CYCLES):
        lanes = len(pads.rx_data)
        check(lanes, symbol_cycles)
        self.received = Signal()             # o: pulse: a frame, in the outputs below
        self.wrong    = Signal()             # o: pulse: a frame has been dropped
        self.header   = Signal(HEADER_BITS)  # o
        self.body     = Signal(BODY_BITS)    # o: its last bit is bit 0; bits above it are undefined

        # # #

        self.symbol  = Signal()             # one comes: `data`
        self.data    = Signal(lanes)
        self.silence = Signal(max=QUIET_SYMBOLS * symbol_cycles + 1, reset=QUIET_SYMBOLS * symbol_cycles)
        self.left    = Signal(max=symbols(BODY_BITS, lanes) + 1)    # symbols of this part after this one
        self.header_symbols = symbols(HEADER_BITS, lanes)
        self.crc     = CRC(CRC_POLYNOMIAL, CRC_BITS, lanes, CRC_START)
        self.fsm     = FSM(reset_state="SKIP")
        self.add_sampling(pads, symbol_cycles)
        self.add_header(lanes)
        self.add_body(lanes)

    def add_sampling(self, pads, symbol_cycles):
        """A symbol comes with a change of the strobe. The wires are quiet when `silence` has run out."""
        symbol, silence = self.symbol, self.silence
        strobe = Signal()
        before = Signal()
        self.specials += MultiReg(pads.rx_strobe, strobe), MultiReg(pads.rx_data, self.data)
        self.sync += before.eq(strobe)
        self.comb += [
            symbol.eq(strobe != before),
            self.crc.din.eq(self.data),
            self.crc.enable.eq(symbol),
        ]
        self.sync += If(symbol,
            silence.eq(QUIET_SYMBOLS * symbol_cycles)
        ).Elif(silence != 0,
            silence.eq(silence - 1)
        )

    def next_frame(self):
        return NextValue(self.left, self.header_symbols - 1), NextState("HEADER")

    def cut_short(self):
        """The frame, if the wires are quiet."""
        return If(self.silence == 0, self.wrong.eq(1), *self.next_frame())

    def add_header(self, lanes):
        """Decodes the header once it is whole. The first one may begin in the middle of a frame."""
        whole, known, left, symbol = Signal(HEADER_BITS), Signal(), self.left, self.symbol
        body_symbols = Signal.like(left)
        self.comb += [
            whole.eq(Cat(self.data, self.header)),
            Case(whole[-KIND_BITS:], {number: [known.eq(1), body_symbols.eq(symbols(body_bits(kind), lanes))]
                for kind, (number, _) in KINDS.items()}),
        ]
        self.fsm.act("SKIP",
            If(~symbol & (self.silence == 0), *self.next_frame())
        )
        self.fsm.act("HEADER",
            self.crc.reset.eq((left == self.header_symbols - 1) & ~symbol),
            If(symbol,
                NextValue(self.header, whole),
                NextValue(left, left - 1),
                If(left == 0,
                    NextValue(left, body_symbols - 1),
                    NextState("BODY"),
                    If(body_symbols == 0,
                        NextValue(left, symbols(CRC_BITS, lanes) - 1),
                        NextState("CHECKSUM")
                    ),
                    If(~known,
                        self.wrong.eq(1),
                        NextState("SKIP")
                    )
                )
            ).Elif(left != self.header_symbols - 1,
                self.cut_short()
            )
        )

    def add_body(self, lanes):
        """Receives the body, and the checksum after it."""
        left, symbol = self.left, self.symbol
        good = Signal()
        self.sync += self.received.eq(good)   # through a register, for clock rate
        self.fsm.act("BODY",
            If(symbol,
                NextValue(self.body, Cat(self.data, self.body)),
                NextValue(left, left - 1),
                If(left == 0,
                    NextValue(left, symbols(CRC_BITS, lanes) - 1),
                    NextState("CHECKSUM")
                )
            ).Else(
                self.cut_short()
            )
        )
        self.fsm.act("CHECKSUM",
            If(symbol,
                NextValue(left, left - 1),
                If(left == 0,
                    *self.next_frame(),
                    If(self.crc.crc == 0,
                        good.eq(1)
                    ).Else(
                        self.wrong.eq(1),
                        NextState("SKIP")
                    )
                )
            ).Else(
                self.cut_short()
            )
        )
