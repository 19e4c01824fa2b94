"""The interrupt controller and its link (hw/pic): each access reaches the controller once and is answered once, and no
edge is lost or answered twice. FORMAL=all adds the proofs that take minutes."""

import os
from functools import reduce
from operator import and_, or_

import pytest
from litex.gen import LiteXModule
from migen import Case, Cat, If, Mux, Signal

from hw.pic import controller, counters, link
from hw.pic.link import ADDRESS_WIDTH, MAX_LATENCY
from hw.pic.registers import REGISTERS
from tests.formal.prove import Proof, found_by, prove, unreached, variant

HARTS = 2
LINK_HARTS = 3
DEPTH = 13      # cycles of the proof of edges
WAY = 3         # greatest latency tried, cycles
LONG = os.environ.get("FORMAL") == "all"
ACCESS_DEPTH = 14   # cycles in which a fault must be found: an access of the greatest latency, and half of the next
WIRE_DEPTH = 14
WIRE_WAY = 4    # and delay: with it, three changes of a wire can be under way
SOURCES = 4     # of the controller under proof; each works alike, and 32 take long
SOURCE = 2      # the source that is watched: all actions of the others are tried, too
PRIORITY = 3    # of all sources that are set up from reset on
EDGE = 0        # whether the watched source is then an edge
SET_UP_DEPTH = 10   # cycles in which a fault must be found there: two accesses and their effects


