"""A PHY chip at the Ethernet core (hw/ether/chip.py): frames of all lengths cross between its clock and the system's,
both ways, without a hole, and with the gap between them that the wire needs."""

import random

import cocotb
from cocotb.clock import Clock
from cocotb.triggers import RisingEdge
from liteeth.common import eth_phy_description
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from litex.soc.interconnect.csr import CSRField, CSRStatus
from migen import ClockDomain, Signal

from hw.ether.chip import ChipPHY
from tests.hw import bench

GAP = 12                        # bytes between frames
LENGTHS = [72, 73, 74, 75, 1526, 72]    # with preamble and FCS
PERIODS = {60: 960, 40: 640}    # of the chip's 125 MHz, ps, where the bench's 2 ns are a system's clock of so many MHz

in_simulator = cocotb.test(timeout_time=1, timeout_unit="ms")  # simulated time: a test that hangs fails


class Chip(LiteXModule):
    """LiteEth's side of a gigabit PHY, whose pins are a byte wide."""
    dw = 8

    def __init__(self):
        self.clock = Signal()
        self.link  = Signal()
        self.cd_eth_rx = ClockDomain(reset_less=True)
        self.cd_eth_tx = ClockDomain(reset_less=True)
        self.comb += [self.cd_eth_rx.clk.eq(self.clock), self.cd_eth_tx.clk.eq(self.clock)]
        self.sink   = stream.Endpoint(eth_phy_description(8))
        self.source = stream.Endpoint(eth_phy_description(8))
        self.comb += self.sink.ready.eq(1)
        self.rx = LiteXModule()
        self.rx.inband_status = CSRStatus(fields=[CSRField("link_status", size=1)])
        self.comb += self.rx.inband_status.fields.link_status.eq(self.link)


def make(mhz):
    top = LiteXModule()
    top.chip = chip = Chip()
    top.phy = phy = ChipPHY(chip)
    return top, {"tx": chip.sink, "rx": chip.source, "chip_clk": chip.clock, "chip_link": chip.link, "sink": phy.sink,
                 "source": phy.source, "loop": phy.loop, "link": phy.link, "sent": phy.sent, "unsent": phy.unsent}


async def begin(dut):
    mhz, = bench.arguments()
    Clock(dut.chip_clk, PERIODS[mhz], unit="ps").start()
    clock = await bench.start(dut, sink_valid=0, rx_valid=0, rx_last=0, loop=0, chip_link=1, sink_last=0)
    await clock.tick(20)
    return clock


def frames():
    seed = random.Random(3)
    return [seed.randbytes(length) for length in LENGTHS]


async def send(dut, clock, data):
    for at in range(0, len(data), 4):
        word = data[at:at + 4]
        dut.sink_payload_data.value = int.from_bytes(word, "little")
        dut.sink_last.value = at + 4 >= len(data)
        dut.sink_payload_last_be.value = 1 << len(word) - 1 if at + 4 >= len(data) else 0
        dut.sink_valid.value = 1
        await clock.tick()
        while not dut.sink_ready.value:
            await clock.tick()
    dut.sink_valid.value = 0


async def received(dut, clock):
    """The next frame that the core gets."""
    data = b""
    while True:
        await clock.tick()
        if not dut.source_valid.value:
            continue
        word = int(dut.source_payload_data.value).to_bytes(4, "little")
        if not dut.source_last.value:
            data += word
            continue
        return data + word[:int(dut.source_payload_last_be.value).bit_length()]


async def on_the_wire(dut, count):
    """So many frames as they leave, and the bytes between each and the one before."""
    found, gaps, pause = [], [], 0
    frame = b""
    while len(found) < count:
        await RisingEdge(dut.chip_clk)
        if dut.tx_valid.value:
            if not frame:
                gaps.append(pause)
            frame += bytes([int(dut.tx_payload_data.value)])
            if dut.tx_last.value:
                found.append(frame)
                frame, pause = b"", 0
        else:
            assert not frame, f"a hole behind {len(frame)} bytes"
            pause += 1
    return found, gaps


@in_simulator
async def frames_leave_without_a_hole(dut):
    clock = await begin(dut)
    wire = cocotb.start_soon(on_the_wire(dut, len(LENGTHS)))
    for frame in frames():
        await send(dut, clock, frame)
    found, gaps = await wire
    clock.check(found == frames(), "other frames leave than were sent")
    clock.check(min(gaps[1:]) >= GAP, f"gaps of {gaps[1:]} bytes")


@in_simulator
async def frames_come_whole(dut):
    clock = await begin(dut)

    async def wire():
        for frame in frames():
            for n, byte in enumerate(frame):
                dut.rx_payload_data.value = byte
                dut.rx_valid.value = 1
                dut.rx_last.value = n == len(frame) - 1
                await RisingEdge(dut.chip_clk)
            dut.rx_valid.value = dut.rx_last.value = 0
            for _ in range(GAP):
                await RisingEdge(dut.chip_clk)

    await RisingEdge(dut.chip_clk)
    cocotb.start_soon(wire())
    for n, frame in enumerate(frames()):
        clock.check(await received(dut, clock) == frame, f"frame {n} comes as another one")


@in_simulator
async def a_loop_and_no_link(dut):
    clock = await begin(dut)
    counts = {"sent": 0, "unsent": 0}

    async def count():
        while True:
            await clock.tick()
            for name in counts:
                counts[name] += int(getattr(dut, name).value)

    cocotb.start_soon(count())
    frame = frames()[1]
    dut.chip_link.value = 0
    await clock.tick(10)
    clock.equal("link", dut.link, 0)
    await send(dut, clock, frame)
    await clock.tick(200)
    clock.equal("frames", counts, {"sent": 0, "unsent": 1})
    dut.loop.value = 1
    await clock.tick(2)
    clock.equal("link in a loop", dut.link, 1)
    back = cocotb.start_soon(received(dut, clock))
    await send(dut, clock, frame)
    clock.check(await back == frame, "another frame comes back")
    for _ in range(200):
        await RisingEdge(dut.chip_clk)
        clock.check(not dut.tx_valid.value, "a frame in a loop leaves")
    clock.equal("frames", counts, {"sent": 1, "unsent": 1})


def test_a_phy_chip():
    bench.simulate(make, 60)


def test_a_slow_system():
    bench.simulate(make, 40, tests=["frames_leave_without_a_hole", "frames_come_whole"])
