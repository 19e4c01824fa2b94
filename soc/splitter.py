"""Shares a hart's private I/O port among the devices on it."""

from functools import reduce
from operator import and_

from litex.gen import LiteXModule
from migen import If, Signal

from hw.common.hart_io import WINDOW_BASE


class HartIOSplitter(LiteXModule):
    """Routes the accesses of `master` to the device in whose region they fall; all others are answered with 0.

    `slaves`: (origin, size, HartIO) of each device, its region in bytes in the hart's address space.
    """
    def __init__(self, master, slaves):
        nobody = Signal()  # the previous cycle's access went to no device
        missed = []
        for origin, size, slave in slaves:
            chosen = Signal()
            offset = origin - WINDOW_BASE
            if size & (size - 1) or offset % size:
                raise ValueError(f"region at 0x{origin:x}: 0x{size:x} bytes is no power of two or not aligned to it")
            low = size.bit_length() - 1
            missed.append(~chosen)
            self.comb += [
                chosen.eq(master.cmd_address[low:] == offset >> low),
                slave.cmd_valid.eq(master.cmd_valid & chosen),
                slave.cmd_write.eq(master.cmd_write),
                slave.cmd_address.eq(master.cmd_address),
                slave.cmd_data.eq(master.cmd_data),
                slave.cmd_mask.eq(master.cmd_mask),
                If(chosen, master.cmd_ready.eq(slave.cmd_ready)),
                If(slave.rsp_valid,
                    master.rsp_valid.eq(1),
                    master.rsp_data.eq(slave.rsp_data)
                ),
            ]
        none = reduce(and_, missed)
        self.comb += [
            If(none, master.cmd_ready.eq(1)),
            If(nobody, master.rsp_valid.eq(1)),
        ]
        self.sync += nobody.eq(master.cmd_valid & none)
