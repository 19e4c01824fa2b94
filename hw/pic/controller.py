"""The interrupt controller at the far end of the link (README.md is its manual)."""

from functools import reduce
from operator import or_

from litex.gen import LiteXModule
from migen import Case, Cat, If, Mux, Replicate, Signal

from hw.common.decode import at, index, packed
from hw.pic.counters import Accounting
from hw.pic.registers import CONTEXT_STRIDE, IPI_SOURCE, MAX_HARTS, REGISTERS, SOURCES, VERSION, source_reset

NUMBER_BITS   = (SOURCES - 1).bit_length()
CONTEXT_BITS  = (CONTEXT_STRIDE - 1).bit_length()  # of an offset within a context
CONTEXTS_BITS = (MAX_HARTS - 1).bit_length()       # of a context's number


def highest(priorities):
    """Expressions (priority, number) of the greatest of a list of priorities, the first of several equal ones.

    A tree of comparisons, as deep as the length has bits.
    """
    entries = [(priority, number) for number, priority in enumerate(priorities)]
    while len(entries) > 1:
        entries = [(Mux(right[0] > left[0], right[0], left[0]), Mux(right[0] > left[0], right[1], left[1]))
            for left, right in zip(entries[::2], entries[1::2], strict=True)]
    return entries[0]


def above(hart, priority, route, to_any, level):
    """Whether a source is routed to the hart, and is above its level."""
    return (to_any | (route == hart)) & (priority > level)


