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
    """The signals of hw.pic.link.Link that a controller sees; what they mean is written there."""
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
    """A controller for `n_harts` harts behind the wires of `pads`. `clock_hz` is what it tells of its own clock.

    It is reset whenever the other chip asks to join. Nothing of it is on a bus."""
    def __init__(self, n_harts, pads, clock_hz, symbol_cycles=SYMBOL_CYCLES):
        self.joined = Signal()  # o: the other chip has been heard
        self.busy   = Signal()  # o: pulse: a message came

        # # #

        self.courier = courier = Courier(pads, symbol_cycles)
        self.end     = end     = FarEnd(n_harts)
        self.pic     = pic     = ResetInserter()(OffChipPIC(end, late_accounting=True))

        def comes(kind):
            return courier.received & (courier.received_kind == NUMBERS[kind])

        def received(kind, name):
            return field(kind, name, courier.received_body)

        # Joining ------------------------------------------------------------------------------------------------------

        ready = Signal()        # the controller is reset
        greet = Signal()
        self.sync += [
            ready.eq(end.ready & ~pic.reset),
            pic.reset.eq(comes("JOIN")),
            If(comes("JOIN"),
                ready.eq(0),
                greet.eq(1),
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

        # Sources: a wire that rose was down before --------------------------------------------------------------------

        rises = Signal(SOURCES)
        wires = Signal(SOURCES)
        step  = Signal(2)
        self.sync += [
            Case(step, {
                1: [pic.sources.eq(pic.sources & ~rises), step.eq(2)],
                2: [pic.sources.eq(pic.sources | rises), step.eq(3)],
                3: [pic.sources.eq(wires), step.eq(0)],
            }),
            If(comes("SOURCES"),
                rises.eq(received("SOURCES", "rises")),
                wires.eq(received("SOURCES", "wires")),
                step.eq(1)
            ),
            If(~self.joined | comes("JOIN"),
                pic.sources.eq(0),
                step.eq(0)
            ),
        ]

        # Accesses -----------------------------------------------------------------------------------------------------

        asked   = Signal()
        decide  = Signal()
        done    = Signal()
        answer  = Signal()              # to be sent
        nothing = Signal()
        told    = Signal(n_harts)       # the interrupt wires as the other chip knows them, or will
        self.comb += end.select.eq(asked & ready)
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
                nothing.eq(end.nothing)
            ),
            If(done,
                answer.eq(1)
            ),
        ]

        # Counters -----------------------------------------------------------------------------------------------------

        bus   = pic.counters_bus
        value = Signal()                # to be sent
        count = Signal(32)
        self.comb += bus.stb.eq(bus.cyc)
        self.sync += [
            If(comes("COUNTER"),
                bus.adr.eq(received("COUNTER", "word")),
                bus.cyc.eq(1)
            ),
            If(bus.cyc & bus.ack,
                bus.cyc.eq(0),
                count.eq(bus.dat_r),
                value.eq(1)
            ),
        ]

        # What is sent next --------------------------------------------------------------------------------------------

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
            If(greet,
                If(ready,
                    *message("JOINED", greeted, harts=n_harts, version=VERSION, clock_hz=clock_hz)
                )
            ).Elif(answer,
                If(end.write,
                    *message("DONE", answered, wired, irq=irq)
                ).Else(
                    *message("ANSWER", answered, wired, irq=irq, data=end.read_data, nothing=nothing)
                )
            ).Elif(value,
                *message("VALUE", valued, data=count)
            ).Elif(end.wires != told,
                *message("WIRES", wired, irq=irq)
            ),
        ]
        self.sync += [
            If(greeted,
                greet.eq(0)
            ),
            If(answered,
                answer.eq(0)
            ),
            If(valued,
                value.eq(0)
            ),
            If(wired,
                told.eq(end.wires)
            ),
            If(~self.joined | comes("JOIN"),
                asked.eq(0),
                decide.eq(0),
                end.effect.eq(0),
                done.eq(0),
                answer.eq(0),
                bus.cyc.eq(0),
                value.eq(0),
                told.eq(0)
            ),
        ]

    def get_csrs(self, sort=False):
        """None: the controller's own would be on the bus of whatever SoC is simulated with it."""
        return []
