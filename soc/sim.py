"""The SoC as the simulator sees it: module `interlock`, whose ports are the chip's wires and signals that only a
simulator can watch."""

from litex.build.generic_platform import GenericPlatform, Pins
from migen import Cat, ClockDomain

from hw.disk.medium import COMMAND
from hw.ether.phy import WirePHY, pads_layout
from hw.host.core import HOST_OUTPUTS
from soc.config import SoCConfig
from soc.soc import InterlockSoC

TOP = "interlock"
TRACE_OUTPUTS = [("valid", 1), ("hart", 4), ("event", 10), ("argument", 32), ("cycle", 64)]
DISK_INPUTS = [("answer_valid", 1), ("answer", 31), ("data_in_valid", 1), ("data_in", 64), ("sectors", 32)]
DISK_OUTPUTS = [("answer_ready", 1), ("data_in_ready", 1), ("command_valid", 1), ("command_op", 3), ("command_tag", 5),
                ("command_lba", 32), ("command_count", 16), ("command_burst", 5), ("data_out_valid", 1),
                ("data_out", 64), ("reset", 1)]
PROBE_OUTPUTS = [("valid", 1), ("pc", 32), ("privilege", 2), ("trap", 1), ("cause", 32), ("trap_pc", 32), ("wfi", 1)]


def ports(config: SoCConfig) -> dict[str, tuple[str, int]]:
    """Every port of the top module: its direction ("input" or "output") and width in bits."""
    inputs = [(name, 1) for name in ("sys_clk", "sys_rst", "uart0_rx", "uart1_rx")]
    inputs += [(f"disk{n}_{name}", width) for n in range(config.disks) for name, width in DISK_INPUTS]
    outputs = [("uart0_tx", 1), ("uart1_tx", 1), ("uart0_rts", 1), ("uart1_rts", 1)]
    outputs += [("host_" + name, width) for name, width in HOST_OUTPUTS]
    outputs += [("trace_" + name, width) for name, width in TRACE_OUTPUTS]
    outputs += [("pic_irq", config.harts), ("pic_sources", 32)]
    outputs += [(f"probe{hart}_{name}", width) for hart in range(config.harts) for name, width in PROBE_OUTPUTS]
    outputs += [(f"disk{n}_{name}", width) for n in range(config.disks) for name, width in DISK_OUTPUTS]
    found = ({name: ("input", width) for name, width in inputs}
             | {name: ("output", width) for name, width in outputs})
    if config.ethers:
        found |= {"ether_" + name: ("input" if _comes_in(name) else "output", width) for name, width in pads_layout}
    return found


def _comes_in(name: str) -> bool:
    return name.startswith("rx_") or name == "link"


class SimPlatform(GenericPlatform):
    """A platform whose pins are the simulator's ports."""
    def __init__(self, config: SoCConfig):
        io = [(name, 0, Pins(width)) for name, (_, width) in ports(config).items()]
        super().__init__("verilator", io, name="sim")


class SimSoC(InterlockSoC):
    """The SoC with its simulator's ports connected."""
    def __init__(self, config: SoCConfig):
        platform = SimPlatform(config)
        super().__init__(platform, config)
        pin = {name: platform.request(name) for name in ports(config)}

        # The clock and reset are the ports themselves: no net between them and the registers.
        self.cd_sys = cd_sys = ClockDomain("sys")
        cd_sys.clk, cd_sys.rst = pin["sys_clk"], pin["sys_rst"]

        for name, uart in (("uart0", self.uart0), ("uart1", self.uart1)):
            self.comb += [uart.pads.rx.eq(pin[name + "_rx"]), pin[name + "_tx"].eq(uart.pads.tx)]
        self.comb += [pin["uart0_rts"].eq(self.uart0.rts), pin["uart1_rts"].eq(self.uart1.rts)]
        self.comb += [pin["host_" + name].eq(getattr(self.host.outputs, name)) for name, _ in HOST_OUTPUTS]
        for n, disk in enumerate(self.disks):
            self.comb += join_drive(disk.medium, lambda name, n=n: pin[f"disk{n}_{name}"])
        self.comb += join_observers(self, pin)
        if config.ethers:
            self.comb += join_wire(self.ether.phy.pads, pin)

    def ether_phy(self):
        return WirePHY(self.sys_clk_freq)


def join_drive(medium, pin) -> list:
    """Statements that connect the streams of a disk controller (hw.disk.medium.Medium) to the ports `pin(name)`: a
    drive that accepts everything at once."""
    return [
        medium.command.ready.eq(1),
        medium.data_out.ready.eq(1),
        medium.answer.valid.eq(pin("answer_valid")),
        Cat(*medium.answer.payload.flatten()).eq(pin("answer")),
        medium.data_in.valid.eq(pin("data_in_valid")),
        medium.data_in.data.eq(pin("data_in")),
        medium.sectors.eq(pin("sectors")),
        pin("answer_ready").eq(medium.answer.ready),
        pin("data_in_ready").eq(medium.data_in.ready),
        pin("command_valid").eq(medium.command.valid),
        *(pin(f"command_{name}").eq(getattr(medium.command, name)) for name, _ in COMMAND),
        pin("data_out_valid").eq(medium.data_out.valid),
        pin("data_out").eq(medium.data_out.data),
        pin("reset").eq(medium.reset),
    ]


def join_wire(pads, pin: dict) -> list:
    """Statements that connect the pads of a WirePHY to the ports `pin`."""
    return [getattr(pads, name).eq(pin["ether_" + name]) if _comes_in(name) else
            pin["ether_" + name].eq(getattr(pads, name)) for name, _ in pads_layout]


def join_observers(soc: InterlockSoC, pin: dict) -> list:
    """Statements that connect to the ports `pin` the signals of `soc` that only a simulator can watch."""
    statements = [pin["trace_" + name].eq(getattr(soc.trace.record, name)) for name, _ in TRACE_OUTPUTS]
    statements += [pin["pic_irq"].eq(soc.cpu.external_interrupt), pin["pic_sources"].eq(soc.sources)]
    for hart, probe in enumerate(soc.cpu.probe):
        statements += [pin[f"probe{hart}_{name}"].eq(getattr(probe, name)) for name, _ in PROBE_OUTPUTS]
    return statements
