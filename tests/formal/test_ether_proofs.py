"""The rings of the Ethernet core (hw/ether): each descriptor that software gives is fetched once, in order, and done
once; each frame goes to one descriptor, or is counted as dropped. FORMAL=all proves more cycles of it."""

import os

import pytest
from migen import Cat, If, Mux, Signal

from hw.common.memory import MAIN_RAM, in_main_ram
from hw.ether import descriptor, receive, transmit
from hw.ether.receive import PAD
from tests.formal.memory import ADDRESS_BITS, AnyMemory
from tests.formal.prove import Proof, found_by, prove, unreached, variant

ENTRIES = 2         # so few that a ring wraps within the depth
RAM_BYTES = 8 << ADDRESS_BITS
LONG = os.environ.get("FORMAL") == "all"
RING_WORDS = 2 * ENTRIES
MOST_BYTES = 12     # of a frame: the proofs are about the rings
BUFFERS = 32        # the first word of memory for them, behind all rings
DEPTH = 21          # cycles of sending: two frames, so that the ring has wrapped, and the next begins
RECEIVE_DEPTH = 26  # of receiving: the same
RECEIVE_CYCLES = 16  # in which a frame ends where memory is prompt,
SEND_CYCLES = 16    # and a descriptor
SETTLE_CYCLES = 1   # instead of the delay of the port's `busy`


def given(proof, tail, head):
    """Software adds descriptors and removes none."""
    before = Signal.like(tail)
    proof.sync += before.eq(tail)
    proof.any_value(tail)
    proof.assume(**{f"tail{len(proof.assumes)}": (tail < ENTRIES)
                    & (((tail - head) & (ENTRIES - 1)) >= ((before - head) & (ENTRIES - 1)))})


def beyond(address):
    """A buffer's address, in bytes: outside main RAM, or in it behind the rings."""
    return ~in_main_ram(address[3:32], RAM_BYTES) | (address[3:3 + ADDRESS_BITS] >= BUFFERS)


@pytest.fixture(autouse=True)
def settled_at_once(monkeypatch):
    monkeypatch.setattr(descriptor, "SETTLE_CYCLES", SETTLE_CYCLES)


