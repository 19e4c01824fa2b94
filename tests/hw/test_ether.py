"""Ethernet (hw/ether) on Verilator: rings, drops and their counters, moderation, the wire's time, against a model."""

import random
import zlib

import cocotb
from litex.gen import LiteXModule
from migen import Signal

from hw.common.csr import csr_registers
from hw.common.memory import MAIN_RAM
from hw.ether.core import COUNTERS, LINK, QUEUES, TX, Ether
from hw.ether.phy import SPEEDS, WirePHY
from hw.ram.core import MainRAM
from support.cache import REPO
from tests.hw import bench
from tests.hw.register_storm import Storm

CLOCK_HZ = 60_000_000
RAM_BYTES = 1 << 17
LATENCY = 8
RX_RINGS, TX_RING, BUFFERS, TX_BUFFERS = (0x0000, 0x0400), 0x0800, 0x1000, 0x12000  # in RAM
MASK = 15
SLOT = 2048
MAC = bytes.fromhex("02494c4b0001")
OTHER = bytes.fromhex("02494c4b0002")
BROADCAST = b"\xff" * 6
PREAMBLE = b"\x55" * 7 + b"\xd5"
DONE, ERROR = 1 << 31, 1 << 30

in_simulator = cocotb.test(timeout_time=10, timeout_unit="ms")  # simulated time: a test that hangs fails


def make():
    top = LiteXModule()
    top.phy = phy = WirePHY(CLOCK_HZ)
    top.ram = ram = MainRAM(RAM_BYTES, LATENCY)
    for port in ram.ports:
        port.busy = Signal()    # data is in memory as soon as it is taken
    cycle = Signal(32)
    top.sync += cycle.eq(cycle + 1)
    top.ether = ether = Ether(phy, ram.ports, RAM_BYTES, cycle)
    top.bank = bench.CsrBank(ether, bridged=True)
    return top, {"csr": top.bank.bus, "wide": top.bank.wishbone, "irq": ether.irq, "wire": phy.pads, "stamp_now": cycle}


def whole():
    """The core, for its registers."""
    ports = MainRAM(RAM_BYTES).ports
    for port in ports:
        port.busy = Signal()
    return Ether(WirePHY(CLOCK_HZ), ports, RAM_BYTES, Signal(32))


def layout():
    return bench.csr_layout(whole())


def csrs():
    return whole().get_csrs(sort=True)


def with_fcs(frame):
    return frame + zlib.crc32(frame).to_bytes(4, "little")


def frame_of(length, to=MAC, seed=0, kind=0x88b5):
    """A frame of `length` bytes without FCS."""
    filling = random.Random(seed).randbytes(length)
    return (to + OTHER + kind.to_bytes(2, "big") + filling)[:length]


def ip_frame(source, destination, ports=0, protocol=17, fragment=0, options=False, length=60):
    header = bytes([0x46 if options else 0x45, 0, 0, 46, 0, 1, fragment >> 8, fragment & 0xff, 64, protocol, 0, 0])
    packet = header + source.to_bytes(4, "big") + destination.to_bytes(4, "big") + ports.to_bytes(4, "big")
    return (MAC + OTHER + b"\x08\x00" + packet).ljust(length, b"\xa5")


def hash_of(frame):
    """The model of the receive queues' hash: addresses, and ports where there are some, folded to a byte."""
    if frame[12:14] != b"\x08\x00":
        return 0
    used = frame[26:34]
    whole = frame[14] == 0x45 and not (frame[20] & 0x3f or frame[21])
    if whole and frame[23] in (6, 17):
        used += frame[34:38]
    folded = 0
    for byte in used:
        folded ^= byte
    return folded


def byte_cycles(speed):
    return 8 * CLOCK_HZ / SPEEDS[speed]


CSRS = {register.name: register for register in csr_registers(csrs())}


