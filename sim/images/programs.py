"""User programs that are not in the image anyway: built from a user's C files, or from sources of other projects.

`./interlock program FILE.c` and `./interlock sim --program` call this; the set-up calls it to fetch the sources."""

import fnmatch
import functools
import hashlib
import inspect
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from support.cache import REPO, Input, cached

USER = REPO / "user"
APT_SOURCES = Path("/etc/apt")
NAME_SIZE = 32          # USER_NAME_SIZE of user/abi.h
SHELL, TOYBOX = "sh", "toybox"


class ProgramError(RuntimeError):
    """A program could not be built; the message says why, in one line unless it is the compiler's."""


@dataclass(frozen=True)
class Port:
    """A third-party program that is built unmodified: an entry of user/ports.toml, which describes each."""

    name: str
    what: str
    sha256: str
    debian: str = ""
    own: tuple[str, ...] = ()
    pypi: str = ""
    folder: str = ""
    sources: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    cflags: tuple[str, ...] = ()
    configure: tuple[str, ...] | None = None
    commands: tuple[str, ...] = ()
    rewrites: tuple[Mapping[str, str], ...] = ()
    result: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


def ports() -> dict[str, Port]:
    """All ports, by name."""
    return _declared("ports.toml")


@functools.cache
def _declared(name: str) -> dict[str, Port]:
    table = tomllib.loads((USER / name).read_text())
    made: dict[str, Port] = {}
    for name, entry in table.items():
        values: dict[str, Any] = {key: tuple(of) if isinstance(of, list) else of for key, of in entry.items()}
        made[name] = Port(name, **values)
    return made


def _run(what: str, command: Sequence[str | Path], **how):
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, stdin=subprocess.DEVNULL, **how)
    if done.returncode:
        raise ProgramError(f"{what}:\n{(done.stderr or done.stdout).strip()}")
    return done.stdout


# Sources

def _deb_src(folder: Path):
    """The host's own package sources, as sources of source packages: files in `folder`."""
    parts = [APT_SOURCES / "sources.list", *sorted((APT_SOURCES / "sources.list.d").glob("*"))]
    for number, path in enumerate(part for part in parts if part.is_file()):
        text = path.read_text()
        if path.suffix == ".sources":
            lines = ["Types: deb-src" if line.startswith("Types:") else line for line in text.splitlines()]
            (folder / f"{number}.sources").write_text("\n".join(lines) + "\n")
        elif path.suffix == ".list":
            lines = ["deb-src" + line.removeprefix("deb") for line in text.splitlines() if line.startswith("deb ")]
            (folder / f"{number}.list").write_text("\n".join(lines) + "\n")


@functools.cache
def _apt() -> tuple[tempfile.TemporaryDirectory, list[str]]:
    """A folder of ours, and apt-get with the lists of source packages in it, which take seconds to fetch: once per
    process. It needs no privileges, and does not change the host's own lists."""
    if not shutil.which("apt-get"):
        raise ProgramError("the sources of programs come from Debian's source packages, and there is no apt-get here")
    scratch = tempfile.TemporaryDirectory()
    lists, parts, cache = (Path(scratch.name) / name for name in ("lists", "parts", "cache"))
    for folder in (lists / "partial", parts, cache / "archives/partial"):
        folder.mkdir(parents=True)
    _deb_src(parts)
    apt = ["apt-get", "-q", "-o", "Dir::Etc::SourceList=/dev/null", "-o", f"Dir::Etc::SourceParts={parts}", "-o",
           f"Dir::State::Lists={lists}", "-o", f"Dir::Cache={cache}", "-o", "Debug::NoLocking=1", "-o",
           "APT::Sandbox::User="]
    _run("the lists of Debian's source packages cannot be had (is there a network?)", [*apt, "update"])
    return scratch, apt


