"""Writes the register reference: `python -m soc.docs` makes build/docs/registers.md."""

import argparse
import shutil
from pathlib import Path

from soc.build import command_line, generate_soc
from soc.config import SoCConfig
from support.cache import build_root


def write_reference(config: SoCConfig) -> Path:
    """Write the reference of the SoC of `config`; the file's path."""
    target = build_root() / "docs" / "registers.md"
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(generate_soc(config).reference, target)
    return target


def main():
    command_line(argparse.ArgumentParser(prog="python -m soc.docs", description="Write the register reference."),
                 write_reference)


if __name__ == "__main__":
    main()
