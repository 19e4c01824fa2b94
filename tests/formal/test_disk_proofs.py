"""The rings of the disk controller (hw/disk/engine.py): each request is fetched once, in order, and given to the drive
or refused; each answer of the drive gives one completion, which overwrites none that software has not taken. Software
writes any tail and head at any time; the controller accepts those that README.md says.

Requests move no data here: tests/hw/test_disk.py tests that. FORMAL=all adds the longer proofs."""

import os

import pytest
from litex.gen import LiteXModule
from migen import If, Signal

from hw.common.memory import MAIN_RAM
from hw.disk.engine import READ_WORDS
from hw.disk.medium import ANSWERS, Medium
from hw.disk.pio import ProgrammedIO
from hw.disk.rings import REQUEST_WORDS
from tests.formal.memory import ADDRESS_BITS, AnyMemory
from tests.formal.prove import Proof, found_by, prove, unreached, variant

LOG2 = 0                    # of the rings' entries: with one entry, they wrap at each
TAGS = 2
ENTRIES = 1 << LOG2
REQUESTS, COMPLETIONS = 0, 64       # first word of each ring
DEPTH = 18                  # cycles: a request to its completion, and the next is fetched
DEEP = 24                   # two completions, and a third request
# If memory is prompt, within so many cycles a request is with the drive, or refused, and an answer has its completion.
GIVEN_CYCLES = 12
COMPLETED_CYCLES = 12
SLOW = ("completions_in_order",)
LONG = os.environ.get("FORMAL") == "all"


class Controller(LiteXModule):
    """The engine with its drive and its half of programmed I/O, which is at rest."""
    def __init__(self, port, changes):
        rings = variant("hw.disk.rings", *changes.get("rings", ()))
        small = variant("hw.disk.engine", *changes.get("engine", ()), Rings=rings.Rings, TAGS=TAGS, IN_WORDS=2,
                        READ_AHEAD=4, ANSWERS_AHEAD=2)
        self.medium = Medium()
        self.pio = ProgrammedIO()
        self.engine = small.Engine(port, 8 << ADDRESS_BITS, self.medium, self.pio)


class RingProof(Proof):
    def __init__(self, prompt=False, **changes):
        super().__init__()
        self.memory = memory = AnyMemory(self, prompt)
        self.core = core = Controller(memory.port, changes)
        engine, rings, medium, port = core.engine, core.engine.rings, core.medium, memory.port
        answer = medium.answer
        self.comb += [rings.log2.eq(LOG2), rings.sq_base.eq(MAIN_RAM + 8 * REQUESTS),
                      rings.cq_base.eq(MAIN_RAM + 8 * COMPLETIONS),
                      medium.command.ready.eq(1), medium.data_out.ready.eq(1)]
        # Software writes any number to the tail of the requests or the head of the completions.
        tail, head, visible = Signal(16), Signal(16), Signal(16)     # as README.md has them
        self.any_value(rings.count, rings.enters, rings.takes, answer.valid, answer.tag, answer.status)
        self.comb += answer.kind.eq(ANSWERS["DONE"])
        room, more, there, taken = Signal(16), Signal(16), Signal(16), Signal(16)
        self.comb += [room.eq(rings.sq_head + ENTRIES - tail), more.eq(rings.count - tail),
                      there.eq(visible - head), taken.eq(rings.count - head)]
        set_up = Signal(2)      # the rings' addresses are read in the first cycle
        self.sync += [
            If(set_up != 2, set_up.eq(set_up + 1)),
            If(rings.enters & (more <= room) & (set_up != 0), tail.eq(rings.count)),
            If(rings.takes & (taken <= there), head.eq(rings.count)),
        ]
        self.comb += visible.eq(rings.cq_tail + engine.fsm.ongoing("VISIBLE"))
        # The drive answers each of its commands once, and nothing else.
        theirs = Signal(TAGS)
        told = Signal(TAGS)
        answered = answer.valid & answer.ready
        self.comb += told.eq(answered << answer.tag[:1])
        self.sync += theirs.eq((theirs & ~told) | (medium.command.valid << medium.command.tag[:1]))
        self.assume(theirs=~answer.valid | ((answer.tag < TAGS) & ((theirs >> answer.tag[:1]) & 1)))

        at_requests = port.cmd.addr < ENTRIES * REQUEST_WORDS
        word, entry, given = Signal(2), Signal(16), Signal(16)
        owed = Signal(4)        # completions: requests that were refused or answered, less those that were completed
        refused = Signal(32)
        refuses = engine.refused != refused
        completes = memory.writes
        done = Signal(16)
        self.sync += [
            refused.eq(engine.refused),
            If(memory.reads,
                word.eq(word + 1),
                If(word == READ_WORDS - 1, word.eq(0), entry.eq(entry + 1))
            ),
            given.eq(given + medium.command.valid + refuses),
            owed.eq(owed + answered + refuses - (completes & ((owed != 0) | answered | refuses))),
            done.eq(done + completes),
        ]
        self.hold(
            requests_in_order=~memory.reads | (at_requests & (
                port.cmd.addr == word) & (entry != tail)),
            each_given_once=(given == rings.sq_head) | (given + 1 == rings.sq_head),
            none_before_it_is_fetched=rings.sq_head <= entry,
            none_forgotten=~engine.fsm.ongoing("IDLE") | engine.answer.valid
            | engine.completions.aside.source.valid | refuses | (owed == 0),
            completion_for_each=~completes | (owed != 0) | answered | refuses,
            completions_in_order=~completes | (port.cmd.addr == COMPLETIONS),
            none_overwritten=~completes | (done - head < ENTRIES),
            counters=(rings.sq_tail == tail) & (rings.cq_head == head),
            told_when_there=rings.cq_tail <= done)
        if prompt:
            # Cycles for which a request has waited, though there was nothing else to do, and for which an answer has,
            # though there was room for its completion.
            full = rings.cq_tail - rings.cq_head == ENTRIES
            asked, ended = Signal(6), Signal(6)
            self.sync += [
                If((rings.sq_tail == given) | medium.command.valid | refuses | full | (owed != 0),
                    asked.eq(0)
                ).Else(asked.eq(asked + 1)),
                If(completes | (owed == 0) | full, ended.eq(0)).Else(ended.eq(ended + 1)),
            ]
            self.hold(given_in_time=asked < GIVEN_CYCLES, completed_in_time=ended < COMPLETED_CYCLES)

        self.cover(
            fetched=memory.reads & (word == READ_WORDS - 1), second_lap=memory.reads & (entry == 1),
            given=medium.command.valid, refused=refuses, answered=answered, completed=completes,
            second_completion=completes & (done == 1), aside=engine.completions.aside.source.valid,
            tail_back=rings.enters & (more >= 0x8000) & (tail == 2),
            tail_too_far=rings.enters & (more == room + 1),
            head_back=rings.takes & (taken >= 0x8000) & (head == 1),
            head_too_far=rings.takes & (taken == there + 1) & (there == 1), full=rings.cq_tail - head == ENTRIES)


