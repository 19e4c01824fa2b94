"""The controller's chip: the far end of the wires, and the controller of hw/pic behind that."""

from litex.gen import LiteXModule
from migen import Case, If, ResetInserter, Signal

from hw.pic.controller import OffChipPIC
from hw.pic.link import ADDRESS_WIDTH
from hw.pic.pins.courier import Courier
from hw.pic.pins.frames import NUMBERS, body, field
from hw.pic.pins.wires import SYMBOL_CYCLES
from hw.pic.registers import MAX_HARTS, SOURCES, VERSION


class FarEnd(LiteXModule):
    """The signals of hw.pic.link.Link that a controller sees; their meaning is given there."""
    def __init__(self, n_harts):
        self.n_harts   = n_harts
        self.ready     = Signal()
        self.select    = Signal()
        self.effect    = Signal()
        self.hart      = Signal(max=max(n_harts, 2))
        self.write     = Signal()
        self.address   = Signal(ADDRESS_WIDTH)
        self.data      = Signal(32)
        self.mask      = Signal(4)
        self.read_data = Signal(32)
        self.nothing   = Signal()
        self.wires     = Signal(n_harts)


class PICChip(LiteXModule):
    """A controller for `n_harts` harts behind the wires of `pads`. It reports `clock_hz` as its own clock.

    It is reset whenever the other chip requests to join. None of it is on a bus."""
    def __init__(self, n_harts, pads, clock_hz, symbol_cycles=SYMBOL_CYCLES):
        self.n_harts = n_harts
        self.joined = Signal()  # o: the other chip has been heard
        self.busy   = Signal()  # o: pulse: a message came

        # # #

        self.courier = Courier(pads, symbol_cycles)
        self.end     = FarEnd(n_harts)
        self.pic     = ResetInserter()(OffChipPIC(self.end, late_accounting=True))
        self.greet   = Signal()     # what is to be sent: that it has joined,
        self.answer  = Signal()     # the answer to an access,
        self.nothing = Signal()     # which found nothing,
        self.value   = Signal()     # a counter's value:
        self.count   = Signal(32)
        self.add_joining()
        self.add_sources()
        self.add_accesses()
        self.add_counters()
        self.add_messages(clock_hz)

    def comes(self, kind):
        return self.courier.received & (self.courier.received_kind == NUMBERS[kind])

    def received(self, kind, name):
        return field(kind, name, self.courier.received_body)

    def begins_anew(self):
        """Drops what is under way."""
        return ~self.joined | self.comes("JOIN")

    def add_joining(self):
        courier, pic, comes = self.courier, self.pic, self.comes
        self.ready = ready = Signal()       # the controller is reset
        self.sync += [
            ready.eq(self.end.ready & ~pic.reset),
            pic.reset.eq(comes("JOIN")),
            If(comes("JOIN"),
                ready.eq(0),
                self.greet.eq(1),
                self.joined.eq(1)
            ),
            If(courier.gave_up,
                self.joined.eq(0)
            ),
        ]
        self.comb += [
            courier.restart.eq(~self.joined | comes("JOIN") | courier.gave_up),
            self.busy.eq(courier.received),
        ]

    def add_sources(self):
        """A rising wire was low before."""
        pic   = self.pic
        rises = Signal(SOURCES)
        wires = Signal(SOURCES)
        step  = Signal(2)
        self.sync += [
            Case(step, {
                1: [pic.sources.eq(pic.sources & ~rises), step.eq(2)],
                2: [pic.sources.eq(pic.sources | rises), step.eq(3)],
                3: [pic.sources.eq(wires), step.eq(0)],
            }),
            If(self.comes("SOURCES"),
                rises.eq(self.received("SOURCES", "rises")),
                wires.eq(self.received("SOURCES", "wires")),
                step.eq(1)
            ),
            If(self.begins_anew(),
                pic.sources.eq(0),
                step.eq(0)
            ),
        ]

    def add_accesses(self):
        end, comes, received = self.end, self.comes, self.received
        asked   = Signal()
        decide  = Signal()
        done    = Signal()
        self.comb += end.select.eq(asked & self.ready)
        self.sync += [
            decide.eq(end.select),
            end.effect.eq(decide),
            done.eq(end.effect),
            If(end.select,
                asked.eq(0)
            ),
            *[If(comes(kind),
                asked.eq(1),
                end.write.eq(kind == "WRITE"),
                end.hart.eq(received(kind, "hart")),
                end.address[2:].eq(received(kind, "word")),
            ) for kind in ("READ", "WRITE")],
            If(comes("WRITE"),
                end.mask.eq(received("WRITE", "mask")),
                end.data.eq(received("WRITE", "data"))
            ),
            If(end.effect,
                self.nothing.eq(end.nothing)
            ),
            If(done,
                self.answer.eq(1)
            ),
            If(self.begins_anew(),
                asked.eq(0),
                decide.eq(0),
                end.effect.eq(0),
                done.eq(0)
            ),
        ]

    def add_counters(self):
        bus = self.pic.counters_bus
        self.comb += bus.stb.eq(bus.cyc)
        self.sync += [
            If(self.comes("COUNTER"),
                bus.adr.eq(self.received("COUNTER", "word")),
                bus.cyc.eq(1)
            ),
            If(bus.cyc & bus.ack,
                bus.cyc.eq(0),
                self.count.eq(bus.dat_r),
                self.value.eq(1)
            ),
            If(self.begins_anew(),
                bus.cyc.eq(0)
            ),
        ]

    def add_messages(self, clock_hz):
        """Chooses the next message: the first pending one."""
        courier, end = self.courier, self.end
        told = Signal(self.n_harts)     # the interrupt wires as last sent to the other chip

        def message(kind, *taken, **values):
            return [
                courier.valid.eq(1),
                courier.kind.eq(NUMBERS[kind]),
                courier.body.eq(body(kind, **values)),
                *[signal.eq(courier.ready) for signal in taken],
            ]

        greeted  = Signal()
        answered = Signal()
        valued   = Signal()
        wired    = Signal()
        irq      = Signal(MAX_HARTS)
        self.comb += [
            irq.eq(end.wires),
            If(self.greet,
                If(self.ready,
                    *message("JOINED", greeted, harts=self.n_harts, version=VERSION, clock_hz=clock_hz)
                )
            ).Elif(self.answer,
                If(end.write,
                    *message("DONE", answered, wired, irq=irq)
                ).Else(
                    *message("ANSWER", answered, wired, irq=irq, data=end.read_data, nothing=self.nothing)
                )
            ).Elif(self.value,
                *message("VALUE", valued, data=self.count)
            ).Elif(end.wires != told,
                *message("WIRES", wired, irq=irq)
            ),
        ]
        self.sync += [
            If(greeted,
                self.greet.eq(0)
            ),
            If(answered,
                self.answer.eq(0)
            ),
            If(valued,
                self.value.eq(0)
            ),
            If(wired,
                told.eq(end.wires)
            ),
            If(self.begins_anew(),
                self.answer.eq(0),
                self.value.eq(0),
                told.eq(0)
            ),
        ]

    def get_csrs(self, sort=False):
        """None: the controller's own would be on the bus of the SoC that is simulated with it."""
        return []
