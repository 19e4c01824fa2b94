"""Runs cocotb tests of Migen modules on Verilator, under pytest.

A test file holds the module under test, the coroutines and the pytest function, as cocotb's own examples do:

    def make(width):                                  # builds the module; its arguments are plain JSON values
        dut = Counter(width)
        return dut, {"enable": dut.enable, "value": dut.value, "bus": dut.bus}

    @cocotb.test()                                    # without test_ in its name, which is pytest's
    async def counts_when_enabled(dut):
        clock = await bench.start(dut)                # clock running, reset done
        dut.enable.value = 1
        await clock.tick(3)
        clock.equal("value", dut.value, 2)            # "cycle 9: value is 1, not 2" when it fails
        width, = bench.arguments()                    # what simulate() gave to make()

    def test_counter():
        bench.simulate(make, 8)                       # all coroutines of the file; tests=[...] chooses some

The names in the dictionary become the ports: a signal's its name, a record's `<name>_<field>`. The clock is `sys_clk`,
the reset `sys_rst`. The build is cached by the Verilog it is made of. `python -m pytest --basetemp DIR` and WAVES=1
leave `dump.vcd` in the run's temporary folder; seeds are fixed, so a run repeats exactly.

Timing: a coroutine wakes at the rising edge that ends a cycle and sees the values of that cycle; its writes hold
in the next one. An output that depends on inputs without a register also shows a write one `tick()` later.
"""

import inspect
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import cocotb
import pytest
from cocotb.clock import Clock
from cocotb.simtime import get_sim_time
from cocotb.triggers import ClockCycles, RisingEdge, Timer
from cocotb_tools.config import libs_dir
from cocotb_tools.runner import get_runner
from litex.gen import LiteXModule
from litex.gen.fhdl.verilog import convert
from litex.soc.interconnect import csr_bus, wishbone
from migen import ClockDomain, Record, Signal

from hw.common.csr import whole_words
from sim.model.toolchain import COMPILER
from soc.fpga import netlist
from soc.fpga.design import Design
from soc.fpga.synthesis import synthesise
from support.cache import REPO, cached

PERIOD_NS = 2
# One file of C++: for several, Verilator's makefile first compiles their headers, twice, 3.5 s each.
BUILD_ARGS = ["-Wno-fatal", "-Wno-lint", "-Wno-style", "--output-split", "0", "-O3", "-CFLAGS", "-O1"]
# A netlist is much code, of which little runs; with all its names public, as cocotb asks, it would be 500 MB.
NETLIST_ARGS = [*BUILD_ARGS[:-1], "-O0", "--no-public-flat-rw"]
# For Verilator's makefile, which names g++: clang takes half the time for a core, a fifth for one with a cluster.
MAKE = f"CXX={COMPILER}"


# Building and running, in pytest's process ----------------------------------------------------------------------------

def verilog(module, ios):
    """The module as Verilog text named `top`, with the signals and records of `ios` as ports of their names there."""
    ports = set()
    for name, port in ios.items():
        for signal, signal_name in [(port, name)] if isinstance(port, Signal) else record_signals(port, name):
            signal.name_override = signal_name
            ports.add(signal)
    top = LiteXModule()
    top.cd_sys = ClockDomain("sys")
    top.module = module
    source = convert(top, ports | {top.cd_sys.clk, top.cd_sys.rst}, name="top")
    return {name: re.sub(r"(?m)^//.*\n", "", text)    # comments hold the date
            for name, text in {"top.v": source.main_source, **source.data_files}.items()}


def record_signals(record, name):
    """Yield (signal, port name) of all signals of a record, nested records too."""
    for field, *_ in record.layout:
        value = getattr(record, field)
        if isinstance(value, Record):
            yield from record_signals(value, f"{name}_{field}")
        else:
            yield value, f"{name}_{field}"


