"""The PIC's registers and its handling of sources, one property at a time."""

import cocotb
import pytest
from cocotb.triggers import Combine

from hw.pic.model import Counts
from hw.pic.registers import CONTEXT, COUNTERS, IPI_SOURCE, MAX_HARTS, REGISTERS, SOURCES, VERSION, source_reset
from tests.hw import bench, pins_dut
from tests.hw.pic_dut import Pic, build, offset
from tests.hw.pins_dut import PinPic

HIGHEST = 0xffff_ffff
READ_WRITE = ("LEVEL", "ENABLE", "SOURCE")
PATTERNS = (0, HIGHEST, 0x5555_5555, 0xaaaa_aaaa, 0x0123_4567, 0xfedc_ba98)


def make(harts, pins=False):
    return pins_dut.build(harts) if pins else build(harts)


def harts():
    return bench.arguments()[0]


async def start(dut, **csrs):
    return await (PinPic if len(bench.arguments()) > 1 else Pic).start(dut, harts(), **csrs)


# Registers ------------------------------------------------------------------------------------------------------------

def register_at(name):
    """(register, context by number or None, index) of a name that REGISTERS.places() gives."""
    block, _, last = name.rpartition(".")
    register, _, index = last.partition("[")
    return (REGISTERS[register], int(block.partition("[")[2][:-1]) if block else None,
            int(index[:-1]) if index else 0)


def reset_value(name):
    """What a load from a place returns after reset, in this build."""
    register, context, index = register_at(name)
    if context is not None and context >= harts() or register.access == "wo":
        return 0
    if register.name == "SOURCE":
        return source_reset(index)
    if register.name == "ID":
        return register.pack(SOURCES=SOURCES, HARTS=harts(), VERSION=VERSION)
    return register.reset


@cocotb.test()
async def every_register_has_its_reset_value(dut):
    pic = await start(dut)
    for _ in range(2):
        for address, name in REGISTERS.places():
            pic.clock.equal(name, await pic.ports[harts() - 1].read(address), reset_value(name))
        # A reset restores written registers.
        for address, name in REGISTERS.places():
            if register_at(name)[0].name in READ_WRITE:
                await pic.ports[0].write(address, HIGHEST)
        pic = await start(dut)


@cocotb.test()
async def every_bit_of_every_register_is_what_the_table_says(dut):
    pic = await start(dut)
    for address, name in REGISTERS.places():
        register, context, _ = register_at(name)
        exists = context is None or context < harts()
        if register.name not in READ_WRITE:
            continue
        for value in (*PATTERNS, *(1 << bit for bit in range(32)), 0):
            await pic.ports[0].write(address, value)
            pic.clock.equal(f"{name} after {value:#x}", await pic.ports[0].read(address),
                            value & register.mask if exists else 0)


@cocotb.test()
async def places_do_not_share_bits(dut):
    pic = await start(dut)
    wanted = {}
    places = [(address, name) for address, name in REGISTERS.places() if register_at(name)[0].name in READ_WRITE]
    for address, name in places:
        register, context, index = register_at(name)
        if context is None or context < harts():
            same = (register.name, 0 if context is None and register.name != "SOURCE" else context, index)
            wanted[same] = (address * 0x9e37_79b9 >> 3) & register.mask
            await pic.ports[0].write(address, wanted[same])
    for address, name in places:
        register, context, index = register_at(name)
        if context is None or context < harts():
            same = (register.name, 0 if context is None and register.name != "SOURCE" else context, index)
            pic.clock.equal(name, await pic.ports[0].read(address), wanted[same])


@cocotb.test()
async def own_context_is_that_of_the_hart(dut):
    pic = await start(dut)
    for h in range(harts()):
        await pic.write("LEVEL", h + 3, hart=h)
        await pic.write("ENABLE", 0x1111_1111 << h, hart=h)
    for h in range(harts()):
        for other in range(harts()):
            pic.clock.equal(f"level of {h}", await pic.ports[other].read(offset("LEVEL", h)), h + 3)
            pic.clock.equal(f"enable of {h}", await pic.ports[other].read(offset("ENABLE", h)), 0x1111_1111 << h)
        pic.clock.equal("own level", await pic.read("LEVEL", hart=h), h + 3)


