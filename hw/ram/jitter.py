"""Delays at random that can be repeated: a linear feedback shift register, stepped once for each delay it gives."""

from functools import reduce
from operator import xor

from litex.gen import LiteXModule
from migen import Cat, If, Signal

TAPS = (31, 21, 1, 0)    # x^32 + x^22 + x^2 + x + 1: period 2^32 - 1
STEPS = 16               # bits of the register that are new in each delay: all that it is made from
STIR = 0x9e37_79b9       # tells the sequences of several users of one seed apart
START = 0x5eed_5eed      # in place of 0, which the register could not leave


def start_state(seed, salt):
    """State of the register after a load of `seed`, for the user numbered `salt`."""
    return (seed ^ (STIR * salt & 0xffff_ffff)) or START


def next_state(state):
    """State of the register after one delay has been taken from `state`."""
    for _ in range(STEPS):
        state = (state << 1 & 0xffff_ffff) | reduce(xor, (state >> tap & 1 for tap in TAPS))
    return state


def delay(state, limit):
    """The delay that `state` gives: 0 to `limit`, each as likely as the next to within one part in 2^16."""
    return (state & 0xffff) * (limit + 1) >> 16


class Jitter(LiteXModule):
    """A sequence of delays: `value` is 0..`limit` cycles, and the next one follows in the cycle after `step`."""
    def __init__(self, salt=0):
        self.limit = Signal(16)   # i
        self.seed  = Signal(32)   # i
        self.load  = Signal()     # i: start from `seed`
        self.step  = Signal()     # i: `value` is used
        self.value = Signal(16)   # o

        # # #

        state = Signal(32, reset=start_state(1, salt))
        start = Signal(32)
        # Each bit after STEPS steps is the exclusive or of some bits before them: which ones, each bit alone tells.
        after = [reduce(xor, (state[old] for old in range(32) if next_state(1 << old) >> new & 1)) for new in range(32)]
        self.comb += [
            start.eq(self.seed ^ (STIR * salt & 0xffff_ffff)),
            self.value.eq((state[:16] * (self.limit + 1))[16:]),
        ]
        self.sync += If(self.load,
            If(start != 0, state.eq(start)).Else(state.eq(START))
        ).Elif(self.step,
            state.eq(Cat(*after))
        )
