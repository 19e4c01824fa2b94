"""Resets the whole SoC to its state after configuration: when it requests that, and when the host holds the console
line low for long."""

from litex.gen import LiteXModule
from migen import ClockDomainsRenamer, If, Module, Signal
from migen.genlib.cdc import MultiReg

BREAK_SECONDS = 0.1     # of a low line: longer than any character, shorter than a host's break (0.25 s)
HOLD_CYCLES = 1 << 12   # of the free-running clock


class _Restart(Module):
    """In one clock domain: `hold` for HOLD_CYCLES at the start, and after each trigger."""
    def __init__(self, break_cycles, line, request, button, hold):
        low   = Signal(max=break_cycles + 1)
        left  = Signal(max=HOLD_CYCLES + 1, reset=HOLD_CYCLES)
        line_here, request_here, button_here = Signal(reset=1), Signal(), Signal()
        self.specials += [
            MultiReg(line, line_here, reset=1),
            MultiReg(request, request_here),
            MultiReg(button, button_here),
        ]
        self.sync += [
            hold.eq(left != 0),     # a register: a glitch would start or end a reset
            # Once per break: the counter stops where it triggered until the line is high again.
            If(line_here,
                low.eq(0)
            ).Elif(low != break_cycles,
                low.eq(low + 1)
            ),
            If(request_here | button_here | (~line_here & (low == break_cycles - 1)),
                left.eq(HOLD_CYCLES)
            ).Elif(left != 0,
                left.eq(left - 1)
            ),
        ]


class Restart(LiteXModule):
    """Works in `clock_domain`, whose clock always runs and which has no reset."""
    def __init__(self, clock_domain, clock_hz):
        self.line    = Signal(reset=1)  # i: the console's receive line
        self.request = Signal()         # i: the SoC requests a restart; any clock
        self.button  = Signal()         # i: pressed
        self.hold    = Signal(reset=1)  # o: reset all other clock domains

        # # #

        core = _Restart(round(clock_hz * BREAK_SECONDS), self.line, self.request, self.button, self.hold)
        self.core = ClockDomainsRenamer(clock_domain)(core)