@cocotb.test()
async def bytes_that_are_not_stored_stay(dut):
    pic = await start(dut)
    for name in READ_WRITE:
        for mask in range(16):
            stored = sum(0xff << 8 * i for i in range(4) if mask >> i & 1)
            await pic.write(name, 0x0102_0304)
            await pic.write(name, 0xfefd_fcfb, mask=mask)
            pic.clock.equal(f"{name} after bytes {mask:#x}", await pic.read(name),
                            (0x0102_0304 & ~stored | 0xfefd_fcfb & stored) & REGISTERS[name].mask)
    await pic.write("ENABLE", 0)
    for name in ("UNMASK", "MASK"):  # a number without its byte does nothing
        await pic.write("ENABLE", 0x10)
        await pic.write(name, 4 if name == "MASK" else 5, mask=0xe)
        pic.clock.equal("enable", await pic.read("ENABLE"), 0x10)
    await pic.write("RAISE", HIGHEST, mask=0b0110)
    pic.clock.equal("raised", await pic.read("PENDING"), 0x00ff_ff00)
    await pic.write("CLEAR", HIGHEST, mask=0b0010)
    pic.clock.equal("cleared", await pic.read("PENDING"), 0x00ff_0000)


@cocotb.test()
async def holes_read_zero_and_ignore_stores(dut):
    pic = await start(dut)
    taken = dict(REGISTERS.places())
    holes = [address for address in range(0, 0x800, 4) if address not in taken]
    holes += [0x1000, 0x1100, 0x8000, 0x8400, 0xfffc]
    for address in holes:
        await pic.ports[0].write(address, HIGHEST)
        pic.clock.equal(f"hole {address:#x}", await pic.ports[0].read(address), 0)
    for address, name in taken.items():
        if register_at(name)[0].access != "wo":
            await pic.ports[0].write(address, HIGHEST) if register_at(name)[0].access == "ro" else None
            pic.clock.equal(name, await pic.ports[0].read(address), reset_value(name))


@cocotb.test()
async def contexts_of_missing_harts_do_nothing(dut):
    pic = await start(dut)
    await pic.configure(16, priority=1, to_any=True)
    dut.sources.value = 1 << 16
    for h in range(harts(), MAX_HARTS):
        for name in CONTEXT:
            await pic.ports[0].write(offset(name, h), 16)
            pic.clock.equal(f"{name} of hart {h}", await pic.ports[0].read(offset(name, h)), 0)
    pic.clock.equal("irq", pic.irq(), 0)
    pic.clock.equal("spurious", await pic.csr.read("spurious"), 0)


@cocotb.test()
async def mask_and_unmask_are_one_store_each(dut):
    pic = await start(dut)
    enabled = 0
    for source in (0, 31, 7, 16):
        await pic.write("UNMASK", source)
        enabled |= 1 << source
        pic.clock.equal("enable", await pic.read("ENABLE"), enabled)
    for number in (*(n | 1 << bit for n in (0, 7, 16, 31) for bit in range(5, 32)), HIGHEST):     # no source's
        await pic.write("MASK", number)
        await pic.write("UNMASK", number ^ 1)
        pic.clock.equal(f"enable behind {number:#x}", await pic.read("ENABLE"), enabled)
    await pic.write("MASK", 7 | HIGHEST << 8 & HIGHEST, mask=0b0001)  # bytes that are not stored do not count
    pic.clock.equal("enable", await pic.read("ENABLE"), enabled & ~(1 << 7))


@cocotb.test()
async def numbers_of_no_source_end_no_service(dut):
    pic = await start(dut)
    await pic.configure(0, priority=3, edge=True)
    await pic.write("UNMASK", 0)
    await pic.pulse(0)
    pic.clock.equal("claimed", await pic.claim(), 0)
    for bit in range(5, 32):
        await pic.write("EOI", 1 << bit)
        pic.clock.equal(f"in service behind {1 << bit:#x}", await pic.read("INSERVICE"), 1)
    await pic.write("EOI", 0)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 0)


# Sources --------------------------------------------------------------------------------------------------------------

async def irq_is(pic, mask):
    """Check the wires of all harts, once all is through."""
    await pic.settle()
    pic.clock.equal("irq", pic.irq(), mask)