def _fetch(debian: str, sha256: str, out: Path):
    """The upstream sources of a Debian source package, unpacked in `out`. apt checks signatures, this the content."""
    scratch, apt = _apt()
    with tempfile.TemporaryDirectory(dir=scratch.name) as got:
        _run(f"the sources of Debian's package {debian} cannot be had",
             [*apt, "source", "--download-only", "--tar-only", "--only-source", debian], cwd=got)
        for path in Path(got).iterdir():
            if hashlib.sha256(path.read_bytes()).hexdigest() == sha256:
                _run(f"{path.name} cannot be unpacked", ["tar", "-xf", path, "-C", out, "--no-same-owner"])
                return
        offered = ", ".join(sorted(path.name for path in Path(got).iterdir() if ".orig.tar" in path.name and
                                   path.suffix != ".asc"))
        raise ProgramError(f"Debian's package {debian} comes with other sources now ({offered}): look at them, and put "
                           "their SHA-256 into user/ports.toml")


def _fetch_pypi(requirement: str, sha256: str, out: Path):
    """A source distribution of PyPI's, unpacked in `out`. pip checks its SHA-256; a version's files do not change."""
    with tempfile.TemporaryDirectory() as got:
        wanted = Path(got) / "requirements.txt"
        wanted.write_text(f"{requirement} --hash=sha256:{sha256}\n")
        _run(f"the sources of {requirement} cannot be had of PyPI (is there a network?)",
             [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:",
              "--no-build-isolation", "--require-hashes", "-r", wanted, "-d", got])
        for path in Path(got).glob("*.tar.gz"):
            _run(f"{path.name} cannot be unpacked", ["tar", "-xf", path, "-C", out, "--no-same-owner"])


def sources(port: Port) -> Path:
    """The folder with the port's upstream sources; fetched if they are not in the cache."""
    if port.pypi:
        entry = cached("program-sources", {"pypi": port.pypi, "sha256": port.sha256},
                       lambda out: _fetch_pypi(port.pypi, port.sha256, out))
    else:
        entry = cached("program-sources", {"debian": port.debian, "sha256": port.sha256},
                       lambda out: _fetch(port.debian, port.sha256, out))
    inside = [path for path in entry.iterdir() if path.is_dir()]
    return (inside[0] if len(inside) == 1 else entry) / port.folder


# Building

def library() -> Path:
    """The folder with the C library of programs and the compiler `cc` for it (user/library.mk)."""
    from sim.images.kernel import CROSS, PICOLIBC, KernelError, compiler
    try:
        made_with = compiler()
    except KernelError as error:
        raise ProgramError(str(error)) from error
    musl = _declared("library.toml")["musl"]
    folder = sources(musl)

    def build(out: Path):
        environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
        _run("the library of user programs does not build",
             ["make", "--no-print-directory", "-C", USER, "-f", "library.mk", f"OUT={out}",
              f"CROSS={CROSS}", f"PICOLIBC={PICOLIBC}", f"MUSL={folder}",
              f"OBJCACHE={'ccache' if shutil.which('ccache') else ''}"],
             env=environment)
        shutil.rmtree(out / "objects")

    return cached("user-library", made_with | {"lib": USER / "lib", "abi": USER / "abi.h", "how": USER / "library.mk",
                                              "flags": USER / "flags.mk", "musl": musl.sha256}, build)


def _stripped(elf: Path, to: Path):
    from sim.images.kernel import CROSS
    _run(f"{elf.name} cannot be stripped", [f"{CROSS}strip", "-o", to, elf])


def _compile(cc: Path, files: Sequence[Path], folder: Path, flags: Sequence[str], out: Path, name: str):
    """Compiles and links `files`, in `folder`: out/NAME.elf with debug information, and out/NAME without."""
    objects = []
    launcher = ["ccache"] if shutil.which("ccache") else []
    for number, path in enumerate(files):
        objects.append(out / f"{number}.o")
        # What ccache has is of any folder: each program has one of its own.
        _run(f"{path} does not compile", [*launcher, cc, "-g", *flags, "-c", path, "-o", objects[-1]], cwd=folder,
             env=os.environ | {"CCACHE_NOHASHDIR": "1"})
    _run(f"{name} does not link", [cc, *objects, "-o", out / f"{name}.elf"])
    for path in objects:
        path.unlink()
    _stripped(out / f"{name}.elf", out / name)


