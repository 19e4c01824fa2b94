"""Build kernel images, one for each synchronisation scheme (paper `sync`, section 3) and SoC configuration."""

import argparse
import functools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from soc.boards.build import generate_config
from soc.boards.config import BoardConfig
from soc.build import SoCArtifacts, generate_soc
from soc.config import SoCConfig
from support.cache import REPO, Input, cached, digest
from support.parameters import boot, build
from support.parameters.build import LINKED, OPTIONS, PROFILE, SCHEMES, SYNC
from support.parameters.headers import boot_header, options_makefile, schemes_header, version_header
from user.archive import archive

WRONG_SCHEMES = tuple(sorted(path.stem for path in (REPO / "kernel/test/wrong").glob("*.h")))
WRONG_SPINLOCKS = tuple(sorted(path.stem for path in (REPO / "kernel/test/wrong-spin").glob("*.h")))
WRONG = {"spinlock": WRONG_SPINLOCKS}
CROSS = os.environ.get("CROSS", "riscv64-unknown-elf-")
LLD = os.environ.get("LLD", "ld.lld-19")
PICOLIBC = Path("/usr/lib/picolibc/riscv64-unknown-elf")
LIBC = "lib/rv32im/ilp32/libc.a"
PROGRAMS = "programs.cpio"      # among an image's objects: the archive of its own programs
RUN = re.compile(r'^RUN\("([^"]+)",\s*"([^"]+)"', re.MULTILINE)
RUNS_FOLDERS = ("bench", "test")    # of the kernel: an image has their runs only if built for them
INCLUDED = re.compile(rf'^\s*#\s*include "((?:{"|".join(RUNS_FOLDERS)})/[^"]+)\.h"', re.MULTILINE)
# What generated headers say of the number of harts: the kernel counts them as it starts, so its images fit any number.
OF_HARTS = re.compile(r"^#define (?:CONFIG_CPU_COUNT|CONFIG_HARTS|PIC_ID_RESET) .*\n"
                      r"|^static inline int config_(?:cpu_count|harts)_read\(void\) \{\n.*\n\}\n", re.MULTILINE)


class KernelError(RuntimeError):
    """A kernel image could not be built; the message is one line that names the remedy."""


@functools.cache
def compiler() -> dict[str, Input]:
    """Identifies the tools that make an image: compiler, assembler, linker, and the content of the C library."""
    inputs: dict[str, Input] = {}
    for tool in (f"{CROSS}gcc", f"{CROSS}as", f"{CROSS}ld", LLD):
        path = shutil.which(tool)
        if not path:
            raise KernelError(f"{tool} is not installed: run `make setup`, or set " + (
                "LLD to another ld.lld" if tool == LLD else "CROSS to another RISC-V GCC's prefix"))
        version = subprocess.run([path, "--version"], check=True, capture_output=True, text=True).stdout
        inputs[tool.removeprefix(CROSS)] = version.splitlines()[0]
    if not (PICOLIBC / LIBC).exists():
        raise KernelError("picolibc for RISC-V is not installed: run `make setup`")
    libgcc = subprocess.run([f"{CROSS}gcc", "-march=rv32im", "-mabi=ilp32", "-print-libgcc-file-name"], check=True,
                            capture_output=True, text=True).stdout.strip()      # as linked by kernel/Makefile
    return inputs | {"libc": digest({"library": PICOLIBC / LIBC, "headers": PICOLIBC / "include"}),
                     "libgcc": digest({"": Path(libgcc)})}


def checked_options(options: Mapping[str, str]) -> dict[str, str]:
    """All build options with their values, those of `options` and else the defaults; ValueError in one line."""
    return build.checked_options(options, WRONG)


@functools.cache
def runs() -> dict[str, str]:
    """What an image can run (`run=NAME`), by name in order, and what it is: the kernel's RUN() lines (init/run.h)."""
    found: dict[str, str] = {}
    for path in (REPO / "kernel").glob("*/*.c"):
        found |= RUN.findall(path.read_text())
    return dict(sorted(found.items()))


@functools.cache
def _always_there() -> frozenset[str]:
    """The runs() that every image has."""
    return frozenset(name for path in (REPO / "kernel").glob("*/*.c") if path.parent.name not in RUNS_FOLDERS
                     for name, _ in RUN.findall(path.read_text()))


def runs_of(bootargs: str) -> tuple[str, ...]:
    """The runs that an image booted with these arguments has to hold, for `build_kernel`: the run they name, and if
    they name none the monitor, which stands for all as it can start any."""
    named = [word.partition("=")[2] for word in bootargs.split() if word.startswith("run=")]
    return tuple(named[:1] or ["monitor"])


def checked_runs(names: Iterable[str] | None) -> tuple[str, ...] | None:
    """Those of `names` that an image has only if it is built for them, in order; None: all there are, as for None.

    ValueError in one line if there is no such run."""
    for name in names or ():
        if name not in runs():
            raise ValueError(f"run={name}: there is no such run; use one of {', '.join(runs())}")
    if names is None or "monitor" in names:
        return None
    return tuple(sorted(set(names) - _always_there()))


