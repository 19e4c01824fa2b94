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
    _number("hz.jitter", 0, MOST, "most by which a tick is late at random, up to its period", "cycles"),
    *REGISTERS,
    LATENCY,
    _baud("console.baud", 115_200, 60_000_000, "bit rate of the console"),
    _word("gdb", "0", ("0", "1", "wait"), "1: a debugger may attach on the data port; wait: the run begins when it "
          "continues"),
    _baud("gdb.baud", 115_200, 10_000_000, "bit rate of the data port then"),
    _text("program", "hello", "run=user: a program of the image"),
    _text("args", "", "run=user, run=andrew and the like: words for the program, with commas between"),
    _word("root", "archive", ("archive", "disk0", "disk1"), "what programs have for their root"),
    _number("bufs", 128, 1024, "buffers of the buffer cache", "buffers"),
    _number("bufchains", None, 1024, "chains of its hash, a power of two; 32 or more, by the number of buffers",
            "chains"),
    _flag("journal", "the file systems that have room for one keep a journal"),
    _number("inodes", 256, 100_000, "inodes in memory at a time", "inodes"),
    _text("swap", "", "a file that takes what has to leave memory, by its path"),
    _number("user.pages", None, 262_144, "pages of 4 KiB that processes can have, all together; what RAM has", "pages"),
    _number("user.id", 2, 0x7fff_ffff, "number of the first process; the next ones count up, and begin anew",
            least=2),
    _number("threads", None, MOST, "threads that there can be at most, those of the kernel with them; any number",
            "threads"),
    _number("vm.swap", 0, MOST, "pages of the RAM disk that takes what has to leave memory; half of RAM at most",
            "pages"),
    _number("vm.ahead", 16, 16, "pages of 0 that a fault gives at most to a thread that writes in order; 1: its own",
            "pages"),
    _flag("zones", "the run ends with a @zone line of counts for each zone"),
    _flag("intr.master", "interrupts of devices are handled on hart 0 only, as always in the serial kernel"),
    _number("biodone.threads", 1, 4, "biodone_threads, with a disk", "threads", 1),
    _word("disk.mode", "dma", ("dma", "pio"), "how data come from the drive: by DMA, or by programmed I/O"),
    _number("disk.cluster", 16, 16, "sectors for one interrupt of programmed I/O", "sectors", 1),
    _number("disk.seek", 0, 1, "1: an interrupt when a seek has ended, too"),
    _number("disk.depth", 8, 16, "requests that a drive has at a time, with DMA", "requests", 1),
    _number("disk.hart", 0, 7, "the hart that handles its interrupts"),
    _number("disk.patience", 1000, 1_000_000, "time until a drive that says nothing is reset", "ms"),
    _number("disk.data_cycles", 2, 255, "that a word of the data register takes", "cycles"),
    _word("lockstat", "classes", ("classes", "sites", "none"), "with lock_stats=1: the @lockstat lines at the end: of "
          "classes, of sites too, or none"),
    _number("node", 0, 65_534, "which of several machines this is, where nothing outside tells"),
    _number("nodes", 1, 65_535, "how many there are", "machines", 1),
    _number("net.databases", None, 8, "of tcpip=krp-many, each with a designated hart; half as many as there are harts",
            least=1),
    _number("net.hart", None, 7, "tcpip=krp, krp-many: the first designated hart; else the last ones are it"),
    _number("net.ip", None, MOST, "own address; 10.0.0.2 and the node's number"),
    _number("net.mac", None, 255, "last byte of 02:49:4c:4b:00:xx; the address's last byte"),
    _number("net.mbits", 100, 1000, "10, 100 or 1000, as the wire has", "Mbit/s", 10),
    _number("net.moderate", 1, 255, "frames for one interrupt; a full ring of 63 at the most", "frames"),
    _number("net.moderate.cycles", 0, 0xff_ffff, "after which fewer do; 0: never", "cycles"),
    _number("net.secret", 0, MOST, "makes ports and first numbers of sequence others"),
    _number("net.threads", 1, 4, "netisr_threads", "threads", 1),
    _number("net.queue", 50, 1000, "packets that ipintrq holds; with net=softint, of each receive queue that wait; "
            "with tcpip=krp, krp-many, of each database",
            "packets"),
    _number("net.quota", 8, MOST, "net=poll: frames of a queue that are taken in turn", "frames"),
    _number("net.share", 100, 100, "net=poll: of a clock tick, for which frames are polled before others run",
            "percent"),
    _text("nfs", "", "with the build option nfs: ADDRESS:/PATH of a server's directory that is mounted on /mnt, and "
          "behind commas vers=2, vers=3, soft, hard"),
    _number("nfs.timeo", 20, 60_000, "until a call is sent again, at least; each time takes twice as long", "ms", 1),
    _number("nfs.attr", 3000, 600_000, "for which a file's attributes are believed", "ms"),
    _number("nfs.lose", 0, 900, "of 1,000 messages, calls and answers, that are lost, by seed", "messages"),
    _number("nfs.repeat", 0, 900, "of 1,000 calls that are sent twice, by seed", "messages"),
    _number("nfsd.threads", 2, 8, "run=nfsd: threads that serve NFS", "threads", 1),
    _flag("nfsd.read_only", "run=nfsd: nothing is changed for clients"),
    _number("nfsd.until", 1, 1000, "run=nfsd: unmounts by clients after which it ends", "times", 1),
    _number("ipc.retry", 20, 10_000, "until a packet between nodes is sent again", "ms", 1),
    _number("ipc.tries", 12, 31, "of sending a packet again, after which its node is given up; each takes twice as "
            "long as the one before, up to 32 times", "times", 1),
    _number("ipc.probe", 1000, 60_000, "of silence after which a node that has rights is asked whether it is there; 0: "
            "never", "ms"),
    _number("ipc.cut", 0, 60_000_000, "from the start, after which the wire does not reach node ipc.cut.node; 0: it "
            "always does", "us"),
    _number("ipc.heal", 0xffff_ffff, MOST, "behind that, after which it does again", "us"),
    _number("ipc.cut.node", 1, 1023, "which that is", "node"),
    _number("ipc.lose", 0, 900, "of 1,000 frames between nodes that are lost, by seed", "frames"),
    _number("ipc.repeat", 0, 900, "of 1,000 frames between nodes that come twice, by seed", "frames"),
    _number("ipc.servers", 4, 64, "threads for what other nodes ask the kernel for, at first", "threads", 1),
)

