"""Builds the boot ROM with the cross compiler."""

import struct
import subprocess
from pathlib import Path

from hw.common.cache import REPO, cached

FOLDER = REPO / "firmware"
TOOLS = "riscv64-unknown-elf-"
SOURCES = ("start.S", "report.c")
FLAGS = ("-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-mcmodel=medany", "-Os", "-Wall", "-Wextra", "-Werror",
         "-ffreestanding", "-nostdlib", "-fno-builtin", "-fno-common", "-msmall-data-limit=0",
         "-Wl,--gc-sections", "-Wl,--build-id=none", "-Wl,--fatal-warnings")


def run(*command: str | Path) -> str:
    """What a tool of the tool chain prints. CalledProcessError, with its output, if it fails."""
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout


def compiler_version() -> str:
    """What the cross compiler says it is. FileNotFoundError if it is not installed."""
    return run(TOOLS + "gcc", "--version").splitlines()[0]


def build_rom(include: Path, regions: dict[str, tuple[int, int]]) -> Path:
    """Build the boot ROM against the generated headers below `include`; the directory with rom.elf and rom.bin.

    regions: origin and size in bytes of the memories `rom` and `sram`. CalledProcessError if it does not build."""
    places = [f"-Wl,--defsym={name.upper()}_{what}={value:#x}"
              for name in ("rom", "sram") for what, value in zip(("BASE", "SIZE"), regions[name], strict=True)]

    def build(folder):
        run(TOOLS + "gcc", *FLAGS, *places, "-I", include, "-I", FOLDER, "-T", FOLDER / "rom.ld",
            *(FOLDER / source for source in SOURCES), "-o", folder / "rom.elf")
        run(TOOLS + "objcopy", "-O", "binary", folder / "rom.elf", folder / "rom.bin")

    inputs = {"flags": " ".join(FLAGS + tuple(places)), "headers": include, "compiler": compiler_version()}
    inputs |= {path.name: path for path in FOLDER.iterdir() if path.suffix in (".S", ".c", ".h", ".ld")}
    return cached("rom", inputs, build)


def rom_words(rom: Path) -> list[int]:
    """The 32-bit words of a boot ROM that `build_rom` made."""
    content = (rom / "rom.bin").read_bytes()
    return list(struct.unpack(f"<{len(content) // 4}I", content))
