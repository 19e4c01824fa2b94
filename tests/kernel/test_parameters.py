"""A register keeps its value, however it is set: when built, by a poke at the start, by a boot argument. The
environment's PARAMETER_SEEDS=N draws more combinations."""

import os
import random
import re

import pytest

from soc.build import generate_soc
from soc.config import SoCConfig
from support.parameters.boot import LATENCY, REGISTERS
from support.parameters.machine import MACHINE, OTHER_REGISTERS
from tests.kernel.machine import boot

NAMES = [parameter.name for parameter in REGISTERS]
RESET = {name: MACHINE[name].default if name in MACHINE else OTHER_REGISTERS[name].default for name in NAMES} | {
    "link_seed": 1, "ram_seed": 1}      # the run's seed is 0
SEEDS = int(os.environ.get("PARAMETER_SEEDS", "4"))


def ways_of(seed):
    """Register -> how it is set ("poke", "boot" or both, with a value of each), and link_latency or None."""
    dice = random.Random(f"registers {seed}")
    ways = {}
    for name in NAMES:
        values = {way: dice.randrange(2, 300) for way in ("poke", "boot") if seed < 2 or dice.random() < 0.5}
        ways[name] = {way: value for way, value in values.items() if seed > 1 or way == ("poke", "boot")[seed]}
    for way in ("read", "write"):       # the way back is a part of the whole
        ways[f"link_{way}_back"] = {how: 1 for how in ways[f"link_{way}_back"]}
        if seed > 1:
            ways[f"link_{way}_latency"].setdefault("poke", dice.randrange(2, 300))
        if seed == 2:                   # link_latency stands for both
            ways[f"link_{way}_latency"].pop("boot", None)
    return ways, dice.randrange(2, 300) if seed == 2 or seed > 2 and dice.random() < 0.5 else None


def expected(name, given, both):
    if "boot" in given:
        return given["boot"]
    if both is not None and name in ("link_read_latency", "link_write_latency"):
        return both
    return given.get("poke", RESET[name])


@pytest.mark.parametrize("seed", range(SEEDS))
def test_a_register_keeps_what_it_was_given(tmp_path, seed):
    ways, both = ways_of(seed)
    words = ["run=test-registers hz=0", *([f"{LATENCY.name}={both}"] if both is not None else []),
             *(f"{name}={given['boot']}" for name, given in ways.items() if "boot" in given)]
    pokes = [word for name, given in ways.items() if "poke" in given for word in ("--poke", f"{name}={given['poke']}")]
    run = boot(tmp_path, 1, "spl-optim", " ".join(words), more=pokes)
    assert run.status == 0, run.report()
    wanted = {name: expected(name, given, both) for name, given in ways.items()}
    assert {name: int(value) for name, value in run.result("registers").items()} == wanted, words + pokes
    worst = run.result("pic_worst")
    jitter = wanted["link_jitter"]
    assert int(worst["access"]) == max(wanted["link_read_latency"], wanted["link_write_latency"]) + jitter
    assert int(worst["delivery"]) == max(wanted["link_delivery_delay"], wanted["link_fall_delay"]) + jitter


def test_registers_are_built_with_what_the_machine_says():
    def resets(config):
        text = generate_soc(config).reference.read_text()
        found = dict(re.findall(r"\*\*`(\w+)`\*\* \|.*?\| `(0x[0-9a-f]+)` \|", text))
        return {name: int(found[name], 16) for name in built}

    built = [name for name in NAMES if name in MACHINE]
    assert resets(SoCConfig()) == {name: RESET[name] for name in built}
    odd = {name: 100 + number for number, name in enumerate(built)}
    assert resets(SoCConfig(**odd)) == odd
