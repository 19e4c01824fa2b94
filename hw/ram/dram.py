"""Main RAM in a DRAM behind LiteDRAM: the registers and ports of hw/ram/core.py, in front of LiteDRAM's crossbar.

The order of accesses is LiteDRAM's: it takes a write's data when the DRAM gets it, which is when the cluster answers
the store, so that every read that is requested after that returns it, on any port.
"""

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRStorage
from migen import Cat, If, Mux, Signal

from hw.common.fifo import BlockFIFO
from hw.common.jitter import Jitter
from hw.ram.core import DATA_WIDTH, DELAY_WIDTH, OUTSTANDING, SALTS

NOW_WIDTH = DELAY_WIDTH + 2     # a word is released at most the longest latency and jitter after it came
PAIR_CYCLES = 3                 # between the reads of two halves of a wide word


class DRAMPorts(LiteXModule):
    """Native ports of 64 bits for the cluster into `crossbar`, LiteDRAM's; `modes` as of MainRAM.

    ValueError if the DRAM's word is wider than 128 bits."""
    def __init__(self, crossbar, read_latency=0, modes=("both", "both")):
        self.ports = [LiteDRAMNativePort(mode, address_width=32, data_width=DATA_WIDTH) for mode in modes]

        self.read_latency = CSRStorage(DELAY_WIDTH, reset=read_latency, description="Cycles that the data of a read is "
            "held back when the DRAM has given it.")
        self.jitter = CSRStorage(DELAY_WIDTH, description="Most cycles by which a read is late at random, on top of "
            "`read_latency`; 0 for none. Reads of a port never overtake each other.")
        self.seed = CSRStorage(32, description="A write starts each port's random sequence again from this "
            "number (and the port's), so that the same delays can be had again.")

        # # #

        for i, port in enumerate(self.ports):
            self.add_module(f"delay{i}", delay := ReadDelay(port, SALTS[i]))
            self.comb += [
                delay.latency.eq(self.read_latency.storage),
                delay.jitter.bound.eq(self.jitter.storage),
                delay.jitter.seed.eq(self.seed.storage),
                delay.jitter.load.eq(self.seed.re),
            ]
            width = crossbar.controller.data_width
            if width <= DATA_WIDTH:
                dram = crossbar.get_port(port.mode, data_width=DATA_WIDTH)
                self.comb += delay.port.connect(dram)
            elif width == 2 * DATA_WIDTH:
                self.add_module(f"pairs{i}", PairPort(delay.port, crossbar.get_port(port.mode)))
            else:
                raise ValueError(f"a DRAM with words of {width} bits: {2 * DATA_WIDTH} is the most that is made use of")


class ReadDelay(LiteXModule):
    """Commands of `port` (a slave) go on to `self.port`, and the data of reads comes back later by `latency` and
    `jitter`; at once when both are 0. At most OUTSTANDING reads are under way, for which there is room."""
    def __init__(self, port, salt):
        self.port    = ahead = LiteDRAMNativePort(port.mode, port.address_width, port.data_width)
        self.latency = Signal(DELAY_WIDTH)      # i: cycles
        self.jitter  = jitter = Jitter(salt)

        # # #

        read  = Signal()
        under_way = Signal(max=OUTSTANDING + 1)
        full  = Signal()
        self.comb += [
            full.eq(under_way == OUTSTANDING),
            port.cmd.connect(ahead.cmd, omit={"valid", "ready"}),
            ahead.cmd.valid.eq(port.cmd.valid & (port.cmd.we | ~full)),
            port.cmd.ready.eq(ahead.cmd.ready & (port.cmd.we | ~full)),
            read.eq(ahead.cmd.valid & ahead.cmd.ready & ~ahead.cmd.we),
            port.wdata.connect(ahead.wdata),
        ]
        self.sync += If(read & ~port.rdata.valid,
            under_way.eq(under_way + 1)
        ).Elif(port.rdata.valid & ~read,
            under_way.eq(under_way - 1)
        )

        self.queue = queue = BlockFIFO([("data", port.data_width), ("due", NOW_WIDTH)], OUTSTANDING)
        now     = Signal(NOW_WIDTH)
        overdue = Signal(NOW_WIDTH)
        at_once = Signal()
        direct  = Signal()  # past the queue
        due     = Signal()
        self.sync += [
            now.eq(now + 1),
            at_once.eq((self.latency == 0) & (jitter.bound == 0)),
        ]
        self.comb += [
            direct.eq(at_once & ~queue.source.valid),
            queue.sink.valid.eq(ahead.rdata.valid & ~direct),
            queue.sink.data.eq(ahead.rdata.data),
            queue.sink.due.eq(now + self.latency + jitter.value),
            ahead.rdata.ready.eq(1),
            jitter.take.eq(queue.sink.valid),

            overdue.eq(now - queue.source.due),
            due.eq(queue.source.valid & ~overdue[-1]),
            queue.source.ready.eq(due),
            port.rdata.valid.eq(due | (direct & ahead.rdata.valid)),
            port.rdata.data.eq(Mux(queue.source.valid, queue.source.data, ahead.rdata.data)),
        ]


