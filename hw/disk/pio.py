"""Programmed I/O: the buffer of a cluster between drive and `DATA`, and the command under way."""

from litex.gen import LiteXModule
from migen import Case, If, Memory, Mux, Replicate, Signal

from hw.common.memory import block_ram
from hw.disk.medium import OPERATIONS, SECTOR_WORDS, operation
from hw.disk.registers import CLUSTER_SECTORS

HALVES = 4     # of 16 bits in a word of the streams


class ProgrammedIO(LiteXModule):
    """One command at a time, whose data goes through a buffer that software and drive own in turn."""
    def __init__(self):
        self.lba     = Signal(32)
        self.count   = Signal(16)
        self.cluster = Signal(5, reset=CLUSTER_SECTORS)
        self.op      = Signal(8)
        self.begin   = Signal()     # i: a command begins, unless one is under way
        self.clear   = Signal()     # i: forget it

        self.busy    = Signal()
        self.drq     = Signal()
        self.data    = Signal()
        self.done    = Signal()
        self.seen    = Signal()     # i: clears `done`
        self.code    = Signal(8)
        self.moved   = Signal(16)

        self.half    = Signal(16)   # o: the value of a read of DATA
        self.take    = Signal()     # i: it was read
        self.put     = Signal()     # i: it is written
        self.given   = Signal(16)   # i: with this

        # To the engine, which communicates with the drive.
        self.asks    = Signal()     # o: the command is to be sent
        self.sent    = Signal()     # i: it was
        self.sent_op = Signal(3)    # o: as they were when the command began
        self.sent_lba     = Signal(32)
        self.sent_count   = Signal(16)
        self.sent_cluster = Signal(5)
        self.free    = Signal()     # o: the buffer has room for a cluster from the drive
        self.filled  = Signal()     # o: the buffer has one for it
        self.index   = Signal(max=CLUSTER_SECTORS * SECTOR_WORDS + 1)   # i: the word that the engine moves
        self.word_in = Signal(64)
        self.store   = Signal()     # i
        self.word    = Signal(64)   # o: a cycle after `index`
        self.arrived = Signal()     # i: the drive has sent a cluster of
        self.words   = Signal(max=CLUSTER_SECTORS * SECTOR_WORDS + 1)   # i: so many words
        self.emptied = Signal()     # i: the drive has accepted the cluster
        self.ended   = Signal()     # i: the drive has ended the command, with
        self.end_code  = Signal(8)
        self.end_moved = Signal(16)

        # # #

        self.add_buffer()
        self.add_turns()
        self.add_command()

    def add_buffer(self):
        """The memory, which software accesses by halves of words, and the engine by words."""
        words  = CLUSTER_SECTORS * SECTOR_WORDS
        memory = block_ram(Memory(64, words))
        fill   = memory.get_port(write_capable=True, we_granularity=16)
        head   = memory.get_port()
        self.specials += memory, fill, head

        self.halves  = Signal(max=HALVES * words + 1)   # of the cluster
        self.at      = at      = Signal(max=HALVES * words)
        self.left    = Signal(16)                       # sectors of a write that are not in the buffer yet
        self.piece   = Signal(5)                        # of them, the next transfer
        self.going   = going   = Signal()               # the buffer is being filled or emptied by software
        self.last    = Signal()
        self.writing = writing = Signal()
        self.comb += [
            self.piece.eq(Mux(self.left < self.sent_cluster, self.left, self.sent_cluster)),
            going.eq(self.drq & Mux(writing, self.put, self.take)),
            self.last.eq(going & (at == self.halves - 1)),
            head.adr.eq(Mux(self.drq, at[2:], self.index)),
            self.word.eq(head.dat_r),
            Case(at[:2], {n: self.half.eq(Mux(self.drq & ~writing, head.dat_r[16 * n:16 * (n + 1)], 0))
                          for n in range(HALVES)}),
            If(self.drq,
                fill.adr.eq(at[2:]),
                fill.dat_w.eq(Replicate(self.given, HALVES)),    # only one of them is written
                fill.we.eq(Mux(going & writing, 1 << at[:2], 0)),
            ).Else(
                fill.adr.eq(self.index),
                fill.dat_w.eq(self.word_in),
                fill.we.eq(Mux(self.store, 0xf, 0))
            ),
            self.free.eq(~self.drq & ~self.filled),
        ]

    def add_turns(self):
        """The owner of the buffer: software, from `drq` until it has moved all of it, or the engine."""
        at, left, writing = self.at, self.left, self.writing
        self.sync += [
            If(self.seen,
                self.done.eq(0)
            ),
            If(self.sent,
                self.asks.eq(0)
            ),
            If(self.going,
                at.eq(at + 1)
            ),
            If(self.last,
                self.drq.eq(0),
                self.data.eq(0),
                self.filled.eq(writing)
            ),
            If(self.arrived,
                self.drq.eq(1),
                self.data.eq(1),
                at.eq(0),
                self.halves.eq(self.words << 2)
            ),
            If(self.emptied,
                self.filled.eq(0),
                If(left != 0,
                    self.data.eq(1)
                )
            ),
            If((self.emptied | (self.asks & self.sent)) & writing & (left != 0),
                self.drq.eq(1),
                at.eq(0),
                self.halves.eq(self.piece << 8),
                left.eq(left - self.piece)
            ),
        ]

    def add_command(self):
        """Its end, its begin, and its abort: each overrides the buffer's state changes."""
        self.sync += [
            If(self.ended,
                self.busy.eq(0),
                self.done.eq(1),
                self.code.eq(self.end_code),
                self.moved.eq(self.end_moved),
                If(self.writing,
                    self.drq.eq(0),
                    self.data.eq(0),
                    self.filled.eq(0)
                )
            ),
            If(self.begin & ~self.busy,
                self.busy.eq(1),
                self.asks.eq(1),
                self.done.eq(0),
                self.drq.eq(0),
                self.data.eq(0),
                self.filled.eq(0),
                self.code.eq(0),
                self.moved.eq(0),
                self.sent_op.eq(operation(self.op)),
                self.sent_lba.eq(self.lba),
                self.sent_count.eq(self.count),
                self.sent_cluster.eq(self.cluster),
                self.writing.eq(self.op == OPERATIONS["WRITE"]),
                self.left.eq(self.count)
            ),
            If(self.clear,
                self.busy.eq(0),
                self.asks.eq(0),
                self.done.eq(0),
                self.drq.eq(0),
                self.data.eq(0),
                self.filled.eq(0)
            ),
        ]
