"""The register between harts and bus changes when an access is done, and nothing else."""

import random

import pytest
from litex.gen import LiteXModule
from litex.gen.sim import run_simulation
from litex.soc.interconnect import wishbone
from migen import If, Signal

from soc.boards.bus import BusRegister

WRONG, NOBODY = 1 << 20, 1 << 21    # addresses


class Bench(LiteXModule):
    """A memory, a slave that answers with errors, and addresses without a slave; behind the register or not."""
    def __init__(self, registered):
        self.master = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        bus = self.master
        if registered:
            self.register = BusRegister(self.master)
            bus = self.register.bus
        self.memory = wishbone.SRAM(1024)
        wrong = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.comb += wrong.err.eq(wrong.cyc & wrong.stb)
        self.interconnect = wishbone.InterconnectShared([bus], [
            (lambda address: address[20:22] == 0, self.memory.bus),
            (lambda address: address[20:22] == WRONG >> 20, wrong),
        ], register=True, timeout_cycles=16)


def accesses(count=200):
    """Loads and stores of some bytes of a word, some together and some apart; the last at addresses without a slave."""
    choose = random.Random(3)
    for _ in range(count):
        write = choose.random() < .5
        yield write, choose.randrange(16), choose.getrandbits(32), choose.getrandbits(4), choose.randrange(3)
    for address in (NOBODY, WRONG, 3):
        yield False, address, 0, 15, 0


def play(registered):
    """The answers (data of loads, and whether it was an error), and the cycles of each access."""
    bench, answers, cycles = Bench(registered), [], []

    def master():
        bus = bench.master
        for write, address, data, select, rest in accesses():
            for signal, value in ((bus.cyc, 1), (bus.stb, 1), (bus.we, write), (bus.adr, address), (bus.dat_w, data),
                                  (bus.sel, select)):
                yield signal.eq(value)
            yield
            taken = 1
            while not ((yield bus.ack) or (yield bus.err)):
                yield
                taken += 1
                assert taken < 100, "the bus hangs"
            answers.append((None if write else (yield bus.dat_r), (yield bus.err)))
            cycles.append(taken)
            if rest:
                yield bus.cyc.eq(0)
                yield bus.stb.eq(0)
                for _ in range(rest):
                    yield
                    assert not (yield bus.ack) and not (yield bus.err)
    run_simulation(bench, master())
    return answers, cycles


def test_the_register_gives_the_same_answers_two_cycles_later():
    direct, cycles = play(False)
    registered, later = play(True)
    assert registered == direct
    assert direct[-3] == (0xffff_ffff, 0) and [error for _, error in direct[-2:]] == [1, 0]
    assert {b - a for a, b in zip(cycles, later, strict=True)} == {2}


@pytest.mark.parametrize("registered", [False, True])
def test_an_access_is_performed_once(registered):
    """As many acknowledgements on the memory's bus as accesses of it."""
    bench, seen = Bench(registered), 0

    def master():
        yield from bench.master.write(5, 1)
        yield from bench.master.write(5, 2)
        assert (yield from bench.master.read(5)) == 2

    def watch():
        nonlocal seen
        for _ in range(40):
            seen += yield bench.memory.bus.ack
            yield
    run_simulation(bench, [master(), watch()])
    assert seen == 3


class Slow(LiteXModule):
    """A slave that answers an access `cycles` after it began, unless the master has given it up by then."""
    def __init__(self, cycles):
        self.bus = bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        elapsed = Signal(max=cycles + 1)
        self.comb += [
            bus.ack.eq(bus.cyc & bus.stb & (elapsed == cycles)),
            bus.dat_r.eq(0x510),
        ]
        self.sync += If(bus.cyc & bus.stb & ~bus.ack,
            elapsed.eq(elapsed + 1)
        ).Else(
            elapsed.eq(0)
        )


SLOW = 14


@pytest.mark.parametrize("gone_after", range(1, SLOW + 5))
@pytest.mark.parametrize("gap", [1, 2, 3])
def test_an_access_that_is_given_up_ends_no_other(gone_after, gap):
    """As a bus time-out gives up an access: cyc falls. The next one, to another slave behind a register, takes as long
    as it does alone, and gets its own answer."""
    bench = LiteXModule()
    bench.master = master = wishbone.Interface(data_width=32, address_width=32, addressing="word")
    slaves = []
    for name, cycles in (("first", SLOW), ("second", SLOW - 4)):
        slow = Slow(cycles)
        slave = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        register = BusRegister(slave)
        bench.add_module(name, slow)
        bench.add_module(f"{name}_register", register)
        bench.comb += register.bus.connect(slow.bus)
        slaves.append(slave)
    first, second = slaves
    bench.decoder = wishbone.Decoder(master, [(lambda address: ~address[20], first),
                                              (lambda address: address[20], second)], register=True)
    taken = []

    def access(address, most):
        for signal, value in ((master.cyc, 1), (master.stb, 1), (master.adr, address)):
            yield signal.eq(value)
        yield
        cycles = 0
        while not (yield master.ack) and cycles < most:
            yield
            cycles += 1
        taken.append(cycles)
        yield master.cyc.eq(0)
        yield master.stb.eq(0)
        for _ in range(gap):
            yield

    def play():
        yield from access(WRONG, 100)
        yield from access(0, gone_after)
        yield from access(WRONG, 100)
        yield from access(0, 100)
    run_simulation(bench, play())
    assert taken[0] == taken[2] == SLOW - 4 + 2
    assert taken[1] == min(gone_after, SLOW + 2) and taken[3] == SLOW + 2
