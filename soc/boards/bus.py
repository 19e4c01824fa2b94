"""Registers between the cluster and its slaves, or its masters, for clock rate."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream, wishbone
from migen import If, Signal

from hw.common.hart_io import HartIO
from hw.cpu.core import DevicePort


class BusRegister(LiteXModule):
    """An access of `master` (a Wishbone slave here) goes out on `bus` a cycle later, and its answer returns a cycle
    after it came. So every access takes two cycles more, and no path leads from a hart's bus through a device and back.

    A master that aborts an access, as a bus time-out does, leaves `cyc` or `stb` low for at least a cycle: then it is
    aborted on `bus` too, and its answer is dropped, so that it ends no other access.

    In simulation these paths cost nothing, so only boards have it."""
    def __init__(self, master):
        self.bus = bus = wishbone.Interface(data_width=master.data_width, address_width=master.address_width,
                                            addressing=master.addressing)

        # # #

        answered = Signal()
        wanted   = Signal()
        self.comb += [
            answered.eq(bus.ack | bus.err),
            wanted.eq(master.cyc & master.stb),
        ]
        self.sync += [
            master.ack.eq(0),
            master.err.eq(0),
            If(bus.cyc,
                If(answered | ~wanted,
                    bus.cyc.eq(0),
                    bus.stb.eq(0),
                    master.ack.eq(bus.ack & wanted),
                    master.err.eq(bus.err & wanted),
                    master.dat_r.eq(bus.dat_r)
                )
            ).Elif(wanted & ~master.ack & ~master.err,
                bus.cyc.eq(1),
                bus.stb.eq(1),
                bus.we.eq(master.we),
                bus.adr.eq(master.adr),
                bus.sel.eq(master.sel),
                bus.dat_w.eq(master.dat_w)
            ),
        ]


class HartIORegister(LiteXModule):
    """Accesses of `master` (a hart's private port) go out on `port` a cycle later. So no path leads from a hart's data
    cache through its devices and back; no other access can follow before the answer anyway."""
    def __init__(self, master):
        self.port = port = HartIO()

        # # #

        self.comb += [
            master.cmd_ready.eq(~port.cmd_valid),
            master.rsp_valid.eq(port.rsp_valid),
            master.rsp_data.eq(port.rsp_data),
        ]
        self.sync += If(port.cmd_valid,
            port.cmd_valid.eq(~port.cmd_ready)
        ).Elif(master.cmd_valid,
            port.cmd_valid.eq(1),
            port.cmd_write.eq(master.cmd_write),
            port.cmd_address.eq(master.cmd_address),
            port.cmd_data.eq(master.cmd_data),
            port.cmd_mask.eq(master.cmd_mask)
        )


class DevicePortRegister(LiteXModule):
    """A device's commands on `port` go to `slave` (hw.cpu.core.DevicePort) a cycle later or more, in order and at up to
    one command a cycle; data passes through unchanged. So no path leads from a device's state machine through the
    port's combining of commands and back: `ready` comes from a register, too."""
    COMMANDS = 2    # enough for one a cycle

    def __init__(self, slave):
        self.port = port = DevicePort()

        # # #

        self.commands = commands = stream.SyncFIFO(slave.cmd.description, self.COMMANDS)
        writes = Signal(max=self.COMMANDS + 1)  # among them, not yet passed to the slave
        comes, goes = (end.valid & end.ready & end.we for end in (commands.sink, commands.source))
        self.sync += writes.eq(writes + comes - goes)
        self.comb += [
            port.cmd.connect(commands.sink),
            commands.source.connect(slave.cmd),
            port.wdata.connect(slave.wdata),
            slave.rdata.connect(port.rdata),
            port.busy.eq(slave.busy | (writes != 0)),
        ]
