"""Clocks and resets of the boards. What Restart asks for resets the SoC and leaves the PLL alone: its clocks go on, so
the request can be taken back."""

from litex.build.io import DDROutput
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal
from migen.genlib.resetsync import AsyncResetSynchronizer

from soc.boards.restart import Restart


class SDRClocks(LiteXModule):
    """Clock domains `sys` and, for the SDRAM's pin `sdram_clock`, the same `phase` degrees later; from the oscillator
    `pin` of `pin_hz`. `restart` is clocked by the oscillator."""
    def __init__(self, platform, pin, pin_hz, sys_hz, phase):
        self.cd_por    = ClockDomain(reset_less=True)
        self.cd_sys    = ClockDomain()
        self.cd_sys_ps = ClockDomain(reset_less=True)
        self.restart   = Restart("por", pin_hz)

        # # #

        clock = platform.request(pin)
        self.comb += self.cd_por.clk.eq(clock)
        self.pll = pll = ECP5PLL()
        pll.register_clkin(clock, pin_hz)
        pll.create_clkout(self.cd_sys, sys_hz, with_reset=False, margin=0)
        pll.create_clkout(self.cd_sys_ps, sys_hz, phase=phase, with_reset=False, margin=0)
        self.specials += [
            AsyncResetSynchronizer(self.cd_sys, ~pll.locked | self.restart.hold),
            DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sys_ps")),
        ]
