"""The FIFO in block RAM (hw/common/fifo.py) against LiteX's, in every cycle."""

import random

import cocotb
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Signal

from hw.common.fifo import BlockFIFO
from tests.hw import bench

CYCLES = 3000
WIDTH, DEPTH = 20, 32
# Chances per cycle of a word offered and of one taken: it runs empty, full, and between.
PHASES = ((.5, .5), (.9, .1), (1, 1), (.1, .9), (1, 0), (0, 1), (.05, 1))

in_simulator = cocotb.test(timeout_time=1, timeout_unit="ms")


class Bench(LiteXModule):
    """Both FIFOs with the same inputs."""
    def __init__(self):
        self.push, self.pop, self.data = Signal(), Signal(), Signal(WIDTH)
        self.block = BlockFIFO([("data", WIDTH)], DEPTH)
        self.litex = stream.SyncFIFO([("data", WIDTH)], DEPTH)
        self.outputs = {}
        for name, fifo in ("block", self.block), ("litex", self.litex):
            self.comb += [fifo.sink.valid.eq(self.push), fifo.sink.data.eq(self.data), fifo.source.ready.eq(self.pop)]
            self.outputs |= {f"{name}_ready": fifo.sink.ready, f"{name}_valid": fifo.source.valid,
                             f"{name}_data": fifo.source.data, f"{name}_level": fifo.level}


def make():
    top = Bench()
    return top, {"push": top.push, "pop": top.pop, "data": top.data, **top.outputs}


@in_simulator
async def behaves_as_litex_does(dut):
    clock = await bench.start(dut, push=0, pop=0, data=0)
    rng = random.Random(1)
    levels = set()
    for cycle in range(CYCLES):
        push, pop = PHASES[cycle // 100 % len(PHASES)]
        dut.push.value, dut.pop.value = rng.random() < push, rng.random() < pop
        dut.data.value = rng.getrandbits(WIDTH)
        await clock.tick()
        for name in "ready", "valid", "level":
            clock.equal(name, getattr(dut, f"block_{name}"), int(getattr(dut, f"litex_{name}").value))
        if dut.litex_valid.value:
            clock.equal("data", dut.block_data, int(dut.litex_data.value))
        levels.add(int(dut.litex_level.value))
    clock.equal("levels seen", sorted(levels), list(range(DEPTH + 1)))


def test_fifo():
    bench.simulate(make)