class AccessProof(Proof):
    """Accesses of any kind at any time, of latencies from 0 to WAY that change at any time, any part of them on the way
    back. A hart keeps its access up until it is accepted, and makes no other before the answer, like a waiting hart.

    An access under way is followed from outside by `age`, the cycles since it was accepted, against `due`, the latency
    that README.md states. `invariant` relates that to the link's registers, so that the rest holds for
    ever by induction; properties of only the link's ports do not need it."""
    def __init__(self, module=link, harts=LINK_HARTS, way=WAY):
        super().__init__()
        self.link = link_ = module.Link(harts)
        times = [getattr(link_, name).storage for name in ("read_latency", "write_latency", "read_back", "write_back")]
        self.any_value(*times, link_.ready, link_.nothing, link_.wires)
        self.assume(short=(times[0] <= way) & (times[1] <= way))

        # The far end answers in the cycle after the effect of a load, and keeps the answer.
        given = Signal(32)
        self.any_value(given)
        self.sync += If(link_.effect, link_.read_data.eq(given))

        accepted, waits, busy, stays = [], [], [], []
        last = Signal(max=harts)        # the hart served last
        self.sync += last.eq(Mux(reduce(or_, [port.cmd_valid & port.cmd_ready for port in link_.ports]),
                                 reduce(or_, [Mux(port.cmd_valid & port.cmd_ready, h, 0)
                                              for h, port in enumerate(link_.ports)]), last))
        for h, port in enumerate(link_.ports):
            asked, under_way, done = Signal(), Signal(), Signal()
            now = Cat(port.cmd_write, port.cmd_address, port.cmd_data, port.cmd_mask)
            before, told = Signal(len(now)), Signal(len(now))
            age, due, there, result = Signal(18), Signal(18), Signal(18), Signal(32)
            passed = Signal(4)          # other harts' accesses accepted since its request
            self.any_value(port.cmd_valid, port.cmd_write, port.cmd_address, port.cmd_data, port.cmd_mask)
            taken = port.cmd_valid & port.cmd_ready
            effect = link_.effect & (link_.hart == h)
            latency = Mux(port.cmd_write, times[1], times[0])
            back = Mux(port.cmd_write, times[3], times[2])
            seen = Cat(link_.write, link_.address, link_.data, link_.mask)
            self.sync += [
                asked.eq(port.cmd_valid & ~port.cmd_ready),
                before.eq(now),
                age.eq(age + 1),
                If(port.rsp_valid, under_way.eq(0)),
                If(taken,
                    under_way.eq(1), done.eq(0), told.eq(now), age.eq(1),
                    due.eq(latency + 4),
                    there.eq(latency + 3 - Mux(back < latency, back, latency))
                ),
                If(effect, done.eq(1), result.eq(given)),
                If(taken | ~port.cmd_valid, passed.eq(0)).Elif(
                    reduce(or_, [other.cmd_valid & other.cmd_ready for other in link_.ports]), passed.eq(passed + 1)),
            ]
            narrow = Cat(told[0], told[1:1 + ADDRESS_WIDTH], told[1 + 28:])     # the address bits that the link carries
            self.assume(**{f"keeps{h}": ~asked | (port.cmd_valid & (before == now)),
                           f"waits{h}": ~under_way | port.rsp_valid | ~port.cmd_valid})
            self.hold(**{
                f"once{h}": ~effect | (under_way & ~done),
                f"as_asked{h}": ~effect | (seen == narrow),
                f"effect_on_time{h}": ~under_way | done | (effect == (age == there)),
                f"answered_once{h}": ~port.rsp_valid | (under_way & done),
                f"answered_on_time{h}": ~under_way | (port.rsp_valid == (age == due)),
                f"own_data{h}": ~(port.rsp_valid & under_way & done) | told[0] | (port.rsp_data == result),
                f"in_turn{h}": ~port.cmd_valid | (passed < harts)})
            self.cover(**{f"load{h}": port.rsp_valid & ~told[0], f"store{h}": port.rsp_valid & told[0],
                          f"longest{h}": port.rsp_valid & (due == way + 4), f"shortest{h}": port.rsp_valid & (due == 4),
                          f"way_back{h}": port.rsp_valid & (there + 1 + way == due),
                          f"passed{h}": taken & (passed == harts - 1), f"again{h}": taken & port.rsp_valid})
            # The link's state, as it follows from the access.
            mine = under_way & (link_.hart == h)
            stages = (link_.there, link_.decide, link_.effect, link_.back, link_.answer)
            behind = link_.behind
            stays.append(~mine | reduce(or_, [
                link_.there & ~done & (age + link_.remaining + 3 + behind == due) & (there + 1 + behind == due),
                link_.decide & ~done & (age + 2 + behind == due) & (there + 1 + behind == due),
                link_.effect & ~done & (age + 1 + behind == due) & (there + 1 + behind == due),
                link_.back & done & (age > there) & (age + link_.remaining + 1 == due),
                link_.answer & done & (age > there) & (age == due)]))
            stays.append(~mine | (seen == narrow))
            stays.append(~mine | (behind <= way) & (link_.remaining <= way) & (due <= way + 4) & (due >= behind + 4)
                         & (age != 0) & (age <= due))
            stays.append(under_way == (reduce(or_, stages) & (link_.hart == h)))
            stays.append(~mine | told[0] | ~done | (link_.read_data == result))
            # A hart that the link has passed over comes before the others from then on.
            ahead = Signal(4)
            self.comb += Case(link_.hart, {g: ahead.eq((h - g - 1) % harts) for g in range(harts)})
            stays.append(~asked | (passed + ahead < harts))
            stays.append(asked | (passed == 0))
            accepted.append(taken)
            waits.append(port.cmd_valid)
            busy.append(under_way & ~port.rsp_valid)
        free = ~reduce(or_, busy)
        stages = Signal(3)      # as wide as the sum is
        self.comb += stages.eq(link_.there + link_.decide + link_.effect + link_.back + link_.answer)
        stays += [link_.hart < harts, link_.hart == last, stages <= 1,
                  link_.idle == ~(link_.there | link_.decide | link_.effect | link_.back)]
        self.hold(accepts=~free | ~link_.ready | (reduce(or_, waits) == reduce(or_, accepted)),
                  invariant=reduce(and_, stays))
        self.cover(refused=~link_.ready & free & reduce(or_, waits), all_ask=reduce(and_, waits))


# Each property, and a fault that only it finds: pieces of hw/pic/link.py and their replacements.
ACCESS_FAULTS = {
    "once": [("self.effect.eq(self.decide),", "self.effect.eq(self.decide | (self.back & (remaining == 1))),")],
    "as_asked": [('self.data.eq(chosen_port["cmd_data"]),', "self.data.eq(self.ports[0].cmd_data),")],
    "effect_on_time": [("Mux(back.storage < latency.storage, latency.storage - back.storage, 0)", "latency.storage"),
                       ("Mux(back.storage < latency.storage, back.storage, latency.storage))", "0)")],
    "answered_once": [("port.rsp_valid.eq(self.answer & (self.hart == h)),", "port.rsp_valid.eq(self.answer),")],
    "answered_on_time": [("remaining.eq(behind - 1)", "remaining.eq(behind)")],
    "own_data": [("port.rsp_data.eq(self.read_data),", "port.rsp_data.eq(self.read_data[:31]),")],
    "in_turn": [("(last + 1 + i) % self.n_harts", "i")],
    "accepts": [("accept.eq(self.idle & self.ready & (requests != 0)),",
                 "accept.eq(self.idle & self.ready & requests[0]),")],
}
# What "at most once" alone would allow: a response or an access that never comes, a latency without effect.
SILENT = {
    "no-response": [("self.answer.eq(1),\n", "")],
    "no-access": [("accept.eq(self.idle & self.ready & (requests != 0)),", "accept.eq(0),")],
    "no-latency": [("remaining.eq(self.access_jitter.value + Mux", "remaining.eq(0 & Mux")],
}


