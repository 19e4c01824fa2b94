"""Boot arguments: words NAME=VALUE, set by `--set` and an experiment's `bootargs`.

KERNEL has those of every image, OF_FILES those that a run reads (`run=NAME`, kernel/init/run.h), by the file below
kernel/ that reads them. C gets them from `generated/boot.h` (headers.py): `bootargs_number(BOOT(kernel, hz))`.
"""

import dataclasses
from collections.abc import Iterable

from support.parameters.declared import Parameter, ParameterError, close_match
from support.parameters.machine import MACHINE, MOST_CYCLES, OTHER_REGISTERS

MOST = 0xffff_ffff
RUN = "run"         # names the run, so it is not checked here


def _number(name: str, default: int | None, most: int, help: str, unit: str = "", least: int = 0) -> Parameter:
    return Parameter(name, help, default, unit, (least, most), ways=("boot",))


def _flag(name: str, help: str) -> Parameter:
    return _number(name, 0, 1, f"1: {help}")


def _word(name: str, default: str, choices: Iterable[str], help: str) -> Parameter:
    return Parameter(name, help, default, choices=tuple(choices), ways=("boot",))


def _text(name: str, default: str, help: str) -> Parameter:
    return Parameter(name, help, default, ways=("boot",))


def _rounds(default: int = 60, most: int = 1_000_000, help: str = "how often it is done") -> Parameter:
    return _number("rounds", default, most, help)


def _bytes(default: int, most: int, help: str) -> Parameter:
    return _number("bytes", default, most, help, "bytes")


def _baud(name: str, default: int, most: int, help: str) -> Parameter:
    return _number(name, default, most, help, "bit/s", 50)


REGISTERS = tuple(parameter for parameter in (MACHINE | OTHER_REGISTERS).values() if "boot" in parameter.ways)
LATENCY = _number("link_latency", None, MOST_CYCLES, "link_read_latency and link_write_latency, where these are not "
                  "given themselves", "cycles")
# Which boot arguments set a register: that of its name, and these.
SET_BY = {"link_read_latency": (LATENCY.name,), "link_write_latency": (LATENCY.name,), "link_seed": ("seed",),
          "ram_seed": ("seed",)}