def checked_bootargs(words: Iterable[str]):
    """Boot arguments NAME=VALUE of an image that holds what they run: ParameterError, a ValueError in one line, for one
    that it does not read or take. ValueError if there is no such run."""
    words = tuple(words)
    held = checked_runs(runs_of(" ".join(words)))
    boot.checked(words, None if held is None else _files_of(held))


def boot_parameters(bootargs: str) -> dict[str, boot.Parameter]:
    """What an image for these boot arguments reads, by name; nothing if there is no such run."""
    try:
        held = checked_runs(runs_of(bootargs))
    except ValueError:
        return {}
    return {name: boot.widest(declared)
            for name, declared in boot.known_to(None if held is None else _files_of(held)).items()}


@functools.cache
def _files_of(runs: tuple[str, ...]) -> frozenset[str]:
    """The files of bench/ and test/ that an image with these runs is made of, without their endings."""
    return frozenset(path.rpartition(".")[0] for path in _sources(runs))


def _make(out: Path, sync: str, *arguments: str):
    options = out / "options.mk"
    options.write_text(options_makefile())
    command = ["make", "--no-print-directory", "-C", str(REPO / "kernel"), f"SYNC={sync}", f"OUT={out}",
               f"OPTIONS_MK={options}", f"CROSS={CROSS}", f"LLD={LLD}", f"PICOLIBC={PICOLIBC}",
               f"PYTHON={sys.executable}", f"OBJCACHE={'ccache' if shutil.which('ccache') else ''}", "-j2", *arguments]
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        if refused := re.search(r"\*\*\* RUNS: (.*)\.  Stop\.$", done.stderr, re.MULTILINE):
            raise KernelError(refused[1])
        raise KernelError(f"the kernel with {sync} does not build:\n{done.stderr.strip()}" + (
            "\nwhat a file of bench/ or test/ uses of another one there, it has to include the header of"
            if "undefined reference" in done.stderr else ""))


def _keep(out: Path, kept: Callable[[Path], bool]):
    """Of what was made in the folder `out`, only the files that are `kept` stay."""
    for path in sorted(out.rglob("*"), reverse=True):
        if path.is_dir():
            if not any(path.iterdir()):
                path.rmdir()
        elif not kept(path):
            path.unlink()


def _headers(soc: SoCArtifacts) -> dict[str, Input]:
    """The generated headers as the kernel sees them, by name: without those that depend on the number of harts."""
    found: dict[str, Input] = {path.relative_to(soc.include).as_posix(): OF_HARTS.sub("", path.read_text())
                               for path in sorted(soc.include.rglob("*.h"))}
    return found | {"generated/boot.h": boot_header(), "generated/schemes.h": schemes_header(),
                    "generated/version.h": version_header()}


def _folder_of(headers: dict[str, Input]) -> Path:
    def write(out: Path):
        for name, text in headers.items():
            (out / name).parent.mkdir(parents=True, exist_ok=True)
            (out / name).write_text(str(text))

    # A copy of the tree shares entries by links: a compiler cache finds their results by their true path.
    return cached("kernel-headers", headers, write).resolve()


def _sources(runs: Iterable[str] | None) -> list[str]:
    """The files of bench/ and test/ that an image with these runs is made of: those that have them, and those whose
    headers they include. None: all."""
    folder = REPO / "kernel"
    files = {path.relative_to(folder).with_suffix("").as_posix(): path
             for name in RUNS_FOLDERS for path in sorted((folder / name).glob("*.[cS]"))}
    texts = {name: path.read_text() for name, path in files.items()}
    wanted = set(files if runs is None else ())
    todo = [name for name, text in texts.items() if {run for run, _ in RUN.findall(text)} & set(runs or ())]
    while todo:
        name = todo.pop()
        if name not in wanted:
            wanted.add(name)
            header = (folder / name).with_suffix(".h")
            todo += INCLUDED.findall(texts.get(name, "") + (header.read_text() if header.exists() else ""))
    return [path.relative_to(folder).as_posix() for name, path in files.items() if name in wanted]


def _compiled(config: SoCConfig, sync: str, extra_cflags: str, compiled: list[str], layout: str = "0"):
    """The compilation for an image: its inputs, the arguments of `make` for it, and a function that returns the folders
    of its objects and of the user programs, these linked in `layout`."""
    if sync not in SCHEMES + WRONG_SCHEMES:
        raise ValueError(f"there is no scheme {sync!r}: use one of {', '.join(SCHEMES)}")
    headers = _headers(generate_config(config) if isinstance(config, BoardConfig) else generate_soc(config))
    include = _folder_of(headers)
    shared: dict[str, Input] = compiler() | {"include": digest(headers), "how": Path(__file__),
                                             "options makefile": options_makefile()}
    of_programs = shared | {"user": REPO / "user", "makefile": REPO / "kernel/Makefile"}
    inputs = shared | {"kernel": REPO / "kernel", "abi": REPO / "user/abi.h",
                       "programs": REPO / "user/programs", "service": REPO / "firmware/service.h", "sync": sync,
                       "cflags": extra_cflags, "options": " ".join(compiled)}
    arguments = [f"INCLUDE={include}", f"EXTRA_CFLAGS={extra_cflags}", *compiled]

    def build_programs(out: Path):
        _make(out, SCHEMES[0], "programs", f"INCLUDE={include}", f"LAYOUT={layout}")
        _keep(out, lambda path: path.name == PROGRAMS)

    def folders():
        programs = cached("kernel-programs", of_programs | {"layout": layout}, build_programs)

        def build(out: Path):
            _make(out, sync, "objects", f"PROGRAMS={programs}", *arguments)
            _keep(out, lambda path: path.suffix == ".o")

        return cached(f"kernel-objects-{sync}", inputs, build), programs

    return inputs, arguments, folders


