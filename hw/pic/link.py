"""The link to a controller that is off the chip: what it costs a hart to reach it, and a wire to come back.

Every hart has a port; the link carries one access at a time and takes the harts in turn. The times are CSRs, so that
software can move the controller further away between two measurements. README.md has the table of stall cycles.
"""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Array, Case, Cat, If, Mux, Signal

from hw.common.hart_io import HartIO
from hw.common.idle import Clock, Countdown
from hw.common.jitter import Jitter
from hw.pic.registers import MAX_HARTS

LATENCY_WIDTH = 16
MAX_LATENCY = (1 << LATENCY_WIDTH) - 1
ACCESS_CYCLES = 4        # of an access at latency 0: accepted, selected, decided, done
DELIVERY_CYCLES = 1      # from a wire's rise to the hart's, at delay 0
ADDRESS_WIDTH = 16

# What the seed is combined with, so that the two generators differ and a small seed does not begin with small numbers.
ACCESS_SALT = 0x9e37_79b9
DELIVERY_SALT = 0x7f4a_7c15


class Link(LiteXModule):
    """The link between `n_harts` harts and one controller.

    The latencies and the delay are the reset values of the CSRs, in cycles; ValueError if one is not in 0 to 65,535,
    or for other than 1 to 8 harts.

    Timing: an access that is accepted in cycle c with latency L (jitter included) is selected in cycle c + L + 1, takes
    effect in c + L + 3 and is answered in c + L + 4, when the link accepts the next one. `ready` holds back the first.
    """
    def __init__(self, n_harts, read_latency=0, write_latency=0, delivery_delay=0, jitter=0, seed=1):
        if not 1 <= n_harts <= MAX_HARTS:
            raise ValueError(f"a PIC for {n_harts} harts cannot be built: 1 to {MAX_HARTS}")
        for name, value in {"read latency": read_latency, "write latency": write_latency,
                            "delivery delay": delivery_delay, "jitter": jitter}.items():
            if not 0 <= value <= MAX_LATENCY:
                raise ValueError(f"PIC {name} of {value} cycles is not in 0 to {MAX_LATENCY}")

        self.n_harts = n_harts
        self.ports = [HartIO(name=f"link_port{h}") for h in range(n_harts)]  # slaves, one a hart; window offsets
        self.irq   = Signal(n_harts)        # o: interrupt wires, at the harts

        # The far end.
        self.ready     = Signal(reset=1)        # i: the controller takes accesses
        self.select    = Signal()               # o: pulse: the access below takes effect two cycles later
        self.effect    = Signal()               # o: pulse: it takes effect in this cycle
        self.hart      = Signal(max=max(n_harts, 2))  # o: who makes it
        self.write     = Signal()               # o: store, not load
        self.address   = Signal(ADDRESS_WIDTH)  # o: byte offset in the controller's window
        self.data      = Signal(32)             # o: to store
        self.mask      = Signal(4)              # o: bytes to store
        self.read_data = Signal(32)             # i: in the cycle after `effect`: what is loaded
        self.nothing   = Signal()               # i: in the cycle of `effect`: this is a claim that found nothing
        self.wires     = Signal(n_harts)        # i: interrupt wires, at the controller

        self.read_latency   = CSRStorage(LATENCY_WIDTH, reset=read_latency,
            description="Cycles that a load takes beyond those at latency 0.")
        self.write_latency  = CSRStorage(LATENCY_WIDTH, reset=write_latency,
            description="Cycles that a store takes beyond those at latency 0.")
        self.delivery_delay = CSRStorage(LATENCY_WIDTH, reset=delivery_delay,
            description="Cycles by which the rise of a hart's interrupt wire comes late.")
        self.jitter         = CSRStorage(LATENCY_WIDTH, reset=jitter,
            description="Greatest number of random cycles that are added to each access and each delivery.")
        self.seed           = CSRStorage(32, reset=seed,
            description="Seed of the jitter; writing it begins the random numbers anew.")
        self.reads          = CSRStatus(64, description="Loads done.")
        self.writes         = CSRStatus(64, description="Stores done.")
        self.stall_cycles   = CSRStatus(64,
            description="Cycles that harts spent waiting for the link, their sum over all harts.")
        self.spurious       = CSRStatus(64, description="Claims that found nothing to deliver.")

        # # #

        self.while_idle = []

        # Jitter: one sequence for accesses and one for deliveries, so that neither disturbs the other -----------------

        reseed = Signal(reset=1)  # once after reset, too
        self.sync += reseed.eq(self.seed.re)
        self.access_jitter   = access_jitter   = Jitter(ACCESS_SALT)
        self.delivery_jitter = delivery_jitter = Jitter(DELIVERY_SALT)
        for generator in access_jitter, delivery_jitter:
            self.comb += [
                generator.seed.eq(self.seed.storage),
                generator.load.eq(reseed),
                generator.bound.eq(self.jitter.storage),
            ]

        # Accesses: the next hart after the last one that wants the link gets it ---------------------------------------

        idle      = Signal(reset=1)
        decide    = Signal()
        answer    = Signal()
        remaining = Signal(LATENCY_WIDTH + 1)
        requests  = Signal(n_harts)
        chosen    = Signal.like(self.hart)
        accept    = Signal()

        def first_after(last):
            order = [(last + 1 + i) % n_harts for i in range(n_harts)]
            statement = chosen.eq(order[-1])
            for h in reversed(order[:-1]):
                statement = If(requests[h], chosen.eq(h)).Else(statement)
            return statement

        chosen_port = {name: Array(getattr(port, name) for port in self.ports)[chosen]
            for name in ("cmd_write", "cmd_address", "cmd_data", "cmd_mask")}
        self.comb += [
            requests.eq(Cat(*[port.cmd_valid for port in self.ports])),
            Case(self.hart, {h: first_after(h) for h in range(n_harts)}),
            accept.eq(idle & self.ready & (requests != 0)),
            access_jitter.take.eq(accept),
            self.select.eq(self.selected(~idle & ~decide & ~self.effect & (remaining == 0))),
        ]
        for h, port in enumerate(self.ports):
            self.comb += [
                port.cmd_ready.eq(accept & (chosen == h)),
                port.rsp_valid.eq(answer & (self.hart == h)),
                port.rsp_data.eq(self.read_data),
            ]
        self.sync += [
            decide.eq(self.select),
            self.effect.eq(decide),
            answer.eq(self.effect),
            If(accept,
                idle.eq(0),
                self.hart.eq(chosen),
                self.write.eq(chosen_port["cmd_write"]),
                self.address.eq(chosen_port["cmd_address"]),
                self.data.eq(chosen_port["cmd_data"]),
                self.mask.eq(chosen_port["cmd_mask"]),
                remaining.eq(access_jitter.value + Mux(chosen_port["cmd_write"],
                    self.write_latency.storage, self.read_latency.storage))
            ).Elif(remaining != 0,
                remaining.eq(remaining - 1)
            ),
            If(self.effect,
                idle.eq(1)
            )
        ]

        # Totals -------------------------------------------------------------------------------------------------------

        stalled = Signal(n_harts)
        count   = Signal(max=n_harts + 1)
        self.while_idle += [Countdown(remaining), Clock(self.stall_cycles.status)]
        self.comb += stalled.eq(requests | Mux(idle, 0, 1 << self.hart))
        self.sync += [
            count.eq(sum(stalled[h] for h in range(n_harts))),
            self.stall_cycles.status.eq(self.stall_cycles.status + count),
        ]
        for status, event in (
            (self.reads,    self.effect & ~self.write),
            (self.writes,   self.effect & self.write),
            (self.spurious, self.effect & self.nothing),
        ):
            self.sync += If(event, status.status.eq(status.status + 1))

        # Delivery: a rise is late, a fall is not ----------------------------------------------------------------------

        seen    = Signal(n_harts)
        rising  = Signal(n_harts)
        delay   = Signal(LATENCY_WIDTH + 1)
        at_once = Signal()
        self.comb += [
            rising.eq(self.wires & ~seen),
            delay.eq(self.delivery_delay.storage + delivery_jitter.value),
            at_once.eq((self.delivery_delay.storage == 0) & (delivery_jitter.value == 0)),  # delay == 0, but sooner
            delivery_jitter.take.eq(rising != 0),
        ]
        self.sync += seen.eq(self.wires)
        for h in range(n_harts):
            left    = Signal(LATENCY_WIDTH + 1, name=f"left{h}")
            arrived = Signal(name=f"arrived{h}")
            self.while_idle.append(Countdown(left, end=1))
            self.comb += self.irq[h].eq(self.wires[h] & arrived)
            self.sync += If(~self.wires[h],
                arrived.eq(0)
            ).Elif(rising[h],
                left.eq(delay),
                arrived.eq(at_once)
            ).Elif(~arrived,
                left.eq(left - 1),
                arrived.eq(left == 1)
            )

    def selected(self, due):
        """When an access is put to the controller, of which `due` says that its latency is over. Here: at once."""
        return due
