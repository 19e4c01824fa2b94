"""Reproducible random delays, for models of remote devices."""

from litex.gen import LiteXModule
from migen import If, Mux, Signal

WIDTH = 16   # of a number, and of half the register


class Jitter(LiteXModule):
    """Uniform random numbers from 0 to `bound`, the high half of a 32-bit xorshift register scaled by a multiplier.

    The register is Marsaglia's generator (Xorshift RNGs, J. Stat. Software 8(14), 2003; shifts 13, 17, 5), which is a
    linear feedback shift register that shifts 32 places at once. It advances only when a number is taken, so the n-th
    number depends on the seed alone.
    """
    def __init__(self, salt):
        self.seed  = Signal(32)             # i: loaded combined with `salt`
        self.load  = Signal()               # i: pulse: restart from `seed`
        self.bound = Signal(WIDTH)          # i: the greatest number
        self.take  = Signal()               # i: pulse: `value` is used in this cycle
        self.value = Signal(WIDTH)          # o: the next number

        # # #

        state  = Signal(32, reset=salt)
        first  = Signal(32)
        second = Signal(32)
        seeded = Signal(32)
        range_ = Signal(WIDTH + 1)
        scaled = Signal(2 * WIDTH + 1)  # in Verilog a product is as wide as its target
        self.comb += [
            range_.eq(self.bound + 1),
            scaled.eq(state[WIDTH:] * range_),
            self.value.eq(scaled[WIDTH:]),
            first.eq(state ^ (state << 13)),
            second.eq(first ^ (first >> 17)),
            seeded.eq(self.seed ^ salt),
        ]
        self.sync += If(self.load,
            state.eq(Mux(seeded == 0, salt, seeded))
        ).Elif(self.take,
            state.eq(second ^ (second << 5))
        )
