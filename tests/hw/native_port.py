"""Master of a port of main RAM, which is LiteDRAM's native port: the tests of hw/ram read and write through it."""

import cocotb


class NativePort:
    """Master of the port whose signals are `p<index>_cmd_valid` and so on.

    `reads` has (cycle the command was taken, cycle of the data, data) of each read since `answers` was last called;
    `most` is the greatest number of reads that waited at once."""

    def __init__(self, dut, index, clock):
        self.clock = clock
        for name in "cmd_valid cmd_ready wdata_valid wdata_ready rdata_valid".split():
            setattr(self, name, getattr(dut, f"p{index}_{name}"))
        for name in "cmd_we cmd_addr wdata_data wdata_we rdata_data".split():
            channel, signal = name.split("_")
            setattr(self, name, getattr(dut, f"p{index}_{channel}_payload_{signal}"))
        self.cmd_valid.value = self.wdata_valid.value = 0
        self.reads, self.waiting = [], []
        self.most = 0
        cocotb.start_soon(self.watch())

    async def watch(self):
        """Pair every answer with the oldest read that has none."""
        while True:
            await self.clock.tick()
            if self.rdata_valid.value:
                self.clock.check(self.waiting, "data without a read")
                self.reads.append((self.waiting.pop(0), self.clock.cycle, int(self.rdata_data.value)))
            if self.cmd_valid.value and self.cmd_ready.value and not self.cmd_we.value:
                self.waiting.append(self.clock.cycle)
                self.most = max(self.most, len(self.waiting))
            self.move_data()

    def move_data(self):
        """Called in each cycle, for a subclass that moves the data of writes itself."""

    def busy(self):
        """Is a request not done yet?"""
        return bool(self.waiting)

    async def command(self, address, we):
        """Have a command taken."""
        self.cmd_addr.value, self.cmd_we.value, self.cmd_valid.value = address, we, 1
        await self.clock.tick()
        while not self.cmd_ready.value:
            await self.clock.tick()
        self.cmd_valid.value = 0

    async def ask(self, address):
        """Have a read taken."""
        await self.command(address, 0)

    async def answers(self):
        """All reads so far, when all that was asked is done; forgets them."""
        await self.clock.tick()
        while self.busy():
            await self.clock.tick()
        reads, self.reads = self.reads, []
        return reads

    async def read(self, address):
        """The word at `address`."""
        await self.ask(address)
        return (await self.answers())[-1][2]
