"""LiteEth's management registers with an Ethernet PHY behind them."""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import Case, Cat, If, Mux, Signal

ADDRESS = 1
IDENTIFIER = 0x00221622
STATUS_LINK = 1 << 2
STATUS_ALWAYS = 0x7849


class ManagedPHY(LiteXModule):
    """The CSRs are those of LiteEthPHYMDIO; `silent` and `unplugged` plant faults. Reads only."""
    def __init__(self):
        self.silent    = Signal()   # i: nothing is answered
        self.unplugged = Signal()   # i: no link
        self.w = CSRStorage(fields=[CSRField("mdc", size=1), CSRField("oe", size=1), CSRField("w", size=1)])
        self.r = CSRStatus(fields=[CSRField("r", size=1)])

        # # #

        clock, before, edge, line = Signal(), Signal(), Signal(), Signal()
        self.comb += [
            clock.eq(self.w.fields.mdc),
            edge.eq(clock & ~before),
            line.eq(Mux(self.w.fields.oe, self.w.fields.w, 1)),   # pulled up
        ]
        self.sync += before.eq(clock)

        # A read: 32 ones, 01, 10, five bits of the PHY's address, five of the register's; then a turn-around, 16 bits.
        taken, now = Signal(46), Signal(46)
        register = Signal(5)
        value    = Signal(16)
        self.comb += [
            now.eq(Cat(line, taken)),
            register.eq(now[:5]),
            Case(register, {
                1: value.eq(STATUS_ALWAYS | Mux(self.unplugged, 0, STATUS_LINK)),
                2: value.eq(IDENTIFIER >> 16),
                3: value.eq(IDENTIFIER & 0xffff),
                "default": value.eq(0),
            }),
        ]
        answer = Signal(18, reset=~0)   # nothing for a bit, 0 for a bit, the value
        self.sync += If(edge,
            taken.eq(now),
            answer.eq(Cat(1, answer)),
            If((now[5:] == (0xffffffff << 9 | 0b0110 << 5 | ADDRESS)) & ~self.silent, answer.eq(1 << 17 | value))
        )
        self.comb += self.r.fields.r.eq(answer[-1])
