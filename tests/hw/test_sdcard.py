"""An SD card as the controller's drive (hw/disk/sdcard.py), at the card's pins: waking cards of both kinds, blocks both
ways, their errors, lines that are disturbed, open or held low from any moment on, and the gap that LiteSDCard needs
after an answer.

SDCARD_TRIALS: how many disturbances are tried, 24 by default; SDCARD_SEED: other ones."""

import os
import random
import zlib

import cocotb
import pytest
from cocotb.triggers import RisingEdge
from litex.gen import LiteXModule
from migen import Record, Signal

from hw.common.csr import csr_registers
from hw.disk.card import ANSWER_KINDS, FAULTS, GAP_CLOCKS, Patience, crc
from hw.disk.medium import ANSWERS, OPERATIONS, SECTOR_BYTES, SECTOR_WORDS, STATUSES, Medium
from hw.disk.sdcard import SDCardDrive
from soc.boards.sd_card import HIGH_CAPACITY, OCR, PADS, RELATIVE, SDCard
from soc.boards.sdcard import SimulatedPads, registered
from tests.hw import bench
from tests.hw.register_storm import Storm

CLOCK_HZ = 10_000_000
PATIENCE = Patience(answer=2e-4, data=1e-3, busy=1e-3)
SECTORS = 2048          # a card counts its own in units of 512 KiB
DIVIDER = 4
FAULT_INPUTS = ("absent", "garbles", "mute", "refuses", "stays_busy", "spoils", "complains", "twists", "late", "old")
LINES = 0x1f            # in FORCED: the command line, and the four of data
FORCED = ("flipped", "held_high", "held_low")

TRIALS = int(os.environ.get("SDCARD_TRIALS", 24))

