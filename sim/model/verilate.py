"""Verilog to a library of C++ that simulates it, made once for each content: what the harness links with."""

import json
import os
import re
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firmware.build import compiler_version
from sim.model import toolchain
from sim.model.gating import EDGE, SOURCE, NotUnderstood, Watched, profile, split_processes, watch, write_edge
from sim.model.toolchain import PROFILES, archive, compile_objects, link, needed, processor_level, run, united
from support.cache import Input, cached

TOP = "interlock"
VERILATOR_FLAGS = ("--cc", "-O3", "--flatten", "--savable", "--x-assign", "fast", "--x-initial", "0", "--noassert",
                   "--no-timing", "-Wno-fatal", "-Wno-lint", "-Wno-style", "--output-split", "0", "--make", "json")
# Verilator's code has correct comparisons and shifts that look wrong.
COMPILER_FLAGS = ("-O3", "-w")
LEVEL = processor_level()
# For the code of each cycle. Searching for loads that a model's functions have in common takes half of the compilation
# time, and costs more than it saves.
FAST_FLAGS = (*COMPILER_FLAGS, "-mllvm", "-enable-gvn-memdep=false", *([f"-march={LEVEL}"] if LEVEL else []))
SLOW_FLAGS = ("-O1", "-w")  # for a model that is simulated for seconds
ONCE_FLAGS = ("-O0", "-w")  # code that runs once or in few cycles: set-up, saving, restoring, changes of inputs
WATCHED_FLAGS = ("-O0", "-w")  # for a model that is watched for some thousand cycles
PROFILED_FLAGS = ("-fprofile-instr-generate",)
PROFILE = "edge.profdata"


@dataclass(frozen=True)
class Library:
    """A verilated module `interlock`: headers and an archive in one folder."""

    dir: Path

    @property
    def archive(self) -> Path:
        return self.dir / "model.a"

    @property
    def profile(self) -> Path:
        """The branch counts of the edge: present if it is laid out by them (llvm-profdata shows them)."""
        return self.dir / PROFILE

    @property
    def compile_flags(self) -> list[str]:
        """The flags for C++ that includes the headers, besides their folder."""
        return self._options("compile")

    @property
    def link_flags(self) -> list[str]:
        return self._options("link")

    @property
    def edge(self) -> list[str]:
        """The functions that compute everything at a rising edge of `sys_clk` while no other input changes.

        Empty if Verilator divided the work in another way, and with waves, which need to know what changed."""
        return self._options("edge")

    def _options(self, name: str) -> list[str]:
        return json.loads((self.dir / "options.json").read_text())[name]


@dataclass(frozen=True)
class Recipe:
    """How a model is made. Others than the default serve to measure its gains (sim/bench/measures.py)."""

    verilator: tuple[str, ...] = VERILATOR_FLAGS
    fast: tuple[str, ...] = FAST_FLAGS
    rewritten: bool = True   # the rising edge is rewritten (sim/model/gating), not Verilator's
    defines: tuple[str, ...] = ()   # of the harness
    gated: bool = True   # its statements are skipped where they would change nothing
    profiled: bool = True   # the rewritten rising edge is laid out by its branch counts


DEFAULT = Recipe()
# State without a reset value begins with a random one. The harness takes the seed from the environment.
RESET_SEED = "INTERLOCK_RESET_SEED"
RANDOM_RESET = Recipe(verilator=tuple(
    "unique" if before == "--x-initial" else word
    for before, word in zip(("", *VERILATOR_FLAGS), VERILATOR_FLAGS, strict=False)),
    defines=(f'-DRESET_SEED="{RESET_SEED}"',))


def verilate(sources: Sequence[Path], versions: dict[str, str], waves: bool = False,
             recipe: Recipe = DEFAULT) -> Library:
    """The library of Verilog and Verilator settings (.vlt) whose top module is `interlock`.

    With `waves` it can write FST waves, and is slower. BuildError if Verilator or the compiler fails."""
    inputs: dict[str, Input] = {f"source {i} {path.name}": path for i, path in enumerate(sources)}
    inputs |= {"tools": repr(sorted(versions.items())), "waves": str(waves), "how": Path(__file__),
               "compiling": Path(toolchain.__file__),
               "edge": Path(__file__).parent / "gating",
               "cross compiler": compiler_version(),
               "flags": repr((recipe, COMPILER_FLAGS, SLOW_FLAGS, ONCE_FLAGS, WATCHED_FLAGS, PROFILED_FLAGS))}
    return Library(cached("model-waves" if waves else "model", inputs,
                          lambda out: _build(Library(out), sources, waves, recipe)))