def test_each_access_takes_effect_once_and_is_answered_once_and_in_time(tmp_path):
    """For ever, by induction: three harts, latencies up to WAY, any part of it on the way back."""
    assert prove(tmp_path, AccessProof(), 2, induction=True) is None


@pytest.mark.skipif(not LONG, reason="eight minutes: FORMAL=all has it")
def test_the_same_of_every_latency(tmp_path):
    assert prove(tmp_path, AccessProof(way=MAX_LATENCY), 2, induction=True) is None


def test_every_premise_of_an_access_is_reached(tmp_path):
    assert unreached(tmp_path, AccessProof(), 26) == []


@pytest.mark.parametrize("only", ACCESS_FAULTS)
def test_each_property_of_an_access_finds_its_fault(tmp_path, only):
    assert set(ACCESS_FAULTS) == AccessProof().properties() - {"invariant"}
    faulty = variant("hw.pic.link", *ACCESS_FAULTS[only])
    found_by(tmp_path, lambda: AccessProof(faulty), only, ACCESS_DEPTH, LONG, ["invariant"])


@pytest.mark.parametrize("fault", SILENT)
def test_what_never_comes_is_found(tmp_path, fault):
    faulty = variant("hw.pic.link", *SILENT[fault])
    assert prove(tmp_path, AccessProof(faulty).without("invariant"), ACCESS_DEPTH)


class WireProof(Proof):
    """A hart's interrupt wire, as README.md's "The link" describes it: each change of the controller's wire starts with
    the delay of that cycle, any from 0 to WIRE_WAY and changing at any time, and arrives at a time that is fixed from
    then on. At most two are under way."""
    def __init__(self, module=link):
        super().__init__()
        self.link = link_ = module.Link(1)
        rise, fall = link_.delivery_delay.storage, link_.fall_delay.storage
        self.any_value(rise, fall, link_.wires)
        self.assume(short=(rise <= WIRE_WAY) & (fall <= WIRE_WAY))
        now, was_up = Signal(6), Signal()
        shown = Signal()                                 # the wire at the hart, except for a fall without delay
        number = Signal(2)                               # of changes that arrive later than in this cycle:
        arrival, up = [Signal(6), Signal(6)], [Signal(), Signal()]
        arrives, rest, first, first_up = Signal(), Signal(2), Signal(6), Signal()
        changes, due, last = Signal(), Signal(6), Signal(6)
        soon, third, overtakes = Signal(), Signal(), Signal()
        self.comb += [
            arrives.eq((number != 0) & (arrival[0] == now + 1)),
            rest.eq(number - arrives),
            first.eq(Mux(arrives, arrival[1], arrival[0])),
            first_up.eq(Mux(arrives, up[1], up[0])),
            changes.eq(link_.wires[0] != was_up),
            due.eq(now + Mux(link_.wires[0], rise + 1, fall)),
            last.eq(Mux(number == 2, arrival[1], arrival[0])),
            soon.eq(due <= now + 1),                     # before all that are under way
            third.eq(rest == 2),                         # cancels the second
            overtakes.eq((number != 0) & (last >= due)),
        ]
        at_once = changes & (due == now)
        expected = Mux(at_once, link_.wires[0], shown)
        self.sync += [
            now.eq(now + 1), was_up.eq(link_.wires[0]),
            shown.eq(Mux(arrives, up[0], expected)), number.eq(rest), arrival[0].eq(first), up[0].eq(first_up),
            If(changes,
                If(soon,
                    number.eq(0), shown.eq(link_.wires[0])
                ).Elif(third | overtakes,
                    number.eq(rest - 1)
                ).Elif(rest == 0,
                    number.eq(1), arrival[0].eq(due), up[0].eq(link_.wires[0])
                ).Else(
                    number.eq(2), arrival[1].eq(due), up[1].eq(link_.wires[0])
                )
            ),
        ]
        steady, since = Signal(), Signal(4)
        self.sync += If(changes, since.eq(0)).Elif(since != 15, since.eq(since + 1))
        self.comb += steady.eq((since > WIRE_WAY + 1) & ~changes)
        self.hold(as_it_was=link_.irq[0] == expected, arrives=~steady | (link_.irq[0] == link_.wires[0]))
        self.cover(late_rise=link_.wires[0] & ~link_.irq[0] & (since == WIRE_WAY - 1),
                   late_fall=~link_.wires[0] & link_.irq[0] & (since == WIRE_WAY - 2),
                   at_once=at_once & shown, two=(number == 2) & arrives, overtaken=changes & overtakes & ~soon,
                   third=changes & third & ~soon, steady_up=steady & link_.irq[0])


