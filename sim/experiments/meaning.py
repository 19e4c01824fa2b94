"""What a key of an experiment file means: the declared parameters whose value it is, which say what it may be."""

import re
from collections.abc import Iterator

from sim.experiments.schema import SettingError
from sim.images.kernel import boot_parameters
from support.parameters import drive, simulator
from support.parameters.boot import KERNEL
from support.parameters.build import OPTIONS, SYNC
from support.parameters.declared import Parameter
from support.parameters.machine import MACHINE, REGISTERS

ALONE = re.compile(r"\{([a-z]\w*)\}")
SEED = next(one for one in KERNEL if one.name == "seed")
VARIED = {"harts": MACHINE["harts"], "sync": SYNC}     # what each kind of runs has for itself


def parameters_of(table) -> dict[str, list[Parameter]]:
    """Of each key in the `table` of a file: the parameters whose value it is, alone, in some kind of runs."""
    found: dict[str, list[Parameter]] = {SEED.name: [SEED]}     # of every run
    for kind in table["runs"]:
        vary = kind.get("vary", {})
        for name, parameter in _values(kind):
            key = vary.get(name, name)
            if name not in vary or isinstance(table["keys"].get(key, {}).get("default"), list):
                found.setdefault(key, []).append(parameter)
    return found


def has_domain(parameters: list[Parameter]) -> bool:
    return any(one.range or one.choices for one in parameters)


def _values(kind) -> Iterator[tuple[str, Parameter]]:
    """The names whose value is a parameter's in this kind of runs, each with that."""
    for name, parameter in VARIED.items():
        if name in kind.get("vary", {}):
            yield name, parameter
    if "input" in kind:
        yield "baud", simulator.OPTIONS["uart1-baud"]
    if "flow" in kind:
        yield from _alone([("flow", kind["flow"])], {"flow": simulator.OPTIONS["uart1-flow"]})
    bootargs = kind["bootargs"]
    yield from _alone((word.partition("=")[::2] for word in bootargs.split()), boot_parameters(bootargs))
    yield from _alone((part.partition("=")[::2] for part in kind.get("disk", "").split(",")[1:]),
                      drive.FIELDS | drive.WORDS)
    yield from _alone(kind.get("poke", {}).items(), REGISTERS)
    yield from _alone(kind.get("build", {}).items(), OPTIONS)


def _alone(given, declared):
    for name, text in given:
        value = ALONE.fullmatch(text)
        if value and name in declared:
            yield value[1], declared[name]


def range_of(key: str, parameters: list[Parameter], own: tuple) -> tuple:
    """The numbers that a key may have: of a file's `own` range, or else of all its parameters; () if none says."""
    ranges = [one.range for one in parameters if one.range]
    low, high = max((low for low, _ in ranges), default=0), min((high for _, high in ranges), default=0)
    if not own or not ranges:
        return own or ((low, high) if ranges else ())
    for one in parameters:
        if one.range and not one.range[0] <= own[0] <= own[1] <= one.range[1]:
            raise SettingError(f"keys {key}: the range {own[0]} to {own[1]} has more than {one.name} takes, "
                               f"{one.range[0]} to {one.range[1]}")
    return own


def choices_of(key: str, parameters: list[Parameter], own: tuple) -> tuple:
    """The same of words."""
    declared = [one for one in parameters if one.choices]
    for one in declared:
        wrong = [word for word in own if word not in one.choices]
        if wrong:
            raise SettingError(f"keys {key}: {one.name} takes no '{wrong[0]}', but {one.domain()}")
    return own or tuple(word for word in (declared[0].choices if declared else ())
                        if all(word in one.choices for one in declared))
