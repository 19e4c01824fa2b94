"""Generates a SoC, or finds the one generated before: `python -m soc.build --harts 2`."""

import argparse
import dataclasses
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from firmware.build import compiler_version
from hw.cpu.generate import ToolError, generate_cluster
from soc.config import SoCConfig
from support.cache import REPO, cached
from support.parameters.machine import MACHINE

GENERATORS_LAST_LINES = 20     # shown when one fails


@dataclass(frozen=True)
class SoCArtifacts:
    """A generated SoC: everything the simulator and programs are built from, in one folder."""

    dir: Path

    @property
    def verilog(self) -> list[Path]:
        """The SoC (module `interlock`) and the CPU cluster."""
        return [self.dir / "interlock.v", self.dir / "cluster.v"]

    @property
    def include(self) -> Path:
        """Where C finds generated/csr.h, mem.h, soc.h, pic_regs.h, serial_regs.h and trace_regs.h."""
        return self.dir / "include"

    @property
    def vlt(self) -> Path:
        """Settings for Verilator: a source like the Verilog files."""
        return self.dir / "interlock.vlt"

    @property
    def idle(self) -> Path:
        """What advances in idle cycles (soc/idle.py), JSON: it tells the simulator how to skip them."""
        return self.dir / "idle.json"

    @property
    def rom(self) -> Path:
        """The boot ROM, ELF with symbols."""
        return self.dir / "rom.elf"

    @property
    def fingerprint(self) -> int:
        """The value of the CSR `identity_fingerprint`: soc/fingerprint.py."""
        return int((self.dir / "fingerprint").read_text(), 16)

    @property
    def reference(self) -> Path:
        """The register reference, Markdown."""
        return self.dir / "registers.md"


def add_options(parser: argparse.ArgumentParser):
    """An option for each parameter of a SoC: `ram_mib` is `--ram-mib N`."""
    for field in dataclasses.fields(SoCConfig):
        parser.add_argument("--" + field.name.replace("_", "-"), type=field.type, default=field.default,
                            metavar="N" if field.type is int else "WORD", help=MACHINE[field.name].line())


def config_of(options: argparse.Namespace) -> SoCConfig:
    """The configuration from the options of `add_options`. ValueError as from SoCConfig."""
    return SoCConfig(**{field.name: getattr(options, field.name) for field in dataclasses.fields(SoCConfig)})


def generate_soc(config: SoCConfig, two_chips: bool = False) -> SoCArtifacts:
    """The SoC of `config`: seconds when it has to be generated, minutes when its CPU cluster has to be. With
    `two_chips` its interrupt controller is on a chip of its own (soc/pins.py).

    hw.cpu.generate.ToolError or FileNotFoundError if a tool is missing, subprocess.CalledProcessError with the log as
    its output if the generator fails."""
    parameters = dataclasses.asdict(config)

    def build(folder: Path):
        generate_cluster(**vars(config.cluster()))  # here, where its progress and its errors are visible
        command = [sys.executable, "-m", "soc.generate", str(folder)]
        command += [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
        command += ["--two-chips"] * two_chips
        # LiteX iterates over sets: a fixed hash seed fixes their order.
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        subprocess.run(command, cwd=REPO, env=environment, text=True, check=True, stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT)

    inputs = {"parameters": repr(parameters), "origin": config.origin(), "compiler": compiler_version()}
    return SoCArtifacts(cached("soc-two-chips" if two_chips else "soc", inputs, build))


@contextmanager
def told_in_a_line(what: str = "SoC", *others: type[BaseException]):
    """Ends the program with one line for errors in making a `what`: those of `generate_soc`, and `others`, whose text
    is such a line."""
    told: tuple[type[BaseException], ...] = (ToolError, *others)
    try:
        yield
    except subprocess.CalledProcessError as error:
        print("".join((error.output or "").splitlines(keepends=True)[-GENERATORS_LAST_LINES:]), file=sys.stderr)
        sys.exit(f"error: the {what} could not be generated{', see above' if error.output else f': {error}'}")
    except FileNotFoundError as error:
        sys.exit(f"error: {error.filename} is missing: run 'make setup'")
    except told as error:
        sys.exit(f"error: {error}")


def command_line(parser: argparse.ArgumentParser, action: Callable[[SoCConfig], object]):
    """A program that prints the result of `action` on the SoC of the options; errors are one line."""
    add_options(parser)
    try:
        config = config_of(parser.parse_args())
    except ValueError as error:
        parser.error(str(error))
    with told_in_a_line():
        print(action(config))


def main():
    command_line(argparse.ArgumentParser(prog="python -m soc.build", description="Generate a SoC, print its folder."),
                 lambda config: generate_soc(config).dir)


if __name__ == "__main__":
    main()
