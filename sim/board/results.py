"""What a run on a board leaves, as the simulator's harness writes it (sim/harness/README.md, "The record").

Figures of an outside observer are missing. In their place are the counters of the machine itself.
"""

import re
from dataclasses import dataclass

from hw.pic.registers import COUNTERS
from hw.serial.registers import REGISTERS as SERIAL
from hw.trace.registers import RECORD_BYTES, buffer_map
from soc.config import SoCConfig
from soc.memory_map import memory_map

SCHEMA = 1
PART = 4096             # bytes of the trace buffer per read: the least size of its window
NOBODY = 0xffff_ffff    # the value of a read that no device answers
WHOLE = re.compile(r"-?\d+|0x[0-9a-f]+", re.IGNORECASE)
REAL = re.compile(r"-?\d+\.?\d*")


def value_of(text):
    """A value as a target prints it: a whole number, also hexadecimal, a decimal fraction, or text."""
    if WHOLE.fullmatch(text):
        return int(text, 16 if text[:2].lower() == "0x" else 10)
    return float(text) if REAL.fullmatch(text) else text


def results(console):
    """The console's lines `@kind key=value ...`, by kind, in order. A bare word is a key that is true."""
    found = {}
    for line in console.splitlines():
        words = line[1:].split() if line.startswith("@") else []
        if not words:
            continue
        values = {}
        for word in words[1:]:
            key, equals, text = word.partition("=")
            if key and key not in values:       # the first counts
                values[key] = value_of(text) if equals else True
        found.setdefault(words[0], []).append(values)
    return found


@dataclass(frozen=True)
class Trace:
    """A record of the trace buffer."""

    cycle: int
    hart: int
    event: int
    argument: int


def trace_of(content):
    """The records in the trace buffer's memory, oldest first."""
    words = [int.from_bytes(content[at:at + 4], "little") for at in range(0, len(content), 4)]
    source = buffer_map(2)["SOURCE"]
    records = []
    for low, high, where, argument in zip(*(words[i::RECORD_BYTES // 4] for i in range(4)), strict=True):
        if not low | high | where | argument or where == NOBODY:
            break       # after the last record; beyond the buffer
        records.append(Trace(high << 32 | low, source["HART"].get(where), source["EVENT"].get(where), argument))
    return records


def interrupts_of(content):
    """The PIC's counters in the memory of its window, for each source with an arrival."""
    found = {}
    for source in range(COUNTERS["RISES"].count):
        def counter(name, source=source):
            register = COUNTERS[name]
            at = register.offset + source * register.stride
            return int.from_bytes(content[at:at + 4], "little")
        if counter("RISES") or counter("DELIVERIES"):
            found[str(source)] = {
                "rises": counter("RISES"), "deliveries": counter("DELIVERIES"), "merged": counter("MERGED"),
                "max_wait_cycles": counter("MAX_WAIT"),
                "total_wait_cycles": counter("TOTAL_WAIT_HIGH") << 32 | counter("TOTAL_WAIT_LOW")}
    return found


def machine_figures(board):
    """Figures read from the machine after a run: the PIC's counters, the serial ports' overruns, the trace buffer."""
    regions = memory_map(SoCConfig())
    rises = COUNTERS["RISES"]
    counters = board.read(regions["pic_counters"].origin, rises.count * rises.stride)
    overruns = {name: int.from_bytes(board.read(regions[name].origin + SERIAL["OVERRUNS"].offset, 4), "little")
                for name in ("uart0", "uart1")}
    trace = []
    for at in range(0, regions["trace_buffer"].size, PART):
        part = trace_of(board.read(regions["trace_buffer"].origin + at, PART))
        trace += part
        if len(part) < PART // RECORD_BYTES:
            break
    return interrupts_of(counters), overruns, trace
