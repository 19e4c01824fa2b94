"""The link: what every access costs against the README's table, jitter, harts in turn, delivery, totals."""

import itertools
import random
import re
from pathlib import Path

import cocotb
import pytest
from cocotb.triggers import Combine, ValueChange

from hw.common.csr import csr_registers
from hw.pic import OffChipPIC
from hw.pic.link import ACCESS_SALT, DELIVERY_SALT, MAX_LATENCY, Link
from hw.pic.model import Model, Xorshift
from hw.pic.registers import CONTEXT, REGISTERS, SOURCES
from support.cache import REPO
from tests.hw import bench
from tests.hw.pic_compare import LiveTimes, compare
from tests.hw.pic_dut import Pic, build, offset
from tests.hw.register_storm import CsrWrites, Storm

HARTS = 4
README = Path(REPO / "hw/pic/README.md")
HIGHEST = 0xffff_ffff


def make(harts):
    return build(harts)


async def start(dut, **csrs):
    return await Pic.start(dut, bench.arguments()[0], **csrs)


def stall_table():
    """{what: function of the link's times by name} from the README's table of stall cycles."""
    section = README.read_text().split("## Stall cycles")[1].split("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+?) +\| `([^`]+)` \|$", section, re.MULTILINE)
    names = dict.fromkeys(("read_latency", "write_latency", "delivery_delay", "fall_delay", "back", "jitter"), 0)

    def cycles(expression):
        return lambda **times: eval(expression, {"__builtins__": {}}, {**names, **times})

    return {what: cycles(expression) for what, expression in rows}


LOAD = stall_table()["load of a register"]
RESPONSE = stall_table()["effect to the response"]
RISE = stall_table()["effect of what gives a reason to the rise of the hart's wire"]
FALL = stall_table()["effect of what takes the reason away to the fall of the hart's wire"]


def accesses():
    """Every kind of access: (row of the table, its name, write, address, data, mask)."""
    for address, name in REGISTERS.places():
        register = REGISTERS[name.split(".")[-1].split("[")[0]]
        kind = "`CLAIM` that finds nothing" if register.name == "CLAIM" else "a register"
        yield f"load of {kind}", name, False, address, 0, 0xf
        if register.access == "ro":
            yield "store to a read-only register", name, True, address, HIGHEST, 0xf
        elif register.name != "SOURCE":  # they are many, and stores to them are all alike
            yield "store to a register", name, True, address, 0, 0xf
            yield "store of a byte or half word", name, True, address, 0, 0x1
    for address in (0x480, 0x614, 0xfffc):
        yield "load where there is no register", hex(address), False, address, 0, 0xf
        yield "store where there is no register", hex(address), True, address, HIGHEST, 0xf
    yield "store to a register", "SOURCE", True, offset("SOURCE", index=31), 0, 0xf
    yield "store of a byte or half word", "SOURCE", True, offset("SOURCE", index=31), 0, 0xc


@cocotb.test()
async def every_access_stalls_as_the_table_says(dut):
    pic = await start(dut)
    table = stall_table()
    for read_latency, write_latency, *backs in ((0, 0, 0, 0), (1, 0, 0, 0), (0, 1, 0, 1), (10, 31, 4, 31),
                                                (152, 75, 76, 37), (2, 3, MAX_LATENCY, 4)):
        await pic.csr.write("read_latency", read_latency)
        await pic.csr.write("write_latency", write_latency)
        for name, back in zip(("read_back", "write_back"), backs, strict=True):
            await pic.csr.write(name, back)
        for row, name, write, address, data, mask in accesses():
            _, stall = await pic.ports[0].access(write, address, data, mask)
            pic.clock.equal(f"stall of the {row} ({name}) at {read_latency}/{write_latency}, back {backs}", stall,
                            table[row](read_latency=read_latency, write_latency=write_latency))


