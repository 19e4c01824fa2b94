"""A core's README for its tests: figures and example."""

import re
import subprocess

from support.cache import REPO

CC = ["riscv64-unknown-elf-gcc", "-march=rv32ima_zicsr", "-mabi=ilp32", "-ffreestanding", "-Wall", "-Wextra", "-Werror",
      "-Wno-unused-function", "-I.", "-c"]


def readme(core):
    """The text of a core's README."""
    return (REPO / "hw" / core / "README.md").read_text()


def check_example(core, folder, **headers):
    """CalledProcessError unless the README's C compiles with the generated `headers`, text by name."""
    (folder / "generated").mkdir()
    for name, text in headers.items():
        (folder / "generated" / f"{name}.h").write_text(text)
    example, = re.findall(r"```c\n(.*?)```", readme(core), re.S)
    (folder / "example.c").write_text(example)
    subprocess.run([*CC, "example.c"], cwd=folder, check=True)
