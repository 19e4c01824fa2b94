"""Clocks and resets of the boards. A Restart resets the SoC but not the PLL: the clocks run on, so the request
can be taken back."""

from litex.build.io import DDROutput
from litex.gen import LiteXModule
from litex.soc.cores.clock import ECP5PLL
from migen import ClockDomain, ClockSignal, Instance, Signal
from migen.genlib.resetsync import AsyncResetSynchronizer

from soc.boards.restart import Restart

EXACT = 1e-6    # soc/boards/config.py accepts only frequencies that the PLL makes exactly; LiteX computes in floats


def reset_tree(domain: ClockDomain, request) -> tuple[AsyncResetSynchronizer, Instance]:
    """Resets `domain` from `request` on until a cycle after it, over one of the FPGA's clock trees: a reset goes to
    thousands of registers everywhere, and would use the wires that the rest needs."""
    synchronized = ClockDomain(domain.name)
    synchronized.clk, synchronized.rst = domain.clk, Signal(name_override=f"{domain.name}_rst_synchronized")
    return (AsyncResetSynchronizer(synchronized, request),
            Instance("DCCA", i_CLKI=synchronized.rst, i_CE=1, o_CLKO=domain.rst))


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
        pll.create_clkout(self.cd_sys, sys_hz, with_reset=False, margin=EXACT)
        pll.create_clkout(self.cd_sys_ps, sys_hz, phase=phase, with_reset=False, margin=EXACT)
        self.specials += [
            *reset_tree(self.cd_sys, ~pll.locked | self.restart.hold),
            DDROutput(1, 0, platform.request("sdram_clock"), ClockSignal("sys_ps")),
        ]


class DDRClocks(LiteXModule):
    """Clock domains `sys` and `sys2x` for LiteDRAM's ECP5DDRPHY, and its `init` of `init_hz`; from the oscillator `pin`
    of `pin_hz`. `restart` is clocked by the oscillator; `join(phy)` gives the PHY hold of the fast clock.

    `bridge`: the DDR3 is on both edge clock trees of its side, and a bridge drives both."""
    def __init__(self, platform, pin, pin_hz, sys_hz, init_hz, bridge=False):
        self.cd_por   = ClockDomain(reset_less=True)
        self.cd_init  = ClockDomain()
        self.cd_fast  = ClockDomain("sys2x_i", reset_less=True)
        self.cd_sys2x = ClockDomain(reset_less=True)
        self.cd_sys   = ClockDomain()
        self.restart  = Restart("por", pin_hz)
        self.stop     = Signal()
        self.reset    = Signal()

        # # #

        clock = platform.request(pin)
        self.comb += self.cd_por.clk.eq(clock)
        self.pll = pll = ECP5PLL()
        pll.register_clkin(clock, pin_hz)
        pll.create_clkout(self.cd_fast, 2 * sys_hz, with_reset=False, margin=EXACT)
        pll.create_clkout(self.cd_init, init_hz, margin=0.05)   # it counts steps of the PHY's start, no more
        fast = self.cd_fast.clk
        if bridge:
            fast = Signal()
            self.specials += Instance("ECLKBRIDGECS", i_CLK0=self.cd_fast.clk, i_SEL=0, o_ECSOUT=fast)
        self.specials += [
            Instance("ECLKSYNCB", i_ECLKI=fast, i_STOP=self.stop, o_ECLKO=self.cd_sys2x.clk),
            Instance("CLKDIVF", p_DIV="2.0", i_ALIGNWD=0, i_CLKI=self.cd_sys2x.clk, i_RST=self.reset,
                     o_CDIVX=self.cd_sys.clk),
            *reset_tree(self.cd_sys, ~pll.locked | self.reset | self.restart.hold),
        ]

    def join(self, phy):
        """Lets `phy` stop and align the fast clock when it starts."""
        self.comb += [self.stop.eq(phy.init.stop), self.reset.eq(phy.init.reset)]
