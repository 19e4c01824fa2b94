"""Everything that a build is made from is in its key: after any change, another entry is looked up."""

import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest

import firmware.build
import hw.cpu.generate
import sim.images.kernel
import sim.model.build
import sim.model.verilate
import soc.boards.build
import soc.boards.picchip
import soc.build
import soc.config
import soc.fpga.pack
import soc.fpga.placement
import soc.fpga.synthesis
from soc.boards.catalog import BOARDS
from soc.boards.config import board_config
from soc.config import SoCConfig
from support.cache import REPO, digest

BOARD = next(iter(BOARDS))
VERSIONS = {"verilator": "5.052", "clang++-19": "19"}


class Keys:
    """A tree of sources and tools that a test may change, and the keys that builds then have. Nothing is built."""

    def __init__(self, folder, monkeypatch):
        self.folder, self.patch = folder, monkeypatch
        self.key = None
        self.undo = []
        for name in ("kernel", "firmware", "hw/cpu", "sim/model"):
            shutil.copytree(REPO / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.md"))
        for name in ("hw/common/regmap.py", "soc/soc.py", "sim/images/kernel.py"):
            self.write(name)
        self.said = dict.fromkeys(("gcc", "as", "ld", "lld"), "version 1\n")
        for module in (hw.cpu.generate, firmware.build, sim.images.kernel, sim.model.build, sim.model.verilate,
                       soc.build, soc.boards.build, soc.boards.picchip, soc.fpga.pack, soc.fpga.placement,
                       soc.fpga.synthesis):
            monkeypatch.setattr(module, "cached", self.cached)
            if module.__file__.startswith(str(REPO / "soc/fpga")):
                monkeypatch.setattr(module, "version", lambda name: f"{name} {self.said.get(name, 1)}")
            monkeypatch.setattr(module, "__file__", self.at(module.__file__))
        for module in (sim.model.toolchain, sim.model.idle):
            monkeypatch.setattr(module, "__file__", self.at(module.__file__))
        monkeypatch.setattr(soc.config, "REPO", folder)
        monkeypatch.setattr(sim.images.kernel, "REPO", folder)
        monkeypatch.setattr(sim.images.kernel, "PICOLIBC", folder / "picolibc")
        self.write("picolibc/" + sim.images.kernel.LIBC)
        self.write("picolibc/include/stdio.h")
        self.write("user/abi.h")
        self.write("user/programs/hello.c")
        self.write("libgcc.a")
        for name in ("FOLDER", "BOARD", "SIMULATOR_SOURCES", "LINK_SOURCES"):
            value = getattr(firmware.build, name)
            monkeypatch.setattr(firmware.build, name, tuple(map(self.at, value)) if isinstance(value, tuple)
                                else self.at(value))
        monkeypatch.setattr(hw.cpu.generate, "SCALA", self.at(hw.cpu.generate.SCALA))
        monkeypatch.setattr(hw.cpu.generate, "JARS", self.at(hw.cpu.generate.JARS))
        monkeypatch.setattr(sim.model.build, "HARNESS", self.folder / "harness")
        self.write("harness/machine/main.cpp")
        self.write("harness/machine/main.h")
        monkeypatch.setattr(sim.images.kernel.shutil, "which", lambda name: f"/bin/{name}")
        monkeypatch.setattr(sim.images.kernel.subprocess, "run", self.answer)
        self.include = SimpleNamespace(include=folder / "include", fingerprint=1)
        self.write("include/generated/soc.h", "#define CONFIG_HARTS 1\n")
        self.config = SoCConfig()

    def at(self, path):
        return type(path)(self.folder / Path(path).relative_to(REPO))

    def write(self, name, text="before"):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def append(self, name):
        path = self.folder / name
        self.undo.append((path, path.read_bytes()))
        with open(path, "a") as file:
            file.write("\n")

    @contextmanager
    def changed(self, change):
        """With one change, which is reverted afterwards."""
        before, said = dict(vars(self)), dict(self.said)
        with pytest.MonkeyPatch.context() as self.patch:
            change(self)
            yield
        for path, content in self.undo:
            path.write_bytes(content)
        vars(self).clear()
        vars(self).update(before, said=said, undo=[])

    def cached(self, kind, inputs, build):
        self.key = digest(inputs)
        return self.folder / "entry"

    def answer(self, command, **_):
        words = [str(word) for word in command]
        if "-print-libgcc-file-name" in words:
            return SimpleNamespace(stdout=str(self.folder / "libgcc.a"), returncode=0)
        tool = "lld" if "ld.lld" in words[0] else words[0].rpartition("-")[2]
        return SimpleNamespace(stdout=f"{tool} {self.said[tool]}", returncode=0)


@pytest.fixture
def keys(tmp_path, monkeypatch):
    return Keys(tmp_path, monkeypatch)


# The builds -------------------------------------------------------------------------------------------------------

def kernel(keys):
    keys.patch.setattr(sim.images.kernel, "generate_soc", lambda config: keys.include)
    sim.images.kernel.compiler.cache_clear()
    sim.images.kernel._compiled(keys.config, "spl-optim", getattr(keys, "cflags", ""), ["LOCK_DEBUG=0"])[2]()
    objects = keys.key
    sim.images.kernel.build_kernel(keys.config, "spl-optim", options=getattr(keys, "options", {}), runs=("table5",))
    return objects + keys.key


def model(keys):
    (keys.folder / "entry/include").mkdir(parents=True, exist_ok=True)
    keys.write("top.v", getattr(keys, "verilog", "module interlock(probe0_valid);"))
    sim.model.verilate.verilate([keys.folder / "top.v"], getattr(keys, "versions", VERSIONS),
                                getattr(keys, "waves", False), getattr(keys, "recipe", sim.model.verilate.DEFAULT))
    return keys.key


def simulator(keys):
    keys.write("top.v", "module interlock(input probe0_valid);")     # in the model's
    library = SimpleNamespace(dir=keys.folder / getattr(keys, "model", "model"), edge=getattr(keys, "edge", []))
    keys.patch.setattr(sim.model.build, "verilate", lambda *_: library)
    keys.write("idle.json", getattr(keys, "idle", "[]"))
    sim.model.build.build_model([keys.folder / "top.v"], getattr(keys, "clock", 1), getattr(keys, "waves", False),
                                getattr(keys, "versions", VERSIONS), keys.folder / "idle.json")
    return keys.key


def generator(keys):
    hw.cpu.generate.compile_generator()
    return keys.key


def cluster(keys):
    keys.patch.setattr(hw.cpu.generate, "compile_generator", lambda: keys.folder / getattr(keys, "generator", "g"))
    hw.cpu.generate.generate_cluster(1, **getattr(keys, "parameters", {}))
    return keys.key


def netlist(keys):
    soc.build.generate_soc(keys.config)
    return keys.key


def rom(keys):
    firmware.build.build_rom(keys.folder / "include", getattr(keys, "regions", {"rom": (0, 1), "sram": (4, 1)}))
    return keys.key


def board(keys):
    soc.boards.build.generate_config(getattr(keys, "board", board_config(BOARD)))
    return keys.key


def picchip(keys):
    config = soc.boards.picchip.ChipConfig(BOARD, harts=getattr(keys, "harts", 1),
                                           clock_hz=getattr(keys, "clock_hz", 50_000_000))
    soc.boards.picchip.generate_chip(config)
    return keys.key


def design(keys):
    for name in ("top.v", "pins.lpf", "netlist.json", "chip.config"):
        if not (keys.folder / name).exists():
            keys.write(name)
    return SimpleNamespace(name="x", verilog=(keys.folder / "top.v",), lpf=keys.folder / "pins.lpf", apart=(),
                           top="top", size="85k", package="p", speed="6", clock_hz=getattr(keys, "clock", 1_000_000))


def synthesis(keys):
    options = SimpleNamespace(script=lambda design, names: getattr(keys, "script", "script"))
    soc.fpga.synthesis.synthesise(design(keys), options)
    return keys.key


def placement(keys):
    options = soc.fpga.placement.PlacementOptions(seed=getattr(keys, "seed", 1))
    soc.fpga.placement.place(design(keys), keys.folder, options)
    return keys.key


def bitstream(keys):
    design(keys)
    soc.fpga.pack.pack(design(keys), keys.folder)
    return keys.key


# What may change --------------------------------------------------------------------------------------------------

def said(tool):
    return f"the {tool}", lambda keys: keys.said.update({tool: "version 2\n"})


def file(name):
    return name, lambda keys: keys.append(name)


def value(name, after):
    return name, lambda keys: setattr(keys, name, after)


def constant(module, name, after):
    return f"{module.__name__}.{name}", lambda keys: keys.patch.setattr(module, name, after)


def package(module, name):
    def change(keys):
        before = module.metadata.version
        keys.patch.setattr(module.metadata, "version", lambda asked: "other" if asked == name else before(asked))
    return f"package {name}", change


def parameter(name, after):
    def change(keys):
        keys.config = replace(keys.config, **{name: after})
    return f"machine {name}", change


OTHER = {field.name: "none" if field.type is str else field.default // 2 or field.default + 1
         for field in fields(SoCConfig)}
RISCV = [said("gcc"), said("as"), said("ld")]
SOURCES = [file("hw/cpu/generate.py"), file("soc/soc.py"), file("firmware/start.S"), file("hw/common/regmap.py")]
TOOLS = [value("versions", VERSIONS | {"verilator": "5.054"}), value("waves", True)]
CASES = {
    kernel: [*RISCV, said("lld"), file("picolibc/" + sim.images.kernel.LIBC), file("picolibc/include/stdio.h"),
             file("libgcc.a"), file("kernel/Makefile"), file("kernel/arch/kernel.ld"), file("kernel/lib/ksyms.py"),
             file("user/abi.h"), file("user/programs/hello.c"), file("sim/images/kernel.py"),
             file("firmware/service.h"), file("include/generated/soc.h"), value("cflags", "-O1"),
             constant(sim.images.kernel, "boot_header", lambda: "other"),
             constant(sim.images.kernel, "schemes_header", lambda: "other"),
             constant(sim.images.kernel, "options_makefile", lambda: "other"), value("options", {"layout": "3"})],
    model: [*TOOLS, said("gcc"), file("sim/model/gating/load.S"),
            value("verilog", "module other(probe0_valid);"), file("sim/model/verilate.py"),
            file("sim/model/toolchain.py"), file("sim/model/gating/gates.py"),
            value("recipe", replace(sim.model.verilate.DEFAULT, rewritten=False)),
            constant(sim.model.verilate, "SLOW_FLAGS", ("-O0",)), constant(sim.model.verilate, "PROFILED_FLAGS", ())],
    simulator: [*TOOLS, value("model", "other"), value("edge", ["edge"]), value("idle", "[1]"), value("clock", 2),
                file("harness/machine/main.cpp"), file("harness/machine/main.h"), file("sim/model/build.py"),
                file("sim/model/toolchain.py"), file("sim/model/idle.py"),
                constant(sim.model.build, "STROBED", ())],
    generator: [file("hw/cpu/scala/Cluster.scala"), file("hw/cpu/scala/pom.xml"), file("hw/cpu/jars.sha256"),
                constant(hw.cpu.generate, "MAVEN", ("mvn",)), constant(hw.cpu.generate, "REWRITES", ())],
    cluster: [value("generator", "other"), value("parameters", {"icache_bytes": 4096}),
              constant(hw.cpu.generate, "JAVA", ("java",))],
    netlist: [*RISCV, *SOURCES, *(parameter(name, after) for name, after in OTHER.items()),
              *(package(soc.config, name) for name in soc.config.GENERATORS)],
    rom: [*RISCV, file("include/generated/soc.h"), file("firmware/start.S"), file("firmware/report.c"),
          file("firmware/rom.ld"), file("firmware/service.h"), file("firmware/build.py"), package(soc.config, "litex"),
          constant(firmware.build, "MACHINE", ("-O0",)), constant(firmware.build, "LINK_FLAGS", ("-Wl",)),
          value("regions", {"rom": (0, 2), "sram": (4, 1)})],
    board: [*RISCV, *SOURCES, value("board", board_config(BOARD, harts=2)),
            value("board", board_config(BOARD, small=True)),
            *(package(soc.config, name) for name in soc.config.GENERATORS + soc.boards.build.GENERATORS)],
    picchip: [*SOURCES, value("harts", 2), value("clock_hz", 60_000_000),
              *(package(soc.config, name) for name in soc.boards.picchip.GENERATORS)],
    synthesis: [said("yosys"), value("script", "other"), file("top.v")],
    placement: [said("nextpnr-ecp5"), value("seed", 2), value("clock", 2), file("netlist.json"), file("pins.lpf")],
    bitstream: [said("ecppack"), file("chip.config")],
}


@pytest.mark.parametrize("build", CASES, ids=lambda build: build.__name__)
def test_whatever_a_build_is_made_from_tells_its_key(build, keys):
    before, same = build(keys), []
    for what, change in CASES[build]:
        with keys.changed(change):
            if build(keys) == before:
                same.append(what)
        assert build(keys) == before, f"{what} changes the key for good"
    assert not same, f"the key of {build.__name__} does not know {', '.join(same)}"


def test_the_c_library_and_the_tools_of_a_kernel_are_those_that_it_is_made_with():
    """Here the builds that the test above replaces are really asked for."""
    sim.images.kernel.compiler.cache_clear()
    tools = sim.images.kernel.compiler()
    for tool in ("gcc", "as", "ld"):
        said = subprocess.run([f"{sim.images.kernel.CROSS}{tool}", "--version"], check=True, capture_output=True,
                              text=True)
        assert tools[tool] == said.stdout.splitlines()[0]
    assert len(tools["libc"]) == len(tools["libgcc"]) == 64
