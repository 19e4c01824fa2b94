"""What in a core advances while nothing happens, so that a simulator can skip such cycles without loss.

A core declares it in its attribute `while_idle`, a list of the kinds below. All that is not listed has to keep its
value in a cycle in which nothing happens: the simulator checks that (docs/simulator.md). So a list that lacks something
costs speed; one that promises too much, an event that comes without its counter having run out, would cost exactness,
and `--check-skip` finds it.

A `Register` is a Migen signal or, in a netlist that Migen does not know, its path: instances with points between.
"""

from dataclasses import dataclass
from typing import Any, TypeAlias

from migen import Signal
from migen.genlib.fsm import FSM

Register: TypeAlias = Any    # Signal | str; Migen has no types

# Cycles until the registers that follow others are right again, and their effects are complete.
SETTLE_CYCLES = 4


@dataclass(frozen=True, eq=False)
class Clock:
    """Grows by the same step in every cycle. Something happens in the cycle in which it reaches one of `alarms`,
    registers, from below; otherwise nothing depends on it."""
    register: Register
    alarms: tuple[Register, ...] = ()


@dataclass(frozen=True, eq=False)
class Countdown:
    """Counts down by one in every cycle, or keeps its value. Something happens in the cycle in which it is at `end`."""
    register: Register
    end: int = 0


@dataclass(frozen=True, eq=False)
class BitTimer:
    """A countdown to 0 that restarts at `period` - 1, a register; its value does not matter while `fsm` is in the state
    `rest`."""
    register: Signal
    period: Signal
    fsm: FSM
    rest: str


@dataclass(frozen=True, eq=False)
class Still:
    """Something will happen while one of these is not 0, though they may not change for some cycles."""
    registers: tuple[Register, ...]


@dataclass(frozen=True, eq=False)
class Follows:
    """Follows, within `SETTLE_CYCLES`, registers that run freely and registers that keep their values; while nothing
    happens it has no other effect, whatever its value."""
    registers: tuple[Register, ...]
