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

# Cycles in which the registers that follow others are right again, and what those cause has been done.
SETTLE_CYCLES = 4


@dataclass(frozen=True, eq=False)
class Clock:
    """Grows by the same step in every cycle. Something happens in the cycle in which it has reached one of `alarms`,
    registers, coming from below; else nothing depends on it."""
    register: Register
    alarms: tuple[Register, ...] = ()


@dataclass(frozen=True, eq=False)
class Countdown:
    """Goes down by one in every cycle, or stands still. Something happens in the cycle in which it is at `end`."""
    register: Register
    end: int = 0


@dataclass(frozen=True, eq=False)
class BitTimer:
    """A countdown to 0 that begins anew at `period` - 1, a register; what it does means nothing while `fsm` is in the
    state `rest`."""
    register: Signal
    period: Signal
    fsm: FSM
    rest: str


@dataclass(frozen=True, eq=False)
class Still:
    """Something is going to happen while one of these is not 0, though they may not change for some cycles."""
    registers: tuple[Register, ...]


@dataclass(frozen=True, eq=False)
class Follows:
    """Takes its value, `SETTLE_CYCLES` later at most, from what runs freely and from what stands still, and causes
    nothing but that while nothing happens, whatever its value."""
    registers: tuple[Register, ...]