@cocotb.test()
async def a_claim_that_finds_a_source_stalls_as_the_table_says(dut):
    pic = await start(dut)
    await pic.configure(20, priority=5, edge=True)
    await pic.write("UNMASK", 20)
    for read_latency in (0, 1, 30, 600):
        await pic.csr.write("read_latency", read_latency)
        await pic.pulse(20)
        value, stall = await pic.ports[0].access(False, offset("CLAIM"))
        pic.clock.equal("claimed", value, 0x514)
        pic.clock.equal("stall", stall, stall_table()["load of `CLAIM` that finds a source"](read_latency=read_latency))


@cocotb.test()
async def the_greatest_latency_stalls_as_the_table_says(dut):
    pic = await start(dut, read_latency=MAX_LATENCY, write_latency=MAX_LATENCY - 1)
    table = stall_table()
    _, stall = await pic.ports[0].access(False, offset("ID"))
    pic.clock.equal("stall", stall, table["load of a register"](read_latency=MAX_LATENCY))
    _, stall = await pic.ports[0].access(True, offset("LEVEL"), 7)
    pic.clock.equal("stall", stall, table["store to a register"](write_latency=MAX_LATENCY - 1))
    # Jitter comes on top, beyond 16 bits.
    await pic.csr.write("jitter", MAX_LATENCY)
    await pic.csr.write("seed", 3)
    await pic.clock.tick(2)
    extra = Xorshift(3, ACCESS_SALT).next(MAX_LATENCY)
    assert extra > 1
    _, stall = await pic.ports[0].access(False, offset("ID"))
    pic.clock.equal("stall", stall, table["load of a register"](read_latency=MAX_LATENCY, jitter=extra))


# Of a load and of a store: latency, and how much of it is the way back.
SPLITS = ((0, 0), (1, 0), (1, 1), (2, 1), (30, 0), (30, 1), (30, 15), (30, 29), (30, 30), (30, 31), (30, MAX_LATENCY))


@cocotb.test()
async def a_claim_sees_what_comes_before_its_way_back(dut):
    """An edge in every cycle of a claim's way: which one is the last that it sees."""
    pic = await start(dut)
    await pic.configure(20, priority=5, edge=True)
    await pic.write("UNMASK", 20)
    for latency, back in SPLITS:
        await pic.csr.write("read_latency", latency)
        await pic.csr.write("read_back", back)
        stall = LOAD(read_latency=latency)
        seen = []
        for before in range(stall + 1):     # the response
            claim = cocotb.start_soon(pic.claim())
            await pic.clock.tick(stall - before)
            await pic.pulse(20)
            if await claim is not None:
                seen.append(before)
            else:
                await pic.settle()
                pic.clock.equal("claimed by the next", await pic.claim(), 20)
            await pic.write("EOI", 20)
        last = stall_table()["last rise of a source's wire that a claim sees to its response"](back=min(back, latency))
        pic.clock.equal(f"seen at {latency}, {back} of it back", seen, list(range(last, stall + 1)))


@cocotb.test()
async def a_store_takes_effect_before_its_way_back(dut):
    """As the hart's wire shows, which rises and falls by it."""
    pic = await start(dut)
    table = stall_table()
    await pic.configure(17, priority=1, edge=True)
    await pic.write("UNMASK", 17)
    for latency, back in SPLITS:
        await pic.csr.write("write_latency", latency)
        await pic.csr.write("write_back", back)
        for delay in (0, 1, 12):
            for late, what, name in (("delivery_delay", "gives a reason to the rise", "RAISE"),
                                     ("fall_delay", "takes the reason away to the fall", "CLEAR")):
                await pic.csr.write(late, delay)
                begin = pic.clock.cycle + 1
                access = cocotb.start_soon(pic.ports[0].access(True, offset(name), 1 << 17))
                change = await cycles_to_irq(pic, int(name == "RAISE"))
                _, stall = await access
                pic.clock.equal("stall", stall, table["store to a register"](write_latency=latency))
                effect = stall - table["effect to the response"](back=min(back, latency))
                pic.clock.equal(f"{name} at {latency}, {back} of it back, {late} {delay}, from {begin}", change,
                                effect + table[f"effect of what {what} of the hart's wire"](**{late: delay}))
                await pic.settle()