class ReceiveProof(Proof):
    """Frames of any length and queue, descriptors with any buffer: the core's accesses to the rings."""
    def __init__(self, module=receive, prompt=False):
        super().__init__()
        self.memory = memory = AnyMemory(self, prompt)
        self.core = core = module.Delivery(memory.port, RAM_BYTES, 2)
        port, frame = memory.port, core.frame
        self.any_value(frame.valid, frame.length, frame.hash, core.word)
        held, before = Signal(), Signal(11 + 8)
        self.sync += [held.eq(frame.valid & ~frame.ready), before.eq(Cat(frame.length, frame.hash))]
        self.assume(stays=~held | (frame.valid & (before == Cat(frame.length, frame.hash))),
                    short=(frame.length != 0) & (frame.length <= MOST_BYTES),
                    buffers=~port.rdata.valid | beyond(port.rdata.data[:32]))
        self.comb += [core.enable.eq(1), core.mask.eq(ENTRIES - 1)]
        queue = frame.hash[0]
        words = (frame.length + PAD + 7) >> 3

        said, data, status, fetched = Signal(), Signal(4), Signal(), Signal()     # of the frame under way
        at_ring = port.cmd.addr < 2 * RING_WORDS
        data_words = Signal(4)      # that memory has taken of the frame
        last_bytes = Signal(8)      # of the last of them, the frame's
        self.comb += last_bytes.eq(Mux((frame.length + PAD)[:3] == 0, 0xff, (1 << (frame.length + PAD)[:3]) - 1))
        self.sync += If(frame.valid & frame.ready, data_words.eq(0)).Elif(
            port.wdata.valid & port.wdata.ready, data_words.eq(data_words + 1))
        dropped = core.counted["no_descriptor"] | core.counted["short_buffer"]
        ends = frame.valid & frame.ready
        self.sync += [
            If(memory.reads, fetched.eq(1)),
            If(memory.writes & ~at_ring, data.eq(data + 1)),
            If(memory.writes & at_ring, status.eq(1)),
            If(dropped, said.eq(1)),
            If(ends, said.eq(0), data.eq(0), status.eq(0), fetched.eq(0)),
        ]
        self.hold(
            data_in_buffers=~(memory.writes & ~at_ring) | (port.cmd.addr >= BUFFERS),
            no_byte_beyond=~(port.wdata.valid & port.wdata.ready & (data_words + 1 == words)) | status
            | (port.wdata.we == last_bytes),
            frame_ends_once=~ends | (core.counted["frames"] ^ (dropped | said)),
            delivered_whole=~core.counted["frames"] | (ends & status & fetched & (data == words)),
            head_moves=(core.arrived != 0) == core.counted["frames"],
            said_once=~(dropped & said), status_once=~(memory.writes & at_ring & status),
            fetched_once=~(memory.reads & fetched))
        if prompt:
            waits = Signal(6)       # cycles for which the frame has been there
            self.sync += If(~frame.valid | ends, waits.eq(0)).Else(waits.eq(waits + 1))
            self.hold(ends_in_time=waits < RECEIVE_CYCLES)
        read_at = Signal.like(core.read)
        self.sync += If(ends, read_at.eq(read_at + words))
        self.hold(words_are_let_go=frame.valid & (fetched | (data != 0)) | (core.read == read_at))
        for q in range(2):
            # The entry that is next, as the outside counts them.
            entry = Signal(max=ENTRIES)
            here = frame.valid & (queue == q)
            self.comb += core.base[q].eq(MAIN_RAM + 8 * RING_WORDS * q)
            done = Signal(2)
            self.sync += If(core.arrived[q], done.eq(done + 1))
            self.cover(**{f"delivered{q}": core.arrived[q], f"wrapped{q}": done == ENTRIES,
                          f"fetch{q}": memory.reads & here, f"empty{q}": core.counted["no_descriptor"] & here,
                          f"second_lap{q}": memory.reads & here & (done == ENTRIES)})
            given(self, core.tail[q], core.head[q])
            self.sync += If(core.arrived[q], entry.eq(entry + 1))
            self.hold(**{
                f"in_order{q}": core.head[q] == entry,
                f"fetch{q}": ~(memory.reads & here) | ((port.cmd.addr == RING_WORDS * q + 2 * entry)
                                                       & (entry != core.tail[q])),
                f"done{q}": ~(memory.writes & at_ring & here) | (port.cmd.addr == RING_WORDS * q + 2 * entry + 1),
                f"whose{q}": ~core.arrived[q] | here})


# Each property, and a fault that only it finds: pieces of hw/ether/receive.py and their replacements.
MOVED = """If(self.queue == q, NextValue(self.head[q], (self.head[q] + 1) & self.mask), self.arrived[q].eq(1))"""
TOO_SMALL = 'self.counted["short_buffer"].eq(1),\n'
CHECK = 'fsm.act("CHECK",\n            If((size <'
SIZE = ("        size = Signal(16)\n", "        self.size = size = Signal(16)\n")     # for faults in other methods
RECEIVE_FAULTS = {
    "in_order": [(MOVED, "If(self.queue == q, NextValue(self.late[q], 1), self.arrived[q].eq(1))"),
                 ("        self.queue   = Signal(max=max(queues, 2))\n",
                  "        self.queue   = Signal(max=max(queues, 2))\n"
                  "        self.late = [Signal() for _ in range(queues)]\n"
                  "        self.sync += [If(late, head.eq((head + 1) & self.mask), late.eq(0))\n"
                  "                      for late, head in zip(self.late, self.head)]\n")],
    "fetch": [('here["head"] == here["tail"]) |', 'here["head"] != here["head"]) |')],
    "fetched_once": [(CHECK, 'fsm.act("CHECK",\n port.cmd.valid.eq(1), port.cmd.addr.eq(place),\n If((size <')],
    "data_in_buffers": [("            port.cmd.addr.eq(address[3:]),\n",
                         "            port.cmd.addr.eq((address[3:] & ~BUFFERS) | 8),\n")],
    "no_byte_beyond": [("(1 << rest) - 1, 0xff)", "0xff, 0xff)")],
    "words_are_let_go": [("read_next.eq(read + self.words)", "read_next.eq(read + 1)")],
    "delivered_whole": [("NextValue(asked, self.words)", "NextValue(asked, self.words - 1)")],
    "frame_ends_once": [(TOO_SMALL, "\n")],
    "said_once": [SIZE, ("skip_frame.eq(1),\n",
                        'skip_frame.eq(1), self.counted["no_descriptor"].eq(self.size[0]),\n')],
    "head_moves": [(TOO_SMALL, TOO_SMALL + f"*[{MOVED} for q in range(queues)],\n")],
    "whose": [(MOVED, MOVED.replace("self.queue == q", "self.queue != q"))],
    "done": [("write_status(self.fsm, port, self.place, status, [",
              "write_status(self.fsm, port, self.place ^ 2, status, [")],
    "status_once": [(CHECK, 'fsm.act("CHECK",\n port.cmd.valid.eq(1), port.cmd.we.eq(1),\n'
                     "port.cmd.addr.eq(place + 1),\n If((size <")],
    "ends_in_time": [SIZE, ("If((asked == 0) & (owed == 0), NextState",
                            "If((asked == 0) & (owed == 0) & ~self.size[3], NextState")],
}


