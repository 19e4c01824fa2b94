"""The CPU cluster as a LiteX CPU: cpu_type "interlock". The README beside this file says what it does."""

from litedram.common import LiteDRAMNativePort
from litex.soc.cores import cpu as litex_cpu
from litex.soc.interconnect import wishbone
from migen import ClockSignal, Instance, ResetSignal, Signal
from migen.genlib.record import Record

from hw.common.hart_io import HartIO
from hw.common.idle import Clock
from hw.cpu.generate import ClusterParameters, generate_cluster

DEVICE_ADDRESS_WIDTH = 27   # 64-bit words: all of main RAM's region


class DevicePort(LiteDRAMNativePort):
    """A LiteDRAM native port (the device is its master) into the harts' coherent memory.

    Addresses are 64-bit words from the start of main RAM. `busy` is 1 while a write is not visible to all harts yet,
    from the cycle after its command was taken: a device that has written raises its interrupt once it is 0."""
    def __init__(self):
        super().__init__("both", DEVICE_ADDRESS_WIDTH, 64)
        self.busy = Signal()


probe_layout = [
    ("valid", 1),       # an instruction retired in this cycle
    ("pc", 32),         # its address
    ("privilege", 2),   # 0 user, 1 supervisor, 3 machine
    ("trap", 1),        # a trap is taken in this cycle
    ("cause", 32),      # with trap: as mcause, bit 31 set for an interrupt
    ("trap_pc", 32),    # with trap: what mepc or sepc will hold
    ("wfi", 1),         # the hart waits in WFI
]


