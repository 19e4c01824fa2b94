"""Builds the boot ROM with the cross compiler."""

import re
import struct
import subprocess
from collections.abc import Iterable
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from support.cache import REPO, Input, cached

FOLDER = REPO / "firmware"
BOARD = FOLDER / "board"
TOOLS = "riscv64-unknown-elf-"
SIMULATOR_SOURCES = (FOLDER / "start.S", FOLDER / "report.c")
LINK_SOURCES = (FOLDER / "frame.c", FOLDER / "line.c", FOLDER / "loader.c", FOLDER / "unpack.c")
MACHINE = ("-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-mcmodel=medany", "-Os", "-ffreestanding", "-nostdlib",
           "-fno-builtin", "-fno-common", "-msmall-data-limit=0")
FLAGS = ("-Wall", "-Wextra", "-Werror")
LINK_FLAGS = ("-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--fatal-warnings")
# Of a board's ROM: what is not called is left out, and it is linked as one piece, which is shorter.
BOARD_FLAGS = ("-flto", "-ffunction-sections", "-fdata-sections")
# LiteDRAM's initialisation, as in LiteX's BIOS but without the memory test, which our self-test has. Empty for a SoC
# without LiteDRAM. Not written to compile without our warnings.
LITEX_SOURCES = ("liblitedram/sdram.c", "liblitedram/accessors.c")
LITEX_FLAGS = ("-w", "-DSDRAM_TEST_DISABLE")


def run(*command: str | Path) -> str:
    """The output of a tool of the tool chain. CalledProcessError, with its output, if it fails."""
    try:
        return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout
    except subprocess.CalledProcessError as error:
        error.add_note(error.stderr)  # else a traceback shows the command, and not its errors
        raise


def compiler_version() -> str:
    """The versions of the cross compiler, and of the assembler and the linker that it calls. FileNotFoundError if one
    is not installed."""
    return "; ".join(run(TOOLS + tool, "--version").splitlines()[0] for tool in ("gcc", "as", "ld"))


def constant(include: Path, name: str) -> str:
    """The constant CONFIG_`name` of the SoC of these generated headers."""
    found = re.search(rf"^#define CONFIG_{name} (\S+)", (include / "generated" / "soc.h").read_text(), re.M)
    if not found:
        raise ValueError(f"the SoC's headers have no CONFIG_{name}")
    return found[1]


def has_loader(include: Path) -> bool:
    """Whether the SoC of these generated headers needs a board's ROM (CONFIG_BOOT_LOADER) or the simulator's."""
    return bool(re.search(r"^#define CONFIG_BOOT_LOADER\b", (include / "generated" / "soc.h").read_text(), re.M))


def build_rom(include: Path, regions: dict[str, tuple[int, int]]) -> Path:
    """Build the boot ROM against the generated headers below `include`; the directory with rom.elf and rom.bin.

    regions: origin and size in bytes of the memories `rom` and `sram`. CalledProcessError if it does not build."""
    places = [f"-Wl,--defsym={name.upper()}_{what}={value:#x}"
              for name in ("rom", "sram") for what, value in zip(("BASE", "SIZE"), regions[name], strict=True)]
    board = has_loader(include)
    places.append(f"-Wl,--defsym=HARTS={constant(include, 'HARTS')}")
    if board:
        sources = [*sorted(BOARD.glob("*.[cS]")), *LINK_SOURCES]
        script = BOARD / "board.ld"
    else:
        sources, script = list(SIMULATOR_SOURCES), FOLDER / "rom.ld"

    def build(folder: Path):
        flags: list[str | Path] = [*MACHINE, *FLAGS, "-I", include, "-I", FOLDER]
        objects: list[Path] = []
        if board:
            flags += [*BOARD_FLAGS, "-I", BOARD]
            objects = _litex_objects(folder, include)
        run(TOOLS + "gcc", *flags, *LINK_FLAGS, *places, "-T", script, *sources, *objects, "-o",
            folder / "rom.elf")
        run(TOOLS + "objcopy", "-O", "binary", folder / "rom.elf", folder / "rom.bin")
        for path in objects:
            path.unlink()

    inputs: dict[str, Input] = {
        "flags": repr((MACHINE, FLAGS, BOARD_FLAGS, LITEX_FLAGS, LINK_FLAGS, places)), "headers": include,
        "compiler": compiler_version(), "litex": metadata.version("litex"), **_named(sources), "how": Path(__file__),
        "script": script, **_named(FOLDER.rglob("*.h"))}
    return cached("rom", inputs, build)


def _named(paths: Iterable[Path]) -> dict[str, Path]:
    return {path.relative_to(FOLDER).as_posix(): path for path in paths}


def _litex_objects(folder: Path, include: Path) -> list[Path]:
    """LiteX's own sources, compiled with its own headers."""
    spec = find_spec("litex")
    assert spec and spec.origin, "litex is in setup/requirements.lock"
    software = Path(spec.origin).parent / "soc" / "software"
    objects = []
    for source in LITEX_SOURCES:
        objects.append(folder / (Path(source).stem + ".o"))
        run(TOOLS + "gcc", *MACHINE, *BOARD_FLAGS, *LITEX_FLAGS, "-I", BOARD / "litex", "-I", software / "include",
            "-I", software, "-I", include, "-c", software / source, "-o", objects[-1])
    return objects


def rom_words(rom: Path) -> list[int]:
    """The 32-bit words of a boot ROM that `build_rom` made."""
    content = (rom / "rom.bin").read_bytes()
    return list(struct.unpack(f"<{len(content) // 4}I", content))
