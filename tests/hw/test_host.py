"""Host port, identity and copy engine (hw/host, hw/dma) on Verilator."""

import random

import cocotb
from litex.gen import LiteXModule
from litex.soc.interconnect import wishbone
from migen import Memory

from hw.common.csr import csr_registers
from hw.dma.core import CopyEngine
from hw.host.core import HostPort, Identity
from tests.hw import bench
from tests.hw.register_storm import CsrWrites, Storm

FINGERPRINT = 0x0123_4567_89ab_cdef
MEMORY_WORDS = 256

in_simulator = cocotb.test(timeout_time=2, timeout_unit="ms")  # simulated time: a test that hangs fails


def parts():
    return {"host": HostPort(), "identity": Identity(FINGERPRINT, 3, 60_000_000), "dma": CopyEngine()}


def make():
    top, ios = LiteXModule(), {}
    for name, part in parts().items():
        setattr(top, name, part)
        bank = bench.CsrBank(part, bridged=True)
        top.add_module(name + "_bank", bank)
        ios |= {name: bank.bus, name + "_wide": bank.wishbone, name + "_seen": bank.seen}
    memory = Memory(64, MEMORY_WORDS)
    top.sram = wishbone.SRAM(memory, bus=top.dma.bus)
    port = memory.get_port(write_capable=True, async_read=True)
    top.specials += port
    ios |= {"dma_bus": top.dma.bus, "dma_busy": top.dma.busy.status}
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


def storm_of(dut, clock, name, **options):
    """A storm on one of the parts; its CSRs."""
    csrs = csr_registers(bench.csrs_of(parts()[name]))
    return Storm(clock, bench.WishboneBus(dut, name + "_wide", clock), csrs, whole=True, **options), csrs


@in_simulator
async def the_host_port_takes_any_store_as_the_readme_says(dut):
    """Each whole store to `blob_length` is one piece of memory, of any address; the first to `exit` counts."""
    clock, *_ = await start(dut)
    codes, expected, blobs = [], [], []

    def piece(length):
        expected.append((storm.kept["blob_kind"], storm.kept["blob_address"], length))

    storm, _ = storm_of(dut, clock, "host", seed=1, on={"blob_length": piece, "exit": codes.append})

    async def watch():
        for _ in range(6000):
            await clock.tick()
            if dut.outputs_blob.value:
                blobs.append(tuple(int(getattr(dut, f"outputs_blob_{name}").value)
                                   for name in ("kind", "address", "length")))
            if dut.outputs_exit.value:
                clock.equal("exit code", dut.outputs_exit_code, codes[0])

    await storm.among(watch(), least=200)
    await clock.tick(5)
    clock.equal("pieces of memory", blobs, expected)
    await storm.write("node", 0x0004_0003)
    clock.equal("node", await storm.read("node"), 0x0004_0003)
    clock.check(len(codes) > 5 and len(blobs) > 5, f"{codes}, {blobs}")


@in_simulator
async def the_identity_takes_no_store(dut):
    clock, _, identity, _ = await start(dut)
    names = [register.name for register in csr_registers(bench.csrs_of(parts()["identity"]))]
    storm, _ = storm_of(dut, clock, "identity", seed=2, steady=names)
    await storm.among(clock.tick(1500), least=60)
    clock.equal("fingerprint", await identity.read("fingerprint"), FINGERPRINT)


@in_simulator
async def the_copy_engine_takes_any_store_as_the_readme_says(dut):
    """A copy goes where source and destination say as `length` is written, in main RAM or not, whatever is written
    while it is under way: the engine's bus shows each read and each write."""
    clock, _, _, dma = await start(dut)
    await fill(dut, clock)
    chance = random.Random(4)
    storm, csrs = storm_of(dut, clock, "dma", seed=3, harmless={
        # A store without a copy under way begins one, which has to end.
        "length": lambda value, _: value if lasts else value & 0x13f})
    writes = CsrWrites(dut, csrs, "dma_seen")
    lasts = False       # a copy is under way, for long
    csr = {"source": 0, "destination": 0, "length": 0}
    reads, written, sources, targets, read, copies = [], [], [], [], [], 0
    word_addresses = (1 << 29) - 1

    async def follow():
        nonlocal copies
        strobe = None
        while True:
            await clock.tick()
            if strobe:
                csr[strobe[0]] = strobe[1]
                if strobe[0] == "length" and strobe[1] >= 8 and not dut.dma_busy.value:
                    copies += 1
                    for begin, places in ((csr["source"], sources), (csr["destination"], targets)):
                        places += [(begin // 8 + n) & word_addresses for n in range(strobe[1] // 8)]
            strobe = writes.now()
            if dut.dma_bus_cyc.value and dut.dma_bus_stb.value and dut.dma_bus_ack.value:
                place = int(dut.dma_bus_adr.value)
                if dut.dma_bus_we.value:
                    written.append(place)
                    clock.equal("word written", dut.dma_bus_dat_w, read[len(written) - 1])
                else:
                    reads.append(place)
                    read.append(int(dut.dma_bus_dat_r.value))

    async def work():
        nonlocal lasts
        for _ in range(20):
            async with storm.lock:
                while await storm.load("busy"):
                    pass
                await storm.store("source", chance.choice((0xffff_fff0, 0x4000_0100, chance.getrandbits(32))))
                await storm.store("destination", chance.getrandbits(32))
                await storm.store("length", 8 * 200)
                lasts = True
            await clock.tick(150)
            lasts = False
            await clock.tick(chance.randrange(900))

    cocotb.start_soon(follow())
    await storm.among(work(), least=200)
    await finish(dma)
    await clock.tick(5)
    clock.equal("places read", reads, sources)
    clock.equal("places written", written, targets)
    clock.check(copies > 22, f"only {copies} copies")


def test_host():
    bench.simulate(make)
