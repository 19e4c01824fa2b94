"""Colorlight i5 (ECP5 25F) and i9 (45F) on their extension board: 8 MiB of SDRAM, gigabit Ethernet, one LED, console
over USB; an SD card on a Pmod."""

from litedram.modules import M12L64322A
from litedram.phy import GENSDRPHY
from liteeth.phy.ecp5rgmii import LiteEthPHYRGMII
from litex_boards.platforms import colorlight_i5

from soc.boards.clocks import SDRClocks
from soc.boards.soc import BoardSoC

SDRAM_PHASE = 180   # degrees: as in litex_boards' target of these boards
REVISIONS = {"i5": "7.0", "i9": "7.2"}


class Target(BoardSoC):
    def make_platform(self, config):
        model = config.board.removeprefix("colorlight_")
        platform = colorlight_i5.Platform(board=model, revision=REVISIONS[model], toolchain="trellis")
        platform.add_extension(colorlight_i5.sdcard_pmod_io("pmode"))
        return platform

    def make_clocks(self, config):
        clocks = SDRClocks(self.platform, "clk25", self.board.oscillator_hz, config.clock_hz, SDRAM_PHASE)
        self.comb += clocks.restart.button.eq(~self.platform.request("cpu_reset_n"))
        return clocks

    def make_dram(self, config):
        self.sdrphy = GENSDRPHY(self.platform.request("sdram"), config.clock_hz)
        return self.sdrphy, M12L64322A(config.clock_hz, "1:1")

    def make_ethernet_phy(self, config):
        return LiteEthPHYRGMII(self.platform.request("eth_clocks"), self.platform.request("eth"), tx_delay=0)

    def led_pads(self):
        return self.inverted([self.platform.request("user_led_n")])
