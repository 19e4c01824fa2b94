"""Reference model of the PIC behind its link, in plain Python, exact to the cycle. The tests hold the RTL against it.

It follows the manual (README.md), not the RTL: no memories, rounds or pipelines, only the specified behaviour.
"""

from dataclasses import dataclass, field

from hw.pic.link import ACCESS_CYCLES, ACCESS_SALT, DELIVERY_SALT
from hw.pic.registers import CONTEXT, CONTEXT_STRIDE, IPI_SOURCE, MAX_HARTS, REGISTERS, SOURCES, VERSION, source_reset

WORD = (1 << 32) - 1


def bits(mask):
    """Yield the numbers of the bits that are set, lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


@dataclass
class Command:
    """An access that a hart offers: a load, or a store of the bytes of `data` that `mask` has a bit for."""

    write: bool
    address: int
    data: int = 0
    mask: int = 0xf


@dataclass
class Access:
    """The access that the link carries, when it takes effect, and when it is answered."""

    hart: int
    command: Command
    effect: int
    answer: int


@dataclass
class Outputs:
    """The PIC's visible outputs in one cycle."""

    ready: int = 0                                            # mask of harts whose command is accepted
    responses: dict[int, int | None] = field(default_factory=dict)  # data by hart; None for a store
    irq: int = 0                                              # mask of harts whose interrupt wire is up


@dataclass
class Counts:
    """The accounting of one source."""

    rises: int = 0
    deliveries: int = 0
    merged: int = 0
    max_wait: int = 0
    total_wait: int = 0


class Xorshift:
    """Marsaglia's 32-bit xorshift generator, scaled to 0 to a bound."""

    def __init__(self, seed, salt):
        self.state = (seed ^ salt) & WORD or salt

    def next(self, bound):
        """A number from 0 to `bound`."""
        number = (self.state >> 16) * (bound + 1) >> 16
        self.state ^= self.state << 13 & WORD
        self.state ^= self.state >> 17
        self.state ^= self.state << 5 & WORD
        return number


