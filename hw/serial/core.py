"""A serial port that a 16550A driver can use, with its registers 32 bits apart (README.md is its manual).

Sources: National Semiconductor PC16550D data sheet (registers, FIFO operation, interrupts); the fractional divisor
`DLF` counts as in the Synopsys DesignWare APB UART.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Case, Cat, If, Mux, Record, Signal
from migen.genlib.cdc import MultiReg

from hw.common.idle import BitTimer, Countdown
from hw.serial.fifo import CharacterFifo
from hw.serial.line import BIT_CYCLES_WIDTH, MIN_BIT_CYCLES, Receiver, Transmitter
from hw.serial.registers import REGISTERS, RESET_BIT_RATE, RESET_DEPTH, reset_bit_cycles

MAX_DEPTH = 256


def trigger_levels(depth):
    """Characters at which received data is available, by `FCR.TRIGGER`: 1, 4, 8, 14 at the 16550's depth of 16. Where
    it is 0, one character is needed all the same. `depth` is a number or a signal."""
    return [1, depth >> 2, depth >> 1, depth - (depth >> 3)]


def fields_of(register):
    """A record of a register's fields, which have to follow each other from bit 0."""
    fields = REGISTERS[register].fields
    record = Record([(field.name.lower(), field.width) for field in fields], name=register.lower())
    assert len(record) == fields[-1].lsb + fields[-1].width
    return record


