"""Host port, identity and copy engine (hw/host, hw/dma) on Verilator."""

import cocotb
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Memory

from hw.dma.core import CopyEngine
from hw.host.core import HostPort, Identity
from tests.hw import bench

FINGERPRINT = 0x0123_4567_89ab_cdef
MEMORY_WORDS = 256

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


def parts():
    return {"host": HostPort(), "identity": Identity(FINGERPRINT, 3, 60_000_000), "dma": CopyEngine()}


def make():
    top, ios = LiteXModule(), {}
    for name, part in parts().items():
        setattr(top, name, part)
        bank = bench.CsrBank(part)
        top.add_module(name + "_bank", bank)
        ios[name] = bank.bus
    memory = Memory(64, MEMORY_WORDS)
    top.sram = wishbone.SRAM(memory, bus=top.dma.bus)
    port = memory.get_port(write_capable=True, async_read=True)
    top.specials += port
    ios |= {"look": port.adr, "seen": port.dat_r, "put": port.dat_w, "set": port.we}
    return top, ios | {"outputs": top.host.outputs}


def word(i):
    return (i + 1) * 0x0203_0507_0b0d_1113 & (1 << 64) - 1


async def start(dut):
    clock = await bench.start(dut)
    return clock, *[bench.CsrBus(dut, clock, bench.csr_layout(part), prefix=name) for name, part in parts().items()]


@in_simulator
async def the_first_exit_counts(dut):
    clock, host, _, _ = await start(dut)
    clock.equal("exit", dut.outputs_exit, 0)
    await host.write("exit", 0xb007)
    await clock.tick(2)
    clock.equal("exit", dut.outputs_exit, 1)
    clock.equal("code", dut.outputs_exit_code, 0xb007)
    await host.write("exit", 0)
    await clock.tick(20)
    clock.equal("exit", dut.outputs_exit, 1)
    clock.equal("code", dut.outputs_exit_code, 0xb007)


@in_simulator
async def exit_code_zero_ends_too(dut):
    clock, host, _, _ = await start(dut)
    await host.write("exit", 0)
    await clock.tick(2)
    clock.equal("exit", dut.outputs_exit, 1)
    clock.equal("code", dut.outputs_exit_code, 0)


@in_simulator
async def a_length_copies_out_once(dut):
    clock, host, _, _ = await start(dut)
    blobs = []

    async def watch():
        while True:
            await clock.tick()
            if dut.outputs_blob.value:
                blobs.append(tuple(int(getattr(dut, f"outputs_blob_{name}").value)
                                   for name in ("kind", "address", "length")))

    cocotb.start_soon(watch())
    expected = [(1, 0x4000_1000, 64), (0xffff_ffff, 0x41ff_fffc, 4), (7, 0x4000_0000, 0)]
    for kind, address, length in expected:
        await host.write("blob_kind", kind)
        await host.write("blob_address", address)
        await clock.tick(3)
        await host.write("blob_length", length)
        clock.equal("length as read", await host.read("blob_length"), length)
    await clock.tick(5)
    clock.equal("blobs", blobs, expected)
    clock.equal("exit", dut.outputs_exit, 0)


@in_simulator
async def identity_is_what_was_built(dut):
    clock, _, identity, _ = await start(dut)
    clock.equal("fingerprint", await identity.read("fingerprint"), FINGERPRINT)
    clock.equal("harts", await identity.read("harts"), 3)
    clock.equal("clock_hz", await identity.read("clock_hz"), 60_000_000)


async def copy(dma, source, destination, length):
    await dma.write("source", source)
    await dma.write("destination", destination)
    await dma.write("length", length)


async def finish(dma):
    while await dma.read("busy"):
        pass


async def fill(dut, clock):
    """Give each word its own content; the list of them."""
    dut.set.value = 1
    for i in range(MEMORY_WORDS):
        dut.look.value, dut.put.value = i, word(i)
        await clock.tick()
    dut.set.value = 0
    return [word(i) for i in range(MEMORY_WORDS)]


async def memory_is(dut, clock, model):
    for i, expected in enumerate(model):
        dut.look.value = i
        await clock.tick(2)
        clock.equal(f"word {i}", dut.seen, expected)


@in_simulator
async def copies_words(dut):
    clock, _, _, dma = await start(dut)
    model = await fill(dut, clock)
    for source, destination, words in ((0, 100, 1), (3, 120, 16), (3, 140, 17), (0, 160, 90), (160, 0, 2), (5, 7, 0)):
        await copy(dma, 8 * source, 8 * destination, 8 * words)
        clock.equal("busy", await dma.read("busy"), int(words > 0))
        await finish(dma)
        model[destination:destination + words] = model[source:source + words]
    await memory_is(dut, clock, model)


@in_simulator
async def a_copy_under_way_is_left_alone(dut):
    clock, _, _, dma = await start(dut)
    model = await fill(dut, clock)
    await copy(dma, 0, 8 * 128, 8 * 100)
    await copy(dma, 8 * 50, 8 * 240, 8 * 4)
    clock.equal("busy", await dma.read("busy"), 1)
    await finish(dma)
    model[128:228] = model[:100]
    await memory_is(dut, clock, model)


def test_host():
    bench.simulate(make)