@cocotb.test()
async def a_way_back_changed_on_the_way_counts_from_the_next_access(dut):
    pic = await start(dut, read_latency=50, read_back=20)
    await pic.configure(20, priority=5, edge=True)
    await pic.write("UNMASK", 20)
    for back, seen in ((45, 20), (0, None)):
        claim = cocotb.start_soon(pic.claim())
        await pic.clock.tick(5)
        await pic.csr.write("read_back", back)      # the access is under way there, and the edge in its middle
        await pic.clock.tick(12)
        await pic.pulse(20)
        pic.clock.equal("claimed", await claim, seen)
        await pic.claim()
        await pic.write("EOI", 20)


@cocotb.test()
async def a_latency_changed_on_the_way_counts_from_the_next_access(dut):
    pic = await start(dut, read_latency=50)
    access = cocotb.start_soon(pic.ports[0].access(False, offset("ID")))
    await pic.clock.tick(10)
    await pic.csr.write("read_latency", 5)
    _, stall = await access
    pic.clock.equal("stall", stall, LOAD(read_latency=50))
    _, stall = await pic.ports[0].access(False, offset("ID"))
    pic.clock.equal("stall", stall, LOAD(read_latency=5))


async def jittered(pic, seed, number, write=False):
    """Stalls of accesses one after the other, from a given seed."""
    await pic.csr.write("seed", seed)
    await pic.clock.tick(2)
    return [(await pic.ports[0].access(write, offset("LEVEL")))[1] for _ in range(number)]


@cocotb.test()
async def jitter_is_uniform_within_its_bound_and_repeats_by_seed(dut):
    pic = await start(dut, read_latency=4, write_latency=9, jitter=7)
    first = await jittered(pic, 1, 400)
    least = LOAD(read_latency=4)
    pic.clock.equal("range of loads", (min(first), max(first)), (least, least + 7))
    for value in range(least, least + 8):
        pic.clock.check(25 <= first.count(value) <= 80, f"{first.count(value)} of 400 stalls are {value}")
    stores = await jittered(pic, 1, 50, write=True)
    pic.clock.equal("stores, same seed", stores, [stall + 5 for stall in first[:50]])
    pic.clock.check(await jittered(pic, 2, 50) != first[:50], "seed 2 gives what seed 1 gave")
    numbers = Xorshift(0xdead_beef, ACCESS_SALT)
    pic.clock.equal("stalls", await jittered(pic, 0xdead_beef, 50), [least + numbers.next(7) for _ in range(50)])
    # The seed that would stop the generator.
    pic.clock.check(len(set(await jittered(pic, ACCESS_SALT, 50))) > 4, "the generator stands still")
    # Time does not matter, and neither do deliveries.
    await pic.csr.write("seed", 1)
    await pic.clock.tick(1000)
    pic.clock.equal("later", [(await pic.ports[0].access(False, offset("LEVEL")))[1] for _ in range(20)], first[:20])
    await pic.csr.write("jitter", 0)
    pic.clock.equal("without jitter", await jittered(pic, 1, 20), [least] * 20)


@cocotb.test()
async def harts_take_turns(dut):
    pic = await start(dut, read_latency=6, write_latency=2)
    served = []

    async def hart(h, write, number):
        for _ in range(number):
            _, stall = await pic.ports[h].access(write, offset("LEVEL"))
            served.append((h, stall))

    before = await pic.csr.read("stall_cycles")
    tasks = [cocotb.start_soon(hart(h, h == 3, 10)) for h in range(HARTS)]
    await Combine(*tasks)
    order = [h for h, _ in served]
    # No hart is served twice while another waits: from the first turn on, all in the same order.
    pic.clock.equal("order", order, order[:HARTS] * 10)
    pic.clock.equal("first turn", sorted(order[:HARTS]), list(range(HARTS)))
    table = stall_table()
    load, store = table["load of a register"](read_latency=6), table["store to a register"](write_latency=2)
    others = {h: 3 * load if h == 3 else 2 * load + store for h in range(HARTS)}
    for h, stall in served[HARTS:-HARTS]:
        # The others' accesses, one of each, and its own, less the one cycle before it asked again.
        pic.clock.equal(f"stall of hart {h}", stall, others[h] + (store if h == 3 else load) - 1)
    pic.clock.equal("stall_cycles", await pic.csr.read("stall_cycles") - before, sum(stall for _, stall in served))


