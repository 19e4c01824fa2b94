"""The SoC on a board: LiteDRAM as main RAM, and what the board has of SD card, Ethernet and LEDs."""

from abc import ABC, abstractmethod
from pathlib import Path
from unittest.mock import patch

from litesdcard import phy as sd_phy
from litex.soc.cores.gpio import GPIOOut
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import Signal

from hw.pic import OffChipPIC
from hw.player.core import LinePlayer
from hw.ram.dram import DRAMPorts
from soc.boards.board import Board
from soc.boards.bus import BusRegister, HartIORegister
from soc.boards.catalog import BOARDS
from soc.boards.config import BoardConfig
from soc.boards.lattice import describe_device, write_constraints
from soc.boards.sdcard import registered
from soc.memory_map import Region
from soc.sim import TOP
from soc.soc import InterlockSoC

SOURCE_SD = 26
SOURCE_ETHERNET = 27
TRACE_SERIAL_GO = 1023  # the event at which the line player begins, as the simulator's harness does
ETHERNET_BUFFERS = Region(0xf005_0000, 0x2000, "bus", "rw", "Ethernet's buffers: two to receive, two to send.", 18, 16)


class BoardSoC(InterlockSoC, ABC):
    """A target derives from this, and says what is on its board in the abstract methods."""

    csr_map = InterlockSoC.csr_map | {
        "sdram": 16, "ddrphy": 17, "leds": 18, "sdcard_phy": 19, "sdcard_core": 20, "sdcard_block2mem": 21,
        "sdcard_mem2block": 22, "sdcard_irq": 23, "ethphy": 24, "ethmac": 25, "player": 26}

    cost_notes = ("On a board an access of the bus takes 2 cycles more than that and one of `clint`, `uart0`, `uart1`, "
                  "`pic_counters` and `trace_buffer` 4, one of a hart's own window 1 cycle, an engine's of RAM 2, and "
                  "main RAM takes what its DRAM does (hw/ram/README.md).\n",)

    def __init__(self, config: BoardConfig):
        self.parameters = config
        self.board: Board = BOARDS[config.board]
        super().__init__(self.make_platform(config), config)
        self.add_config("BOARD", config.board)
        self.add_config("BOOT_LOADER")  # the boot ROM gets its program over the console

        # Memory alone, in place of all addresses: with several masters LiteX decodes, and Verilog's `always @(*)` never
        # runs for the constant that all of them would be: simulated, such a bus is dead.
        self.dma_bus.regions["dma"] = SoCRegion(origin=0, size=1 << 31)
        self.dma_bus.slaves["dma"] = self.registered("dma", self.dma_bus.slaves["dma"])

        (master,) = self.bus.masters    # the cluster's
        self.bus_register = BusRegister(self.bus.masters[master])
        self.bus.masters[master] = self.bus_register.bus

        self.crg = self.make_clocks(config)
        self.leds = GPIOOut(self.led_pads())
        console = self.console_pads()
        self.comb += [
            self.uart0.pads.rx.eq(console.rx),
            console.tx.eq(self.uart0.pads.tx),
            self.crg.restart.line.eq(console.rx),
            self.crg.restart.request.eq(self.host.outputs.exit),
        ]
        self.data_line = Signal(reset=1)    # what comes in from outside, to uart1
        self.join_data_line()
        self.player = LinePlayer(config.clock_hz, self.cpu.dma_bus.data_width)
        self.dma_bus.add_master("player", self.player.bus)
        self.comb += [
            self.player.go.eq(self.trace.record.valid & (self.trace.record.event == TRACE_SERIAL_GO)),
            self.uart1.pads.rx.eq(self.data_line & self.player.line),
        ]
        if self.board.sd and config.sd:
            pads = sd_phy.SDPHYIOGen
            # LiteX makes the PHY, and that its pads, by itself.
            with patch.object(sd_phy, "SDPHYIOGen", registered(pads) if config.port_registers else pads):
                self.add_sdcard()
            self.comb += self.sources[SOURCE_SD].eq(self.sdcard_irq.irq)
        if self.board.ethernet:
            self.add_mac(config)

    def add_main_ram(self, config):
        phy, module = self.make_dram(config)
        self.add_sdram("sdram", phy=phy, module=module, with_soc_interconnect=False)
        self.ram = DRAMPorts(self.sdram.crossbar, config.ram_read_latency, modes=("read", "both"))
        self.comb += [
            self.cpu.ibus.connect(self.ram.ports[0]),
            self.cpu.dbus.connect(self.ram.ports[1]),
        ]

    def add_window(self, name, bus=None):
        super().add_window(name, None if bus is None else self.registered(name, bus))

    def registered(self, name, bus):
        """The slave `bus` behind a register, if the configuration has such."""
        if not self.parameters.port_registers:
            return bus
        master = wishbone.Interface(data_width=bus.data_width, address_width=bus.address_width,
                                    addressing=bus.addressing)
        register = BusRegister(master)
        self.add_module(f"bus_register_{name}", register)
        self.comb += register.bus.connect(bus)
        return master

    def hart_port(self, config, hart, port):
        if not config.port_registers:
            return port
        register = HartIORegister(port)
        self.add_module(f"hart_io_register{hart}", register)
        return register.port

    def add_pic(self, config):
        super().add_pic(config)
        # Through a register, for clock rate: interrupts come a cycle later than in the simulator.
        self.sources = Signal(len(self.pic.sources))
        self.sync += self.pic.sources.eq(self.sources)

    def make_controller(self, config, link):
        return OffChipPIC(link, late_accounting=config.port_registers)

    def add_mac(self, config):
        """Ethernet: LiteEth's MAC, its buffers in the region `ethmac`: first those of what came, then those to send."""
        self.map["ethmac"] = ETHERNET_BUFFERS
        self.mem_map["ethmac"] = ETHERNET_BUFFERS.origin
        self.ethphy = self.make_ethernet_phy(config)
        # 32 bits: all but the PHY itself is clocked by the system's clock. The platform knows how fast the PHY's is.
        self.add_ethernet(phy=self.ethphy, data_width=32, with_timing_constraints=False)
        self.comb += self.sources[SOURCE_ETHERNET].eq(self.ethmac.ev.irq)

    def make_ethernet_phy(self, config):
        """LiteEth's PHY; a board with Ethernet has to say."""
        raise NotImplementedError

    @abstractmethod
    def make_platform(self, config):
        """LiteX's platform of the board with the FPGA `config.device`."""

    @abstractmethod
    def make_clocks(self, config):
        """A module that makes the clock domains, with a Restart as `restart`."""

    @abstractmethod
    def make_dram(self, config):
        """LiteDRAM's PHY, which is a module of this SoC already, and its description of the chip."""

    def console_pads(self):
        """The pins `tx` and `rx` of the console."""
        return self.platform.request("serial")

    def join_data_line(self):
        """Wire `data_line` and uart1's transmit pin: to nothing, unless the board says where."""

    def led_pads(self) -> Signal:
        """`self.board.leds` LEDs, 1 for light."""
        return self.platform.request_all("user_led")

    def inverted(self, pads: list[Signal]) -> Signal:
        """What drives `pads` with the opposite level."""
        leds = Signal(len(pads))
        self.comb += [pad.eq(~leds[i]) for i, pad in enumerate(pads)]
        return leds

    def describe_device(self) -> dict:
        """What nextpnr wants to know of the FPGA (soc/boards/lattice.py)."""
        return describe_device(self.platform)

    def write_target(self, names, folder: Path):
        """Write to `folder` what goes with the Verilog, whose names `names` knows."""
        write_constraints(self.platform, names, folder, TOP)
