"""The disk controller: registers, programmed I/O, and the engine of the rings (README.md is its manual)."""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Case, Cat, If, Mux, Signal

from hw.disk.engine import Engine
from hw.disk.medium import TAGS, Medium
from hw.disk.pio import ProgrammedIO
from hw.disk.registers import CLUSTER_SECTORS, LEAST_DATA_CYCLES, MOST_ENTRIES_LOG2, REGISTERS, RESET_ENTRIES_LOG2


class DiskController(LiteXModule):
    """A controller of one drive.

    port: a native port of memory with `busy` (hw/cpu, "Device ports").
    ram_bytes: of main RAM, a power of two: segments outside of it are refused."""
    def __init__(self, port, ram_bytes):
        self.bus    = wishbone.Interface(data_width=32)   # registers; decodes the low 12 address bits
        self.irq    = Signal()                            # o: level: an enabled cause is pending
        self.medium = medium = Medium()                   # the drive

        # # #

        self.pio    = pio    = ProgrammedIO()
        self.engine = engine = Engine(port, ram_bytes, medium, pio)

        enable      = Signal(3)     # RING, DATA, DONE
        data_cycles = Signal(8, reset=LEAST_DATA_CYCLES)
        pending     = Signal()
        self.comb += [
            pending.eq(engine.cq_tail != engine.cq_head),
            self.irq.eq((Cat(pending, pio.data, pio.done) & enable) != 0),
        ]

        # Bus: an access takes effect in its first cycle and is acknowledged in its last one ---------------------------

        access = Signal()
        begun  = Signal()
        wait   = Signal(8)
        word   = self.bus.adr[:10]
        slow   = Signal()
        self.comb += [
            access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack & ~begun),
            slow.eq((word == REGISTERS["DATA"].offset // 4) & (data_cycles > LEAST_DATA_CYCLES)),
        ]
        self.sync += [
            self.bus.ack.eq(access & ~slow),
            If(access & slow,
                begun.eq(1),
                wait.eq(data_cycles - LEAST_DATA_CYCLES)
            ),
            If(begun,
                wait.eq(wait - 1),
                If(wait == 1,
                    begun.eq(0),
                    self.bus.ack.eq(1)
                )
            )
        ]

        def reads(name):
            return access & ~self.bus.we & (word == REGISTERS[name].offset // 4)

        def writes(name):
            register = REGISTERS[name]
            return access & self.bus.we & register.stored(self.bus.sel) & (word == register.offset // 4)

        def value(name, *parts):
            """What a read of a register gives: a value for each field."""
            fields = REGISTERS[name].fields
            whole = parts[0] << (fields[0].lsb if fields else 0)
            for field, part in zip(fields[1:], parts[1:], strict=True):
                whole = whole | part << field.lsb
            return {REGISTERS[name].offset // 4: self.bus.dat_r.eq(whole)}

        self.sync += If(access,
            Case(word, {
                **value("BUILT", TAGS, CLUSTER_SECTORS),
                **value("SECTORS", medium.sectors),
                **value("CONTROL", engine.resetting, enable[0], enable[1], enable[2]),
                **value("STATUS", pio.busy, pio.drq, pio.data, pio.done, pio.code),
                **value("MOVED", pio.moved),
                **value("LBA", pio.lba),
                **value("COUNT", pio.count),
                **value("CLUSTER", pio.cluster),
                **value("DATA", pio.half),
                **value("DATA_CYCLES", data_cycles),
                **value("SQ_BASE", engine.sq_base),
                **value("CQ_BASE", engine.cq_base),
                **value("ENTRIES", engine.log2),
                **value("SQ_TAIL", engine.sq_tail),
                **value("SQ_HEAD", engine.sq_head),
                **value("CQ_HEAD", engine.cq_head),
                **value("CQ_TAIL", engine.cq_tail),
                **value("REFUSED", engine.refused),
                **value("STRAY", engine.stray),
                "default": self.bus.dat_r.eq(0),
            })
        )

        dat_w = self.bus.dat_w
        reset = REGISTERS["CONTROL"]["RESET"]
        self.comb += [
            engine.reset.eq(writes("CONTROL") & dat_w[reset.lsb] & ~engine.resetting),
            pio.seen.eq(reads("STATUS")),
            pio.take.eq(reads("DATA")),
            pio.put.eq(writes("DATA")),
            pio.given.eq(dat_w),
            pio.begin.eq(writes("COMMAND") & ~engine.resetting),
            pio.op.eq(dat_w),
            engine.count.eq(dat_w),
            engine.enters.eq(writes("SQ_TAIL")),
            engine.takes.eq(writes("CQ_HEAD")),
        ]
        cluster, log2 = dat_w[:5], dat_w[:4]
        self.sync += [
            If(writes("CONTROL"),
                enable.eq(dat_w[1:])
            ),
            If(writes("DATA_CYCLES"),
                data_cycles.eq(Mux(dat_w[:8] < LEAST_DATA_CYCLES, LEAST_DATA_CYCLES, dat_w[:8]))
            ),
            If(writes("CLUSTER") & (cluster != 0) & (cluster <= CLUSTER_SECTORS),
                pio.cluster.eq(cluster)
            ),
            If(writes("LBA"),
                pio.lba.eq(dat_w)
            ),
            If(writes("COUNT"),
                pio.count.eq(dat_w)
            ),
            If(~engine.running,
                If(writes("ENTRIES") & (log2 <= MOST_ENTRIES_LOG2),
                    engine.log2.eq(log2)
                ),
                If(writes("SQ_BASE"),
                    engine.sq_base.eq(dat_w & ~7)
                ),
                If(writes("CQ_BASE"),
                    engine.cq_base.eq(dat_w & ~7)
                )
            ),
        ]
        assert RESET_ENTRIES_LOG2 <= MOST_ENTRIES_LOG2
