"""LambdaConcept ECPIX-5: ECP5 45F or 85F, 512 MiB of DDR3, gigabit Ethernet, SD card, 4 RGB LEDs, console over USB."""

from litedram.modules import MT41K256M16
from litedram.phy import ECP5DDRPHY
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex_boards.platforms import lambdaconcept_ecpix5

from soc.boards.clocks import DDRClocks
from soc.boards.soc import BoardSoC

INIT_HZ = 25_000_000


class Target(BoardSoC):
    def make_platform(self, config):
        return lambdaconcept_ecpix5.Platform(device=config.device, toolchain="trellis")

    def make_clocks(self, config):
        clocks = DDRClocks(self.platform, "clk100", self.board.oscillator_hz, config.clock_hz, INIT_HZ)
        clocks.join(self.ddrphy)
        self.comb += clocks.restart.button.eq(~self.platform.request("rst_n"))
        return clocks

    def make_dram(self, config):
        self.ddrphy = ECP5DDRPHY(self.platform.request("ddram"), config.clock_hz)
        return self.ddrphy, MT41K256M16(config.clock_hz, "1:2")

    def make_ethernet_phy(self, config):
        # Its PHY delays the clock of the data that it sends itself, as in litex_boards.
        return LiteEthPHYRGMII(self.platform.request("eth_clocks"), self.platform.request("eth"), rx_delay=0)

    def led_pads(self):
        """The green LEDs; all are lit by a low level."""
        colours = [self.platform.request("rgb_led", i) for i in range(self.board.leds)]
        self.comb += [getattr(led, colour).eq(1) for led in colours for colour in "rb"]
        return self.inverted([led.g for led in colours])
