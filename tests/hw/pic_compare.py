"""Random accesses and random sources: the RTL against the reference model hw/pic/model.py, in every cycle."""

import cocotb

from hw.pic.model import Command, bits
from hw.pic.registers import CONTEXT, REGISTERS, SOURCES
from tests.hw.pic_dut import offset

TIMES = ("read_latency", "write_latency", "delivery_delay", "jitter", "read_back", "write_back", "fall_delay")


class Stimulus:
    """Random commands and wires; reads the model to choose accesses that have an effect."""

    def __init__(self, rng, model):
        self.rng = rng
        self.model = model
        self.wires = 0
        self.levels = 0     # weight of setting the level among all accesses

    def sources(self, chance):
        """The wires in the next cycle: some toggle, some together, and one often rises while it is being claimed."""
        access = self.model.access
        if access and access.effect == self.model.cycle and not access.command.write and self.rng.random() < 0.3:
            name, _ = self.model.decode(access.hart, access.command.address)
            best = self.model.best(self.model.candidates)
            if name == "CLAIM" and best is not None:
                self.wires |= 1 << best
        if self.rng.random() < chance:
            for _ in range(self.rng.choice((1, 1, 1, 2, 8))):
                self.wires ^= 1 << self.rng.randrange(SOURCES)
        return self.wires

    def mask(self):
        """A mask of sources, of any density."""
        return self.rng.choice((1 << self.rng.randrange(32), self.rng.getrandbits(32),
                                self.rng.getrandbits(32) | self.rng.getrandbits(32), 0xffff_ffff))

    def command(self, hart):
        """The next access of a hart."""
        rng = self.rng
        own = rng.choice([None] * 4 + list(self.model.harts))  # whose context, by which alias
        byte_mask = rng.choice((0xf,) * 6 + (rng.getrandbits(4),))

        def load(name, index=0):
            return Command(False, offset(name, own if name in CONTEXT else None, index))

        def store(name, data, index=0):
            return Command(True, offset(name, own if name in CONTEXT else None, index), data, byte_mask)

        # Mostly sources that the context serves itself, sometimes another's.
        server = (hart if own is None else own) if rng.random() < 0.7 else rng.choice(self.model.harts)
        served = list(bits(self.model.in_service[server]))
        number = rng.randrange(64) if rng.random() < 0.1 else rng.randrange(SOURCES)
        if number >= SOURCES:   # no source's number, by any one bit that is too high
            number = number - SOURCES | 1 << 5 + number % 27
        fields = REGISTERS["SOURCE"]
        source = (fields["PRIORITY"].put(rng.choice((0, 1, 2, 3, 7, 14, 15))) | fields["EDGE"].put(rng.getrandbits(1))
                  | fields["ROUTE"].put(rng.randrange(len(self.model.harts) + 1))
                  | fields["ANY"].put(rng.random() < 0.3))
        level = rng.choice((0, 0, 0, 15, 15, 1, 2, 3, 6, 14))
        choices = (
            (30, lambda: load("CLAIM")),
            (25, lambda: store("EOI", rng.choice(served) if served and rng.random() < 0.9 else number)),
            (self.levels, lambda: store("LEVEL", level | rng.getrandbits(32) & ~0xf)),
            (10, lambda: store("SOURCE", source | rng.getrandbits(32) & ~fields.mask, rng.randrange(SOURCES))),
            (3, lambda: store("ENABLE", self.mask())),
            (4, lambda: store("MASK", number)),
            (6, lambda: store("UNMASK", number)),
            (4, lambda: store("RAISE", self.mask())),
            (4, lambda: store("IPI", rng.getrandbits(9))),
            (3, lambda: store("CLEAR", self.mask())),
            (6, lambda: load(rng.choice(("LEVEL", "ENABLE", "DELIVERABLE", "INSERVICE", "PENDING", "ID")))),
            (2, lambda: load("SOURCE", rng.randrange(SOURCES))),
            (1, lambda: Command(bool(rng.getrandbits(1)), 4 * rng.getrandbits(14), rng.getrandbits(32))),
        )
        return rng.choices([make_command for _, make_command in choices], [weight for weight, _ in choices])[0]()


