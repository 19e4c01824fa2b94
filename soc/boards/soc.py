"""The SoC on a board: LiteDRAM as main RAM, and what the board has of SD card, Ethernet and LEDs."""

from abc import ABC, abstractmethod
from pathlib import Path

from litesdcard.phy import SDPHYIOGen
from litex.soc.cores.gpio import GPIOOut
from litex.soc.integration.soc import SoCRegion
from litex.soc.interconnect import wishbone
from migen import Signal

from hw.disk.sdcard import SDCardDrive
from hw.ether.chip import ChipPHY
from hw.pic import OffChipPIC
from hw.player.core import LinePlayer
from hw.ram.dram import DRAMPorts
from soc.boards.board import Board
from soc.boards.bus import BusRegister, DevicePortRegister, HartIORegister
from soc.boards.catalog import BOARDS
from soc.boards.config import BoardConfig
from soc.boards.lattice import describe_device, write_constraints
from soc.boards.sdcard import registered
from soc.sim import TOP
from soc.soc import InterlockSoC

TRACE_SERIAL_GO = 1023  # the event at which the line player begins, as the simulator's harness does


class BoardSoC(InterlockSoC, ABC):
    """A target derives from this, and describes its board in the abstract methods."""

    csr_map = InterlockSoC.csr_map | {
        "sdram": 16, "ddrphy": 17, "leds": 18, "sdcard": 19, "ethphy": 24, "player": 26}

    cost_notes = ("On a board an access of the bus takes 2 cycles more than that and one of `clint`, `uart0`, `uart1`, "
                  "`pic_counters` and `trace_buffer` 4, one of a hart's own window 1 cycle, an engine's of RAM 2, one "
                  "of a disk controller or of Ethernet 1, and main RAM takes what its DRAM does (hw/ram/README.md).\n",)

    def __init__(self, config: BoardConfig):
        self.parameters = config
        self.board: Board = BOARDS[config.board]
        super().__init__(self.make_platform(config), config)
        self.add_config("BOARD", config.board)
        self.add_config("BOOT_LOADER")  # the boot ROM loads its program over the console

        # Only memory, instead of all addresses: with several masters LiteX decodes, and Verilog's `always @(*)` never
        # runs for the constant that all of them would be: in simulation, such a bus is dead.
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
        self.data_line = Signal(reset=1)    # input from outside, to uart1
        self.join_data_line()
        self.player = LinePlayer(config.clock_hz, self.cpu.dma_bus.data_width)
        self.dma_bus.add_master("player", self.player.bus)
        self.comb += [
            self.player.go.eq(self.trace.record.valid & (self.trace.record.event == TRACE_SERIAL_GO)),
            self.uart1.pads.rx.eq(self.data_line & self.player.line),
        ]
        if self.disks:
            pads, io = self.make_sd_pads()
            self.sdcard = SDCardDrive(self.disks[0].medium, pads, config.clock_hz,
                                      registered(io) if config.port_registers else io)

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
        """The slave `bus` behind a register, if the configuration has them."""
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

    def device_port(self, config, n):
        port = super().device_port(config, n)
        if not config.port_registers:
            return port
        register = DevicePortRegister(port)
        self.add_module(f"device_port_register{n}", register)
        return register.port

    def add_pic(self, config):
        super().add_pic(config)
        # Through a register, for clock rate: interrupts come a cycle later than in the simulator.
        self.sources = Signal(len(self.pic.sources))
        self.sync += self.pic.sources.eq(self.sources)

    def make_controller(self, config, link):
        return OffChipPIC(link, late_accounting=config.port_registers)

    def make_sd_pads(self):
        """The SD card's pads, and the class that connects LiteSDCard to them."""
        return self.platform.request("sdcard"), SDPHYIOGen

    def ether_phy(self):
        self.ethphy = self.make_ethernet_phy(self.parameters)
        return ChipPHY(self.ethphy)

    def make_ethernet_phy(self, config):
        """LiteEth's PHY; a board with Ethernet has to define it."""
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
        """Connect `data_line` and uart1's transmit pin: to nothing, unless the board overrides this."""

    def led_pads(self) -> Signal:
        """`self.board.leds` LEDs, 1 for light."""
        return self.platform.request_all("user_led")

    def inverted(self, pads: list[Signal]) -> Signal:
        """A signal that drives `pads` with the opposite level."""
        leds = Signal(len(pads))
        self.comb += [pad.eq(~leds[i]) for i, pad in enumerate(pads)]
        return leds

    def describe_device(self) -> dict:
        """The FPGA's description for nextpnr (soc/boards/lattice.py)."""
        return describe_device(self.platform)

    def write_target(self, names, folder: Path):
        """Write to `folder` the files beside the Verilog, whose names are in `names`."""
        write_constraints(self.platform, names, folder, TOP)
