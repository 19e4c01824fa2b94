"""The disk controller's registers, and its structures in memory: requests, segments, completions."""

from hw.common.regmap import Field, Register, RegisterMap
from hw.disk.medium import OPERATIONS, STATUSES, TAGS

CLUSTER_SECTORS = 16     # the buffer of programmed I/O
MOST_ENTRIES_LOG2 = 8    # of a ring
RESET_ENTRIES_LOG2 = 4
LEAST_DATA_CYCLES = 2

REGISTERS = RegisterMap("Disk controller", 0x1000, "Sectors are of 512 bytes. Requests go through `COMMAND` and "
                        "`DATA`, or through rings in memory.", (
    Register("BUILT", 0x00, "ro", "What this build has.", (
        Field("TAGS", 0, 8, "Requests that can be under way through the rings.", TAGS),
        Field("CLUSTER", 8, 8, "Sectors that the buffer of programmed I/O holds.", CLUSTER_SECTORS))),
    Register("SECTORS", 0x04, "ro", "Sectors of the drive; 0: there is none."),
    Register("CONTROL", 0x08, "rw", "Reset, and which causes interrupt.", (
        Field("RESET", 0, 1, "A write of 1 has controller and drive forget all that is under way, and sets the rings' "
              "counters to 0; reads as 1 until that is done. `COMMAND`, `SQ_TAIL` and `CQ_HEAD` are ignored "
              "meanwhile."),
        Field("RING", 1, 1, "Interrupt while `CQ_TAIL` is not `CQ_HEAD`."),
        Field("DATA", 2, 1, "Interrupt while `STATUS.DATA` is set."),
        Field("DONE", 3, 1, "Interrupt while `STATUS.DONE` is set."))),
    Register("STATUS", 0x0c, "ro", "Of programmed I/O. A read takes `DONE` back.", (
        Field("BUSY", 0, 1, "A command is under way."),
        Field("DRQ", 1, 1, "The buffer waits for reads or writes of `DATA`."),
        Field("DATA", 2, 1, "The same, since the drive has filled or emptied it: not for the first cluster of a write. "
              "The last access of a cluster takes it back."),
        Field("DONE", 3, 1, "The command has ended."),
        Field("CODE", 8, 8, "How the last command ended. Also of a completion.", 0, STATUSES))),
    Register("MOVED", 0x10, "ro", "Sectors that the last command of programmed I/O moved without an error.", (
        Field("SECTORS", 0, 16, "Counted from its first."),)),
    Register("LBA", 0x14, "rw", "First sector of the next command."),
    Register("COUNT", 0x18, "rw", "Sectors of the next command.", (
        Field("SECTORS", 0, 16, "0: none."),)),
    Register("CLUSTER", 0x1c, "rw", "Sectors between two interrupts of the next command.", (
        Field("SECTORS", 0, 5, "1 to `BUILT.CLUSTER`; others are ignored.", CLUSTER_SECTORS),)),
    Register("COMMAND", 0x20, "wo", "Begins a command of programmed I/O, with `LBA`, `COUNT` and `CLUSTER` as they are "
             "then; ignored while one is under way.", (
                 Field("OP", 0, 8, "What to do; another number ends with `OPERATION`. Also of a request.", 0,
                       OPERATIONS),)),
    Register("DATA", 0x24, "rw", "The next 16 bits of the buffer. While `STATUS.DRQ` is 0 it reads as 0 and ignores "
             "writes.", (
                 Field("HALF", 0, 16, "Bytes in the order of the medium, the first one low."),)),
    Register("DATA_CYCLES", 0x28, "rw", "Cycles of an access to `DATA`: how slow the drive's bus is.", (
        Field("CYCLES", 0, 8, "2 to 255; less are taken as 2.", LEAST_DATA_CYCLES),)),
    Register("SQ_BASE", 0x30, "rw", "Physical address of the ring of requests, in main RAM; the low 3 bits are taken "
             "as 0. From the first `SQ_TAIL` that counts to the next reset the rings stay: this, `CQ_BASE` and "
             "`ENTRIES` ignore writes."),
    Register("CQ_BASE", 0x34, "rw", "Physical address of the ring of completions, likewise."),
    Register("ENTRIES", 0x38, "rw", "How long the rings are, both.", (
        Field("LOG2", 0, 4, "They have 2^LOG2 entries; 0 to 8, others are ignored.", RESET_ENTRIES_LOG2),)),
    Register("SQ_TAIL", 0x3c, "rw", "Requests entered since the reset, modulo 2^16. A write has the controller look. "
             "It is ignored if it takes requests back, if there would be more than 2^LOG2 that are not fetched, and "
             "while a ring is not wholly in main RAM.", (
                 Field("COUNT", 0, 16, "Entry COUNT modulo 2^LOG2 is the next to be entered."),)),
    Register("SQ_HEAD", 0x40, "ro", "Requests fetched since the reset: their entries may be used again.", (
        Field("COUNT", 0, 16, "Modulo 2^16."),)),
    Register("CQ_HEAD", 0x44, "rw", "Completions that software has taken since the reset. A write is ignored if it "
             "goes back, or beyond those in memory.", (
                 Field("COUNT", 0, 16, "Modulo 2^16."),)),
    Register("CQ_TAIL", 0x48, "ro", "Completions entered since the reset; all of them are in memory.", (
        Field("COUNT", 0, 16, "Modulo 2^16. None is entered into a full ring: it waits, no request is fetched "
              "meanwhile, and programmed I/O goes on."),)),
    Register("REFUSED", 0x50, "ro", "Requests whose tag was in use or too great, since power-on, modulo 2^32: they end "
             "with status `TAG`, and the drive does not see them."),
    Register("STRAY", 0x54, "ro", "Answers of the drive for a tag that is not in use, since power-on, modulo 2^32."),
))