def build_program(files: Sequence[Path], name: str | None = None, flags: Sequence[str] = ()) -> Path:
    """The program NAME (by default the first file's name without suffix) of these C files, beside NAME.elf, which has
    debug information. They may include files in their folders. ProgramError with the compiler's messages."""
    for path in files:
        if not path.is_file():
            raise ProgramError(f"{path}: there is no such file")
    name = name or files[0].stem
    if len(name.encode()) >= NAME_SIZE or "=" in name:
        raise ProgramError(f"a program's name has at most {NAME_SIZE - 1} characters and no '=': {name!r} will not do")
    lib = library()
    inputs: dict[str, Input] = {"library": lib.name, "name": name, "flags": repr(list(flags))}
    for path in files:
        inputs[f"file {path.name}"] = path
        for header in sorted(path.parent.glob("*.h")):
            inputs[f"header {header.name}"] = header
    entry = cached("program", inputs, lambda out: _compile(lib / "cc", [path.resolve() for path in files], out,
                                                           ["-Wall", *flags], out, name))
    return entry / name


def command_names() -> list[str]:
    """The names of our own programs that no image has unless it is asked for them: those of user/commands."""
    return sorted(path.stem for path in (USER / "commands").glob("*.c"))


def command_files(names: Sequence[str]) -> dict[str, Path]:
    """`build_kernel`'s files for commands, by name."""
    return {name: build_program([USER / f"commands/{name}.c"]) for name in names}


def _configure(port: Port, cc: Path, folder: Path, out: Path):
    work = out / "work"
    work.mkdir()
    listed = _run("no list of signals", [cc, "-E", "-dM", "-include", "signal.h", "-x", "c", "/dev/null"])
    host = out / "host"
    host.mkdir()
    # Programs on the host that make tables of the target's signals must not read the host's numbers.
    (host / "signal.h").write_text("".join(f"{line}\n" for line in sorted(listed.splitlines())
                                           if line.split()[1].startswith(("SIG", "NSIG"))))
    environment = os.environ | {"CFLAGS_FOR_BUILD": f"-g -O2 -I{host}"}
    environment = {k: v for k, v in environment.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    _run(f"{port.name} cannot be configured", ["sh", folder / "configure", "--host=riscv32-unknown-elf",
         "--build=x86_64-pc-linux-gnu", f"CC={cc}", "CC_FOR_BUILD=gcc", *(port.configure or ())], cwd=work,
         env=environment)
    _run(f"{port.name} does not build", ["make"], cwd=work, env=environment)
    shutil.copy(work / port.result, out / f"{port.name}.elf")
    _stripped(out / f"{port.name}.elf", out / port.name)
    shutil.rmtree(work)
    shutil.rmtree(host)


def _rewrite(port: Port, folder: Path):
    """Mends a copy of a port's sources; ProgramError if one of them has not, once, what is rewritten."""
    for change in port.rewrites:
        path = folder / change["file"]
        text = path.read_bytes().decode(errors="surrogateescape")
        if text.count(change["old"]) != 1:
            raise ProgramError(f"{port.name}: {change['file']} has not once what is rewritten: see ports.toml")
        path.write_bytes(text.replace(change["old"], change["new"]).encode(errors="surrogateescape"))


def _toybox(port: Port, cc: Path, folder: Path, out: Path):
    """By its own scripts, in a copy, as they write beside the sources; its Linux headers are in ports/."""
    work, ours = out / "work", USER / "ports" / port.name
    shutil.copytree(folder, work)
    for path in ours.glob("*.c"):
        shutil.copy(path, work / "lib")
    _rewrite(port, work)
    options = "toybox", "toybox_float", "toybox_help", "toybox_help_dashdash"
    wanted = [name.upper() for name in (*port.commands, *options)]
    (work / "wanted").write_text("".join(f"CONFIG_{name}=y\n" for name in wanted))
    environment = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "LDFLAGS")}
    environment |= {"CC": str(cc), "HOSTCC": "gcc", "NOSTRIP": "1", "VERSION": "",
                    "CFLAGS": f"-g -w -funsigned-char -D__linux__ -I{ours / 'include'}"}
    _run(f"{port.name} cannot be configured", ["make", "allnoconfig", "KCONFIG_ALLCONFIG=wanted", f"CC={cc}"], cwd=work,
         env=environment)
    _run(f"{port.name} does not build", ["bash", "scripts/make.sh"], cwd=work, env=environment)
    shutil.copy(work / "generated/unstripped/toybox", out / f"{port.name}.elf")
    _stripped(out / f"{port.name}.elf", out / port.name)
    shutil.rmtree(work)


