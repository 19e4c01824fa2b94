"""Options of the simulator, `interlock-sim --NAME VALUE`: `./interlock sim` has most of them under the same names, and
an experiment's runs are started with them."""

from collections.abc import Iterable
from dataclasses import dataclass

from support.parameters.declared import Parameter, ParameterError, close_match
from support.parameters.machine import MACHINE, NODES

MOST = (1 << 64) - 1
MOST_NODES = 4096       # that the simulator accepts; an experiment has fewer (support/parameters/machine.py)
LINE = 88               # columns of the help's text
INDENT = 24

# An option's scope: the run, each node (`--node K:NAME=VALUE` gives one of them another value), or, of a node, a file
# that only one of several can write.
RUN, NODE, FILE = "run", "node", "file"


@dataclass(frozen=True)
class Option(Parameter):
    """An option: `value` is the placeholder after it in the help, empty for a flag."""

    value: str = ""
    of: str = NODE
    repeated: bool = False

    @property
    def text(self) -> str:
        """What it does, for the help: with its default, if it has one."""
        return self.help if self.default is None else f"{self.help} ({self.default})"


def _number(name: str, value: str, help: str, low: int, high: int = MOST, default: int | None = None, unit: str = "",
            **more) -> Option:
    return Option(name, help, default, unit, (low, high), value=value, ways=("simulator",), **more)


def _word(name: str, choices: str, help: str, default: str | None, **more) -> Option:
    return Option(name, help, default, choices=tuple(choices.split()), value="KIND", ways=("simulator",), **more)


def _text(name: str, value: str, help: str, **more) -> Option:
    return Option(name, help, value=value, ways=("simulator",), **more)


def _flag(name: str, help: str) -> Option:
    return Option(name, help, of=RUN, ways=("simulator",))