@cocotb.test()
async def level_source_pends_again_after_eoi(dut):
    pic = await start(dut)
    await pic.configure(16, priority=3)
    await pic.write("UNMASK", 16)
    await irq_is(pic, 0)
    dut.sources.value = 1 << 16
    await irq_is(pic, 1)
    pic.clock.equal("deliverable", await pic.read("DELIVERABLE"), 1 << 16)
    pic.clock.equal("claimed", await pic.claim(), 16)
    await irq_is(pic, 0)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 1 << 16)
    pic.clock.equal("pending", await pic.read("PENDING"), 1 << 16)
    pic.clock.equal("deliverable in service", await pic.read("DELIVERABLE"), 0)
    pic.clock.equal("second claim", await pic.claim(), None)
    await pic.write("EOI", 16)
    await irq_is(pic, 1)
    pic.clock.equal("claimed again", await pic.claim(), 16)
    dut.sources.value = 0
    await pic.write("EOI", 16)
    await irq_is(pic, 0)
    counts = await pic.counters(16)
    pic.clock.equal("rises, deliveries", (counts.rises, counts.deliveries, counts.merged), (1, 2, 0))


@cocotb.test()
async def level_source_that_falls_is_forgotten(dut):
    pic = await start(dut)
    await pic.configure(16, priority=3)
    await pic.write("UNMASK", 16)
    await pic.pulse(16)
    await irq_is(pic, 0)
    pic.clock.equal("claimed", await pic.claim(), None)
    pic.clock.equal("spurious", await pic.csr.read("spurious"), 1)


@cocotb.test()
async def edge_source_is_delivered_once_an_edge(dut):
    pic = await start(dut)
    await pic.configure(17, priority=3, edge=True)
    await pic.write("UNMASK", 17)
    dut.sources.value = 1 << 17
    await irq_is(pic, 1)
    pic.clock.equal("claimed", await pic.claim(), 17)
    await irq_is(pic, 0)
    await pic.write("EOI", 17)
    await irq_is(pic, 0)  # the wire is still up, but that is no edge
    dut.sources.value = 0
    await irq_is(pic, 0)
    await pic.pulse(17)   # one cycle is enough
    await irq_is(pic, 1)
    pic.clock.equal("claimed", await pic.claim(), 17)


@cocotb.test()
async def edge_during_service_is_latched(dut):
    pic = await start(dut)
    await pic.configure(17, priority=3, edge=True)
    await pic.write("UNMASK", 17)
    await pic.pulse(17)
    pic.clock.equal("claimed", await pic.claim(), 17)
    await pic.write("LEVEL", 3)
    await pic.pulse(17)
    await irq_is(pic, 0)
    pic.clock.equal("pending", await pic.read("PENDING"), 1 << 17)
    await pic.write("EOI", 17)
    await pic.write("LEVEL", 0)
    await irq_is(pic, 1)
    pic.clock.equal("claimed", await pic.claim(), 17)
    counts = await pic.counters(17)
    pic.clock.equal("rises, deliveries, merged", (counts.rises, counts.deliveries, counts.merged), (2, 2, 0))


@cocotb.test()
async def edges_before_the_claim_merge(dut):
    pic = await start(dut)
    await pic.configure(17, priority=3, edge=True)
    for _ in range(5):
        await pic.pulse(17)
    await pic.write("RAISE", 1 << 17)
    await pic.write("UNMASK", 17)
    pic.clock.equal("claimed", await pic.claim(), 17)
    pic.clock.equal("claimed", await pic.claim(), None)
    counts = await pic.counters(17)
    pic.clock.equal("rises, deliveries, merged", (counts.rises, counts.deliveries, counts.merged), (6, 1, 5))


@cocotb.test()
async def an_edge_in_any_cycle_of_a_claim_is_not_lost(dut):
    pic = await start(dut)
    await pic.configure(17, priority=3, edge=True)
    await pic.write("UNMASK", 17)
    rises = 0
    for gap in range(6):
        await pic.pulse(17)
        claim = cocotb.start_soon(pic.claim())
        await pic.clock.tick(gap + 1)
        await pic.pulse(17)
        pic.clock.equal("claimed", await claim, 17)
        again = await pic.claim()
        rises += 2
        counts = await pic.counters(17)
        pic.clock.equal(f"rises with a second edge {gap} cycles on", counts.rises, rises)
        pic.clock.equal("each edge is delivered or merged", counts.deliveries + counts.merged, rises)
        pic.clock.equal("second claim", again, 17 if gap >= 2 else None)  # the first one takes effect at gap 2


@cocotb.test()
async def clear_drops_edges_but_not_levels(dut):
    pic = await start(dut)
    await pic.configure(16, priority=3)
    await pic.configure(17, priority=3, edge=True)
    dut.sources.value = 3 << 16
    await pic.write("CLEAR", 3 << 16)
    pic.clock.equal("pending", await pic.read("PENDING"), 1 << 16)