class LiveTimes:
    """Stores to the link's CSRs while accesses and wires are compared: a tests.hw.register_storm.Storm, and its writes
    that reach the CSRs. A time counts from the cycle after its write, a seed from the second one after that."""

    def __init__(self, storm, writes):
        self.storm, self.writes, self.coming = storm, writes, []

    def begin(self, times):
        self.storm.kept |= times
        self.task = cocotb.start_soon(self.storm.forever())

    def step(self, models):
        """Called in each cycle, before the models'."""
        for _, name, value in [each for each in self.coming if each[0] == 0]:
            for model in models:
                model.seed(value) if name == "seed" else setattr(model, name, value)
        self.coming = [(left - 1, *what) for left, *what in self.coming if left]
        if write := self.writes.now():
            self.coming.append((2 if write[0] == "seed" else 0, *write))

    async def end(self):
        async with self.storm.lock:
            self.task.cancel()


async def compare(pic, rng, model, phases, cycles, mutants=(), live=None):
    """Run all phases, of so many cycles each; AssertionError where the RTL is not like `model`. A phase: the link's
    times as in TIMES; chance per cycle of a change of wires, and of an access; weight of LEVEL among accesses. With
    `live`, a LiveTimes, the times go on changing.
    Returns the mutants, other models, that no cycle betrayed."""
    dut, harts = pic.dut, model.harts
    stimulus = Stimulus(rng, model)
    alive = list(mutants)
    offered = [None] * len(harts)
    waiting = [False] * len(harts)

    async def cycle(wires, accesses):
        sources = stimulus.sources(wires)
        dut.sources.value = sources
        for h in harts:
            if offered[h] is None and not waiting[h] and rng.random() < accesses:
                offered[h] = command = stimulus.command(h)
                port = pic.ports[h]
                port.cmd_write.value = int(command.write)
                port.cmd_address.value = command.address
                port.cmd_data.value = command.data
                port.cmd_mask.value = command.mask
                port.cmd_valid.value = 1
        await pic.clock.tick()
        ready = sum(int(pic.ports[h].cmd_ready.value) << h for h in harts)
        responses = {h: int(pic.ports[h].rsp_data.value) for h in harts if pic.ports[h].rsp_valid.value}
        irq = int(dut.irq.value)

        def matches(expected):
            return (expected.ready == ready and expected.irq == irq and expected.responses.keys() == responses.keys()
                    and all(data in (None, responses[h]) for h, data in expected.responses.items()))

        if live:
            live.step([model, *alive])
        expected = model.step(sources, offered)
        pic.clock.check(matches(expected), f"{expected} is expected, but ready is {ready:#x}, irq is {irq:#x} and the "
                        f"responses are {responses}")
        for mutant in list(alive):
            try:
                found = not matches(mutant.step(sources, offered))
            except (KeyError, IndexError, TypeError):
                found = True  # it diverged so far that it cannot interpret the accesses
            if found:
                alive.remove(mutant)
        for h in harts:
            if ready >> h & 1:
                pic.ports[h].cmd_valid.value = 0
                offered[h] = None
                waiting[h] = True
            if h in responses:
                waiting[h] = False

    def catch_up():
        """Let the models live through the cycles that reading and writing CSRs took."""
        while model.cycle < pic.clock.cycle - origin:
            for each in [model, *alive]:
                each.step(stimulus.wires, [None] * len(harts))

    origin = pic.clock.cycle
    for times, wires, accesses, stimulus.levels in phases:
        seed = rng.getrandbits(32)
        for name, time in zip(TIMES, times, strict=True):
            await pic.csr.write(name, time)
        await pic.csr.write("seed", seed)
        await pic.clock.tick(2)
        catch_up()
        for each in [model, *alive]:
            for name, time in zip(TIMES, times, strict=True):
                setattr(each, name, time)
            each.seed(seed)
        if live:
            live.begin(dict(zip(TIMES, times, strict=True)) | {"seed": seed})
        for _ in range(cycles):
            await cycle(wires, accesses)
        if live:
            ending = cocotb.start_soon(live.end())
            while not ending.done():
                await cycle(wires, accesses)
        while any(offered) or any(waiting):
            await cycle(0, 0)
        for _ in range(50):  # until the accounting shows all of it, and all deliveries are through
            await cycle(0, 0)
        for source in range(SOURCES):
            seen = await pic.read_counters(source)
            for each in [model, *alive]:
                if each is model:
                    pic.clock.equal(f"accounting of source {source}", seen, each.counts[source])
                elif seen != each.counts[source]:
                    alive.remove(each)
        for name in model.totals:
            seen = await pic.csr.read(name)
            for each in [model, *alive]:
                if each is model:
                    pic.clock.equal(name, seen, each.totals[name])
                elif seen != each.totals[name]:
                    alive.remove(each)
        pic.clock.equal("accounting_lost", await pic.csr.read("accounting_lost"), 0)
    return alive
