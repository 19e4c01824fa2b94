"""The disk controller (hw/disk) on Verilator, at the cluster's device port: registers, both ways of moving data against
a model of the drive, faults."""

import random
import re
from pathlib import Path

import cocotb
from cocotb.triggers import Lock
from litex.gen import LiteXModule

from hw.cpu.core import InterlockCluster
from hw.cpu.generate import ClusterParameters
from hw.disk.core import DiskController
from hw.disk.medium import ANSWERS, OPERATIONS, SECTOR_BYTES, SECTOR_WORDS, STATUSES, TAGS
from hw.disk.registers import CLUSTER_SECTORS, REGISTERS
from hw.ram.core import MainRAM
from support.cache import REPO
from support.parameters import drive
from tests.hw import bench
from tests.hw.register_storm import Storm

RAM_BYTES = 1 << 16
RAM_BASE = 0x4000_0000
SECTORS = 64
LONG = 32       # of a long transfer
SQ, CQ, LISTS, BUFFERS = 0, 0x800, 0x1000, 0x4000     # in RAM, bytes
STATUS = REGISTERS["STATUS"]
RESET = REGISTERS["CONTROL"]["RESET"].mask

in_simulator = cocotb.test(timeout_time=300, timeout_unit="us")  # simulated time: a test that hangs fails


class Platform:
    """Takes the name of the cluster's Verilog."""
    def __init__(self, files):
        self.files = files

    def add_source(self, path):
        self.files[Path(path).name] = Path(path).read_text()


class Cluster(InterlockCluster):
    parameters = ClusterParameters()


def make():
    top = LiteXModule()
    top.other_verilog = {}
    top.cpu = cpu = Cluster(Platform(top.other_verilog))
    top.ram = ram = MainRAM(RAM_BYTES, modes=("read", "both"))
    top.comb += [cpu.ibus.connect(ram.ports[0]), cpu.dbus.connect(ram.ports[1])]
    top.disk = disk = DiskController(cpu.device_ports[0], RAM_BYTES)
    medium = disk.medium
    return top, {"bus": disk.bus, "irq": disk.irq, "command": medium.command, "data_out": medium.data_out,
                 "answer": medium.answer, "data_in": medium.data_in, "drive_reset": medium.reset,
                 "sectors": medium.sectors}


class Drive:
    """The far end: a medium of `SECTORS` sectors, which works on commands in an order of its own, in pieces.
    `slow` is how often it pauses. `silent` holds numbers of commands that it never answers, `bad` sectors it
    cannot read."""

    def __init__(self, dut, clock, seed, slow=0.2):
        self.dut, self.clock, self.random, self.slow = dut, clock, random.Random(seed), slow
        self.content = bytearray(self.random.randbytes(SECTORS * SECTOR_BYTES))
        self.waiting, self.seen, self.taken = [], [], []
        self.silent, self.bad = set(), set()
        self.held = False          # starts nothing
        self.whole = False         # moves a request's data at once
        dut.answer_valid.value = dut.data_in_valid.value = 0
        dut.command_ready.value = dut.data_out_ready.value = 1
        dut.sectors.value = SECTORS
        cocotb.start_soon(self.watch())
        self.work = cocotb.start_soon(self.serve())

    async def watch(self):
        while True:
            await self.clock.tick()
            if self.dut.command_valid.value:
                command = tuple(int(getattr(self.dut, f"command_payload_{name}").value)
                                for name in ("op", "tag", "lba", "count", "burst"))
                if len(self.seen) not in self.silent:
                    self.waiting.append(command)
                self.seen.append(command)
            if self.dut.data_out_valid.value:
                self.taken.append(int(self.dut.data_out_payload_data.value))
            if self.dut.drive_reset.value:
                self.work.cancel()
                self.dut.answer_valid.value = self.dut.data_in_valid.value = 0
                self.waiting.clear()
                self.taken.clear()
                self.work = cocotb.start_soon(self.serve())

    async def give(self, stream, **fields):
        for name, value in fields.items():
            getattr(self.dut, f"{stream}_payload_{name}").value = value
        valid, ready = getattr(self.dut, stream + "_valid"), getattr(self.dut, stream + "_ready")
        valid.value = 1
        await self.clock.tick()
        while not ready.value:
            await self.clock.tick()
        valid.value = 0
        if self.random.random() < self.slow:
            await self.clock.tick(self.random.randrange(1, 30))

    async def answer(self, kind, tag, status="OK", length=0):
        await self.give("answer", kind=ANSWERS[kind], tag=tag, status=STATUSES[status], length=length)

    async def serve(self):
        active = []                # [command, sectors done]
        while True:
            await self.clock.tick()
            while self.waiting and not self.held:
                active.append([self.waiting.pop(0), 0])
            if not active:
                continue
            each = self.random.choice(active)
            (op, tag, lba, count, burst), done = each
            end = None
            if op not in OPERATIONS.values():
                end = "OPERATION"
            elif op not in (OPERATIONS["READ"], OPERATIONS["WRITE"]):
                end = "OK"
            elif lba + count > SECTORS:
                end = "RANGE"
            elif done == count:
                end = "OK"
            if end is None:
                piece = min(burst or (count if self.whole else self.random.randrange(1, 9)), count - done)
                at = lba + done
                if op == OPERATIONS["READ"]:
                    good = next((n for n in range(piece) if at + n in self.bad), piece)
                    if good < piece and not burst or not good:
                        end = "MEDIUM"
                    else:
                        await self.send(tag, at, good)
                        each[1] += good
                else:
                    await self.take(tag, at, piece)
                    each[1] += piece
            if end is not None:
                active.remove(each)
                await self.answer("DONE", tag, end, each[1])

    async def send(self, tag, at, sectors):
        await self.answer("SEND", tag, length=sectors * SECTOR_WORDS)
        for word in words(self.content[at * SECTOR_BYTES:(at + sectors) * SECTOR_BYTES]):
            await self.give("data_in", data=word)

    async def take(self, tag, at, sectors):
        self.taken.clear()
        await self.answer("TAKE", tag, length=sectors * SECTOR_WORDS)
        while len(self.taken) < sectors * SECTOR_WORDS:
            await self.clock.tick()
        data = b"".join(word.to_bytes(8, "little") for word in self.taken)
        self.content[at * SECTOR_BYTES:at * SECTOR_BYTES + len(data)] = data


