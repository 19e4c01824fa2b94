"""The trace port: a store logs (cycle, hart, event, argument) at the cost of one uncontended store (see README.md)."""

from functools import reduce
from operator import or_

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import READ_FIRST, Cat, If, Memory, Mux, Record, Replicate, Signal

from hw.common.hart_io import HartIO
from hw.common.idle import Follows
from hw.trace.registers import EVENTS, MAX_HARTS, PORT, RECORD_BYTES, buffer_map

EVENT_WIDTH = (EVENTS - 1).bit_length()
MAX_DEPTH = 4096
FIELDS = [("event", EVENT_WIDTH), ("argument", 32), ("cycle", 64)]


class TracePort(LiteXModule):
    """Logs what harts store, one record a cycle, in the order of the stores.

    n_harts: ports, 1 to 16. depth: records the buffer keeps, a power of two from 2 to 4096.
    ValueError when one of them cannot be built.
    """
    def __init__(self, n_harts, depth=1024):
        if not 1 <= n_harts <= MAX_HARTS:
            raise ValueError(f"a trace port of {n_harts} harts cannot be built: 1 to {MAX_HARTS}")
        if depth not in [1 << n for n in range(1, MAX_DEPTH.bit_length())]:
            raise ValueError(f"trace buffer depth {depth} is not a power of two from 2 to {MAX_DEPTH}")

        self.ports  = [HartIO(f"hart{i}") for i in range(n_harts)]   # a slave for each hart
        self.cycle  = Signal(64)                                     # i: the cycle counter that all harts read
        self.record = Record([("valid", 1), ("hart", 4)] + FIELDS)   # o: a record leaves while `valid`
        self.bus    = wishbone.Interface(data_width=32)              # the buffer; decodes the low address bits

        self.add_registers(depth)

        # # #

        self.full     = [Signal(name=f"full{i}") for i in range(n_harts)]       # a hart's slot holds a record,
        self.accepted = [Signal(name=f"accepted{i}") for i in range(n_harts)]   # begins to,
        self.granted  = [Signal(name=f"granted{i}") for i in range(n_harts)]    # and lets it go
        self.while_idle = [Follows(tuple(port.rsp_data for port in self.ports))]
        for i, port in enumerate(self.ports):
            self.add_port(i, port)
        self.add_arbiter(n_harts)
        self.add_buffer(depth)

    def add_registers(self, depth):
        self.enable = CSRStorage(reset=1, description="Log. While 0, stores are answered and forgotten.")
        self.mode   = CSRStorage(description="What happens to a record that finds the buffer full. 0 (`RING`): it "
            "replaces the oldest. 1 (`STOP`): it is left out.")
        self.clear  = CSRStorage(description="A write, of whatever value, empties the buffer and zeroes `lost`.")
        self.count  = CSRStatus(depth.bit_length(), description="Records in the buffer.")
        self.lost   = CSRStatus(32, description="Records replaced or left out since the last clear, modulo 2^32. "
            "`count` + `lost` is the number of records since.")

    def add_port(self, i, port):
        """A store goes at once into its hart's slot, with its cycle, and waits there for its turn."""
        full, accepted, granted = self.full[i], self.accepted[i], self.granted[i]
        slot  = Record(FIELDS, name=f"slot{i}")
        fires = Signal()
        self.comb += [
            port.cmd_ready.eq(~port.cmd_write | ~full | granted),
            fires.eq(port.cmd_valid & port.cmd_ready),
            accepted.eq(fires & port.cmd_write & self.enable.storage),
            If(granted,
                self.record.hart.eq(i),
                *[getattr(self.record, name).eq(getattr(slot, name)) for name, _ in FIELDS]
            )
        ]
        word = port.cmd_address[2:2 + EVENT_WIDTH]
        self.sync += [
            port.rsp_valid.eq(fires),
            port.rsp_data.eq(Mux(word == PORT["CYCLE"].offset // 4, self.cycle[:32], 0)),
            If(accepted,
                full.eq(1),
                slot.event.eq(word),
                slot.argument.eq(port.cmd_data & Cat(*[Replicate(byte, 8) for byte in port.cmd_mask])),
                slot.cycle.eq(self.cycle)
            ).Elif(granted,
                full.eq(0)
            )
        ]

    def add_arbiter(self, n_harts):
        """The oldest record goes first, among those of one cycle that of the lowest hart. So the log is in order, and a
        record waits for at most one of each other hart."""
        full, accepted, granted = self.full, self.accepted, self.granted
        blocked = [0] * n_harts
        for low in range(n_harts):
            for high in range(low + 1, n_harts):
                high_first = Signal(name=f"hart{high}_before_{low}")
                blocked[low] |= full[high] & high_first
                blocked[high] |= full[low] & ~high_first
                self.sync += If(accepted[low],
                    high_first.eq(full[high] & ~granted[high])
                ).Elif(accepted[high],
                    high_first.eq(0)
                )
        self.comb += [granted[i].eq(full[i] & ~blocked[i]) for i in range(n_harts)]
        self.comb += self.record.valid.eq(reduce(or_, full))

    def add_buffer(self, depth):
        """The newest record is before `produce`, and `count` of them are kept."""
        entry  = Cat(self.record.cycle, self.record.event, self.record.hart, self.record.argument)
        memory = Memory(len(entry), depth)  # not an attribute: LiteX would put it on the CSR bus
        write_port = memory.get_port(write_capable=True, mode=READ_FIRST)
        read_port  = memory.get_port(mode=READ_FIRST)
        self.specials += memory, write_port, read_port
        count, lost, clear = self.count.status, self.lost.status, self.clear.re
        produce = Signal(max=depth)
        is_full = Signal()
        self.comb += [
            is_full.eq((count == depth) & ~clear),
            write_port.adr.eq(produce),
            write_port.dat_w.eq(entry),
            write_port.we.eq(self.record.valid & ~(is_full & self.mode.storage)),
        ]
        self.sync += [
            If(clear,
                count.eq(self.record.valid),
                lost.eq(0)
            ).Elif(self.record.valid & is_full,
                lost.eq(lost + 1)
            ).Elif(self.record.valid,
                count.eq(count + 1)
            ),
            If(write_port.we,
                produce.eq(produce + 1)
            )
        ]
        self.add_readout(read_port, produce, buffer_map(depth))

    def add_readout(self, read_port, produce, registers):
        """A word in the cycle after its address."""
        index = self.bus.adr[2:2 + len(produce)]
        inside = Signal()
        words = Record([("cycle", 64), ("event", EVENT_WIDTH), ("hart", 4), ("argument", 32)])
        image = [0] * (RECORD_BYTES // 4)
        image[registers["CYCLE_LOW"].offset // 4] = words.cycle[:32]
        image[registers["CYCLE_HIGH"].offset // 4] = words.cycle[32:]
        source = registers["SOURCE"]
        image[source.offset // 4] = (words.event << source["EVENT"].lsb) | (words.hart << source["HART"].lsb)
        image[registers["ARGUMENT"].offset // 4] = words.argument
        self.comb += [
            read_port.adr.eq(produce - self.count.status + index),
            words.raw_bits().eq(read_port.dat_r),
            If(inside,
                self.bus.dat_r.eq(Mux(self.bus.adr[1],
                    Mux(self.bus.adr[0], image[3], image[2]),
                    Mux(self.bus.adr[0], image[1], image[0])))
            )
        ]
        self.sync += [
            inside.eq(index < self.count.status),
            self.bus.ack.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack),
        ]
