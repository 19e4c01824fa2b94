"""The rings of the Ethernet core (hw/ether): each descriptor that software gives is fetched once, in order, and done
once; each frame goes to one descriptor, or is counted as dropped."""

from migen import Cat, If, Signal

from hw.common.memory import MAIN_RAM, in_main_ram
from hw.ether.receive import PAD, Delivery
from hw.ether.transmit import Transmitter
from tests.formal.memory import ADDRESS_BITS, AnyMemory
from tests.formal.prove import Proof, prove

ENTRIES = 4
RAM_BYTES = 8 << ADDRESS_BITS
RING_WORDS = 2 * ENTRIES
MOST_BYTES = 20     # of a frame: it is the rings that are looked at
BUFFERS = 32        # the first word of memory for them, behind all rings
DEPTH = 18          # cycles: a frame, and the next begins


def given(proof, tail, head):
    """Software gives descriptors and takes none back."""
    before = Signal.like(tail)
    proof.sync += before.eq(tail)
    proof.any_value(tail)
    proof.assume(**{f"tail{len(proof.assumes)}": (tail < ENTRIES)
                    & (((tail - head) & (ENTRIES - 1)) >= ((before - head) & (ENTRIES - 1)))})


def beyond(address):
    """A buffer's address, in bytes: a multiple of 8 behind the rings, and not near memory's end."""
    return (in_main_ram(address[3:32], RAM_BYTES) & (address[3:3 + ADDRESS_BITS] >= BUFFERS)
            & (address[3:3 + ADDRESS_BITS] < 128))


class ReceiveProof(Proof):
    """Frames of any length and queue, descriptors with any buffer: what the core does at the rings."""
    def __init__(self):
        super().__init__()
        self.memory = memory = AnyMemory(self)
        self.core = core = Delivery(memory.port, RAM_BYTES, 2)
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

        said, data, status, fetched = Signal(), Signal(4), Signal(), Signal()     # of the frame that is under way
        at_ring = port.cmd.addr < 2 * RING_WORDS
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
            frame_ends_once=~ends | (core.counted["frames"] ^ (dropped | said)),
            delivered_whole=~core.counted["frames"] | (ends & status & fetched & (data == words)),
            head_moves=(core.arrived != 0) == core.counted["frames"],
            said_once=~(dropped & said), status_once=~(memory.writes & at_ring & status),
            fetched_once=~(memory.reads & fetched))
        read_at = Signal.like(core.read)
        self.sync += If(ends, read_at.eq(read_at + words))
        self.hold(words_are_let_go=frame.valid & (fetched | (data != 0)) | (core.read == read_at))
        for q in range(2):
            # The entry that is next, as the outside counts them.
            entry = Signal(max=ENTRIES)
            self.comb += core.base[q].eq(MAIN_RAM + 8 * RING_WORDS * q)
            given(self, core.tail[q], core.head[q])
            here = frame.valid & (queue == q)
            self.sync += If(core.arrived[q], entry.eq(entry + 1))
            self.hold(**{
                f"in_order{q}": core.head[q] == entry,
                f"fetch{q}": ~(memory.reads & here) | ((port.cmd.addr == RING_WORDS * q + 2 * entry)
                                                       & (entry != core.tail[q])),
                f"done{q}": ~(memory.writes & at_ring & here) | (port.cmd.addr == RING_WORDS * q + 2 * entry + 1),
                f"whose{q}": ~core.arrived[q] | here})


def test_a_received_frame_has_a_descriptor_of_its_own_or_is_counted(tmp_path):
    assert prove(tmp_path, ReceiveProof(), DEPTH) is None


def test_an_entry_that_is_passed_over_is_found(tmp_path):
    fault = (r"(\w*head0\w*next_value\w*) <= \(\((\w+) \+ 1'd1\) &", r"\1 <= ((\2 + 2'd2) &")
    assert "in_order0" in prove(tmp_path, ReceiveProof(), DEPTH, fault)


class SendProof(Proof):
    """Descriptors with any address and length: each good one gives one frame to the wire's side, each is done once."""
    def __init__(self):
        super().__init__()
        self.memory = memory = AnyMemory(self)
        self.core = core = Transmitter(memory.port, RAM_BYTES)
        port = memory.port
        self.any_value(core.source.ready)
        given(self, core.tail, core.head)
        self.comb += [core.enable.eq(1), core.mask.eq(ENTRIES - 1), core.base.eq(MAIN_RAM)]
        length = port.rdata.data[32:48]
        at_ring = port.cmd.addr < RING_WORDS
        entry, fetched, described, status, kept, bad, reads = (Signal(max=ENTRIES), Signal(), Signal(), Signal(),
                                                               Signal(), Signal(), Signal(4))
        size = Signal(16)
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
            If(port.rdata.valid & fetched & ~described, described.eq(1), size.eq(length)),
            If(memory.writes, status.eq(1)),
            If(keeps, kept.eq(1)),
            If(core.bad, bad.eq(1)),
        ]
        entry_now = Signal.like(entry)
        self.comb += entry_now.eq(entry + moves)
        self.hold(
            in_order=core.head == entry_now,
            fetch=~(memory.reads & at_ring) | ((port.cmd.addr == 2 * entry_now) & (entry_now != core.tail)
                                               & (~fetched | moves)),
            done=~memory.writes | (at_ring & (port.cmd.addr == 2 * entry_now + 1) & ~status),
            room=~keeps | core.info.sink.ready,
            one_frame=~moves | (status & (kept ^ bad) & (bad == (size == 0))),
            kept_once=~(keeps & kept) | moves)


def test_a_descriptor_to_send_gives_one_frame(tmp_path):
    assert prove(tmp_path, SendProof(), DEPTH) is None


def test_a_descriptor_that_is_sent_again_is_found(tmp_path):
    fault = (r"(\w*head\w*next_value\w*) <= \(\((\w+) \+ 1'd1\) & (\w+)\);", r"\1 <= (\2 & \3);")
    assert prove(tmp_path, SendProof(), DEPTH, fault)
