"""The two halves of the line: receiver and transmitter of start/stop characters.

Both count system clock cycles: `bit_cycles` is the length of one bit. A new value takes effect at the next bit
boundary. `lcr` is the line control register, a record of its fields, and gives both the format of a character.
"""

from litex.gen import LiteXModule
from migen import Cat, If, Mux, Signal
from migen.genlib.fsm import FSM, NextState, NextValue

BIT_CYCLES_WIDTH = 20  # 16 bits of divisor latch and 4 of its fraction
MIN_BIT_CYCLES = 4     # below that a sample cannot be kept off the edges of its bit


class Receiver(LiteXModule):
    """Takes characters off a line.

    A falling line starts a character; it is sampled again half a bit later and dropped if it has risen (a glitch). From
    there every bit is sampled in its middle. `valid` pulses in the cycle that samples the first stop bit.

    A low stop bit is a framing error, and if the whole character was low a break. Either is reported once: the line has
    to rise before the next character.
    """
    def __init__(self, lcr):
        self.rx         = Signal(reset=1)           # i: the line, synchronised
        self.bit_cycles = Signal(BIT_CYCLES_WIDTH)  # i: cycles of one bit, at least MIN_BIT_CYCLES
        self.valid          = Signal()   # o: pulse: the outputs below hold a character
        self.data           = Signal(8)  # o: the character, unused high bits zero
        self.parity_error   = Signal()   # o: its parity bit is wrong
        self.framing_error  = Signal()   # o: its stop bit is low
        self.break_detected = Signal()   # o: nothing but low from the start bit to the stop bit

        # # #

        self.timer = Signal(BIT_CYCLES_WIDTH)
        self.tick  = Signal()       # the middle of a bit
        self.half  = Signal()       # the falling edge
        self.seen_high = Signal()   # since the start bit
        self.fsm = FSM(reset_state="IDLE")
        self.add_timing()
        self.add_start()
        self.add_bits(lcr)
        self.add_stop()

    def add_timing(self):
        """Times half a bit from the falling edge, whole bits from there."""
        timer = self.timer
        self.comb += self.tick.eq(timer == 0)
        self.sync += [
            timer.eq(timer - 1),
            If(self.half,
                timer.eq(self.bit_cycles[1:] - 1)
            ).Elif(self.tick,
                timer.eq(self.bit_cycles - 1)
            )
        ]

    def add_start(self):
        self.fsm.act("IDLE",
            If(~self.rx,
                self.half.eq(1),
                NextState("START")
            )
        )
        self.fsm.act("START",
            NextValue(self.seen_high, 0),
            If(self.tick,
                If(self.rx,
                    NextState("IDLE")
                ).Else(
                    NextState("DATA")
                )
            )
        )

    def add_bits(self, lcr):
        """Those of the character and its parity."""
        fsm, tick, seen_high = self.fsm, self.tick, self.seen_high
        bits_left = Signal(3)
        shift     = Signal(8)
        parity    = Signal()
        wrong     = Signal()
        # The first bit has been shifted to bit 8 - length.
        aligned = [shift[8 - length:] for length in range(5, 9)]
        self.comb += [
            self.data.eq(Mux(lcr.word[1],
                Mux(lcr.word[0], aligned[3], aligned[2]),
                Mux(lcr.word[0], aligned[1], aligned[0]))),
            self.parity_error.eq(wrong),
        ]
        fsm.act("START",
            NextValue(bits_left, Cat(lcr.word, 1)),
            NextValue(parity, ~lcr.even),
            NextValue(wrong, 0)
        )
        fsm.act("DATA",
            If(tick,
                NextValue(shift, Cat(shift[1:], self.rx)),
                NextValue(parity, parity ^ (self.rx & ~lcr.stick)),
                NextValue(seen_high, seen_high | self.rx),
                NextValue(bits_left, bits_left - 1),
                If(bits_left == 0,
                    If(lcr.parity,
                        NextState("PARITY")
                    ).Else(
                        NextState("STOP")
                    )
                )
            )
        )
        fsm.act("PARITY",
            If(tick,
                NextValue(wrong, parity ^ self.rx),
                NextValue(seen_high, seen_high | self.rx),
                NextState("STOP")
            )
        )

    def add_stop(self):
        self.comb += [
            self.framing_error.eq(~self.rx),
            self.break_detected.eq(~self.rx & ~self.seen_high),
        ]
        self.fsm.act("STOP",
            If(self.tick,
                self.valid.eq(1),
                If(self.rx,
                    NextState("IDLE")
                ).Else(
                    NextState("LOW")
                )
            )
        )
        self.fsm.act("LOW",
            If(self.rx,
                NextState("IDLE")
            )
        )


