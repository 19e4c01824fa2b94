"""The link to the interrupt controller (hw/pic/link.py): each access reaches the controller once, and is answered once."""

from migen import If, Signal

from hw.pic.link import Link
from tests.formal.prove import Proof, prove

HARTS = 2
WAY = 3         # greatest latency that is tried, cycles


class AccessProof(Proof):
    """Accesses of any kind at any time, of latencies from 0 to WAY. A hart keeps its access up until it is accepted, and makes no
    other before the answer, as a core does that waits."""
    def __init__(self, fault=None):
        super().__init__()
        self.link = link = (fault or Link)(HARTS)
        self.any_constant(link.read_latency.storage, link.write_latency.storage, link.read_back.storage,
                          link.write_back.storage)
        self.any_value(link.ready, link.nothing, link.wires)
        self.assume(short=(link.read_latency.storage <= WAY) & (link.write_latency.storage <= WAY))
        for h, port in enumerate(link.ports):
            asked = Signal(name=f"asked{h}")          # and not yet accepted
            under_way = Signal(name=f"under_way{h}")  # accepted and not yet answered
            done = Signal(name=f"done{h}")            # in the controller
            write, address = Signal(), Signal.like(port.cmd_address)
            before = {name: Signal.like(getattr(port, name), name=f"{name}_before{h}")
                      for name in ("cmd_write", "cmd_address")}
            self.any_value(port.cmd_valid, port.cmd_write, port.cmd_address)
            taken = port.cmd_valid & port.cmd_ready
            effect = link.effect & (link.hart == h)
            self.sync += [
                asked.eq(port.cmd_valid & ~port.cmd_ready),
                *[signal.eq(getattr(port, name)) for name, signal in before.items()],
                If(port.rsp_valid, under_way.eq(0), done.eq(0)),
                If(taken, under_way.eq(1), done.eq(0), write.eq(port.cmd_write), address.eq(port.cmd_address)),
                If(effect, done.eq(1)),
            ]
            self.assume(**{
                f"keeps{h}": ~asked | (port.cmd_valid & (port.cmd_write == before["cmd_write"])
                                       & (port.cmd_address == before["cmd_address"])),
                f"waits{h}": ~under_way | port.rsp_valid | ~port.cmd_valid})
            self.hold(**{
                f"once{h}": ~effect | (under_way & ~done),
                f"as_asked{h}": ~effect | ((link.write == write) & (link.address == address[:len(link.address)])),
                f"answered_once{h}": ~port.rsp_valid | (under_way & done),
                f"no_second{h}": ~(taken & under_way & ~port.rsp_valid)})


def test_each_access_takes_effect_once_and_is_answered_once(tmp_path):
    """For 24 cycles: three accesses of the greatest latency, more of shorter ones."""
    assert prove(tmp_path, AccessProof(), 24) is None


class Twice(Link):
    """A link that puts an access to the controller for as long as its latency is over."""
    def selected(self, due):
        return due | self.effect


def test_a_link_that_does_an_access_twice_is_found(tmp_path):
    assert "once0" in prove(tmp_path, AccessProof(Twice), 12)
