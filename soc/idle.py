"""Collects what the cores of a SoC declare of their idle cycles (hw/common/idle.py), by the names of the Verilog."""

from collections.abc import Callable, Iterator

from migen import Module, Signal

from hw.common.idle import BitTimer, Clock, Countdown, Follows, Register, Still


def _modules(module: Module) -> Iterator[Module]:
    yield module
    for _, inner in module._submodules:
        yield from _modules(inner)


def idle_of(soc: Module, name_of: Callable[[Signal], str]) -> list[dict]:
    """An entry for each item of each core's `while_idle`, for sim/model/idle.py; `name_of`: a signal's Verilog name.

    The SoC has to be finalised: only then do state machines have their encoding."""
    def name(register: Register) -> str:
        return register if isinstance(register, str) else name_of(register)

    def entry(item) -> dict:
        match item:
            case Clock():
                return {"kind": "clock", "register": name(item.register), "alarms": [*map(name, item.alarms)]}
            case Countdown():
                return {"kind": "countdown", "register": name(item.register), "end": item.end}
            case BitTimer():
                return {"kind": "bit_timer", "register": name(item.register), "period": name(item.period),
                        "state": name(item.fsm.state), "rest": item.fsm.encoding[item.rest]}
            case Still():
                return {"kind": "still", "registers": [*map(name, item.registers)]}
            case Follows():
                return {"kind": "follows", "registers": [*map(name, item.registers)]}
        raise TypeError(f"{item} says nothing of idle cycles: use the kinds of hw/common/idle.py")

    return [entry(item) for module in _modules(soc) for item in getattr(module, "while_idle", ())]
