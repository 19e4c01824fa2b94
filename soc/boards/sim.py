"""A board that is simulated: the SoC of the boards with LiteDRAM's model of an SDRAM, and the simulator's ports."""

import json
from pathlib import Path

from litedram.modules import MT41K64M16, MT48LC16M16
from litex.gen import LiteXModule
from migen import ClockDomain, Record, Signal

from hw.ether.phy import WirePHY
from hw.host.core import HOST_OUTPUTS
from soc.boards.dram_model import DRAMModel
from soc.boards.restart import Restart
from soc.boards.sd_card import SDCard
from soc.boards.sdcard import SimulatedPads
from soc.boards.soc import BoardSoC
from soc.generate import check_ports, vlt
from soc.idle import idle_of
from soc.sim import TOP, SimPlatform, join_drive, join_observers, join_wire, ports


class _DDR3(MT41K64M16):
    nrows = 2048    # a quarter of the chip: the size of the SDRAM


# LiteDRAM's model of DDR3 has the words of ECP5DDRPHY, 128 bits, in four phases.
CHIPS = {"sdr": lambda clock_hz: MT48LC16M16(clock_hz, "1:1"), "ddr3": lambda clock_hz: _DDR3(clock_hz, "1:4")}


class SimulatedClocks(LiteXModule):
    """One clock for all, from the simulator's port; the SoC is reset while its reset is high, or Restart holds it."""
    def __init__(self, clock, reset, clock_hz):
        self.cd_por  = ClockDomain(reset_less=True)
        self.cd_sys  = ClockDomain()
        self.restart = Restart("por", clock_hz)

        # # #

        self.cd_por.clk = self.cd_sys.clk = clock
        self.comb += self.cd_sys.rst.eq(reset | self.restart.hold)


class Target(BoardSoC):
    def make_platform(self, config):
        platform = SimPlatform(config)
        self.pin = {name: platform.request(name) for name in ports(config)}
        return platform

    def make_clocks(self, config):
        return SimulatedClocks(self.pin["sys_clk"], self.pin["sys_rst"], config.clock_hz)

    def make_dram(self, config):
        chip = CHIPS[config.device](config.clock_hz)
        self.sdrphy = DRAMModel(chip, data_width=16, clock_hz=config.clock_hz)
        return self.sdrphy, chip

    def console_pads(self):
        console = Record([("tx", 1), ("rx", 1)])
        self.comb += [
            console.rx.eq(self.pin["uart0_rx"]),
            self.pin["uart0_tx"].eq(console.tx),
            *join_observers(self, self.pin),
            # As on a board, an exit is a restart and no end of the run; blobs can be observed.
            *(self.pin["host_" + name].eq(0 if name.startswith("exit") else getattr(self.host.outputs, name))
              for name, _ in HOST_OUTPUTS),
        ]
        return console

    def join_data_line(self):
        self.comb += [self.data_line.eq(self.pin["uart1_rx"]), self.pin["uart1_tx"].eq(self.uart1.pads.tx),
                      self.pin["uart0_rts"].eq(self.uart0.rts), self.pin["uart1_rts"].eq(self.uart1.rts)]

    def make_sd_pads(self):
        """A card whose sectors are with a drive of the simulator's: `--disk IMAGE`."""
        self.card = SDCard()
        self.comb += join_drive(self.card.store, lambda name: self.pin[f"disk0_{name}"])
        return self.card.pads, SimulatedPads

    def ether_phy(self):
        phy = WirePHY(self.parameters.clock_hz)
        self.comb += join_wire(phy.pads, self.pin)
        return phy

    def led_pads(self):
        return Signal(self.board.leds)

    def describe_device(self):
        return {"device": self.parameters.device}

    def write_target(self, names, folder: Path):
        check_ports((folder / f"{TOP}.v").read_text(), self.parameters)
        (folder / f"{TOP}.vlt").write_text(vlt())
        (folder / "idle.json").write_text(json.dumps(idle_of(self, names.get_name), indent=1))
