"""The streams between the controller and the drive, which is outside the chip (README.md, "The drive's side")."""

from litex.gen import LiteXModule
from litex.soc.interconnect import stream
from migen import Mux, Signal

SECTOR_BYTES = 512
WORD_BYTES = 8                # of the data streams
SECTOR_WORDS = SECTOR_BYTES // WORD_BYTES
TAGS = 16                     # of requests through the rings; the one of programmed I/O is TAGS

OPERATIONS = {"READ": 0, "WRITE": 1, "FLUSH": 2, "DISCARD": 3, "SEEK": 4}
ANSWERS = {"SEND": 0, "TAKE": 1, "DONE": 2}
# Of a request. The drive reports the first four, the controller MEMORY and TAG.
STATUSES = {"OK": 0, "MEDIUM": 1, "RANGE": 2, "OPERATION": 3, "MEMORY": 4, "TAG": 5}

OPERATION_BITS = 3
COMMAND = [("op", OPERATION_BITS), ("tag", 5), ("lba", 32), ("count", 16), ("burst", 5)]
ANSWER = [("kind", 2), ("tag", 5), ("status", 8), ("length", 16)]
DATA = [("data", 8 * WORD_BYTES)]


def operation(byte):
    """The operation sent to the drive, from a signal of 8 bits: values that do not fit become an invalid one."""
    return Mux(byte[OPERATION_BITS:] != 0, (1 << OPERATION_BITS) - 1, byte[:OPERATION_BITS])


class Medium(LiteXModule):
    """The streams to and from the drive.

    `command` and `data_out` go to the drive, which accepts them at once: it has room for a command of each tag, and
    requests data when it is ready for it. `ready` of `answer` and `data_in` depends on registers alone."""
    def __init__(self):
        self.command  = stream.Endpoint(COMMAND)
        self.data_out = stream.Endpoint(DATA)
        self.answer   = stream.Endpoint(ANSWER)
        self.data_in  = stream.Endpoint(DATA)
        self.reset    = Signal()     # to the drive, for one cycle: drop all that is under way
        self.sectors  = Signal(32)   # from the drive: how many it has; 0: there is none
