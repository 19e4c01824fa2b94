"""The faults of the faulty board: bits of the simulator's `--poke fault=N`."""

from enum import IntFlag


class Fault(IntFlag):
    NONE         = 0
    DATA_LINE    = 1 << 0   # bit 37 of main RAM's 64 reads as 0
    ADDRESS_LINE = 1 << 1   # address bit 14 of main RAM is 0
    CELL         = 1 << 2   # bit 33 of one word in the middle of main RAM is 1
    DEAD_HART    = 1 << 3   # hart 1 gets no software interrupt: it never wakes
    STALE_LINE   = 1 << 4   # no cache drops a line that another hart or device has written
    PIC_REGISTER = 1 << 5   # bit 2 of all hart 0's reads from the interrupt controller is 0
    HART_WIRE    = 1 << 6   # hart 1's wire from the interrupt controller stays down
    SOURCE_WIRE  = 1 << 7   # uart1's wire to the interrupt controller stays down
    SERIAL       = 1 << 8   # bit 3 of all reads from uart1 is 0
    NO_CARD      = 1 << 9   # the SD card does not answer
    CARD_DATA    = 1 << 10  # a bit of each block that the SD card sends is wrong
    NO_PHY       = 1 << 11  # the Ethernet PHY does not answer
    NO_LINK      = 1 << 12  # it answers, and has no link
    FRAMES       = 1 << 14  # each word that Ethernet receives has one wrong bit
    OLD_CARD     = 1 << 15  # no fault: the SD card is of version 1, and counts in bytes
    STALE_RAM    = 1 << 13  # STALE_LINE only in main RAM: the harts see each other's words in the SRAM, and answer
