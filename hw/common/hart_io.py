"""A hart's private I/O port: what a load or store to 0xE0000000..0xEFFFFFFF becomes at the edge of the CPU cluster.

Each hart has a port of its own, which never crosses the bus that all share: however long a device stalls one hart, the
others run on. The hart is the master:

- `cmd_valid` stays up, and all other cmd signals stay as they are, until a cycle with `cmd_ready`; the command then
  "fires". `cmd_address` is the byte address in the window, a multiple of 4; bytes within the word are chosen by
  `cmd_mask` (one bit a byte, for loads too) and lie in `cmd_data` where they lie in memory.
- Exactly one response follows each command, loads and stores alike: `rsp_valid` for one cycle, at the earliest in the
  cycle after the command fires. `rsp_data` is the word for a load; for a store it does not matter.
- One access is outstanding at a time: no command is offered before the last one's response.

A hart waits for the response of a load, and of a store except in the trace window 0xE1000000..0xE1FFFFFF, where it runs
on as soon as its store is on the way.
"""

from migen.genlib.record import DIR_M_TO_S, DIR_S_TO_M, Record

WINDOW_BASE = 0xE000_0000
WINDOW_SIZE = 0x1000_0000
POSTED_BASE = 0xE100_0000   # stores here do not wait
POSTED_SIZE = 0x0100_0000

hart_io_layout = [
    ("cmd_valid", 1, DIR_M_TO_S),
    ("cmd_ready", 1, DIR_S_TO_M),
    ("cmd_write", 1, DIR_M_TO_S),
    ("cmd_address", 28, DIR_M_TO_S),
    ("cmd_data", 32, DIR_M_TO_S),
    ("cmd_mask", 4, DIR_M_TO_S),
    ("rsp_valid", 1, DIR_S_TO_M),
    ("rsp_data", 32, DIR_S_TO_M),
]


def HartIO(name=None):
    """A new record of `hart_io_layout`; `a.connect(b)` connects master a to slave b."""
    return Record(hart_io_layout, name=name)