def received(only):
    changes = RECEIVE_FAULTS.get(only, [])
    return ReceiveProof(variant("hw.ether.receive", *[(old, new.replace("BUFFERS", str(BUFFERS)))
                                                      for old, new in changes]), prompt=only == "ends_in_time")


@pytest.mark.parametrize("only", RECEIVE_FAULTS)
def test_a_fault_in_receiving_is_found(tmp_path, only):
    assert set(RECEIVE_FAULTS) == ReceiveProof(prompt=True).properties()
    found_by(tmp_path, lambda: received(only), only, RECEIVE_DEPTH, LONG)


def test_a_received_frame_ends_in_time(tmp_path):
    assert prove(tmp_path, ReceiveProof(prompt=True).only("ends_in_time"), RECEIVE_DEPTH) is None


def test_a_received_frame_has_a_descriptor_of_its_own_or_is_counted(tmp_path):
    assert prove(tmp_path, ReceiveProof(), RECEIVE_DEPTH if LONG else DEPTH) is None


def test_every_premise_of_receiving_is_reached(tmp_path):
    assert unreached(tmp_path, ReceiveProof(), RECEIVE_DEPTH) == []


class SendProof(Proof):
    """Descriptors with any address and length: each valid one gives one frame to the wire's side, each is done once."""
    def __init__(self, module=transmit, prompt=False):
        super().__init__()
        self.memory = memory = AnyMemory(self, prompt)
        self.core = core = module.Transmitter(memory.port, RAM_BYTES)
        port = memory.port
        self.any_value(core.source.ready)
        given(self, core.tail, core.head)
        self.comb += [core.enable.eq(1), core.mask.eq(ENTRIES - 1), core.base.eq(MAIN_RAM)]
        length = port.rdata.data[32:48]
        at_ring = port.cmd.addr < RING_WORDS
        entry, fetched, described, status, kept, bad, reads = (Signal(max=ENTRIES), Signal(), Signal(), Signal(),
                                                               Signal(), Signal(), Signal(4))
        size, outside, last, done = Signal(16), Signal(), Signal(29), Signal(2)
        self.comb += last.eq(port.rdata.data[3:32] + (((port.rdata.data[1:3] << 1) + length + 7) >> 3) - 1)
        self.assume(buffers=~port.rdata.valid | beyond(port.rdata.data[:32]),
                    short=~port.rdata.valid | (length <= MOST_BYTES))
        moves = Signal()
        head = Signal.like(core.head)
        self.comb += moves.eq(core.head != head)
        keeps = core.info.sink.valid
        self.sync += [
            head.eq(core.head),
            If(moves, fetched.eq(0), described.eq(0), status.eq(0), kept.eq(0), bad.eq(0), reads.eq(0),
               entry.eq(entry + 1)),
            If(memory.reads & at_ring, fetched.eq(1)),
            If(memory.reads & ~at_ring, reads.eq(reads + 1)),
            If(port.rdata.valid & fetched & ~described,
                described.eq(1), size.eq(length),
                outside.eq(~in_main_ram(port.rdata.data[3:32], RAM_BYTES) | ~in_main_ram(last, RAM_BYTES))
            ),
            If(memory.writes, status.eq(1)),
            If(keeps, kept.eq(1)),
            If(core.bad, bad.eq(1)),
        ]
        self.sync += If(moves, done.eq(done + 1))
        self.cover(sent=keeps, done=memory.writes, bad=core.bad & (size == 0), outside=core.bad & (size != 0),
                   wrapped=done == ENTRIES, second_lap=memory.reads & at_ring & (done == ENTRIES), reads=reads == 2)
        entry_now = Signal.like(entry)
        self.comb += entry_now.eq(entry + moves)
        self.hold(
            in_order=core.head == entry_now,
            fetch=~(memory.reads & at_ring) | ((port.cmd.addr == 2 * entry_now) & (entry_now != core.tail)
                                               & (~fetched | moves)),
            done=~memory.writes | (at_ring & (port.cmd.addr == 2 * entry_now + 1) & ~status),
            room=~keeps | core.info.sink.ready,
            one_frame=~moves | (status & (kept ^ bad) & (bad == ((size == 0) | outside))),
            reads_inside=~(memory.reads & ~at_ring) | (port.cmd.addr >= BUFFERS),
            kept_once=~(keeps & kept) | moves)
        if prompt:
            waits = Signal(6)       # cycles for which the core has owned a descriptor
            self.sync += If(moves | (core.head == core.tail), waits.eq(0)).Else(waits.eq(waits + 1))
            self.hold(ends_in_time=waits < SEND_CYCLES)


