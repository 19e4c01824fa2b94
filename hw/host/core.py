"""What the target tells the host that runs it, and what it can learn of itself (README.md is the manual)."""

from litex.gen import LiteXModule
from litex.soc.interconnect.csr import CSRStatus, CSRStorage
from migen import If, Record

HOST_OUTPUTS = [
    ("exit", 1),           # the target has ended; stays up until reset
    ("exit_code", 32),     # valid with `exit`
    ("blob", 1),           # for one cycle: copy out the memory given by the next three
    ("blob_kind", 32),
    ("blob_address", 32),  # physical, in main RAM
    ("blob_length", 32),   # bytes
]


class HostPort(LiteXModule):
    """The target's end: an exit code, and pieces of memory to be copied out. `outputs` go to the host."""
    def __init__(self):
        self.outputs = Record(HOST_OUTPUTS)

        self.exit = CSRStorage(32, description="**A write ends the run**; the value is its exit code, 0 for success. "
            "The first write counts.")
        self.blob_kind = CSRStorage(32, description="What the memory to be copied out is: a number that program and "
            "host have agreed on.")
        self.blob_address = CSRStorage(32, description="Physical address of its first byte, in main RAM.")
        self.blob_length = CSRStorage(32, description="Its length in bytes. **A write has it copied out** as it is "
            "then: stores before it need a fence.")
        self.node = CSRStorage(32, description="Which of several machines this is: its number, from 0, in bits 0 to "
            "15, and how many there are in bits 16 to 31. The host that runs the target sets it from outside; 0: not "
            "set.")

        # # #

        self.comb += [
            self.outputs.blob.eq(self.blob_length.re),
            self.outputs.blob_kind.eq(self.blob_kind.storage),
            self.outputs.blob_address.eq(self.blob_address.storage),
            self.outputs.blob_length.eq(self.blob_length.storage),
        ]
        self.sync += If(self.exit.re & ~self.outputs.exit,
            self.outputs.exit.eq(1),
            self.outputs.exit_code.eq(self.exit.storage)
        )


class Identity(LiteXModule):
    """The build's identity: constants that software reads."""
    def __init__(self, fingerprint, harts, clock_hz):
        self.fingerprint = CSRStatus(64, reset=fingerprint, description="Tells this build from every other: a hash of "
            "its Verilog.")
        self.harts = CSRStatus(32, reset=harts, description="Number of harts.")
        self.clock_hz = CSRStatus(32, reset=clock_hz, description="System clock, Hz.")