class Bench:
    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock
        self.csr = bench.CsrBus(dut, clock, layout())
        self.tail, self.seen = [0] * QUEUES, [0] * QUEUES
        self.sent = []      # (cycle of the first word, bytes) of sent frames
        cocotb.start_soon(self.watch())

    async def watch(self):
        content = b""
        while True:
            await self.clock.tick()
            if not self.dut.wire_tx_valid.value:
                continue
            if not content:
                began = self.clock.cycle
            word = int(self.dut.wire_tx_data.value).to_bytes(4, "little")
            if self.dut.wire_tx_last.value:
                number = int(self.dut.wire_tx_last_be.value).bit_length()
                self.sent.append((began, content + word[:number]))
                content = b""
            else:
                content += word

    async def put(self, content, gap=0):
        """Bytes into the receiver's pins, a word a cycle."""
        dut = self.dut
        for at in range(0, len(content), 4):
            word = content[at:at + 4]
            last = at + 4 >= len(content)
            dut.wire_rx_valid.value, dut.wire_rx_last.value = 1, int(last)
            dut.wire_rx_last_be.value = 1 << len(word) - 1 if last else 0
            dut.wire_rx_data.value = int.from_bytes(word.ljust(4, b"\0"), "little")
            await self.clock.tick()
        dut.wire_rx_valid.value = 0
        await self.clock.tick(gap)

    async def receive(self, frame, gap=200):
        await self.put(PREAMBLE + with_fcs(frame), gap)

    def word(self, address, value=None):
        """A word of 64 bits of main RAM, past the core."""
        handle = self.dut.main_ram_storage[address // 8]
        if value is None:
            return int(handle.value)
        handle.value = value
        return value

    def memory(self, address, length):
        words = b"".join(self.word(at).to_bytes(8, "little") for at in range(address & ~7, address + length, 8))
        return words[address & 7:][:length]

    def buffer(self, queue, index):
        return BUFFERS + (queue * (MASK + 1) + index) * SLOT

    async def give(self, queue, count, size=SLOT):
        """So many empty buffers."""
        for _ in range(count):
            at = RX_RINGS[queue] + 16 * self.tail[queue]
            self.word(at, size << 32 | MAIN_RAM + self.buffer(queue, self.tail[queue]))
            self.word(at + 8, 0)
            self.tail[queue] = self.tail[queue] + 1 & MASK
        await self.clock.tick()
        await self.csr.write(f"rx{queue}_tail", self.tail[queue])

    def take(self, queue):
        """(frame, status) of the next buffer with a frame, or None."""
        index = self.seen[queue]
        status = self.word(RX_RINGS[queue] + 16 * index + 8)
        if not status & DONE:
            return None
        self.word(RX_RINGS[queue] + 16 * index + 8, 0)
        self.seen[queue] = index + 1 & MASK
        return self.memory(self.buffer(queue, index) + 2, status & 0xffff), status

    async def send(self, index, frame, offset=0, interrupt=True):
        """Enter a frame in the ring, and have it sent."""
        address = TX_BUFFERS + index * SLOT + offset
        content = (b"\xee" * offset + frame + b"\xdd" * 16)
        for at in range(0, len(content) // 8 * 8, 8):
            self.word((address & ~7) + at, int.from_bytes(content[at:at + 8], "little"))
        self.word(TX_RING + 16 * index, interrupt << 63 | len(frame) << 32 | MAIN_RAM + address)
        self.word(TX_RING + 16 * index + 8, 0)
        await self.clock.tick()
        await self.csr.write("tx_tail", index + 1 & MASK)

    async def counters(self):
        return {name: value for name in COUNTERS if (value := await self.csr.read(name))}

    async def expect(self, **values):
        found = await self.counters()
        self.clock.check(found == values, f"the counters are {found}, not {values}")


async def start(dut, buffers=MASK, control=0b11, speed=1):
    clock = await bench.start(dut, wire_rx_valid=0, wire_link=1)
    test = Bench(dut, clock)
    for name, at in zip(("rx0_base", "rx1_base"), RX_RINGS, strict=True):
        await test.csr.write(name, MAIN_RAM + at)
    await test.csr.write("rx_mask", MASK)
    await test.csr.write("tx_base", MAIN_RAM + TX_RING)
    await test.csr.write("tx_mask", MASK)
    await test.csr.write("mac_first", int.from_bytes(MAC[:2], "little"))
    await test.csr.write("mac_rest", int.from_bytes(MAC[2:], "little"))
    await test.csr.write("acknowledge", 0xf)
    await test.csr.write("enable", 0x7)
    await test.csr.write("control", control | speed << 5)
    if buffers:
        for q in range(QUEUES):
            await test.give(q, buffers)
    return clock, test


@in_simulator
async def registers_after_reset(dut):
    clock = await bench.start(dut, wire_rx_valid=0, wire_link=0)
    csr = bench.CsrBus(dut, clock, layout())
    for name, value in {"control": 1 << 5, "status": 0, "enable": 0, "pending": 0, "moderate_frames": 1,
                        "moderate_cycles": 0, "rx0_head": 0, "rx1_head": 0, "tx_head": 0,
                        **dict.fromkeys(COUNTERS, 0)}.items():
        clock.equal(name, await csr.read(name), value)


@in_simulator
async def frames_of_all_lengths_come_as_they_were(dut):
    clock, test = await start(dut)
    lengths = [60, 61, 62, 63, 64, 65, 66, 67, 68, 100, 511, 1000, 1511, 1512, 1513, 1514]
    for number, length in enumerate(lengths):
        frame = frame_of(length, seed=length)
        await test.receive(frame, gap=0)
        ended = int(dut.stamp_now.value)
        await clock.tick(700)
        found = test.take(0)
        clock.check(found and found[0] == frame, f"a frame of {length} bytes came as {found and found[0].hex()}")
        clock.check(abs((found[1] >> 32) - ended) < 12, f"it is stamped {found[1] >> 32}, and ended at {ended}")
        clock.equal("head", await test.csr.read("rx0_head"), number + 1 & MASK)
        await test.give(0, 1)
    await test.expect(rx_frames=len(lengths))


@in_simulator
async def every_bad_frame_is_counted_once_and_the_next_is_whole(dut):
    clock, test = await start(dut)
    good = frame_of(99, seed=1)
    flipped = bytearray(with_fcs(good))
    flipped[40] ^= 4
    bad = {
        "rx_crc": [PREAMBLE + bytes(flipped)],
        "rx_runt": [PREAMBLE + with_fcs(frame_of(n, seed=n)) for n in (0, 1, 2, 3, 4, 5, 6, 14, 58, 59)]
                   + [PREAMBLE + b"\x01", PREAMBLE + b"\x01\x02\x03\x04", PREAMBLE + b"\1\2\3\4\5"],
        "rx_oversize": [PREAMBLE + with_fcs(frame_of(n)) for n in (1515, 1516, 1518, 2500, 6000)],
        "rx_filtered": [PREAMBLE + with_fcs(frame_of(60, to=OTHER)), PREAMBLE + with_fcs(frame_of(70, to=b"\1" * 6)),
                        PREAMBLE + with_fcs(frame_of(70, to=MAC[:5] + b"\7")),
                        PREAMBLE + with_fcs(frame_of(70, to=b"\7" + MAC[1:]))],
        "rx_preamble": [b"\x55" * 40, b"\x55" * 3, b"\xd5", PREAMBLE],
    }
    expected = {"rx_frames": 0}
    for name, contents in bad.items():
        for content in contents:
            await test.put(content, gap=600)
            expected[name] = expected.get(name, 0) + 1
            clock.check(test.take(0) is None, f"{name}: a frame came")
            await test.receive(good, gap=300)
            expected["rx_frames"] += 1
            found = test.take(0)
            clock.check(found and found[0] == good, f"behind {name}, {content[:20].hex()}: {found}")
            await test.give(0, 1)
    await test.expect(**expected)


@in_simulator
async def addresses_are_looked_at(dut):
    clock, test = await start(dut)
    group = bytes.fromhex("01005e000001")
    multicast, promiscuous = {"multicast": 1}, {"promiscuous": 1}
    for more, to, comes in (({}, BROADCAST, True), ({}, group, False), (multicast, group, True),
                            (multicast, OTHER, False), (promiscuous, OTHER, True), (promiscuous, group, True)):
        await test.csr.write("control", CSRS["control"].pack(receive=1, transmit=1, speed=1, **more))
        await test.receive(frame_of(60, to=to))
        clock.equal(f"to {to.hex()} with {more}", test.take(0) is not None, comes)


@in_simulator
async def queues_are_chosen_by_hash(dut):
    clock, test = await start(dut)
    chance = random.Random(4)
    frames = [ip_frame(0x0a000001, 0x0a000002, 0x12345678, 17), ip_frame(0x0a000001, 0x0a000002, 0x12345679, 17),
              ip_frame(0x0a000001, 0x0a000002, 0x12345679, 1), ip_frame(0x0a000001, 0x0a000003, 0x12345679, 1),
              ip_frame(0x0a000001, 0x0a000003, 1, 6, fragment=0x2000), ip_frame(1, 2, 1, 6, fragment=1),
              ip_frame(1, 2, 1, 6, fragment=0x100), ip_frame(1, 2, 1, 6, fragment=0x4000),
              ip_frame(1, 2, 1, 6, options=True), frame_of(60, kind=0x0806)]
    frames += [ip_frame(*(chance.getrandbits(32) for _ in range(3)), chance.choice((1, 6, 17)),
                        chance.choice((0, 0x4000, 0x2001))) for _ in range(30)]
    used = set()
    for frame in frames:
        await test.receive(frame)
        queue = hash_of(frame) & QUEUES - 1
        found = test.take(queue)
        clock.check(found and found[0] == frame, f"{frame.hex()} is not in queue {queue}")
        clock.equal("hash", found[1] >> 16 & 0xff, hash_of(frame))
        clock.equal("interrupt", dut.irq.value, 1 << queue)
        await test.csr.write("acknowledge", 0xf)
        await test.give(queue, 1)
        used.add(queue)
    clock.check(used == set(range(QUEUES)), "not all queues were used")


@in_simulator
async def an_empty_ring_and_a_small_buffer_drop(dut):
    clock, test = await start(dut, buffers=0)
    frame = frame_of(200)
    await test.receive(frame)
    await test.expect(rx_no_descriptor=1)
    await test.give(0, 1, size=201)
    await test.receive(frame)
    await test.expect(rx_no_descriptor=1, rx_short_buffer=1)
    test.word(RX_RINGS[0], 202 << 32 | MAIN_RAM + test.buffer(0, 0))
    await test.receive(frame)
    clock.check(test.take(0)[0] == frame, "the frame")
    await test.receive(frame)
    await test.expect(rx_no_descriptor=2, rx_short_buffer=1, rx_frames=1)


@in_simulator
async def what_the_fifo_cannot_keep_is_dropped_whole(dut):
    """Memory stands still for a while: frames that fit come, others are counted, and none comes in part."""
    clock, test = await start(dut)
    frames = [frame_of(1000, seed=n) for n in range(12)]
    dut.read_latency_storage.value = 5000      # of the first descriptor's read
    for number, frame in enumerate(frames):
        await test.receive(frame, gap=3)
        if number:
            dut.read_latency_storage.value = LATENCY
    await clock.tick(6000)
    came = []
    while (found := test.take(0)):
        came.append(found[0])
    clock.check(0 < len(came) < len(frames), f"{len(came)} frames came")
    clock.check(came == frames[:len(came)], "other frames came, or broken ones")
    await test.expect(rx_frames=len(came), rx_overrun=len(frames) - len(came))


@in_simulator
async def random_frames_match_the_model(dut):
    """Any mixture of frames and of buffers given: what came, in order, and every counter."""
    clock, test = await start(dut, buffers=3)
    chance = random.Random(9)
    free, expected = [3] * QUEUES, [[] for _ in range(QUEUES)]
    counts = dict.fromkeys(COUNTERS, 0)
    for number in range(120):
        length = chance.choice((60, 61, 62, 63, 64, 100, 300, 1514))
        frame = frame_of(length, seed=number)
        if chance.random() < 0.5:
            frame = ip_frame(*(chance.getrandbits(32) for _ in range(3)), 17, length=length)
        content = PREAMBLE + with_fcs(frame)
        queue = hash_of(frame) & QUEUES - 1
        fate = chance.randrange(8)
        if fate == 0:
            content = content[:20] + bytes([content[20] ^ 1]) + content[21:]
            counts["rx_crc"] += 1
        elif fate == 1:
            content = content[:chance.randrange(9, 60)]
            counts["rx_runt"] += 1
        elif not free[queue]:
            counts["rx_no_descriptor"] += 1
        else:
            free[queue] -= 1
            counts["rx_frames"] += 1
            expected[queue].append(frame)
        await test.put(content, gap=chance.choice((150, 400)) if length < 1000 else 800)
        if chance.random() < 0.4:
            for q in range(QUEUES):
                while (found := test.take(q)):
                    wanted = expected[q].pop(0)
                    clock.check(found[0] == wanted, f"frame {number}, queue {q}: {found[0].hex()}, not {wanted.hex()}")
                clock.check(not expected[q], f"a frame is missing in queue {q}")
                number_given = chance.randrange(MASK - free[q] + 1)
                await test.give(q, number_given)
                free[q] += number_given
    await test.expect(**{name: count for name, count in counts.items() if count})


@in_simulator
async def frames_leave_whole_from_any_even_address(dut):
    clock, test = await start(dut, speed=2)
    cases = [(length, offset) for length in (14, 59, 60, 61, 62, 63, 64, 65, 1513, 1514) for offset in (0, 2, 4, 6)]
    for number, (length, offset) in enumerate(cases):
        frame = frame_of(length, to=OTHER, seed=length)
        test.sent.clear()
        await test.send(number & MASK, frame, offset)
        await clock.tick(1800)
        clock.equal("frames", len(test.sent), 1)
        expected = PREAMBLE + with_fcs(frame.ljust(60, b"\0"))
        clock.check(test.sent[0][1] == expected, f"{length} bytes at +{offset} left as {test.sent[0][1].hex()}")
        clock.equal("head", await test.csr.read("tx_head"), number + 1 & MASK)
        clock.equal("status", test.word(TX_RING + 16 * (number & MASK) + 8), DONE | length)
    await test.expect(tx_frames=len(cases))


@in_simulator
async def bad_lengths_do_not_leave(dut):
    clock, test = await start(dut)
    for number, length in enumerate((0, 1515, 65535)):
        test.word(TX_RING + 16 * number, 1 << 63 | length << 32 | MAIN_RAM + TX_BUFFERS)
        await test.csr.write("tx_tail", number + 1)
        await clock.tick(100)
        clock.equal("status", test.word(TX_RING + 16 * number + 8), DONE | ERROR | length)
    await test.send(3, frame_of(60))
    await clock.tick(200)
    clock.equal("frames", len(test.sent), 1)
    await test.expect(tx_bad=3, tx_frames=1)


@in_simulator
async def the_wire_takes_its_time(dut):
    """Frames in a row leave as far from each other as the wire needs, over many frames to a cycle."""
    clock, test = await start(dut, control=0b01)
    for speed, length in ((0, 60), (1, 60), (1, 1514), (2, 60), (2, 1514)):
        await test.csr.write("control", 0b01 | speed << 5)
        for n in range(8):
            await test.send(n, frame_of(length, to=OTHER), interrupt=False)
        test.sent.clear()
        await test.csr.write("control", 0b11 | speed << 5)
        wire = (8 + length + 4 + 12) * byte_cycles(speed)
        await clock.tick(int(wire * 8) + 4000)
        clock.equal("frames", len(test.sent), 8)
        starts = [began for began, _ in test.sent]
        taken = (starts[-1] - starts[1]) / 6
        # Frames of the least size at 1 Gbit/s come slower: a frame takes longer from memory than on the wire.
        clock.check(wire - 1 < taken < (wire + 1 if (speed, length) != (2, 60) else 130),
                    f"speed {speed}, {length} bytes: {taken} cycles from frame to frame, not {wire}")
        await test.csr.write("control", 0b01 | speed << 5)
        await clock.tick(10)
        clock.equal("head", await test.csr.read("tx_head"), 0)


@in_simulator
async def interrupts_are_moderated_by_count_and_time(dut):
    clock, test = await start(dut)
    frame = frame_of(60)
    await test.csr.write("moderate_frames", 4)
    for n in range(1, 9):
        await test.receive(frame)
        clock.equal(f"interrupt after {n} frames", dut.irq.value, int(n % 4 == 0))
        await test.csr.write("acknowledge", 1)
    await test.csr.write("moderate_cycles", 1000)
    await test.receive(frame, gap=800)
    clock.equal("interrupt before the time", dut.irq.value, 0)
    await clock.tick(400)
    clock.equal("interrupt after the time", dut.irq.value, 1)
    await test.csr.write("acknowledge", 1)
    await clock.tick(3000)
    clock.equal("interrupt without a frame", dut.irq.value, 0)
    await test.csr.write("enable", 0)
    await test.receive(frame, gap=1500)
    clock.equal("interrupt that is not enabled", dut.irq.value, 0)
    clock.equal("its cause", await test.csr.read("pending"), 1)
    await test.csr.write("enable", 7)
    await clock.tick(2)
    clock.equal("interrupt, enabled later", dut.irq.value, 1)


@in_simulator
async def each_cause_is_enabled_by_its_bit(dut):
    """Alone it is enough, without it all others are not."""
    clock, test = await start(dut)
    all_causes = sum(CSRS["enable"][name].mask for name in ("rx0", "rx1", "tx", "link"))
    clock.equal("causes", CSRS["enable"].mask, all_causes)
    by_queue = {hash_of(frame) & 1: frame for frame in (ip_frame(1, 2, 3), ip_frame(1, 2, 2))}

    async def cut():
        dut.wire_link.value = 0
        await clock.tick(3)
        dut.wire_link.value = 1

    for number, (name, wire, work) in enumerate((
            ("rx0", 1, lambda: test.receive(by_queue[0])), ("rx1", 2, lambda: test.receive(by_queue[1])),
            ("tx", 4, lambda: test.send(0, frame_of(60))), ("link", 4, cut))):
        bit = CSRS["enable"][name].mask
        clock.equal("bit", bit, 1 << number)
        await work()
        await clock.tick(500)
        clock.equal("causes that have come", await test.csr.read("pending"), bit)
        for enabled, expected in ((bit, wire), (all_causes & ~bit, 0), (0, 0)):
            await test.csr.write("enable", enabled)
            clock.equal(f"interrupt of {name} with {enabled:#x}", dut.irq.value, expected)
        await test.csr.write("acknowledge", bit)
        clock.equal(f"{name} is taken back", await test.csr.read("pending"), 0)


@in_simulator
async def the_status_tells_of_frames_under_way(dut):
    clock, test = await start(dut)
    seen = {"receiving": set(), "sending": set()}

    async def look(until):
        while not int(dut.irq.value) & until:
            status = CSRS["status"].unpack(await test.csr.read("status"))
            clock.equal("link", status["link"], 1)
            for name, values in seen.items():
                values.add(status[name])

    coming = cocotb.start_soon(test.receive(frame_of(1514), gap=0))
    await look(1)
    await coming
    clock.equal("while a frame comes", seen, {"receiving": {0, 1}, "sending": {0}})
    seen["receiving"].clear()
    await test.send(0, frame_of(1514))
    await look(4)
    clock.equal("while a frame leaves", seen, {"receiving": {0}, "sending": {0, 1} & seen["sending"] | {1}})
    await clock.tick(12_000)
    clock.equal("at last", CSRS["status"].unpack(await test.csr.read("status")),
                {"link": 1, "receiving": 0, "sending": 0})


@in_simulator
async def moderation_may_change_while_frames_wait(dut):
    """Number and time are lowered with any number of frames waiting: the cause comes as soon as it would have."""
    clock, test = await start(dut)
    frame = frame_of(60)
    for number in range(1, 6):
        for lowered in (0, 1, number, number + 1):
            await test.csr.write("moderate_frames", 200)
            for _ in range(number):
                await test.receive(frame)
            clock.equal(f"interrupt with {number} of 200", dut.irq.value, 0)
            await test.csr.write("moderate_frames", lowered)
            await clock.tick(2)
            clock.equal(f"interrupt with {number} of {lowered}", dut.irq.value, int(number >= lowered))
            if number < lowered:
                await test.receive(frame)
                clock.equal("interrupt with one more", dut.irq.value, 1)
            await test.csr.write("acknowledge", 1)
            await clock.tick(20)
            clock.equal("interrupt again", dut.irq.value, 0)
            while test.take(0):
                await test.give(0, 1)
    await test.csr.write("moderate_frames", 200)
    for before, after in ((0, 400), (100_000, 400), (300, 900)):
        await test.csr.write("moderate_cycles", before)
        await test.receive(frame)
        await test.csr.write("moderate_cycles", after)
        begin = clock.cycle
        while not dut.irq.value:
            await clock.tick()
            clock.check(clock.cycle - begin <= after + 4, f"no interrupt {after} cycles after {before} became {after}")
        clock.check(clock.cycle - begin >= after, f"an interrupt after {clock.cycle - begin} cycles, not {after}")
        await test.csr.write("acknowledge", 1)
    await test.csr.write("moderate_cycles", 200)
    await test.receive(frame, gap=40)
    await test.csr.write("moderate_cycles", 0)
    await clock.tick(400)
    clock.equal("interrupt without a time", dut.irq.value, 0)


@in_simulator
async def nothing_is_written_beyond_a_frame(dut):
    """Buffers of just the size, of every phase, in main RAM to its last word: what is behind them stays."""
    clock, test = await start(dut, buffers=0)
    guard = 0x5a5a_5a5a_5a5a_5a5a
    for number, length in enumerate((60, 61, 62, 63, 64, 65, 66, 67, 1513, 1514)):
        frame = frame_of(length, seed=length)
        size = length + 2
        place = RAM_BYTES - (size + 7) // 8 * 8 if number % 2 else test.buffer(0, number)
        for at in range(place, min(place + size + 16, RAM_BYTES), 8):
            test.word(at, guard)
        test.word(RX_RINGS[0] + 16 * (number & MASK), size << 32 | MAIN_RAM + place)
        test.word(RX_RINGS[0] + 16 * (number & MASK) + 8, 0)
        await clock.tick()
        await test.csr.write("rx0_tail", number + 1 & MASK)
        await test.receive(frame, gap=400)
        clock.equal("length", test.word(RX_RINGS[0] + 16 * (number & MASK) + 8) & 0xffff, length)
        clock.check(test.memory(place + 2, length) == frame, f"a frame of {length} bytes")
        behind = min(14, RAM_BYTES - place - size)
        clock.check(test.memory(place + size, behind) == b"\x5a" * behind,
                    f"behind a frame of {length} bytes is {test.memory(place + size, behind).hex()}")


FAR = (MAIN_RAM - 16, MAIN_RAM + RAM_BYTES, MAIN_RAM + RAM_BYTES + BUFFERS, MAIN_RAM | 0x2000_0000, BUFFERS, 0,
       MAIN_RAM | 0x8000_0000, 0xffff_fff0)


@in_simulator
async def addresses_outside_of_main_ram_are_refused(dut):
    """Buffers and rings: up to the last word, beyond it, and where a narrower address would be in main RAM again."""
    clock, test = await start(dut, buffers=0)
    ram = [0x0123_4567_89ab_cdef ^ n for n in range(RAM_BYTES // 8)]
    for n, word in enumerate(ram):
        dut.main_ram_storage[n].value = word
    await clock.tick()
    frame, counts = frame_of(60), {"rx_short_buffer": 0, "rx_no_descriptor": 0, "tx_bad": 0}
    index = 0
    for at in (*FAR, MAIN_RAM + RAM_BYTES - 56):
        test.word(RX_RINGS[0], SLOT << 32 | at)
        await test.csr.write("rx0_tail", 1)
        await test.receive(frame)
        counts["rx_short_buffer"] += 1
        for length in (60, 1514):
            test.word(TX_RING + 16 * index, length << 32 | (at if at != MAIN_RAM + RAM_BYTES - 56 else at + 6))
            index = index + 1 & MASK
            await test.csr.write("tx_tail", index)
            await clock.tick(60)
            clock.equal(f"status of a frame to send at {at:#x}", test.word(TX_RING + 16 * (index - 1 & MASK) + 8),
                        DONE | ERROR | length)
            counts["tx_bad"] += 1
    clock.equal("what left", len(test.sent), 0)
    for at in (*FAR, MAIN_RAM + RAM_BYTES - 8):     # the low bits do not count: a ring of one fits
        await test.csr.write("control", 1 << 5)
        await clock.tick(200)
        await test.csr.write("rx0_base", at)
        await test.csr.write("tx_base", at)
        await test.csr.write("rx0_tail", 1)
        await test.csr.write("tx_tail", 1)
        good = at == MAIN_RAM + RAM_BYTES - 8
        if good:
            test.word(RAM_BYTES - 16, 60 << 32 | MAIN_RAM + TX_BUFFERS)
        sent = len(test.sent)
        await test.csr.write("control", 0b11 | 1 << 5)
        await clock.tick(300)
        clock.equal(f"heads by a ring at {at:#x}", await test.csr.read("tx_head"), int(good))
        clock.equal(f"frames by a ring at {at:#x}", len(test.sent) - sent, int(good))
        await test.receive(frame)
        counts["rx_no_descriptor" if not good else "rx_short_buffer"] += 1
    await test.expect(**counts, tx_frames=1)
    changed = {8 * n for n, word in enumerate(ram) if int(dut.main_ram_storage[n].value) != word}
    rings = set(range(TX_RING, TX_RING + 16 * (MASK + 1), 8)) | {RX_RINGS[0], RAM_BYTES - 16, RAM_BYTES - 8}
    clock.check(changed <= rings, f"memory was written at {sorted(map(hex, changed - rings))[:4]}")


@in_simulator
async def masks_and_tails_are_taken_modulo_the_ring(dut):
    """Any value of them: a mask is the next power of two less one, and a tail counts modulo that."""
    clock, test = await start(dut)
    chance = random.Random(3)
    for mask in (0, 1, 2, 4, 5, 6, 9, 0x3ff, 0x200, chance.getrandbits(10)):
        ring = (1 << mask.bit_length()) - 1
        entries = min(ring, 4)
        await test.csr.write("control", 1 << 5)
        await clock.tick(100)
        await test.csr.write("tx_mask", mask)
        for n in range(4):
            test.word(TX_RING + 16 * n, 0)                # a bad length: done at once
            test.word(TX_RING + 16 * n + 8, 0)
        await clock.tick()
        await test.csr.write("tx_tail", entries | chance.getrandbits(10) & ~ring)
        await test.csr.write("control", 0b10 | 1 << 5)
        await clock.tick(200)
        clock.equal(f"descriptors done with a mask of {mask:#x}", await test.csr.read("tx_head"), entries)
        done = [test.word(TX_RING + 16 * n + 8) for n in range(4)]
        clock.equal("their status", done, [DONE | ERROR if n < entries else 0 for n in range(4)])


@in_simulator
async def a_loop_begins_and_ends_between_frames(dut):
    """`loop` is switched at every distance from frames that come and leave: none is joined to another or lost."""
    clock, test = await start(dut, speed=2)
    coming, leaving = frame_of(60, seed=1), frame_of(60, to=MAC, seed=2)
    taken = []
    for wait in range(0, 150, 2):
        for control in (0b10011, 0b00011):
            come = cocotb.start_soon(test.receive(coming, gap=0))
            await test.send(wait // 2 * 2 + (control == 0b11) & MASK, leaving, interrupt=False)
            await clock.tick(wait)
            await test.csr.write("control", control | 2 << 5)
            await come
            await clock.tick(420)
            while (found := test.take(0)):
                taken.append(found[0])
                await test.give(0, 1)
            clock.check(all(frame in (coming, leaving) for frame in taken), f"after {wait} cycles: {taken[-1].hex()}")
    counts = await test.counters()
    came, looped = taken.count(coming), taken.count(leaving)
    clock.equal("frames sent", counts.pop("tx_frames"), 150)
    clock.equal("frames that came or left", looped + len(test.sent), 150)
    clock.check(all(content == PREAMBLE + with_fcs(leaving) for _, content in test.sent), "what left")
    clock.equal("counters", counts, {"rx_frames": came + looped})
    clock.check(20 < looped < 130 and 20 < came, f"{came} came, {looped} came back")


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """While frames come and leave: any value in any register that README.md says to have no effect on them, or one that
    can be told; the frames are what they were, and memory is written nowhere else."""
    clock, test = await start(dut, speed=2)
    chance = random.Random(8)
    ram = [chance.getrandbits(64) for _ in range(RAM_BYTES // 8)]
    for n, word in enumerate(ram):
        if RX_RINGS[0] + 16 * (MASK + 1) <= 8 * n < RX_RINGS[1] or 8 * n >= TX_RING:
            dut.main_ram_storage[n].value = word
    def the_same(name, bits):
        """What `name` has in its low bits, with others above them."""
        return lambda value, _: storm.kept[name] & (1 << bits) - 1 | value >> bits << bits

    ring = MASK.bit_length()
    storm = Storm(clock, bench.WishboneBus(dut, "wide", clock), csr_registers(csrs()), seed=9, ram_bytes=RAM_BYTES,
                  whole=True, harmless={
                      "control": the_same("control", 7), "mac_first": the_same("mac_first", 16),
                      "mac_rest": the_same("mac_rest", 32), "rx0_tail": the_same("rx0_tail", ring),
                      "rx1_tail": the_same("rx1_tail", ring), "tx_tail": the_same("tx_tail", ring)})
    for name in storm.kept:
        storm.kept[name] = await test.csr.read(name)
    test.csr = storm
    wanted, written = [], set()

    async def frames():
        for number in range(60):
            length = chance.choice((60, 61, 99, 300))
            incoming, outgoing = frame_of(length, seed=number), frame_of(length, to=OTHER, seed=-number)
            come = cocotb.start_soon(test.receive(incoming, gap=0))
            await test.send(number & MASK, outgoing, offset=2 * (number & 3), interrupt=False)
            wanted.append(PREAMBLE + with_fcs(outgoing))
            await come
            await clock.tick(500 + chance.randrange(100))
            found = test.take(0)
            clock.check(found and found[0] == incoming, f"frame {number} came as {found and found[0].hex()}")
            await test.give(0, 1)

    await storm.among(frames(), least=1000)
    clock.check([content for _, content in test.sent] == wanted, "what left")
    await test.expect(rx_frames=60, tx_frames=60)
    for place, size in ((0, 16 * (MASK + 1)), (TX_RING, 16 * (MASK + 1)), (BUFFERS, (MASK + 1) * SLOT),
                        (TX_BUFFERS, (MASK + 1) * SLOT), (RX_RINGS[1], 16 * (MASK + 1))):
        written |= set(range(place, place + size, 8))
    written |= set(range(RX_RINGS[1], TX_RING, 8))      # not filled
    changed = {8 * n for n, word in enumerate(ram) if int(dut.main_ram_storage[n].value) != word} - written
    clock.check(not changed, f"memory was written at {sorted(map(hex, changed))[:4]}")


@in_simulator
async def an_interrupt_means_that_its_frame_is_there(dut):
    """A frame that comes at any distance from an acknowledgement is seen behind it, or interrupts again."""
    clock, test = await start(dut)
    frame = frame_of(60)
    for wait in range(20, 90):
        coming = cocotb.start_soon(test.receive(frame, gap=0))
        await clock.tick(wait)
        await test.csr.write("acknowledge", 1)
        found = test.take(0)
        await coming
        await clock.tick(100)
        clock.check(found or dut.irq.value == 1, f"after {wait} cycles: neither frame nor interrupt")
        found = found or test.take(0)
        clock.check(found and found[0] == frame, f"after {wait} cycles: {found}")
        await test.csr.write("acknowledge", 1)
        await test.give(0, 1)


@in_simulator
async def from_the_last_word_to_the_interrupt(dut):
    clock, test = await start(dut)
    found = {}
    for length in (60, 1514):
        await test.receive(frame_of(length), gap=0)
        last = clock.cycle
        while not dut.irq.value:
            await clock.tick()
        found[length] = clock.cycle - last
        await test.csr.write("acknowledge", 1)
    text = (REPO / "hw" / "ether" / "README.md").read_text()
    for length, cycles in found.items():
        clock.check(f"| {length:,} bytes: from a frame's last word to the cause | {cycles} |" in text,
                    f"{length} bytes take {cycles} cycles, which hw/ether/README.md does not say")


@in_simulator
async def the_cable_is_pulled(dut):
    clock, test = await start(dut)
    await test.csr.write("enable", 1 << LINK)
    clock.equal("link", await test.csr.read("status"), 1)
    dut.wire_link.value = 0
    await clock.tick(3)
    clock.equal("interrupt", dut.irq.value, 1 << QUEUES)
    await test.csr.write("acknowledge", 1 << LINK)
    clock.equal("link", await test.csr.read("status") & 1, 0)
    await test.receive(frame_of(60))
    await test.send(0, frame_of(60))
    await clock.tick(900)
    clock.equal("what left", len(test.sent), 0)
    clock.equal("cause", await test.csr.read("pending"), 1 << TX)
    dut.wire_link.value = 1
    await test.send(1, frame_of(60))
    await clock.tick(900)
    clock.equal("what left", len(test.sent), 1)
    await test.receive(frame_of(60))
    await test.expect(tx_frames=1, tx_no_link=1, rx_frames=1)


@in_simulator
async def what_is_sent_comes_back_in_a_loop(dut):
    clock, test = await start(dut, control=0b10011)
    dut.wire_link.value = 0
    for number, length in enumerate((60, 77, 1514)):
        frame = frame_of(length, seed=length)
        await test.send(number, frame)
        await clock.tick(1500)
        found = test.take(0)
        clock.check(found and found[0] == frame, f"{found}")
    clock.equal("what left", len(test.sent), 0)
    await test.expect(tx_frames=3, rx_frames=3)


@in_simulator
async def switched_off_it_begins_anew(dut):
    clock, test = await start(dut)
    await test.receive(frame_of(60))
    await test.csr.write("control", 1 << 5)
    await test.receive(frame_of(60))
    await clock.tick(100)
    clock.equal("head", await test.csr.read("rx0_head"), 0)
    clock.equal("status", await test.csr.read("status"), 1)
    test.tail, test.seen = [0] * QUEUES, [0] * QUEUES
    await test.give(0, 2)
    await test.csr.write("control", 1 | 1 << 5)
    await test.receive(frame_of(61))
    clock.equal("length", len(test.take(0)[0]), 61)
    await test.expect(rx_frames=2, rx_off=1)


@in_simulator
async def a_frame_that_meets_the_switch_is_counted_once(dut):
    """Switched off and on again at any distance from frames: each is in one counter, and what is off is in rx_off."""
    clock, test = await start(dut, buffers=0)
    good = PREAMBLE + with_fcs(frame_of(61))
    contents = [good, good[:-1] + b"\0", good[:30], PREAMBLE + b"\1", good]

    async def burst():
        for content in contents:
            await test.put(content, gap=12)

    number = 0
    for wait in range(0, 120, 3):
        await test.give(0, 1)
        coming = cocotb.start_soon(burst())
        await clock.tick(wait)
        await test.csr.write("control", 0b10 | 1 << 5)
        await coming
        await clock.tick(60)
        test.tail, test.seen = [0] * QUEUES, [0] * QUEUES
        await test.csr.write("rx0_tail", 0)
        await test.csr.write("control", 0b11 | 1 << 5)
        await test.put(PREAMBLE + b"\1", gap=12)
        number += len(contents) + 1
        found = await test.counters()
        clock.equal(f"frames counted, switched off after {wait} cycles: {found}", sum(found.values()), number)
    clock.check(set(found) == {f"rx_{name}" for name in ("frames", "no_descriptor", "crc", "runt", "off")}, f"{found}")


def test_ether():
    bench.simulate(make)