KERNEL = (
    _text(RUN, "hello", "what to run; a wrong name prints what the image has"),
    _number("seed", 0, 0x7fff_ffff, "perturbs memory, link and clock where they have a jitter, and the tests"),
    _number("hz", 100, 100_000, "clock ticks on each hart, 0: none", "ticks/s"),
    _number("hz.jitter", 0, MOST, "a tick is late by a random time of at most this and its period", "cycles"),
    *REGISTERS,
    LATENCY,
    _baud("console.baud", 115_200, 60_000_000, "bit rate of the console"),
    _word("gdb", "0", ("0", "1", "wait"), "1: a debugger may attach on the data port; wait: the run begins when it "
          "continues"),
    _baud("gdb.baud", 115_200, 10_000_000, "bit rate of the data port for the debugger"),
    _text("program", "hello", "run=user: a program of the image"),
    _text("args", "", "run=user, run=andrew and others: the program's arguments, separated by commas"),
    _word("root", "archive", ("archive", "disk0", "disk1"), "the root file system of programs"),
    _number("bufs", 128, 1024, "buffers of the buffer cache", "buffers"),
    _number("bufchains", None, 1024, "hash chains of the buffer cache, a power of two; default: 32 or more, "
            "by the number of buffers", "chains"),
    _flag("journal", "file systems whose image has a journal write it"),
    _number("inodes", 256, 100_000, "inodes in memory at a time", "inodes"),
    _text("swap", "", "path of the file that pages are paged out to"),
    _number("user.pages", None, 262_144, "pages of 4 KiB of all processes together; default: what RAM has", "pages"),
    _number("user.id", 2, 0x7fff_ffff, "number of the first process; the following ones count up, and start again here",
            least=2),
    _number("threads", None, MOST, "threads at most, with those of the kernel; default: any number",
            "threads"),
    _number("vm.swap", 0, MOST, "pages of the RAM disk that pages are paged out to; half of RAM at most",
            "pages"),
    _number("vm.ahead", 16, 16, "zero pages that a fault of a sequential writer maps at most; 1: only its own",
            "pages"),
    _flag("zones", "the run ends with a @zone line of counts for each zone"),
    _flag("intr.master", "hart 0 alone handles interrupts of devices, as always in the serial kernel"),
    _number("biodone.threads", 1, 4, "biodone_threads, with a disk", "threads", 1),
    _word("disk.mode", "dma", ("dma", "pio"), "how data move: by DMA, or by programmed I/O"),
    _number("disk.cluster", 16, 16, "sectors for one interrupt of programmed I/O", "sectors", 1),
    _number("disk.seek", 0, 1, "1: the end of a seek interrupts, too"),
    _number("disk.depth", 8, 16, "DMA requests that a drive has at a time", "requests", 1),
    _number("disk.hart", 0, 7, "the hart that handles the disks' interrupts"),
    _number("disk.patience", 1000, 1_000_000, "time after which a drive that does not answer is reset", "ms"),
    _number("disk.data_cycles", 2, 255, "cycles of an access to the data register", "cycles"),
    _word("lockstat", "classes", ("classes", "sites", "none"), "with lock_stats=1: the @lockstat lines at the end: for "
          "classes, also for sites, or none"),
    _number("node", 0, 65_534, "number of this machine among several, where the simulator does not give it"),
    _number("nodes", 1, 65_535, "number of machines", "machines", 1),
    _number("net.databases", None, 8, "tcpip=krp-many: databases, a designated hart each; default: half of the harts",
            least=1),
    _number("net.hart", None, 7, "tcpip=krp, krp-many: the first designated hart; default: the last harts are"),
    _number("net.ip", None, MOST, "own address; default: 10.0.0.2 plus the node's number"),
    _number("net.gateway", 0, MOST, "router to other networks, an address of the own one; 0: none"),
    _number("net.mac", None, 255, "last byte of 02:49:4c:4b:00:xx; default: that of net.ip"),
    _number("net.mbits", 100, 1000, "rate of the wire: 10, 100 or 1000", "Mbit/s", 10),
    _number("net.moderate", 1, 255, "received frames for one interrupt; 63, a full ring, at most", "frames"),
    _number("net.moderate.cycles", 0, 0xff_ffff, "time after which fewer frames interrupt; 0: never", "cycles"),
    _number("net.mbufs", None, 65_536, "mbufs at most; default: one for each free page of RAM, a thirtieth of it",
            "mbufs", 320),
    _number("net.clusters", None, 65_536, "clusters of 2,000 bytes at most; default: a quarter of the free RAM",
            "clusters", 320),
    _number("net.secret", 0, MOST, "key of the ports and initial sequence numbers that are chosen"),
    _number("net.threads", 1, 4, "netisr_threads", "threads", 1),
    _number("net.queue", 50, 1000, "packets that ipintrq holds; net=softint: that wait in each receive queue; "
            "tcpip=krp, krp-many: that wait for each database", "packets"),
    _number("net.quota", 8, MOST, "net=poll: frames that are taken from a queue in one turn", "frames"),
    _number("net.share", 100, 100, "net=poll: share of a clock tick to poll frames before other threads run",
            "percent"),
    _text("nfs", "", "with the build option nfs: a server's directory to mount on /mnt, ADDRESS:/PATH, then "
          "vers=2, vers=3, soft or hard after commas"),
    _number("nfs.timeo", 20, 60_000, "least time until a call is sent again; doubled each time", "ms", 1),
    _number("nfs.attr", 3000, 600_000, "time for which a file's attributes are cached", "ms"),
    _number("nfs.lose", 0, 900, "lost of 1,000 messages, calls and answers, drawn by seed", "messages"),
    _number("nfs.repeat", 0, 900, "calls of 1,000 that are sent twice, drawn by seed", "messages"),
    _number("nfsd.threads", 2, 8, "run=nfsd: threads that serve NFS", "threads", 1),
    _flag("nfsd.read_only", "run=nfsd: changes by clients are refused"),
    _number("nfsd.until", 1, 1000, "run=nfsd: the run ends after so many unmounts by clients", "times", 1),
    _number("ipc.retry", 20, 10_000, "time until a packet between nodes is sent again", "ms", 1),
    _number("ipc.tries", 12, 31, "retransmissions of a packet after which its node is given up; the time between them "
            "doubles, up to 32 times", "times", 1),
    _number("ipc.probe", 1000, 60_000, "silence after which a node that has rights is probed; 0: never", "ms"),
    _number("ipc.cut", 0, 60_000_000, "time from the start until node ipc.cut.node is cut off; 0: never", "us"),
    _number("ipc.heal", 0xffff_ffff, MOST, "time from the cut until that node is connected again", "us"),
    _number("ipc.cut.node", 1, 1023, "node that ipc.cut cuts", "node"),
    _number("ipc.lose", 0, 900, "lost of 1,000 frames between nodes, drawn by seed", "frames"),
    _number("ipc.repeat", 0, 900, "frames of 1,000 between nodes that arrive twice, drawn by seed", "frames"),
    _number("ipc.servers", 4, 64, "threads that serve requests of other nodes, at the start", "threads", 1),
)