# Each property, and a fault that only it finds: pieces of hw/disk/engine.py or rings.py and their replacements.
FETCH = 'NextValue(self.request.got, 0),\n                NextState("FETCH")'
FETCHED = "            NextValue(rings.sq_head, rings.sq_head + 1),\n"
VISIBLE = "                    NextValue(in_use, in_use & ~(1 << completions.tag[:4]))\n                ),\n"
FAULTS = {
    "none_before_it_is_fetched": {"engine": [
        (FETCH, FETCH.replace("NextState", FETCHED + "NextState")),
        (FETCHED + "            If(request", "If(request")]},
    "none_forgotten": {"engine": [(").Elif(known,\n", ").Elif(known & (answer.status == 0),\n")]},
    "completion_for_each": {"engine": [(VISIBLE + '                NextState("IDLE")', VISIBLE +
                                        "If(rings.takes & ((rings.count - rings.cq_head) == 1), "
                                        'NextState("COMPLETE")).Else(NextState("IDLE"))')]},
    "requests_in_order": {"rings": [("((self.sq_head & self.mask) << 2) + word", "(self.sq_head << 2) + word")]},
    "each_given_once": {"engine": [(FETCHED, FETCHED + "medium.command.valid.eq(request.tag[0]),\n")]},
    "completions_in_order": {"rings": [("(self.cq_tail & self.mask)", "self.cq_tail")]},
    "none_overwritten": {"rings": [("self.full.eq(entry > mask)", "self.full.eq(entry > mask + 1)")]},
    "told_when_there": {"engine": [("rings.visible.eq(1),\n", "rings.visible.eq(1), NextValue(rings.cq_tail, "
                                    "rings.cq_tail + 2),\n")]},
    "counters": {"rings": [("(more <= room) & inside", "inside")]},
}
IN_TIME_FAULTS = {
    "given_in_time": {"engine": [("If(got == READ_WORDS - 1,", "If((got == READ_WORDS - 1) & ~request.tag[1],")]},
    "completed_in_time": {"engine": [
        ("writer.sink.valid.eq(1),", "writer.sink.valid.eq(~completions.tag[1]),"),
        ('If(writer.sink.ready,\n                    NextState("VISIBLE")',
         'If(writer.sink.ready & ~completions.tag[1],\n                    NextState("VISIBLE")')]},
}


@pytest.mark.parametrize("only", FAULTS)
def test_a_fault_in_the_rings_is_found(tmp_path, only):
    assert set(FAULTS) == RingProof().properties()
    if only in SLOW and not LONG:
        pytest.skip("more than 10 seconds of a processor: FORMAL=all has it")
    found_by(tmp_path, lambda: RingProof(**FAULTS[only]), only, DEEP, LONG)


@pytest.mark.parametrize("only", IN_TIME_FAULTS)
def test_what_never_ends_is_found(tmp_path, only):
    assert set(IN_TIME_FAULTS) == RingProof(prompt=True).properties() - RingProof().properties()
    found_by(tmp_path, lambda: RingProof(prompt=True, **IN_TIME_FAULTS[only]), only, DEEP, LONG)


def test_requests_and_answers_are_ended_in_time(tmp_path):
    assert prove(tmp_path, RingProof(prompt=True).only(*IN_TIME_FAULTS), DEEP) is None


def test_each_request_is_given_once_and_completed_once(tmp_path):
    assert prove(tmp_path, RingProof(), DEPTH) is None


@pytest.mark.skipif(not LONG, reason="23 seconds of a processor: FORMAL=all has it")
def test_every_premise_is_reached(tmp_path):
    assert unreached(tmp_path, RingProof(), DEEP) == []