@cocotb.test()
async def a_greedy_hart_delays_another_by_one_access(dut):
    pic = await start(dut, read_latency=10, write_latency=10)
    greedy = cocotb.start_soon(hammer(pic, 0, 40))
    for gap in (3, 1, 14, 7, 20):
        await pic.clock.tick(gap)
        _, stall = await pic.ports[2].access(False, offset("ID"))
        access = LOAD(read_latency=10)
        pic.clock.check(access <= stall <= 2 * access, f"hart 2 stalls {stall} cycles")
    await greedy


async def hammer(pic, h, number):
    for _ in range(number):
        await pic.ports[h].access(False, offset("ID"))


@cocotb.test()
async def every_order_of_asking_is_served_round_robin(dut):
    pic = await start(dut)
    for last, two in itertools.product(range(HARTS), itertools.permutations(range(HARTS), 2)):
        # One hart was served last; then two ask in the same cycle, and if it is one of them, it comes second.
        await pic.read("ID", last)
        done = []

        async def ask(h, done=done):
            await pic.read("ID", h)
            done.append(h)

        await Combine(*[cocotb.start_soon(ask(h)) for h in two])
        pic.clock.equal(f"order after {last}", done, sorted(two, key=lambda h: (h - last - 1) % HARTS))


@cocotb.test()
async def totals_count_every_access(dut):
    pic = await start(dut, read_latency=3, write_latency=8)
    stalls = 0
    for h, write, name in [(0, False, "ID"), (1, True, "LEVEL"), (1, False, "CLAIM"), (3, False, "CLAIM"),
                           (2, True, "EOI"), (2, True, "IPI"), (0, False, "PENDING")]:
        _, stall = await pic.ports[h].access(write, offset(name))
        stalls += stall
    await pic.clock.tick(2)
    pic.clock.equal("reads", await pic.csr.read("reads"), 4)
    pic.clock.equal("writes", await pic.csr.read("writes"), 3)
    pic.clock.equal("stall_cycles", await pic.csr.read("stall_cycles"), stalls)
    pic.clock.equal("spurious", await pic.csr.read("spurious"), 2)


async def cycles_to_irq(pic, up, h=0):
    """Cycles from the one that has just begun to the one in which the hart's interrupt wire has become `up`."""
    begin = pic.clock.cycle + 1
    for _ in range(3 * MAX_LATENCY):
        await pic.clock.tick()
        if (pic.irq() >> h & 1) == up:
            return pic.clock.cycle - begin
    raise AssertionError(f"cycle {pic.clock.cycle}: the wire of hart {h} does not become {up}")


