"""The PIC's registers as a hart sees them through its link, and the window of its counters on the main bus."""

from hw.common.regmap import Alias, Field, Register, RegisterMap
from support.parameters.machine import MAX_HARTS

SOURCES = 32
TIMER_SOURCE = 0    # + hart
IPI_SOURCE = 8      # + hart
VERSION = 1
CONTEXT_STRIDE = 0x20

CONTEXT = ("LEVEL", "CLAIM", "EOI", "ENABLE", "MASK", "UNMASK", "DELIVERABLE", "INSERVICE")


def _number(action):
    return (Field("SOURCE", 0, 32, f"Number of the source to {action}; from 32 up the write does nothing."),)


def source_reset(source):
    """Reset value of a source's register: timer and IPI sources go to their hart, IPIs are edges, priorities are 0."""
    fields = REGISTERS["SOURCE"]
    ipi = IPI_SOURCE <= source < IPI_SOURCE + MAX_HARTS
    route = source % MAX_HARTS if source < IPI_SOURCE + MAX_HARTS else 0
    return fields["EDGE"].put(int(ipi)) | fields["ROUTE"].put(route)


REGISTERS = RegisterMap("Programmable interrupt controller", 0x1_0000, "Off-chip: every access crosses the link.", (
    Register("LEVEL", 0x00, "rw", "Current level of the context.", (
        Field("LEVEL", 0, 4, "A source is deliverable only if its priority is greater."),)),
    Register("CLAIM", 0x04, "ro", "Reading claims the deliverable source of the highest priority, on a tie the one "
             "with the lowest number: it is in service from there, and its latch is cleared.", (
                 Field("SOURCE", 0, 6, "The source claimed."),
                 Field("PRIORITY", 8, 4, "Its priority."),
                 Field("NONE", 31, 1, "1: nothing was deliverable, the other fields are 0 and nothing happened.",
                       1))),
    Register("EOI", 0x08, "wo", "Ends the service of a source that this context claimed; of another it does nothing.",
             _number("end")),
    Register("ENABLE", 0x0c, "rw", "Mask of the sources that may be delivered to the context."),
    Register("MASK", 0x10, "wo", "Clears a source's bit in `ENABLE`.", _number("disable")),
    Register("UNMASK", 0x14, "wo", "Sets a source's bit in `ENABLE`.", _number("enable")),
    Register("DELIVERABLE", 0x18, "ro", "Mask of the sources that could be claimed now. The context's interrupt wire "
             "is up while it is not 0."),
    Register("INSERVICE", 0x1c, "ro", "Mask of the sources that this context claimed and did not end."),
    Register("SOURCE", 0x400, "rw", "A source. The reset value is that of a device's; a timer (source h) and an IPI "
             "(source 8 + h) are routed to their hart h, and IPIs have `EDGE` set.", (
                 Field("PRIORITY", 0, 4, "0: never delivered. 15: highest."),
                 Field("EDGE", 8, 1, "1: each rise of the wire latches an interrupt. 0: pending while the wire is up."),
                 Field("ROUTE", 16, 4, "The hart to which it is delivered; one that does not exist: nowhere."),
                 Field("ANY", 24, 1, "1: offered to every context that enables it, whatever `ROUTE`; the first claim "
                       "wins.")),
             count=SOURCES),
    Register("IPI", 0x600, "wo", "Mask of harts: latches the IPI source of each. Harts that do not exist are ignored."),
    Register("RAISE", 0x604, "wo", "Mask of sources: latches an interrupt of each, edge or level."),
    Register("PENDING", 0x608, "ro", "Mask of the sources that are latched, or level and up (in service or not)."),
    Register("CLEAR", 0x60c, "wo", "Mask of sources whose latch is cleared. A level source that is up stays pending."),
    Register("ID", 0x610, "ro", "What this controller is. The reset value is that of a build with one hart.", (
        Field("SOURCES", 0, 8, "Number of sources.", SOURCES),
        Field("HARTS", 8, 8, "Number of contexts.", 1),
        Field("VERSION", 16, 16, "Version of this register map.", VERSION))),
), (
    Alias("CONTEXT", 0x100, CONTEXT_STRIDE, MAX_HARTS, CONTEXT, "The context of hart i; of a hart that does not "
          "exist, reads give 0 and writes do nothing. At the offsets below, the same of the hart that asks."),
))

COUNTERS = RegisterMap("Interrupt counters", 0x1000, "On the main bus, read only; modulo 2^32 or 2^64.", tuple(
    Register(name, offset, "ro", description, count=SOURCES, stride=0x20) for name, offset, description in (
        ("RISES", 0x00, "Arrivals: rises of the wire, `RAISE`s and `IPI`s."),
        ("DELIVERIES", 0x04, "Claims. A level source that is still up after its end of interrupt is delivered again "
         "without a rise."),
        ("MERGED", 0x08, "Arrivals while the source was pending already: one claim answers both."),
        ("MAX_WAIT", 0x0c, "Longest wait in cycles, from pending to claimed; at most 2^32 - 1."),
        ("TOTAL_WAIT_LOW", 0x10, "Sum of all waits in cycles, low half."),
        ("TOTAL_WAIT_HIGH", 0x14, "The same, high half."))
))
