"""The SoC: the CPU cluster, main RAM, the interrupt controller behind its link, serial ports, trace port.

It is a LiteX SoC: LiteX's bus, CSRs, memory regions and exports; none of its BIOS, timer or UART.
"""

from litex.soc.integration.soc import SoCRegion
from litex.soc.integration.soc_core import SoCCore
from migen import Signal

from hw.arrivals.core import WIRES, ArrivalPlayer
from hw.common.csr import whole_words
from hw.common.idle import Clock
from hw.cpu.core import register
from hw.disk.core import DiskController
from hw.dma.core import CopyEngine
from hw.ether import Ether
from hw.host.core import HostPort, Identity
from hw.pic import Link, OffChipPIC
from hw.ram.core import MainRAM
from hw.serial.core import Serial16550
from hw.trace.core import TracePort
from soc.config import ETHER_PORTS, SoCConfig
from soc.fingerprint import UNSIGNED
from soc.memory_map import memory_map
from soc.splitter import HartIOSplitter

SOURCE_TIMER = 0     # + hart
SOURCE_UART0 = 16
SOURCE_UART1 = 17
SOURCE_ARRIVALS = 18  # + wire
SOURCE_DISK = 28     # - its number
SOURCE_ETHER = 29    # + wire: the receive queues, and the rest
BUS_TIMEOUT = 1024   # cycles until an access of the shared bus that no device answers reads as all ones


