"""The link to an off-chip controller: the latency of a hart's access to it, and of an interrupt on its way back.

Every hart has a port; the link carries one access at a time and serves the harts in turn. The times are CSRs, so that
software can move the controller further away between two measurements. README.md has the table of stall cycles.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Array, Case, Cat, If, Mux, Signal

from hw.common.hart_io import HartIO
from hw.common.idle import Clock, Countdown
from hw.common.jitter import Jitter
from hw.pic.registers import MAX_HARTS
from support.parameters.machine import CYCLES_WIDTH

LATENCY_WIDTH = CYCLES_WIDTH
MAX_LATENCY = (1 << LATENCY_WIDTH) - 1
ACCESS_CYCLES = 4        # of an access at latency 0: accepted, selected, decided, done
ADDRESS_WIDTH = 16

# Combined with the seed, so that the two generators differ and a small seed does not begin with small numbers.
ACCESS_SALT = 0x9e37_79b9
DELIVERY_SALT = 0x7f4a_7c15


class Link(LiteXModule):
    """The link between `n_harts` harts and one controller.

    The times are the reset values of the CSRs, in cycles; ValueError if one is not in 0 to 65,535, or for other than 1
    to 8 harts.

    Timing: an access that is accepted in cycle c with latency L (jitter included), of which B is the way back, is
    selected in cycle c + L - B + 1, takes effect in c + L - B + 3 and is answered in c + L + 4, when the link accepts
    the next one. `ready` holds back the first.
    """
    def __init__(self, n_harts, read_latency=0, write_latency=0, delivery_delay=0, jitter=0, seed=1, read_back=0,
                 write_back=0, fall_delay=0):
        if not 1 <= n_harts <= MAX_HARTS:
            raise ValueError(f"a PIC for {n_harts} harts cannot be built: 1 to {MAX_HARTS}")
        for name, value in {"read latency": read_latency, "write latency": write_latency,
                            "delivery delay": delivery_delay, "jitter": jitter, "read back": read_back,
                            "write back": write_back, "fall delay": fall_delay}.items():
            if not 0 <= value <= MAX_LATENCY:
                raise ValueError(f"PIC {name} of {value} cycles is not in 0 to {MAX_LATENCY}")

        self.n_harts = n_harts
        self.ports = [HartIO(name=f"link_port{h}") for h in range(n_harts)]  # slaves, one a hart; window offsets
        self.irq   = Signal(n_harts)        # o: interrupt wires, at the harts

        # The far end.
        self.ready     = Signal(reset=1)        # i: the controller takes accesses
        self.select    = Signal()               # o: pulse: the access below takes effect two cycles later
        self.effect    = Signal()               # o: pulse: it takes effect in this cycle
        self.hart      = Signal(max=max(n_harts, 2))  # o: which one makes it
        self.write     = Signal()               # o: store, not load
        self.address   = Signal(ADDRESS_WIDTH)  # o: byte offset in the controller's window
        self.data      = Signal(32)             # o: to store
        self.mask      = Signal(4)              # o: bytes to store
        self.read_data = Signal(32)             # i: in the cycle after `effect`: the loaded value
        self.nothing   = Signal()               # i: in the cycle of `effect`: this is a claim that found nothing
        self.wires     = Signal(n_harts)        # i: interrupt wires, at the controller

        self.add_registers(read_latency, write_latency, delivery_delay, jitter, seed, read_back, write_back, fall_delay)

        # # #

        self.while_idle = []
        self.add_jitter()
        self.add_turns()
        self.add_ways()
        self.add_totals()
        self.add_delivery()

    def add_registers(self, read_latency, write_latency, delivery_delay, jitter, seed, read_back, write_back,
                      fall_delay):
        self.read_latency   = CSRStorage(LATENCY_WIDTH, reset=read_latency,
            description="Cycles that a load takes beyond those at latency 0, both ways together.")
        self.write_latency  = CSRStorage(LATENCY_WIDTH, reset=write_latency,
            description="The same of a store.")
        self.read_back      = CSRStorage(LATENCY_WIDTH, reset=read_back,
            description="Cycles of `read_latency` that are the way back, behind the load's effect; more than there "
                "are count as all of them.")
        self.write_back     = CSRStorage(LATENCY_WIDTH, reset=write_back,
            description="The same of `write_latency` and a store's.")
        self.delivery_delay = CSRStorage(LATENCY_WIDTH, reset=delivery_delay,
            description="Cycles by which the rise of a hart's interrupt wire comes late.")
        self.fall_delay     = CSRStorage(LATENCY_WIDTH, reset=fall_delay,
            description="Cycles by which the fall of a hart's interrupt wire comes late.")
        self.jitter         = CSRStorage(LATENCY_WIDTH, reset=jitter,
            description="Greatest number of random cycles that are added to each access and each delivery, "
                "and to each fall if `fall_delay` is not 0.")
        self.seed           = CSRStorage(32, reset=seed,
            description="Seed of the jitter; writing it begins the random numbers anew.")
        self.reads          = CSRStatus(64, description="Loads done.")
        self.writes         = CSRStatus(64, description="Stores done.")
        self.stall_cycles   = CSRStatus(64,
            description="Cycles that harts spent waiting for the link, their sum over all harts.")
        self.spurious       = CSRStatus(64, description="Claims that found nothing to deliver.")

    def add_jitter(self):
        """One sequence for accesses and one for deliveries, so that neither disturbs the other."""
        reseed = Signal(reset=1)  # once after reset, too
        self.sync += reseed.eq(self.seed.re)
        self.access_jitter   = Jitter(ACCESS_SALT)
        self.delivery_jitter = Jitter(DELIVERY_SALT)
        for generator in self.access_jitter, self.delivery_jitter:
            self.comb += [
                generator.seed.eq(self.seed.storage),
                generator.load.eq(reseed),
                generator.bound.eq(self.jitter.storage),
            ]

    def add_turns(self):
        """Which hart has the link: the next one after the last that requests it."""
        # Where the access under way is: attributes, for the proof that none is lost.
        self.idle      = Signal(reset=1)
        self.there     = Signal()                   # on its way there, for `remaining` more cycles
        self.decide    = Signal()
        self.behind    = Signal(LATENCY_WIDTH)      # cycles of the way back
        self.back      = Signal()                   # on its way back, for `remaining` more cycles
        self.answer    = Signal()
        self.remaining = Signal(LATENCY_WIDTH + 1)
        self.requests  = requests = Signal(self.n_harts)
        self.chosen    = chosen   = Signal.like(self.hart)
        self.accept    = accept   = Signal()

        def first_after(last):
            order = [(last + 1 + i) % self.n_harts for i in range(self.n_harts)]
            statement = chosen.eq(order[-1])
            for h in reversed(order[:-1]):
                statement = If(requests[h], chosen.eq(h)).Else(statement)
            return statement

        self.comb += [
            requests.eq(Cat(*[port.cmd_valid for port in self.ports])),
            Case(self.hart, {h: first_after(h) for h in range(self.n_harts)}),
            accept.eq(self.idle & self.ready & (requests != 0)),
            self.access_jitter.take.eq(accept),
            self.select.eq(self.selected(self.there & (self.remaining == 0))),
        ]
        for h, port in enumerate(self.ports):
            self.comb += [
                port.cmd_ready.eq(accept & (chosen == h)),
                port.rsp_valid.eq(self.answer & (self.hart == h)),
                port.rsp_data.eq(self.read_data),
            ]

    def add_ways(self):
        """An access on its way there, its effect, and its way back."""
        remaining, behind = self.remaining, self.behind
        chosen_port = {name: Array(getattr(port, name) for port in self.ports)[self.chosen]
            for name in ("cmd_write", "cmd_address", "cmd_data", "cmd_mask")}

        def ways(latency, back):
            """The two ways: cycles there, cycles back."""
            return (Mux(back.storage < latency.storage, latency.storage - back.storage, 0),
                    Mux(back.storage < latency.storage, back.storage, latency.storage))

        read_there, read_behind = ways(self.read_latency, self.read_back)
        write_there, write_behind = ways(self.write_latency, self.write_back)
        self.sync += [
            self.decide.eq(self.select),
            self.effect.eq(self.decide),
            self.answer.eq(0),
            If(self.select,
                self.there.eq(0)
            ),
            If(self.accept,
                self.idle.eq(0),
                self.there.eq(1),
                self.hart.eq(self.chosen),
                self.write.eq(chosen_port["cmd_write"]),
                self.address.eq(chosen_port["cmd_address"]),
                self.data.eq(chosen_port["cmd_data"]),
                self.mask.eq(chosen_port["cmd_mask"]),
                behind.eq(Mux(chosen_port["cmd_write"], write_behind, read_behind)),
                remaining.eq(self.access_jitter.value + Mux(chosen_port["cmd_write"], write_there, read_there))
            ).Elif(remaining != 0,
                remaining.eq(remaining - 1)
            ),
            If(self.effect & (behind != 0),
                self.back.eq(1),
                remaining.eq(behind - 1)
            ),
            If((self.effect & (behind == 0)) | (self.back & (remaining == 0)),
                self.back.eq(0),
                self.answer.eq(1),
                self.idle.eq(1)
            )
        ]

    def add_totals(self):
        stalled = Signal(self.n_harts)
        count   = Signal(max=self.n_harts + 1)
        self.while_idle += [Countdown(self.remaining), Clock(self.stall_cycles.status)]
        self.comb += stalled.eq(self.requests | Mux(self.idle, 0, 1 << self.hart))
        self.sync += [
            count.eq(sum(stalled[h] for h in range(self.n_harts))),
            self.stall_cycles.status.eq(self.stall_cycles.status + count),
        ]
        for status, event in (
            (self.reads,    self.effect & ~self.write),
            (self.writes,   self.effect & self.write),
            (self.spurious, self.effect & self.nothing),
        ):
            self.sync += If(event, status.status.eq(status.status + 1))

    def add_delivery(self):
        """Changes of the wires are in transit, at most two of each wire."""
        seen    = Signal(self.n_harts)
        rising  = Signal(self.n_harts)
        falling = Signal(self.n_harts)
        at_once = Signal()                      # a fall has no delay
        jitter  = self.delivery_jitter.value
        # Cycles until a change in this cycle is visible after the next one: their number less one, and whether it is 0.
        rise      = Signal(LATENCY_WIDTH + 1)
        fall      = Signal(LATENCY_WIDTH + 1)
        rise_next = Signal()
        fall_next = Signal()
        self.comb += [
            rising.eq(self.wires & ~seen),
            falling.eq(~self.wires & seen),
            at_once.eq(self.fall_delay.storage == 0),
            rise.eq(self.delivery_delay.storage + jitter),
            rise_next.eq((self.delivery_delay.storage == 0) & (jitter == 0)),  # rise == 0, but sooner
            fall.eq(self.fall_delay.storage - 1 + jitter),
            fall_next.eq(at_once | ((self.fall_delay.storage == 1) & (jitter == 0))),
            self.delivery_jitter.take.eq((rising != 0) | ((falling != 0) & ~at_once)),
        ]
        self.sync += seen.eq(self.wires)
        for h in range(self.n_harts):
            self.deliver(h, rising[h], falling[h], at_once, Mux(rising[h], rise, fall),
                         Mux(rising[h], rise_next, fall_next))

    def deliver(self, h, rises, falls, at_once, cycles, in_the_next):
        """The wire of hart `h`: a change that starts in this cycle is visible so many `cycles` after the next one, or
        in it; a fall may be visible at once."""
        up     = Signal(name=f"up{h}")      # the wire, except for a fall without delay
        first  = Signal(name=f"first{h}")   # a change is in transit, for so many more cycles
        left   = Signal(LATENCY_WIDTH + 1, name=f"left{h}")
        second = Signal(name=f"second{h}")  # and another one after it
        later  = Signal(LATENCY_WIDTH + 1, name=f"later{h}")
        change = Signal(name=f"change{h}")  # one sets out,
        time   = Signal(LATENCY_WIDTH + 1, name=f"time{h}")
        soon   = Signal(name=f"soon{h}")    # arrives in the next cycle
        ahead  = Signal(name=f"ahead{h}")   # the change before it arrives before it
        arrive = Signal(name=f"arrive{h}")  # the first arrives in the next cycle
        self.while_idle += [Countdown(left, end=1), Countdown(later, end=1)]
        self.comb += [
            self.irq[h].eq(up & ~(falls & at_once)),
            change.eq(rises | falls),
            time.eq(cycles),
            soon.eq(in_the_next),
            arrive.eq(first & (left == 1)),
            ahead.eq(Mux(second, later, left) <= time),
        ]
        self.sync += [
            If(left != 0,
                left.eq(left - 1)
            ),
            If(later != 0,
                later.eq(later - 1)
            ),
            If(arrive,
                up.eq(~up),
                first.eq(second),
                left.eq(later - 1),
                second.eq(0)
            ),
            If(change,
                If(soon,
                    up.eq(rises),
                    first.eq(0),
                    second.eq(0)
                ).Elif(~first | (arrive & ~second),
                    first.eq(1),
                    left.eq(time)
                ).Elif(second & ~arrive,        # a third one: it and the second cancel
                    second.eq(0)
                ).Elif(ahead,
                    second.eq(1),
                    later.eq(time)
                ).Else(                         # it overtakes the other one: they cancel
                    first.eq(0)
                )
            )
        ]
    def selected(self, due):
        """When an access is passed to the controller, where `due` says that its latency is over. Here: at once."""
        return due
