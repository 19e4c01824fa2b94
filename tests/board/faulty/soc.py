"""The faulty board's SoC: what Target makes of the simulated board's, with logic in between that can break it."""

from unittest.mock import patch

from litedram.common import LiteDRAMNativePort
from liteeth.common import eth_phy_description
from litex.gen import LiteXModule
from litex.soc.interconnect import stream, wishbone
from litex.soc.interconnect.csr import CSRStorage
from migen import Display, If, Mux, Signal

from hw.serial.core import Serial16550
from soc.boards.sim import Target as SimulatedTarget
from tests.board.faulty.faults import Fault
from tests.board.faulty.phy import ManagedPHY

DATA_BIT = 37
ADDRESS_BIT = 14
CELL_BIT = 33
MSIP_1 = 1                  # word of the CLINT
UART_BIT = 3
PIC_BIT = 2
FRAME_BIT = 6
SPEED_UP = 8                # of both serial ports, from reset
DEPTH = 64                  # reads that may be under way


class Planted(LiteXModule):
    """The planted faults: the simulator pokes them, a program does not write them."""
    def __init__(self):
        self.fault = CSRStorage(16, description="A Fault.")
        self.fault.storage.name_override = "planted_fault_storage"  # as the simulator and the cluster find it

    def __call__(self, fault: Fault):
        return (self.fault.storage & int(fault)) != 0


class Target(SimulatedTarget):
    csr_map = SimulatedTarget.csr_map | {"planted": 31}

    def __init__(self, config):
        # A fast console: less to simulate.
        with patch("soc.soc.Serial16550", lambda clock_hz, depth: Serial16550(clock_hz // SPEED_UP, depth)):
            super().__init__(config)
        self.ethphy = LiteXModule()
        self.ethphy.mdio = phy = ManagedPHY()
        self.comb += [
            self.card.absent.eq(self.planted(Fault.NO_CARD)),
            self.card.garbles.eq(self.planted(Fault.CARD_DATA)),
            self.card.old.eq(self.planted(Fault.OLD_CARD)),
            phy.silent.eq(self.planted(Fault.NO_PHY)),
            phy.unplugged.eq(self.planted(Fault.NO_LINK)),
        ]

    def init_rom(self, name, contents=(), auto_size=True):
        """All of the ROM's address space: the Verilog is the same whatever the ROM."""
        super().init_rom(name, list(contents) + [0] * (self.map["rom"].size // 4 - len(contents)), auto_size)

    def ether_phy(self):
        phy = super().ether_phy()
        inner, phy.source = phy.source, stream.Endpoint(eth_phy_description(32))
        self.comb += [
            inner.connect(phy.source, omit={"data"}),
            phy.source.data.eq(inner.data ^ Mux(self.planted(Fault.FRAMES), 1 << FRAME_BIT, 0)),
        ]
        return phy

    def led_pads(self):
        """The LEDs; each change is printed by the simulator."""
        leds, before = super().led_pads(), Signal(self.board.leds)
        self.sync += [before.eq(leds), If(leds != before, Display("leds %b", leds))]
        return leds

    def add_main_ram(self, config):
        self.planted = Planted()
        inner = self.cpu.dbus
        outer = self.cpu.dbus = LiteDRAMNativePort("both", inner.address_width, inner.data_width)
        cell = (self.map["main_ram"].size // 2 + 0x40) // 8
        words = self.map["main_ram"].size // 8
        reads = stream.SyncFIFO([("cell", 1)], DEPTH)
        self.submodules += reads
        fallen = Signal(64)
        risen  = Signal(64)
        self.comb += [
            inner.cmd.connect(outer.cmd, omit={"addr"}),
            outer.cmd.addr.eq(inner.cmd.addr & ~Mux(self.planted(Fault.ADDRESS_LINE), 1 << (ADDRESS_BIT - 3), 0)),
            inner.wdata.connect(outer.wdata),
            outer.rdata.connect(inner.rdata, omit={"data"}),
            fallen.eq(Mux(self.planted(Fault.DATA_LINE), 1 << DATA_BIT, 0)),
            risen.eq(Mux(self.planted(Fault.CELL) & reads.source.cell, 1 << CELL_BIT, 0)),
            inner.rdata.data.eq((outer.rdata.data & ~fallen) | risen),
            reads.sink.valid.eq(outer.cmd.valid & outer.cmd.ready & ~outer.cmd.we),
            reads.sink.cell.eq(inner.cmd.addr & (words - 1) == cell),
            reads.source.ready.eq(outer.rdata.valid),
        ]
        super().add_main_ram(config)
        self.cpu.dbus = inner

    def add_pic(self, config):
        super().add_pic(config)
        wires, sources = self.link.irq, self.sources
        self.link.irq, self.sources = Signal.like(wires), Signal.like(sources)
        self.comb += [
            self.link.irq.eq(wires & ~Mux(self.planted(Fault.HART_WIRE), 1 << 1, 0)),
            sources.eq(self.sources & ~Mux(self.planted(Fault.SOURCE_WIRE), 1 << 17, 0)),
        ]
        port = self.link.ports[0]
        data, port.rsp_data = port.rsp_data, Signal.like(port.rsp_data)
        self.comb += port.rsp_data.eq(data & ~Mux(self.planted(Fault.PIC_REGISTER), 1 << PIC_BIT, 0))

    def add_window(self, name, bus=None):
        if name in ("clint", "uart1"):
            inner = bus
            bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
            self.comb += bus.connect(inner, omit={"we", "dat_r"})
            lost = (self.planted(Fault.DEAD_HART) & (bus.adr[:14] == MSIP_1)) if name == "clint" else 0
            fallen = Mux(self.planted(Fault.SERIAL), 1 << UART_BIT, 0) if name == "uart1" else 0
            self.comb += [inner.we.eq(bus.we & ~lost), bus.dat_r.eq(inner.dat_r & ~fallen)]
        super().add_window(name, bus)