_SAMPLES = "interrupts of each way"
_HANDLERS = _flag("handlers", "times the interrupts as a whole")
_PATIENCE = _number("patience", 200, 1_000_000, "character times until what has not come is lost", "characters")
_FIFO = _number("fifo", None, 65_536, "depth of the port's FIFOs; as they were built", "characters", 1)
_AGAIN = "of the random tests: rounds"

OF_FILES: dict[str, tuple[Parameter, ...]] = {
    "bench/andrew": (_number("poll", 100, 100_000, "with crit_timing=1: between two polls", "ms"),),
    "bench/designated": (
        _number("operations", 200, 2000, "that all threads have to do together", "operations", 1),
        _number("parallel", 2000, 1_000_000, "of each operation that are not in the database", "cycles"),
        _number("lines", 16, 64, "cache lines that each updates", "lines", 1)),
    "bench/disk": (
        _word("op", "read", ("read", "write"), "what is done"),
        _bytes(65_536, 1 << 30, "moved in all"),
        _number("request", 8192, 65_536, "bytes of each request", "bytes"),
        _number("requests", 1, 16, "under way at once", "requests", 1),
        _number("unit", 0, 1, "the drive"),
        _flag("waits", "a thread waits for each request before it makes the next"),
        _HANDLERS,
        _flag("busy", "a thread on each hart goes through memory meanwhile")),
    "bench/ether_livelock": (
        _text("periods", "20000,5000,2000,1000", "cycles from datagram to datagram, one after the other"),
        _bytes(18, 1472, "of a datagram"),
        _number("window", 600_000, 60_000_000, "for which each period lasts", "cycles"),
        _flag("feedback", "a full queue of the reader's holds the interface"),
        _number("late", 0, 10_000_000, "from the look at the queue until it is held", "cycles")),
    "bench/ether_webstone": (_number("poll", 100, 100_000, "with crit_timing=1: between two polls", "ms"),),
    "bench/file_cost": (
        _number("iterations", 200, 100_000, "of each call", "calls", 1),
        _number("reads", 400, 1_000_000, "of each thread", "calls"),
        _number("readers", 8, 8, "threads at the most; 0: none", "threads")),
    "bench/file_rate": (
        _bytes(131_072, 1 << 20, "of the file"),
        _number("piece", 4096, 32_768, "that is written and read at a time", "bytes", 8),
        _number("block", 1024, 4096, "of the file system", "bytes", 1024)),
    "bench/handler_floor": (
        _word("device", "dma", ("dma", "request", "pio", "ether", "reply"), "what is timed"),
        _rounds(32, 1024),
        _number("burst", 1, 16, "frames that have come at once", "frames", 1)),
    "bench/intr_floor": (_number("samples", 64, 200, "interrupts", "interrupts", 1),),
    "bench/intr_latency": (
        _number("samples", 50, 1000, _SAMPLES, "interrupts", 1),
        _number("section", 200, 100_000, "of the longest section of the load", "cycles")),
    "bench/line_transfer": (_number("transfers", 400, 1_000_000, "of a cache line from hart to hart", "transfers"),),
    "bench/lock_cost": (
        _number("iterations", 200, 1_000_000, "of each pair", "pairs", 1),
        _number("section", 100, 100_000, "for which each holds the lock", "cycles"),
        _number("pause", 200, 100_000, "for which it stays away", "cycles"),
        _rounds(50, 100_000)),
    "bench/lock_floor": (_number("iterations", 1000, 1_000_000, "of each loop", "iterations", 1),),
    "bench/losses": (
        _bytes(512, 65_536, "that arrive on the data port"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _number("request", 32_768, 65_536, "of each of the disk's requests", "bytes"),
        _number("frame.period", 0, 0xf_ffff, "from datagram to datagram; 0: none come", "cycles"),
        _number("frame.bytes", 18, 1472, "of a datagram", "bytes"),
        _FIFO,
        _number("flow", 0, 2, "what tells the far end to wait: 0 nothing, 1 the driver, 2 the port"),
        _PATIENCE),
    "bench/master": (
        _number("pairs", 40, 100_000, "that are timed", "pairs", 1),
        _number("section", 2000, 10_000_000, "that are wrapped", "cycles"),
        _number("pause", 2000, 10_000_000, "that are not", "cycles"),
        _number("operations", 40, 1_000_000, "of each thread", "operations")),
    "bench/nnb": (
        _word("by", "processes", ("processes", "threads", "kernel"), "what users are"),
        _text("tests", "1,3,8,18", "which tests"),
        _text("users", "1,2,3,4,6,8,11,16,20", "by how many at once, one after the other"),
        _number("size", 1, 1000, "so many times as much of each test"),
        _number("file", 12, 1024, "of each working file", "KiB"),
        _number("average", 1, 1000, "of test 1, bench/nnb_tests.h"),
        _number("loops", 1, 1000, "of tests 3 and 18"),
        _number("calls", 1000, 1_000_000, "of test 8", "calls"),
        _number("reads", 10, 10_000, "of test 18", "calls")),
    "bench/scheduler": (
        _number("operations", 100, 1_000_000, "of each thread", "operations", 1),
        _number("samples", 30, 200, "wakeups that are timed", "wakeups", 1)),
    "bench/serial": (
        _bytes(512, 65_536, "that arrive on the data port"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _text("crc", "", "the CRC-32 that they must have, hexadecimal"),
        _PATIENCE,
        _number("poll", 0, 65_536, "with crit_timing=1: from poll to poll; 0: none", "bytes"),
        _number("busy.us", 0, 100_000, "of another device's handler", "us"),
        _number("busy.rate", 321, 10_000, "of its interrupts", "interrupts/s"),
        _FIFO,
        _HANDLERS,
        _flag("player", "on a board: the bytes are those that the host has put into serial_input (hw/player)")),
    "bench/softint_cost": (_number("samples", 64, 256, "soft interrupts", "interrupts", 1),),
    "bench/spinlocks": (
        _text("section", "0,100,400", "cycles that a hart holds the lock, one after the other"),
        _number("pause", 100, 1_000_000, "for which it stays away, more or less by half", "cycles"),
        _number("window", 40_000, 8192 * 40, "for which each section lasts", "cycles"),
        _number("lines", 10, 128, "of memory that the last section reads", "lines")),
    "bench/switch_floor": (_number("iterations", 200, 1_000_000, "switches", "switches", 1),),
    "bench/synthetic": (
        _number("section", 276, 8000, "of a section, on average", "cycles"),
        _number("gap", 1389, 8000, "of work between two sections, on average", "cycles"),
        _number("interval", 6000, 1 << 27, "between interrupts of a hart, on average; 0: none", "cycles"),
        _number("handler", 200, 1_000_000, "of a handler", "cycles"),
        _number("sections", 600, 100_000, "of each hart", "sections"),
        _word("lock", "none", ("none", "own", "shared"), "with each section: no lock, the hart's own, or one of all"),
        _number("mask", 1, 1, "0: the same work with no masking at all"),
        _number("poll", 0, 1 << 30, "with crit_timing=1: from poll to poll; 0: none", "cycles")),
    "bench/table5": (_number("iterations", 100_000, 1_000_000, "of each scheme's pair", "pairs", 1),),
    "bench/vm_chain": (_number("children", 16, 24, "that a parent has at most", "maps"),),
    "bench/vm_cost": (
        _number("pages", 48, 500, "of each hart's faults", "pages"),
        _flag("parallel", "faults of all harts at once, and nothing else")),
    "bench/zone_cost": (_number("iterations", 1000, 1_000_000, "of each pair", "pairs", 1),),
    "test/accounting": (_rounds(8),),
    "test/call": (_rounds(), _text("misuse", "", "nested: a call is made from within a call")),
    "test/calling": (
        _number("calls", 30, 1_000_000, "interrupts that are raised while calls of a kind are made", "interrupts"),
        _number("ways", 6, 6, "kinds of calls", "kinds", 1)),
    "test/clock": (_rounds(),),
    "test/console": (
        _bytes(12_800, 1_000_000, "that are written"),
        _flag("brim", "only lines that the ring has just no room for")),
    "test/damaged": (
        _number("images", 8, 1_000_000, "damaged images", "images"),
        _number("first", 0, 1_000_000, "the number of the first")),
    "test/debug": (_flag("calls", "the harts call each other meanwhile"),),
    "test/designated": (_rounds(),),
    "test/disestablish": (
        _rounds(), _text("misuse", "", "where it is called wrongly: section, handler or softint")),
    "test/disk": (
        _number("sectors", None, 2048, "of the drive that are used; all", "sectors"),
        _rounds(40, help="requests of each thread"),
        _flag("faults", "the drive has faults")),
    "test/disks": (_rounds(20, 100_000), _number("dies", 0, 3, "which drives stop to answer, a mask")),
    "test/ether_echo": (
        _number("echoes", 0, MOST, "echo requests until it ends; 0: any number", "packets"),
        _number("frames", MOST, MOST, "until it ends", "frames"),
        _number("ms", 1000, 1_000_000, "until it ends", "ms"),
        _number("again", 0, 1000, "how often the core is set up anew"),
        _HANDLERS),
    "test/ether_ping": (
        _number("to", None, MOST, "the address; the next node's"),
        _number("count", 10, 1024, "echo requests", "packets"),
        _bytes(56, 1472, "of each"),
        _number("behind", 0, 1472, "bytes of every second one, right behind the one before; 0: none is", "bytes"),
        _number("us", 1000, 1_000_000, "from one to the next", "us"),
        _number("ms", 20, 100_000, "until what has not come is lost", "ms"),
        _number("start", 60_000, MOST, "until the first", "cycles")),
    "test/ether_restart": (
        _number("senders", 1, 12, "threads that send meanwhile", "threads"),
        _number("us", 20, 1_000_000, "from packet to packet", "us"),
        _number("ms", 1, 1000, "from restart to restart", "ms"),
        _number("again", 3, 1000, "how often the core is set up anew")),
    "test/event": (_rounds(),),
    "test/exclusion": (_rounds(),),
    "test/fs": (
        _rounds(40, help="operations of each thread"),
        _bytes(6000, 6000, "that a file has at most"),
        _number("workers", None, 8, "threads; two a hart", "threads")),
    "test/full": (
        _number("turns", 3, 1000, "how often the table is filled and emptied"),
        _flag("by_memory", "until memory is out, too")),
    "test/hang": (_word("lock", "simple", ("simple", "mutex"), "the kind of locks"),),
    "test/ithread": (_rounds(),),
    "test/join": (_number("step", 30, 1600, "by which its interrupts differ", "cycles", 1),),
    "test/last_user": (_rounds(),),
    "test/litmus": (
        _text("shape", "", "only those whose name begins so"),
        _word("model", "rvwmo", ("rvwmo", "sc"), "the memory model that outcomes are held to"),
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
        _number("calls", 1000, 1_000_000, "of all processes together", "calls"),
        _number("dear", 1, 1000, "of calls that make or end processes, one in so many is made", "", 1),
        _number("life", 100, 1_000_000, "after which a process is ended", "ticks")),
    "test/program_fuzz": (_rounds(),),
    "test/race": (_rounds(60, 100_000), _word("plant", "none", ("none", "level", "lock"), "the race that is in it")),
    "test/replay": (_rounds(),),
    "test/ring": (
        _number("laps", 2, 100_000, "rounds of the message", "laps"),
        _bytes(8, 256, "of the message"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data ports"),
        _number("start", 30_000, 100_000_000, "until node 0 sends", "cycles")),
    "test/scheduler": (_rounds(60, 100_000),),
    "test/serial": (
        _bytes(300, 100_000, "that arrive on the data port"),
        _number("hart", None, 7, "whose port it is; the last"),
        _baud("baud", 115_200, 15_000_000, "bit rate of the data port"),
        _flag("hold", "the soft interrupt waits until all has come")),
    "test/shootdown": (_rounds(),),
    "test/spinlocks": (_rounds(),),
    "test/text": (_rounds(40, 2000),),
    "test/timeout": (_rounds(),),
    "test/unmount": (
        _rounds(20, help="of unmounting"),
        _number("tries", 2000, 1_000_000, "that are refused at most", "tries"),
        _number("workers", 1, 8, "threads", "threads"),
        _number("filler", 0, 1000, "files of the first disk whose inodes are in the table", "files"),
        _number("files", 30, 100, "in the folder", "files"),
        _flag("there", "their inodes are in the table, too, after each mount")),
    "test/user_ends": (_rounds(20, 100_000),),
    "test/user_fuzz": (_number("calls", 250, 1_000_000, "of the program", "calls"), _rounds(1, 10_000)),
    "test/vm": (_rounds(),),
    "test/wakeup": (
        _number("delivery.last", 6000, MOST_CYCLES, "the last delivery delay that it goes through", "cycles"),
        _number("delivery.step", 75, MOST_CYCLES, "from one to the next", "cycles", 1),
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
