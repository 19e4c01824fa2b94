"""Frames from the wire into buffers in main RAM: check, store whole, fetch a descriptor, write, complete it."""

from functools import reduce
from operator import or_, xor

from liteeth.common import eth_phy_description
from liteeth.mac.crc import LiteEthMACCRC32Checker
from liteeth.mac.preamble import LiteEthMACPreambleChecker
from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import READ_FIRST, Array, Cat, If, Memory, Mux, Signal
from migen.genlib.fsm import FSM, NextState, NextValue

from hw.common.memory import in_main_ram
from hw.ether.descriptor import write_status
from hw.ether.phy import bytes_in

FIFO_WORDS = 512         # of 64 bits: frames that wait for their transfer to memory
FIFO_FRAMES = 64
MIN_BYTES = 60           # without the FCS
MAX_BYTES = 1514
PAD = 2                  # bytes before a frame in its buffer, so that its payload is aligned
DONE_BIT = 31            # of the status in a descriptor
ETHERTYPE_IP = 0x0008    # as in memory
LENGTH_BITS = 11
# The reasons to drop a frame; it is counted under the first that holds.
DROPS = ("runt", "oversize", "crc", "overrun", "filtered", "no_descriptor", "short_buffer")
KEPT_FRAME = [("length", LENGTH_BITS), ("hash", 8), ("stamp", 32)]    # the attributes of a frame in the FIFO