WIRE_FAULTS = {
    "second-change-dropped": [("second.eq(1),\n", "second.eq(0),\n")],
    "delay-ignored": [("rise.eq(self.delivery_delay.storage + jitter),", "rise.eq(1 + jitter),")],
    "fall-late": [("fall.eq(self.fall_delay.storage - 1 + jitter),", "fall.eq(self.fall_delay.storage + jitter),")],
    "no-change-arrives": [("up.eq(~up),\n", "")],
}


def test_a_wire_arrives_as_it_was(tmp_path):
    assert prove(tmp_path, WireProof(), WIRE_DEPTH) is None


def test_every_premise_of_a_wire_is_reached(tmp_path):
    assert unreached(tmp_path, WireProof(), WIRE_DEPTH) == []


@pytest.mark.parametrize("fault", WIRE_FAULTS)
def test_a_fault_of_a_wire_is_found(tmp_path, fault):
    assert prove(tmp_path, WireProof(variant("hw.pic.link", *WIRE_FAULTS[fault])), WIRE_DEPTH) == ["as_it_was"]


# The latches of edges, and the same cleared by a claim even as an edge comes.
LOST = (r"(\w+_latch) <= \(\(\(\1 & (\(~\w+\))\) \| (\(\w+ & \w+\))\) \| (\w+)\);", r"\1 <= (((\1 | \3) & \2) | \4);")


