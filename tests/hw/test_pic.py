"""The PIC's registers and what it does with its sources, one property at a time."""

import cocotb
import pytest

from tests.hw import bench
from tests.hw.pic_dut import Pic, build


def make(harts):
    return build(harts)


async def start(dut, **csrs):
    return await Pic.start(dut, bench.arguments()[0], **csrs)


@cocotb.test()
async def level_source_pends_again_after_eoi(dut):
    pic = await start(dut)
    await pic.configure(16, priority=3)
    await pic.write("UNMASK", 16)
    dut.sources.value = 1 << 16
    await pic.clock.tick(4)
    pic.clock.equal("irq", pic.irq(), 1)
    pic.clock.equal("claimed", await pic.claim(), 16)
    await pic.clock.tick()
    pic.clock.equal("irq in service", pic.irq(), 0)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 1 << 16)
    pic.clock.equal("second claim", await pic.claim(), None)
    await pic.write("EOI", 16)
    await pic.clock.tick(2)
    pic.clock.equal("irq after EOI", pic.irq(), 1)
    print(await pic.counters(16))
    print(await pic.csr.read("spurious"), await pic.csr.read("reads"), await pic.csr.read("stall_cycles"))


@pytest.mark.parametrize("harts", [1])
def test_registers_and_sources(harts):
    bench.simulate(make, harts)