class Serial16550(LiteXModule):
    """16550-class serial port.

    clock_hz: the system clock, from which the divisor's reset value (115,200 bit/s) is made.
    fifo_depth: characters there is room for in each FIFO, a power of two up to 256; `DEPTH` says how many are used. 1
        builds a 16450: no FIFO, no time-out interrupt.
    ValueError when one of them cannot be built.
    """
    def __init__(self, clock_hz, fifo_depth=16):
        if fifo_depth not in [1 << n for n in range(MAX_DEPTH.bit_length())]:
            raise ValueError(f"serial FIFO depth {fifo_depth} is not a power of two from 1 to {MAX_DEPTH}")
        reset_cycles = reset_bit_cycles(clock_hz)
        if not MIN_BIT_CYCLES <= reset_cycles < 1 << BIT_CYCLES_WIDTH:
            raise ValueError(f"a serial port cannot make {RESET_BIT_RATE} bit/s from a clock of {clock_hz} Hz")

        self.bus  = wishbone.Interface(data_width=32)  # registers; decodes the low 12 address bits
        self.pads = Record([("tx", 1), ("rx", 1)])     # the line: tx out, rx in (any clock); both rest high
        self.irq  = Signal()                           # o: level: an enabled cause is pending
        self.rts  = Signal()                           # o: the far end may send (1), where it looks at that

        # # #

        # Registers ----------------------------------------------------------------------------------------------------

        divisor   = Signal(16, reset=reset_cycles >> 4)
        fraction  = Signal(4, reset=reset_cycles & 0xf)
        ier       = fields_of("IER")
        lcr       = fields_of("LCR")
        mcr       = fields_of("MCR")
        lsr       = fields_of("LSR")
        msr       = fields_of("MSR")
        scratch   = Signal(8)
        fifo_on   = Signal()
        trigger   = Signal(2)
        overruns  = Signal(32)
        depth     = Signal(max=fifo_depth + 1, reset=min(fifo_depth, RESET_DEPTH))
        cause     = Signal(4)

        # Data path ----------------------------------------------------------------------------------------------------

        self.receiver    = receiver    = Receiver(lcr)
        self.transmitter = transmitter = Transmitter(lcr)
        self.rx_fifo     = rx_fifo     = CharacterFifo(8 + 3, fifo_depth)  # the errors travel with their character
        self.tx_fifo     = tx_fifo     = CharacterFifo(8, fifo_depth)

        bit_cycles = Signal(BIT_CYCLES_WIDTH, reset=reset_cycles)
        self.while_idle = [
            BitTimer(receiver.timer, bit_cycles, receiver.fsm, "IDLE"),
            BitTimer(transmitter.timer, bit_cycles, transmitter.fsm, "IDLE"),
        ]
        self.sync += bit_cycles.eq(Mux(divisor | fraction[2:], Cat(fraction, divisor), MIN_BIT_CYCLES))

        rx   = Signal()
        line = Signal()
        pad  = Signal(reset=1)  # a register, so that the pin has no glitches
        self.specials += MultiReg(self.pads.rx, rx, reset=1)
        self.comb += [
            line.eq(transmitter.tx & ~lcr.set_break),
            self.pads.tx.eq(pad),
        ]
        self.sync += pad.eq(line | mcr.loop)

        head_errors = Signal(3)
        self.comb += [
            receiver.bit_cycles.eq(bit_cycles),
            receiver.rx.eq(Mux(mcr.loop, line, rx)),
            rx_fifo.single.eq(~fifo_on),
            rx_fifo.limit.eq(depth),
            rx_fifo.push.eq(receiver.valid),
            rx_fifo.data.eq(Cat(receiver.data, receiver.parity_error, receiver.framing_error,
                receiver.break_detected)),
            head_errors.eq(rx_fifo.head[8:]),

            transmitter.bit_cycles.eq(bit_cycles),
            transmitter.valid.eq(tx_fifo.count != 0),
            transmitter.data.eq(tx_fifo.head),
            tx_fifo.single.eq(~fifo_on),
            tx_fifo.limit.eq(depth),
            tx_fifo.pop.eq(transmitter.ready),
            tx_fifo.data.eq(self.bus.dat_w),
        ]

        # Bus: an access takes effect in its first cycle and is acknowledged in the second -----------------------------

        access = Signal()
        reads, writes = {}, {}
        self.comb += access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack)
        self.sync += self.bus.ack.eq(access)
        word = self.bus.adr[:10]
        for register in REGISTERS.registers:
            here = access & (word == register.offset // 4)
            if register.name in ("DLL", "DLM"):
                here = here & lcr.dlab
            if register.name in ("RBR", "THR", "IER"):
                here = here & ~lcr.dlab
            if register.access != "wo":
                reads[register.name] = Signal(name=f"read_{register.name.lower()}")
                self.comb += reads[register.name].eq(here & ~self.bus.we)
            if register.access != "ro":
                writes[register.name] = Signal(name=f"write_{register.name.lower()}")
                self.comb += writes[register.name].eq(here & self.bus.we & register.stored(self.bus.sel))

        def value(name, signal):
            """What a read of a register gives: the signal, at the place of the register's first field."""
            fields = REGISTERS[name].fields
            return {REGISTERS[name].offset // 4: self.bus.dat_r.eq(signal << (fields[0].lsb if fields else 0))}

        has_data = Signal()
        self.comb += has_data.eq(rx_fifo.count != 0)
        self.sync += If(access,
            Case(word, {
                **value("RBR", Mux(lcr.dlab, divisor[:8], Mux(has_data, rx_fifo.head[:8], 0))),
                **value("IER", Mux(lcr.dlab, divisor[8:], ier.raw_bits())),
                **value("IIR", Cat(cause, 0, 0, fifo_on, fifo_on)),
                **value("LCR", lcr.raw_bits()),
                **value("MCR", mcr.raw_bits()),
                **value("LSR", lsr.raw_bits()),
                **value("MSR", msr.raw_bits()),
                **value("SCR", scratch),
                **value("DLF", fraction),
                **value("OVERRUNS", overruns),
                **value("DEPTH", depth),
                **value("RXCOUNT", rx_fifo.count),
                **value("BUILT", fifo_depth),
                "default": self.bus.dat_r.eq(0),
            })
        )
        dat_w = self.bus.dat_w
        self.sync += If(access,  # so that a simulator looks at one signal in the cycles without
            If(writes["DLL"], divisor[:8].eq(dat_w)),
            If(writes["DLM"], divisor[8:].eq(dat_w)),
            If(writes["DLF"], fraction.eq(dat_w)),
            If(writes["IER"], ier.raw_bits().eq(dat_w)),
            If(writes["LCR"], lcr.raw_bits().eq(dat_w)),
            If(writes["MCR"], mcr.raw_bits().eq(dat_w)),
            If(writes["SCR"], scratch.eq(dat_w))
        )

        # FIFO control -------------------------------------------------------------------------------------------------

        resized  = Signal()
        switched = Signal()
        if fifo_depth > 1:
            fcr = REGISTERS["FCR"]
            enable = dat_w[fcr["ENABLE"].lsb]
            self.comb += [
                resized.eq(writes["DEPTH"] & (dat_w[:16] != 0) & (dat_w[:16] <= fifo_depth)),
                switched.eq(resized | (writes["FCR"] & (enable != fifo_on))),
                rx_fifo.clear.eq(switched | (writes["FCR"] & enable & dat_w[fcr["RX_RESET"].lsb])),
                tx_fifo.clear.eq(switched | (writes["FCR"] & enable & dat_w[fcr["TX_RESET"].lsb])),
            ]
            self.sync += If(writes["FCR"],
                fifo_on.eq(enable),
                If(enable,
                    trigger.eq(dat_w[fcr["TRIGGER"].bits])
                )
            )
            self.sync += If(resized,
                depth.eq(dat_w)
            )
        self.comb += [
            rx_fifo.pop.eq(reads["RBR"]),
            tx_fifo.push.eq(writes["THR"]),
        ]

        # Line status: errors show when their character comes to the head, and stay until the register is read ---------

        overrun = Signal()
        shown   = Signal(3)
        self.comb += [
            lsr.dr.eq(has_data),
            lsr.oe.eq(overrun),
            Cat(lsr.pe, lsr.fe, lsr.bi).eq(shown | Mux(rx_fifo.arrived, head_errors, 0)),
        ]
        self.sync += [
            If(reads["LSR"],
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
            leaves.eq((reads["LSR"] | reads["RBR"]) & has_data & (head_errors != 0)
                & (rx_fifo.arrived | ~head_seen)),
        ]
        self.sync += [
            If(reads["LSR"],
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

        # Received data: the trigger level, and the time-out of four characters without a push or a pop ----------------

        available = Signal()
        level     = Signal.like(rx_fifo.count)
        self.comb += [
            Case(trigger, {n: level.eq(at) for n, at in enumerate(trigger_levels(depth))}),
            available.eq(has_data & (~fifo_on | (rx_fifo.count >= level))),
        ]

        # Flow control: by software alone, or off by itself from the trigger level until the FIFO is empty -------------

        filled = Signal()
        self.sync += filled.eq(has_data & (filled | available))
        self.comb += self.rts.eq(mcr.rts & ~(mcr.afe & filled) & ~mcr.loop)

        timeout = Signal()
        if fifo_depth > 1:
            timer     = Signal(BIT_CYCLES_WIDTH)
            bits_left = Signal(6)
            self.while_idle.append(Countdown(timer))
            stop_bits = Signal(4)  # of four characters
            self.comb += stop_bits.eq(Mux(lcr.stop, Mux(lcr.word == 0, 6, 8), 4))
            self.sync += If(~has_data | receiver.valid | rx_fifo.pop,
                timer.eq(bit_cycles - 1),
                bits_left.eq(((lcr.word + lcr.parity + 6) << 2) + stop_bits - 1)
            ).Elif(timer != 0,
                timer.eq(timer - 1)
            ).Elif(bits_left != 0,
                timer.eq(bit_cycles - 1),
                bits_left.eq(bits_left - 1)
            ).Else(
                timeout.eq(1)
            )
            self.sync += If(~has_data | rx_fifo.pop | rx_fifo.clear,
                timeout.eq(0)
            )

        # Transmit empty: late by a character less its last stop bit unless the FIFO has held two since it was last ----
        # empty, so that a driver that sends one character an interrupt does not get two interrupts at once.

        empty      = Signal()
        was_empty  = Signal(reset=1)
        held_two   = Signal(reset=1)
        thre_event = Signal()
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
            If(reads["IIR"] & (cause == REGISTERS["IIR"]["ID"].values["THRE"]),
                thre_event.eq(0)
            ),
            If(empty & (~was_empty | (writes["IER"] & ~ier.tx & dat_w[REGISTERS["IER"]["TX"].lsb])),
                thre_event.eq(1)
            ),
            If(writes["THR"],
                thre_event.eq(0)
            )
        ]

        # Modem: without pins the far end is always ready; in loop-back our outputs are our inputs ---------------------

        modem_reset = REGISTERS["MSR"].reset >> REGISTERS["MSR"]["CTS"].lsb
        modem = Cat(msr.cts, msr.dsr, msr.ri, msr.dcd)
        previous = Signal(4, reset=modem_reset)
        deltas = Cat(msr.dcts, msr.ddsr, msr.teri, msr.ddcd)
        kept   = Signal(4)
        self.comb += [
            modem.eq(Mux(mcr.loop, Cat(mcr.rts, mcr.dtr, mcr.out1, mcr.out2), modem_reset)),
            deltas.eq(kept | ((modem ^ previous) & Cat(1, 1, previous[2], 1))),
        ]
        self.sync += [
            previous.eq(modem),
            If(reads["MSR"],
                kept.eq(0)
            ).Else(
                kept.eq(deltas)
            )
        ]

        # Interrupt: the pending cause of the highest priority ---------------------------------------------------------

        identities = REGISTERS["IIR"]["ID"].values
        self.comb += [
            cause.eq(identities["NONE"]),
            If(ier.line & (lsr.oe | lsr.pe | lsr.fe | lsr.bi),
                cause.eq(identities["LINE"])
            ).Elif(ier.rx & available,
                cause.eq(identities["RX"])
            ).Elif(ier.rx & timeout,
                cause.eq(identities["TIMEOUT"])
            ).Elif(ier.tx & thre_event,
                cause.eq(identities["THRE"])
            ).Elif(ier.modem & (deltas != 0),
                cause.eq(identities["MODEM"])
            ),
            self.irq.eq(~cause[0]),
        ]
