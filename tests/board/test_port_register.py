"""The register on a hart's private port gives each access to its device once, a cycle later, and the answer at once;
that on a device's port passes commands on in order, and is busy as long as a write is under way."""

import random

import pytest
from litex.gen import LiteXModule
from litex.gen.sim import run_simulation

from hw.common.hart_io import HartIO
from hw.cpu.core import DevicePort
from soc.boards.bus import DevicePortRegister, HartIORegister

DATA = 0x5a5a_0000      # what a load of address 0 gives; others have their address added


class Bench(LiteXModule):
    """A port whose device is a process; behind the register or not."""
    def __init__(self, registered):
        self.hart = self.device = HartIO("hart")
        if registered:
            self.register = HartIORegister(self.hart)
            self.device = self.register.port


def accesses(count=200):
    """Stores and loads, and how long the device lets each wait to be taken and to be answered."""
    choose = random.Random(7)
    return [(choose.random() < .5, choose.randrange(1 << 26) << 2, choose.getrandbits(32), choose.getrandbits(4),
             choose.randrange(4), choose.randrange(1, 5)) for _ in range(count)]


def play(registered):
    """The device's requests, the hart's answers, and the cycles from each request to its answer."""
    bench, asked, answers, cycles = Bench(registered), [], [], []

    def hart():
        port = bench.hart
        for write, address, data, mask, _, rest in accesses():
            for signal, value in ((port.cmd_valid, 1), (port.cmd_write, write), (port.cmd_address, address),
                                  (port.cmd_data, data), (port.cmd_mask, mask)):
                yield signal.eq(value)
            yield
            taken = 1
            while not (yield port.cmd_ready):
                yield
                taken += 1
            for signal in port.cmd_valid, port.cmd_address, port.cmd_data:   # nothing holds once the port has taken it
                yield signal.eq(0)
            yield
            taken += 1
            while not (yield port.rsp_valid):
                yield
                taken += 1
                assert taken < 100, "the port hangs"
            answers.append((yield port.rsp_data))
            cycles.append(taken)
            for _ in range(rest % 3):
                yield
                assert not (yield port.rsp_valid)

    def device():
        port = bench.device
        for *_, before, after in accesses():
            while not (yield port.cmd_valid):
                yield
            for _ in range(before):
                yield
                assert (yield port.cmd_valid)
            yield port.cmd_ready.eq(1)
            yield
            command = []
            for signal in port.cmd_write, port.cmd_address, port.cmd_data, port.cmd_mask:
                command.append((yield signal))
            asked.append(command)
            yield port.cmd_ready.eq(0)
            for _ in range(after):
                yield
            yield port.rsp_valid.eq(1)
            yield port.rsp_data.eq(DATA + asked[-1][1])
            yield
            yield port.rsp_valid.eq(0)

    run_simulation(bench, [hart(), device()])
    return asked, answers, cycles


@pytest.fixture(scope="module")
def played():
    return play(False), play(True)


def test_the_device_is_asked_the_same_and_each_thing_once(played):
    for asked, answers, _ in played:
        assert asked == [[*access[:4]] for access in accesses()]
        assert answers == [DATA + address & 0xffff_ffff for _, address, *_ in accesses()]


def test_it_takes_a_cycle(played):
    (_, _, direct), (_, _, later) = played
    assert {b - a for a, b in zip(direct, later, strict=True)} == {1}


COMMANDS = 300


def device_port(seldom):
    """The requests to the memory behind the register, the expected ones, the cycle in which the device's command
    n was taken and that in which it reached memory, and all cycles in which the port was not busy. Memory takes a
    command in one of `seldom` cycles, and a write is visible from then on."""
    slave, choose = DevicePort(), random.Random(seldom)
    bench = DevicePortRegister(slave)
    wanted = [(choose.random() < .5, choose.randrange(1 << 27)) for _ in range(COMMANDS)]
    taken, came, asked, free = [], [], [], []
    cycle = 0

    def device():
        port = bench.port
        for write, address in wanted:
            yield port.cmd.valid.eq(1)
            yield port.cmd.we.eq(write)
            yield port.cmd.addr.eq(address)
            yield
            while not (yield port.cmd.ready):
                yield
            taken.append(cycle)
            if choose.random() < .2:
                yield port.cmd.valid.eq(0)
                for _ in range(choose.randrange(1, 5)):
                    yield
        yield port.cmd.valid.eq(0)

    def memory():
        nonlocal cycle
        ready = False
        while len(asked) < COMMANDS:
            assert cycle < 100 * COMMANDS, f"cycle {cycle}: {len(asked)} commands have come, the port hangs"
            if ready and (yield slave.cmd.valid):
                asked.append(((yield slave.cmd.we), (yield slave.cmd.addr)))
                came.append(cycle)
            if not (yield bench.port.busy):
                free.append(cycle)
            ready = choose.randrange(seldom) == 0
            yield slave.cmd.ready.eq(ready)
            yield
            cycle += 1

    run_simulation(bench, [memory(), device()])
    return asked, wanted, taken, came, set(free)


@pytest.mark.parametrize("seldom", [1, 2, 5])
def test_a_devices_commands_come_to_memory_in_order_and_it_is_busy_with_writes_until_then(seldom):
    asked, wanted, taken, came, free = device_port(seldom)
    assert asked == wanted
    for n, (write, _) in enumerate(wanted):
        assert came[n] > taken[n], f"command {n}"
        early = free & set(range(taken[n] + 1, came[n] + 1))
        assert not write or not early, f"write {n} is on its way, and the port is not busy in cycle {min(early)}"
    assert free, "it is always busy"
    if seldom == 1:
        assert {b - a for a, b in zip(taken, came, strict=True)} == {1}, "it takes more than a cycle"
