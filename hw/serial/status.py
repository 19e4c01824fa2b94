"""The status registers: of the line, whose errors stay with their characters, and of the modem."""

from litex.gen import LiteXModule
from migen import Cat, If, Mux, Signal

from hw.serial.registers import REGISTERS


class LineStatus(LiteXModule):
    """`LSR` except the transmitter's half. Errors are set when their character reaches the head of `rx_fifo`, and stay
    until the register is read.

    lsr: the register's record. looked, taken: LSR, RBR are read in this cycle."""
    def __init__(self, lsr, rx_fifo, fifo_on, looked, taken):
        self.has_data = has_data = Signal()    # o: there is a character
        self.overruns = overruns = Signal(32)  # o: characters lost

        # # #

        head_errors = Signal(3)
        overrun = Signal()
        shown   = Signal(3)
        self.comb += [
            has_data.eq(rx_fifo.count != 0),
            head_errors.eq(rx_fifo.head[8:]),
            lsr.dr.eq(has_data),
            lsr.oe.eq(overrun),
            Cat(lsr.pe, lsr.fe, lsr.bi).eq(shown | Mux(rx_fifo.arrived, head_errors, 0)),
        ]
        self.sync += [
            If(looked,
                overrun.eq(0),
                shown.eq(0)
            ).Elif(rx_fifo.arrived,
                shown.eq(shown | head_errors)
            ),
            If(rx_fifo.lost,
                overrun.eq(1),
                overruns.eq(overruns + 1)
            )
        ]

        # Characters with errors in the FIFO that no read of LSR has shown.
        unseen    = Signal.like(rx_fifo.count)
        head_seen = Signal()
        enters    = Signal()
        leaves    = Signal()
        self.comb += [
            lsr.fifo_error.eq(fifo_on & (unseen != 0)),
            enters.eq(rx_fifo.push & ~rx_fifo.lost & (rx_fifo.data[8:] != 0)),
            leaves.eq((looked | taken) & has_data & (head_errors != 0) & (rx_fifo.arrived | ~head_seen)),
        ]
        self.sync += [
            If(looked,
                head_seen.eq(1)
            ).Elif(rx_fifo.arrived,
                head_seen.eq(0)
            ),
            If(rx_fifo.clear,
                unseen.eq(0)
            ).Elif(enters & ~leaves,
                unseen.eq(unseen + 1)
            ).Elif(leaves & ~enters,
                unseen.eq(unseen - 1)
            )
        ]


class ModemStatus(LiteXModule):
    """`MSR`. Without pins the far end is always ready; in loop-back our outputs are our inputs.

    msr, mcr: the registers' records. looked: MSR is read in this cycle."""
    def __init__(self, msr, mcr, looked):
        self.changed = Signal()     # o: a delta bit is set

        # # #

        reset    = REGISTERS["MSR"].reset >> REGISTERS["MSR"]["CTS"].lsb
        modem    = Cat(msr.cts, msr.dsr, msr.ri, msr.dcd)
        deltas   = Cat(msr.dcts, msr.ddsr, msr.teri, msr.ddcd)
        previous = Signal(4, reset=reset)
        kept     = Signal(4)
        self.comb += [
            modem.eq(Mux(mcr.loop, Cat(mcr.rts, mcr.dtr, mcr.out1, mcr.out2), reset)),
            deltas.eq(kept | ((modem ^ previous) & Cat(1, 1, previous[2], 1))),
            self.changed.eq(deltas != 0),
        ]
        self.sync += [
            previous.eq(modem),
            If(looked,
                kept.eq(0)
            ).Else(
                kept.eq(deltas)
            )
        ]