_SAMPLES = "interrupts of each way"
_HANDLERS = _flag("handlers", "also measures whole interrupts")
_PATIENCE = _number("patience", 200, 1_000_000, "character times after which missing characters are lost", "characters")
_FIFO = _number("fifo", None, 65_536, "depth of the port's FIFOs; default: as built", "characters", 1)
_AGAIN = "rounds of the random tests"

OF_FILES: dict[str, tuple[Parameter, ...]] = {
    "bench/andrew": (_number("poll", 100, 100_000, "with crit_timing=1: time between two polls", "ms"),),
    "bench/designated": (
        _number("operations", 200, 2000, "operations of all threads together", "operations", 1),
        _number("parallel", 2000, 1_000_000, "cycles of each operation outside of the database", "cycles"),
        _number("lines", 16, 64, "cache lines that each operation updates", "lines", 1)),
    "bench/disk": (
        _word("op", "read", ("read", "write"), "the operation"),
        _bytes(65_536, 1 << 30, "bytes to move in all"),
        _number("request", 8192, 65_536, "size of each request", "bytes"),
        _number("requests", 1, 16, "requests under way at once", "requests", 1),
        _number("unit", 0, 1, "the drive"),
        _flag("waits", "a thread waits for each request before it makes the next"),
        _HANDLERS,
        _flag("busy", "a thread on each hart reads memory meanwhile")),
    "bench/ether_livelock": (
        _text("periods", "20000,5000,2000,1000", "periods of the datagrams in cycles, measured one after the other"),
        _bytes(18, 1472, "size of a datagram"),
        _number("window", 600_000, 60_000_000, "duration of each period", "cycles"),
        _flag("feedback", "a full queue of the reader stops the interface"),
        _number("late", 0, 10_000_000, "delay from reading the queue's length to stopping the interface", "cycles")),
    "bench/ether_webstone": (_number("poll", 100, 100_000, "with crit_timing=1: time between two polls", "ms"),),
    "bench/file_cost": (
        _number("iterations", 200, 100_000, "repetitions of each call", "calls", 1),
        _number("reads", 400, 1_000_000, "reads of each thread", "calls"),
        _number("readers", 8, 8, "reading threads at most; 0: none", "threads")),
    "bench/file_rate": (
        _bytes(131_072, 1 << 20, "size of the file"),
        _number("piece", 4096, 32_768, "size of a write and a read", "bytes", 8),
        _number("block", 1024, 4096, "block of the file system", "bytes", 1024)),
    "bench/handler_floor": (
        _word("device", "dma", ("dma", "request", "pio", "ether", "reply"), "what is measured"),
        _rounds(32, 1024),
        _number("burst", 1, 16, "frames that arrive at once", "frames", 1)),
    "bench/intr_floor": (_number("samples", 64, 200, "interrupts to measure", "interrupts", 1),),
    "bench/intr_latency": (
        _number("samples", 50, 1000, _SAMPLES, "interrupts", 1),
        _number("section", 200, 100_000, "longest section of the load", "cycles")),
    "bench/line_transfer": (_number("transfers", 400, 1_000_000, "transfers of a line between harts", "transfers"),),
    "bench/lock_cost": (
        _number("iterations", 200, 1_000_000, "repetitions of each pair", "pairs", 1),
        _number("section", 100, 100_000, "time for which a thread holds the lock", "cycles"),
        _number("pause", 200, 100_000, "time between two acquisitions of a thread", "cycles"),
        _rounds(50, 100_000)),
    "bench/lock_floor": (_number("iterations", 1000, 1_000_000, "iterations of each loop", "iterations", 1),),
    "bench/losses": (
        _bytes(512, 65_536, "bytes that arrive on the data port"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _number("request", 32_768, 65_536, "size of each disk request", "bytes"),
        _number("frame.period", 0, 0xf_ffff, "period of the datagrams; 0: none arrive", "cycles"),
        _number("frame.bytes", 18, 1472, "size of a datagram", "bytes"),
        _FIFO,
        _number("flow", 0, 2, "what controls RTS: 0 nothing, 1 the driver, 2 the port"),
        _PATIENCE),
    "bench/master": (
        _number("pairs", 40, 100_000, "pairs to measure", "pairs", 1),
        _number("section", 2000, 10_000_000, "work on the master, for each operation", "cycles"),
        _number("pause", 2000, 10_000_000, "work on any hart, for each operation", "cycles"),
        _number("operations", 40, 1_000_000, "operations of each thread", "operations")),
    "bench/nnb": (
        _word("by", "processes", ("processes", "threads", "kernel"), "what users are"),
        _text("tests", "1,3,8,18", "which tests"),
        _text("users", "1,2,3,4,6,8,11,16,20", "numbers of users, measured one after the other"),
        _number("size", 1, 1000, "factor on the work of each test"),
        _number("file", 12, 1024, "size of each working file", "KiB"),
        _number("average", 1, 1000, "repetitions of test 1 (bench/nnb_tests.h)"),
        _number("loops", 1, 1000, "loops of tests 3 and 18"),
        _number("calls", 1000, 1_000_000, "calls of test 8", "calls"),
        _number("reads", 10, 10_000, "reads of test 18", "calls")),
    "bench/scheduler": (
        _number("operations", 100, 1_000_000, "operations of each thread", "operations", 1),
        _number("samples", 30, 200, "wakeups to measure", "wakeups", 1)),
    "bench/serial": (
        _bytes(512, 65_536, "bytes that arrive on the data port"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _text("crc", "", "the CRC-32 of the expected bytes, hexadecimal"),
        _PATIENCE,
        _number("poll", 0, 65_536, "with crit_timing=1: bytes between two polls; 0: no polls", "bytes"),
        _number("busy.us", 0, 100_000, "duration of another device's handler", "us"),
        _number("busy.rate", 321, 10_000, "rate of that device's interrupts", "interrupts/s"),
        _FIFO,
        _HANDLERS,
        _flag("player", "on a board: the player sends the bytes that the host wrote to serial_input (hw/player)")),
    "bench/remote_copy": (_number("rounds", 3, 1000, "copies of each kind over each number of nodes", "copies", 1),),
    "bench/softint_cost": (_number("samples", 64, 256, "soft interrupts to measure", "interrupts", 1),),
    "bench/spinlocks": (
        _text("section", "0,100,400", "cycles that a hart holds the lock, measured one after the other"),
        _number("pause", 100, 1_000_000, "time between two acquisitions of a hart, plus or minus half of it", "cycles"),
        _number("window", 40_000, 8192 * 40, "duration of the measurement of each section", "cycles"),
        _number("lines", 10, 128, "cache lines of memory that the last section reads", "lines")),
    "bench/switch_floor": (_number("iterations", 200, 1_000_000, "switches", "switches", 1),),
    "bench/synthetic": (
        _number("section", 276, 8000, "mean length of a section", "cycles"),
        _number("gap", 1389, 8000, "mean work between two sections", "cycles"),
        _number("interval", 6000, 1 << 27, "mean time between interrupts of a hart; 0: no interrupts", "cycles"),
        _number("handler", 200, 1_000_000, "duration of a handler", "cycles"),
        _number("sections", 600, 100_000, "sections of each hart", "sections"),
        _word("lock", "none", ("none", "own", "shared"), "the lock of each section: none, the hart's, or one for all"),
        _number("mask", 1, 1, "0: the same work with no masking at all"),
        _number("poll", 0, 1 << 30, "with crit_timing=1: time between two polls; 0: no polls", "cycles")),
    "bench/table5": (_number("iterations", 100_000, 1_000_000, "repetitions of each scheme's pair", "pairs", 1),),
    "bench/vm_chain": (_number("children", 16, 24, "children of a parent at most", "maps"),),
    "bench/vm_cost": (
        _number("pages", 48, 500, "pages that each hart faults", "pages"),
        _flag("parallel", "only measures faults of all harts at once")),
    "bench/zone_cost": (_number("iterations", 1000, 1_000_000, "repetitions of each pair", "pairs", 1),),
    "test/accounting": (_rounds(8),),
    "test/call": (_rounds(), _text("misuse", "", "nested: a call is made from within a call")),
    "test/calling": (
        _number("calls", 30, 1_000_000, "interrupts raised during the calls of each kind", "interrupts"),
        _number("ways", 6, 6, "kinds of calls", "kinds", 1)),
    "test/clock": (_rounds(),),
    "test/console": (
        _bytes(12_800, 1_000_000, "bytes to write"),
        _flag("brim", "only lines that are just too long for the ring's room")),
    "test/damaged": (
        _number("images", 8, 1_000_000, "damaged images", "images"),
        _number("first", 0, 1_000_000, "number of the first image")),
    "test/debug": (_flag("calls", "the harts call each other meanwhile"),),
    "test/designated": (_rounds(),),
    "test/disestablish": (
        _rounds(), _text("misuse", "", "calls it from the wrong place: section, handler or softint")),
    "test/disk": (
        _number("sectors", None, 2048, "sectors of the drive to use; default: all", "sectors"),
        _rounds(40, help="requests of each thread"),
        _flag("faults", "the drive has faults")),
    "test/disks": (_rounds(20, 100_000), _number("dies", 0, 3, "mask of the drives that stop answering")),
    "test/ether_echo": (
        _number("echoes", 0, MOST, "ends after so many echo requests; 0: any number", "packets"),
        _number("frames", MOST, MOST, "ends after so many frames", "frames"),
        _number("ms", 1000, 1_000_000, "ends after so long", "ms"),
        _number("again", 0, 1000, "restarts of the interface"),
        _HANDLERS),
    "test/ether_ping": (
        _number("to", None, MOST, "the address to ask; default: the next node's"),
        _number("count", 10, 1024, "echo requests", "packets"),
        _bytes(56, 1472, "size of each request's data"),
        _number("behind", 0, 1472, "size of a second request directly after every other one; 0: none", "bytes"),
        _number("us", 1000, 1_000_000, "time between two requests", "us"),
        _number("ms", 20, 100_000, "time after which a missing answer counts as lost", "ms"),
        _number("start", 60_000, MOST, "time until the first request", "cycles")),
    "test/ether_restart": (
        _number("senders", 1, 12, "threads that send during the restarts", "threads"),
        _number("us", 20, 1_000_000, "time between two packets", "us"),
        _number("ms", 1, 1000, "time between two restarts", "ms"),
        _number("again", 3, 1000, "restarts of the interface")),
    "test/event": (_rounds(),),
    "test/exclusion": (_rounds(),),
    "test/fs": (
        _rounds(40, help="operations of each thread"),
        _bytes(6000, 6000, "greatest size of a file"),
        _number("workers", None, 8, "threads; default: two for each hart", "threads")),
    "test/full": (
        _number("turns", 3, 1000, "how often the table is filled and emptied"),
        _flag("by_memory", "also until memory is exhausted")),
    "test/hang": (_word("lock", "simple", ("simple", "mutex"), "the kind of locks"),),
    "test/ithread": (_rounds(),),
    "test/join": (_number("step", 30, 1600, "difference of the times of its interrupts", "cycles", 1),),
    "test/last_user": (_rounds(),),
    "test/litmus": (
        _text("shape", "", "only shapes whose name begins so"),
        _word("model", "rvwmo", ("rvwmo", "sc"), "the memory model that outcomes are checked against"),
        _rounds(12)),
    "test/locks": (_rounds(),),
    "test/lockstat": (_rounds(10),),
    "test/lost": (_rounds(),),
    "test/mask": (_rounds(),),
    "test/master": (_rounds(20, 100_000),),
    "test/panic": (
        _word("how", "level", ("level", "pic", "lock", "call", "called", "deaf"), "run=test-panic-stop: what the other "
              "hart does"),
        _word("where", "deep", ("deep", "switch", "handler", "fault"), "run=test-overflow: where the stack overflows")),
    "test/process_fuzz": (
        _rounds(1, 100_000),
        _number("calls", 1000, 1_000_000, "calls of all processes together", "calls"),
        _number("dear", 1, 1000, "makes one in so many of the calls that create or end processes", "", 1),
        _number("life", 100, 1_000_000, "time after which a process is killed", "ticks")),
    "test/program_fuzz": (_rounds(),),
    "test/race": (_rounds(60, 100_000), _word("plant", "none", ("none", "level", "lock"), "the planted race")),
    "test/replay": (_rounds(),),
    "test/ring": (
        _number("laps", 2, 100_000, "rounds of the message", "laps"),
        _bytes(8, 256, "size of the message"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data ports"),
        _number("start", 30_000, 100_000_000, "time at which node 0 sends first", "cycles")),
    "test/scheduler": (_rounds(60, 100_000),),
    "test/serial": (
        _bytes(300, 100_000, "bytes that arrive on the data port"),
        _number("hart", None, 7, "hart that handles the port; default: the last"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _flag("hold", "the soft interrupt waits until all bytes have arrived")),
    "test/shootdown": (_rounds(),),
    "test/spinlocks": (_rounds(),),
    "test/text": (_rounds(40, 2000),),
    "test/timeout": (_rounds(),),
    "test/unmount": (
        _rounds(20, help="times to unmount"),
        _number("tries", 2000, 1_000_000, "refused tries at most", "tries"),
        _number("workers", 1, 8, "threads", "threads"),
        _number("filler", 0, 1000, "files of the first disk whose inodes are in the table", "files"),
        _number("files", 30, 100, "files in the folder", "files"),
        _flag("there", "the inodes of these files are in the table, too, after each mount")),
    "test/user_ends": (_rounds(20, 100_000),),
    "test/user_fuzz": (_number("calls", 250, 1_000_000, "calls of the program", "calls"), _rounds(1, 10_000)),
    "test/vm": (_rounds(),),
    "test/wakeup": (
        _number("delivery.last", 6000, MOST_CYCLES, "greatest delivery delay tested", "cycles"),
        _number("delivery.step", 75, MOST_CYCLES, "step of the delivery delay", "cycles", 1),
        _rounds(1)),
    "test/wrong_locks": (_text("rule", "", "which rule to break; a wrong name prints the list"),),
    "test/yielding": (_rounds(4, 100_000),),
    "test/zone": (_rounds(),),
}


def known_to(files: Iterable[str] | None) -> dict[str, list[Parameter]]:
    """The boot arguments, by name, that an image with the runs in these files reads (below kernel/, without suffix;
    None: any): a name that two of the files have is declared twice."""
    found: dict[str, list[Parameter]] = {}
    for parameter in (*KERNEL, *(one for file, of_file in OF_FILES.items() if files is None or file in files
                                 for one in of_file)):
        found.setdefault(parameter.name, []).append(parameter)
    return found


def widest(declared: list[Parameter]) -> Parameter:
    """Of a name that is declared more than once: the union of the values."""
    first, *others = declared
    if others and all(one.range for one in declared):
        ranges = [one.range or (0, 0) for one in declared]
        return dataclasses.replace(first, range=(min(low for low, _ in ranges), max(high for _, high in ranges)))
    return first


def checked(words: Iterable[str], files: Iterable[str] | None = None):
    """ParameterError for the first of the words NAME=VALUE that an image with these files does not know or take."""
    known = known_to(files)
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition("=")
        if not separator or not name:
            raise ParameterError(f"boot argument {word!r}: give it as NAME=VALUE")
        if name in given:
            raise ParameterError(f"boot argument {name}: it is given twice, {given[name]} and {value}; give one")
        given[name] = value
        if name not in known:
            readers = [file for file, of_file in OF_FILES.items() if name in (one.name for one in of_file)]
            raise ParameterError(f"boot argument {name}: this run does not read it, leave it out" if readers else
                                 f"there is no boot argument {name}{close_match(name, known)}")
        if name != RUN:
            _one_of(known[name], value)


def _one_of(declared: list[Parameter], value: str):
    errors = []
    for parameter in declared:
        try:
            parameter.parse(value)
            return
        except ParameterError as error:
            errors.append(error)
    raise ParameterError(f"boot argument {errors[0]}")