class FarEnd(LiteXModule):
    """The controller's view of a link."""
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
    clears and changes of a source's kind, priority and route. `owed` is the edge that the outside has seen and no hart
    has claimed or cleared; it depends only on the controller's answers.

    set_up: `module` is one of `set_up`, whose sources are enabled from reset on, so that the depth covers more
    of what comes after that."""
    def __init__(self, module=controller, set_up=False):
        super().__init__()
        self.link = link = FarEnd()
        self.pic = pic = module.OffChipPIC(link)
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
        owed, still, edge = Signal(), Signal(), Signal(reset=int(set_up and EDGE))
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

        priority, route, to_any = Signal(4, reset=PRIORITY * set_up), Signal(4), Signal(reset=int(set_up))
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
            level, enabled = Signal(4), Signal(reset=int(set_up))
            mine = write & (link.hart == h)
            self.sync += [
                If(mine & kind["LEVEL"], level.eq(link.data[:4])),
                If(mine & kind["ENABLE"], enabled.eq(link.data[SOURCE])),
                If(mine & kind["EOI"] & (link.data[:6] == SOURCE), serviced[h].eq(0)),
                If(answer_is & (claimer == h), serviced[h].eq(1)),
            ]
            wanted = enabled & (to_any | (route == h)) & (priority > level)
            # A claim does not come back empty from an offered source that is selected.
            offers, offered = Signal(), Signal()
            self.comb += offers.eq(still & edge & wanted)
            self.sync += If(link.select, offered.eq(offers))
            nothing = link.read_data[31]
            mine = claimed & (claimer == h)
            self.hold(**{f"offered{h}": ~offers | link.wires[h], f"wanted{h}": ~(answer_is & (claimer == h)) | wanted,
                         f"claims{h}": ~(mine & offered) | ~nothing})
            self.cover(**{f"offered{h}": offers, f"claims{h}": mine & offered,
                          f"answers{h}": answer_is & (claimer == h)})
        told_nothing = Signal()
        self.sync += told_nothing.eq(link.nothing)
        self.hold(once=~answer_is | ~edge | owed, served=~answer_is | edge | (serviced == 0),
                  nothing=told_nothing == (claimed & link.read_data[31]))
        self.cover(edge_claimed=answer_is & edge, level_claimed=answer_is & ~edge, served_before=serviced != 0,
                   edge_at_its_claim=answer_is & edge & rose, merged=owed & rose, raised=raised & ~edge,
                   cleared=cleared & owed, looked=asked & owed, nothing=told_nothing)


def set_up(*changes):
    """The controller with few sources, all of them enabled from reset on, for any hart and with one priority; source
    SOURCE is an edge if EDGE."""
    return variant(
        "hw.pic.controller", *changes,
        ('Signal(4, name=f"priority{s}")', f'Signal(4, reset={PRIORITY}, name=f"priority{{s}}")'),
        ('Signal(name=f"any{s}")', 'Signal(reset=1, name=f"any{s}")'),
        ('Signal(SOURCES, name=f"enable{h}")', f'Signal(SOURCES, reset={(1 << SOURCES) - 1}, name=f"enable{{h}}")'),
        ('Signal(SOURCES, name=f"eligible{h}")', f'Signal(SOURCES, reset={(1 << SOURCES) - 1}, name=f"eligible{{h}}")'),
        ('edge     = Signal(SOURCES, reset=sum(fields["EDGE"].get(reset[s]) << s for s in range(SOURCES)))',
         f"edge     = Signal(SOURCES, reset={EDGE << SOURCE})"),
        SOURCES=SOURCES, NUMBER_BITS=(SOURCES - 1).bit_length())


# Each property, and a fault that only it finds: pieces of hw/pic/controller.py and their replacements.
EDGE_FAULTS = {
    "pending": [('"PENDING":     gives(self.pending),', '"PENDING":     gives(self.latch),')],
    "once": [("waiting.eq(self.pending & (self.edge | ~serviced)),",
              "waiting.eq(self.edge | (self.pending & ~serviced)),")],
    "served": [("waiting.eq(self.pending & (self.edge | ~serviced)),", "waiting.eq(self.pending),")],
    "offered": [("link.wires[h].eq(self.deliverable[h] != 0),", "link.wires[h].eq(self.deliverable[h][:2] != 0),")],
    "wanted": [("candidates.eq(self.deliverable[h]))),", "candidates.eq(self.waiting & self.eligible[h]))),")],
    "claims": [("candidates.eq(self.deliverable[h]))),", "candidates.eq(self.deliverable[h][:2]))),")],
    "nothing": [("link.nothing.eq(claim & (self.best_priority == 0)),", "link.nothing.eq(0),")],
}


@pytest.fixture
def few_sources(monkeypatch):
    for module in (controller, counters):
        monkeypatch.setattr(module, "SOURCES", SOURCES)
        monkeypatch.setattr(module, "NUMBER_BITS", (SOURCES - 1).bit_length(), raising=False)


@pytest.mark.usefixtures("few_sources")
def test_every_premise_of_an_edge_is_reached(tmp_path):
    assert unreached(tmp_path, EdgeProof(), DEPTH) == []


@pytest.mark.usefixtures("few_sources")
@pytest.mark.parametrize("only", EDGE_FAULTS)
def test_a_fault_at_an_edge_is_found(tmp_path, only):
    assert set(EDGE_FAULTS) == EdgeProof().properties()
    found_by(tmp_path, lambda: EdgeProof(set_up(*EDGE_FAULTS[only]), set_up=True), only, SET_UP_DEPTH, LONG)


@pytest.mark.skipif(not LONG, reason="minutes: FORMAL=all has it")
@pytest.mark.usefixtures("few_sources")
def test_no_edge_of_a_source_that_is_set_up_is_lost(tmp_path):
    """For DEPTH cycles: up to four accesses after those that set it up."""
    assert prove(tmp_path, EdgeProof(set_up(), set_up=True), DEPTH) is None


@pytest.mark.usefixtures("few_sources")
def test_no_edge_is_lost_and_none_is_answered_twice(tmp_path):
    """For DEPTH cycles: up to four accesses, such as to set source and context up, to claim and to read."""
    assert prove(tmp_path, EdgeProof(), DEPTH) is None


@pytest.mark.usefixtures("few_sources")
def test_an_edge_that_is_lost_as_another_is_claimed_is_found(tmp_path):
    assert prove(tmp_path, EdgeProof(), DEPTH, LOST)