class Receiver(LiteXModule):
    """`port` is a LiteDRAM native port of its own, of `ram_bytes` of main RAM; `cycle` is the frames' time stamp.

    `base`, `tail` and `head` are those of each queue's ring, `mask` its entries less one (a power of two). `counted`
    has a strobe for each frame delivered ("frames") and each reason to drop one; `arrived` one for each queue."""
    def __init__(self, port, ram_bytes, cycle, queues):
        self.delivery = delivery = Delivery(port, ram_bytes, queues)
        self.sink     = stream.Endpoint(eth_phy_description(32))
        self.enable   = delivery.enable
        self.all      = Signal()       # i: frames to any address
        self.groups   = Signal()       # i: to any group
        self.first    = Signal(16)     # i: own address, as in memory: its first two bytes,
        self.rest     = Signal(32)     # and the four others
        self.base     = delivery.base
        self.tail     = delivery.tail
        self.head     = delivery.head
        self.mask     = delivery.mask
        self.busy     = delivery.busy
        self.arrived  = delivery.arrived
        self.counted  = {name: Signal() for name in ("frames", "preamble", "off", *DROPS)} | delivery.counted

        # # #

        self.preamble = LiteEthMACPreambleChecker(32)
        self.crc      = LiteEthMACCRC32Checker(eth_phy_description(32))
        self.tiny     = Signal()        # a frame of one word
        # The frame as it will be in memory, a word a cycle.
        self.valid, self.last, self.word = Signal(), Signal(), Signal(32)
        self.total    = Signal(LENGTH_BITS + 1)     # with `last`: its bytes,
        self.failed   = Signal()                    # its CRC is wrong,
        self.wanted   = Signal()                    # it is for this station,
        self.folded   = Signal(8)                   # and the hash that selects its queue
        self.add_mac()
        self.add_alignment()
        self.add_address()
        self.add_store(cycle)

    def add_mac(self):
        """LiteEth's MAC, except for frames of one word, which its checker would join to the next."""
        preamble, crc, tiny = self.preamble, self.crc, self.tiny
        begins = Signal(reset=1)
        self.comb += [
            self.sink.connect(preamble.sink),
            tiny.eq(preamble.source.valid & preamble.source.last & begins),
            preamble.source.connect(crc.sink, omit={"valid", "ready"}),
            preamble.source.ready.eq(crc.sink.ready | tiny),
            crc.sink.valid.eq(preamble.source.valid & ~tiny),
            crc.source.ready.eq(1),
            self.counted["preamble"].eq(preamble.error),
        ]
        self.sync += If(preamble.source.valid, begins.eq(preamble.source.last))

    def add_alignment(self):
        """Two bytes before the frame shift it by half a word: its end may need a word more."""
        came   = self.crc.source
        number = Signal(3)
        held   = Signal(16)
        extra  = Signal()
        failed = Signal()
        length = Signal(LENGTH_BITS)
        self.comb += [
            number.eq(bytes_in(came)),
            self.valid.eq(came.valid | extra),
            self.last.eq(extra | (came.valid & came.last & (number <= 2))),
            self.word.eq(Cat(held, Mux(extra, 0, came.data[:16]))),
            self.total.eq(length + Mux(extra, 0, number)),
            self.failed.eq(Mux(extra, failed, came.error != 0)),
        ]
        self.sync += [
            If(came.valid,
                held.eq(came.data[16:]),
                failed.eq(came.error != 0),
                extra.eq(came.last & (number > 2)),
                If(length < 1 << LENGTH_BITS - 1 | 1 << LENGTH_BITS - 2,     # an endless one saturates, too long
                    length.eq(length + number)
                )
            ),
            If(self.last,
                held.eq(0),
                extra.eq(0),
                length.eq(0)
            ),
        ]

    def add_address(self):
        """The frame's destination, and its queue."""
        word, wanted = self.word, self.wanted
        index   = Signal(4)
        known   = Signal()        # the first half of the address is ours
        wide    = Signal()        # all ones so far
        group   = Signal()
        is_ip, ports = Signal(), Signal()
        hashed  = Signal(32)
        self.sync += [
            If(self.valid,
                If(index != 15, index.eq(index + 1)),
                If(index == 0,
                    known.eq(word[16:] == self.first),
                    wide.eq(word[16:] == 0xffff),
                    group.eq(word[16])
                ),
                If(index == 1,
                    wanted.eq(self.all | (known & (word == self.rest)) | (wide & (word == 0xffff_ffff))
                              | (group & self.groups))
                ),
                If(index == 3, is_ip.eq(word[16:] == ETHERTYPE_IP)),
                If(index == 4, ports.eq(word[:8] == 0x45)),
                If(index == 5, ports.eq(ports & (word[16:22] == 0) & (word[24:] == 0))),      # no fragment
                If(index == 6, ports.eq(ports & ((word[8:16] == 6) | (word[8:16] == 17)))),   # TCP, UDP
                If(is_ip & ((index == 7) | (index == 8) | (ports & (index == 9))), hashed.eq(hashed ^ word))
            ),
            If(self.last,
                index.eq(0),
                wanted.eq(0),
                is_ip.eq(0),
                hashed.eq(0)
            ),
        ]
        self.comb += self.folded.eq(reduce(xor, (hashed[8 * n:8 * n + 8] for n in range(4))))

    def add_store(self, cycle):
        """Buffers frames until they are whole; of a dropped frame nothing is left. `delivery` passes them to memory."""
        delivery, valid, last = self.delivery, self.valid, self.last
        memory = Memory(64, FIFO_WORDS)
        fill, look = memory.get_port(write_capable=True), memory.get_port(mode=READ_FIRST)
        self.specials += memory, fill, look
        self.info = info = stream.SyncFIFO(KEPT_FRAME, FIFO_FRAMES)
        write, kept = Signal(max=FIFO_WORDS), Signal(max=FIFO_WORDS)
        half   = Signal()
        low    = Signal(32)
        full, lost, store = Signal(), Signal(), Signal()
        wrong  = Signal()
        self.comb += [
            full.eq((write + 1)[:len(write)] == delivery.read),
            store.eq(valid & (half | last) & ~full & ~lost),
            fill.adr.eq(write),
            fill.dat_w.eq(Mux(half, Cat(low, self.word), self.word)),
            fill.we.eq(store),
            wrong.eq(self.why_dropped(lost | full | ~info.sink.ready)),
            info.sink.valid.eq(last & ~wrong & self.enable),
            info.sink.length.eq(self.total),
            info.sink.hash.eq(self.folded),
            info.sink.stamp.eq(cycle),
            info.source.connect(delivery.frame),
            look.adr.eq(delivery.read_next),
            delivery.word.eq(look.dat_r),
        ]
        self.sync += [
            If(valid,
                half.eq(~half),
                If(~half, low.eq(self.word)),
                If((half | last) & full, lost.eq(1)),
                If(store, write.eq(write + 1))
            ),
            If(last,
                half.eq(0),
                lost.eq(0),
                If(wrong | ~self.enable,
                    write.eq(kept)
                ).Else(
                    kept.eq(write + 1)
                )
            ),
        ]

    def why_dropped(self, overrun):
        """An expression, valid with `last`: the frame is dropped; it is counted under the first reason."""
        drop, counted = {name: Signal(name=f"drop_{name}") for name in DROPS[:5]}, self.counted
        self.comb += [
            drop["runt"].eq(self.total < MIN_BYTES),
            drop["oversize"].eq(self.total > MAX_BYTES),
            drop["crc"].eq(self.failed),
            drop["overrun"].eq(overrun),
            drop["filtered"].eq(~self.wanted),
            counted["off"].eq(~self.enable & (self.last | self.tiny)),
        ]
        earlier = 0
        for name, here in drop.items():
            self.comb += counted[name].eq(self.enable & ((self.last & here & ~earlier)
                                                         | (self.tiny if name == "runt" else 0)))
            earlier = earlier | here
        return reduce(or_, drop.values())


