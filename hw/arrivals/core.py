"""Raises interrupt wires at intervals that software has set beforehand (README.md is its manual)."""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Array, If, Memory, Mux, Signal

from hw.common.idle import Countdown

WIRES = 8
ENTRIES = 1024
INTERVAL_BITS = 28
MIN_INTERVAL = 2         # cycles, in which the next entry is fetched
START_CYCLES = 4         # from the write of `run` to the first arrival, beyond the first interval


class ArrivalPlayer(LiteXModule):
    """Plays a list of arrivals cyclically: for each entry, an interval passes and a wire of `irq` rises.

    The list is written beforehand and read in hardware, so the load does not depend on what the harts do, and takes
    none of their time. Between arrivals nothing but `left` changes."""
    def __init__(self):
        self.irq = Signal(WIRES)  # o: levels: up from an arrival to its acknowledgement

        self.add_registers()

        # # #

        memory = Memory(32, ENTRIES)  # not an attribute: LiteX would put it on the CSR bus
        write_port = memory.get_port(write_capable=True)
        read_port  = memory.get_port()
        self.specials += memory, write_port, read_port
        self.add_list(write_port)
        self.add_playing(read_port)

    def add_registers(self):
        self.index = CSRStorage(ENTRIES.bit_length() - 1, write_from_dev=True, description="Where the next write of "
            f"`entry` goes. Each of those moves it on by one, from {ENTRIES - 1:,} to 0.")
        self.entry = CSRStorage(32, description="**A write enters it in the list** at `index`. Bits "
            f"{INTERVAL_BITS - 1}:0 are cycles from the arrival before it, and at least {MIN_INTERVAL}; bits "
            f"{INTERVAL_BITS + 2}:{INTERVAL_BITS} are the number of the wire that rises.")
        self.entries = CSRStorage(ENTRIES.bit_length(), reset=ENTRIES, description="Entries of the list that are "
            f"played before it begins anew, 1 to {ENTRIES:,}; 0 is taken as 1, more as {ENTRIES:,}.")
        self.run = CSRStorage(1, description="A write of 1 plays the list from entry 0 on and clears the counters; a "
            "write of 0 stops. Wires that are up stay so.")
        self.acknowledge = CSRStorage(WIRES, description="A write takes down the wires whose bits are set.")
        self.pending = CSRStatus(WIRES, description="The wires that are up.")
        self.arrivals = CSRStatus(32, description="Arrivals since `run` was written 1.")
        self.lost = CSRStatus(32, description="Those of them that found their wire still up: one interrupt answers "
            "both.")

    def add_list(self, write_port):
        entering = Signal()
        self.comb += [
            entering.eq(self.entry.re),
            write_port.adr.eq(self.index.storage),
            write_port.dat_w.eq(self.entry.storage),
            write_port.we.eq(entering),
            self.index.we.eq(entering),
            self.index.dat_w.eq(self.index.storage + 1),
        ]

    def add_playing(self, read_port):
        playing  = Signal()
        fetching = Signal(2)              # cycles until entry 0 is at the port
        position = Signal(max=ENTRIES)    # of the entry that is at the port, or will be in the next cycle
        left     = Signal(INTERVAL_BITS)  # cycles until the arrival, less one
        wire     = Signal(max=WIRES)      # of that arrival
        interval = Signal(INTERVAL_BITS)
        take     = Signal()               # the entry at the port becomes the current one
        arrival  = Signal()
        raised   = Signal(WIRES)
        cleared  = Signal(WIRES)
        self.while_idle = [Countdown(left)]
        self.comb += [
            read_port.adr.eq(position),
            interval.eq(read_port.dat_r[:INTERVAL_BITS]),
            arrival.eq(playing & (left == 0) & ~self.run.re),
            take.eq((arrival | (fetching == 1)) & ~self.run.re),
            If(arrival, raised.eq(1 << wire)),
            If(self.acknowledge.re, cleared.eq(self.acknowledge.storage)),
            self.pending.status.eq(self.irq),
        ]
        self.sync += [
            # An arrival in the cycle of an acknowledgement is a new one.
            self.irq.eq((self.irq & ~cleared) | raised),
            If(arrival,
                self.arrivals.status.eq(self.arrivals.status + 1),
                If(Array(self.irq[i] & ~cleared[i] for i in range(WIRES))[wire],
                    self.lost.status.eq(self.lost.status + 1)
                )
            ),
            If(playing,
                left.eq(left - 1)
            ),
            If(fetching != 0,
                fetching.eq(fetching - 1)
            ),
            If(take,
                playing.eq(1),
                left.eq(Mux(interval < MIN_INTERVAL, MIN_INTERVAL, interval) - 1),
                wire.eq(read_port.dat_r[INTERVAL_BITS:]),
                position.eq(Mux(position + 1 >= self.entries.storage, 0, position + 1))
            ),
            If(self.run.re,
                playing.eq(0),
                position.eq(0),
                fetching.eq(0),
                If(self.run.storage,
                    fetching.eq(2),
                    self.arrivals.status.eq(0),
                    self.lost.status.eq(0)
                )
            ),
        ]