@cocotb.test()
async def raise_works_for_every_source(dut):
    pic = await start(dut)
    for source in range(SOURCES):
        for edge in (False, True):
            await pic.configure(source, priority=1, edge=edge)
            await pic.write("ENABLE", 1 << source)
            await pic.write("RAISE", 1 << source)
            await irq_is(pic, 1)
            pic.clock.equal("claimed", await pic.claim(), source)
            pic.clock.equal("once", await pic.claim(), None)
            await pic.write("EOI", source)
            pic.clock.equal("not again", await pic.claim(), None)


# Priorities and nesting -----------------------------------------------------------------------------------------------

@cocotb.test()
async def only_a_greater_priority_is_delivered(dut):
    pic = await start(dut)
    await pic.write("ENABLE", 1 << 20)
    dut.sources.value = 1 << 20
    for priority in range(16):
        await pic.configure(20, priority)
        for level in range(16):
            await pic.write("LEVEL", level)
            await irq_is(pic, int(priority > level))
            pic.clock.equal("deliverable", await pic.read("DELIVERABLE"), int(priority > level) << 20)


@cocotb.test()
async def highest_priority_is_claimed_first_then_lowest_number(dut):
    pic = await start(dut)
    priorities = {s: (s * 7 + 3) % 15 + 1 for s in range(SOURCES)}
    for source, priority in priorities.items():
        await pic.configure(source, priority, edge=True)
    await pic.write("ENABLE", HIGHEST)
    await pic.write("RAISE", HIGHEST)
    claimed = []
    for _ in range(SOURCES):
        value = await pic.read("CLAIM")
        claimed.append(value & 0x3f)
        pic.clock.equal("priority claimed", value >> 8, priorities[claimed[-1]])
    pic.clock.equal("order", claimed, sorted(priorities, key=lambda s: (-priorities[s], s)))
    pic.clock.equal("in service", await pic.read("INSERVICE"), HIGHEST)


@cocotb.test()
async def handlers_nest_by_level(dut):
    pic = await start(dut)
    for source, priority in ((16, 2), (17, 5), (18, 5), (19, 9)):
        await pic.configure(source, priority)
    await pic.write("ENABLE", 0xf << 16)
    dut.sources.value = 1 << 16
    pic.clock.equal("claimed", await pic.claim(), 16)
    await pic.write("LEVEL", 2)
    dut.sources.value = 0b0111 << 16
    await irq_is(pic, 1)
    pic.clock.equal("claimed", await pic.claim(), 17)
    await pic.write("LEVEL", 5)
    await irq_is(pic, 0)                     # 18 is not above 17
    dut.sources.value = 0b1111 << 16
    await irq_is(pic, 1)
    pic.clock.equal("claimed", await pic.claim(), 19)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 0b1011 << 16)
    await pic.write("LEVEL", 9)
    dut.sources.value = 0b0111 << 16
    await pic.write("EOI", 19)
    await pic.write("LEVEL", 5)
    dut.sources.value = 0b0101 << 16
    await pic.write("EOI", 17)
    await pic.write("LEVEL", 2)
    pic.clock.equal("claimed", await pic.claim(), 18)
    dut.sources.value = 0
    await pic.write("EOI", 18)
    await pic.write("EOI", 16)
    await pic.write("LEVEL", 0)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 0)
    await irq_is(pic, 0)


@cocotb.test()
async def disabled_sources_wait(dut):
    pic = await start(dut)
    await pic.configure(21, priority=7, edge=True)
    await pic.pulse(21)
    await irq_is(pic, 0)
    await pic.write("UNMASK", 21)
    await irq_is(pic, 1)
    await pic.write("MASK", 21)
    await irq_is(pic, 0)
    pic.clock.equal("claimed", await pic.claim(), None)
    await pic.write("UNMASK", 21)
    pic.clock.equal("claimed", await pic.claim(), 21)


# Several harts --------------------------------------------------------------------------------------------------------

@cocotb.test()
async def a_source_goes_to_the_hart_it_is_routed_to(dut):
    pic = await start(dut)
    for h in range(harts()):
        await pic.write("ENABLE", HIGHEST, hart=h)
    dut.sources.value = 1 << 22
    for route in range(16):
        await pic.configure(22, priority=1, route=route)
        await irq_is(pic, 1 << route if route < harts() else 0)
        for h in range(harts()):
            pic.clock.equal("deliverable", await pic.read("DELIVERABLE", hart=h), int(h == route) << 22)


