"""The port's interrupt causes beside errors: received data, idle time after them, room for more to send."""

from litex.gen import LiteXModule
from migen import Case, If, Mux, Signal

from hw.common.idle import Countdown
from hw.serial.line import BIT_CYCLES_WIDTH


def trigger_levels(depth):
    """Characters at which received data is available, by `FCR.TRIGGER`: 1, 4, 8, 14 at the 16550's depth of 16. Where
    this is 0, one character is needed anyway. `depth` is a number or a signal."""
    return [1, depth >> 2, depth >> 1, depth - (depth >> 3)]


class ReceivedData(LiteXModule):
    """Whether the trigger level is reached, and the automatic flow control from it: `filled` from then until the FIFO
    is empty."""
    def __init__(self, rx_fifo, has_data, fifo_on, trigger, depth):
        self.available = available = Signal()
        self.filled    = filled    = Signal()

        # # #

        level = Signal.like(rx_fifo.count)
        self.comb += [
            Case(trigger, {n: level.eq(at) for n, at in enumerate(trigger_levels(depth))}),
            available.eq(has_data & (~fifo_on | (rx_fifo.count >= level))),
        ]
        self.sync += filled.eq(has_data & (filled | available))


class ReceiveTimeout(LiteXModule):
    """`due` from the time at which there was neither a character nor a read for four character times while the FIFO is
    not empty, until it is read. arrives: a character has come."""
    def __init__(self, rx_fifo, has_data, arrives, bit_cycles, lcr):
        self.due = due = Signal()

        # # #

        timer     = Signal(BIT_CYCLES_WIDTH)
        bits_left = Signal(6)
        stop_bits = Signal(4)  # of four characters
        self.while_idle = [Countdown(timer)]
        self.comb += stop_bits.eq(Mux(lcr.stop, Mux(lcr.word == 0, 6, 8), 4))
        self.sync += [
            If(~has_data | arrives | rx_fifo.pop,
                timer.eq(bit_cycles - 1),
                bits_left.eq(((lcr.word + lcr.parity + 6) << 2) + stop_bits - 1)
            ).Elif(timer != 0,
                timer.eq(timer - 1)
            ).Elif(bits_left != 0,
                timer.eq(bit_cycles - 1),
                bits_left.eq(bits_left - 1)
            ).Else(
                due.eq(1)
            ),
            If(~has_data | rx_fifo.pop | rx_fifo.clear,
                due.eq(0)
            ),
        ]


class TransmitEmpty(LiteXModule):
    """`LSR.THRE` and `TEMT`, and the event `due`. It is delayed by a character less its last stop bit unless the FIFO
    has held two since it was last empty, so that a driver that sends one character per interrupt does not get two
    interrupts at once.

    switched: a change of mode clears the FIFOs. enabled: the interrupt is being enabled. seen, written: IIR has shown
    the event, THR is written, in this cycle."""
    def __init__(self, lsr, tx_fifo, transmitter, fifo_on, switched, enabled, seen, written):
        self.due = due = Signal()

        # # #

        empty     = Signal()
        was_empty = Signal(reset=1)
        held_two  = Signal(reset=1)
        self.comb += [
            empty.eq((tx_fifo.count == 0) & (~fifo_on | held_two | transmitter.idle | transmitter.last_stop)),
            lsr.thre.eq(empty),
            lsr.temt.eq((tx_fifo.count == 0) & transmitter.idle),
        ]
        self.sync += [
            If(tx_fifo.push & (tx_fifo.count == 0),
                held_two.eq(0)
            ),
            If((tx_fifo.count > 1) | switched,
                held_two.eq(1)
            ),
            was_empty.eq(empty),
            If(seen,
                due.eq(0)
            ),
            If(empty & (~was_empty | enabled),
                due.eq(1)
            ),
            If(written,
                due.eq(0)
            )
        ]
