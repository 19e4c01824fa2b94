"""The Ethernet core: registers, counters and interrupts around receiver, transmitter and PHY (manual: README.md)."""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRField, CSRStatus, CSRStorage
from migen import Cat, If, Signal

from hw.common.idle import Countdown
from hw.ether.receive import DROPS, Receiver
from hw.ether.transmit import Transmitter

QUEUES = 2
ENTRIES_BITS = 10
TX, LINK = QUEUES, QUEUES + 1     # bits of the interrupt registers after those of the queues
COUNTERS = {
    "rx_frames": "Frames put into buffers.",
    "rx_no_descriptor": "Frames that found their queue's ring empty or not in main RAM, or the receiver switched off "
                        "meanwhile.",
    "rx_short_buffer": "Frames for which the buffer of the next descriptor was too small, or not in main RAM.",
    "rx_overrun": "Frames for which the core's own FIFO had no room.",
    "rx_crc": "Frames with a wrong FCS.",
    "rx_runt": "Frames of fewer than 64 bytes with FCS.",
    "rx_oversize": "Frames of more than 1,518 bytes with FCS.",
    "rx_filtered": "Good frames to others.",
    "rx_preamble": "What came without a preamble.",
    "rx_off": "Frames, good or bad, that ended while the receiver was switched off.",
    "tx_frames": "Frames sent.",
    "tx_no_link": "Frames that left while there was no link, or as it went: they are gone.",
    "tx_bad": "Descriptors whose length is no frame's (0, or more than 1,514), or whose buffer is not in main RAM.",
}


def ring_mask(mask):
    """The least number of ones that has all bits of `mask`."""
    return Cat(*[mask[bit:] != 0 for bit in range(ENTRIES_BITS)])


