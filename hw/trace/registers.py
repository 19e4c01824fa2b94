"""The trace port's two windows: the one a hart stores to, and the buffer's read-out."""

from hw.common.regmap import Field, Register, RegisterMap

EVENTS = 1024           # event numbers, a word of the hart's window each
RECORD_BYTES = 16
MAX_HARTS = 16

PORT = RegisterMap("Trace port", 4 * EVENTS, "A hart's own window: a store logs, a load reads the time.", (
    Register("CYCLE", 0x000, "ro", "The low 32 bits of the cycle counter in the cycle that accepted the load. Loads "
             "elsewhere in the window give 0."),
))


def event_offset(event):
    """Byte offset of the word in a hart's window to which a store logs `event`; ValueError if there is none."""
    if not 0 <= event < EVENTS:
        raise ValueError(f"trace event {event} is not in 0 to {EVENTS - 1}")
    return 4 * event


def buffer_map(depth):
    """The read-out window of a buffer of `depth` records. Record 0 is the oldest; beyond the last all words are 0."""
    def words(name, offset, description, fields=()):
        return Register(name, offset, "ro", description, fields, count=depth, stride=RECORD_BYTES)

    return RegisterMap("Trace buffer", RECORD_BYTES * depth, "The records kept, oldest first.", (
        words("CYCLE_LOW", 0x0, "Low half of the cycle in which the store was accepted."),
        words("CYCLE_HIGH", 0x4, "High half of it."),
        words("SOURCE", 0x8, "What was logged, and by which hart.", (
            Field("EVENT", 0, 10, "The event number."),
            Field("HART", 16, 4, "The hart that stored."))),
        words("ARGUMENT", 0xc, "The word stored; bytes that a narrower store left out are 0."),
    ))