SEND_FAULTS = {
    "in_order": [("NextValue(self.head, (self.head + 1) & self.mask)", "NextValue(self.head, self.head + 1)"),
                 ("self.base[4:] + self.head)", "self.base[4:] + (self.head & self.mask))"),
                 ("(self.head != self.tail)", "((self.head & self.mask) != self.tail)")],
    "fetch": [("If(self.enable & (self.head != self.tail) &", "If(self.enable &")],
    "reads_inside": [("port.cmd.addr.eq(address[3:] + (words - asked)),",
                      f"port.cmd.addr.eq(((address[3:] + (words - asked)) & ~{BUFFERS}) | 8),")],
    "one_frame": [("NextValue(error, 1),\n                self.bad.eq(1),\n", "NextValue(error, 1),\n")],
    "done": [("write_status(fsm, port, self.place,", "write_status(fsm, port, self.place ^ 2,")],
    "room": [(").Elif((room >= words) & info.sink.ready,", ").Elif(room >= words,")],
    "kept_once": [('info.sink.valid.eq(1),\n            NextState("STATUS")',
                   'info.sink.valid.eq(1),\n            If(~port.busy, NextState("STATUS"))')],
    "ends_in_time": [("If(due == 1, NextState", "If((due == 1) & ~length[3], NextState")],
}


def sent(only):
    frames = {"FIFO_FRAMES": 1} if only == "room" else {}       # so few that there is no room within the depth
    return SendProof(variant("hw.ether.transmit", *SEND_FAULTS.get(only, []), **frames), prompt=only == "ends_in_time")


@pytest.mark.parametrize("only", SEND_FAULTS)
def test_a_fault_in_sending_is_found(tmp_path, only):
    assert set(SEND_FAULTS) == SendProof(prompt=True).properties()
    found_by(tmp_path, lambda: sent(only), only, DEPTH, LONG)


def test_a_descriptor_to_send_is_done_in_time(tmp_path):
    assert prove(tmp_path, SendProof(prompt=True).only("ends_in_time"), DEPTH) is None


@pytest.mark.skipif(not LONG, reason="half a minute: FORMAL=all has it")
def test_a_frame_to_send_waits_for_room(tmp_path):
    assert prove(tmp_path, SendProof(variant("hw.ether.transmit", FIFO_FRAMES=1)), DEPTH) is None


def test_a_descriptor_to_send_gives_one_frame(tmp_path):
    assert prove(tmp_path, SendProof(), DEPTH) is None


def test_every_premise_of_sending_is_reached(tmp_path):
    assert unreached(tmp_path, SendProof(), DEPTH) == []
