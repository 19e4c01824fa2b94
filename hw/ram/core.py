"""Main RAM behind LiteDRAM's native ports, as slow as its registers say (README.md has the timing).

An access takes effect in the cycle that accepts its command, so all ports see one memory, in one order; only the answer
is delayed. On an FPGA, LiteDRAM is in its place.
"""

from litedram.common import LiteDRAMNativePort
from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStorage
from migen import READ_FIRST, If, Memory, Signal

from hw.common.idle import Still
from hw.common.jitter import Jitter
from support.parameters.machine import CYCLES_WIDTH

DATA_WIDTH = 64
OUTSTANDING = 32         # reads that a port can have outstanding
READ_CYCLES = 2          # from command to data when latency and jitter are 0
DELAY_WIDTH = CYCLES_WIDTH
SALTS = (0x2545_f491, 0x9068_ffff, 0x6c07_8965, 0x1b87_3593)  # of the ports' random sequences
# The clock that delays read data wraps around; a read waits at most for the longest latency and jitter, and for the
# reads before it.
NOW_WIDTH = DELAY_WIDTH + 3


class MainRAM(LiteXModule):
    """Native ports of 64 bits into one memory of `size` bytes (a power of two).

    `ports` are slaves; `modes` has the mode of each, "both" or "read": one that only reads never takes a write.
    `cmd.addr` counts words of 64 bits, and only as many of its bits count as the memory has. As with LiteDRAM,
    `rdata.ready` is ignored: a master requests only what it has room for.
    """
    def __init__(self, size, read_latency=8, modes=("both", "both")):
        if size < DATA_WIDTH // 8 * 2 or size & (size - 1):
            raise ValueError(f"main RAM of {size} bytes: give a power of two, at least {DATA_WIDTH // 8 * 2}")
        if len(modes) > len(SALTS):
            raise ValueError(f"main RAM with {len(modes)} ports: it has at most {len(SALTS)}")
        self.ports = [LiteDRAMNativePort(mode, address_width=32, data_width=DATA_WIDTH) for mode in modes]

        self.read_latency = CSRStorage(DELAY_WIDTH, reset=read_latency, description="Cycles that the data of a read is "
            f"held back, beyond the {READ_CYCLES} that the memory takes. For reads from now on.")
        self.jitter = CSRStorage(DELAY_WIDTH, description="Most cycles by which a read is late at random, on top of "
            "`read_latency`; 0 for none. Reads of a port never overtake each other.")
        self.seed = CSRStorage(32, description="A write starts each port's random sequence again from this "
            "number (and the port's), so that a run with jitter can be repeated.")

        # # #

        # The simulator knows the memory by this name: it loads programs there, past the ports.
        memory = Memory(DATA_WIDTH, size // (DATA_WIDTH // 8), name="main_ram_storage")
        self.while_idle = []
        self.specials += memory
        for i, port in enumerate(self.ports):
            jitter = Jitter(SALTS[i])
            self.add_module(f"jitter{i}", jitter)
            self.comb += [
                jitter.bound.eq(self.jitter.storage),
                jitter.seed.eq(self.seed.storage),
                jitter.load.eq(self.seed.re),
            ]
            self.add_port(port, memory, jitter)

    def add_port(self, port, memory, jitter):
        """Join `port` to `memory`, each read delayed by the latency register and by `jitter`."""
        count = Signal(max=OUTSTANDING + 1)     # of outstanding reads
        read  = Signal()
        write = Signal()
        self.while_idle.append(Still((count,)))

        # Commands: a write is accepted together with its data.
        self.comb += [
            read.eq(port.cmd.valid & ~port.cmd.we & (count != OUTSTANDING)),
            port.cmd.ready.eq(read | write),
            port.wdata.ready.eq(write),
            jitter.take.eq(read),
        ]
        writes = port.mode == "both"
        access = memory.get_port(write_capable=writes, we_granularity=8 if writes else 0, has_re=True, mode=READ_FIRST)
        self.specials += access
        self.comb += [
            access.adr.eq(port.cmd.addr),
            access.re.eq(read),
        ]
        if writes:
            self.comb += [
                write.eq(port.cmd.valid & port.cmd.we & port.wdata.valid),
                access.dat_w.eq(port.wdata.data),
                If(write, access.we.eq(port.wdata.we)),
            ]
        self.add_answers(port, jitter, count, read, access.dat_r)

    def add_answers(self, port, jitter, count, read, word):
        """`word` is in a queue from the cycle after next to its `read`, and leaves after its delay."""
        produce = Signal(max=OUTSTANDING)
        consume = Signal(max=OUTSTANDING)
        now     = Signal(NOW_WIDTH)
        filled  = Signal()
        respond = Signal()
        queue = Memory(DATA_WIDTH, OUTSTANDING)
        times = Memory(NOW_WIDTH, OUTSTANDING)
        fill, head      = queue.get_port(write_capable=True), queue.get_port(async_read=True)
        stamp, deadline = times.get_port(write_capable=True), times.get_port(async_read=True)
        self.specials += queue, times, fill, head, stamp, deadline

        filling  = Signal(max=OUTSTANDING)
        overdue  = Signal(NOW_WIDTH)
        self.comb += [
            stamp.adr.eq(produce),
            stamp.dat_w.eq(now + self.read_latency.storage + jitter.value + READ_CYCLES),
            stamp.we.eq(read),
            fill.adr.eq(filling),
            fill.dat_w.eq(word),
            fill.we.eq(filled),

            head.adr.eq(consume),
            deadline.adr.eq(consume),
            overdue.eq(now - deadline.dat_r),
            respond.eq((count != 0) & ~overdue[-1]),
            port.rdata.valid.eq(respond),
            port.rdata.data.eq(head.dat_r),
        ]
        self.sync += [
            filled.eq(read),
            filling.eq(produce),
            # The clock stops while nothing is under way.
            If(read | (count != 0), now.eq(now + 1)),
            If(read, produce.eq(produce + 1)),
            If(respond, consume.eq(consume + 1)),
            If(read & ~respond,
                count.eq(count + 1)
            ).Elif(respond & ~read,
                count.eq(count - 1)
            ),
        ]
