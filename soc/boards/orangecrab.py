"""OrangeCrab r0.2: ECP5 25F or 85F, 128 MiB of DDR3, SD card, RGB LED; its console needs a USB adapter on two pins."""

from litedram.modules import MT41K64M16
from litedram.phy import ECP5DDRPHY
from litex.gen.genlib.misc import WaitTimer
from litex_boards.platforms import gsd_orangecrab
from migen import ClockDomainsRenamer

from soc.boards.clocks import DDRClocks
from soc.boards.soc import BoardSoC

INIT_HZ = 24_000_000


class Target(BoardSoC):
    def make_platform(self, config):
        platform = gsd_orangecrab.Platform(revision="0.2", device=config.device, toolchain="trellis")
        platform.add_extension(gsd_orangecrab.feather_serial)
        return platform

    def make_clocks(self, config):
        clocks = DDRClocks(self.platform, "clk48", self.board.oscillator_hz, config.clock_hz, INIT_HZ, bridge=True)
        clocks.join(self.ddrphy)
        button = ~self.platform.request("usr_btn")
        # Held for a second, the button starts the board's own bootloader, which accepts the next bitstream.
        self.to_bootloader = ClockDomainsRenamer("por")(WaitTimer(self.board.oscillator_hz))
        self.comb += [
            clocks.restart.button.eq(button),
            self.to_bootloader.wait.eq(button),
            self.platform.request("rst_n").eq(~self.to_bootloader.done),
        ]
        return clocks

    def make_dram(self, config):
        pads = self.platform.request("ddram")
        # As in litex_boards' target of this board: swapped masks, delayed commands at a low clock, no termination.
        self.ddrphy = ECP5DDRPHY(pads, config.clock_hz, dm_remapping={0: 1, 1: 0},
                                 cmd_delay=0 if config.clock_hz > 64e6 else 100)
        self.ddrphy.settings.rtt_nom = "disabled"
        self.comb += [pads.vccio.eq(0b111111), pads.gnd.eq(0)]  # pins that support the supply
        return self.ddrphy, MT41K64M16(config.clock_hz, "1:2")

    def led_pads(self):
        """Red, green and blue, lit by a low level."""
        return self.inverted([self.platform.request("user_led", i) for i in range(self.board.leds)])
