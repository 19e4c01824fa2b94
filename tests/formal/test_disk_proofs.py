"""The rings of the disk controller (hw/disk/engine.py): each request is fetched once, in order, and given to the drive
or refused; each answer of the drive gives one completion, which overwrites none that software has not taken.

Requests move no data here: that is left to tests/hw/test_disk.py."""

from litex.gen import LiteXModule
from migen import If, Signal

from hw.disk.engine import READ_WORDS, REQUEST_WORDS, Engine
from hw.disk.medium import ANSWERS, TAGS, Medium
from hw.disk.pio import ProgrammedIO
from tests.formal.memory import AnyMemory
from tests.formal.prove import Proof, prove

LOG2 = 1                    # of the rings' entries
ENTRIES = 1 << LOG2
REQUESTS, COMPLETIONS = 0, 64       # first word of each ring
DEPTH = 18                  # cycles: a request to its completion, and the next is fetched


class Controller(LiteXModule):
    """The engine with its drive and its half of programmed I/O, which is at rest."""
    def __init__(self, port):
        self.medium = Medium()
        self.pio = ProgrammedIO()
        self.engine = Engine(port, 1 << 20, self.medium, self.pio)


class RingProof(Proof):
    def __init__(self):
        super().__init__()
        self.memory = memory = AnyMemory(self)
        self.core = core = Controller(memory.port)
        engine, medium, port = core.engine, core.medium, memory.port
        answer = medium.answer
        self.comb += [engine.log2.eq(LOG2), engine.sq_base.eq(8 * REQUESTS), engine.cq_base.eq(8 * COMPLETIONS),
                      medium.command.ready.eq(1), medium.data_out.ready.eq(1)]
        # Software enters requests as long as there is room, and takes completions.
        enter, take = Signal(), Signal()
        self.any_value(enter, take, answer.valid, answer.tag, answer.status)
        self.comb += answer.kind.eq(ANSWERS["DONE"])
        self.sync += [
            If(enter & (engine.sq_tail - engine.sq_head < ENTRIES), engine.sq_tail.eq(engine.sq_tail + 1)),
            If(take & (engine.cq_tail != engine.cq_head), engine.cq_head.eq(engine.cq_head + 1)),
        ]
        # The drive answers each of its commands once, and nothing else.
        theirs = Signal(TAGS)
        told = Signal(TAGS)
        answered = answer.valid & answer.ready
        self.comb += told.eq(answered << answer.tag[:4])
        self.sync += theirs.eq((theirs & ~told) | (medium.command.valid << medium.command.tag[:4]))
        self.assume(theirs=~answer.valid | (~answer.tag[4] & ((theirs >> answer.tag[:4]) & 1)))

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
                port.cmd.addr == (entry[:LOG2] << 2) + word) & (entry != engine.sq_tail)),
            each_given_once=(given == engine.sq_head) | (given + 1 == engine.sq_head),
            none_before_it_is_fetched=engine.sq_head <= entry,
            none_forgotten=~core.engine.fsm.ongoing("IDLE") | core.engine.answers.source.valid | refuses | (owed == 0),
            completion_for_each=~completes | (owed != 0) | answered | refuses,
            completions_in_order=~completes | (port.cmd.addr == COMPLETIONS + done[:LOG2]),
            none_overwritten=~completes | (done - engine.cq_head < ENTRIES),
            told_when_there=engine.cq_tail <= done)


def test_each_request_is_given_once_and_completed_once(tmp_path):
    assert prove(tmp_path, RingProof(), DEPTH) is None


def test_a_request_that_is_passed_over_is_found(tmp_path):
    fault = (r"(\w*sq_head\w*next_value\w*) <= \((\w+) \+ 1'd1\);", r"\1 <= (\2 + 2'd2);")
    assert prove(tmp_path, RingProof(), DEPTH, fault)