def words(data):
    return [int.from_bytes(data[i:i + 8], "little") for i in range(0, len(data), 8)]


class Disk:
    """Software's side."""
    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock
        self.bus = bench.WishboneBus(dut, "bus", clock)
        self.lock = Lock()       # held for more than one access in a row
        self.tail = self.head = 0

    async def read(self, name):
        async with self.lock:
            return await self.bus.read(REGISTERS[name].offset)

    async def write(self, name, value):
        async with self.lock:
            await self.bus.write(REGISTERS[name].offset, value)

    async def expect(self, **values):
        for name, expected in values.items():
            self.clock.equal(name, await self.read(name), expected)

    def poke(self, at, data):
        for n, word in enumerate(words(data)):
            self.dut.main_ram_storage[at // 8 + n].value = word

    def peek(self, at, length):
        return b"".join(int(self.dut.main_ram_storage[at // 8 + n].value).to_bytes(8, "little")
                        for n in range(length // 8))

    async def rings(self, log2=3):
        self.log2 = log2
        self.poke(SQ, bytes(32 << log2))
        self.poke(CQ, bytes(8 << log2))
        await self.write("SQ_BASE", RAM_BASE + SQ)
        await self.write("CQ_BASE", RAM_BASE + CQ)
        await self.write("ENTRIES", log2)
        await self.write("CONTROL", REGISTERS["CONTROL"]["RING"].mask)
        self.tail = self.head = 0

    async def request(self, op, tag, lba, count, segments, list_at=LISTS, address=None, entries=None, raw=False):
        """Enter a request; `segments`: (place in RAM or address, bytes) of each, or with `raw` the address always.
        `address` and `entries` are those of its list, if they are not where the segments are entered."""
        listed = b"".join((at if raw or at >= RAM_BYTES else RAM_BASE + at).to_bytes(4, "little")
                          + size.to_bytes(4, "little") for at, size in segments)
        self.poke(list_at, listed)
        address, entries = address or RAM_BASE + list_at, entries or len(segments)
        entry = [OPERATIONS.get(op, op) | tag << 16 | count << 32, lba, address | entries << 32, 0]
        self.poke(SQ + 32 * (self.tail % (1 << self.log2)), b"".join(word.to_bytes(8, "little") for word in entry))
        await self.clock.tick()
        self.tail += 1
        await self.write("SQ_TAIL", self.tail & 0xffff)

    def completion(self):
        """The next completion in memory: (tag, status, sectors), or None."""
        entry, = words(self.peek(CQ + 8 * (self.head % (1 << self.log2)), 8))
        if entry >> 31 & 1 == self.head >> self.log2 & 1:
            return None
        self.head += 1
        return entry & 0xffff, entry >> 16 & 0xff, entry >> 32 & 0xffff

    async def completed(self):
        """Wait for the interrupt; the next completion, which is acknowledged."""
        while not self.dut.irq.value:
            await self.clock.tick()
        found = self.completion()
        self.clock.check(found is not None, "an interrupt, but no completion in memory")
        await self.write("CQ_HEAD", self.head & 0xffff)
        await self.clock.tick()
        return found

    async def until(self, bit):
        while not (status := await self.read("STATUS")) & STATUS[bit].mask:
            pass
        return status


async def start(dut, seed=1, slow=0.2):
    clock = await bench.start(dut)
    drive = Drive(dut, clock, seed, slow)
    disk = Disk(dut, clock)
    await clock.tick(50)     # the caches are emptied
    return clock, drive, disk


@in_simulator
async def registers_reset(dut):
    clock, _, disk = await start(dut)
    for register in REGISTERS.registers:
        if register.access != "wo":
            expected = SECTORS if register.name == "SECTORS" else register.reset
            clock.equal(register.name, await disk.read(register.name), expected)
    clock.equal("irq", dut.irq.value, 0)


@in_simulator
async def what_is_built_is_there_and_no_more(dut):
    """Tags and sectors of a cluster, to the last one of each."""
    clock, drive, disk = await start(dut)
    built = REGISTERS["BUILT"].unpack(await disk.read("BUILT"))
    clock.equal("BUILT", built, {"TAGS": TAGS, "CLUSTER": CLUSTER_SECTORS})
    for sectors, kept in ((built["CLUSTER"], built["CLUSTER"]), (built["CLUSTER"] + 1, built["CLUSTER"]), (1, 1),
                          (0, 1)):
        await disk.write("CLUSTER", sectors)
        await disk.expect(CLUSTER=kept)
    await disk.rings()
    for tag, status in ((built["TAGS"] - 1, "OK"), (built["TAGS"], "TAG"), (0xffff, "TAG"), (0, "OK")):
        await disk.request("READ", tag, 1, 1, [(BUFFERS, 512)])
        clock.equal("completion", (await disk.completed())[:2], (tag, STATUSES[status]))


@in_simulator
async def registers_hold_their_bits(dut):
    clock, drive, disk = await start(dut)
    drive.held = True
    limits = {"CLUSTER": (1, 16), "DATA_CYCLES": (2, 255), "ENTRIES": (0, 8)}
    starts = {"SQ_TAIL", "CQ_HEAD", "DATA", "CONTROL"}
    chosen = {}
    chance = random.Random(7)
    for register in REGISTERS.registers:
        if register.access == "rw" and register.name not in starts:
            low, high = limits.get(register.name, (0, register.mask))
            for value in (low, high, chance.randint(low, high)):
                kept = value & ~7 if register.name.endswith("BASE") else value
                await disk.write(register.name, value | (~register.mask & 0xffff_ffff))
                clock.equal(register.name, await disk.read(register.name), kept)
                chosen[register.name] = kept
    await disk.expect(**chosen)      # none answers for another
    for name, value in (("CLUSTER", 0), ("CLUSTER", 17), ("CLUSTER", 31), ("ENTRIES", 9), ("ENTRIES", 15)):
        await disk.write(name, value)
        clock.equal(f"{name} behind {value}", await disk.read(name), chosen[name])
    await disk.write("DATA_CYCLES", 1)
    await disk.expect(DATA_CYCLES=2)
    await disk.write("CONTROL", 0xe)
    await disk.expect(CONTROL=0xe)
    for register in REGISTERS.registers:
        if register.access == "ro":
            before = await disk.read(register.name)
            await disk.write(register.name, ~before & 0xffff_ffff)
            clock.equal(register.name, await disk.read(register.name), before)
    for offset in set(range(0, 0x60, 4)) - {register.offset for register in REGISTERS.registers}:
        clock.equal(f"offset {offset:#x}", await disk.bus.read(offset), 0)


@in_simulator
async def access_cycles(dut):
    """The README's table."""
    clock, _, disk = await start(dut)
    readme = (REPO / "hw/disk/README.md").read_text()
    table = re.findall(r"^\| (read|write) \| (.*?) \| (\d+) \|$", readme, re.MULTILINE)
    named = {"read": set(), "write": set()}
    for kind, names, cycles in table:
        for name in re.findall(r"`(\w+)`", names):
            named[kind].add(name)
            begin = clock.cycle
            await (disk.read(name) if kind == "read" else disk.write(name, REGISTERS[name].reset))
            clock.equal(f"cycles of a {kind} of {name}", clock.cycle - begin, int(cycles))
    for kind, other in (("read", "wo"), ("write", "ro")):
        expected = {register.name for register in REGISTERS.registers if register.access != other}
        clock.check(named[kind] == expected, f"{kind}: the README has {named[kind] ^ expected} wrong")
    for cycles in (2, 3, 4, 17, 255):
        await disk.write("DATA_CYCLES", cycles)
        for access in (disk.read("DATA"), disk.write("DATA", 1)):
            begin = clock.cycle
            await access
            clock.equal("cycles of DATA", clock.cycle - begin, cycles)
        begin = clock.cycle
        await disk.read("STATUS")
        clock.equal("cycles of STATUS", clock.cycle - begin, 2)


@in_simulator
async def programmed_io_reads_and_writes(dut):
    clock, drive, disk = await start(dut)
    chance = random.Random(3)
    await disk.write("CONTROL", REGISTERS["CONTROL"]["DATA"].mask | REGISTERS["CONTROL"]["DONE"].mask)
    for lba, count, cluster in ((0, 1, 16), (3, 5, 2), (10, 4, 4), (20, 1, 1), (62, 2, 16), (7, 0, 16)):
        await disk.write("LBA", lba)
        await disk.write("COUNT", count)
        await disk.write("CLUSTER", cluster)
        where = slice(lba * SECTOR_BYTES, (lba + count) * SECTOR_BYTES)
        data = chance.randbytes(count * SECTOR_BYTES)
        for op in ("READ", "WRITE"):
            before, moved, interrupts, done = bytes(drive.content[where]), b"", 0, 0
            await disk.write("COMMAND", OPERATIONS[op])
            status = await disk.read("STATUS")
            clock.equal("BUSY", status & 1, 1)
            first = op == "WRITE" and count > 0
            left = count
            while left:
                piece = min(cluster, left)
                if first:      # there is room from the beginning, and no interrupt
                    await disk.until("DRQ")
                    clock.equal("DATA of the first cluster", status & STATUS["DATA"].mask, 0)
                else:
                    while not dut.irq.value:
                        await clock.tick()
                    interrupts += 1
                    status = await disk.read("STATUS")
                    clock.check(status & STATUS["DATA"].mask and status & STATUS["DRQ"].mask,
                                f"an interrupt, but the status is {status:#x}")
                    done |= status & STATUS["DONE"].mask
                first = False
                for _ in range(piece * SECTOR_BYTES // 2):
                    if op == "READ":
                        moved += (await disk.read("DATA")).to_bytes(2, "little")
                    else:
                        await disk.write("DATA", int.from_bytes(data[len(moved):len(moved) + 2], "little"))
                        moved += b".."
                left -= piece
                status = await disk.read("STATUS") | done
                done = status & STATUS["DONE"].mask
            if not status & STATUS["DONE"].mask:
                while not dut.irq.value:
                    await clock.tick()
                status = await disk.read("STATUS")
            clock.equal("status at the end", status & ~STATUS["CODE"].mask, STATUS["DONE"].mask)
            clock.equal("CODE", STATUS["CODE"].get(status), STATUSES["OK"])
            await disk.expect(MOVED=count, STATUS=0)
            clusters = -(-count // cluster)
            clock.equal("interrupts for data", interrupts, clusters - (op == "WRITE" and clusters > 0))
            clock.equal("irq behind it", dut.irq.value, 0)
            if op == "READ":
                clock.check(moved == before, f"{count} sectors from {lba} are not what was read")
            else:
                clock.check(drive.content[where] == data, f"{count} sectors at {lba} are not what was written")


@in_simulator
async def programmed_io_tells_errors(dut):
    clock, drive, disk = await start(dut)
    drive.bad = {9}
    for op, lba, count, code, moved in (("READ", 60, 5, "RANGE", 0), ("WRITE", 63, 2, "RANGE", 0),
                                        ("SEEK", 5, 0, "OK", 0), ("FLUSH", 0, 0, "OK", 0), (6, 0, 1, "OPERATION", 0),
                                        (8, 0, 1, "OPERATION", 0), (0x81, 0, 1, "OPERATION", 0),
                                        (5, 0, 1, "OPERATION", 0),
                                        ("READ", 8, 4, "MEDIUM", 1)):
        await disk.write("LBA", lba)
        await disk.write("COUNT", count)
        await disk.write("CLUSTER", 1)
        await disk.write("COMMAND", OPERATIONS.get(op, op))
        status = await disk.until("DRQ" if code == "MEDIUM" else "DONE")
        if code == "MEDIUM":
            for _ in range(SECTOR_BYTES // 2):
                await disk.read("DATA")
        if not status & STATUS["DONE"].mask:
            status = await disk.until("DONE")
        clock.equal(f"CODE of {op}", STATUS["CODE"].get(status), STATUSES[code])
        await disk.expect(MOVED=moved, STATUS=STATUSES[code] << 8)
    # DATA without data.
    await disk.write("DATA", 0xffff)
    clock.equal("DATA", await disk.read("DATA"), 0)


@in_simulator
async def random_requests_match_a_model(dut):
    """Eight at once, in pieces of memory that lie anywhere, over several laps of the rings."""
    clock, drive, disk = await start(dut, seed=5)
    chance = random.Random(11)
    await disk.rings(log2=3)
    free_tags, under_way, orders, entered = list(range(TAGS)), {}, [], 0
    buffer_bytes = 6 * SECTOR_BYTES
    while entered < 60 or under_way:
        if entered < 60 and len(under_way) < 8 and chance.random() < 0.7:
            # Sectors, and places, that no request under way has.
            taken = {lba for _, lba, count, *_ in under_way.values() for lba in range(lba, lba + count)}
            count = chance.randint(1, 6)
            lba = chance.randrange(SECTORS - count + 1)
            if not taken & set(range(lba, lba + count)):
                tag = free_tags.pop(chance.randrange(len(free_tags)))
                op = chance.choice(("READ", "WRITE"))
                at = BUFFERS + tag % 16 * buffer_bytes if tag < 15 else BUFFERS + 15 * buffer_bytes - 8
                at = min(at, RAM_BYTES - buffer_bytes)
                data = chance.randbytes(count * SECTOR_BYTES)
                disk.poke(at, data)
                cuts = {8 * chance.randrange(len(data) // 8) for _ in range(chance.randint(0, 4))}
                cuts = sorted({0, len(data), *cuts})
                pieces = [(at + a, b - a) for a, b in zip(cuts, cuts[1:], strict=False)]
                under_way[tag] = (op, lba, count, at, data)
                await disk.request(op, tag, lba, count, pieces, LISTS + 64 * tag)
                orders.append(tag)
                entered += 1
        elif under_way and (dut.irq.value or len(under_way) == 8 or entered == 60):
            tag, status, moved = await disk.completed()
            clock.check(tag in under_way, f"tag {tag} is answered, which is not under way")
            op, lba, count, at, data = under_way.pop(tag)
            clock.equal("status", status, STATUSES["OK"])
            clock.equal("sectors", moved, count)
            where = slice(lba * SECTOR_BYTES, (lba + count) * SECTOR_BYTES)
            if op == "READ":
                clock.check(disk.peek(at, len(data)) == drive.content[where], "memory has not what was read")
            else:
                clock.check(drive.content[where] == data, "the medium has not what was written")
            free_tags.append(tag)
        else:
            await clock.tick(chance.randrange(1, 50))
    await disk.expect(REFUSED=0, STRAY=0, SQ_HEAD=60, CQ_TAIL=60)
    clock.equal("irq", dut.irq.value, 0)
    clock.check([tag for _, tag, *_ in drive.seen] == orders, "the drive was not told in order")


@in_simulator
async def a_request_that_memory_cannot_take_ends_with_an_error(dut):
    clock, drive, disk = await start(dut)
    await disk.rings()
    old = disk.peek(RAM_BYTES - 512, 512)
    for segments in ([(BUFFERS, 512)], [], [(BUFFERS, 512), (RAM_BASE + RAM_BYTES - 8, 512)], [(0x2000_0000, 1024)],
                     [(0xffff_fff8, 0xffff_fff8)]):
        for op in ("READ", "WRITE"):
            await disk.request(op, 4, 2, 2, segments)
            clock.equal("completion", await disk.completed(), (4, STATUSES["MEMORY"], 2))
    clock.check(disk.peek(RAM_BYTES - 512, 504) == old[:504], "memory behind the end was written")
    await disk.request("READ", 4, 2, 2, [(BUFFERS, 0), (BUFFERS + 0x400, 1024), (BUFFERS, 8)])
    clock.equal("completion behind them", await disk.completed(), (4, STATUSES["OK"], 2))
    clock.check(disk.peek(BUFFERS + 0x400, 1024) == drive.content[1024:2048], "what was read")


@in_simulator
async def errors_and_wrong_tags_are_told(dut):
    clock, drive, disk = await start(dut)
    await disk.rings()
    drive.bad = {40}
    for op, lba, count, status in (("READ", 40, 1, "MEDIUM"), ("READ", 64, 1, "RANGE"), (7, 0, 1, "OPERATION"),
                                   (8, 0, 1, "OPERATION"), (0x81, 0, 1, "OPERATION"), (0xff, 0, 1, "OPERATION"),
                                   ("FLUSH", 0, 0, "OK"), ("DISCARD", 3, 4, "OK"), ("READ", 0, 0, "OK")):
        await disk.request(op, 15, lba, count, [(BUFFERS, 4096)])
        clock.equal(f"completion of {op}", await disk.completed(), (15, STATUSES[status], 0))
    drive.held = True
    await disk.request("READ", 3, 0, 1, [(BUFFERS, 512)])
    for tag in (3, 16, 0x8003):
        await disk.request("READ", tag, 0, 1, [(BUFFERS, 512)])
        clock.equal("completion", await disk.completed(), (tag, STATUSES["TAG"], 0))
    await disk.expect(REFUSED=3)
    drive.held = False
    clock.equal("completion of the one under way", await disk.completed(), (3, STATUSES["OK"], 1))
    # An answer of the drive to no request.
    await drive.answer("SEND", 7, length=4)
    for _ in range(4):
        await drive.give("data_in", data=5)
    await drive.answer("DONE", 7)
    await clock.tick(50)
    await disk.expect(STRAY=2, CQ_TAIL=disk.head)
    await disk.request("READ", 7, 0, 1, [(BUFFERS, 512)])
    clock.equal("completion behind it", await disk.completed(), (7, STATUSES["OK"], 1))
    clock.check(disk.peek(BUFFERS, 512) == drive.content[:512], "what was read")


@in_simulator
async def a_full_ring_of_completions_waits(dut):
    """16 requests end while there is room for two: the others wait, in order, programmed I/O goes on, and no request is
    fetched; the counters that software writes take just what they can."""
    clock, drive, disk = await start(dut)
    await disk.rings(log2=1)
    drive.held = True
    for tag in range(TAGS):
        await disk.request("READ", tag, tag, 1, [(BUFFERS + 512 * tag, 512)], LISTS + 64 * tag)
        while await disk.read("SQ_HEAD") != tag + 1:
            pass
    drive.held = False
    await clock.tick(6000)
    await disk.expect(CQ_TAIL=2, SQ_HEAD=TAGS)
    await disk.write("COUNT", 1)
    await disk.write("LBA", 9)
    await disk.write("COMMAND", OPERATIONS["READ"])
    await disk.until("DRQ")
    data = [await disk.read("DATA") for _ in range(SECTOR_BYTES // 2)]
    clock.check(b"".join(half.to_bytes(2, "little") for half in data) == drive.content[9 * 512:10 * 512],
                "programmed I/O beside a full ring")
    await disk.until("DONE")
    # Two more fit, and only two; none is fetched, and none removed.
    for more, kept in ((3, 0), (-1, 0), (0x8000, 0), (2, 2), (3, 2), (1, 2), (0, 2), (2, 2)):
        await disk.write("SQ_TAIL", TAGS + more & 0xffff)
        clock.equal(f"SQ_TAIL behind {more} more", await disk.read("SQ_TAIL"), TAGS + kept)
    # The head can take only completions that are there.
    for taken in (3, 4, 0xffff, 0x8000):
        await disk.write("CQ_HEAD", taken)
        await disk.expect(CQ_HEAD=0)
    disk.tail = TAGS + 2
    for n, tag in enumerate((16, 17)):      # of which one is refused, and one in use
        entry = OPERATIONS["FLUSH"] | tag << 16
        disk.poke(SQ + 32 * n, b"".join(word.to_bytes(8, "little") for word in (entry, 0, 0, 0)))
    found = []
    while len(found) < TAGS + 2:
        found.append(await disk.completed())
        await disk.expect(CQ_HEAD=len(found))
    told = [tag for _, tag, *_ in drive.seen if tag < TAGS]
    clock.equal("completions", sorted(found),
                sorted([(tag, 0, 1) for tag in told] + [(tag, STATUSES["TAG"], 0) for tag in (16, 17)]))
    for tag in range(TAGS):
        clock.check(disk.peek(BUFFERS + 512 * tag, 512) == drive.content[512 * tag:512 * (tag + 1)], f"sector {tag}")
    await clock.tick(50)
    await disk.expect(CQ_TAIL=TAGS + 2, SQ_HEAD=TAGS + 2)
    for head, kept in ((TAGS + 3, TAGS + 2), (TAGS + 1, TAGS + 2), (0, TAGS + 2)):
        await disk.write("CQ_HEAD", head)
        await disk.expect(CQ_HEAD=kept)


@in_simulator
async def addresses_outside_of_main_ram_are_refused(dut):
    """Lists, segments and rings up to its last word, beyond it, and where a narrower address would be in it again."""
    clock, drive, disk = await start(dut)
    filling = random.Random(2).randbytes(RAM_BYTES)
    disk.poke(0, filling)
    await disk.rings()
    end = RAM_BASE + RAM_BYTES
    far = [RAM_BASE - 8, end, end + BUFFERS, RAM_BASE | 0x2000_0000, RAM_BASE | 0x8000_0000, BUFFERS, 0xffff_fff8]
    for at in far:
        for segments in ([(at, 512)], [(at, 8), (RAM_BASE + BUFFERS, 512)], [(RAM_BASE + BUFFERS, 504), (at, 8)]):
            await disk.request("READ", 1, 3, 1, segments, raw=True)
            clock.equal(f"completion at {at:#x}", await disk.completed(), (1, STATUSES["MEMORY"], 1))
    # A list: wholly in RAM to the last word, or not.
    for list_at, entries, status in ((RAM_BYTES - 8, 1, "OK"), (RAM_BYTES - 16, 2, "OK"), (RAM_BYTES - 8, 2, "MEMORY"),
                                     *((at - RAM_BASE, 1, "MEMORY") for at in far)):
        pieces = [(BUFFERS, 512)] if entries == 1 else [(BUFFERS, 256), (BUFFERS + 256, 256)]
        words_of = b"".join((RAM_BASE + at).to_bytes(4, "little") + size.to_bytes(4, "little") for at, size in pieces)
        for n in range(0, len(words_of), 8):
            if 0 <= list_at + n < RAM_BYTES:
                disk.poke(list_at + n, words_of[n:n + 8])
        disk.poke(BUFFERS, bytes(512))
        for op in ("READ", "WRITE"):
            await disk.request(op, 1, 3, 1, [], address=RAM_BASE + list_at & 0xffff_ffff, entries=entries)
            clock.equal(f"{op} by a list at {list_at:#x}", await disk.completed(), (1, STATUSES[status], 1))
            if op == "READ" and status == "OK":
                clock.check(disk.peek(BUFFERS, 512) == drive.content[1536:2048], "what was read")
            drive.content[1536:2048] = random.Random(len(drive.seen)).randbytes(512)
    # Segments: up to the last word, the low bits do not count, and an empty one may be anywhere.
    for segments, status in (([(RAM_BYTES - 512, 512)], "OK"), ([(RAM_BYTES - 504, 512)], "MEMORY"),
                             ([(end - 508, 512)], "OK"), ([(end - 505, 512)], "OK"), ([(end - 504, 512)], "MEMORY"),
                             ([(end - 512 + 7, 519)], "OK"), ([(0, 0), (BUFFERS, 512)], "OK"),
                             ([(0x1234_5678, 7), (BUFFERS, 512), (0, 0)], "OK"), ([(BUFFERS, 0xffff_fff8)], "MEMORY")):
        entries = [(at if at >= RAM_BASE or size < 8 else RAM_BASE + at, size) for at, size in segments]
        await disk.request("READ", 2, 5, 1, entries, raw=True)
        clock.equal(f"completion of {segments}", await disk.completed(), (2, STATUSES[status], 1))
    for at, value in ((0x3000, filling), (0x8000, filling)):
        clock.check(disk.peek(at, 0x1000) == value[at:at + 0x1000], f"memory at {at:#x} was written")
    # Rings: none is used that is not wholly in RAM.
    for log2, base, good in ((3, RAM_BYTES - 256, True), (3, RAM_BYTES - 248, False), (8, RAM_BYTES - 8192, True),
                             (8, RAM_BYTES - 8184, False), (0, RAM_BYTES - 32, True), (0, RAM_BYTES - 24, False),
                             *((3, at - RAM_BASE, False) for at in far)):
        for name, other in (("SQ_BASE", "CQ_BASE"), ("CQ_BASE", "SQ_BASE")):
            await disk.write("CONTROL", RESET)
            while await disk.read("CONTROL") & RESET:
                pass
            least = base if name == "SQ_BASE" or not good else RAM_BYTES - (8 << log2)
            if name == "CQ_BASE" and base in (RAM_BYTES - 248, RAM_BYTES - 8184, RAM_BYTES - 24):
                least = RAM_BYTES - (8 << log2) + 8
            await disk.write(name, RAM_BASE + least & 0xffff_ffff)
            await disk.write(other, RAM_BASE)
            await disk.write("ENTRIES", log2)
            told = len(drive.seen)
            disk.poke(0, bytes(8))
            disk.poke(least if 0 <= least < RAM_BYTES else 0, bytes(8))
            await disk.write("SQ_TAIL", 1)
            await disk.expect(SQ_TAIL=int(good))
            await clock.tick(300)
            clock.equal(f"requests by {name} {least:#x} of {1 << log2}", len(drive.seen) - told, int(good))
            # A running ring stays where it is.
            for register in ("SQ_BASE", "CQ_BASE", "ENTRIES"):
                before = await disk.read(register)
                await disk.write(register, before ^ 8 if register != "ENTRIES" else before - 1 if before else 1)
                changed = await disk.read(register) != before
                clock.equal(f"{register} can be changed", changed, not good)


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """Both ways of moving data are at work, each on its half of the drive, while software stores what it likes."""
    clock, drive, disk = await start(dut, seed=6)
    chance = random.Random(21)
    filling = random.Random(4).randbytes(RAM_BYTES)
    disk.poke(0, filling)
    await disk.rings(log2=2)
    running = busy = False      # the rings stay where they are; a command is under way for certain

    def stays(least, change):
        """What a ring's register keeps of a value."""
        return lambda value, _: None if running or value > least else change(value)

    def ignored(name, *steps):
        """A number that the counter refuses."""
        return lambda value, _: value & ~0xffff | storm.kept[name] + chance.choice(steps) & 0xffff

    storm = Storm(
        clock, disk.bus, REGISTERS.registers, seed=22, ram_bytes=RAM_BYTES, unread=("DATA",),
        keeps={
            "CONTROL": lambda value, _: value & ~RESET,
            "CLUSTER": lambda value, _: value if 1 <= value <= 16 else None,
            "DATA_CYCLES": lambda value, _: max(value, 2),
            "SQ_BASE": stays(0xffff_ffff, lambda value: value & ~7),
            "CQ_BASE": stays(0xffff_ffff, lambda value: value & ~7),
            "ENTRIES": stays(8, lambda value: value),
            "SQ_TAIL": lambda value, kept: value if value - kept & 0xffff <= 4 else None,
            "CQ_HEAD": lambda value, kept: value if value - kept & 0xffff <= 1 else None},
        harmless={
            "CONTROL": lambda value, _: value & ~RESET,        # a reset has tests of its own
            "DATA_CYCLES": lambda value, _: value & 0xffff_ff07,
            "SQ_TAIL": ignored("SQ_TAIL", -1, -2, -0x8000, 9, 0x7fff, 5),
            "CQ_HEAD": ignored("CQ_HEAD", -1, -5, 40, 0x7fff, -0x8000),
            "DATA": lambda value, whole: None if whole else value,
            "COMMAND": lambda value, whole: None if whole and not busy else value})
    storm.kept |= {"SQ_BASE": RAM_BASE + SQ, "CQ_BASE": RAM_BASE + CQ, "ENTRIES": 2, "CONTROL": 2}
    async def rings():
        nonlocal running
        for n in range(40):
            op, count = chance.choice(("READ", "WRITE")), chance.randint(1, 4)
            lba, tag = 32 + chance.randrange(32 - count), n % TAGS
            data = chance.randbytes(512 * count)
            disk.poke(BUFFERS, data)
            disk.poke(LISTS, (RAM_BASE + BUFFERS).to_bytes(4, "little") + len(data).to_bytes(4, "little"))
            entry = (OPERATIONS[op] | tag << 16 | count << 32, lba, RAM_BASE + LISTS | 1 << 32, 0)
            disk.poke(SQ + 32 * (n % 4), b"".join(word.to_bytes(8, "little") for word in entry))
            await clock.tick()
            async with storm.lock:
                running = True
                await storm.store("SQ_TAIL", n + 1)
            while not (found := disk.completion()):
                await clock.tick()
            clock.equal("completion", found, (tag, STATUSES["OK"], count))
            async with storm.lock:
                while await storm.load("CQ_TAIL") != n + 1:
                    pass
                await storm.store("CQ_HEAD", n + 1)
            there = drive.content[512 * lba:512 * (lba + count)]
            clock.check((disk.peek(BUFFERS, len(data)) if op == "READ" else data) == there, f"request {n}: {op}")

    async def pio():
        nonlocal busy
        for n in range(10):
            op, count, cluster = chance.choice(("READ", "WRITE")), chance.randint(1, 4), chance.randint(1, 4)
            lba = chance.randrange(32 - count)
            data = chance.randbytes(512 * count)
            before = drive.content[512 * lba:512 * (lba + count)]
            async with storm.lock:
                for name, value in (("LBA", lba), ("COUNT", count), ("CLUSTER", cluster), ("COMMAND", OPERATIONS[op])):
                    await storm.store(name, value)
                busy = op == "WRITE"
            moved = b""
            while len(moved) < len(data):
                async with storm.lock:
                    status = await storm.load("STATUS")
                if not status & STATUS["DRQ"].mask:
                    continue
                for _ in range(min(cluster, (len(data) - len(moved)) // 512) * 256):
                    async with storm.lock:
                        if op == "READ":
                            moved += (await storm.load("DATA")).to_bytes(2, "little")
                        else:
                            half = data[len(moved):len(moved) + 2]
                            busy = len(moved) + 2 < len(data)
                            await storm.store("DATA", int.from_bytes(half, "little"))
                            moved += half
            while status & STATUS["BUSY"].mask:
                async with storm.lock:
                    status = await storm.load("STATUS")
            clock.equal("CODE", STATUS["CODE"].get(status), STATUSES["OK"])
            async with storm.lock:
                clock.equal("MOVED", await storm.load("MOVED"), count)
            there = drive.content[512 * lba:512 * (lba + count)]
            clock.check(there == (data if op == "WRITE" else before), f"command {n}: {op} at {lba}: the medium")
            clock.check(op == "WRITE" or moved == before, f"command {n}: what was read")

    outside = bytes(drive.content)
    await storm.among(rings(), pio(), least=300)
    clock.check(len(outside) == len(drive.content), "the medium")
    for at, to in ((0x80, CQ), (CQ + 0x20, LISTS), (LISTS + 8, BUFFERS), (BUFFERS + 2048, RAM_BYTES)):
        clock.check(disk.peek(at, to - at) == filling[at:to], f"memory from {at:#x} to {to:#x} was written")
    sent = [(op, tag) for op, tag, *_ in drive.seen]
    clock.equal("commands of programmed I/O", sum(tag == TAGS for _, tag in sent), 10)
    clock.equal("requests", sum(tag < TAGS for _, tag in sent), 40)


@in_simulator
async def a_reset_forgets_what_is_under_way(dut):
    """At each of many moments of transfers both ways; afterwards all works, and nothing of before is answered."""
    clock, drive, disk = await start(dut, slow=0.02)
    chance = random.Random(9)
    for n in range(40):
        await disk.rings()
        for tag in range(3):
            await disk.request(("READ", "WRITE")[tag & 1], tag, 8 * tag, 6, [(BUFFERS + 4096 * tag, 3072)],
                               LISTS + 64 * tag)
        if n % 4 == 3:
            await disk.write("COUNT", 4)
            await disk.write("LBA", 40)
            await disk.write("COMMAND", OPERATIONS["READ"])
        await clock.tick(chance.randrange(1, 2500))
        await disk.write("CONTROL", RESET)
        drive.content[8 * SECTOR_BYTES:14 * SECTOR_BYTES] = bytes(6 * SECTOR_BYTES)
        waited = 0
        while await disk.read("CONTROL") & RESET:
            waited += 1
            clock.check(waited < 100, "the reset does not end")
        await disk.expect(SQ_HEAD=0, SQ_TAIL=0, CQ_HEAD=0, CQ_TAIL=0, STATUS=0)
        await disk.rings()
        data = chance.randbytes(1024)
        disk.poke(BUFFERS, data)
        await disk.request("WRITE", 1, 30, 2, [(BUFFERS, 1024)])
        clock.equal("completion", await disk.completed(), (1, STATUSES["OK"], 2))
        await disk.request("READ", 2, 29, 3, [(BUFFERS, 1536)])
        clock.equal("completion", await disk.completed(), (2, STATUSES["OK"], 3))
        clock.check(disk.peek(BUFFERS + 512, 1024) == data, "what was read behind a reset")
        clock.equal("irq", dut.irq.value, 0)
        await disk.write("CONTROL", RESET)
        while await disk.read("CONTROL") & RESET:
            pass
    await disk.expect(STRAY=0)


@in_simulator
async def a_command_that_is_never_answered_ends_with_a_reset(dut):
    clock, drive, disk = await start(dut)
    await disk.rings()
    drive.silent = {0, 1}
    await disk.request("READ", 0, 0, 1, [(BUFFERS, 512)])
    await disk.write("COUNT", 1)
    await disk.write("COMMAND", OPERATIONS["READ"])
    await clock.tick(500)
    clock.equal("irq", dut.irq.value, 0)
    await disk.write("CONTROL", RESET)
    while await disk.read("CONTROL") & RESET:
        pass
    await disk.rings()
    await disk.request("READ", 0, 1, 1, [(BUFFERS, 512)])
    clock.equal("completion", await disk.completed(), (0, STATUSES["OK"], 1))
    clock.check(disk.peek(BUFFERS, 512) == drive.content[512:1024], "what was read")


@in_simulator
async def long_transfers_take_what_the_readme_says(dut):
    """From the doorbell to the interrupt, with a drive that is always ready: whole, and in pages."""
    clock, drive, disk = await start(dut, slow=0)
    await disk.rings()
    count = LONG
    text = (REPO / "hw/disk/README.md").read_text()
    table = re.findall(r"^\| (to|from) memory \| (\d+) \| (\d+) \|$", text, re.MULTILINE)
    clock.equal("rows of the README's table", len(table), 4)
    found = []
    for way, size, _ in table:
        pieces = [(BUFFERS + at, int(size)) for at in range(0, count * SECTOR_BYTES, int(size))]
        drive.whole = True
        await disk.request("READ" if way == "to" else "WRITE", 1, 0, count, pieces)
        begin = clock.cycle
        clock.equal("completion", await disk.completed(), (1, STATUSES["OK"], count))
        found.append(clock.cycle - begin)
    clock.equal("the table's cycles", found, [int(cycles) for *_, cycles in table])


def test_disk():
    bench.simulate(make)


def test_the_readme_has_the_profiles():
    assert drive.table() in (REPO / "hw/disk/README.md").read_text()
