"""The frames between the two chips: their kinds, and where their fields are. README.md has the picture.

A frame is a header, a body as long as its kind says, and a checksum, most significant bit first. A body is a whole
number of symbols with one, two or three data wires.
"""

from migen import Signal

from hw.pic.link import ADDRESS_WIDTH
from hw.pic.registers import MAX_HARTS, SOURCES

LANES = (1, 2, 3)
KIND_BITS = 4
HEADER_BITS = KIND_BITS + 2  # kind, sequence, acknowledgement
HART_BITS = (MAX_HARTS - 1).bit_length()
WORD_BITS = ADDRESS_WIDTH - 2
COUNTER_BITS = 10            # of the number of a word in the window of counters

# The checksum of CAN: in up to 112 bits it finds every error of five (Koopman, DSN 2004).
CRC_BITS = 15
CRC_POLYNOMIAL = 0x4599

# Number, fields from the least significant bit on. The two directions have no kind in common but the acknowledgement,
# so that a loop-back plug is not taken for the other chip.
KINDS = {
    "ACK":     (1, ()),
    # To the controller.
    "JOIN":    (2, ()),
    "READ":    (3, (("hart", HART_BITS), ("word", WORD_BITS))),
    "WRITE":   (4, (("hart", HART_BITS), ("word", WORD_BITS), ("mask", 4), ("data", 32))),
    "SOURCES": (5, (("wires", SOURCES), ("rises", SOURCES))),
    "COUNTER": (6, (("word", COUNTER_BITS),)),
    # From it; `irq` is the interrupt wires of all harts.
    "JOINED":  (8, (("harts", 4), ("version", 16), ("clock_hz", 32))),
    "ANSWER":  (9, (("irq", MAX_HARTS), ("data", 32), ("nothing", 1))),
    "DONE":    (10, (("irq", MAX_HARTS),)),
    "WIRES":   (11, (("irq", MAX_HARTS),)),
    "VALUE":   (12, (("data", 32),)),
}
NUMBERS = {kind: number for kind, (number, _) in KINDS.items()}


def body_bits(kind):
    """Bits of a body, with the padding of the last symbol."""
    bits = sum(width for _, width in KINDS[kind][1])
    return -(-bits // HEADER_BITS) * HEADER_BITS


BODY_BITS = max(body_bits(kind) for kind in KINDS)


def body(kind, **values):
    """The body of a frame to send, expressions or numbers by name of field, its first bit in front; BODY_BITS wide."""
    bits, first = 0, BODY_BITS - body_bits(kind)
    for name, width in KINDS[kind][1]:
        bits |= values.pop(name) << first
        first += width
    if values:
        raise TypeError(f"a frame {kind} has no {', '.join(values)}")
    return bits


def field(kind, name, received: Signal):
    """A field of a body received, whose last bit is bit 0 of `received`."""
    first = 0
    for field_name, width in KINDS[kind][1]:
        if field_name == name:
            return received[first:first + width]
        first += width
    raise TypeError(f"a frame {kind} has no {name}")


def symbols(bits, lanes):
    """Symbols for `bits` bits on `lanes` wires."""
    return -(-bits // lanes)
