"""The PIC's exact counters: interrupts that arrived, were delivered, or merged, and how long they waited.

The counters are in memories, so that 32 sources do not cost 32 wide adders. A round of 32 cycles visits the sources in
turn, one a cycle; a few flip-flops beside it record what happens to a source between two visits: how many arrivals, how
many of them merged, and in which cycle of the round it began to wait. Claims are rare (the link carries one access at a
time) and are counted as they come.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRStatus
from migen import Case, Cat, If, Memory, Mux, Signal

from hw.common.idle import Clock, Follows, Still
from hw.common.memory import block_ram
from hw.pic.registers import COUNTERS, SOURCES

ROUND_BITS = (SOURCES - 1).bit_length()
TIME_BITS = 48           # of the time that waits are measured by: 54 days at 60 MHz
WAIT_MAX = (1 << 32) - 1


class Accounting(LiteXModule):
    """Counts for 32 sources, read through `bus` (registers.COUNTERS). A counter shows an event at most 34 cycles late.

    burst_bits: width of the counts between two visits. 5 is enough for all that can happen in a round (16 rises of the
    wire, 8 accesses); a narrower build loses arrivals in dense bursts, and counts the lost ones in `lost`.
    """
    def __init__(self, burst_bits=ROUND_BITS):
        self.bus     = wishbone.Interface(data_width=32)  # the counters; decodes the low 12 address bits
        self.ready   = Signal()         # o: the memories are cleared, events may come
        self.rises   = Signal(SOURCES)  # i: wires that rise in this cycle
        self.raises  = Signal(SOURCES)  # i: interrupts that software raises in this cycle
        self.pending = Signal(SOURCES)  # i: sources that an arrival of this cycle finds pending
        self.waiting = Signal(SOURCES)  # i: sources that wait for a claim
        self.dropped = Signal(SOURCES)  # i: latches cleared in this cycle: a wait in the next is another arrival
        self.claim   = Signal()         # i: pulse: a source is claimed; at most every fourth cycle
        self.claimed = Signal(ROUND_BITS)  # i: its number
        self.now     = Signal(TIME_BITS)   # o: cycles since reset
        self.lost    = CSRStatus(64, description="Arrivals that the counters of the PIC could not count. "
            "0 unless the core was built to keep less than can happen.")

        # # #

        self.slot    = self.now[:ROUND_BITS]  # the source that is visited,
        self.visited = Signal(ROUND_BITS)     # and the one before
        self.sync += [
            self.now.eq(self.now + 1),
            self.visited.eq(self.slot),
            If(self.visited == SOURCES - 1,
                self.ready.eq(1)
            )
        ]
        self.add_events(burst_bits)
        arrivals   = block_ram(Memory(64, SOURCES))  # rises, merged
        beginnings = Memory(TIME_BITS, SOURCES)
        taken      = block_ram(Memory(128, SOURCES))  # deliveries, greatest wait, sum of waits
        self.specials += arrivals, beginnings, taken
        self.while_idle = [Clock(self.now), Still((*self.arrived, self.recent)), Follows((self.visited,))]
        self.add_visit(burst_bits, arrivals, beginnings)
        self.add_claim(beginnings, taken)
        self.add_read_out(arrivals, taken)

    def port(self, memory, write=False):
        port = memory.get_port(write_capable=write, async_read=True)
        self.specials += port
        return port

    def add_events(self, burst_bits):
        """Records events between two visits."""
        slot = self.slot
        starts      = Signal(SOURCES)
        was_waiting = Signal(SOURCES)
        was_dropped = Signal(SOURCES)
        self.comb += starts.eq(self.waiting & (~was_waiting | was_dropped))
        self.sync += [
            was_waiting.eq(self.waiting),
            was_dropped.eq(self.dropped),
        ]

        arrived = [Signal(burst_bits, name=f"arrived{s}") for s in range(SOURCES)]  # since the last visit
        merged  = [Signal(burst_bits, name=f"merged{s}") for s in range(SOURCES)]   # of them
        phase   = [Signal(ROUND_BITS, name=f"phase{s}") for s in range(SOURCES)]    # slot in which the wait began
        recent  = Signal(SOURCES)                                                   # it began since the last visit
        self.arrived, self.merged, self.phase, self.recent = arrived, merged, phase, recent

        # The visit, overridden by events in its cycle. If nothing happens to any source, nothing is computed.
        self.sync += Case(slot, {s: [arrived[s].eq(0), merged[s].eq(0)] for s in range(SOURCES)})
        lost = []
        updates = []
        for s in range(SOURCES):
            number = self.rises[s] + self.raises[s]
            joined = (self.pending[s] & (self.rises[s] | self.raises[s])) + (self.rises[s] & self.raises[s])
            more   = Mux(slot == s, 0, arrived[s]) + number
            fits   = more < 1 << burst_bits
            updates.append(
                If(fits,
                    arrived[s].eq(more),
                    merged[s].eq(Mux(slot == s, 0, merged[s]) + joined)
                ).Else(
                    arrived[s].eq(arrived[s]),
                    merged[s].eq(merged[s])
                )
            )
            lost.append(Mux(fits, 0, number))
        if burst_bits < ROUND_BITS:
            updates.append(self.lost.status.eq(self.lost.status + sum(lost)))
        self.sync += [
            If((self.rises | self.raises) != 0,
                *updates
            ),
            If(starts != 0,
                *[If(starts[s], phase[s].eq(slot)) for s in range(SOURCES)]
            ),
            recent.eq((recent & ~(1 << slot)) | starts)
        ]

    def add_visit(self, burst_bits, arrivals, beginnings):
        """In the cycle after the visit arrivals are added to their counters, and the beginning of a wait goes to a
        memory of full times."""
        slot, visited = self.slot, self.visited
        visited_arrived = Signal(burst_bits)
        visited_merged  = Signal(burst_bits)
        visited_recent  = Signal()
        visited_phase   = Signal(ROUND_BITS)
        visited_round   = Signal(TIME_BITS - ROUND_BITS)
        self.sync += [
            Case(slot, {s: [visited_arrived.eq(self.arrived[s]), visited_merged.eq(self.merged[s]),
                visited_phase.eq(self.phase[s])] for s in range(SOURCES)}),
            visited_recent.eq(self.recent >> slot),
            visited_round.eq(self.now[ROUND_BITS:]),
        ]
        arrival   = self.port(arrivals)
        counted   = self.port(arrivals, write=True)
        beginning = self.port(beginnings, write=True)
        so_far      = Signal(64)
        new_rises   = Signal(32)
        new_merges  = Signal(32)
        began_round = Signal(TIME_BITS - ROUND_BITS)
        self.sync += so_far.eq(arrival.dat_r)
        self.comb += [
            arrival.adr.eq(slot),
            new_rises.eq(so_far[:32] + visited_arrived),
            new_merges.eq(so_far[32:] + visited_merged),
            counted.adr.eq(visited),
            counted.we.eq(1),
            If(self.ready,
                counted.dat_w.eq(Cat(new_rises, new_merges))
            ),
            # The wait began 1 to 32 cycles before the visit.
            began_round.eq(visited_round - (visited_phase >= visited)),
            beginning.adr.eq(visited),
            beginning.we.eq(visited_recent),
            beginning.dat_w.eq(Cat(visited_phase, began_round)),
        ]
        self.while_idle.append(Follows((visited_phase, visited_round, so_far)))

    def add_claim(self, beginnings, taken):
        """In the cycle after a claim its wait is known, in the next one it is counted."""
        first  = Signal()
        source = Signal(ROUND_BITS)
        short  = Signal()                  # the wait began since the last visit,
        age    = Signal(ROUND_BITS)        # this long ago less one
        second = Signal()
        wait   = Signal(TIME_BITS)
        begin  = self.port(beginnings)
        count  = self.port(taken, write=True)
        before = Signal(128)               # the counts before
        self.comb += begin.adr.eq(source)
        self.sync += [
            first.eq(self.claim),
            If(self.claim,
                source.eq(self.claimed),
                short.eq(self.recent >> self.claimed),
                Case(self.claimed, {s: age.eq(self.slot - self.phase[s] - 1) for s in range(SOURCES)})
            ),
            second.eq(first),
            If(first,
                wait.eq(Mux(short, age + 1, self.now - begin.dat_r - 1)),
                before.eq(count.dat_r)
            ),
        ]
        deliveries, longest, total = before[:32], before[32:64], before[64:]
        bounded        = Signal(32)
        new_deliveries = Signal(32)
        new_total      = Signal(64)
        self.comb += [
            new_deliveries.eq(deliveries + 1),
            new_total.eq(total + wait),
            bounded.eq(Mux(wait > WAIT_MAX, WAIT_MAX, wait)),
            count.adr.eq(Mux(self.ready, source, self.slot)),
            count.we.eq(~self.ready | second),
            If(self.ready,
                count.dat_w.eq(Cat(new_deliveries, Mux(bounded > longest, bounded, longest), new_total))
            ),
        ]

        self.while_idle.append(Follows((wait,)))

    def add_read_out(self, arrivals, taken):
        arrivals_port = self.port(arrivals)
        taken_port    = self.port(taken)
        shown_arrivals = Signal(64)
        shown_taken    = Signal(128)
        words = {name: COUNTERS[name].offset // 4 for name in (register.name for register in COUNTERS.registers)}
        word_bits = (COUNTERS.registers[0].stride // 4 - 1).bit_length()
        access = Signal()
        inside = Signal()    # the address is that of a source's counters
        word   = Signal(word_bits)
        self.comb += [
            access.eq(self.bus.cyc & self.bus.stb & ~self.bus.ack),
            arrivals_port.adr.eq(self.bus.adr[word_bits:]),
            taken_port.adr.eq(self.bus.adr[word_bits:]),
            If(inside, Case(word, {
                words["RISES"]:           self.bus.dat_r.eq(shown_arrivals[:32]),
                words["MERGED"]:          self.bus.dat_r.eq(shown_arrivals[32:]),
                words["DELIVERIES"]:      self.bus.dat_r.eq(shown_taken[:32]),
                words["MAX_WAIT"]:        self.bus.dat_r.eq(shown_taken[32:64]),
                words["TOTAL_WAIT_LOW"]:  self.bus.dat_r.eq(shown_taken[64:96]),
                words["TOTAL_WAIT_HIGH"]: self.bus.dat_r.eq(shown_taken[96:]),
                "default":                self.bus.dat_r.eq(0),
            })),
        ]
        self.sync += [
            self.bus.ack.eq(access),
            If(access,
                word.eq(self.bus.adr),
                inside.eq(self.bus.adr[word_bits + ROUND_BITS:10] == 0),
                shown_arrivals.eq(arrivals_port.dat_r),
                shown_taken.eq(taken_port.dat_r)
            ),
        ]