def _build(library: Library, sources: Sequence[Path], waves: bool, recipe: Recipe):
    work = library.dir.resolve() / "work"   # as Verilator names the files there
    apart = library.dir / "apart"
    apart.mkdir()
    for path in sources:
        text = path.read_text()
        (apart / path.name).write_text(text if waves else split_processes(text))
    made = _translate(work, [apart / path.name for path in sources], waves, recipe)
    edge = [] if waves else _edge(made)
    shutil.rmtree(apart)
    # Verilator's own then runs only in the few cycles in which an input changes: 0.2 % of a disk's test.
    ours = recipe.rewritten and bool(edge) and _rewrite(work, made, edge, recipe.gated)
    whole = ONCE_FLAGS if ours else recipe.fast
    include = library.dir / "include"
    include.mkdir()
    for header in work.glob("*.h"):
        shutil.copy(header, include)
    # As in verilated.mk: Verilator does not report -llz4, for the waves.
    link_flags = [*made["options"].get("ldflags", []), *(["-llz4"] if waves else []), "-pthread"]
    options = {"compile": _defines(made), "link": link_flags, "edge": edge}
    (library.dir / "options.json").write_text(json.dumps(options, indent=1))

    flags = [*options["compile"], "-I."]
    of_kind = {"classes_fast": whole, "classes_slow": ONCE_FLAGS, "support_slow": ONCE_FLAGS}
    of_path = {Path(path): of_kind.get(kind, COMPILER_FLAGS)
               for kind, paths in made["sources"].items() if kind not in ("deps", "edge") for path in paths}
    once = united(work, "once.cpp", [path for path, how in of_path.items() if how is ONCE_FLAGS])
    objects = compile_objects(work, {path: [*how, *flags] for path, how in of_path.items() if how is not ONCE_FLAGS}
                              | {once: [*ONCE_FLAGS, *flags]})
    if ours:
        by_profile = _profiled(work, made, objects) if recipe.profiled else []
        objects += compile_objects(work, {work / SOURCE: [*recipe.fast, *by_profile, *flags]})
    archive(work, library.archive, objects)
    if (work / PROFILE).exists():
        shutil.move(work / PROFILE, library.profile)
    shutil.rmtree(work)


def _translate(work: Path, sources: Sequence[Path], waves: bool, recipe: Recipe) -> dict:
    """Verilator's description of the C++ that it has made from `sources` in the folder `work`, which has only that."""
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    # An empty VERILATOR_ROOT is an error, and another one belongs to another Verilator.
    environment = {name: value for name, value in os.environ.items() if name != "VERILATOR_ROOT"}
    run([needed("verilator"), *recipe.verilator, "--top-module", TOP, "--prefix", f"V{TOP}", "--Mdir", work,
         *(["--trace-fst"] if waves else []), *sources], work, environment)
    return json.loads((work / f"V{TOP}.json").read_text())


def _rewrite(work: Path, made: dict, edge: list[str], gated: bool) -> bool:
    """Whether EDGE now does what the functions of `edge` did: that is in `edge` and among the sources of `made`."""
    header = work / f"V{TOP}___024root.h"
    source = "".join(Path(path).read_text() for path in made["sources"]["classes_fast"])

    def write(watched: Watched | None, watching: bool = False) -> tuple[str, str]:
        function, = edge
        return write_edge(f"V{TOP}___024root", source, header.read_text(), function, "sys_rst", watched, watching)

    try:
        watched = _watched(work, made, *write(None, watching=True)) if gated else None
        code, members = write(watched)
    except (NotUnderstood, ValueError) as error:
        print(f"the simulator will be slower, as its code cannot be rewritten: {error}", file=sys.stderr)
        return False
    header.write_text(members)
    (work / SOURCE).write_text(code)
    made["sources"]["edge"] = [str(work / SOURCE)]
    edge[:] = [EDGE]
    return True


