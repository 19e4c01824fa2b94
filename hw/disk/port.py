"""One memory port, shared by a writer and a reader."""

from litedram.common import LiteDRAMNativePort
from litedram.frontend.dma import LiteDRAMDMAReader, LiteDRAMDMAWriter
from litex.gen import LiteXModule
from migen import Mux, Signal

WRITES_AHEAD = 16


class SharedPort(LiteXModule):
    """A writer and a reader, LiteDRAM's, only one of which makes requests at a time.

    port: a native port of memory with `busy` (hw/cpu, "Device ports"). read_ahead: words that the reader buffers."""
    def __init__(self, port, read_ahead):
        self.visible = Signal()     # o: all writes are visible to all harts

        # # #

        def port_like():
            return LiteDRAMNativePort("both", address_width=port.address_width, data_width=port.data_width)

        to_write, to_read = port_like(), port_like()
        self.writer = LiteDRAMDMAWriter(to_write, fifo_depth=WRITES_AHEAD)
        self.reader = LiteDRAMDMAReader(to_read, fifo_depth=read_ahead)
        self.comb += [
            port.cmd.valid.eq(to_write.cmd.valid | to_read.cmd.valid),
            port.cmd.we.eq(to_write.cmd.valid),
            port.cmd.addr.eq(Mux(to_write.cmd.valid, to_write.cmd.addr, to_read.cmd.addr)),
            to_write.cmd.ready.eq(port.cmd.ready),
            to_read.cmd.ready.eq(port.cmd.ready & ~to_write.cmd.valid),
            port.wdata.valid.eq(to_write.wdata.valid),
            port.wdata.data.eq(to_write.wdata.data),
            port.wdata.we.eq(to_write.wdata.we),
            to_write.wdata.ready.eq(port.wdata.ready),
            to_read.rdata.valid.eq(port.rdata.valid),
            to_read.rdata.data.eq(port.rdata.data),
            port.rdata.ready.eq(1),
            self.visible.eq(~port.busy & ~to_write.wdata.valid),
        ]
