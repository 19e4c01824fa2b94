"""The rings of the disk controller (hw/disk/engine.py): each request is fetched once, in order, and given to the drive
or refused; each answer of the drive gives one completion, which overwrites none that software has not taken. Software
writes any tail and head at any time, of which the controller takes what README.md says.

Requests move no data here: that is left to tests/hw/test_disk.py. FORMAL=all has what takes longer, too."""

import os

import pytest
from litex.gen import LiteXModule
from migen import If, Signal

from hw.common.memory import MAIN_RAM
from hw.disk.engine import READ_WORDS, REQUEST_WORDS
from hw.disk.medium import ANSWERS, Medium
from hw.disk.pio import ProgrammedIO
from tests.formal.memory import ADDRESS_BITS, AnyMemory
from tests.formal.prove import Proof, prove, unreached, variant

LOG2 = 0                    # of the rings' entries: with one, they wrap at each
TAGS = 2
ENTRIES = 1 << LOG2
REQUESTS, COMPLETIONS = 0, 64       # first word of each ring
DEPTH = 18                  # cycles: a request to its completion, and the next is fetched
DEEP = 24                   # two completions, and a third request
LONG = os.environ.get("FORMAL") == "all"


class Controller(LiteXModule):
    """The engine with its drive and its half of programmed I/O, which is at rest."""
    def __init__(self, port, changes=()):
        small = variant("hw.disk.engine", *changes, TAGS=TAGS, IN_WORDS=2, READ_AHEAD=4, ANSWERS_AHEAD=2)
        self.medium = Medium()
        self.pio = ProgrammedIO()
        self.engine = small.Engine(port, 8 << ADDRESS_BITS, self.medium, self.pio)


class RingProof(Proof):
    def __init__(self, *changes):
        super().__init__()
        self.memory = memory = AnyMemory(self)
        self.core = core = Controller(memory.port, changes)
        engine, medium, port = core.engine, core.medium, memory.port
        answer = medium.answer
        self.comb += [engine.log2.eq(LOG2), engine.sq_base.eq(MAIN_RAM + 8 * REQUESTS),
                      engine.cq_base.eq(MAIN_RAM + 8 * COMPLETIONS),
                      medium.command.ready.eq(1), medium.data_out.ready.eq(1)]
        # Software writes any number as the tail of the requests or the head of the completions.
        tail, head, visible = Signal(16), Signal(16), Signal(16)     # as README.md has them
        self.any_value(engine.count, engine.enters, engine.takes, answer.valid, answer.tag, answer.status)
        self.comb += answer.kind.eq(ANSWERS["DONE"])
        room, more, there, taken = Signal(16), Signal(16), Signal(16), Signal(16)
        self.comb += [room.eq(engine.sq_head + ENTRIES - tail), more.eq(engine.count - tail),
                      there.eq(visible - head), taken.eq(engine.count - head)]
        set_up = Signal(2)      # where the rings lie is looked at in the first cycle
        self.sync += [
            If(set_up != 2, set_up.eq(set_up + 1)),
            If(engine.enters & (more <= room) & (set_up != 0), tail.eq(engine.count)),
            If(engine.takes & (taken <= there), head.eq(engine.count)),
        ]
        self.comb += visible.eq(engine.cq_tail + core.engine.fsm.ongoing("VISIBLE"))
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
            owed.eq(owed + answered + refuses - completes),
            done.eq(done + completes),
        ]
        self.hold(
            requests_in_order=~memory.reads | (at_requests & (
                port.cmd.addr == word) & (entry != tail)),
            each_given_once=(given == engine.sq_head) | (given + 1 == engine.sq_head),
            none_before_it_is_fetched=engine.sq_head <= entry,
            none_forgotten=~core.engine.fsm.ongoing("IDLE") | core.engine.answers.source.valid
            | core.engine.aside.source.valid | refuses | (owed == 0),
            completion_for_each=~completes | (owed != 0) | answered | refuses,
            completions_in_order=~completes | (port.cmd.addr == COMPLETIONS),
            none_overwritten=~completes | (done - head < ENTRIES),
            counters=(engine.sq_tail == tail) & (engine.cq_head == head),
            told_when_there=engine.cq_tail <= done)


        self.cover(
            fetched=memory.reads & (word == READ_WORDS - 1), second_lap=memory.reads & (entry == 1),
            given=medium.command.valid, refused=refuses, answered=answered, completed=completes,
            second_completion=completes & (done == 1), aside=core.engine.aside.source.valid,
            tail_back=engine.enters & (more >= 0x8000) & (tail == 2),
            tail_too_far=engine.enters & (more == room + 1),
            head_back=engine.takes & (taken >= 0x8000) & (head == 1),
            head_too_far=engine.takes & (taken == there + 1) & (there == 1), full=engine.cq_tail - head == ENTRIES)


# Each property, and a fault that it finds: pieces of hw/disk/engine.py and what comes in their place.
FAULTS = {
    "requests_in_order": [("((self.sq_head & mask) << 2) + step", "(self.sq_head << 2) + step")],
    "each_given_once": [("NextValue(self.sq_head, self.sq_head + 1)", "NextValue(self.sq_head, self.sq_head + 2)")],
    "completions_in_order": [("self.cq_base, self.cq_tail & mask)", "self.cq_base, self.cq_tail)")],
    "none_overwritten": [("full.eq(entry > mask)", "full.eq(entry > mask + 1)")],
    "told_when_there": [("visible.eq(1),\n", "visible.eq(1), NextValue(self.cq_tail, self.cq_tail + 2),\n")],
    "counters": [("(more <= room) & inside", "inside")],
}


@pytest.mark.parametrize("only", FAULTS)
def test_a_fault_in_the_rings_is_found(tmp_path, only):
    if only == "completions_in_order" and not LONG:
        pytest.skip("12 seconds of a processor: FORMAL=all has it")
    assert prove(tmp_path, RingProof(*FAULTS[only]).only(only), DEEP)


def test_each_request_is_given_once_and_completed_once(tmp_path):
    assert prove(tmp_path, RingProof(), DEPTH) is None


def test_every_premise_is_reached(tmp_path):
    assert unreached(tmp_path, RingProof(), DEEP) == []