class Delivery(LiteXModule):
    """Passes whole frames to memory: descriptor, frame, status; when all of it is visible the ring advances.

    `frame` is the next one, whose words are read at `read_next` a cycle ahead and come as `word`; `read` is past the
    last word that is done. The others are Receiver's."""
    def __init__(self, port, ram_bytes, queues):
        self.frame     = frame = stream.Endpoint(KEPT_FRAME)
        self.word      = Signal(64)
        self.read      = read = Signal(max=FIFO_WORDS)
        self.read_next = read_next = Signal(max=FIFO_WORDS)
        self.enable    = Signal()
        self.base      = [Signal(32) for _ in range(queues)]
        self.tail      = [Signal(10) for _ in range(queues)]
        self.head      = [Signal(10) for _ in range(queues)]
        self.mask      = Signal(10)
        self.busy      = Signal()
        self.arrived   = Signal(queues)
        self.counted   = {name: Signal() for name in ("frames", "no_descriptor", "short_buffer")}

        # # #

        self.queue   = Signal(max=max(queues, 2))
        self.address = Signal(32)       # of the buffer, and of the next write
        self.words   = Signal(9)        # of the frame
        self.place   = Signal(29)       # of the descriptor, in words
        self.popped, self.skip_frame = Signal(), Signal()
        self.here    = {name: Signal(len(values[0]), name=f"{name}_here") for name, values in
                        (("base", self.base), ("head", self.head), ("tail", self.tail))}
        self.comb += [
            *[value.eq(Array(getattr(self, name))[self.queue]) for name, value in self.here.items()],
            self.place.eq(Cat(0, self.here["base"][4:] + self.here["head"])),
            self.words.eq((frame.length + PAD + 7) >> 3),
            If(self.skip_frame,
                read_next.eq(read + self.words)
            ).Else(
                read_next.eq(read + self.popped)
            ),
            port.rdata.ready.eq(1),
        ]
        self.sync += read.eq(read_next)
        self.fsm = FSM(reset_state="IDLE")
        self.comb += self.busy.eq(frame.valid | ~self.fsm.ongoing("IDLE"))
        self.look_for_a_buffer(port, ram_bytes, queues)
        self.fill_it(port)
        self.say_so(port, queues)
        self.sync += If(~self.enable & ~self.busy, *[head.eq(0) for head in self.head])

    def look_for_a_buffer(self, port, ram_bytes, queues):
        frame, fsm, here, place, address = self.frame, self.fsm, self.here, self.place, self.address
        size = Signal(16)
        end  = Signal(29)       # of the frame in the buffer: its last word
        self.comb += end.eq(address[3:] + self.words - 1)
        fsm.act("IDLE",
            If(frame.valid,
                NextValue(self.queue, frame.hash[:max((queues - 1).bit_length(), 1)] if queues > 1 else 0),
                NextState("SELECT")
            )
        )
        fsm.act("SELECT",
            If((here["head"] == here["tail"]) | ~self.enable | ~in_main_ram(place, ram_bytes),
                self.counted["no_descriptor"].eq(1),
                NextState("DROP")
            ).Else(
                NextState("FETCH")
            )
        )
        fsm.act("FETCH",
            port.cmd.valid.eq(1),
            port.cmd.addr.eq(place),
            If(port.cmd.ready, NextState("WAIT"))
        )
        fsm.act("WAIT",
            If(port.rdata.valid,
                NextValue(address, port.rdata.data[:32]),
                NextValue(size, port.rdata.data[32:48]),
                NextState("CHECK")
            )
        )
        fsm.act("CHECK",
            If((size < frame.length + PAD) | ~in_main_ram(address[3:], ram_bytes) | ~in_main_ram(end, ram_bytes),
                self.counted["short_buffer"].eq(1),
                NextState("DROP")
            ).Else(
                NextState("DATA")
            )
        )

    def fill_it(self, port):
        fsm, address = self.fsm, self.address
        asked = Signal(9)        # commands to issue,
        owed  = Signal(9)        # and data
        rest  = Signal(3)        # bytes of the last word; 0: all
        self.comb += rest.eq(self.frame.length + PAD)
        fsm.act("CHECK",
            NextValue(asked, self.words),
            NextValue(owed, self.words)
        )
        fsm.act("DATA",
            port.cmd.valid.eq(asked != 0),
            port.cmd.we.eq(1),
            port.cmd.addr.eq(address[3:]),
            If(port.cmd.valid & port.cmd.ready,
                NextValue(asked, asked - 1),
                NextValue(address, address + 8)
            ),
            port.wdata.valid.eq(owed != 0),
            port.wdata.data.eq(self.word),
            port.wdata.we.eq(Mux((owed == 1) & (rest != 0), (1 << rest) - 1, 0xff)),
            self.popped.eq(port.wdata.valid & port.wdata.ready),
            NextValue(owed, owed - self.popped),
            If((asked == 0) & (owed == 0), NextState("STATUS"))
        )

    def say_so(self, port, queues):
        frame = self.frame
        status = Cat(frame.length, Signal(16 - LENGTH_BITS), frame.hash, Signal(7), 1, frame.stamp)
        write_status(self.fsm, port, self.place, status, [
            self.counted["frames"].eq(1),
            frame.ready.eq(1),
            *[If(self.queue == q, NextValue(self.head[q], (self.head[q] + 1) & self.mask), self.arrived[q].eq(1))
              for q in range(queues)],
        ])
        self.fsm.act("DROP",
            self.skip_frame.eq(1),
            frame.ready.eq(1),
            NextState("IDLE")
        )
