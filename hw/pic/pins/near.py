"""The harts' side of a controller on another chip: the wires' end in the SoC, in place of the controller."""

from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import If, Mux, Signal

from hw.common.idle import Countdown
from hw.pic.link import Link
from hw.pic.pins.courier import ATTEMPTS, Courier, patience
from hw.pic.pins.frames import COUNTER_BITS, NUMBERS, body, field
from hw.pic.pins.wires import SYMBOL_CYCLES
from hw.pic.registers import SOURCES, VERSION

# What loads give while no controller answers: of CLAIM, source 63, which no controller has, at the highest priority. So
# software that takes the interrupt finds one that it has no handler for, and says so.
GONE = 0x7fff_ffff
TIME_WIDTH = 20  # of a round trip: enough for all attempts at a message


class PinLink(Link):
    """The link of `hw.pic.link`, with its latencies added to the time on the wires: an access whose latency is over is
    `due`, and done when the other chip has `answered`."""
    def selected(self, due):
        self.due      = Signal()  # o
        self.answered = Signal()  # i
        self.comb += self.due.eq(due)
        return self.due & self.answered


class RemotePIC(LiteXModule):
    """Is behind `link`, a PinLink, where the controller is on another chip: used like hw.pic.OffChipPIC.

    Until the other chip has answered for the first time after a reset, accesses wait, but not for ever: once a message
    has been sent too often without answer, the link is down. Then loads give all ones, stores do nothing, and every
    hart's interrupt wire is up, so that software notices. A controller that answered before has lost its state, so only
    a reset restarts it; one that never did may still answer.
    """
    def __init__(self, link, pads, symbol_cycles=SYMBOL_CYCLES):
        self.sources = Signal(SOURCES)  # i: the interrupt wires of the sources
        self.counters_bus = wishbone.Interface(data_width=32, adr_width=30)

        self.add_registers()

        # # #

        self.courier = courier = Courier(pads, symbol_cycles)
        self.patience = patience(len(pads.tx_data), symbol_cycles)
        self.joined   = Signal()
        self.down     = Signal()
        self.overdue  = Signal()     # pulse: an access has timed out, whatever the reason
        self.sync += [
            If(courier.resent,
                self.resent.status.eq(self.resent.status + 1)
            ),
            If(courier.wrong,
                self.dropped.status.eq(self.dropped.status + 1)
            ),
        ]
        self.add_joining(link)
        self.add_sources()
        self.add_accesses(link)
        self.add_round_trips(link)
        self.add_counters()
        self.add_messages(link)

    def add_registers(self):
        self.status = CSRStatus(fields=[
            CSRField("joined", 1, description="The controller answers."),
            CSRField("down",   1, description="No controller answers: loads give 0x7fffffff, stores are dropped."),
            CSRField("wrong",  1, description="The other chip answers, but is of another version or has fewer harts."),
        ], description="State of the wires to the controller.")
        self.chip_clock   = CSRStatus(32, description="Clock of the controller's chip in Hz: its counters of waits are "
            "in cycles of that clock.")
        self.round_trip   = CSRStatus(TIME_WIDTH, description="Cycles that the last access spent on the wires and in "
            "the other chip, beyond the latencies that are set.")
        self.shortest     = CSRStatus(TIME_WIDTH, reset=(1 << TIME_WIDTH) - 1,
            description="The least of these since `clear`.")
        self.longest      = CSRStatus(TIME_WIDTH, description="The greatest of these since `clear`.")
        self.clear        = CSRStorage(1, description="Writing it, whatever the value, begins `shortest` and `longest` "
            "anew.")
        self.resent       = CSRStatus(32, description="Messages sent again because they were not acknowledged in time.")
        self.dropped      = CSRStatus(32, description="Frames from the controller that were changed or cut short on "
            "their way.")
        self.merged_rises = CSRStatus(32, description="Rises of sources' wires that came before an earlier one of the "
            "same source had been taken to the controller: there they are one.")

    def comes(self, kind):
        return self.courier.received & (self.courier.received_kind == NUMBERS[kind])

    def received(self, kind, name):
        return field(kind, name, self.courier.received_body)

    def add_joining(self, link):
        """The controller is reset with the SoC."""
        courier, joined, down = self.courier, self.joined, self.down
        comes, received = self.comes, self.received
        period = 4 * self.patience
        self.lost = lost = Signal()     # it had joined
        self.join = join = Signal()     # pulse: it is requested
        self.left = left = Signal(max=period + 1)
        wrong = Signal()
        fits  = Signal()
        joins = Signal(max=ATTEMPTS + 1)
        self.comb += [
            self.status.fields.joined.eq(joined),
            self.status.fields.down.eq(down),
            self.status.fields.wrong.eq(wrong),
            link.ready.eq(joined | down),
            fits.eq((received("JOINED", "version") == VERSION) & (received("JOINED", "harts") >= link.n_harts)),
        ]
        self.sync += [
            If(left != 0,
                left.eq(left - 1)
            ),
            If(join,
                left.eq(period),
                If(joins == ATTEMPTS,
                    down.eq(1)
                ).Else(
                    joins.eq(joins + 1)
                )
            ),
            If(comes("JOINED") & ~joined & ~lost,
                joined.eq(fits),
                wrong.eq(~fits),
                If(fits,
                    down.eq(0)
                ),
                self.chip_clock.status.eq(received("JOINED", "clock_hz"))
            ),
            If(joined & (courier.gave_up | self.overdue),
                joined.eq(0),
                lost.eq(1),
                down.eq(1)
            ),
        ]
        self.comb += courier.restart.eq(Mux(joined, courier.gave_up | self.overdue, comes("JOINED")))
        self.while_idle = [Countdown(left)]

    def add_sources(self):
        """The level of each wire, and whether it rose since the last report."""
        self.seen = seen = Signal(SOURCES)
        self.rose = rose = Signal(SOURCES)
        self.news = news = Signal()
        self.tell = tell = Signal()      # pulse: the current changes are reported
        told   = Signal(SOURCES)
        rises  = Signal(SOURCES)
        merged = Signal(SOURCES)
        number = Signal(max=SOURCES + 1)
        self.comb += [
            rises.eq(self.sources & ~seen),
            news.eq((rose != 0) | (seen != told)),
            merged.eq(Mux(tell, 0, rose & rises)),
        ]
        self.sync += [
            seen.eq(self.sources),
            rose.eq(Mux(tell, rises, rose | rises)),
            number.eq(sum(merged[s] for s in range(SOURCES))),
            self.merged_rises.status.eq(self.merged_rises.status + number),
            If(tell,
                told.eq(seen)
            ),
            If(~self.joined,
                seen.eq(0),
                rose.eq(0),
                told.eq(0)
            ),
        ]

    def add_accesses(self, link):
        """Accesses of harts."""
        down, comes, received = self.down, self.comes, self.received
        self.asked  = asked  = Signal()  # the access is on its way
        self.passed = passed = Signal()  # changes after it have been reported once already
        self.ask    = ask    = Signal()  # pulse: it is taken
        answered = Signal()
        data     = Signal(32)
        nothing  = Signal()
        irq      = Signal(link.n_harts)
        alarm    = Signal(link.n_harts)  # harts that have not read since the link went down
        self.comb += [
            link.answered.eq(answered | down),
            link.read_data.eq(data),
            link.nothing.eq(nothing & ~link.write),
            link.wires.eq(Mux(down, alarm, irq)),
        ]
        self.sync += [
            If(~down,
                alarm.eq((1 << link.n_harts) - 1)
            ).Elif(link.effect & ~link.write,
                alarm.eq(alarm & ~(1 << link.hart))
            ),
            If(ask,
                asked.eq(1)
            ),
            If(link.select,
                answered.eq(0),
                asked.eq(0),
                passed.eq(0)
            ).Elif(self.tell & link.due & ~asked,
                passed.eq(1)
            ),
            If(comes("ANSWER") | comes("DONE"),
                answered.eq(1)
            ),
            If(comes("ANSWER"),
                data.eq(received("ANSWER", "data")),
                nothing.eq(received("ANSWER", "nothing"))
            ),
            If(down,
                data.eq(GONE),
                nothing.eq(0)
            ),
            *[If(comes(kind), irq.eq(received(kind, "irq"))) for kind in ("ANSWER", "DONE", "WIRES")],
        ]

    def add_round_trips(self, link):
        """Measures accesses, and detects time-outs."""
        elapsed = Signal(TIME_WIDTH)
        self.comb += self.overdue.eq(elapsed == ATTEMPTS * self.patience)
        self.sync += [
            If(link.due & ~link.answered,
                elapsed.eq(elapsed + 1)
            ).Else(
                elapsed.eq(0)
            ),
            If(self.comes("ANSWER") | self.comes("DONE"),
                self.round_trip.status.eq(elapsed + 1),
                If(elapsed >= self.longest.status,
                    self.longest.status.eq(elapsed + 1)
                ),
                If(elapsed + 1 < self.shortest.status,
                    self.shortest.status.eq(elapsed + 1)
                )
            ),
            If(self.clear.re,
                self.shortest.status.eq(self.shortest.status.reset),
                self.longest.status.eq(0)
            ),
        ]

    def add_counters(self):
        bus, down, comes, received = self.counters_bus, self.down, self.comes, self.received
        self.fetch  = fetch  = Signal()  # pulse: the question is taken
        self.wanted = wanted = Signal()
        fetching = Signal()
        stale    = Signal()          # the access that asked has ended
        self.comb += wanted.eq(bus.cyc & bus.stb & ~bus.ack & ~fetching)
        self.sync += [
            bus.ack.eq(wanted & down),
            If(fetch,
                fetching.eq(1),
                stale.eq(0)
            ),
            If(fetching & ~(bus.cyc & bus.stb),
                stale.eq(1)
            ),
            If(comes("VALUE"),
                fetching.eq(0),
                bus.ack.eq(bus.cyc & bus.stb & ~stale),
                bus.dat_r.eq(received("VALUE", "data"))
            ),
            If(down,
                fetching.eq(0),
                bus.dat_r.eq(GONE)
            ),
        ]

    def add_messages(self, link):
        """Chooses the next message: changes of sources before an access that may depend on them, but only once."""
        courier = self.courier

        def message(kind, taken, **values):
            return [
                courier.valid.eq(1),
                courier.kind.eq(NUMBERS[kind]),
                courier.body.eq(body(kind, **values)),
                taken.eq(courier.ready),
            ]

        word = link.address[2:]
        self.comb += If(~self.joined,
            If(~self.lost & (self.left == 0),
                *message("JOIN", self.join)
            )
        ).Elif(self.news & ~(self.passed & link.due & ~self.asked),
            *message("SOURCES", self.tell, wires=self.seen, rises=self.rose)
        ).Elif(link.due & ~self.asked,
            If(link.write,
                *message("WRITE", self.ask, hart=link.hart, word=word, mask=link.mask, data=link.data)
            ).Else(
                *message("READ", self.ask, hart=link.hart, word=word)
            )
        ).Elif(self.wanted,
            *message("COUNTER", self.fetch, word=self.counters_bus.adr[:COUNTER_BITS])
        )
