"""A serial port that a 16550A driver can use, with its registers 32 bits apart (README.md is its manual).

Sources: National Semiconductor PC16550D data sheet (registers, FIFO operation, interrupts); the fractional divisor
`DLF` counts as in the Synopsys DesignWare APB UART.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Cat, If, Mux, Record, Signal
from migen.genlib.cdc import MultiReg

from hw.common.decode import Decoder, fields_record
from hw.common.idle import BitTimer
from hw.serial.events import ReceivedData, ReceiveTimeout, TransmitEmpty
from hw.serial.fifo import CharacterFifo
from hw.serial.line import BIT_CYCLES_WIDTH, MIN_BIT_CYCLES, Receiver, Transmitter
from hw.serial.registers import REGISTERS, RESET_BIT_RATE, RESET_DEPTH, reset_bit_cycles
from hw.serial.status import LineStatus, ModemStatus

MAX_DEPTH = 256
IDENTITIES = REGISTERS["IIR"]["ID"].values


def checked_bit_cycles(clock_hz, fifo_depth):
    """Cycles of a bit after reset; ValueError for a port that cannot be built."""
    if fifo_depth not in [1 << n for n in range(MAX_DEPTH.bit_length())]:
        raise ValueError(f"serial FIFO depth {fifo_depth} is not a power of two from 1 to {MAX_DEPTH}")
    cycles = reset_bit_cycles(clock_hz)
    if not MIN_BIT_CYCLES <= cycles < 1 << BIT_CYCLES_WIDTH:
        raise ValueError(f"a serial port cannot make {RESET_BIT_RATE} bit/s from a clock of {clock_hz} Hz")
    return cycles


class Settings(LiteXModule):
    """Registers that only software changes, and the strobes of accesses.

    bus: an access takes effect in its first cycle and is acknowledged in the second."""
    def __init__(self, bus, reset_cycles):
        self.divisor  = divisor  = Signal(16, reset=reset_cycles >> 4)
        self.fraction = fraction = Signal(4, reset=reset_cycles & 0xf)
        self.ier      = ier = fields_record(REGISTERS["IER"])
        self.lcr      = lcr = fields_record(REGISTERS["LCR"])
        self.mcr      = mcr = fields_record(REGISTERS["MCR"])
        self.scratch  = scratch = Signal(8)
        self.access   = access = Signal()
        self.bit_cycles = Signal(BIT_CYCLES_WIDTH, reset=reset_cycles)
        self.strobe   = {}      # of reads and writes that do something, by name

        # # #

        latch = lcr.dlab
        decoder = self.decoder = Decoder(
            REGISTERS, access, bus.adr[:10], bus.we, bus.sel, bus.dat_w,
            where={"RBR": ~latch, "THR": ~latch, "DLL": latch, "IER": ~latch, "DLM": latch})
        self.comb += access.eq(bus.cyc & bus.stb & ~bus.ack)
        self.sync += bus.ack.eq(access)
        for what, names in ((decoder.reads, ("RBR", "IIR", "LSR", "MSR")),
                            (decoder.writes, ("THR", "IER", "FCR", "DEPTH"))):
            for name in names:
                strobe = self.strobe[what.__name__, name] = Signal(name=f"{what.__name__}_{name.lower()}")
                self.comb += strobe.eq(what(name))
        self.sync += [
            If(access,  # so that a simulator evaluates one signal in the cycles without
                *[If(decoder.writes(name), register.eq(decoder.value(name))) for name, register in {
                    "DLL": divisor[:8], "DLM": divisor[8:], "DLF": fraction, "IER": ier.raw_bits(),
                    "LCR": lcr.raw_bits(), "MCR": mcr.raw_bits(), "SCR": scratch}.items()]
            ),
            self.bit_cycles.eq(Mux(divisor | fraction[2:], Cat(fraction, divisor), MIN_BIT_CYCLES)),
        ]


class FifoControl(LiteXModule):
    """`FCR` and `DEPTH`: whether the FIFOs are on, their depth, and when they are cleared."""
    def __init__(self, settings, fifo_depth, fifos):
        self.on       = on      = Signal()
        self.trigger  = trigger = Signal(2)
        self.depth    = depth   = Signal(max=fifo_depth + 1, reset=min(fifo_depth, RESET_DEPTH))
        self.switched = switched = Signal()     # o: for a cycle: a change of mode clears both

        # # #

        for fifo in fifos.values():
            self.comb += [
                fifo.single.eq(~on),
                fifo.limit.eq(depth),
            ]
        if fifo_depth == 1:
            return
        resized = Signal()
        written, field, value = settings.strobe, settings.decoder.field, settings.decoder.value("DEPTH")
        enable  = field("FCR", "ENABLE")
        control = written["writes", "FCR"]
        self.comb += [
            resized.eq(written["writes", "DEPTH"] & (value != 0) & (value <= fifo_depth)),
            switched.eq(resized | (control & (enable != on))),
            *[fifo.clear.eq(switched | (control & enable & field("FCR", reset))) for reset, fifo in fifos.items()],
        ]
        self.sync += [
            If(control,
                on.eq(enable),
                If(enable,
                    trigger.eq(field("FCR", "TRIGGER"))
                )
            ),
            If(resized,
                depth.eq(value)
            ),
        ]


class Serial16550(LiteXModule):
    """16550-class serial port.

    fifo_depth: characters that each FIFO can hold, a
    power of two up to 256; `DEPTH` says how many are
    used. 1 builds a 16450: no FIFO, no time-out
    interrupt.
    """
    def __init__(self, clock_hz, fifo_depth=16):
        reset_cycles = checked_bit_cycles(clock_hz, fifo_depth)
        self.bus  = wishbone.Interface(data_width=32)  # registers; decodes the low 12 address bits
        self.pads = Record([("tx", 1), ("rx", 1)])     # the line: tx out, rx in (any clock); both rest high
        self.irq  = Signal()                           # o: level: an enabled cause is pending
        self.rts  = Signal()                           # o: the far end may send (1), if it obeys that

        # # #

        self.settings = settings = Settings(self.bus, reset_cycles)
        self.lsr      = fields_record(REGISTERS["LSR"])
        self.msr      = fields_record(REGISTERS["MSR"])
        self.cause    = Signal(4)
        self.receiver    = Receiver(settings.lcr)
        self.transmitter = Transmitter(settings.lcr)
        self.rx_fifo     = CharacterFifo(8 + 3, fifo_depth)  # errors stay with their character
        self.tx_fifo     = CharacterFifo(8, fifo_depth)
        self.control     = FifoControl(settings, fifo_depth, {"RX_RESET": self.rx_fifo, "TX_RESET": self.tx_fifo})
        self.while_idle = [BitTimer(half.timer, settings.bit_cycles, half.fsm, "IDLE")
                           for half in (self.receiver, self.transmitter)]
        self.join_line()
        self.add_status(fifo_depth)
        self.add_interrupt()
        self.sync += If(settings.access, settings.decoder.given(
            self.bus.dat_r,
            RBR      = Mux(self.status.has_data, self.rx_fifo.head[:8], 0),
            DLL      = settings.divisor[:8],
            IER      = tuple(settings.ier.flatten()),
            DLM      = settings.divisor[8:],
            IIR      = (self.cause, Cat(self.control.on, self.control.on)),
            LCR      = tuple(settings.lcr.flatten()),
            MCR      = tuple(settings.mcr.flatten()),
            LSR      = tuple(self.lsr.flatten()),
            MSR      = tuple(self.msr.flatten()),
            SCR      = settings.scratch,
            DLF      = settings.fraction,
            OVERRUNS = self.status.overruns,
            DEPTH    = self.control.depth,
            RXCOUNT  = self.rx_fifo.count,
            BUILT    = fifo_depth,
        ))

    def join_line(self):
        """The line, its two halves and their FIFOs; in loop-back the transmitter feeds the receiver."""
        settings, receiver, transmitter = self.settings, self.receiver, self.transmitter
        rx_fifo, tx_fifo, mcr = self.rx_fifo, self.tx_fifo, settings.mcr
        rx   = Signal()
        line = Signal()
        pad  = Signal(reset=1)  # a register, so that the pin has no glitches
        self.specials += MultiReg(self.pads.rx, rx, reset=1)
        self.sync += pad.eq(line | mcr.loop)
        self.comb += [
            line.eq(transmitter.tx & ~settings.lcr.set_break),
            self.pads.tx.eq(pad),

            receiver.bit_cycles.eq(settings.bit_cycles),
            receiver.rx.eq(Mux(mcr.loop, line, rx)),
            rx_fifo.push.eq(receiver.valid),
            rx_fifo.data.eq(Cat(receiver.data, receiver.parity_error, receiver.framing_error,
                receiver.break_detected)),
            rx_fifo.pop.eq(settings.strobe["reads", "RBR"]),

            transmitter.bit_cycles.eq(settings.bit_cycles),
            transmitter.valid.eq(tx_fifo.count != 0),
            transmitter.data.eq(tx_fifo.head),
            tx_fifo.pop.eq(transmitter.ready),
            tx_fifo.push.eq(settings.strobe["writes", "THR"]),
            tx_fifo.data.eq(settings.decoder.value("THR")),
        ]

    def add_status(self, fifo_depth):
        """Status registers and events, and the wire RTS."""
        settings, control, strobe, mcr = self.settings, self.control, self.settings.strobe, self.settings.mcr
        self.status = status = LineStatus(self.lsr, self.rx_fifo, control.on, strobe["reads", "LSR"],
                                          strobe["reads", "RBR"])
        self.modem = ModemStatus(self.msr, mcr, strobe["reads", "MSR"])
        self.received = ReceivedData(self.rx_fifo, status.has_data, control.on, control.trigger, control.depth)
        if fifo_depth > 1:
            self.timeout = ReceiveTimeout(self.rx_fifo, status.has_data, self.receiver.valid, settings.bit_cycles,
                                          settings.lcr)
        self.empty = TransmitEmpty(
            self.lsr, self.tx_fifo, self.transmitter, control.on, control.switched,
            enabled=strobe["writes", "IER"] & ~settings.ier.tx & settings.decoder.field("IER", "TX"),
            seen=strobe["reads", "IIR"] & (self.cause == IDENTITIES["THRE"]), written=strobe["writes", "THR"])
        self.comb += self.rts.eq(mcr.rts & ~(mcr.afe & self.received.filled) & ~mcr.loop)

    def add_interrupt(self):
        """The pending cause of the highest priority."""
        ier, lsr, cause = self.settings.ier, self.lsr, self.cause
        timeout = self.timeout.due if hasattr(self, "timeout") else 0
        self.comb += [
            cause.eq(IDENTITIES["NONE"]),
            If(ier.line & (lsr.oe | lsr.pe | lsr.fe | lsr.bi),
                cause.eq(IDENTITIES["LINE"])
            ).Elif(ier.rx & self.received.available,
                cause.eq(IDENTITIES["RX"])
            ).Elif(ier.rx & timeout,
                cause.eq(IDENTITIES["TIMEOUT"])
            ).Elif(ier.tx & self.empty.due,
                cause.eq(IDENTITIES["THRE"])
            ).Elif(ier.modem & self.modem.changed,
                cause.eq(IDENTITIES["MODEM"])
            ),
            self.irq.eq(~cause[0]),
        ]
