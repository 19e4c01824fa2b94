"""Which core a cell of a netlist belongs to, by its name."""

from litex.gen import LiteXModule
from migen import If, Memory, Signal
from migen.fhdl.verilog import convert

from soc.fpga.cores import REST, core_of, cores_of
from soc.fpga.report import whole


class Counter(LiteXModule):
    def __init__(self):
        self.value = Signal(8)
        self.sync += If(self.value != 200, self.value.eq(self.value + 1))


class Table(LiteXModule):
    """A memory, and a module within."""
    def __init__(self):
        self.counter = counter = Counter()
        self.out = Signal(16)
        table = Memory(16, 256, name="words")
        port = table.get_port(async_read=True)
        self.specials += table, port
        self.comb += [port.adr.eq(counter.value), self.out.eq(port.dat_r)]


class Chip(LiteXModule):
    def __init__(self):
        self.first, self.second, self.table = Counter(), Counter(), Table()
        self.all = Signal()
        self.comb += self.all.eq(self.first.value == self.table.out)


def test_each_signal_and_memory_is_of_the_core_that_drives_it():
    chip = Chip()
    output = convert(chip, {chip.all})
    names = {core: output.ns.get_name(signal) for core, signal in (
        ("first", chip.first.value), ("second", chip.second.value), ("table", chip.table.out))}
    inner = output.ns.get_name(chip.table.counter.value)
    cores = cores_of(chip, output.ns.get_name)
    assert {core: cores[name] for core, name in names.items()} == {core: core for core in names}
    assert cores[inner] == "table" and cores["words"] == "table"
    assert output.ns.get_name(chip.all) not in cores
    assert len({*names.values(), inner}) == 4


def test_a_cell_is_of_the_core_of_the_signal_that_it_is_called_after():
    cores = {"pic_latch": "pic", "pic": "elsewhere", "words": "table", "uart0_rx": "uart0"}
    for cell, core in (
        ("pic_latch_TRELLIS_FF_Q_7", "pic"),
        ("pic_latch_LUT4_A_Z_PFUMX_Z_C0_LUT4_Z", "pic"),
        ("words.0.3", "table"),
        ("words.0.3_DO_1_LUT4_Z", "table"),
        ("uart0_tx_LUT4_Z", "uart0"),           # the SoC's own signal, called after the core
        ("nothing_known_LUT4_Z", REST),
        ("InterlockCluster.harts_2_logic_cpu.x_LUT4_Z", "hart 2"),
        ("InterlockCluster_1.harts_11_logic_cpu.y", "hart 11"),
        ("InterlockCluster.dOrdered_bmb.z", "interconnect"),
    ):
        assert core_of(cell, cores) == core, cell


def test_parts_are_counted_with_their_core():
    assert [whole(core) for core in ("sdcard", "disk0", "ether", "sdrphy", "csr_bankarray", "hart_io3", "hart 3",
                                     "pic")] == [
        "sdcard", "disk", "ethernet", "dram", "csr", "bus", "hart 3", "pic"]
