"""The memory at the other end of a device port, as far as proofs of its users need it."""

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from migen import Signal

ADDRESS_BITS = 8    # of words of 64 bits


class AnyMemory(LiteXModule):
    """A port whose other end takes commands and data at any time and answers a read with anything, later, once.

    prompt: it takes all at once, answers in the next cycle, and is never busy: for proofs that work ends in time."""
    def __init__(self, proof, prompt=False):
        self.port = port = LiteDRAMNativePort("both", address_width=ADDRESS_BITS, data_width=64)
        port.busy = Signal()
        self.reads, self.writes = Signal(), Signal()     # o: one is taken in this cycle
        owed = Signal(8)                                 # reads without an answer
        proof.any_value(port.rdata.data)
        if prompt:
            self.comb += [port.cmd.ready.eq(1), port.wdata.ready.eq(1), port.rdata.valid.eq(owed != 0)]
        else:
            proof.any_value(port.cmd.ready, port.wdata.ready, port.rdata.valid, port.busy)
        self.comb += [
            self.reads.eq(port.cmd.valid & port.cmd.ready & ~port.cmd.we),
            self.writes.eq(port.cmd.valid & port.cmd.ready & port.cmd.we),
        ]
        self.sync += owed.eq(owed + self.reads - port.rdata.valid)
        proof.assume(answers=~port.rdata.valid | (owed != 0))