class InterlockCluster(litex_cpu.CPU):
    """The harts with their caches, coherent interconnect and CLINT; `parameters` says what is built.

    `pbus` is the Wishbone master to the SoC's bus; `ibus` and `dbus` are the LiteDRAM native masters to main RAM
    (addresses in 64-bit words from its start). `clint_bus` and `dma_bus` are Wishbone slaves; `device_ports[n]` are
    LiteDRAM native slaves, for devices that move much (DevicePort). `hart_io[h]` is hart h's private I/O port (master).
    `external_interrupt` goes in, a level per hart; `timer_interrupt` comes out, for use of the timers elsewhere too
    (they are wired to the harts already). `probe[h]` is for the simulator only."""

    category = "softcore"
    family = "riscv"
    name = "interlock"
    human_name = "Interlock cluster"
    variants = ["standard"]
    data_width = 32
    endianness = "little"
    gcc_triple = litex_cpu.CPU_GCC_TRIPLE_RISCV32
    gcc_flags = "-march=rv32ima_zicsr_zifencei -mabi=ilp32"
    linker_output_format = "elf32-littleriscv"
    nop = "nop"
    io_regions = {0x8000_0000: 0x8000_0000}  # origin: length
    mem_map = {
        "rom": 0x0000_0000,
        "sram": 0x1000_0000,
        "main_ram": 0x4000_0000,
        "csr": 0xf000_0000,
        "clint": 0xf001_0000,
    }

    parameters = ClusterParameters()

    def __init__(self, platform, variant="standard"):
        harts = self.parameters.harts
        self.platform = platform
        self.variant = variant
        self.reset = Signal()
        self.external_interrupt = Signal(harts)
        self.timer_interrupt = Signal(harts)
        self.pbus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.clint_bus = wishbone.Interface(data_width=32, address_width=32, addressing="word")
        self.dma_bus = wishbone.Interface(data_width=64, address_width=32, addressing="word")
        self.ibus = LiteDRAMNativePort(mode="both", address_width=32, data_width=64)
        self.dbus = LiteDRAMNativePort(mode="both", address_width=32, data_width=64)
        self.device_ports = [DevicePort() for _ in range(self.parameters.device_ports)]
        self.hart_io = [HartIO(f"hart_io{h}") for h in range(harts)]
        self.probe = [Record(probe_layout, name=f"probe{h}") for h in range(harts)]
        self.while_idle = [Clock("InterlockCluster.clint_1.time_1",
                           tuple(f"InterlockCluster.clint_1.mtimecmp_{h}" for h in range(harts)))]
        self.while_idle += [Clock(f"InterlockCluster.harts_{h}_logic_cpu.CsrPlugin_mcycle") for h in range(harts)]
        self.periph_buses = [self.pbus]
        self.memory_buses = [self.ibus, self.dbus]

    def set_reset_address(self, reset_address):
        """Sets where every hart begins; LiteX calls this."""
        if reset_address != self.parameters.reset_vector:
            built = self.parameters.reset_vector
            raise ValueError(f"the cluster is built to start at {built:#x}, not {reset_address:#x}")
        self.reset_address = reset_address

    def add_soc_components(self, soc):
        """Describe the hardware to software."""
        soc.add_config("CPU_COUNT", self.parameters.harts)
        soc.add_config("CPU_ISA", "rv32ima_zicsr_zifencei")
        soc.add_config("CPU_MMU", "sv32")
        soc.add_config("CPU_CACHE_LINE_BYTES", 64)

    def do_finalize(self):
        ports = {
            "i_clk": ClockSignal("sys"),
            "i_reset": ResetSignal("sys") | self.reset,
            "i_external_interrupt": self.external_interrupt,
            "o_timer_interrupt": self.timer_interrupt,
            **self.wishbone_ports(),
            **self.native_ports(),
            **self.hart_ports(),
        }
        self.specials += Instance("InterlockCluster", **ports)
        self.platform.add_source(str(generate_cluster(**vars(self.parameters))))

    def wishbone_ports(self):
        ports = {}
        for name, bus, master in (("pbus", self.pbus, True), ("clint_bus", self.clint_bus, False),
                                  ("dma_bus", self.dma_bus, False)):
            out, into = ("o", "i") if master else ("i", "o")
            ports |= {
                f"{out}_{name}_CYC": bus.cyc,
                f"{out}_{name}_STB": bus.stb,
                f"{out}_{name}_WE": bus.we,
                f"{out}_{name}_ADR": bus.adr,
                f"{out}_{name}_SEL": bus.sel,
                f"{out}_{name}_DAT_MOSI": bus.dat_w,
                f"{into}_{name}_DAT_MISO": bus.dat_r,
                f"{into}_{name}_ACK": bus.ack,
            }
        # The cluster ends an access at ACK and looks at ERR only then.
        return ports | {
            "i_clint_bus_ADR": self.clint_bus.adr[:14],
            "i_pbus_ACK": self.pbus.ack | self.pbus.err,
            "i_pbus_ERR": self.pbus.err,
            "o_pbus_CTI": self.pbus.cti,
            "o_pbus_BTE": self.pbus.bte,
        }

    def native_ports(self):
        native = [("ibus", self.ibus, "o", "i"), ("dbus", self.dbus, "o", "i")]
        native += [(f"device_port_{n}", port, "i", "o") for n, port in enumerate(self.device_ports)]
        ports = {f"o_device_port_{n}_busy": port.busy for n, port in enumerate(self.device_ports)}
        for name, port, out, into in native:
            ports |= {
                f"{out}_{name}_cmd_valid": port.cmd.valid,
                f"{into}_{name}_cmd_ready": port.cmd.ready,
                f"{out}_{name}_cmd_payload_we": port.cmd.we,
                f"{out}_{name}_cmd_payload_addr": port.cmd.addr,
                f"{out}_{name}_wdata_valid": port.wdata.valid,
                f"{into}_{name}_wdata_ready": port.wdata.ready,
                f"{out}_{name}_wdata_payload_data": port.wdata.data,
                f"{out}_{name}_wdata_payload_we": port.wdata.we,
                f"{into}_{name}_rdata_valid": port.rdata.valid,
                f"{out}_{name}_rdata_ready": port.rdata.ready,
                f"{into}_{name}_rdata_payload_data": port.rdata.data,
            }
        return ports

    def hart_ports(self):
        """Each hart's own port, and its probe."""
        ports = {}
        for h, (io, probe) in enumerate(zip(self.hart_io, self.probe, strict=True)):
            ports |= {
                f"o_hart_io_{h}_cmd_valid": io.cmd_valid,
                f"i_hart_io_{h}_cmd_ready": io.cmd_ready,
                f"o_hart_io_{h}_cmd_payload_write": io.cmd_write,
                f"o_hart_io_{h}_cmd_payload_address": io.cmd_address,
                f"o_hart_io_{h}_cmd_payload_data": io.cmd_data,
                f"o_hart_io_{h}_cmd_payload_mask": io.cmd_mask,
                f"i_hart_io_{h}_rsp_valid": io.rsp_valid,
                f"i_hart_io_{h}_rsp_payload": io.rsp_data,
            }
            for field, _ in probe_layout:
                netlist_name = {"trap_pc": "trapPc"}.get(field, field)
                ports[f"o_probe_{h}_{netlist_name}"] = getattr(probe, field)
        return ports


def register(parameters: ClusterParameters) -> None:
    """Make LiteX's cpu_type "interlock" a cluster built with `parameters`."""
    litex_cpu.CPUS["interlock"] = type("InterlockCluster", (InterlockCluster,), {"parameters": parameters})