def program_symbols(config: SoCConfig, options: dict | None = None) -> dict[str, Path]:
    """ELF files with symbols of the image's own programs, by their names, for an image with these build options. Errors
    as from `build_kernel`."""
    layout = checked_options(options or {})["layout"]
    layout = "0" if layout == PROFILE else layout
    headers = _headers(generate_soc(config))

    def build(out: Path):
        _make(out, SCHEMES[0], "programs", f"INCLUDE={_folder_of(headers)}", f"LAYOUT={layout}", "STRIP=-S")
        _keep(out, lambda path: path.suffix == ".elf")

    made = cached("kernel-symbols", compiler() | {
        "include": digest(headers), "how": Path(__file__), "user": REPO / "user", "makefile": REPO / "kernel/Makefile",
        "layout": layout}, build)
    return {path.stem: path for path in sorted((made / "user/programs").glob("*.elf"))}


def _arguments(chosen: dict, link: bool) -> list[str]:
    return [f"{name.upper()}={value}" for name, value in chosen.items() if (name in LINKED) == link]


def _cflags() -> str:
    return os.environ.get("KERNEL_CFLAGS", "")


def kernel_objects(config: SoCConfig, sync: str, options: dict | None = None) -> Path:
    """The folder with the objects of the kernel proper, by its folders: images are linked from them. Errors as from
    `build_kernel`."""
    return _compiled(config, sync, _cflags(), _arguments(checked_options(options or {}), link=False))[2]()[0]


def build_kernel(config: SoCConfig, sync: str, extra_cflags: str | None = None, options: dict | None = None,
                 runs: Iterable[str] | None = None, files: Mapping[str, Path] | None = None,
                 programs: bool = True) -> Path:
    """The ELF image of the kernel with scheme `sync` for the SoC `config`, a board's if that is a BoardConfig. It is
    built if it is not in the cache. It serves SoCs that differ in their number of harts alone; images that differ in
    their runs alone share the kernel proper.

    `options` gives those of OPTIONS that are not to have their default; `runs` the benches and tests that the image is
    to hold (`runs_of` tells them from boot arguments), None: all; `extra_cflags` more options of the compiler, None:
    those of the environment's KERNEL_CFLAGS. Without `programs` its archive has none but `files`. ValueError if there
    is no such scheme, option or run, KernelError if a tool is missing or the build fails.
    """
    chosen = checked_options(options or {})
    held = checked_runs(runs)
    linked = [*_arguments(chosen, link=True), f"RUNS={'all' if held is None else ' '.join(held)}",
              f"RUN_SOURCES={' '.join(_sources(held))}"]
    ordered: dict[str, Path] = {}
    if chosen["layout"] == PROFILE:
        from sim.images import profile
        ordered["calls"] = profile.calls(config, sync, options or {})
    inputs, arguments, compiled = _compiled(config, sync, _cflags() if extra_cflags is None else extra_cflags,
                                           _arguments(chosen, link=False), "0" if ordered else chosen["layout"])

    added = {name: path.read_bytes() for name, path in (files or {}).items()}

    def link(out: Path):
        objects, own = compiled()
        archived = out / PROGRAMS
        archived.write_bytes(archive(added, behind=(own / "user" / PROGRAMS).read_bytes() if programs else b""))
        _make(out, sync, f"OBJECTS={objects}", f"PROGRAMS={own}", *arguments, *linked, f"FILES={archived}",
              *(f"{name.upper()}={path}" for name, path in ordered.items()))
        _keep(out, lambda path: path.name == "kernel.elf")

    of_link: dict[str, Input] = {**ordered, "link": " ".join(linked), "files": archive(added),
                                 "own programs": str(programs)}
    return cached(f"kernel-{sync}", inputs | of_link, link) / "kernel.elf"


def main():
    parser = argparse.ArgumentParser(description="Build a kernel image and print where it is.")
    parser.add_argument("--harts", type=int, default=1, help="harts of the SoC (1 to 8)")
    parser.add_argument("--sync", default=SYNC.default, help=f"one of {', '.join(SCHEMES)}")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE",
                        help="; ".join(option.line() for option in OPTIONS.values()))
    parser.add_argument("--runs", nargs="+", metavar="NAME", help="benches and tests that it holds (default: all)")
    arguments = parser.parse_args()
    options = dict(option.partition("=")[::2] for option in arguments.option)
    try:
        print(build_kernel(SoCConfig(harts=arguments.harts), arguments.sync, options=options, runs=arguments.runs))
    except (ValueError, KernelError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