def netlist_of(files, name):
    """The files that synthesis for ECP5 makes of a module's: a netlist of cells, with their models."""
    def write(folder):
        for file, text in files.items():
            (folder / file).write_text(text)

    sources = cached("cocotb-sources", files, write)
    design = Design(name, "top", (sources / "top.v",), lpf=sources, device="", size="", package="", speed="",
                    clock_hz=0)
    text = netlist.verilog(synthesise(design), name)
    ports = "".join(f'public_flat_rw -module "top" -var "{port}"\n' for port in netlist.port_names(text, "top"))
    return {"top.v": text, "ports.vlt": "`verilator_config\n" + ports, **netlist.models()}


def compile_simulator(files, waves, build_args):
    """The folder of the simulator made from `files`, a dictionary of text by name, with the top module `top`."""
    def compile_in(folder):
        for name, text in files.items():
            (folder / name).write_text(text)
        os.environ.setdefault("OBJCACHE", shutil.which("ccache") and "ccache" or "")
        runner = get_runner("verilator")
        try:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("MAKEFLAGS", MAKE)
                runner.build(sources=[folder / name for name in files if name.endswith((".v", ".vlt"))],
                             hdl_toplevel="top", build_dir=folder, build_args=build_args, waves=waves,
                             log_file=folder / "build.log")
        except (SystemExit, Exception) as error:
            log = folder / "build.log"
            text = log.read_text()[-3000:] if log.exists() else ""
            raise RuntimeError(f"Verilator could not build the module ({error})\n{text}") from None

    inputs = {**files, "options": json.dumps([build_args, MAKE, waves, cocotb.__version__, sys.version])}
    return cached("cocotb", inputs, compile_in)