class Model:
    """The PIC of `harts` harts as it is after reset. `step` is one cycle; times may be changed between two steps."""

    def __init__(self, harts, read_latency=0, write_latency=0, delivery_delay=0, jitter=0, seed=1, read_back=0,
                 write_back=0, fall_delay=0):
        self.harts = range(harts)
        self.read_latency = read_latency
        self.write_latency = write_latency
        self.read_back = read_back
        self.write_back = write_back
        self.delivery_delay = delivery_delay
        self.fall_delay = fall_delay
        self.jitter = jitter
        self.seed(seed)
        self.cycle = 0
        # Controller.
        self.source = [source_reset(s) for s in range(SOURCES)]
        self.edge = sum(self.get(s, "EDGE") << s for s in range(SOURCES))  # mask of the edge-triggered sources
        self.wire = 0       # sources as the controller saw them last
        self.latch = 0
        self.level = [0] * harts
        self.enable = [0] * harts
        self.in_service = [0] * harts
        # Link.
        self.access = None
        self.candidates = 0
        self.candidates_since = []
        self.last = 0       # the hart served last
        self.was_up = [False] * harts   # the wires at the controller in the cycle before
        self.irq = [False] * harts      # and at the harts
        self.changes = [[] for _ in range(harts)]   # in transit: (cycle of arrival, whether up), in order
        # Accounting.
        self.counts = [Counts() for _ in range(SOURCES)]
        self.was_waiting = 0                    # mask of the sources that waited in the cycle before,
        self.waiting_since = [None] * SOURCES   # and since when
        self.totals = dict.fromkeys(("reads", "writes", "stall_cycles", "spurious"), 0)

    def seed(self, seed):
        """Restart the jitter."""
        self.access_random = Xorshift(seed, ACCESS_SALT)
        self.delivery_random = Xorshift(seed, DELIVERY_SALT)

    # What follows from the state --------------------------------------------------------------------------------------

    def get(self, source, name):
        """A field of a source's register."""
        return REGISTERS["SOURCE"][name].get(self.source[source])

    def pending(self):
        """Mask of the sources that request service or, being level, still are up while served."""
        return self.latch | self.wire & ~self.edge

    def blocked(self):
        """Mask of the sources not offered because they are being served: level sources only."""
        served = 0
        for mask in self.in_service:
            served |= mask
        return served & ~self.edge

    def waiting(self):
        """Mask of the sources that wait for a claim, by any hart."""
        return self.pending() & ~self.blocked()

    def offered(self, source, hart):
        """Does routing offer the source to the hart?"""
        return self.get(source, "ANY") or self.get(source, "ROUTE") == hart

    def exceeds(self, source, hart):
        """Is the source's priority above the hart's level?"""
        return self.get(source, "PRIORITY") > self.level[hart]

    def deliverable(self, hart):
        """Mask of the sources that the hart could claim."""
        return sum(1 << s for s in bits(self.waiting() & self.enable[hart])
                   if self.exceeds(s, hart) and self.offered(s, hart))

    def best(self, candidates):
        """The source to claim among a mask of candidates, or None."""
        return max(bits(candidates), key=lambda s: (self.get(s, "PRIORITY"), -s), default=None)

    # Registers --------------------------------------------------------------------------------------------------------

    def decode(self, hart, address):
        """(register name, its context or index) of an address; (None, None) where there is no register."""
        offset = address & REGISTERS.size - 4
        others = REGISTERS.aliases[0]
        if offset < CONTEXT_STRIDE:
            return CONTEXT[offset // 4], hart
        if others.base <= offset < others.base + others.stride * MAX_HARTS:
            other, place = divmod(offset - others.base, others.stride)
            return (CONTEXT[place // 4], other) if other in self.harts else (None, None)
        for name in ("SOURCE", "IPI", "RAISE", "PENDING", "CLEAR", "ID"):
            index, rest = divmod(offset - REGISTERS[name].offset, REGISTERS[name].stride)
            if 0 <= index < REGISTERS[name].count and not rest:
                return name, index
        return None, None

    def load(self, hart, address):
        """The value loaded, and its side effect: (value, mask of latches dropped)."""
        name, index = self.decode(hart, address)
        if name == "CLAIM":
            return self.claim(index)
        if name == "ID":
            fields = REGISTERS["ID"]
            return (fields["SOURCES"].put(SOURCES) | fields["HARTS"].put(len(self.harts))
                    | fields["VERSION"].put(VERSION)), 0
        values = {"LEVEL": self.level, "ENABLE": self.enable, "INSERVICE": self.in_service, "SOURCE": self.source}
        if name in values:
            return values[name][index], 0
        return {"PENDING": self.pending(), "DELIVERABLE": self.candidates}.get(name, 0), 0

    def claim(self, context):
        """Claim for a context: (value of CLAIM, mask of latches dropped)."""
        source = self.best(self.candidates)
        fields = REGISTERS["CLAIM"]
        if source is None:
            self.totals["spurious"] += 1
            return fields["NONE"].put(1), 0
        self.in_service[context] |= 1 << source
        self.count_claim(source)
        return fields["SOURCE"].put(source) | fields["PRIORITY"].put(self.get(source, "PRIORITY")), 1 << source

    def store(self, hart, command):
        """Do a store: (mask of latches dropped, mask of latches set)."""
        name, index = self.decode(hart, command.address)
        stored = sum(0xff << 8 * i for i in range(4) if command.mask >> i & 1)
        data = command.data & stored
        single = 1 << data if stored & 0xff and data < SOURCES else 0
        if name == "LEVEL":
            self.level[index] = (self.level[index] & ~stored | data) & REGISTERS["LEVEL"].mask
        elif name == "EOI":
            self.end(index, single)
        elif name == "ENABLE":
            self.enable[index] = self.enable[index] & ~stored | data
        elif name == "MASK":
            self.enable[index] &= ~single
        elif name == "UNMASK":
            self.enable[index] |= single
        elif name == "SOURCE":
            self.source[index] = (self.source[index] & ~stored | data) & REGISTERS["SOURCE"].mask
            self.edge = self.edge & ~(1 << index) | self.get(index, "EDGE") << index
        elif name == "CLEAR":
            return data, 0
        elif name == "RAISE":
            return 0, data
        elif name == "IPI":
            return 0, sum(1 << IPI_SOURCE + h for h in self.harts if data >> h & 1)
        return 0, 0

    def end(self, context, mask):
        """End of interrupt."""
        self.in_service[context] &= ~mask

    # Accounting -------------------------------------------------------------------------------------------------------

    def count_claim(self, source):
        """A claim in this cycle."""
        counts = self.counts[source]
        wait = self.cycle - self.candidates_since[source]
        counts.deliveries += 1
        counts.max_wait = max(counts.max_wait, wait)
        counts.total_wait += wait

    def count_arrivals(self, rises, raises, pending):
        """Arrivals in this cycle, which find the sources `pending` pending."""
        for s in bits(rises | raises):
            number = (rises >> s & 1) + (raises >> s & 1)
            self.counts[s].rises += number
            self.counts[s].merged += number - 1 + (pending >> s & 1)

    def ways(self, write):
        """Cycles that an access takes, and how many of them are its way back."""
        latency, back = (self.write_latency, self.write_back) if write else (self.read_latency, self.read_back)
        return latency, min(latency, back)

    # One cycle --------------------------------------------------------------------------------------------------------

    def next_hart(self, requests):
        """The hart of a set that the link takes next."""
        return min(requests, key=lambda h: (h - self.last - 1) % len(self.harts))

    def set_out(self, hart, arrival, up):
        """A change of the hart's wire starts, visible there in the cycle `arrival`."""
        ways = self.changes[hart]
        if arrival <= self.cycle + 1:               # before all that are in transit
            ways[:] = [(arrival, up)]
        elif sum(other > self.cycle + 1 for other, _ in ways) == 2:     # a third cancels the second
            ways.pop()
        elif ways and ways[-1][0] >= arrival:       # it overtakes the other
            ways.pop()
        else:
            ways.append((arrival, up))

    def deliver(self, hart):
        """The hart's interrupt wire in this cycle."""
        ways = self.changes[hart]
        while ways and ways[0][0] <= self.cycle:
            _, self.irq[hart] = ways.pop(0)
        return self.irq[hart]

    def latched(self, dropped, arrived):
        """The latches after this cycle: an arrival is stronger than a claim or a `CLEAR`."""
        return self.latch & ~dropped | arrived

    def step(self, sources, commands):
        """One cycle: the sources' wires, and the command that each hart offers or None. Returns the cycle's Outputs."""
        outputs = Outputs()
        waiting = self.waiting()
        for s in bits(waiting & ~self.was_waiting):
            self.waiting_since[s] = self.cycle
        outputs.irq = self.move_wires()
        self.take_turns(outputs, commands)
        edges = self.edge
        high = self.wire & ~edges
        rises = sources & ~self.wire
        dropped, raises = self.access_takes_effect()
        self.count_arrivals(rises, raises, self.latch & ~dropped | high)
        self.latch = self.latched(dropped, rises & edges | raises)
        self.was_waiting = waiting & ~(dropped & edges)  # a wait after that is another arrival
        self.wire = sources
        self.cycle += 1
        return outputs

    def move_wires(self):
        """The interrupt wires at the harts in this cycle."""
        up = [self.deliverable(h) != 0 for h in self.harts]
        changed = [h for h in self.harts if up[h] != self.was_up[h]]
        extra = 0
        if any(up[h] or self.fall_delay for h in changed):
            extra = self.delivery_random.next(self.jitter)
        for h in self.harts:
            self.deliver(h)
        for h in changed:
            late = self.delivery_delay + 1 + extra if up[h] else self.fall_delay and self.fall_delay + extra
            self.set_out(h, self.cycle + late, up[h])
        self.was_up = up
        return sum(self.deliver(h) << h for h in self.harts)

    def take_turns(self, outputs, commands):
        """The link: answer, accept, count waiting harts."""
        if self.access and self.cycle == self.access.answer:
            outputs.responses[self.access.hart] = self.answer
            self.access = None
        requests = [h for h in self.harts if commands[h]]
        self.totals["stall_cycles"] += len(set(requests) | ({self.access.hart} if self.access else set()))
        if self.access is None and requests:
            hart = self.next_hart(requests)
            command = commands[hart]
            latency, back = self.ways(command.write)
            latency += self.access_random.next(self.jitter)
            answer = self.cycle + latency + ACCESS_CYCLES
            self.access = Access(hart, command, answer - back - 1, answer)
            self.last = hart
            outputs.ready = 1 << hart

    def access_takes_effect(self):
        """The latches that the access under way clears in this cycle, and those that it sets. A claim considers the
        sources that were deliverable two cycles before."""
        dropped = raises = 0
        if self.access and self.cycle == self.access.effect - 2:
            _, context = self.decode(self.access.hart, self.access.command.address)
            self.candidates = self.deliverable(context) if context in self.harts else 0
            self.candidates_since = list(self.waiting_since)
        if self.access and self.cycle == self.access.effect:
            hart, command = self.access.hart, self.access.command
            if command.write:
                dropped, raises = self.store(hart, command)
                self.answer = None
                self.totals["writes"] += 1
            else:
                self.answer, dropped = self.load(hart, command.address)
                self.totals["reads"] += 1
        return dropped, raises
