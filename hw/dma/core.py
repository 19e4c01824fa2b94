"""Copies memory past the harts, coherently: LiteX's Wishbone DMA reader feeding its writer (manual: README.md)."""

from litex.gen import LiteXModule
from litex.soc.cores.dma import WishboneDMAReader, WishboneDMAWriter
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import If, Signal

FIFO_WORDS = 16  # words read before the first of them has to be written


class CopyEngine(LiteXModule):
    """Copies whole words of `data_width` bits; `bus` is a master of the coherent bus."""
    def __init__(self, data_width=64):
        word = data_width // 8
        self.bus = wishbone.Interface(data_width=data_width, address_width=32, addressing="word")

        whole = f"The low {word.bit_length() - 1} bits are taken as 0."
        self.source = CSRStorage(32, description=f"Physical address to copy from. {whole}")
        self.destination = CSRStorage(32, description=f"Physical address to copy to. {whole}")
        self.length = CSRStorage(32, description=f"Bytes to copy. {whole} **A write starts the copy**, from and to "
            "where `source` and `destination` say then, unless it is 0; one that finds a copy under way starts none.")
        self.busy = CSRStatus(description="1 while a copy is under way; when it reads 0, all of it is in memory.")

        # # #

        buses = [wishbone.Interface(data_width=data_width, address_width=32, addressing="word") for _ in range(2)]
        self.reader  = reader = WishboneDMAReader(buses[0], fifo_depth=FIFO_WORDS)
        self.writer  = writer = WishboneDMAWriter(buses[1])
        self.arbiter = wishbone.Arbiter(buses, self.bus)
        reader.add_ctrl()
        writer.add_ctrl(ready_on_idle=0)

        enable = Signal()
        base, target, length = Signal(32), Signal(32), Signal(32)  # of the copy under way
        self.sync += If(~enable,
            If(self.length.re & (self.length.storage[word.bit_length() - 1:] != 0),
                enable.eq(1),
                base.eq(self.source.storage),
                target.eq(self.destination.storage),
                length.eq(self.length.storage)
            )
        ).Elif(writer.done,
            enable.eq(0)
        )
        self.comb += [
            reader.source.connect(writer.sink),
            reader.base.eq(base),
            reader.length.eq(length),
            reader.enable.eq(enable),
            writer.base.eq(target),
            writer.length.eq(length),
            writer.enable.eq(enable),
            self.busy.status.eq(enable),
        ]
