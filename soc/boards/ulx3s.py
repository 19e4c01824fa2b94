"""Radiona ULX3S: ECP5 12F to 85F, 32 MiB of SDRAM, SD card, 8 LEDs, console over USB."""

from litedram.modules import MT48LC16M16
from litedram.phy import GENSDRPHY
from litex_boards.platforms import radiona_ulx3s

from soc.boards.clocks import SDRClocks
from soc.boards.soc import BoardSoC

SDRAM_PHASE = 90    # degrees: as in litex_boards' target of this board


class Target(BoardSoC):
    def make_platform(self, config):
        return radiona_ulx3s.Platform(device=f"LFE5U-{config.device}", revision="2.0", toolchain="trellis")

    def make_clocks(self, config):
        clocks = SDRClocks(self.platform, "clk25", self.board.oscillator_hz, config.clock_hz, SDRAM_PHASE)
        self.comb += [
            clocks.restart.button.eq(self.platform.request("rst")),
            self.platform.request("wifi_gpio0").eq(1),  # low, it would let the ESP32 take over the board
        ]
        return clocks

    def make_dram(self, config):
        self.sdrphy = GENSDRPHY(self.platform.request("sdram"), config.clock_hz)
        return self.sdrphy, MT48LC16M16(config.clock_hz, "1:1")
