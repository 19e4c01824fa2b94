"""The register reference: memory map, CSRs and the cores' registers, from the declarations the hardware is made of."""

from collections.abc import Mapping

from litex.soc.integration.soc import SoCCSRRegion

from hw.common.csr import csr_rows
from hw.common.regmap import Register, RegisterMap
from hw.disk.registers import REGISTERS as DISK
from hw.pic import COUNTERS as PIC_COUNTERS
from hw.pic import REGISTERS as PIC
from hw.serial.registers import registers_of
from hw.trace.registers import PORT as TRACE
from hw.trace.registers import buffer_map
from soc.config import SoCConfig

INTRODUCTION = """\
# Register reference

Generated from the declarations the hardware is made of (`python -m soc.docs`), for the SoC with {parameters}.

Registers have 32 bits. A load of any width reads the whole of one, with what that does. A store of less than a word
counts where the core says so, and is else ignored: the serial ports and the disk controller take one that has all
bytes in which the register has fields, the interrupt controller and the timers any byte, CSRs whole words only. Bits of
no field, and where there is no register, read as 0 and ignore stores. Addresses with bit 31 set are I/O: not cached,
and a hart waits for each load and store it makes there, except for stores to the trace port. C finds the names below in
`generated/csr.h` (`<csr>_read()`, `<csr>_write()`), `disk_regs.h`, `pic_regs.h`, `serial_regs.h`, `trace_regs.h` and
`mem.h`.
"""

COSTS = """
The path is how a hart gets there: `memory`, the cluster's ports to main RAM; `bus`, the Wishbone bus that all harts
share; `hart`, a private port of each hart. Cycles are those of a load until its value can be used and of a store until
the next instruction, without contention from others; in cached memory, of a hit, and of a load that misses. They are
measured with all latencies at their reset values of the default build: main RAM's reads take `ram_read_latency` = 8
cycles more than they could, and the interrupt controller's accesses `link_read_latency` or `link_write_latency` = 0.
"""


def clint_map(harts: int) -> RegisterMap:
    """The cluster's CLINT, in the layout of SiFive's."""
    return RegisterMap("CLINT", 0x1_0000, "Time, timers and software interrupts.", (
        Register("MSIP", 0x0000, "rw", "Bit 0 is the software interrupt of hart i (`mip.MSIP`).", count=harts),
        Register("MTIMECMP_LOW", 0x4000, "rw", "Low half of the time at which the timer of hart i rises.",
                 reset=0xffff_ffff, count=harts, stride=8),
        Register("MTIMECMP_HIGH", 0x4004, "rw", "High half of it.", reset=0xffff_ffff, count=harts, stride=8),
        Register("MTIME_LOW", 0xbff8, "ro", "Low half of the time in cycles since reset, the same for all harts. It "
                 "runs on."),
        Register("MTIME_HIGH", 0xbffc, "ro", "High half of it."),
    ))


def memory_table(soc) -> str:
    lines = ["| address | size | name | access | path | load | store | miss | what it is |",
             "|---|---|---|---|---|---|---|---|---|"]
    for name, region in soc.map.items():
        size = f"{region.size >> 20} MiB" if region.size >= 1 << 20 else f"{region.size >> 10} KiB"
        cached = "cached" if region.cached else "I/O"
        cycles = " | ".join("" if cost is None else str(cost) for cost in (region.load, region.store, region.miss))
        lines += [f"| `0x{region.origin:08x}` | {size} | `{name}` | {region.mode}, {cached} | {region.path} | {cycles} "
                  f"| {region.what} |"]
    return "\n".join(lines) + "\n" + COSTS


def pic_map(harts: int) -> RegisterMap:
    """The registers of a controller for so many harts."""
    fields = PIC["ID"]
    return PIC.with_resets(ID=fields.reset & ~fields["HARTS"].mask | fields["HARTS"].put(harts))


def csr_table(name: str, region: SoCCSRRegion, resets: Mapping[str, int]) -> str:
    """The CSRs of one core; `resets` are values that its declarations do not say.

    Those of more than 32 bits take several words, the most significant first."""
    return "\n".join(csr_rows(region.obj, name + "_", region.origin, dict(resets))) + "\n"


def reference(soc, config: SoCConfig, fingerprint: int) -> str:
    """The whole reference as Markdown, of a finalised SoC, whose Verilog has this fingerprint."""
    parameters = f"{config.harts} hart{'s' if config.harts > 1 else ''} and {config.ram_mib} MiB of main RAM"
    parts = [INTRODUCTION.format(parameters=parameters), "## Memory map\n", memory_table(soc), *soc.cost_notes,
             "## CSRs\n"]
    for name, region in soc.csr.regions.items():
        parts += [f"### `{name}`\n", csr_table(name, region, {"fingerprint": fingerprint})]

    def places(*names):
        return ", ".join(f"`0x{soc.map[name].origin:08x}`" for name in names)

    for registers, where in (
        (pic_map(config.harts), "pic_window"),
        (PIC_COUNTERS, "pic_counters"),
        (clint_map(config.harts), "clint"),
        (registers_of(config.clock_hz, config.serial_fifo), ("uart0", "uart1")),
        (TRACE, "trace_window"),
        (buffer_map(config.trace_depth), "trace_buffer"),
        *([(DISK, tuple(f"disk{n}" for n in range(config.disks)))] if config.disks else []),
    ):
        names = where if isinstance(where, tuple) else (where,)
        parts += [f"## {registers.name}\n", f"At {places(*names)}. {registers.description}\n", registers.markdown()]
    return "\n".join(parts)