def build_port(port: Port) -> Path:
    """The program of a port, built from its sources, with its rewrites; beside it NAME.elf."""
    lib, upstream = library(), sources(port)

    def build(out: Path):
        folder = upstream
        if port.configure is not None:
            _configure(port, lib / "cc", folder, out)
            return
        if port.commands:
            _toybox(port, lib / "cc", folder, out)
            return
        if port.rewrites:
            folder = out / "mended"
            shutil.copytree(upstream, folder, symlinks=True)
            _rewrite(port, folder)
        files = sorted({path for pattern in port.sources for path in folder.glob(pattern)
                        if not any(fnmatch.fnmatch(str(path.relative_to(folder)), without)
                                   for without in port.without)}) + [USER / "ports" / name for name in port.own]
        written = out / "headers"
        written.mkdir()
        for name, text in port.headers.items():
            (written / name).write_text(text)
        _compile(lib / "cc", files, folder, [*port.cflags, f"-I{written}", "-w"], out, port.name)
        shutil.rmtree(written)
        if port.rewrites:
            shutil.rmtree(folder)

    own: dict[str, Input] = {f"own {name}": USER / "ports" / name for name in port.own}
    if port.commands:
        own |= {"own": USER / "ports" / port.name, "script": inspect.getsource(_toybox)}
    inputs: dict[str, Input] = {"library": lib.name, "port": repr(port), **own,
                                "how": inspect.getsource(_compile) + inspect.getsource(_configure) +
                                inspect.getsource(_rewrite)}
    return cached("program-port", inputs, build) / port.name


def commands() -> dict[str, Path]:
    """The shell and its commands, by their names in the archive: toybox's, which are one program, and those of
    user/commands."""
    own = {path.stem: build_program([path]) for path in sorted((USER / "commands").glob("*.c"))}
    toybox = ports()[TOYBOX]
    return dict.fromkeys(toybox.commands, build_port(toybox)) | own | {SHELL: build_port(ports()[SHELL])}


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False


def program(text: str) -> tuple[str, dict[str, Path]]:
    """Resolves --program: the program's name in the archive, and the files that the archive has to hold for it.

    A C file or an MPD program is built, an ELF file taken as it is; else it is a port's name, or one of the image's own
    programs. `sh` comes with all commands."""
    path = Path(text)
    if path.suffix == ".c":
        built = build_program([path])
        return built.name, {built.name: built}
    if path.suffix == ".mpd":
        from sim.images.mpd import build_mpd
        built = build_mpd(path)
        return built.name, {built.name: built}
    if path.suffix == ".elf" and not path.is_file():
        raise ProgramError(f"{path}: there is no such file")
    if path.suffix == ".elf" or _is_elf(path):
        return path.stem, {path.stem: path}
    if text == SHELL:
        return SHELL, commands()
    if text in ports():
        return text, {text: build_port(ports()[text])}
    if (USER / f"programs/{text}.c").is_file():
        return text, {}
    own = sorted(path.stem for path in (USER / "programs").glob("*.c"))
    raise ProgramError(f"--program {text}: give a C file, an MPD program, an ELF file, or one of "
                       f"{', '.join([*ports(), *own])}")


def symbols(files: Mapping[str, Path]) -> dict[str, Path]:
    """ELF files with symbols of those of an archive's `files` that are programs, as far as they exist."""
    found = {}
    for name, path in files.items():
        for elf in (path.with_name(f"{path.name}.elf"), path):
            if elf.is_file() and _has_symbols(elf):
                found[name] = elf
                break
    return found


def _has_symbols(path: Path) -> bool:
    with open(path, "rb") as file:
        try:
            return ELFFile(file).get_section_by_name(".symtab") is not None
        except ELFError:
            return False


def main():
    """Fetches the sources of all ports that are not there. Nothing but those programs needs them, so it only says what
    cannot be fetched; a build of one says so again."""
    for port in [*_declared("library.toml").values(), *ports().values()]:
        try:
            sources(port)
        except ProgramError as error:
            print(f"setup: {port.name}: {str(error).splitlines()[0]}", file=sys.stderr)


if __name__ == "__main__":
    main()