def _baud(name: str, help: str) -> Option:
    return _number(name, "N", f"bit rate of the {help}; a quarter of the clock at most", 50,
                   (MACHINE["clock_hz"].range or (0, 0))[1] // 4, 115_200, "bit/s")


MOMENT = "cycle:N (before it), pc:SYMBOL[+OFFSET] or pc:0xADDRESS (a hart retires it), event:ID[:ARGUMENT] (on the " \
         "trace port)"
OPTION_LIST = (
    _text("image", "FILE", "the program, a linked ELF32 file"),
    _text("bootargs", "TEXT", "its boot arguments, key=value with spaces between"),
    _flag("empty-ram", "the program is there for its symbols: main RAM begins as zeroes, and a boot loader fills it"),
    _number("seed", "N", "perturbs latencies where the boot arguments ask for it: adds seed=N to them, unless they "
            "have one", 0),
    _text("out", "DIR", "write run.json, console.txt, trace.csv, uart1.out and blob-KIND.bin there", of=RUN),
    _word("console", "tty pty file none", "where the console leads: tty, pty, file or none; file with --out, else tty",
          None, of=RUN),
    _baud("uart0-baud", "console line"),
    _word("uart0-flow", "none rts", "rts: what is typed waits while the target's RTS is off, and ^D is typed behind "
          "the end of standard input", "none"),
    _text("expect", "TEXT", "wait until the console has printed this; given again, for one behind the other. When "
          "the last has been printed and nothing is left to type, the run ends, with exit status 0", repeated=True),
    _text("type", "TEXT", "type this when the --expect of the same number has been printed; without any, at once. "
          "\\n, \\r, \\t, \\\\, \\xHH", repeated=True),
    _baud("uart1-baud", "data line"),
    _word("uart1", "file pty", "the data line: file (the options below) or pty: a pseudo-terminal, for a debugger",
          "file", of=RUN),
    _text("uart1-in", "FILE", "bytes for the data line, back to back, from trace event 1023 on ..."),
    _number("uart1-start", "CYCLE", "... or from this cycle on", 0),
    _word("uart1-flow", "none rts", "rts: no byte begins while the target's RTS is off", "none"),
    _text("uart1-out", "FILE", "what the target sends on the data line (DIR/uart1.out)", of=FILE),
    _text("disk", "IMAGE[,NAME=VALUE...]", "a file of 512-byte sectors at the next disk controller, and how the drive "
          "takes its time: profile=ide (./interlock parameters drives)", repeated=True),
    _text("ether-in", "FILE", "Ethernet frames for the target, a pcap file, with their timing: from trace event 1022 "
          "on ..."),
    _text("ether-start", "CYCLE", "... or from this cycle on; log: each at the very cycle of its stamp, as a run's "
          "ether-in.pcap has it"),
    _text("ether-out", "FILE", "what the target sends, as a pcap file (DIR/ether.pcap)", of=FILE),
    _text("ether", "tap:NAME|user", "the wire ends in a TAP device of this machine; user: in a network of this "
          "process's own, without root (libslirp), whose router is 10.0.0.1. What comes is in DIR/ether-in.pcap",
          of=RUN),
    Option("ether-mbits", "the wire's speed, 10, 100 or 1000", "100", "Mbit/s", choices=("10", "100", "1000"),
           value="N", ways=("simulator",)),
    _text("ether-unplug", "A:B", "the cable is pulled in cycle A and back in cycle B"),
    _number("max-cycles", "N", "stop after so many cycles (exit status 3)", 1, unit="cycles", of=RUN),
    _text("max-seconds", "S", "stop after so much of this machine's time (exit status 3); 0: never", default="0",
          unit="s", of=RUN),
    _number("hang-cycles", "N", "so many without a sign of life are a hang (exit status 4); 0: never, as with a "
            "pseudo-terminal or a network of the host", 0, default=100_000_000, unit="cycles", of=RUN),
    _text("wave", "FILE", "write FST waves (needs the waves build); rising edge of cycle c at time 10*c", of=FILE),
    _text("wave-begin", "WHEN", "first cycle in it: a number or cycle:N, or behind pc:SYMBOL[+OFFSET], pc:0xADDRESS or "
          "event:ID[:ARGUMENT] (the first cycle of the run)"),
    _text("wave-end", "WHEN", "first cycle not in it, the same way (the end of the run)"),
    _number("wave-cycles", "N", "instead of --wave-end: so many cycles", 1, unit="cycles"),
    _number("stall-seconds", "S", "report that the simulator itself stands still after so long, 0: never ...", 0,
            default=10, unit="s", of=RUN),
    _number("max-stall", "S", "... and end it after so long (exit status 5); 0: never", 0, default=0, unit="s", of=RUN),
    _text("progress", "SECONDS", "time between progress lines; 0: none", default="5", unit="s", of=RUN),
    _flag("quiet", "no progress, no notes on stderr"),
    _flag("target-status", "when the target ends, end with the lowest 8 bits of its exit code, else with 1 unless it "
          "is 0"),
    _flag("evaluate-twice", "compute each cycle as Verilator's eval() does, at both edges; slower, the result is the "
          "same"),
    _flag("no-skip", "simulate also the cycles in which nothing can happen; the result is the same"),
    _flag("check-skip", "simulate each stretch of them after all, and compare every register (exit status 2)"),
    _text("checkpoint", "FILE", "write the whole state of the run to FILE ...", of=RUN),
    _text("checkpoint-at", "WHEN", f"... once: {MOMENT}", of=RUN),
    _flag("checkpoint-stop", "and end there (exit status 0)"),
    _text("restore", "FILE", "go on from a checkpoint; image, boot arguments, seed and bit rates are its own", of=RUN),
    _number("nodes", "N", "so many machines instead of one, each with its outputs in DIR/node-K, K from 0; their boot "
            "arguments get node=K nodes=N. Restoring a checkpoint of one machine makes N of it", 1, MOST_NODES,
            unit="machines", of=RUN),
    _text("node", "K:NAME=VALUE", "an option (image, bootargs, uart1-in, poke, timeline, ...) for node K alone", of=RUN,
          repeated=True),
    _text("wire", "A.PORT:B.PORT:CYCLES", "what node A sends on PORT (uart0, uart1, ether) reaches node B's PORT "
          "so many cycles after its last bit; one way. Several wires from and to ether make a switch", of=RUN,
          repeated=True),
    _number("jobs", "N", "threads that carry nodes; the result is the same", 1, 256, 1, "threads", of=RUN),
    _number("ranks", "N", "processes that carry nodes; the result is the same", 1, 256, 1, "processes", of=RUN),
    _text("ranks-library", "FILE", "a shared library that joins processes which were started beforehand, as by mpirun",
          of=RUN),
    _number("shuffle", "N", "serve nodes in another order, by the seed N; the result is the same", 0, default=0,
            of=RUN),
    _text("poke", "NAME=VALUE[@CYCLE]", "write a register of the machine before a cycle (the first one simulated)",
          repeated=True),
    _text("timeline", "FILE", "what each hart does over time, for https://ui.perfetto.dev", of=FILE),
    _text("flame", "FILE", "cycles by call stack, folded: for flame graphs", of=FILE),
    _text("flame-begin", "WHEN", "first cycle in it, as of waves (the first cycle of the run)"),
    _text("flame-end", "WHEN", "first cycle not in it (the end of the run)"),
    _text("symbols", "NAME=FILE", "the ELF file of a user program, not stripped: gives the flame graph the functions "
          "of threads of this name", repeated=True),
    _text("latencies", "FILE", "every interrupt, from its wire to its handler and to its thread, as CSV", of=FILE),
    _text("samples", "FILE", "counters of every hart over time, as CSV, ...", of=FILE),
    _number("sample-cycles", "N", "... each of so many cycles; with --timeline some of them there, too", 1,
            default=10_000, unit="cycles"),
    _text("arrivals", "FILE", "what comes over wires, as CSV: the cycle, the wire's place in the record, the bytes",
          of=FILE),
    _text("probe-log", "FILE", "every probe point, trap, arrival and thread switch as CSV", of=FILE),
)
OPTIONS = {option.name: option for option in OPTION_LIST}
FLAGS = tuple(option.name for option in OPTION_LIST if not option.value)
OF_ONE_NODE = tuple(option.name for option in OPTION_LIST if option.value and option.of != RUN)     # of --node
WIRE_LATENCY = NODES["latency"]
STATUS = """\
exit status: 0 the target ended with code 0, 1 with another, 2 bad usage or input, 3 limit, 4 hang, 5 stall,
130 interrupted
"""


def checked_for_node(name: str, value: str):
    """ParameterError unless `--node K:NAME=VALUE` may have it."""
    if name not in OF_ONE_NODE:
        raise ParameterError(f"'{name}' is no option of one node{close_match(name, OF_ONE_NODE)}")
    OPTIONS[name].parse(value)


def _wrapped(words: Iterable[str]) -> list[str]:
    lines = [""]
    for word in words:
        if lines[-1] and len(lines[-1]) + 1 + len(word) > LINE:
            lines.append("")
        lines[-1] += f" {word}" if lines[-1] else word
    return lines


def help_text() -> str:
    """What `interlock-sim --help` prints."""
    lines = ["usage: interlock-sim --image FILE [option...]"]
    for option in OPTION_LIST:
        head = f"  --{option.name}{f' {option.value}' if option.value else ''}"
        text = _wrapped(f"{option.text}{'; may be repeated' * option.repeated}".split())
        if len(head) + 2 > INDENT:
            lines.append(head)
            head = ""
        lines += [f"{(head if not n else ''):{INDENT}}{line}" for n, line in enumerate(text)]
    return "\n".join(lines) + f"\n{STATUS}"