@cocotb.test()
async def delivery_takes_what_the_table_says(dut):
    pic = await start(dut)
    table = stall_table()
    await pic.configure(16, priority=1)                 # level
    await pic.configure(17, priority=1, edge=True)
    await pic.write("ENABLE", 3 << 16)
    for delay in (0, 1, 2, 100, 1500):
        await pic.csr.write("delivery_delay", delay)
        dut.sources.value = 1 << 16
        pic.clock.equal("rise", await cycles_to_irq(pic, 1),
                        table["rise of a source's wire to the rise of the hart's"](delivery_delay=delay))
        dut.sources.value = 0
        pic.clock.equal("fall", await cycles_to_irq(pic, 0),
                        table["fall of a level source's wire to the fall of the hart's"]())
        dut.sources.value = 1 << 17
        pic.clock.equal("edge", await cycles_to_irq(pic, 1),
                        table["rise of a source's wire to the rise of the hart's"](delivery_delay=delay))
        dut.sources.value = 0
        await pic.write("LEVEL", 15)
        pic.clock.equal("wire in the cycle of the response", pic.irq(),
                        int(FALL() > RESPONSE()))
        await pic.write("LEVEL", 0)
        # The response's cycle is over when the access returns.
        pic.clock.equal("lowered", await cycles_to_irq(pic, 1) + 1, RISE(delivery_delay=delay) - RESPONSE())
        pic.clock.equal("claimed", await pic.claim(), 17)
        pic.clock.equal("wire in the cycle of the response", pic.irq(), 0)
        await pic.write("EOI", 17)
        await pic.write("RAISE", 1 << 17)
        pic.clock.equal("raised", await cycles_to_irq(pic, 1) + 1, RISE(delivery_delay=delay) - RESPONSE())
        await pic.write("CLEAR", 1 << 17)
        pic.clock.equal("wire in the cycle of the response", pic.irq(), 0)


@cocotb.test()
async def the_greatest_delay_delivers(dut):
    pic = await start(dut, delivery_delay=MAX_LATENCY)
    await pic.configure(16, priority=1)
    await pic.write("ENABLE", 1 << 16)
    dut.sources.value = 1 << 16
    begin = pic.clock.cycle + 1
    await ValueChange(dut.irq)
    await pic.clock.tick()
    pic.clock.equal("delivery", pic.clock.cycle - begin,
                    stall_table()["rise of a source's wire to the rise of the hart's"](delivery_delay=MAX_LATENCY))


@cocotb.test()
async def a_fall_cancels_a_delivery(dut):
    pic = await start(dut, delivery_delay=20)
    await pic.configure(16, priority=1)
    await pic.write("ENABLE", 1 << 16)
    dut.sources.value = 1 << 16
    await pic.clock.tick(15)
    dut.sources.value = 0
    await pic.clock.tick(3)
    dut.sources.value = 1 << 16
    pic.clock.equal("delivery of the second rise", await cycles_to_irq(pic, 1), 22)
    # A wire that stays up for another reason does not begin anew.
    await pic.configure(17, priority=2)
    await pic.write("ENABLE", 3 << 16)
    dut.sources.value = 3 << 16
    await pic.clock.tick(5)
    dut.sources.value = 2 << 16
    for _ in range(10):
        await pic.clock.tick()
        pic.clock.equal("irq", pic.irq(), 1)


@cocotb.test()
async def a_fall_may_be_late(dut):
    pic = await start(dut)
    table = stall_table()
    await pic.configure(16, priority=1)                 # level
    await pic.write("ENABLE", 1 << 16)
    for delay, late in itertools.product((0, 1, 30), (0, 1, 2, 174, 1500)):
        await pic.csr.write("delivery_delay", delay)
        await pic.csr.write("fall_delay", late)
        for value, what in ((1, "rise of a source's wire to the rise of the hart's"),
                            (0, "fall of a level source's wire to the fall of the hart's")):
            dut.sources.value = value << 16
            pic.clock.equal(f"{what} at {delay}, {late}", await cycles_to_irq(pic, value),
                            table[what](delivery_delay=delay, fall_delay=late))


@cocotb.test()
async def the_greatest_fall_delay_arrives(dut):
    pic = await start(dut, fall_delay=MAX_LATENCY)
    await pic.configure(16, priority=1)
    await pic.write("ENABLE", 1 << 16)
    dut.sources.value = 1 << 16
    await cycles_to_irq(pic, 1)
    dut.sources.value = 0
    begin = pic.clock.cycle + 1
    await ValueChange(dut.irq)
    await pic.clock.tick()
    pic.clock.equal("fall", pic.clock.cycle - begin,
                    stall_table()["fall of a level source's wire to the fall of the hart's"](fall_delay=MAX_LATENCY))


