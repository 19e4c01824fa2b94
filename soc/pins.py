"""A SoC whose interrupt controller is on a chip of its own, and both chips in one simulation."""

from abc import ABC, abstractmethod

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStorage
from migen import Array, Cat, ClockDomain, ClockDomainsRenamer, ClockSignal, If, ResetSignal, Signal

from hw.pic.pins import Pads, PICChip, PinLink, RemotePIC
from soc.sim import SimSoC

LANES = 3                  # data wires in each direction: with the strobes one Pmod
CHIP_CLOCK = (47, 60)      # of the controller's chip in simulation, as a part of the SoC's
PHASE_BITS = 16


class PinnedPIC(ABC):
    """Mix-in, in front of a SoC: `pic_pads` gives the wires to the controller's chip."""

    def make_link(self, *parameters, **times):
        return PinLink(*parameters, **times)

    def make_controller(self, config, link):
        return RemotePIC(link, self.pic_pads(config))

    @abstractmethod
    def pic_pads(self, config):
        """A record of hw.pic.pins.wires.pads_layout."""


class OtherClock(LiteXModule):
    """Clock domain `pic`, whose rising edges are between those of `sys`, at a rate without a fixed phase.

    To logic without delays a clock is only the order of its edges among the other's, so this stands for any slower
    clock of that rate."""
    def __init__(self):
        self.cd_fall = ClockDomain(reset_less=True)
        self.cd_pic  = ClockDomain()

        # # #

        phase = Signal(PHASE_BITS)
        rise  = Signal()
        self.comb += [
            self.cd_fall.clk.eq(~ClockSignal("sys")),
            self.cd_pic.clk.eq(rise & ~ClockSignal("sys")),
            self.cd_pic.rst.eq(ResetSignal("sys")),
        ]
        part, whole = CHIP_CLOCK
        self.sync.fall += Cat(phase, rise).eq(phase + (part << PHASE_BITS) // whole)


class Cable(LiteXModule):
    """The wires between two chips, which a simulator's `--poke` can cut and disturb."""
    def __init__(self, near, far):
        ends = Cat(near.tx_strobe, near.tx_data, far.tx_strobe, far.tx_data)
        self.cut   = CSRStorage(len(ends), description="Wires that are cut, a mask: the SoC's strobe and data, then "
            "those of the controller's chip.")
        self.noise = CSRStorage(16, description="A wire is wrong for a cycle, `noise` times in 65,536 cycles on "
            "average.")

        # # #

        # Marsaglia's xorshift, as in hw/common/jitter.py, but in every cycle.
        state  = Signal(32, reset=1)
        first  = Signal(32)
        second = Signal(32)
        wrong  = Signal(len(ends))
        self.comb += [
            first.eq(state ^ (state << 13)),
            second.eq(first ^ (first >> 17)),
            If(state[16:] < self.noise.storage,
                wrong.eq(Array([1 << wire for wire in range(len(ends))])[state[:3]])
            ),
            Cat(far.rx_strobe, far.rx_data, near.rx_strobe, near.rx_data).eq((ends ^ wrong) & ~self.cut.storage),
        ]
        self.sync += If(self.noise.storage != 0, state.eq(second ^ (second << 5)))


class TwoChipSoC(PinnedPIC, SimSoC):
    """The simulator's SoC and, on a clock of its own, the controller's chip."""

    def pic_pads(self, config):
        near, far = Pads(LANES, "near"), Pads(LANES, "far")
        self.cable = cable = Cable(near, far)
        for register in cable.cut, cable.noise:     # the names that sim/model/build.py looks for
            register.storage.name_override = f"cable_{register.name}_storage"
        self.other_clock = OtherClock()
        part, whole = CHIP_CLOCK
        self.chip = ClockDomainsRenamer("pic")(PICChip(config.harts, far, config.clock_hz * part // whole))
        return near