def simulate(make, *args, tests=(), seed=1, level="rtl"):
    """Build what `make(*args)` returns and run the cocotb tests of make's file on it.

    `make` returns the module and a dictionary of its ports; the module's `other_verilog`, if present, is the text
    of files with modules that it instantiates, by name. `tests` names coroutines; empty means all of the file.
    `level` is "rtl", or "netlist" for the module after synthesis for ECP5: its ports only, no names inside.
    Fails the pytest test with every failed coroutine's message; a run in which no coroutine ran fails, too.
    """
    __tracebackhide__ = True
    file = Path(inspect.getfile(make))
    path = os.environ.get("PATH", "")
    os.environ["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{path}"  # the Verilator of this environment
    waves = os.environ.get("WAVES", "0") not in ("", "0")
    module, ios = make(*args)
    files = verilog(module, ios) | getattr(module, "other_verilog", {})
    if level == "netlist":
        folder = compile_simulator(netlist_of(files, file.stem), waves, NETLIST_ARGS)
    else:
        folder = compile_simulator(files, waves, BUILD_ARGS)
    run = Path(tempfile.mkdtemp(prefix=f"{file.stem}-"))
    names = "|".join(tests)
    try:
        try:
            get_runner("verilator").test(
                test_module=file.stem, hdl_toplevel="top", hdl_toplevel_lang="verilog", build_dir=folder,
                test_dir=run, seed=seed, waves=waves, results_xml=str(run / "results.xml"), log_file=run / "log",
                test_filter=rf"\.({names})$" if tests else None,
                extra_env={"PYTHONPATH": os.pathsep.join([str(REPO), str(file.parent), *sys.path]),
                           "LD_LIBRARY_PATH": str(libs_dir),    # the path in the cache may name a moved checkout
                           "BENCH_ARGUMENTS": json.dumps(args), "COCOTB_ANSI_OUTPUT": "0"})
        except SystemExit:
            pass  # the results say more
        log = (run / "log").read_text() if (run / "log").exists() else ""
        failures = failed_tests(run / "results.xml", log)
    finally:
        if not waves:
            shutil.rmtree(run)
        os.environ["PATH"] = path
    if failures:
        pytest.fail("\n\n".join(failures), pytrace=False)


def failed_tests(results, log):
    """Messages of the tests that failed, from the file `results`; the end of the log if there were no tests."""
    cases = list(ElementTree.parse(results).getroot().iter("testcase")) if results.exists() else []
    ran = [case for case in cases if case.find("skipped") is None]
    if not ran:
        return [f"no cocotb test ran to its end\n{log[-3000:]}"]
    failures = []
    for case in ran:
        for result in [*case.findall("failure"), *case.findall("error")]:
            message = result.get("message") or result.get("error_msg") or (result.text or "").strip()
            failures.append(f"{case.get('name')}: {message}")
    return failures and [*failures, log[-6000:]]


# In the simulator's process -------------------------------------------------------------------------------------------

def arguments():
    """The arguments that simulate() passed to make(), as a list."""
    return json.loads(os.environ["BENCH_ARGUMENTS"])


class Cycles:
    """The running clock of a bench; makes the messages of checks name the cycle."""
    def __init__(self, clk):
        self.clk = clk

    @property
    def cycle(self):
        """Number of the cycle that ends with the last rising edge, from the start of the simulation."""
        return round(get_sim_time("ns")) // PERIOD_NS

    async def tick(self, cycles=1):
        """Wait for the end of a cycle, or of several."""
        if cycles == 1:
            await RisingEdge(self.clk)
        elif cycles > 1:
            await ClockCycles(self.clk, cycles)

    def check(self, condition, message):
        """AssertionError with the cycle and the message unless the condition holds."""
        if not condition:
            raise AssertionError(f"cycle {self.cycle}: {message}")

    def equal(self, what, value, expected):
        """AssertionError unless a handle or number `value` is `expected`."""
        value = int(value.value) if hasattr(value, "value") else value
        if value != expected:
            shown = [f"{number} (0x{number:x})" if type(number) is int else str(number) for number in (value, expected)]
            raise AssertionError(f"cycle {self.cycle}: {what} is {shown[0]}, not {shown[1]}")


async def start(dut, **inputs):
    """Start the clock, set the inputs given by name (others keep what they have), reset the module; returns Cycles."""
    for handle in dut:
        if handle._name in inputs:
            handle.value = inputs[handle._name]
    Clock(dut.sys_clk, PERIOD_NS, unit="ns").start()
    clock = Cycles(dut.sys_clk)
    dut.sys_rst.value = 1
    await clock.tick(2)
    dut.sys_rst.value = 0
    await clock.tick()
    return clock


class HartPort:
    """Master of a hart I/O port (hw/common/hart_io.py): the port's signals are `<prefix>_cmd_valid` and so on."""
    def __init__(self, dut, prefix, clock):
        self.clock = clock
        for signal in "cmd_valid cmd_ready cmd_write cmd_address cmd_data cmd_mask rsp_valid rsp_data".split():
            setattr(self, signal, getattr(dut, f"{prefix}_{signal}"))
        self.cmd_valid.value = 0

    async def access(self, write, address, data=0, mask=0xf):
        """One access, begun in the next cycle. Returns (data read, stall cycles).

        The stall is counted from the first cycle in which the command is offered to the one of its response."""
        self.cmd_write.value = int(write)
        self.cmd_address.value = address
        self.cmd_data.value = data
        self.cmd_mask.value = mask
        self.cmd_valid.value = 1
        first = self.clock.cycle + 1
        await self.clock.tick()
        while not self.cmd_ready.value:
            await self.clock.tick()
        self.cmd_valid.value = 0
        if not self.rsp_valid.value:
            await RisingEdge(self.rsp_valid)
        await self.clock.tick()
        return int(self.rsp_data.value), self.clock.cycle - first

    async def read(self, address):
        """The word at byte `address` of the window."""
        return (await self.access(False, address))[0]

    async def write(self, address, data, mask=0xf):
        """Store a word; `mask` has a bit for each byte."""
        await self.access(True, address, data, mask)


class WishboneBus:
    """Master of a 32-bit classic Wishbone bus whose signals are `<prefix>_cyc` and so on."""
    def __init__(self, dut, prefix, clock):
        self.clock = clock
        for signal in "cyc stb we adr sel dat_w dat_r ack".split():
            setattr(self, signal, getattr(dut, f"{prefix}_{signal}"))
        self.cyc.value = self.stb.value = 0

    async def access(self, we, address, data=0, sel=0xf):
        """One access at byte `address`; returns the word read."""
        self.we.value = int(we)
        self.adr.value = address // 4
        self.dat_w.value = data
        self.sel.value = sel
        self.cyc.value = self.stb.value = 1
        await self.clock.tick()
        while not self.ack.value:
            await self.clock.tick()
        self.cyc.value = self.stb.value = 0
        return int(self.dat_r.value)

    async def read(self, address):
        """The word at byte `address`."""
        return await self.access(False, address)

    async def write(self, address, data, sel=0xf):
        """Store a word; `sel` has a bit for each byte."""
        await self.access(True, address, data, sel)


class TimedBus:
    """Master of a 32-bit Wishbone bus for a bench that acts only on falling edges, half a cycle away from the core's
    actions."""
    def __init__(self, dut, prefix):
        for signal in "cyc stb we adr sel dat_w dat_r ack".split():
            setattr(self, signal, getattr(dut, f"{prefix}_{signal}"))

    async def access(self, address, value=None, sel=0xf):
        """A load, or a store of `value`: (the word read, cycles from that of the request to that of the acknowledge,
        both counted)."""
        self.adr.value, self.sel.value = address // 4, sel
        self.we.value, self.dat_w.value = int(value is not None), value or 0
        self.cyc.value = self.stb.value = 1
        await Timer(PERIOD_NS, "ns")
        count = 1
        while not self.ack.value:
            await Timer(PERIOD_NS, "ns")
            count += 1
        word = int(self.dat_r.value)
        await Timer(PERIOD_NS, "ns")
        self.cyc.value = self.stb.value = 0
        return word, count + 1


class CsrBank(LiteXModule):
    """Puts the CSRs of LiteX modules behind a CSR bus of 32 bits; `bus` is to be a port, prefix `csr`.

    The modules themselves must also be submodules of the one that is built. With `bridged` there is a Wishbone bus
    to them as well, `wishbone`, as in the SoC: a test uses one at a time. `seen` has the accesses from both."""
    def __init__(self, *modules, bridged=False):
        self.bus = self.seen = csr_bus.Interface(data_width=32)
        if bridged:
            behind, self.seen = csr_bus.Interface(data_width=32), csr_bus.Interface(data_width=32)
            self.bridge = wishbone.Wishbone2CSR(bus_csr=behind, register=False)
            self.wishbone, joined = whole_words(self.bridge.wishbone)
            self.comb += joined
            self.shared = csr_bus.InterconnectShared([self.bus, behind], [self.seen])
        self.bank = csr_bus.CSRBank(csrs_of(*modules), bus=self.seen)


def csrs_of(*modules):
    """The CSRs of LiteX modules in CsrBank's order."""
    return [csr for module in modules for csr in module.get_csrs(sort=True)]


def csr_layout(*modules):
    """Place of each CSR of the modules behind CsrBank: {name: (first word, words)}, first word = most significant."""
    layout, word = {}, 0
    for csr in csrs_of(*modules):
        words = (csr.size + 31) // 32
        layout[csr.name] = (word, words)
        word += words
    return layout


class CsrBus:
    """Master of the CSR bus of a CsrBank; `layout` is the result of csr_layout()."""
    def __init__(self, dut, clock, layout, prefix="csr"):
        self.clock = clock
        self.layout = layout
        for signal in "adr we re dat_w dat_r".split():
            setattr(self, signal, getattr(dut, f"{prefix}_{signal}"))
        self.we.value = self.re.value = 0

    async def read(self, name):
        """Value of a CSR."""
        first, words = self.layout[name]
        value = 0
        for word in range(first, first + words):
            self.adr.value = word
            self.re.value = 1
            await self.clock.tick()
            self.re.value = 0
            self.adr.value = 0      # a bus that has two masters joins them by or
            await self.clock.tick()
            value = value << 32 | int(self.dat_r.value)
        return value

    async def write(self, name, value):
        """Write a CSR; it has its new value when this returns."""
        first, words = self.layout[name]
        for word in range(words):
            self.adr.value = first + word
            self.dat_w.value = value >> 32 * (words - 1 - word) & 0xffff_ffff
            self.we.value = 1
            await self.clock.tick()
        self.we.value = self.adr.value = self.dat_w.value = 0
        await self.clock.tick()