@cocotb.test()
async def a_mask_written_too_late_lets_a_spurious_interrupt_through(dut):
    """The wire rises after the level is raised, stays up as long as the source was unmasked; claims find
    nothing, however many there are. With a fall that is not late no interrupt comes."""
    for late, comes in ((0, False), (40, True)):
        pic = await start(dut, delivery_delay=39, fall_delay=late)
        await pic.configure(16, priority=1, edge=True)
        await pic.write("ENABLE", 1 << 16)
        await pic.pulse(16)
        await pic.clock.tick(10)
        await pic.write("LEVEL", 15)
        ups = []
        claimed = []
        for _ in range(60):
            await pic.clock.tick()
            ups.append(pic.irq())
            if pic.irq() and len(claimed) < 2:
                claimed.append(await pic.claim())
        pic.clock.equal("wire came up", any(ups), comes)
        pic.clock.equal("claimed", claimed, [None] * 2 * comes)
        pic.clock.equal("spurious", await pic.csr.read("spurious"), 2 * comes)
        pic.clock.equal("wire in the end", ups[-1], 0)
        await pic.write("LEVEL", 0)         # the masked interrupt is still pending
        await cycles_to_irq(pic, 1)
        pic.clock.equal("claimed", await pic.claim(), 16)


async def shape(pic, changes, cycles):
    """Make a level source's wire change at the given cycles; the hart's changes, cycles from the first's."""
    seen, was = [], pic.irq()
    for cycle in range(cycles):
        if cycle in changes:
            pic.dut.sources.value = int(pic.dut.sources.value) ^ 1 << 16
        await pic.clock.tick()
        if pic.irq() != was:
            seen.append(cycle)
            was = pic.irq()
    return seen


@cocotb.test()
async def two_changes_of_a_wire_are_on_their_way(dut):
    """A pulse, or a dip, comes as long as it is; what overtakes another is not seen, and of three not the last two."""
    pic = await start(dut)
    await pic.configure(16, priority=1)
    await pic.write("ENABLE", 1 << 16)
    for delay, late, changes, seen in (
        (20, 21, (0, 1), (22, 23)),                             # a pulse of a cycle
        (20, 21, (0, 5, 30, 31), (22, 27, 52, 53)),
        (20, 15, (0, 6, 30, 37), (52, 53)),   # one that the fall overtakes
        (5, 40, (0, 10, 44), (7,)),                          # a dip that the rise overtakes
        (5, 40, (0, 10, 44, 70), (7, 111)), (5, 40, (0, 10, 45, 70), (7, 51, 52, 111)),
        (50, 51, (0, 10, 20), (52,)), (50, 51, (0, 10, 20, 40), (52, 92)),  # a third one under way
        (50, 51, (0, 10, 60, 63), (52, 62, 112, 115)),
        (0, 60, (0, 10, 20, 30), (2, 91)),
    ):
        await pic.csr.write("delivery_delay", delay)
        await pic.csr.write("fall_delay", late)
        pic.clock.equal(f"changes at {delay}, {late} by {changes}",
                        await shape(pic, changes, max(changes) + delay + late + 5), list(seen))
        dut.sources.value = 0
        await pic.clock.tick(delay + late + 5)


@cocotb.test()
async def random_times_match_the_model(dut):
    """In every cycle, with times of any size, the way back longer than the latency too."""
    rng = random.Random(11)

    def time():
        return rng.choice((0, 0, 1, 2, 5, rng.randrange(30), rng.randrange(200)))

    pic = await start(dut)
    phases = [((time(), time(), time(), rng.choice((0, 0, 3, 40)), time(), time(), time()), rng.choice((.02, .1, .4)),
               rng.choice((.1, .5, 1)), rng.choice((8, 90, 300))) for _ in range(14)]
    await compare(pic, rng, Model(HARTS), phases, 400)


