"""LiteDRAM's model of an SDRAM and its PHY, with the cells of all banks in one memory: the simulator finds main RAM
there as a program sees it, byte after byte."""

from litedram.phy import model
from litex.gen import LiteXModule
from migen import Cat, Constant, If, Memory, Replicate, Signal


class _Bank(LiteXModule):
    """Replaces LiteDRAM's BankModel: the same signals, the cells in `cells`. Rows are above banks and banks above
    columns in the address, as in LiteDRAM's own mapping."""
    def __init__(self, cells, number, bank_bits, data_width, nrows, ncols, words_skip):
        self.activate     = Signal()
        self.activate_row = Signal(max=nrows)
        self.precharge    = Signal()
        self.write        = Signal()
        self.write_col    = Signal(max=ncols)
        self.write_data   = Signal(data_width)
        self.write_mask   = Signal(data_width // 8)
        self.read         = Signal()
        self.read_col     = Signal(max=ncols)
        self.read_data    = Signal(data_width)

        # # #

        active = Signal()
        row    = Signal(max=nrows)
        bank   = Constant(number, bank_bits)
        reader = cells.get_port(async_read=True)
        writer = cells.get_port(write_capable=True, we_granularity=8)
        self.specials += reader, writer
        self.sync += If(self.precharge,
            active.eq(0)
        ).Elif(self.activate,
            active.eq(1),
            row.eq(self.activate_row)
        )
        self.comb += [
            reader.adr.eq(Cat(self.read_col[words_skip:], bank, row)),
            writer.adr.eq(Cat(self.write_col[words_skip:], bank, row)),
            writer.dat_w.eq(self.write_data),
            writer.we.eq(Replicate(self.write & active, data_width // 8) & ~self.write_mask),
            If(self.read & active, self.read_data.eq(reader.dat_r)),
        ]


class DRAMModel(model.SDRAMPHYModel):
    """`chip` (of litedram.modules) with `data_width` pins and its PHY, at a system clock of `clock_hz`."""
    def __init__(self, chip, data_width, clock_hz):
        geometry = chip.geom_settings
        cells = []

        def bank(data_width, nrows, ncols, burst_length, nphases, we_granularity, init):
            words_skip = (burst_length * nphases).bit_length() - 1
            if not cells:
                # The simulator knows it by this name: it reads there, past the ports.
                depth = nrows * ncols << geometry.bankbits >> words_skip
                self.specials.cells = Memory(data_width, depth, name="main_ram_storage")
            cells.append(_Bank(self.cells, len(cells), geometry.bankbits, data_width, nrows, ncols, words_skip))
            return cells[-1]

        original, model.BankModel = model.BankModel, bank   # the only way to replace it
        try:
            super().__init__(chip, data_width=data_width, clk_freq=clock_hz)
        finally:
            model.BankModel = original