def _profiled(work: Path, made: dict, others: Sequence[Path]) -> list[str]:
    """The flags that make the compiler lay out the edge by the branch counts of the working model. `others` are the
    objects of all but the edge."""
    folder = _copied(work, "profiled")
    flags = [*WATCHED_FLAGS, *_defines(made), "-I."]

    def build(main: Path) -> Path:
        own = compile_objects(folder, {main: flags, folder / SOURCE: [*flags, *PROFILED_FLAGS]})
        return _linked(folder, made, [*others, *own], PROFILED_FLAGS)

    counts = profile(folder, TOP, (folder / f"V{TOP}___024root.h").read_text(), build)
    run([needed(PROFILES), "merge", "-o", work / PROFILE, counts], folder)
    shutil.rmtree(folder)
    return [f"-fprofile-instr-use={PROFILE}"]


def _copied(work: Path, name: str) -> Path:
    """A folder of that name in `work`, with its headers and sources."""
    folder = work / name
    folder.mkdir()
    for path in (*work.glob("*.h"), *work.glob("*.cpp")):
        shutil.copy(path, folder)
    return folder


def _linked(folder: Path, made: dict, objects: Sequence[Path], more: Sequence[str] = ()) -> Path:
    """The program of objects that are a model and a main program, in `folder`."""
    link(folder, folder / "program", objects, [*made["options"].get("ldflags", []), *more, "-pthread"])
    return folder / "program"


def _watched(work: Path, made: dict, code: str, members: str) -> Watched:
    """The activity of the working model: the code and the header are those of an instrumented one."""
    folder = _copied(work, "watched")
    (folder / f"V{TOP}___024root.h").write_text(members)
    (folder / SOURCE).write_text(code)
    paths = [Path(path) for kind, paths in made["sources"].items() if kind not in ("deps", "edge") for path in paths]
    copies = [folder / path.name for path in paths]   # except those that come with Verilator
    sources = [copy if copy.exists() else path for copy, path in zip(copies, paths, strict=True)]
    others = [path for path in sources if not path.is_relative_to(folder)]

    def build(main: Path) -> Path:
        whole = united(folder, "whole.cpp", [path for path in [*sources, main] if path.is_relative_to(folder)])
        flags = [*WATCHED_FLAGS, *_defines(made), "-I."]
        return _linked(folder, made, compile_objects(folder, dict.fromkeys([whole, *others, folder / SOURCE], flags)))

    return watch(folder, TOP, members, build)


def _edge(made: dict) -> list[str]:
    """The functions that Verilator's `eval_nba` calls, if the design has one clock: only calls under one trigger.

    `eval()` itself tests every input and every trigger twice a cycle, and computes what follows from the inputs."""
    text = "".join(Path(path).read_text() for path in made["sources"]["classes_fast"])

    def body(function: str) -> str:
        found = re.search(rf"^bool V{TOP}___024root___{function}\([^;]*?\) \{{.*?^}}", text, re.DOTALL | re.MULTILINE)
        return found.group() if found else ""

    work = body("eval_nba")
    clocks = re.findall(r"__Vtrigprevexpr___TOP__(\w+?)__\d+\)", body("eval_act"))
    calls = re.findall(r"if \(\(1ULL & vlSelfRef\.__VnbaTriggered\[0U\]\)\) \{\s*((?:\w+\(vlSelf\);\s*)+)\}", work)
    mentioned = work.count("__VnbaTriggered")  # is any trigger set, is the clock's, clear them all
    if clocks != ["sys_clk"] or len(calls) != 1 or mentioned != 3:
        return []
    return re.findall(r"\w+(?=\(vlSelf\))", calls[0])


def _defines(made: dict) -> list[str]:
    """The flags that Verilator's own makefile (verilated.mk) gives to everything that includes its headers."""
    root, options = made["system"]["verilator_root"], made["options"]
    defines: dict[str, int | str] = {"VERILATOR": 1, "VM_COVERAGE": 0, "VM_SC": 0, "VM_TIMING": 0, "VM_VPI": 0,
                                     **{f"VM_{name.upper()}": int(options[name]) for name in
                                        ("trace", "trace_fst", "trace_vcd", "trace_saif")}}
    if LEVEL:
        defines["MODEL_LEVEL"] = f'"{LEVEL}"'
    return [f"-isystem{root}/include", f"-isystem{root}/include/vltstd",
            *(f"-D{name}={value}" for name, value in defines.items())]