class PairPort(LiteXModule):
    """Accesses of `narrow` (a slave, 64 bits) as accesses of `wide` (a master, LiteDRAM's, 128 bits).

    A read of an odd word at most PAIR_CYCLES after that of the even word beside it is answered from the same wide word:
    so is a cache line, which is read in order. No write that LiteDRAM accepts after the first read can take effect
    before the second is requested: it needs longer to reach its bank. Writes are not combined: LiteDRAM's own converter
    would complete a write before the DRAM has it."""
    def __init__(self, narrow, wide):
        self.reads = stream.SyncFIFO([("odd", 1), ("again", 1)], OUTSTANDING)    # outstanding reads, in order
        self.words = BlockFIFO([("data", wide.data_width)], OUTSTANDING)   # their data

        # # #

        self.odd   = Signal()       # this access is of an odd word,
        self.again = Signal()       # ... that is read already,
        self.taken = Signal()       # and is taken
        self.add_pairs(narrow, wide)
        self.add_reads(narrow, wide)
        if narrow.mode == "both":
            self.add_writes(narrow, wide)
        self.comb += If(~narrow.cmd.we,
            wide.cmd.valid.eq(narrow.cmd.valid & ~self.again),
            narrow.cmd.ready.eq(wide.cmd.ready | self.again)
        )

    def add_pairs(self, narrow, wide):
        reads, odd, taken = self.reads, self.odd, self.taken
        pair   = Signal(len(narrow.cmd.addr) - 1)
        opened = Signal(max=PAIR_CYCLES + 1)    # cycles left since a read of the even word of the pair `last`
        last   = Signal.like(pair)
        self.comb += [
            odd.eq(narrow.cmd.addr[0]),
            pair.eq(narrow.cmd.addr[1:]),
            self.again.eq((opened != 0) & odd & (pair == last) & ~narrow.cmd.we),
            wide.cmd.addr.eq(pair),
            wide.cmd.we.eq(narrow.cmd.we),
            reads.sink.odd.eq(odd),
            reads.sink.again.eq(self.again),
            taken.eq(narrow.cmd.valid & narrow.cmd.ready),
            reads.sink.valid.eq(taken & ~narrow.cmd.we),
        ]
        self.sync += If(taken,
            last.eq(pair),
            If(narrow.cmd.we | odd,
                opened.eq(0)
            ).Else(
                opened.eq(PAIR_CYCLES)
            )
        ).Elif(opened != 0,
            opened.eq(opened - 1)
        )

    def add_reads(self, narrow, wide):
        """ReadDelay requests no more than there is room for."""
        reads, words = self.reads, self.words
        held = Signal(wide.data_width)
        word = Signal(wide.data_width)
        self.comb += [
            words.sink.valid.eq(wide.rdata.valid),
            words.sink.data.eq(wide.rdata.data),
            wide.rdata.ready.eq(1),
            word.eq(Mux(reads.source.again, held, words.source.data)),
            narrow.rdata.valid.eq(reads.source.valid & (reads.source.again | words.source.valid)),
            narrow.rdata.data.eq(Mux(reads.source.odd, word[DATA_WIDTH:], word[:DATA_WIDTH])),
            reads.source.ready.eq(narrow.rdata.valid),
            words.source.ready.eq(narrow.rdata.valid & ~reads.source.again),
        ]
        self.sync += If(words.source.valid & words.source.ready, held.eq(words.source.data))

    def add_writes(self, narrow, wide):
        """Selects the half that each write's data goes to."""
        self.halves = halves = stream.SyncFIFO([("odd", 1)], OUTSTANDING)
        self.comb += [
            If(narrow.cmd.we,
                wide.cmd.valid.eq(narrow.cmd.valid & halves.sink.ready),
                narrow.cmd.ready.eq(wide.cmd.ready & halves.sink.ready)
            ),
            halves.sink.valid.eq(self.taken & narrow.cmd.we),
            halves.sink.odd.eq(self.odd),
            halves.source.ready.eq(wide.wdata.ready),
            wide.wdata.valid.eq(narrow.wdata.valid),
            narrow.wdata.ready.eq(wide.wdata.ready),
            wide.wdata.data.eq(Cat(narrow.wdata.data, narrow.wdata.data)),
            If(halves.source.odd,
                wide.wdata.we.eq(narrow.wdata.we << (DATA_WIDTH // 8))
            ).Else(
                wide.wdata.we.eq(narrow.wdata.we)
            ),
        ]
