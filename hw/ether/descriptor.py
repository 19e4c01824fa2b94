"""What receiver and transmitter both do with a descriptor: write its second half, and wait for that."""

from migen import If, NextState, NextValue, Signal

SETTLE_CYCLES = 3    # from a write that the port has accepted until its `busy` shows it


def write_status(fsm, port, place, status, visible):
    """The states STATUS and SETTLE of `fsm`: write `status` after `place`, a descriptor's address in words of the port;
    once all harts see it, the statements `visible` are executed and `fsm` goes to IDLE."""
    told, given = Signal(), Signal()     # command and data have been accepted
    settle = Signal(max=SETTLE_CYCLES + 1)
    fsm.act("STATUS",
        port.cmd.valid.eq(~told),
        port.cmd.we.eq(1),
        port.cmd.addr.eq(place + 1),
        port.wdata.valid.eq(~given),
        port.wdata.data.eq(status),
        port.wdata.we.eq(0xff),
        NextValue(told, told | port.cmd.ready),
        NextValue(given, given | port.wdata.ready),
        NextValue(settle, SETTLE_CYCLES),
        If((told | port.cmd.ready) & (given | port.wdata.ready),
            NextValue(told, 0),
            NextValue(given, 0),
            NextState("SETTLE")
        )
    )
    fsm.act("SETTLE",
        If(settle != 0,
            NextValue(settle, settle - 1)
        ).Elif(~port.busy,
            *visible,
            NextState("IDLE")
        )
    )