@cocotb.test()
async def registers_take_any_store_as_the_readme_says(dut):
    """Any value, of any bytes, in any CSR, at any time while harts make accesses and wires change: all is as the model
    has it in every cycle, with each time from the cycle on in which the CSR has it."""
    pic = await start(dut)
    link = Link(HARTS)
    registers = csr_registers(bench.csrs_of(link, OffChipPIC(link)))
    short = dict.fromkeys(("read_latency", "write_latency", "jitter", "delivery_delay", "fall_delay"),
                          lambda value, _: value & 0xffff_000f)        # or nothing happens any more
    storm = Storm(pic.clock, bench.WishboneBus(dut, "wide", pic.clock), registers, seed=12, whole=True, harmless=short,
                  often=["seed"] * len(registers))
    live = LiveTimes(storm, CsrWrites(dut, registers))
    await compare(pic, random.Random(13), Model(HARTS), [((3, 9, 4, 0, 1, 2, 5), .3, .9, 40)], 6000, live=live)
    assert min(storm.stores.values()) > 5, storm.stores


@cocotb.test()
async def deliveries_jitter_by_their_own_numbers(dut):
    pic = await start(dut, jitter=12)
    await pic.configure(16, priority=1)
    await pic.write("ENABLE", 1 << 16)
    for delay in (5, 0, 1):
        await pic.csr.write("delivery_delay", delay)
        await pic.csr.write("seed", 9)
        await pic.clock.tick(2)
        numbers = Xorshift(9, DELIVERY_SALT)
        for _ in range(30):
            dut.sources.value = 1 << 16
            pic.clock.equal("delivery", await cycles_to_irq(pic, 1), delay + numbers.next(12) + 2)
            dut.sources.value = 0
            await pic.read("ID")
            await pic.clock.tick(2)
    # A late fall draws a random number, too.
    await pic.csr.write("fall_delay", 1)
    await pic.csr.write("seed", 10)
    await pic.clock.tick(2)
    numbers = Xorshift(10, DELIVERY_SALT)
    for _ in range(30):
        for value in (1, 0):
            dut.sources.value = value << 16
            pic.clock.equal("change", await cycles_to_irq(pic, value), delay * value + numbers.next(12) + 2)
            await pic.clock.tick(15)


@cocotb.test()
async def counters_answer_without_the_link(dut):
    pic = await start(dut, read_latency=1000)
    access = cocotb.start_soon(pic.ports[0].access(False, offset("ID")))
    await pic.clock.tick(5)
    begin = pic.clock.cycle
    await pic.bus.read(0)
    pic.clock.equal("wait of the main bus", pic.clock.cycle - begin - 1,
                    stall_table()["load of a counter (main bus)"]())
    await access


def test_link():
    bench.simulate(make, HARTS)


@pytest.mark.parametrize("name", ["read_latency", "write_latency", "delivery_delay", "jitter", "read_back",
                                  "write_back", "fall_delay"])
def test_times_are_checked_and_become_reset_values(name):
    for value in (-1, MAX_LATENCY + 1):
        with pytest.raises(ValueError, match=f"PIC .* of {value} cycles is not in 0 to 65535"):
            Link(1, **{name: value})
    assert getattr(Link(1, **{name: MAX_LATENCY}), name).storage.reset.value == MAX_LATENCY


@pytest.mark.parametrize("harts", [0, 9])
def test_number_of_harts_is_checked(harts):
    with pytest.raises(ValueError, match=f"PIC for {harts} harts cannot be built: 1 to 8"):
        Link(harts)


def test_every_row_of_the_stall_table_is_measured():
    used = {row for row, *_ in accesses()} | set(re.findall(r'table(?:\(\))?\["([^"]+)"\]', Path(__file__).read_text()))
    assert set(stall_table()) == used
    assert {name.split(".")[-1].split("[")[0] for _, name, *_ in accesses()} >= {r.name for r in REGISTERS.registers}
    assert len([name for row, name, *_ in accesses() if row.startswith("load") and "SOURCE[" in name]) == SOURCES
    assert all(any(name == f"CONTEXT[7].{register}" for _, name, *_ in accesses()) for register in CONTEXT)
