"""The interrupt controller and its link (hw/pic): each access reaches the controller once and is answered once, and no
edge is lost or answered twice."""

import pytest
from litex.gen import LiteXModule
from migen import Cat, If, Signal

from hw.pic import controller, counters
from hw.pic.link import ADDRESS_WIDTH, Link
from hw.pic.registers import REGISTERS
from tests.formal.prove import Proof, prove

HARTS = 2
DEPTH = 13      # cycles of the proof of edges
WAY = 3         # greatest latency that is tried, cycles
SOURCES = 4     # of the controller that is looked at; the way of each is the same, and 32 take long
SOURCE = 2      # the one that is watched: what the others do is tried, too


class AccessProof(Proof):
    """Accesses of any kind at any time, of latencies from 0 to WAY, any part of it on the way back. A hart keeps its
    access up until it is accepted, and makes no other before the answer, as a core does that waits."""
    def __init__(self):
        super().__init__()
        self.link = link = Link(HARTS)
        times = [getattr(link, name).storage for name in ("read_latency", "write_latency", "read_back", "write_back")]
        self.any_constant(*times)
        self.any_value(link.ready, link.nothing, link.wires)
        self.assume(short=(times[0] <= WAY) & (times[1] <= WAY))
        for h, port in enumerate(link.ports):
            asked, under_way, done, write = Signal(), Signal(), Signal(), Signal()
            address = Signal.like(port.cmd_address)
            before = Signal(1 + len(address))
            self.any_value(port.cmd_valid, port.cmd_write, port.cmd_address)
            taken = port.cmd_valid & port.cmd_ready
            effect = link.effect & (link.hart == h)
            self.sync += [
                asked.eq(port.cmd_valid & ~port.cmd_ready),
                before.eq(Cat(port.cmd_write, port.cmd_address)),
                If(port.rsp_valid, under_way.eq(0)),
                If(taken, under_way.eq(1), done.eq(0), write.eq(port.cmd_write), address.eq(port.cmd_address)),
                If(effect, done.eq(1)),
            ]
            self.assume(**{
                f"keeps{h}": ~asked | (port.cmd_valid & (before == Cat(port.cmd_write, port.cmd_address))),
                f"waits{h}": ~under_way | port.rsp_valid | ~port.cmd_valid})
            self.hold(**{
                f"once{h}": ~effect | (under_way & ~done),
                f"as_asked{h}": ~effect | ((link.write == write) & (link.address == address[:ADDRESS_WIDTH])),
                f"answered_once{h}": ~port.rsp_valid | (under_way & done)})


def test_each_access_takes_effect_once_and_is_answered_once(tmp_path):
    """For 24 cycles: three accesses of the greatest latency, more of shorter ones."""
    assert prove(tmp_path, AccessProof(), 24) is None


def test_an_access_that_takes_effect_twice_is_found(tmp_path):
    found = prove(tmp_path, AccessProof(), 12, (r"(\w*effect) <= (\w*decide);", r"\1 <= \2 | \1;"))
    assert found and found[0].startswith("once")


# The latches of edges, and the same cleared by a claim even as an edge comes.
LOST = (r"(\w+_latch) <= \(\(\(\1 & (\(~\w+\))\) \| (\(\w+ & \w+\))\) \| (\w+)\);", r"\1 <= (((\1 | \3) & \2) | \4);")


class FarEnd(LiteXModule):
    """What the controller sees of a link."""
    def __init__(self):
        self.n_harts   = HARTS
        self.select    = Signal()
        self.effect    = Signal()
        self.hart      = Signal(max=HARTS)
        self.write     = Signal()
        self.address   = Signal(ADDRESS_WIDTH)
        self.data      = Signal(32)
        self.mask      = Signal(4, reset=0xf)
        self.wires     = Signal(HARTS)
        self.read_data = Signal(32)
        self.ready     = Signal()
        self.nothing   = Signal()


def offset(name, n=0):
    return REGISTERS[name].offset + 4 * n


