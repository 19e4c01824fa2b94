"""The serial port's registers: those of a 16550A, 32 bits apart, then our own."""

from hw.common.regmap import Field, Register, RegisterMap

RESET_BIT_RATE = 115_200
RESET_DEPTH = 16         # a 16550's, of whatever is built


class SharedOffsets(RegisterMap):
    """A register map in which several registers may answer at one offset, as the 16550's eight addresses have it."""

    def places(self):
        """Yield (byte offset, names of all registers there joined by a slash)."""
        for offset in dict.fromkeys(register.offset for register in self.registers):
            yield offset, "/".join(register.name for register in self.registers if register.offset == offset)


REGISTERS = SharedOffsets("Serial port (16550-class)", 0x1000, "A 16550A with 32 bits between its registers.", (
    Register("RBR", 0x00, "ro", "Receive buffer, when `DLAB` = 0: the oldest character received; reading removes it. "
             "0 when there is none.", (
                 Field("DATA", 0, 8, "The character; unused high bits of a short word are 0."),)),
    Register("THR", 0x00, "wo", "Transmit holding, when `DLAB` = 0: a character to send. Into a full FIFO it is "
             "dropped; without FIFO it replaces the one that waits.", (
                 Field("DATA", 0, 8, "The character; unused high bits of a short word are ignored."),)),
    Register("DLL", 0x00, "rw", "Divisor latch low, when `DLAB` = 1. Cycles of one bit = 16 * {`DLM`, `DLL`} + `DLF`, "
             "but at least 4. Reset: 115,200 bit/s at the build's clock (the values here: 60 MHz).", (
                 Field("DIVISOR", 0, 8, "Low half of the divisor.", 0x20),)),
    Register("IER", 0x04, "rw", "Interrupt enable, when `DLAB` = 0.", (
        Field("RX", 0, 1, "Received data available, and character time-out."),
        Field("TX", 1, 1, "Transmit holding register empty. Setting it while `LSR.THRE` is set interrupts."),
        Field("LINE", 2, 1, "Line status: overrun, parity, framing, break."),
        Field("MODEM", 3, 1, "Modem status: a delta bit of `MSR`."))),
    Register("DLM", 0x04, "rw", "Divisor latch high, when `DLAB` = 1.", (
        Field("DIVISOR", 0, 8, "High half of the divisor."),)),
    Register("IIR", 0x08, "ro", "Interrupt identification: the pending cause of the highest priority. Reading it when "
             "it shows `THRE` takes that back.", (
                 Field("ID", 0, 4, "The cause, in falling priority: line status, received data, time-out, transmit "
                       "empty, modem status.", 1,
                       {"NONE": 0x1, "LINE": 0x6, "RX": 0x4, "TIMEOUT": 0xc, "THRE": 0x2, "MODEM": 0x0}),
                 Field("FIFO", 6, 2, "3 while the FIFOs are on; always 0 in a build of depth 1."))),
    Register("FCR", 0x08, "wo", "FIFO control. Fields other than `ENABLE` count only when `ENABLE` is written 1; "
             "a build of depth 1 ignores the register.", (
                 Field("ENABLE", 0, 1, "FIFOs on. Off, the port has one holding register each way, as a 16450. "
                       "A change empties both FIFOs."),
                 Field("RX_RESET", 1, 1, "Empty the receive FIFO; the shift register is left alone."),
                 Field("TX_RESET", 2, 1, "Empty the transmit FIFO; the shift register is left alone."),
                 Field("TRIGGER", 6, 2, "Characters that make received data available: 1, 1/4, 1/2 or 7/8 of the "
                       "depth (1, 4, 8, 14 of 16).", 0, {"1": 0, "QUARTER": 1, "HALF": 2, "MOST": 3}))),
    Register("LCR", 0x0c, "rw", "Line control.", (
        Field("WORD", 0, 2, "Data bits less five.", 0, {"5": 0, "6": 1, "7": 2, "8": 3}),
        Field("STOP", 2, 1, "Stop bits sent. 0: one. 1: two, or one and a half with five data bits. The receiver looks "
              "at one."),
        Field("PARITY", 3, 1, "A parity bit follows the data."),
        Field("EVEN", 4, 1, "0: odd parity. 1: even parity."),
        Field("STICK", 5, 1, "The parity bit is the inverse of `EVEN`, whatever the data."),
        Field("SET_BREAK", 6, 1, "Hold the line low."),
        Field("DLAB", 7, 1, "Divisor latch access: offsets 0 and 4 are `DLL` and `DLM`."))),
    Register("MCR", 0x10, "rw", "Modem control. Of the outputs only `RTS` has a wire; loop-back shows them in `MSR`.", (
        Field("DTR", 0, 1, "Data terminal ready."),
        Field("RTS", 1, 1, "Request to send."),
        Field("OUT1", 2, 1, "Output 1."),
        Field("OUT2", 3, 1, "Output 2. It does not gate the interrupt, as it does on a PC's board."),
        Field("LOOP", 4, 1, "Loop-back: the transmitter feeds the receiver, the pin `tx` is high, `rx` is ignored."),
        Field("AFE", 5, 1, "Flow control without software: the wire of `RTS` is off, too, from when the receive FIFO "
              "is filled to its trigger level until it is empty."))),
    Register("LSR", 0x14, "ro", "Line status. Reading clears `OE`, `PE`, `FE` and `BI`.", (
        Field("DR", 0, 1, "Data ready: `RBR` holds a character."),
        Field("OE", 1, 1, "Overrun: at least one character was lost since the last read."),
        Field("PE", 2, 1, "A character with a parity error came to the head of the FIFO since the last read."),
        Field("FE", 3, 1, "The same, with a low stop bit."),
        Field("BI", 4, 1, "The same, a break: a whole character time low; received as one 0."),
        Field("THRE", 5, 1, "Transmit FIFO (or holding register) empty. With FIFO it comes one character time less "
              "its last stop bit late if the FIFO did not hold two characters at once since it was last set.", 1),
        Field("TEMT", 6, 1, "Transmitter empty: FIFO and shift register.", 1),
        Field("FIFO_ERROR", 7, 1, "The receive FIFO holds a character with an error that no read of this register has "
              "shown. 0 without FIFO."))),
    Register("MSR", 0x18, "ro", "Modem status. Reading clears the delta bits. There are no pins: `CTS`, `DSR` and "
             "`DCD` are on and `RI` is off, except in loop-back.", (
                 Field("DCTS", 0, 1, "`CTS` changed since the last read."),
                 Field("DDSR", 1, 1, "`DSR` changed since the last read."),
                 Field("TERI", 2, 1, "`RI` went off since the last read."),
                 Field("DDCD", 3, 1, "`DCD` changed since the last read."),
                 Field("CTS", 4, 1, "Clear to send; in loop-back `MCR.RTS`.", 1),
                 Field("DSR", 5, 1, "Data set ready; in loop-back `MCR.DTR`.", 1),
                 Field("RI", 6, 1, "Ring indicator; in loop-back `MCR.OUT1`."),
                 Field("DCD", 7, 1, "Carrier detect; in loop-back `MCR.OUT2`.", 1))),
    Register("SCR", 0x1c, "rw", "Scratch: no effect.", (
        Field("DATA", 0, 8, "Whatever was written."),)),
    Register("DLF", 0x20, "rw", "Divisor latch fraction, whatever `DLAB`.", (
        Field("FRACTION", 0, 4, "Sixteenths of the divisor: cycles added to one bit.", 0x9),)),
    Register("OVERRUNS", 0x24, "ro", "Characters lost to overrun since reset, modulo 2^32."),
    Register("DEPTH", 0x28, "rw", "Characters each FIFO holds. A write of 1 to `BUILT` empties both FIFOs; other "
             "numbers are ignored, as is every write by a build of depth 1. Trigger levels follow the depth.", (
                 Field("DEPTH", 0, 16, "The depth. Resets to 16, or to what is built if that is less.", 16),)),
    Register("RXCOUNT", 0x2c, "ro", "Characters received and not yet read.", (
        Field("COUNT", 0, 16, "0 to `DEPTH`."),)),
    Register("BUILT", 0x30, "ro", "Characters there is room for in each FIFO of this build; 1 is a 16450.", (
        Field("DEPTH", 0, 16, "The greatest depth. Resets to what is built: the value here.", 16),)),
))


def reset_bit_cycles(clock_hz):
    """Cycles of one bit after reset."""
    return round(clock_hz / RESET_BIT_RATE)


def registers_of(clock_hz, fifo_depth):
    """The registers of a port with these parameters (core.Serial16550): the same, but for what they reset to."""
    cycles = reset_bit_cycles(clock_hz)
    return REGISTERS.with_resets(DLL=cycles >> 4 & 0xff, DLM=cycles >> 12, DLF=cycles & 0xf,
                                 DEPTH=min(RESET_DEPTH, fifo_depth), BUILT=fifo_depth)