@cocotb.test()
async def only_one_hart_wins_a_source_for_any(dut):
    pic = await start(dut)
    await pic.configure(23, priority=4, edge=True, to_any=True)
    for h in range(harts()):
        await pic.write("UNMASK", 23, hart=h)
    everyone = (1 << harts()) - 1
    for winner in range(harts()):
        await pic.pulse(23)
        await irq_is(pic, everyone)
        # All claim at once; the link decides. The one after the last one served wins.
        await pic.read("ID", hart=(winner - 1) % harts())
        results = {}

        async def claim(h, results=results):
            results[h] = await pic.claim(h)

        await Combine(*[cocotb.start_soon(claim(h)) for h in range(harts())])
        pic.clock.equal("claims", results, {h: 23 if h == winner else None for h in range(harts())})
        await irq_is(pic, 0)
        for h in range(harts()):
            pic.clock.equal("in service", await pic.read("INSERVICE", hart=h), int(h == winner) << 23)
            await pic.write("EOI", 23, hart=h)  # of the losers: nothing happens
    pic.clock.equal("spurious", await pic.csr.read("spurious"), harts() * (harts() - 1))
    pic.clock.equal("deliveries", (await pic.counters(23)).deliveries, harts())


@cocotb.test()
async def a_level_source_for_any_is_served_by_one(dut):
    pic = await start(dut)
    await pic.configure(23, priority=4, to_any=True)
    for h in range(harts()):
        await pic.write("UNMASK", 23, hart=h)
    dut.sources.value = 1 << 23
    everyone = (1 << harts()) - 1
    await irq_is(pic, everyone)
    last = harts() - 1
    pic.clock.equal("claimed", await pic.claim(last), 23)
    await irq_is(pic, 0)
    for h in range(last):
        await pic.write("EOI", 23, hart=h)
    await irq_is(pic, 0)
    await pic.write("EOI", 23, hart=last)
    await irq_is(pic, everyone)
    await pic.write("LEVEL", 4, hart=last)  # levels are each hart's own
    await irq_is(pic, everyone & ~(1 << last))


@cocotb.test()
async def eoi_ends_only_what_the_context_claimed(dut):
    pic = await start(dut)
    await pic.configure(16, priority=1)
    await pic.configure(17, priority=1)
    await pic.write("ENABLE", 3 << 16)
    dut.sources.value = 3 << 16
    pic.clock.equal("claimed", await pic.claim(), 16)
    for number in (17, 32 + 16, 15):
        await pic.write("EOI", number)
        pic.clock.equal("in service", await pic.read("INSERVICE"), 1 << 16)
    # By the alias, any hart can end it for its owner.
    await pic.ports[harts() - 1].write(offset("EOI", 0), 16)
    pic.clock.equal("in service", await pic.read("INSERVICE"), 0)


@cocotb.test()
async def ipis_reach_the_harts_in_the_mask(dut):
    pic = await start(dut)
    for h in range(harts()):
        await pic.ports[0].write(offset("SOURCE", index=IPI_SOURCE + h), 6 | source_reset(IPI_SOURCE + h))
        await pic.write("UNMASK", IPI_SOURCE + h, hart=h)
    for mask in range(1 << harts()):
        for sender in range(harts()):
            await pic.write("IPI", mask | 0xffff_ff00, hart=sender)
            await irq_is(pic, mask)
            for h in range(harts()):
                pic.clock.equal("claimed", await pic.claim(h), IPI_SOURCE + h if mask >> h & 1 else None)
                await pic.write("EOI", IPI_SOURCE + h, hart=h)
    pic.clock.equal("pending", await pic.read("PENDING"), 0)
    await pic.write("IPI", 1)
    await pic.write("IPI", 1)
    await pic.claim()
    counts = await pic.counters(IPI_SOURCE)
    pic.clock.equal("merged", counts.merged, 1)


# Accounting -----------------------------------------------------------------------------------------------------------

@cocotb.test()
async def waits_are_counted_to_the_cycle(dut):
    pic = await start(dut)
    await pic.configure(24, priority=1, edge=True)
    await pic.write("UNMASK", 24)
    waits = []
    # Shorter and longer than a round of the accounting, and beginning at every place in it.
    for wait in (*range(5, 80), 1000, 20, *[31, 32, 33] * 11):
        await pic.clock.tick(wait % 7)
        dut.sources.value = 1 << 24
        first = pic.clock.cycle + 2           # the wire is up in the next cycle, and pending in the one after that
        await pic.clock.tick(wait - 3)
        dut.sources.value = 0
        pic.clock.equal("claimed", await pic.claim(), 24)
        waits.append(pic.clock.cycle - 1 - first)  # it took effect one cycle before the response
        await pic.write("EOI", 24)
    counts = await pic.counters(24)
    pic.clock.equal("deliveries", counts.deliveries, len(waits))
    pic.clock.equal("total wait", counts.total_wait, sum(waits))
    pic.clock.equal("greatest wait", counts.max_wait, max(waits))