class EdgeProof(Proof):
    """A source that is an edge or a level, beside others, with any accesses: claims, ends, levels, enables, raises,
    clears and changes of a source's kind, priority and route. `owed` is the edge that the outside has seen and nobody
    has claimed or cleared; it knows nothing of the controller but what it answers."""
    def __init__(self):
        super().__init__()
        self.link = link = FarEnd()
        self.pic = pic = controller.OffChipPIC(link)
        fields = REGISTERS["SOURCE"]

        # An access: selected, decided, done.
        decided = Signal()
        kind = {name: link.address == offset(name) for name in ("CLAIM", "EOI", "LEVEL", "ENABLE", "CLEAR", "RAISE",
                                                                "PENDING")}
        own = link.address == offset("SOURCE", SOURCE)
        other = link.address == offset("SOURCE", 1)
        before = Signal(1 + 1 + ADDRESS_WIDTH + 32)
        now = Cat(link.hart, link.write, link.address, link.data)
        self.any_value(pic.sources, link.select, link.hart, link.write, link.address, link.data)
        self.sync += [decided.eq(link.select), link.effect.eq(decided), before.eq(now)]
        self.assume(
            one=~(link.select & (decided | link.effect)), same=~(decided | link.effect) | (now == before),
            known=kind["CLAIM"] | kind["EOI"] | kind["LEVEL"] | kind["ENABLE"] | kind["CLEAR"] | kind["RAISE"]
            | kind["PENDING"] | own | other)

        # What the outside knows.
        wire, rose, claimed, cleared, raised = Signal(), Signal(), Signal(), Signal(), Signal()
        asked = Signal()
        owed, still, edge = Signal(), Signal(), Signal()
        write = link.effect & link.write
        answer_is = claimed & ~link.read_data[31] & (link.read_data[:6] == SOURCE)
        self.comb += still.eq((owed & ~(answer_is | cleared)) | rose | raised)
        self.sync += [
            wire.eq(pic.sources[SOURCE]),
            rose.eq(pic.sources[SOURCE] & ~wire & edge),
            claimed.eq(link.effect & ~link.write & kind["CLAIM"]),
            cleared.eq(write & kind["CLEAR"] & link.data[SOURCE]),
            raised.eq(write & kind["RAISE"] & link.data[SOURCE]),
            asked.eq(link.effect & ~link.write & kind["PENDING"]),
            owed.eq(still),
        ]
        was_up = Signal()
        self.sync += was_up.eq(wire)
        up = was_up & ~edge
        self.hold(pending=~asked | (link.read_data[SOURCE] == (owed | up)))

        priority, route, to_any = Signal(4), Signal(4), Signal()
        self.sync += If(write & own,
            edge.eq(link.data[fields["EDGE"].bits]),
            priority.eq(link.data[fields["PRIORITY"].bits]),
            route.eq(link.data[fields["ROUTE"].bits]),
            to_any.eq(link.data[fields["ANY"].bits])
        )
        serviced = Signal(HARTS)
        claimer = Signal.like(link.hart)
        self.sync += claimer.eq(link.hart)
        for h in range(HARTS):
            level, enabled = Signal(4), Signal()
            mine = write & (link.hart == h)
            self.sync += [
                If(mine & kind["LEVEL"], level.eq(link.data[:4])),
                If(mine & kind["ENABLE"], enabled.eq(link.data[SOURCE])),
                If(mine & kind["EOI"] & (link.data[:6] == SOURCE), serviced[h].eq(0)),
                If(answer_is & (claimer == h), serviced[h].eq(1)),
            ]
            wanted = enabled & (to_any | (route == h)) & (priority > level)
            self.hold(**{f"offered{h}": ~(still & edge & wanted) | link.wires[h],
                         f"wanted{h}": ~(answer_is & (claimer == h)) | wanted})
        self.hold(once=~answer_is | ~edge | owed, served=~answer_is | edge | (serviced == 0))


@pytest.fixture
def few_sources(monkeypatch):
    for module in (controller, counters):
        monkeypatch.setattr(module, "SOURCES", SOURCES)
        monkeypatch.setattr(module, "NUMBER_BITS", (SOURCES - 1).bit_length(), raising=False)


@pytest.mark.usefixtures("few_sources")
def test_no_edge_is_lost_and_none_is_answered_twice(tmp_path):
    """For DEPTH cycles: up to four accesses, such as to set source and context up, to claim and to look."""
    assert prove(tmp_path, EdgeProof(), DEPTH) is None


@pytest.mark.usefixtures("few_sources")
def test_an_edge_that_is_lost_as_another_is_claimed_is_found(tmp_path):
    assert prove(tmp_path, EdgeProof(), DEPTH, LOST)