class Transmitter(LiteXModule):
    """Puts characters on a line, without a gap between two that follow each other."""
    def __init__(self, lcr):
        self.bit_cycles = Signal(BIT_CYCLES_WIDTH)  # i: cycles of one bit, at least MIN_BIT_CYCLES
        self.valid = Signal()         # i: `data` holds a character to send
        self.data  = Signal(8)        # i: the character, low bits first
        self.ready = Signal()         # o: the character is taken in this cycle
        self.tx    = Signal(reset=1)  # o: the line, one cycle behind the state
        self.idle  = Signal()         # o: no character is under way
        self.last_stop = Signal()     # o: the last stop bit is under way

        # # #

        self.timer = Signal(BIT_CYCLES_WIDTH + 1)   # one and a half bits fit
        self.tick  = Signal()       # the end of a bit
        self.start = Signal()       # the next one is a character's first,
        self.long_stop = Signal()   # or is half as long again
        self.level = Signal()
        self.shift = Signal(8)
        self.fsm = FSM(reset_state="IDLE")
        self.add_timing()
        self.fsm.act("IDLE",
            self.level.eq(1),
            self.idle.eq(1),
            *self.take()
        )
        self.add_bits(lcr)
        self.add_stop_bits()

    def add_timing(self):
        timer = self.timer
        self.comb += self.tick.eq(timer == 0)
        self.sync += [
            timer.eq(timer - 1),
            If(self.start | self.tick,
                timer.eq(self.bit_cycles - 1),
                If(self.long_stop,
                    timer.eq(self.bit_cycles + self.bit_cycles[1:] - 1)
                )
            ),
            self.tx.eq(self.level)
        ]

    def take(self):
        return [
            self.ready.eq(1),
            If(self.valid,
                self.start.eq(1),
                NextValue(self.shift, self.data),
                NextState("START")
            )
        ]

    def add_bits(self, lcr):
        """Those of the character and its parity."""
        fsm, tick, shift = self.fsm, self.tick, self.shift
        bits_left = Signal(3)
        parity    = Signal()
        stop = [
            If(lcr.stop & (lcr.word != 0),
                NextState("FIRST_STOP")
            ).Else(
                self.long_stop.eq(lcr.stop),
                NextState("LAST_STOP")
            )
        ]
        fsm.act("START",
            NextValue(bits_left, Cat(lcr.word, 1)),
            NextValue(parity, ~lcr.even),
            If(tick,
                NextState("DATA")
            )
        )
        fsm.act("DATA",
            self.level.eq(shift[0]),
            If(tick,
                NextValue(shift, shift[1:]),
                NextValue(parity, parity ^ (shift[0] & ~lcr.stick)),
                NextValue(bits_left, bits_left - 1),
                If(bits_left == 0,
                    If(lcr.parity,
                        NextState("PARITY")
                    ).Else(*stop)
                )
            )
        )
        fsm.act("PARITY",
            self.level.eq(parity),
            If(tick, *stop)
        )

    def add_stop_bits(self):
        self.fsm.act("FIRST_STOP",
            self.level.eq(1),
            If(self.tick,
                NextState("LAST_STOP")
            )
        )
        self.fsm.act("LAST_STOP",
            self.level.eq(1),
            self.last_stop.eq(1),
            If(self.tick,
                NextState("IDLE"),
                *self.take()
            )
        )
