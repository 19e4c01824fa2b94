"""The rings of requests and completions: where they are, and the positions of software and controller in them."""

from litex.gen import LiteXModule
from migen import Case, If, Signal

from hw.common.memory import in_main_ram
from hw.disk.registers import MOST_ENTRIES_LOG2, RESET_ENTRIES_LOG2

REQUEST_WORDS = 4          # of 64 bits in a request, of which the last is software's


class Rings(LiteXModule):
    """Software's writes only advance the counters, within their limits. Differences are modulo 2^16.

    The controller advances `sq_head` and `cq_tail` itself. ram_bytes: of main RAM, a power of two."""
    def __init__(self, ram_bytes):
        self.sq_base = Signal(32)
        self.cq_base = Signal(32)
        self.log2    = Signal(4, reset=RESET_ENTRIES_LOG2)
        self.sq_tail = Signal(16)
        self.sq_head = Signal(16)
        self.cq_head = Signal(16)
        self.cq_tail = Signal(16)
        self.count   = Signal(16)    # i: written
        self.enters  = Signal()      # ... as the tail of the requests,
        self.takes   = Signal()      # ... as the head of the completions
        self.running = Signal()      # o: requests have been entered: the rings keep their places
        self.resetting = Signal()    # i: writes are ignored
        self.visible = Signal()      # i: a completion may be in memory, and is not counted
        self.mask    = mask = Signal(MOST_ENTRIES_LOG2)
        self.full    = Signal()      # o: there is no room for a completion
        self.lap     = Signal()      # o: bit 7 of the next one

        # # #

        inside = Signal()           # both rings are wholly inside
        entry  = Signal(16)
        waiting, room, more = Signal(16), Signal(16), Signal(16)    # requests: entered, that fit, to be entered
        there, taken = Signal(16), Signal(16)                       # completions: in memory, to be taken

        def ring_inside(base, entry_words):
            """Whether main RAM from `base` on has room for the ring."""
            bits = ram_bytes.bit_length() - 1
            return in_main_ram(base[3:], ram_bytes) & (
                base[3:bits] + ((mask + 1) * entry_words) <= 1 << bits - 3)

        self.comb += [
            Case(self.log2, {n: mask.eq((1 << n) - 1) for n in range(MOST_ENTRIES_LOG2 + 1)}),
            waiting.eq(self.sq_tail - self.sq_head),
            room.eq(mask + 1 - waiting),
            more.eq(self.count - self.sq_tail),
            there.eq(self.cq_tail - self.cq_head + self.visible),
            taken.eq(self.count - self.cq_head),
            entry.eq(self.cq_tail - self.cq_head),
            self.full.eq(entry > mask),
            self.lap.eq(~(self.cq_tail >> self.log2)),
        ]
        self.sync += [
            inside.eq(ring_inside(self.sq_base, REQUEST_WORDS) & ring_inside(self.cq_base, 1)),
            If(self.enters & (more <= room) & inside & ~self.resetting,
                self.sq_tail.eq(self.count),
                self.running.eq(1)
            ),
            If(self.takes & (taken <= there) & ~self.resetting,
                self.cq_head.eq(self.count)
            ),
        ]

    def request_address(self, word):
        """The address of a word of the next request, in words from the start of main RAM."""
        return self.sq_base[3:30] + (((self.sq_head & self.mask) << 2) + word)

    def completion_address(self):
        """The address of the next completion, likewise."""
        return self.cq_base[3:30] + (self.cq_tail & self.mask)