class Ether(LiteXModule):
    """Ethernet with descriptor rings in main RAM, of `ram_bytes`, a power of two.

    `ports`: two LiteDRAM native ports with `busy` (hw.cpu.core.DevicePort), to receive and to send; `phy`: that of
    hw.ether.phy or any of 32 bits that has its signals; `cycle`: the time stamp of received frames."""
    def __init__(self, phy, ports, ram_bytes, cycle):
        self.irq = Signal(3)    # o: levels: the two receive queues, and the rest

        self.add_control()
        self.add_rings()
        self.add_causes()
        for name, text in COUNTERS.items():
            setattr(self, name, CSRStatus(32, name=name, description=text + " Modulo 2^32."))

        # # #

        rx_port, tx_port = ports
        self.phy         = phy
        self.receiver    = Receiver(rx_port, ram_bytes, cycle, QUEUES)
        self.transmitter = Transmitter(tx_port, ram_bytes)
        self.connect()
        self.add_counters()
        self.add_interrupts()

    def add_control(self):
        self.control = CSRStorage(description="What the core does.", fields=[
            CSRField("receive", 1, description="Receive frames. While 0 and not busy, the rings' heads are 0."),
            CSRField("transmit", 1, description="Send what is in the ring. While 0 and not busy, its head is 0."),
            CSRField("promiscuous", 1, description="Take frames to any address."),
            CSRField("multicast", 1, description="Take frames to any group. Broadcasts are always taken."),
            CSRField("loop", 1, description="What is sent comes back, and does not leave. A change counts from when no "
                "frame is under way."),
            CSRField("speed", 2, reset=1, description="0: 10, 1: 100, 2 and 3: 1000 Mbit/s."),
        ])
        self.status = CSRStatus(description="What the core does now.", fields=[
            CSRField("link", 1, description="The wire has another end."),
            CSRField("receiving", 1, description="A frame waits for its buffer, or is on its way there."),
            CSRField("sending", 1, description="A frame is being read, or waits to leave."),
        ])

    def add_rings(self):
        self.mac_first = CSRStorage(16, description="Own address: its first two bytes, the first one in bits 7:0.")
        self.mac_rest = CSRStorage(32, description="Its four other bytes, likewise.")
        for q in range(QUEUES):
            setattr(self, f"rx{q}_base", CSRStorage(32, name=f"rx{q}_base", description=f"Ring of receive queue {q}: "
                    "address of descriptor 0; the low 4 bits are taken as 0. Of base and masks counts what they were "
                    "when `receive` was last 0 and not busy."))
            setattr(self, f"rx{q}_tail", CSRStorage(ENTRIES_BITS, name=f"rx{q}_tail", description="The first "
                    "descriptor that is not the core's, modulo the ring: any value counts, at once."))
            setattr(self, f"rx{q}_head", CSRStatus(ENTRIES_BITS, name=f"rx{q}_head", description="The next descriptor "
                    "that it fills."))
        self.rx_mask = CSRStorage(ENTRIES_BITS, description="Descriptors of each receive ring, a power of two, less "
            "one; another value is taken as the next greater one that is.")
        self.tx_base = CSRStorage(32, description="Ring of frames to send: address of descriptor 0, likewise, with "
            "`transmit`.")
        self.tx_tail = CSRStorage(ENTRIES_BITS, description="The first descriptor that is not the core's, likewise.")
        self.tx_head = CSRStatus(ENTRIES_BITS, description="The next descriptor that it reads.")
        self.tx_mask = CSRStorage(ENTRIES_BITS, description="Its descriptors, a power of two, less one, likewise.")

    def add_causes(self):
        causes = [*(CSRField(f"rx{q}", 1, description=f"Frames have come into queue {q}.")
                    for q in range(QUEUES)),
                  CSRField("tx", 1, description="A descriptor that asked for it is done."),
                  CSRField("link", 1, description="The link came or went.")]
        self.enable = CSRStorage(description="Causes that interrupt.", fields=causes)
        self.pending = CSRStatus(QUEUES + 2, description="Causes that have come, whether or not they interrupt: bits "
            "as of `enable`.")
        self.acknowledge = CSRStorage(QUEUES + 2, description="**A write takes back** the causes whose bits are set. "
            "What comes in the same cycle stays.")
        self.moderate_frames = CSRStorage(8, reset=1, description="A queue's cause comes when so many frames wait for "
            "it, at once if this is lowered; 0 is taken as 1.")
        self.moderate_cycles = CSRStorage(24, description="It comes also so many cycles after the first of them, or "
            "after a write of this, if that is later; 0: never.")

    def connect(self):
        """Registers, receiver, transmitter and PHY."""
        phy, receiver, transmitter = self.phy, self.receiver, self.transmitter
        control = self.control.fields
        self.comb += [
            phy.source.connect(receiver.sink),
            transmitter.source.connect(phy.sink),
            phy.speed.eq(control.speed),
            phy.loop.eq(control.loop),

            receiver.enable.eq(control.receive),
            receiver.all.eq(control.promiscuous),
            receiver.groups.eq(control.multicast),
            receiver.first.eq(self.mac_first.storage),
            receiver.rest.eq(self.mac_rest.storage),
            transmitter.enable.eq(control.transmit),
            transmitter.tail.eq(self.tx_tail.storage & transmitter.mask),
            self.tx_head.status.eq(transmitter.head),
            self.status.fields.link.eq(phy.link),
            self.status.fields.receiving.eq(receiver.busy),
            self.status.fields.sending.eq(transmitter.busy),
        ]
        for q in range(QUEUES):
            self.comb += [
                receiver.tail[q].eq(getattr(self, f"rx{q}_tail").storage & receiver.mask),
                getattr(self, f"rx{q}_head").status.eq(receiver.head[q]),
            ]

        # A ring's place is the one when its side was last switched off and not busy.
        self.sync += [
            If(~control.receive & ~receiver.busy,
                receiver.mask.eq(ring_mask(self.rx_mask.storage)),
                *[receiver.base[q].eq(getattr(self, f"rx{q}_base").storage) for q in range(QUEUES)]
            ),
            If(~control.transmit & ~transmitter.busy,
                transmitter.mask.eq(ring_mask(self.tx_mask.storage)),
                transmitter.base.eq(self.tx_base.storage)
            ),
        ]

    def add_counters(self):
        phy, receiver, transmitter = self.phy, self.receiver, self.transmitter
        strobes = {f"rx_{name}": strobe for name, strobe in receiver.counted.items()}
        strobes |= {"tx_frames": phy.sent, "tx_no_link": phy.unsent, "tx_bad": transmitter.bad}
        assert set(strobes) == set(COUNTERS) and set(DROPS) < set(receiver.counted)
        for name, strobe in strobes.items():
            status = getattr(self, name).status
            self.sync += If(strobe, status.eq(status + 1))

    def add_interrupts(self):
        """The interrupts of a queue are moderated."""
        phy, receiver, transmitter = self.phy, self.receiver, self.transmitter
        comes   = Signal(QUEUES + 2)
        taken   = Signal(QUEUES + 2)
        pending = self.pending.status
        link    = Signal()
        self.while_idle = []
        self.comb += [
            If(self.acknowledge.re, taken.eq(self.acknowledge.storage)),
            comes[TX].eq(transmitter.done),
            comes[LINK].eq(phy.link != link),
        ]
        self.sync += [
            link.eq(phy.link),
            pending.eq((pending & ~taken) | comes),
        ]
        for q in range(QUEUES):
            waiting = Signal(8, name=f"waiting{q}")
            timer   = Signal(24, name=f"timer{q}")
            self.while_idle.append(Countdown(timer, end=1))
            number  = Signal(9, name=f"number{q}")    # of frames that wait for a cause, with one of this cycle
            self.comb += [
                number.eq(waiting + receiver.arrived[q]),
                comes[q].eq((timer == 1) | ((number != 0) & (number >= self.moderate_frames.storage))),
            ]
            self.sync += [
                If(timer != 0,
                    timer.eq(timer - 1)
                ),
                waiting.eq(number),
                If((receiver.arrived[q] & (waiting == 0)) | ((waiting != 0) & self.moderate_cycles.re),
                    timer.eq(self.moderate_cycles.storage)
                ),
                If(comes[q],
                    waiting.eq(0),
                    timer.eq(0)
                ),
            ]
        enable = self.enable.storage
        self.comb += [
            *[self.irq[q].eq(pending[q] & enable[q]) for q in range(QUEUES)],
            self.irq[QUEUES].eq((pending[TX:] & enable[TX:]) != 0),
        ]
