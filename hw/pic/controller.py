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
    """Expressions (priority, number) of the greatest of a list of priorities, the first one of several that are equal.

    A tree of comparisons, as deep as the length has bits.
    """
    entries = [(priority, number) for number, priority in enumerate(priorities)]
    while len(entries) > 1:
        entries = [(Mux(right[0] > left[0], right[0], left[0]), Mux(right[0] > left[0], right[1], left[1]))
            for left, right in zip(entries[::2], entries[1::2], strict=True)]
    return entries[0]


class OffChipPIC(LiteXModule):
    """Interrupt controller with a context for each hart of `link`, which stands between it and the harts.

    In a LiteX SoC, with the names that give the CSRs `link_read_latency`, `link_stall_cycles`, `pic_accounting_lost`:

        self.link = Link(n_harts, read_latency=152, write_latency=152)
        self.pic  = OffChipPIC(self.link)
        cluster.hart_io[h].connect(self.link.ports[h])          # for each hart h; offsets in a window of 64 KiB
        self.comb += cluster.external_interrupt.eq(self.link.irq)
        self.comb += self.pic.sources[16].eq(self.uart.irq)     # wires of this clock domain; unused ones stay 0
        self.bus.add_slave("pic_counters", self.pic.counters_bus, SoCRegion(origin=..., size=0x1000, cached=False))

    burst_bits: see counters.Accounting.
    late_accounting: count what happens a cycle later, for clock rate; the counts are the same.
    """
    def __init__(self, link, burst_bits=NUMBER_BITS, late_accounting=False):
        harts = range(link.n_harts)
        self.sources = Signal(SOURCES)  # i: the interrupt wires of the sources
        self.accounting   = accounting = Accounting(burst_bits)
        self.counters_bus = accounting.bus

        # # #

        # Sources ------------------------------------------------------------------------------------------------------

        fields   = REGISTERS["SOURCE"]
        reset    = [source_reset(s) for s in range(SOURCES)]
        priority = [Signal(4, name=f"priority{s}") for s in range(SOURCES)]
        edge     = Signal(SOURCES, reset=sum(fields["EDGE"].get(reset[s]) << s for s in range(SOURCES)))
        route    = [Signal(4, reset=fields["ROUTE"].get(reset[s]), name=f"route{s}") for s in range(SOURCES)]
        to_any   = [Signal(name=f"any{s}") for s in range(SOURCES)]

        wire    = Signal(SOURCES)  # the sources a cycle ago
        rises   = Signal(SOURCES)
        raises  = Signal(SOURCES)  # latches set by software in this cycle
        dropped = Signal(SOURCES)  # latches cleared by a claim or by software in this cycle
        latch   = Signal(SOURCES)
        high    = Signal(SOURCES)  # level sources that are up
        pending = Signal(SOURCES)
        self.comb += [
            rises.eq(self.sources & ~wire),
            high.eq(wire & ~edge),
            pending.eq(latch | high),
        ]
        self.sync += [
            wire.eq(self.sources),
            latch.eq((latch & ~dropped) | (rises & edge) | raises),
        ]

        # Contexts -----------------------------------------------------------------------------------------------------

        level       = [Signal(4, name=f"level{h}") for h in harts]
        enable      = [Signal(SOURCES, name=f"enable{h}") for h in harts]
        eligible    = [Signal(SOURCES, name=f"eligible{h}") for h in harts]  # routed to it, and above its level
        in_service  = [Signal(SOURCES, name=f"in_service{h}") for h in harts]
        deliverable = [Signal(SOURCES, name=f"deliverable{h}") for h in harts]

        serviced = Signal(SOURCES)  # by any hart
        waiting  = Signal(SOURCES)
        self.comb += [
            serviced.eq(reduce(or_, in_service)),
            waiting.eq(pending & (edge | ~serviced)),
        ]
        for h in harts:
            self.comb += [
                deliverable[h].eq(waiting & enable[h] & eligible[h]),
                link.wires[h].eq(deliverable[h] != 0),
            ]

        # Access -------------------------------------------------------------------------------------------------------
        # In the cycle of `select` the candidates for a claim are taken, in the next one the best of them is found, in
        # that of `effect` the access is done.

        contexts   = REGISTERS.aliases[0]
        word       = link.address[2:]
        bank       = link.address[CONTEXT_BITS:]  # of the size of a context's
        in_context = Signal()
        context    = Signal.like(link.hart)
        self.comb += If(bank == 0,
            in_context.eq(1),
            context.eq(link.hart)
        ).Else(
            in_context.eq((bank[CONTEXTS_BITS:] == contexts.base >> CONTEXT_BITS + CONTEXTS_BITS)
                & (bank[:CONTEXTS_BITS] < len(harts))),
            context.eq(bank)
        )

        def addressed(name):
            """Is it the register of this name, of any context, that is accessed?"""
            if name in contexts.registers:
                return in_context & at(REGISTERS[name], word[:CONTEXT_BITS - 2])
            return at(REGISTERS[name], word)

        def of_context(statement):
            """The statement made for the hart whose context is accessed."""
            return Case(context, {h: statement(h) for h in harts})

        candidates = Signal(SOURCES)
        decide     = Signal()
        self.sync += [
            decide.eq(link.select),
            If(link.select, of_context(lambda h: candidates.eq(deliverable[h]))),
        ]

        # Claim --------------------------------------------------------------------------------------------------------

        best_priority = Signal(4)
        best          = Signal(NUMBER_BITS)
        claim         = Signal()
        claimed       = Signal()
        winner_priority, winner = highest([Mux(candidates[s], priority[s], 0) for s in range(SOURCES)])
        self.sync += If(decide,
            best_priority.eq(winner_priority),
            best.eq(winner)
        )
        self.comb += [
            claim.eq(link.effect & ~link.write & addressed("CLAIM")),
            claimed.eq(claim & (best_priority != 0)),
            link.nothing.eq(claim & (best_priority == 0)),
        ]

        # Reads --------------------------------------------------------------------------------------------------------

        source, in_sources = index(REGISTERS["SOURCE"], word), at(REGISTERS["SOURCE"], word)
        def gives(value):
            return link.read_data.eq(value)

        reads = {
            "LEVEL":       of_context(lambda h: gives(level[h])),
            "CLAIM":       gives(Mux(best_priority == 0, REGISTERS["CLAIM"]["NONE"].mask,
                               packed(REGISTERS["CLAIM"], best, best_priority, 0))),
            "ENABLE":      of_context(lambda h: gives(enable[h])),
            "DELIVERABLE": gives(candidates),
            "INSERVICE":   of_context(lambda h: gives(in_service[h])),
            "PENDING":     gives(pending),
            "ID":          gives(REGISTERS["ID"].pack(SOURCES=SOURCES, HARTS=len(harts), VERSION=VERSION)),
        }
        self.sync += If(link.effect & ~link.write,
            gives(0),
            If(in_sources,
                Case(source, {s: gives(packed(REGISTERS["SOURCE"], priority[s], edge[s], route[s], to_any[s]))
                    for s in range(SOURCES)})
            ),
            *[If(addressed(name), read) for name, read in reads.items()]
        )

        # Writes: a byte that is not stored counts as 0 in a mask or number, and leaves a register's bits --------------

        stored = Cat(*[Replicate(link.mask[i], 8) for i in range(4)])
        data   = Signal(32)
        write  = Signal()
        single = Signal(SOURCES)  # the source whose number is written
        self.comb += [
            data.eq(link.data & stored),
            write.eq(link.effect & link.write),
            If(link.mask[0] & (data[NUMBER_BITS:] == 0),
                single.eq(1 << data[:NUMBER_BITS])
            ),
            If(claimed,
                dropped.eq(1 << best)
            ),
            If(write & addressed("CLEAR"),
                dropped.eq(data)
            ),
            If(write & addressed("RAISE"),
                raises.eq(data)
            ),
            If(write & addressed("IPI"),
                raises.eq(data[:len(harts)] << IPI_SOURCE)
            ),
        ]
        # What a hart may be given is a register, kept up by the writes that can change it: to compare 32 priorities in
        # every cycle would be the longest path, and in a simulator the most work.
        def above(h, priority, route, to_any, level):
            return (to_any | (route == h)) & (priority > level)

        def hart_access(h):
            return [
                If(claimed,
                    in_service[h].eq(in_service[h] | dropped)
                ),
                If(write & addressed("LEVEL") & link.mask[0],
                    level[h].eq(data),
                    eligible[h].eq(Cat(*[above(h, priority[s], route[s], to_any[s], data[:4])
                        for s in range(SOURCES)]))
                ),
                If(write & addressed("EOI"),
                    in_service[h].eq(in_service[h] & ~single)
                ),
                If(write & addressed("ENABLE"),
                    enable[h].eq((enable[h] & ~stored) | data)
                ),
                If(write & addressed("MASK"),
                    enable[h].eq(enable[h] & ~single)
                ),
                If(write & addressed("UNMASK"),
                    enable[h].eq(enable[h] | single)
                ),
            ]

        def source_write(s):
            after = {}
            registers = {"PRIORITY": priority[s], "EDGE": edge[s], "ROUTE": route[s], "ANY": to_any[s]}
            for name, register in registers.items():
                after[name] = Mux(link.mask[fields[name].lsb // 8], data[fields[name].bits], register)
                yield register.eq(after[name])
            for h in harts:
                yield eligible[h][s].eq(above(h, after["PRIORITY"], after["ROUTE"], after["ANY"], level[h]))

        self.sync += If(link.effect,
            of_context(hart_access),
            If(write & in_sources,
                Case(source, {s: list(source_write(s)) for s in range(SOURCES)})
            )
        )

        # Accounting ---------------------------------------------------------------------------------------------------

        self.comb += link.ready.eq(accounting.ready)
        happens = [
            accounting.rises.eq(rises),
            accounting.raises.eq(raises),
            accounting.pending.eq((latch & ~dropped) | high),
            accounting.waiting.eq(waiting),
            accounting.dropped.eq(dropped & edge),
            accounting.claim.eq(claimed),
            accounting.claimed.eq(best),
        ]
        if late_accounting:
            self.sync += happens
        else:
            self.comb += happens
