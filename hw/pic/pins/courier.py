"""Carries messages between two chips over wires that may lose or change them: each exactly once, and in order.

It is the alternating bit protocol (Bartlett, Scantlebury, Wilkinson, CACM 12(5), 1969) in both directions at once: a
message waits for its acknowledgement before the next one is sent, and is repeated until it comes. Acknowledgements are
carried by whatever goes the other way.
"""

from litex.gen import LiteXModule
from migen import Cat, If, Mux, Signal

from hw.common.idle import Countdown
from hw.pic.pins.frames import BODY_BITS, KIND_BITS, NUMBERS, body_bits
from hw.pic.pins.wires import MAX_CLOCK_RATIO, SYMBOL_CYCLES, Receiver, Sender, frame_cycles

ACK_CYCLES = 16      # that an acknowledgement waits for a frame to carry it
WORK_CYCLES = 40     # most until a message is answered, with two synchronisations
ATTEMPTS = 16        # to send a message


def patience(lanes, symbol_cycles=SYMBOL_CYCLES):
    """Cycles after which a message without acknowledgement is sent again. They cover the message, the frame that the
    other chip is sending already, and the answer."""
    longest = max(frame_cycles(body_bits(kind), lanes, symbol_cycles) for kind in ("SOURCES", "WRITE"))
    answers = 2 * frame_cycles(body_bits("ANSWER"), lanes, symbol_cycles)
    return longest + int(MAX_CLOCK_RATIO * (answers + ACK_CYCLES + WORK_CYCLES))


def in_order(kind):
    """Whether a message of this kind is numbered and acknowledged: JOIN and JOINED start the numbering."""
    return (kind != NUMBERS["JOIN"]) & (kind != NUMBERS["JOINED"])


class Courier(LiteXModule):
    """One end. What is received is valid in the cycle of `received` only.

    JOIN and JOINED are outside of the order, and sent once."""
    def __init__(self, pads, symbol_cycles=SYMBOL_CYCLES):
        self.valid    = Signal()           # i: there is a message,
        self.kind     = Signal(KIND_BITS)  # i: of this kind (frames.NUMBERS),
        self.body     = Signal(BODY_BITS)  # i: from frames.body()
        self.ready    = Signal()           # o: it is taken in this cycle
        self.received      = Signal()           # o: pulse: a message,
        self.received_kind = Signal(KIND_BITS)  # o: of this kind,
        self.received_body = Signal(BODY_BITS)  # o: for frames.field()
        self.restart  = Signal()           # i: drop all messages, restart the numbering
        self.gave_up  = Signal()           # o: pulse: a message was sent `ATTEMPTS` times without answer
        self.resent   = Signal()           # o: pulse: a message is sent again
        self.wrong    = Signal()           # o: pulse: a frame was corrupted or cut short, and is dropped

        # # #

        self.sender   = Sender(pads, symbol_cycles)
        self.receiver = Receiver(pads, symbol_cycles)
        self.waiting  = Signal()     # for the acknowledgement of a message
        self.to_send  = Signal()     # it is to be sent, or sent again
        self.sequence = Signal()     # its number, of two
        self.expected = Signal()     # that of the next message received
        self.owed     = Signal()     # an acknowledgement,
        self.ack_left = Signal(max=ACK_CYCLES + 1)  # in so many cycles
        self.add_sending(patience(len(pads.tx_data), symbol_cycles))
        self.add_receiving()

    def add_sending(self, patience):
        sender, waiting, to_send, owed, ack_left = self.sender, self.waiting, self.to_send, self.owed, self.ack_left
        kind    = Signal(KIND_BITS)
        body    = Signal(BODY_BITS)
        left    = Signal(max=patience + 1)
        attempt = Signal(max=ATTEMPTS)
        late    = Signal()
        self.comb += [
            self.ready.eq(~waiting & ~to_send),
            late.eq(waiting & ~to_send & (left == 0)),
            self.resent.eq(late),
            self.gave_up.eq(late & (attempt == ATTEMPTS - 1)),
            sender.valid.eq(to_send | (owed & (ack_left == 0))),
            sender.header.eq(Cat(~self.expected, self.sequence, Mux(to_send, kind, NUMBERS["ACK"]))),
            sender.body.eq(body),
        ]
        self.sync += [
            If(ack_left != 0,
                ack_left.eq(ack_left - 1)
            ),
            If(left != 0,
                left.eq(left - 1)
            ),
            If(late,
                to_send.eq(1),
                attempt.eq(attempt + 1)
            ),
            If(sender.valid & sender.ready,
                to_send.eq(0),
                owed.eq(0),
                If(to_send,
                    left.eq(patience)
                )
            ),
            If(self.valid & self.ready,
                kind.eq(self.kind),
                body.eq(self.body),
                to_send.eq(1),
                waiting.eq(in_order(self.kind)),
                attempt.eq(0)
            ),
        ]
        self.while_idle = [Countdown(left), Countdown(ack_left)]

    def add_receiving(self):
        """A repeated message is acknowledged again."""
        receiver, expected = self.receiver, self.expected
        acknowledged, its_sequence, its_kind = receiver.header[0], receiver.header[1], receiver.header[2:]
        ordered = Signal()
        self.comb += [
            ordered.eq(in_order(its_kind) & (its_kind != NUMBERS["ACK"])),
            self.received.eq(receiver.received & (~in_order(its_kind) | (ordered & (its_sequence == expected)))),
            self.received_kind.eq(its_kind),
            self.received_body.eq(receiver.body),
            self.wrong.eq(receiver.wrong),
        ]
        self.sync += [
            If(receiver.received & self.waiting & (acknowledged == self.sequence),
                self.waiting.eq(0),
                self.to_send.eq(0),
                self.sequence.eq(~self.sequence)
            ),
            If(receiver.received & ordered,
                expected.eq(~its_sequence),
                self.owed.eq(1),
                self.ack_left.eq(Mux(its_sequence == expected, ACK_CYCLES, 0))
            ),
            If(self.restart,
                self.waiting.eq(0),
                self.to_send.eq(0),
                self.sequence.eq(0),
                expected.eq(0),
                self.owed.eq(0)
            ),
        ]
