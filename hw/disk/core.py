"""The disk controller: registers, programmed I/O, and the engine of the rings (README.md is its manual)."""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Cat, If, Mux, Signal

from hw.common.decode import Decoder
from hw.disk.engine import Engine
from hw.disk.medium import TAGS, Medium
from hw.disk.pio import ProgrammedIO
from hw.disk.registers import CLUSTER_SECTORS, LEAST_DATA_CYCLES, MOST_ENTRIES_LOG2, REGISTERS, RESET_ENTRIES_LOG2


class DiskController(LiteXModule):
    """A controller of one drive.

    port: a native port of memory with `busy` (hw/cpu, "Device ports").
    ram_bytes: of main RAM, a power of two: segments outside it are refused."""
    def __init__(self, port, ram_bytes):
        self.bus    = wishbone.Interface(data_width=32)   # registers; decodes the low 12 address bits
        self.irq    = Signal()                            # o: level: an enabled cause is pending
        self.medium = medium = Medium()                   # the drive

        # # #

        self.pio    = pio = ProgrammedIO()
        self.engine = Engine(port, ram_bytes, medium, pio)
        self.enable      = Signal(3)     # RING, DATA, DONE
        self.data_cycles = Signal(8, reset=LEAST_DATA_CYCLES)
        pending = Signal()
        rings   = self.engine.rings
        self.comb += [
            pending.eq(rings.cq_tail != rings.cq_head),
            self.irq.eq((Cat(pending, pio.data, pio.done) & self.enable) != 0),
        ]
        self.access = Signal()      # its first cycle
        self.word   = self.bus.adr[:10]
        self.registers = Decoder(REGISTERS, self.access, self.word, self.bus.we, self.bus.sel, self.bus.dat_w)
        self.add_bus()
        self.add_reads()
        self.add_commands()
        self.add_writes()

    def add_bus(self):
        """An access takes effect in its first cycle and is acknowledged in its last one."""
        access = self.access
        begun  = Signal()
        wait   = Signal(8)
        slow   = Signal()
        self.comb += [
            access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack & ~begun),
            slow.eq((self.word == REGISTERS["DATA"].offset // 4) & (self.data_cycles > LEAST_DATA_CYCLES)),
        ]
        self.sync += [
            self.bus.ack.eq(access & ~slow),
            If(access & slow,
                begun.eq(1),
                wait.eq(self.data_cycles - LEAST_DATA_CYCLES)
            ),
            If(begun,
                wait.eq(wait - 1),
                If(wait == 1,
                    begun.eq(0),
                    self.bus.ack.eq(1)
                )
            )
        ]

    def add_reads(self):
        pio, engine, enable = self.pio, self.engine, self.enable
        rings = engine.rings
        self.sync += If(self.access, self.registers.given(
            self.bus.dat_r,
            BUILT       = (TAGS, CLUSTER_SECTORS),
            SECTORS     = self.medium.sectors,
            CONTROL     = (engine.resetting, enable[0], enable[1], enable[2]),
            STATUS      = (pio.busy, pio.drq, pio.data, pio.done, pio.code),
            MOVED       = pio.moved,
            LBA         = pio.lba,
            COUNT       = pio.count,
            CLUSTER     = pio.cluster,
            DATA        = pio.half,
            DATA_CYCLES = self.data_cycles,
            SQ_BASE     = rings.sq_base,
            CQ_BASE     = rings.cq_base,
            ENTRIES     = rings.log2,
            SQ_TAIL     = rings.sq_tail,
            SQ_HEAD     = rings.sq_head,
            CQ_HEAD     = rings.cq_head,
            CQ_TAIL     = rings.cq_tail,
            REFUSED     = engine.refused,
            STRAY       = engine.stray,
        ))

    def add_commands(self):
        """The effects of an access."""
        pio, engine, registers = self.pio, self.engine, self.registers
        reads, writes, value = registers.reads, registers.writes, registers.value
        rings = engine.rings
        self.comb += [
            engine.reset.eq(writes("CONTROL") & registers.field("CONTROL", "RESET") & ~engine.resetting),
            pio.seen.eq(reads("STATUS")),
            pio.take.eq(reads("DATA")),
            pio.put.eq(writes("DATA")),
            pio.given.eq(value("DATA")),
            pio.begin.eq(writes("COMMAND") & ~engine.resetting),
            pio.op.eq(value("COMMAND")),
            rings.count.eq(value("SQ_TAIL")),      # and CQ_HEAD
            rings.enters.eq(writes("SQ_TAIL")),
            rings.takes.eq(writes("CQ_HEAD")),
        ]

    def add_writes(self):
        """The registers that stores set, if in range; those of the rings only while they do not run."""
        pio, rings, registers = self.pio, self.engine.rings, self.registers
        writes, value = registers.writes, registers.value
        cluster, log2, cycles = value("CLUSTER"), value("ENTRIES"), value("DATA_CYCLES")
        self.sync += [
            If(writes("CONTROL"),
                self.enable.eq(Cat(*(registers.field("CONTROL", name) for name in ("RING", "DATA", "DONE"))))
            ),
            If(writes("DATA_CYCLES"),
                self.data_cycles.eq(Mux(cycles < LEAST_DATA_CYCLES, LEAST_DATA_CYCLES, cycles))
            ),
            If(writes("CLUSTER") & (cluster != 0) & (cluster <= CLUSTER_SECTORS),
                pio.cluster.eq(cluster)
            ),
            If(writes("LBA"),
                pio.lba.eq(value("LBA"))
            ),
            If(writes("COUNT"),
                pio.count.eq(value("COUNT"))
            ),
            If(~rings.running,
                If(writes("ENTRIES") & (log2 <= MOST_ENTRIES_LOG2),
                    rings.log2.eq(log2)
                ),
                If(writes("SQ_BASE"),
                    rings.sq_base.eq(value("SQ_BASE") & ~7)
                ),
                If(writes("CQ_BASE"),
                    rings.cq_base.eq(value("CQ_BASE") & ~7)
                )
            ),
        ]
        assert RESET_ENTRIES_LOG2 <= MOST_ENTRIES_LOG2