class OffChipPIC(LiteXModule):
    """Interrupt controller with a context for each hart of `link`, which is between it and the harts.

    In a LiteX SoC, with the names that give the CSRs `link_read_latency`, `link_stall_cycles`, `pic_accounting_lost`:

        self.link = Link(n_harts, read_latency=152, write_latency=152)
        self.pic  = OffChipPIC(self.link)
        cluster.hart_io[h].connect(self.link.ports[h])          # for each hart h; offsets in a window of 64 KiB
        self.comb += cluster.external_interrupt.eq(self.link.irq)
        self.comb += self.pic.sources[16].eq(self.uart.irq)     # wires of this clock domain; unused ones stay 0
        self.bus.add_slave("pic_counters", self.pic.counters_bus, SoCRegion(origin=..., size=0x1000, cached=False))

    burst_bits: see counters.Accounting.
    late_accounting: count events a cycle later, for clock rate; the counts are the same.
    """
    def __init__(self, link, burst_bits=NUMBER_BITS, late_accounting=False):
        self.harts   = range(link.n_harts)
        self.sources = Signal(SOURCES)  # i: the interrupt wires of the sources
        self.accounting   = Accounting(burst_bits)
        self.counters_bus = self.accounting.bus

        # # #

        self.add_sources()
        self.add_contexts(link)
        self.add_access(link)
        self.add_claim(link)
        self.add_reads(link)
        self.add_commands(link)
        self.add_writes(link)
        self.count(link, late_accounting)

    def add_sources(self):
        fields = REGISTERS["SOURCE"]
        reset  = [source_reset(s) for s in range(SOURCES)]
        self.priority = [Signal(4, name=f"priority{s}") for s in range(SOURCES)]
        self.edge     = Signal(SOURCES, reset=sum(fields["EDGE"].get(reset[s]) << s for s in range(SOURCES)))
        self.route    = [Signal(4, reset=fields["ROUTE"].get(reset[s]), name=f"route{s}") for s in range(SOURCES)]
        self.to_any   = [Signal(name=f"any{s}") for s in range(SOURCES)]

        wire = Signal(SOURCES)          # the sources a cycle ago
        self.rises   = Signal(SOURCES)
        self.raises  = Signal(SOURCES)  # latches set by software in this cycle
        self.dropped = Signal(SOURCES)  # latches cleared by a claim or by software in this cycle
        self.latch   = Signal(SOURCES)
        self.high    = Signal(SOURCES)  # level sources that are up
        self.pending = Signal(SOURCES)
        self.comb += [
            self.rises.eq(self.sources & ~wire),
            self.high.eq(wire & ~self.edge),
            self.pending.eq(self.latch | self.high),
        ]
        self.sync += [
            wire.eq(self.sources),
            self.latch.eq((self.latch & ~self.dropped) | (self.rises & self.edge) | self.raises),
        ]

    def add_contexts(self, link):
        harts = self.harts
        self.level       = [Signal(4, name=f"level{h}") for h in harts]
        self.enable      = [Signal(SOURCES, name=f"enable{h}") for h in harts]
        self.eligible    = [Signal(SOURCES, name=f"eligible{h}") for h in harts]  # routed to it, and above its level
        self.in_service  = [Signal(SOURCES, name=f"in_service{h}") for h in harts]
        self.deliverable = [Signal(SOURCES, name=f"deliverable{h}") for h in harts]

        serviced = Signal(SOURCES)  # by any hart
        self.waiting = Signal(SOURCES)
        self.comb += [
            serviced.eq(reduce(or_, self.in_service)),
            self.waiting.eq(self.pending & (self.edge | ~serviced)),
        ]
        for h in harts:
            self.comb += [
                self.deliverable[h].eq(self.waiting & self.enable[h] & self.eligible[h]),
                link.wires[h].eq(self.deliverable[h] != 0),
            ]

    def add_access(self, link):
        """In the cycle of `select` the candidates for a claim are captured, in the next one the best of them is found,
        in that of `effect` the access is performed."""
        bank = link.address[CONTEXT_BITS:]  # of the size of a context's
        self.word       = link.address[2:]
        self.in_context = Signal()
        self.context    = Signal.like(link.hart)
        self.comb += If(bank == 0,
            self.in_context.eq(1),
            self.context.eq(link.hart)
        ).Else(
            self.in_context.eq((bank[CONTEXTS_BITS:] == REGISTERS.aliases[0].base >> CONTEXT_BITS + CONTEXTS_BITS)
                & (bank[:CONTEXTS_BITS] < len(self.harts))),
            self.context.eq(bank)
        )
        self.candidates = Signal(SOURCES)
        self.decide     = Signal()
        self.sync += [
            self.decide.eq(link.select),
            If(link.select, self.of_context(lambda h: self.candidates.eq(self.deliverable[h]))),
        ]

    def addressed(self, name):
        """Whether the register of this name, of any context, is accessed."""
        if name in REGISTERS.aliases[0].registers:
            return self.in_context & at(REGISTERS[name], self.word[:CONTEXT_BITS - 2])
        return at(REGISTERS[name], self.word)

    def of_context(self, statement):
        """The statement made for the hart whose context is accessed."""
        return Case(self.context, {h: statement(h) for h in self.harts})

    def add_claim(self, link):
        self.best_priority = Signal(4)
        self.best          = Signal(NUMBER_BITS)
        self.claimed       = Signal()
        claim              = Signal()
        best_priority, best = highest([Mux(self.candidates[s], self.priority[s], 0) for s in range(SOURCES)])
        self.sync += If(self.decide,
            self.best_priority.eq(best_priority),
            self.best.eq(best)
        )
        self.comb += [
            claim.eq(link.effect & ~link.write & self.addressed("CLAIM")),
            self.claimed.eq(claim & (self.best_priority != 0)),
            link.nothing.eq(claim & (self.best_priority == 0)),
        ]

    def add_reads(self, link):
        def gives(value):
            return link.read_data.eq(value)

        none = self.best_priority == 0
        reads = {
            "LEVEL":       self.of_context(lambda h: gives(self.level[h])),
            "CLAIM":       gives(Mux(none, REGISTERS["CLAIM"]["NONE"].mask,
                               packed(REGISTERS["CLAIM"], self.best, self.best_priority, 0))),
            "ENABLE":      self.of_context(lambda h: gives(self.enable[h])),
            "DELIVERABLE": gives(self.candidates),
            "INSERVICE":   self.of_context(lambda h: gives(self.in_service[h])),
            "PENDING":     gives(self.pending),
            "ID":          gives(REGISTERS["ID"].pack(SOURCES=SOURCES, HARTS=len(self.harts), VERSION=VERSION)),
        }
        sources = {s: gives(packed(REGISTERS["SOURCE"], self.priority[s], self.edge[s], self.route[s], self.to_any[s]))
                   for s in range(SOURCES)}
        self.sync += If(link.effect & ~link.write,
            gives(0),
            If(self.addressed("SOURCE"),
                Case(index(REGISTERS["SOURCE"], self.word), sources)
            ),
            *[If(self.addressed(name), read) for name, read in reads.items()]
        )

    def add_commands(self, link):
        """Writes that set or clear latches. A byte that is not stored counts as 0 in a mask or number, and leaves a
        register's bits."""
        addressed = self.addressed
        self.stored = Cat(*[Replicate(link.mask[i], 8) for i in range(4)])
        self.data   = data   = Signal(32)
        self.write  = write  = Signal()
        self.single = single = Signal(SOURCES)  # the source whose number is written
        self.comb += [
            data.eq(link.data & self.stored),
            write.eq(link.effect & link.write),
            If(link.mask[0] & (data[NUMBER_BITS:] == 0),
                single.eq(1 << data[:NUMBER_BITS])
            ),
            If(self.claimed,
                self.dropped.eq(1 << self.best)
            ),
            If(write & addressed("CLEAR"),
                self.dropped.eq(data)
            ),
            If(write & addressed("RAISE"),
                self.raises.eq(data)
            ),
            If(write & addressed("IPI"),
                self.raises.eq(data[:len(self.harts)] << IPI_SOURCE)
            ),
        ]

    def add_writes(self, link):
        """Writes of registers, and claims. The sources that a hart may be given are in a register, kept up to date by
        the writes that can change it: to compare 32 priorities in every cycle would be the longest path, and in a
        simulator the most work."""
        sources = {s: list(self.source_write(link, s)) for s in range(SOURCES)}
        self.sync += If(link.effect,
            self.of_context(lambda h: self.hart_access(link, h)),
            If(self.write & self.addressed("SOURCE"),
                Case(index(REGISTERS["SOURCE"], self.word), sources)
            )
        )

    def hart_access(self, link, h):
        write, addressed, single = self.write, self.addressed, self.single
        enable, in_service = self.enable[h], self.in_service[h]
        return [
            If(self.claimed,
                in_service.eq(in_service | self.dropped)
            ),
            If(write & addressed("LEVEL") & link.mask[0],
                self.level[h].eq(self.data),
                self.eligible[h].eq(Cat(*[above(h, self.priority[s], self.route[s], self.to_any[s], self.data[:4])
                    for s in range(SOURCES)]))
            ),
            If(write & addressed("EOI"),
                in_service.eq(in_service & ~single)
            ),
            If(write & addressed("ENABLE"),
                enable.eq((enable & ~self.stored) | self.data)
            ),
            If(write & addressed("MASK"),
                enable.eq(enable & ~single)
            ),
            If(write & addressed("UNMASK"),
                enable.eq(enable | single)
            ),
        ]

    def source_write(self, link, s):
        fields = REGISTERS["SOURCE"]
        after = {}
        registers = {"PRIORITY": self.priority[s], "EDGE": self.edge[s], "ROUTE": self.route[s], "ANY": self.to_any[s]}
        for name, register in registers.items():
            after[name] = Mux(link.mask[fields[name].lsb // 8], self.data[fields[name].bits], register)
            yield register.eq(after[name])
        for h in self.harts:
            yield self.eligible[h][s].eq(above(h, after["PRIORITY"], after["ROUTE"], after["ANY"], self.level[h]))

    def count(self, link, late_accounting):
        accounting = self.accounting
        self.comb += link.ready.eq(accounting.ready)
        happens = [
            accounting.rises.eq(self.rises),
            accounting.raises.eq(self.raises),
            accounting.pending.eq((self.latch & ~self.dropped) | self.high),
            accounting.waiting.eq(self.waiting),
            accounting.dropped.eq(self.dropped & self.edge),
            accounting.claim.eq(self.claimed),
            accounting.claimed.eq(self.best),
        ]
        if late_accounting:
            self.sync += happens
        else:
            self.comb += happens
