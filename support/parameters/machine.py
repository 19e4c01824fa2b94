"""Parameters of a machine: what a SoC is generated from, and the registers that hold some of it while it runs.

A register has one name everywhere: its CSR's, which is that of the parameter of its reset value (`--machine`), of the
boot argument (`--set`) and of `--poke`. A value that is not given at one place is that of the place before: the reset
value, then a poke at the start, then the boot argument.
"""

from dataclasses import dataclass

from support.parameters.declared import Parameter, fields_of, number, word

CYCLES_WIDTH = 16       # bits of the registers of latencies and delays
MOST_CYCLES = (1 << CYCLES_WIDTH) - 1
MAX_HARTS = 8
PREDICTIONS = ("none", "static", "dynamic")
REGISTER = ("machine", "boot", "poke")


def _cycles(default: int, help: str):
    return number(default, 0, MOST_CYCLES, "cycles", help, why=f"the register has {CYCLES_WIDTH} bits", ways=REGISTER)


def _power(default: int, low: int, high: int, unit: str, help: str):
    return number(default, low, high, unit, help, power=True, ways=("machine",))


@dataclass(frozen=True)
class MachineParameters:
    """What a SoC is generated from; the fields' order is that of --help and of the reference."""

    harts: int = number(1, 1, MAX_HARTS, "harts", "harts of the machine", ways=("machine",),
                        why=f"the interrupt controller has contexts for {MAX_HARTS}")
    clock_hz: int = number(60_000_000, 1_000_000, 500_000_000, "Hz", "the system clock that software is told of and "
                           "serial bit times are made from", ways=("machine",),
                           why="serial bit times and timers are made for that")
    ram_mib: int = _power(32, 1, 1024, "MiB", "main RAM")
    serial_fifo: int = _power(128, 1, 256, "characters", "room in each FIFO of both serial ports; 1 builds 16450s")
    trace_depth: int = _power(1024, 2, 4096, "records", "records that the trace buffer keeps")
    icache_bytes: int = _power(8192, 1024, 16384, "bytes", "each hart's instruction cache, all ways together: 1 to 4 "
                               "KiB each")
    icache_ways: int = _power(4, 1, 4, "ways", "ways of the instruction cache")
    dcache_bytes: int = _power(4096, 1024, 16384, "bytes", "each hart's data cache, likewise")
    dcache_ways: int = _power(1, 1, 4, "ways", "ways of the data cache")
    tlb_entries: int = _power(4, 2, 16, "entries", "each hart's TLB for instructions, and that for data")
    prediction: str = word("static", PREDICTIONS, "prediction of branches", ways=("machine",))
    disks: int = number(0, 0, 2, "disks", "disk controllers (hw/disk)", ways=("machine",),
                        why="there are interrupt sources and addresses for 2")
    ethers: int = number(0, 0, 1, "cores", "Ethernet cores (hw/ether)", ways=("machine",),
                         why="Ethernet has one set of wires")
    ram_read_latency: int = _cycles(8, "by which the data of a read of main RAM is held back")
    link_read_latency: int = _cycles(0, "that a load of the interrupt controller takes beyond those at latency 0")
    link_write_latency: int = _cycles(0, "that a store to the interrupt controller takes beyond those at latency 0")
    link_delivery_delay: int = _cycles(0, "by which the rise of a hart's interrupt wire comes late")
    link_read_back: int = _cycles(0, "of link_read_latency that are the way back, behind the load's effect; at most "
                                  "all")
    link_write_back: int = _cycles(0, "the same of link_write_latency and a store's")
    link_fall_delay: int = _cycles(0, "by which the fall of a hart's interrupt wire comes late")

    def __post_init__(self):
        for name, parameter in MACHINE.items():
            parameter.checked(getattr(self, name))


MACHINE = fields_of(MachineParameters)


def default(name: str):
    """The default of a parameter of a machine."""
    return MACHINE[name].default


def _jitter(name: str, help: str) -> Parameter:
    return Parameter(name, help, 0, "cycles", (0, MOST_CYCLES), ways=("boot", "poke"))


def _seed(name: str, help: str) -> Parameter:
    return Parameter(name, f"{help}; without it, it follows from the boot argument seed", None, "", (0, 0xffff_ffff),
                     ways=("boot", "poke"))


def _wire(name: str, most: int, help: str) -> Parameter:
    return Parameter(name, help, 0, "", (0, most), ways=("poke",))


# Registers without a parameter of their own reset value.
OTHER_REGISTERS = {parameter.name: parameter for parameter in (
    _jitter("ram_jitter", "most by which a read of main RAM is late at random"),
    _seed("ram_seed", "begins the random numbers of ram_jitter anew"),
    _jitter("link_jitter", "most that are added at random to each access of the interrupt controller, each delivery, "
            "and each fall if link_fall_delay is not 0"),
    _seed("link_seed", "begins the random numbers of link_jitter anew"),
    _wire("cable_cut", 255, "device_pic=pins: wires to the interrupt controller's chip that are cut, a mask"),
    _wire("cable_noise", MOST_CYCLES, "device_pic=pins: times in 65536 cycles that a wire is wrong"),
    _wire("node", 0xffff_ffff, "which of several nodes this is, and how many there are; --nodes writes it"),
    _wire("planted_fault", 0xffff_ffff, "which fault is planted in a netlist made for that (tests/board/faulty)"),
)}
STROBED = ("link_seed", "ram_seed")     # whose writes have an effect
REGISTERS = {name: parameter for name, parameter in (MACHINE | OTHER_REGISTERS).items() if "poke" in parameter.ways}

# Of an experiment's [devices]: the places of each, and in words.
PIC_PLACES = {"link": "the interrupt controller behind its link model, in one netlist with the SoC",
              "pins": "the interrupt controller on a chip of its own, behind real wires (soc/pins.py)"}
WIRES = {"serial": "a serial line from each node's data port to the next node's",
         "ether": "an Ethernet switch that joins all nodes, with machine ethers=1"}


def _in_words(choices: dict[str, str]) -> str:
    return "; ".join(f"{name}: {text}" for name, text in choices.items())


DEVICES = {"pic": Parameter("device_pic", _in_words(PIC_PLACES), "link", choices=tuple(PIC_PLACES), ways=("machine",))}
NODES = {"count": Parameter("nodes", "machines that run side by side", 1, "machines", (1, 64), ways=("nodes",)),
         "wire": Parameter("nodes_wire", _in_words(WIRES), "serial", choices=tuple(WIRES), ways=("nodes",)),
         "latency": Parameter("nodes_latency", "what is sent takes to the other node", 1000, "cycles", (1, 1_000_000),
                              ways=("nodes",))}