# Simulated time: a test that hangs fails.
in_simulator = cocotb.test(timeout_time=max(3, TRIALS // 8), timeout_unit="ms")


class Disturbance(LiteXModule):
    """The lines between the host's pads and the card's, a bit for the command line and for each of data: `flipped`
    inverts a line, `held_high` is an open contact, `held_low` a card without supply."""
    def __init__(self, card):
        self.pads = pads = Record(PADS)
        self.flipped, self.held_high, self.held_low = Signal(5), Signal(5), Signal(5)

        # # #

        flipped, high, low = self.flipped, self.held_high, self.held_low
        for host, of_card, bits in ((pads.cmd_o, card.cmd_o, slice(0, 1)), (pads.dat_o, card.dat_o, slice(1, 5))):
            self.comb += host.eq((of_card ^ flipped[bits]) & ~low[bits])
        for host, of_card, bits in ((pads.cmd_t, card.cmd_t, slice(0, 1)), (pads.dat_t, card.dat_t, slice(1, 5))):
            self.comb += host.eq((of_card | high[bits]) & ~low[bits])
        for host, of_card, bits in ((pads.cmd_i, card.cmd_i, slice(0, 1)), (pads.dat_i, card.dat_i, slice(1, 5))):
            self.comb += of_card.eq((host ^ flipped[bits]) | high[bits])
        self.comb += card.clk.eq(pads.clk)


def make(gap):
    top = LiteXModule()
    top.card = card = SDCard()
    top.wires = wires = Disturbance(card.pads)
    top.medium = medium = Medium()
    top.drive = drive = SDCardDrive(medium, wires.pads, CLOCK_HZ, registered(SimulatedPads), PATIENCE, gap)
    top.csrs = csrs = bench.CsrBank(drive, bridged=True)
    store = card.store
    return top, {"csr": csrs.bus, "wide": csrs.wishbone,
                 "command": medium.command, "data_out": medium.data_out, "answer": medium.answer,
                 "data_in": medium.data_in, "drive_reset": medium.reset, "sectors": medium.sectors,
                 "store_command": store.command, "store_data_out": store.data_out, "store_answer": store.answer,
                 "store_data_in": store.data_in, "store_sectors": store.sectors, "lost": card.lost,
                 **{name: getattr(card, name) for name in FAULT_INPUTS},
                 **{name: getattr(wires, name) for name in FORCED}}


class Bytes(bytes):
    """With a text that is short enough for a message."""
    def __repr__(self):
        return f"{len(self)} bytes of CRC-32 {zlib.crc32(self):#x}"


class Store:
    """Where the card has its sectors."""

    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock
        self.content = bytearray(random.Random(5).randbytes(SECTORS * SECTOR_BYTES))
        self.delay = 20
        self.commands = []
        cocotb.start_soon(self.serve())

    async def say(self, kind, length):
        self.dut.store_answer_payload_kind.value = ANSWERS[kind]
        self.dut.store_answer_payload_status.value = STATUSES["OK"]
        self.dut.store_answer_payload_length.value = length
        self.dut.store_answer_valid.value = 1
        await self.clock.tick()
        while not self.dut.store_answer_ready.value:
            await self.clock.tick()
        self.dut.store_answer_valid.value = 0

    async def serve(self):
        dut = self.dut
        while True:
            if not dut.store_command_valid.value:
                await RisingEdge(dut.store_command_valid)
                await self.clock.tick()
            op, sector = int(dut.store_command_payload_op.value), int(dut.store_command_payload_lba.value)
            self.commands.append((op, sector))
            at = sector * SECTOR_BYTES
            await self.clock.tick(self.delay)
            if op == OPERATIONS["READ"]:
                await self.say("SEND", SECTOR_WORDS)
                for n in range(SECTOR_WORDS):
                    word = self.content[at + 8 * n:at + 8 * n + 8]
                    dut.store_data_in_payload_data.value = int.from_bytes(word, "little")
                    dut.store_data_in_valid.value = 1
                    await self.clock.tick()
                dut.store_data_in_valid.value = 0
            else:
                await self.say("TAKE", SECTOR_WORDS)
                words = b""
                while len(words) < SECTOR_BYTES:
                    await self.clock.tick()
                    if dut.store_data_out_valid.value:
                        words += int(dut.store_data_out_payload_data.value).to_bytes(8, "little")
                self.content[at:at + SECTOR_BYTES] = words
            await self.say("DONE", 1)


class Controller:
    """The controller's side of the drive."""

    def __init__(self, dut, clock):
        self.dut, self.clock = dut, clock

    async def tell(self, op, sector, count, tag=3, burst=0):
        dut = self.dut
        dut.command_payload_op.value = OPERATIONS.get(op, op)
        dut.command_payload_tag.value = tag
        dut.command_payload_lba.value = sector
        dut.command_payload_count.value = count
        dut.command_payload_burst.value = burst
        dut.command_valid.value = 1
        await self.clock.tick()
        while not dut.command_ready.value:
            await self.clock.tick()
        dut.command_valid.value = 0

    async def answered(self, tag=3, data=b"", patience=60_000):
        """Status and sectors of the end of request `tag`, what came, and the lengths of the pieces."""
        dut, came, pieces, first = self.dut, b"", [], self.clock.cycle
        dut.answer_ready.value = dut.data_in_ready.value = 1
        while True:
            await self.clock.tick()
            self.clock.check(self.clock.cycle - first < patience, f"tag {tag} has not ended")
            if dut.data_in_valid.value:
                came += int(dut.data_in_payload_data.value).to_bytes(8, "little")
            if not dut.answer_valid.value:
                continue
            self.clock.equal("tag", dut.answer_payload_tag, tag)
            kind, length = int(dut.answer_payload_kind.value), int(dut.answer_payload_length.value)
            if kind == ANSWERS["DONE"]:
                dut.answer_ready.value = dut.data_in_ready.value = 0
                return int(dut.answer_payload_status.value), length, Bytes(came), pieces
            pieces.append(length // SECTOR_WORDS)
            if kind == ANSWERS["TAKE"]:
                dut.answer_ready.value = 0
                for n in range(length):
                    dut.data_out_payload_data.value = int.from_bytes(data[8 * n:8 * n + 8], "little")
                    dut.data_out_valid.value = 1
                    await self.clock.tick()
                    while not dut.data_out_ready.value:
                        await self.clock.tick()
                data = data[8 * length:]
                dut.data_out_valid.value = 0
                dut.answer_ready.value = 1

    async def request(self, op, sector, count, tag=3, burst=0, data=b""):
        await self.tell(op, sector, count, tag, burst)
        return await self.answered(tag, data)


DRIVE = SDCardDrive(Medium(), Record([("clk", 1)]), CLOCK_HZ, lambda *_: LiteXModule())
CSRS = {register.name: register for register in csr_registers(bench.csrs_of(DRIVE))}


def failed(fault, count):
    """The value of `faults` after so many failures, of which this is the last."""
    return CSRS["faults"].pack(last=FAULTS[fault], count=count)


class Software:
    """Wakes the card, as a boot ROM does."""

    def __init__(self, dut, clock):
        self.clock = clock
        self.csrs = bench.CsrBus(dut, clock, bench.csr_layout(DRIVE))

    async def command(self, index, argument=0, kind="SHORT", checked=True, wake=False):
        """The fault, and the 32 bits of a short answer."""
        await self.csrs.write("argument", argument)
        await self.csrs.write("command", CSRS["command"].pack(
            index=index, kind=ANSWER_KINDS[kind], checked=int(checked), wake=int(wake)))
        while (status := CSRS["status"].unpack(await self.csrs.read("status")))["busy"]:
            await self.clock.tick(20)
        return status["fault"], await self.csrs.read("response")

    async def must(self, *arguments, **named):
        fault, response = await self.command(*arguments, **named)
        self.clock.equal(f"fault of {arguments}", fault, FAULTS["NONE"])
        return response

    async def wake(self, old=False):
        await self.csrs.write("divider", DIVIDER)
        await self.must(0, kind="NONE", wake=True)
        await self.must(0, kind="NONE")
        if old:
            self.clock.equal("fault", (await self.command(8, 0x1aa))[0], FAULTS["NO_ANSWER"])
        else:
            self.clock.equal("answer to the conditions", (await self.must(8, 0x1aa)) & 0xffffffff, 0x1aa)
        for _ in range(3):
            await self.must(55)
            conditions = (await self.must(41, OCR & 0x7fffffff, checked=False)) & 0xffffffff
            if conditions >> 31:
                break
        self.clock.equal("conditions", conditions, OCR ^ HIGH_CAPACITY if old else OCR)
        await self.must(2, kind="LONG")
        relative = (await self.must(3)) & 0xffff0000
        self.clock.equal("address", relative, RELATIVE << 16)
        register = await self.must(9, relative, kind="LONG")
        if register >> 126:
            sectors = ((register >> 48 & 0x3fffff) + 1) << 10
        else:
            sectors = ((register >> 62 & 0xfff) + 1) << (register >> 47 & 7) + 2 + (register >> 80 & 15) - 9
        self.clock.equal("sectors", sectors, SECTORS)
        await self.must(7, relative, kind="BUSY")
        await self.must(55, relative)
        await self.must(6, 2)
        await self.csrs.write("card", CSRS["card"].pack(relative=relative >> 16, blocks=int(not old)))
        await self.csrs.write("sectors", sectors)


async def begin(dut):
    clock = await bench.start(dut, store_sectors=SECTORS, command_valid=0, data_out_valid=0, answer_ready=0,
                              drive_reset=0, data_in_ready=0, store_command_ready=1, store_data_out_ready=1,
                              store_answer_valid=0, store_data_in_valid=0, **dict.fromkeys(FAULT_INPUTS + FORCED, 0))
    return clock, Store(dut, clock), Controller(dut, clock), Software(dut, clock)


def of(store, sector, count):
    return Bytes(store.content[sector * SECTOR_BYTES:(sector + count) * SECTOR_BYTES])


@in_simulator
async def blocks_go_both_ways(dut):
    clock, store, controller, software = await begin(dut)
    clock.equal("a drive that is not awake", await controller.request("READ", 0, 1), (STATUSES["RANGE"], 0, b"", []))
    await software.wake()
    before = bytes(store.content)
    for sector, count, burst, pieces in ((0, 1, 0, [1]), (2045, 3, 0, [1, 1, 1]), (7, 5, 3, [3, 2])):
        clock.equal(f"{count} from {sector}", await controller.request("READ", sector, count, burst=burst),
                    (STATUSES["OK"], count, of(store, sector, count), pieces))
    seed = random.Random(7)
    for sector, count, burst, pieces in ((2047, 1, 0, [1]), (100, 3, 0, [1, 1, 1]), (20, 3, 2, [2, 1])):
        data = seed.randbytes(count * SECTOR_BYTES)
        expected = bytearray(store.content)
        expected[sector * SECTOR_BYTES:(sector + count) * SECTOR_BYTES] = data
        clock.equal(f"{count} to {sector}", await controller.request("WRITE", sector, count, burst=burst, data=data),
                    (STATUSES["OK"], count, b"", pieces))
        clock.check(store.content == expected, f"write to {sector} left something else")
        clock.equal(f"{count} from {sector}", (await controller.request("READ", sector, count))[2], data)
    clock.check(before != store.content, "nothing was written")
    for op, sector, count, ended in (
            ("READ", 2047, 2, ("RANGE", 0)), ("WRITE", 2**32 - 1, 65535, ("RANGE", 0)), ("READ", 5, 0, ("OK", 0)),
            ("FLUSH", 0, 0, ("OK", 0)), ("DISCARD", 4, 3, ("OK", 3)), ("SEEK", 2047, 0, ("OK", 0)),
            ("SEEK", 2048, 0, ("RANGE", 0)), (6, 0, 1, ("OPERATION", 0))):
        clock.equal(f"{op} {sector} {count}", await controller.request(op, sector, count, tag=16),
                    (STATUSES[ended[0]], ended[1], b"", []))
    clock.equal("commands that were lost", dut.lost, 0)


@in_simulator
async def more_requests_than_there_are_tags_wait(dut):
    """A flush among them is over behind what was written before it."""
    clock, store, controller, software = await begin(dut)
    await software.wake()
    data = random.Random(3).randbytes(SECTOR_BYTES)

    async def tell():
        for n in range(20):
            await controller.tell("READ", 3 * n, 1, n % 17)
        await controller.tell("WRITE", 500, 1, 3)
        await controller.tell("FLUSH", 0, 0, 4)
    telling = cocotb.start_soon(tell())
    await clock.tick(100)
    clock.check(not dut.command_ready.value and not telling.done(), "all of them are taken")
    for n in range(20):
        clock.equal(f"request {n}", await controller.answered(n % 17),
                    (STATUSES["OK"], 1, of(store, 3 * n, 1), [1]))
    clock.equal("write", await controller.answered(3, data), (STATUSES["OK"], 1, b"", [1]))
    clock.equal("what is there", of(store, 500, 1), data)
    clock.equal("flush", await controller.answered(4), (STATUSES["OK"], 0, b"", []))


@in_simulator
async def errors_are_told_and_the_next_request_is_served(dut):
    clock, store, controller, software = await begin(dut)
    await software.wake()
    failures = 0
    data = bytes(2 * SECTOR_BYTES)
    for name, op, count, fault in (
            ("garbles", "READ", 2, "DATA_CRC"), ("garbles", "READ", 1, "DATA_CRC"), ("mute", "READ", 2, "NO_DATA"),
            ("mute", "READ", 1, "NO_DATA"), ("refuses", "WRITE", 2, "NOT_WRITTEN"),
            ("refuses", "WRITE", 1, "NOT_WRITTEN"), ("stays_busy", "WRITE", 2, "BUSY"),
            ("twists", "READ", 2, "ANSWER"), ("twists", "READ", 1, "ANSWER"), ("twists", "WRITE", 2, "ANSWER"),
            ("complains", "READ", 1, "CARD"), ("complains", "WRITE", 2, "CARD"),
            ("late", "READ", 2, "NO_ANSWER"), ("late", "WRITE", 1, "NO_ANSWER"),
            ("absent", "READ", 2, "NO_ANSWER"), ("absent", "WRITE", 2, "NO_ANSWER")):
        getattr(dut, name).value = 1
        status, moved, came, _ = await controller.request(op, 8, count, data=data)
        clock.equal(f"{name}: status, moved, data", (status, moved, came), (STATUSES["MEDIUM"], 0, b""))
        getattr(dut, name).value = 0
        failures += 1
        clock.equal(f"{name}: fault", await software.csrs.read("faults"), failed(fault, failures))
        clock.equal(f"behind {name}", await controller.request("READ", 8, 2),
                    (STATUSES["OK"], 2, of(store, 8, 2), [1, 1]))
    # In the middle: the completion counts what was moved before.
    await controller.tell("READ", 30, 3)
    while len(store.commands) < 2 or store.commands[-1] != (OPERATIONS["READ"], 31):
        await clock.tick()
    dut.mute.value = 1
    clock.equal("the second block does not come", await controller.answered(),
                (STATUSES["MEDIUM"], 1, of(store, 30, 1), [1]))


@in_simulator
async def an_old_card_counts_in_bytes(dut):
    clock, store, controller, software = await begin(dut)
    dut.old.value = 1
    await software.wake(old=True)
    for sector, count in ((0, 1), (2045, 3)):
        clock.equal(f"{count} from {sector}", await controller.request("READ", sector, count),
                    (STATUSES["OK"], count, of(store, sector, count), [1] * count))
    data = random.Random(13).randbytes(SECTOR_BYTES)
    clock.equal("write", (await controller.request("WRITE", 1027, 1, data=data))[:2], (STATUSES["OK"], 1))
    clock.equal("what is there", of(store, 1027, 1), data)


@in_simulator
async def what_the_card_finds_behind_the_end_is_this_requests_error(dut):
    clock, store, controller, software = await begin(dut)
    await software.wake()
    for count in (1, 2):
        dut.spoils.value = 1
        clock.equal(f"{count} written", await controller.request("WRITE", 8, count, data=bytes(count * SECTOR_BYTES)),
                    (STATUSES["MEDIUM"], count, b"", [1] * count))
        dut.spoils.value = 0
        clock.equal("fault", await software.csrs.read("faults"), failed("CARD", count))
        clock.equal("the next request", (await controller.request("READ", 8, 1))[:2], (STATUSES["OK"], 1))


@in_simulator
async def lines_that_are_low_are_no_block_of_zeroes(dut):
    """A block of zeroes has a CRC of zeroes."""
    clock, store, controller, software = await begin(dut)
    await software.wake()
    for count in (1, 2):
        dut.held_low.value = LINES & ~1
        clock.equal("lines held low", await controller.request("READ", 8, count), (STATUSES["MEDIUM"], 0, b"", []))
        clock.equal("fault", await software.csrs.read("faults") & 7, FAULTS["NO_DATA"])
        dut.held_low.value = 0
        clock.equal("behind it", await controller.request("READ", 8, 2),
                    (STATUSES["OK"], 2, of(store, 8, 2), [1, 1]))
    await controller.tell("READ", 30, 3)
    while len(store.commands) < 2 or store.commands[-1] != (OPERATIONS["READ"], 31):
        await clock.tick()
    dut.held_low.value = LINES
    clock.equal("no supply behind the first block", await controller.answered(),
                (STATUSES["MEDIUM"], 1, of(store, 30, 1), [1]))


@in_simulator
async def disturbed_lines_end_a_request_with_an_error_or_without_harm(dut):
    """At any moment a line is flipped for a bit, or lines are open or low for good: a request ends, and what it says is
    true; when the lines are well, the request after the next at the latest is served."""
    clock, store, controller, software = await begin(dut)
    await software.wake()
    seed = random.Random(int(os.environ.get("SDCARD_SEED", 17)))
    told = {"OK": 0, "MEDIUM": 0}
    for trial in range(TRIALS):
        op, count = seed.choice(("READ", "WRITE")), seed.randrange(1, 4)
        how, lines = seed.choice(FORCED), seed.choice((1, 2, LINES & ~1, LINES, 1 << seed.randrange(5)))
        data, before = seed.randbytes(count * SECTOR_BYTES), of(store, 64, count)
        at, bits = seed.randrange(1, 5_000 * count), seed.randrange(1, 3)
        what = f"trial {trial}: {op} of {count}, lines {lines:#x} {how} at {at}"

        async def disturb(how=how, lines=lines, at=at, bits=bits):
            await clock.tick(at)
            getattr(dut, how).value = lines
            if how == "flipped":
                await clock.tick(DIVIDER * bits)
                getattr(dut, how).value = 0
        task = cocotb.start_soon(disturb())
        await controller.tell(op, 64, count)
        status, moved, came, _ = await controller.answered(data=data, patience=80_000)
        task.cancel()
        for name in FORCED:
            getattr(dut, name).value = 0
        clock.check(status in (STATUSES["OK"], STATUSES["MEDIUM"]), f"{what}: status {status}")
        told["OK" if status == STATUSES["OK"] else "MEDIUM"] += 1
        expected = data if op == "WRITE" else before
        if status == STATUSES["OK"]:
            clock.equal(f"{what}: moved", moved, count)
            clock.equal(f"{what}: what is there", of(store, 64, count), expected)
        clock.equal(f"{what}: what came", came, before[:moved * SECTOR_BYTES] if op == "READ" else b"")
        clock.equal(f"{what}: what was moved", of(store, 64, moved), expected[:moved * SECTOR_BYTES])
        await controller.request("READ", 100, 2)
        clock.equal(f"behind {what}", await controller.request("READ", 100, 2),
                    (STATUSES["OK"], 2, of(store, 100, 2), [1, 1]))
    clock.check(told["OK"] and told["MEDIUM"], f"what was told: {told}")


@in_simulator
async def a_reset_forgets_what_is_under_way(dut):
    clock, store, controller, software = await begin(dut)
    await software.wake()
    seed = random.Random(11)
    for op in ("READ", "WRITE"):
        for _ in range(6):
            await controller.tell(op, 4, 2)
            dut.answer_ready.value = dut.data_in_ready.value = dut.data_out_valid.value = 1
            await clock.tick(seed.randrange(10, 9000))
            dut.answer_ready.value = dut.data_in_ready.value = dut.data_out_valid.value = 0
            dut.drive_reset.value = 1
            await clock.tick()
            dut.drive_reset.value = 0
            await clock.tick(3)
            for _ in range(200):
                clock.check(not dut.answer_valid.value and not dut.data_in_valid.value, "it goes on speaking")
                await clock.tick()
            clock.equal("the next request", await controller.request("READ", 60, 2, tag=1),
                        (STATUSES["OK"], 2, of(store, 60, 2), [1, 1]))


@in_simulator
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, at any time: requests do what they say, and each of software's commands among them
    reaches the card as it was written, whatever is stored behind it."""
    clock, store, controller, software = await begin(dut)
    await software.wake()
    chance = random.Random(23)
    command = CSRS["command"]
    awake = {"card": CSRS["card"].pack(relative=RELATIVE, blocks=1), "sectors": SECTORS}
    asked = 0
    over = []

    def as_it_is(name):
        return lambda value, whole: awake[name] | value & ~CSRS[name].mask if whole else value

    storm = Storm(clock, bench.WishboneBus(dut, "wide", clock), CSRS.values(), seed=24, whole=True,
                  harmless={**{name: as_it_is(name) for name in awake},
                            "divider": lambda value, _: value & ~0x1f8,     # or a block takes too long
                            "command": lambda value, whole: None if whole else value})
    storm.kept |= {**awake, "divider": DIVIDER}

    async def requests():
        for _ in range(24):
            op, sector, count = chance.choice(("READ", "WRITE")), chance.randrange(64), chance.randrange(1, 3)
            before, data = of(store, sector, count), Bytes(chance.randbytes(count * SECTOR_BYTES))
            status, moved, came, _ = await controller.request(op, sector, count, data=data)
            faults = CSRS["faults"].unpack(await storm.read("faults"))
            clock.equal(f"{op} of {count} from {sector}, faults {faults}", (status, moved), (STATUSES["OK"], count))
            clock.equal("what is there", of(store, sector, count), data if op == "WRITE" else before)
            clock.equal("what came", came, b"" if op == "WRITE" else before)
        over.append(True)

    async def commands():
        """The card answers CMD13 only to its own address."""
        nonlocal asked
        while not over:
            right = chance.random() < .5
            async with storm.lock:
                await storm.store("argument", RELATIVE << 16 if right else RELATIVE + 1 << 16)
                await storm.store("command", command.pack(index=13, kind=ANSWER_KINDS["SHORT"], checked=1))
                for _ in range(chance.randrange(4)):        # ignored: it is under way for hundreds of cycles
                    await storm.store(chance.choice(("argument", "command")), chance.getrandbits(32))
                while (status := CSRS["status"].unpack(await storm.load("status")))["busy"]:
                    await storm.store("argument", chance.getrandbits(32))
                    await clock.tick(chance.randrange(200))
            clock.equal("fault", status["fault"], FAULTS["NONE" if right else "NO_ANSWER"])
            asked += 1
            await clock.tick(chance.randrange(1500))

    await storm.among(requests(), commands(), least=200)
    clock.check(asked > 20, f"only {asked} commands of software's")
    clock.equal("commands that were lost", dut.lost, 0)


@in_simulator
async def a_command_behind_an_answer_is_lost(dut):
    clock, store, _, software = await begin(dut)
    try:
        await software.wake()
    except AssertionError:
        clock.check(int(dut.lost.value) != 0, "the card has lost no command")
        return
    clock.check(False, "all commands came though there was no gap")


WITH_GAP = ("blocks_go_both_ways", "more_requests_than_there_are_tags_wait",
            "errors_are_told_and_the_next_request_is_served", "an_old_card_counts_in_bytes",
            "what_the_card_finds_behind_the_end_is_this_requests_error", "lines_that_are_low_are_no_block_of_zeroes",
            "disturbed_lines_end_a_request_with_an_error_or_without_harm", "a_reset_forgets_what_is_under_way",
            "registers_take_any_store_as_the_readme_says")


@pytest.mark.parametrize("what", WITH_GAP)
def test_sd_card(what):
    bench.simulate(make, GAP_CLOCKS, tests=[what])


def test_without_the_gap_litesdcard_spoils_commands():
    bench.simulate(make, 0, tests=["a_command_behind_an_answer_is_lost"])


def test_the_checks_are_those_of_the_specification():
    """SD specification, part 1, 4.5: its examples."""
    def of(data, width, polynomial):
        bits = [byte >> n & 1 for byte in data for n in range(7, -1, -1)]
        return sum(bit << n for n, bit in enumerate(crc([0] * width, bits, polynomial)))

    assert [of(bytes.fromhex(text), 7, 0x09) for text in ("4000000000", "5100000000", "1100000900")] == [
        0b1001010, 0b0101010, 0b0110011]
    assert of(b"\xff" * 512, 16, 0x1021) == 0x7fa1
