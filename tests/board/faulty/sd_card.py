"""An SD card of one block, high capacity, as far as it takes to read it: no CRC, which LiteSDCard does not look at."""

from litex.gen import LiteXModule
from migen import Case, Cat, Constant, If, Mux, Record, Replicate, Signal

PADS = [("clk", 1), ("cmd_i", 1), ("cmd_o", 1), ("cmd_t", 1), ("dat_i", 4), ("dat_o", 4), ("dat_t", 4)]
OCR = 0xc0ff8000        # ready, high capacity, 2.7 to 3.6 V
RELATIVE = 0x4a170000   # address
STATUS = 0x900
IDENTITY = 0x5a << 120 | 1
BLOCK = bytes((7 * i + 3) & 0xff for i in range(512))
GO_IDLE, SEND_CID, SEND_ADDRESS, SEND_IF_COND, READ, OP_COND = 0, 2, 3, 8, 17, 41
DELAY = 4               # clocks before an answer
DATA_DELAY = 63         # clocks before the data: behind the answer
UNSTEADY_NIBBLE = 100


class SDCard(LiteXModule):
    """`pads` are the card's, named as those of LiteSDCard's emulator. It takes what is there at a falling edge of
    `pads.clk`, which is the clock's rising edge at a real card, and changes what it sends behind it."""
    def __init__(self):
        self.pads = pads = Record(PADS)
        self.absent   = Signal()    # i: nothing is answered
        self.unsteady = Signal()    # i: a bit of the block is another one in each second read

        # # #

        before, edge = Signal(reset=1), Signal()
        self.sync += before.eq(pads.clk)
        self.comb += edge.eq(~pads.clk & before)

        # Commands: 48 bits from the start bit on.
        taken   = Signal(48)
        now     = Signal(48)
        left    = Signal(max=48)
        index   = Signal(6)
        command = Signal()
        self.comb += [
            now.eq(Cat(pads.cmd_i, taken)),
            index.eq(now[40:46]),
            command.eq(edge & (left == 1) & ~self.absent & (index != GO_IDLE)),
        ]
        self.sync += If(edge,
            taken.eq(now),
            If(left != 0,
                left.eq(left - 1)
            ).Elif(~pads.cmd_i,
                left.eq(47)
            )
        )

        # Answers: high for a while, then 48 or 136 bits, the highest first.
        answer = Signal(DELAY + 136, reset=~0)
        to_go  = Signal(max=len(answer) + 1)
        value  = Signal(32)
        self.comb += [
            Case(index, {SEND_IF_COND: value.eq(now[8:40]), OP_COND: value.eq(OCR), SEND_ADDRESS: value.eq(RELATIVE),
                         "default": value.eq(STATUS)}),
            pads.cmd_o.eq(answer[-1]),
            pads.cmd_t.eq(to_go == 0),
        ]
        idle, end = Replicate(1, DELAY), Constant(0xff, 8)
        self.sync += If(command,
            If(index == SEND_CID,
                answer.eq(Cat(Constant(IDENTITY, 128), Constant(0x3f, 8), idle)),
                to_go.eq(DELAY + 136)
            ).Else(
                answer.eq(Cat(Constant(0, 88), end, value, index, Constant(0, 2), idle)),
                to_go.eq(DELAY + 48)
            )
        ).Elif(edge & (to_go != 0),
            answer.eq(answer << 1),
            to_go.eq(to_go - 1)
        )

        # Data on four lines: a start, the block, the CRC, an end.
        nibbles = [0, *(nibble for byte in BLOCK for nibble in (byte >> 4, byte & 15)), *[0] * 16, 15]
        place   = Signal(max=len(nibbles))
        wait    = Signal(max=DATA_DELAY + 1)
        sending = Signal()
        second  = Signal()
        nibble  = Signal(4)
        self.comb += [
            Case(place, {i: nibble.eq(content) for i, content in enumerate(nibbles)}),
            pads.dat_o.eq(nibble ^ Mux(place == UNSTEADY_NIBBLE, second & self.unsteady, 0)),
            pads.dat_t.eq(Replicate(~sending, 4)),
        ]
        self.sync += If(command & (index == READ),
            wait.eq(DATA_DELAY),
            second.eq(~second)
        ).Elif(edge & (wait != 0),
            wait.eq(wait - 1),
            sending.eq(wait == 1),
            place.eq(0)
        ).Elif(edge & sending,
            place.eq(place + 1),
            sending.eq(place != len(nibbles) - 1)
        )
