"""The bench of the hardware tests: what a coroutine sees when, and that failures come through."""

import cocotb
import pytest
from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import Mux, Signal

from tests.hw import bench


class Counter(LiteXModule):
    """Counts the cycles in which `enable` is set."""
    def __init__(self, width):
        self.enable = Signal()
        self.value = Signal(width)
        self.step = CSRStorage(8, reset=1)
        self.wide = CSRStatus(64, reset=0x1234_5678_9abc_def0)
        self.sync += self.value.eq(self.value + Mux(self.enable, self.step.storage, 0))


def make(width):
    top = LiteXModule()
    top.counter = counter = Counter(width)
    top.bank = bench.CsrBank(counter)
    return top, {"enable": counter.enable, "value": counter.value, "csr": top.bank.bus}


@cocotb.test()
async def sees_the_cycle_that_ends(dut):
    clock = await bench.start(dut, enable=0)
    dut.enable.value = 1
    await clock.tick()
    clock.equal("value", dut.value, 0)
    await clock.tick()
    clock.equal("value", dut.value, 1)
    before = clock.cycle
    await clock.tick(5)
    clock.equal("cycles", clock.cycle - before, 5)
    clock.equal("value", dut.value, 6)


@cocotb.test()
async def reaches_csrs(dut):
    clock = await bench.start(dut, enable=0)
    csr = bench.CsrBus(dut, clock, bench.csr_layout(Counter(8)))
    clock.equal("step", await csr.read("step"), 1)
    await csr.write("step", 77)
    clock.equal("step", await csr.read("step"), 77)
    clock.equal("wide", await csr.read("wide"), 0x1234_5678_9abc_def0)


@cocotb.test()
async def fails(dut):
    clock = await bench.start(dut, enable=0)
    clock.equal("value", dut.value, 1)


def test_bench():
    bench.simulate(make, 8, tests=["sees_the_cycle_that_ends", "reaches_csrs"])


def test_failures_come_through():
    with pytest.raises(pytest.fail.Exception, match=r"fails: .*cycle \d+: value is 0 \(0x0\), not 1"):
        bench.simulate(make, 8, tests=["fails"])


def test_no_coroutine_is_a_failure():
    with pytest.raises(pytest.fail.Exception, match="no cocotb test ran"):
        bench.simulate(make, 8, tests=["missing"])