class InterlockSoC(SoCCore):
    """All that is in the chip; a target adds clock, reset and pins."""

    # Fixed, so that a program built for one SoC finds its CSRs in another.
    csr_map = {"ctrl": 0, "host": 1, "identity": 2, "ram": 3, "link": 4, "trace": 5, "dma": 6, "pic": 7,
               "arrivals": 8, "ether": 10}
    cost_notes: tuple[str, ...] = ()     # notes of the register reference beside the costs of memory_map.py

    def __init__(self, platform, config: SoCConfig):
        self.map = regions = memory_map(config)
        self.mem_map = {name: region.origin for name, region in regions.items()}
        register(config.cluster())
        super().__init__(platform, config.clock_hz,
            cpu_type             = "interlock",
            bus_timeout          = BUS_TIMEOUT,
            integrated_rom_size  = regions["rom"].size,
            integrated_sram_size = regions["sram"].size,
            with_uart            = False,
            with_timer           = False,
            with_ctrl            = False)
        self.add_config("HARTS", config.harts)
        self.add_controller("ctrl", with_reset=False, with_scratch=False)

        self.host     = HostPort()
        self.identity = Identity(UNSIGNED, config.harts, config.clock_hz)

        self.add_main_ram(config)
        self.add_window("main_ram")
        self.dma = CopyEngine(data_width=self.cpu.dma_bus.data_width)
        self.dma_bus.add_master("dma", self.dma.bus)

        # Not in a separate method: signals are named after the place of their creation, and --poke finds them by name.
        self.uart0 = Serial16550(config.clock_hz, config.serial_fifo)
        self.uart1 = Serial16550(config.clock_hz, config.serial_fifo)
        self.trace = TracePort(config.harts, config.trace_depth)
        self.add_pic(config)
        self.arrivals = ArrivalPlayer()
        for name, bus in (
            ("clint", self.cpu.clint_bus),
            ("uart0", self.uart0.bus),
            ("uart1", self.uart1.bus),
            ("pic_counters", self.pic.counters_bus),
            ("trace_buffer", self.trace.bus),
        ):
            self.add_window(name, bus)
        self.add_disks(config)
        self.add_hart_windows(config)
        self.join_interrupts(config)

        cycle = Signal(64)      # since reset, as every hart's mcycle
        self.while_idle = [Clock(cycle)]
        self.sync += cycle.eq(cycle + 1)
        self.comb += self.trace.cycle.eq(cycle)

        if config.ethers:
            self.add_ether(config, cycle)

    def add_disks(self, config):
        self.disks = []
        for n in range(config.disks):
            disk = DiskController(self.device_port(config, config.cluster().device_ports - 1 - n),
                                  self.map["main_ram"].size)
            self.add_module(f"disk{n}", disk)
            self.add_window(f"disk{n}", disk.bus)
            self.comb += self.sources[SOURCE_DISK - n].eq(disk.irq)
            self.disks.append(disk)

    def add_hart_windows(self, config):
        """The devices that harts reach by private ports."""
        regions = self.map
        for hart, port in enumerate(self.cpu.hart_io):
            self.add_module(f"hart_io{hart}", HartIOSplitter(self.hart_port(config, hart, port), [
                (regions["pic_window"].origin, regions["pic_window"].size, self.link.ports[hart]),
                (regions["trace_window"].origin, regions["trace_window"].size, self.trace.ports[hart]),
            ]))
        self.add_window("pic_window")
        self.add_window("trace_window")

    def join_interrupts(self, config):
        self.comb += [
            self.sources[SOURCE_TIMER:SOURCE_TIMER + config.harts].eq(self.cpu.timer_interrupt),
            self.sources[SOURCE_UART0].eq(self.uart0.irq),
            self.sources[SOURCE_UART1].eq(self.uart1.irq),
            self.sources[SOURCE_ARRIVALS:SOURCE_ARRIVALS + WIRES].eq(self.arrivals.irq),
            self.cpu.external_interrupt.eq(self.link.irq),
        ]

    def add_csr_bridge(self, name="csr", **options):
        """As LiteX's; a store of less than a word does nothing, where LiteX would take the bus's other bytes for the
        rest of the register."""
        super().add_csr_bridge(name, **options)
        whole, joined = whole_words(self.bus.slaves[name])
        self.comb += joined
        self.bus.slaves[name] = whole

    def add_ether(self, config, cycle):
        """Ethernet, whose frames use the cluster's first device ports; the target has `ether_phy`."""
        ports = [self.device_port(config, n) for n in range(ETHER_PORTS)]
        self.ether = Ether(self.ether_phy(), ports, self.map["main_ram"].size, cycle[:32])
        self.comb += self.sources[SOURCE_ETHER:SOURCE_ETHER + len(self.ether.irq)].eq(self.ether.irq)

    def hart_port(self, config, hart, port):
        """The port of a hart for its devices."""
        return port

    def device_port(self, config, n):
        """Port `n` of the cluster, as a device sees it."""
        return self.cpu.device_ports[n]

    def add_main_ram(self, config):
        """The slave of the cluster's ports for instructions and data: `self.ram`, with the CSRs of hw/ram."""
        self.ram = MainRAM(self.map["main_ram"].size, config.ram_read_latency, modes=("read", "both"))
        self.comb += [
            self.cpu.ibus.connect(self.ram.ports[0]),
            self.cpu.dbus.connect(self.ram.ports[1]),
        ]

    def add_pic(self, config):
        """The interrupt controller: `self.link` with a port and an interrupt wire a hart, `self.pic` with the counters'
        bus, and its `self.sources`."""
        self.link = self.make_link(
            config.harts, config.link_read_latency, config.link_write_latency, config.link_delivery_delay,
            read_back=config.link_read_back, write_back=config.link_write_back, fall_delay=config.link_fall_delay)
        self.pic  = self.make_controller(config, self.link)
        self.sources = self.pic.sources

    def make_link(self, *parameters, **times):
        """The link between the harts and the controller, from the parameters of hw.pic.link.Link."""
        return Link(*parameters, **times)

    def make_controller(self, config, link):
        """The controller at the far end of `link`."""
        return OffChipPIC(link)

    def add_window(self, name, bus=None):
        """Enter the region `name` of the memory map, with `bus` as its slave on the shared bus, if it is there."""
        region = self.map[name]
        litex_region = SoCRegion(region.origin, region.size, mode=region.mode, cached=region.cached)
        if bus is None:
            self.bus.add_region(name, litex_region)
        else:
            self.bus.add_slave(name, bus, litex_region)