@cocotb.test()
async def every_source_has_counters_of_its_own(dut):
    pic = await start(dut)
    for source in range(SOURCES):
        await pic.configure(source, priority=1, edge=True)
    await pic.write("ENABLE", HIGHEST)
    for repeat in range(3):
        for source in range(SOURCES):
            for _ in range(source % 4 if repeat == 0 else 1):
                await pic.pulse(source)
            if repeat == 2:
                pic.clock.equal("claimed", await pic.claim(), source)
        if repeat == 0:
            await pic.write("CLEAR", HIGHEST)
        elif repeat == 1:
            for _ in range(SOURCES):
                await pic.claim()
    for source in range(SOURCES):
        counts = await pic.counters(source)
        pic.clock.equal(f"source {source}", (counts.rises, counts.deliveries, counts.merged),
                        (source % 4 + 2, 2, max(0, source % 4 - 1)))


@cocotb.test()
async def all_wires_at_full_rate_are_counted(dut):
    pic = await start(dut)
    for source in range(SOURCES):
        await pic.configure(source, priority=1, edge=True)
    for _ in range(200):
        await pic.pulse(*range(SOURCES))
    for source in range(SOURCES):
        counts = await pic.counters(source)
        pic.clock.equal(f"source {source}", (counts.rises, counts.merged), (200, 199))
    pic.clock.equal("lost", await pic.csr.read("accounting_lost"), 0)


@cocotb.test()
async def counters_are_read_only_and_cleared_by_reset(dut):
    pic = await start(dut)
    await pic.configure(25, priority=1, edge=True)
    await pic.write("UNMASK", 25)
    await pic.pulse(25)
    await pic.claim()
    before = await pic.counters(25)
    pic.clock.equal("rises, deliveries", (before.rises, before.deliveries), (1, 1))
    for register in COUNTERS.registers:
        await pic.bus.write(register.at(25), HIGHEST)
    pic.clock.equal("counters", await pic.counters(25), before)
    for hole in (0x18, 0x1c):
        pic.clock.equal("hole", await pic.bus.read(25 * 0x20 + hole), 0)
    for window in (0x400, 0x800, 0xc00):
        for register in COUNTERS.registers:
            pic.clock.equal(f"{register.name} beyond the sources", await pic.bus.read(window + register.at(25)), 0)
    pic = await start(dut)
    for source in range(SOURCES):
        counts = await pic.read_counters(source)
        pic.clock.equal(f"source {source}", counts, Counts())


@cocotb.test()
async def no_access_before_the_counters_are_cleared(dut):
    clock = await bench.start(dut, sources=0)
    port = bench.HartPort(dut, "port0", clock)
    _, stall = await port.access(False, offset("ID"))
    clock.check(4 < stall <= 4 + 33, f"the first access after reset stalls {stall} cycles")


@pytest.mark.parametrize("level, harts", [("rtl", 1), ("rtl", 2), ("rtl", 4),
                                          pytest.param("netlist", 2, marks=pytest.mark.board_long)])
def test_pic(level, harts):
    """What synthesis makes of memories and registers: tests/netlist/test_cells.py; of the controller: the long test."""
    bench.simulate(make, harts, level=level)


# Exact cycles, which a controller on another chip sees later and on its own clock; the last two take long.
NEAR_ONLY = {"edges_before_the_claim_merge", "an_edge_in_any_cycle_of_a_claim_is_not_lost",
             "waits_are_counted_to_the_cycle", "every_source_has_counters_of_its_own",
             "all_wires_at_full_rate_are_counted", "no_access_before_the_counters_are_cleared",
             "every_bit_of_every_register_is_what_the_table_says", "only_a_greater_priority_is_delivered"}


def test_pic_behind_pins():
    """What holds for a controller beside the harts also holds on another chip, two clocks and eight wires away."""
    tests = {name for name, value in globals().items() if isinstance(value, type(disabled_sources_wait))}
    assert tests > NEAR_ONLY
    bench.simulate(make, 2, True, tests=sorted(tests - NEAR_ONLY))


def test_eight_harts_can_be_built():
    source = bench.verilog(*build(8))["top.v"]
    assert "port7_cmd_valid" in source
    assert "port8" not in source
