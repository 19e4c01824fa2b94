"""The PIC's accounting by itself: cases that the whole controller cannot show, because it never loses anything."""

import random

import cocotb
import pytest
from litex.gen import LiteXModule

from hw.pic.counters import WAIT_MAX, Accounting
from hw.pic.registers import COUNTERS, SOURCES
from tests.hw import bench

INPUTS = ("rises", "raises", "pending", "waiting", "dropped", "claim", "claimed")


def make(burst_bits):
    top = LiteXModule()
    top.accounting = accounting = Accounting(burst_bits)
    top.bank = bench.CsrBank(accounting)
    return top, {"bus": accounting.bus, "csr": top.bank.bus, "ready": accounting.ready,
                 **{name: getattr(accounting, name) for name in INPUTS}}


async def start(dut):
    clock = await bench.start(dut, **dict.fromkeys(INPUTS, 0))
    csr = bench.CsrBus(dut, clock, bench.csr_layout(Accounting()))
    await clock.tick(SOURCES + 1)
    clock.equal("ready", dut.ready, 1)
    return clock, bench.WishboneBus(dut, "bus", clock), csr


@cocotb.test()
async def what_does_not_fit_is_counted_as_lost(dut):
    clock, bus, csr = await start(dut)
    rng = random.Random(bench.arguments()[0])
    arrivals = merged = 0
    for busy in (0.05, 0.3, 1.0):
        for _ in range(400):
            rises, raises, pending = (rng.getrandbits(SOURCES) if rng.random() < busy else 0 for _ in range(3))
            dut.rises.value, dut.raises.value, dut.pending.value = rises, raises, pending
            arrivals += rises.bit_count() + raises.bit_count()
            merged += (rises & raises).bit_count() + ((rises | raises) & pending).bit_count()
            await clock.tick()
        dut.rises.value = dut.raises.value = dut.pending.value = 0
        await clock.tick(35)
        counted = sum([await bus.read(COUNTERS["RISES"].at(s)) for s in range(SOURCES)])
        joined = sum([await bus.read(COUNTERS["MERGED"].at(s)) for s in range(SOURCES)])
        lost = await csr.read("lost")
        clock.equal("counted and lost", counted + lost, arrivals)
        clock.check(joined <= merged, f"{joined} merged are counted, {merged} came")
        clock.check(lost or joined == merged, f"{joined} merged are counted, {merged} came, and nothing is lost")
    clock.check(lost > 0, "nothing is lost, which this test is about")


@cocotb.test()
async def long_waits_saturate_the_greatest_only(dut):
    clock, bus, _ = await start(dut)
    waits = []
    for jump in (0, 1 << 33, 1 << 31, 0xffff_ffa0, 1 << 40):
        dut.waiting.value = 1 << 9
        begin = clock.cycle + 1
        await clock.tick(70)
        dut.accounting_now.value = int(dut.accounting_now.value) + 1 + jump  # whole rounds go by in no time
        dut.claim.value, dut.claimed.value = 1, 9
        waits.append(clock.cycle + 1 - begin + jump)
        await clock.tick()
        dut.claim.value, dut.waiting.value = 0, 0
        await clock.tick(4)
        clock.equal("greatest wait", await bus.read(COUNTERS["MAX_WAIT"].at(9)), min(max(waits), WAIT_MAX))
        low, high = [await bus.read(COUNTERS[f"TOTAL_WAIT_{half}"].at(9)) for half in ("LOW", "HIGH")]
        clock.equal("total wait", high << 32 | low, sum(waits))


@pytest.mark.parametrize("burst_bits", [2, 3])
def test_narrow_accounting(burst_bits):
    bench.simulate(make, burst_bits, tests=["what_does_not_fit_is_counted_as_lost"])


def test_long_waits():
    bench.simulate(make, 5, tests=["long_waits_saturate_the_greatest_only"])
