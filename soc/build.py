"""Generates a SoC, or finds the one generated before: `python -m soc.build --harts 2`."""

import argparse
import dataclasses
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from hw.common.cache import REPO, cached
from soc.config import SoCConfig


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
    def rom(self) -> Path:
        """The boot ROM, ELF with symbols."""
        return self.dir / "rom.elf"

    @property
    def reference(self) -> Path:
        """The register reference, Markdown."""
        return self.dir / "registers.md"


def add_options(parser: argparse.ArgumentParser):
    """An option for each parameter of a SoC: `ram_mib` is `--ram-mib N`."""
    for field in dataclasses.fields(SoCConfig):
        parser.add_argument("--" + field.name.replace("_", "-"), type=int, default=field.default, metavar="N",
                            help=f"default {field.default}")


def config_of(options: argparse.Namespace) -> SoCConfig:
    """The configuration that options added by `add_options` ask for. ValueError as of SoCConfig."""
    return SoCConfig(**{field.name: getattr(options, field.name) for field in dataclasses.fields(SoCConfig)})


def generate_soc(config: SoCConfig) -> SoCArtifacts:
    """The SoC of `config`; takes half a minute when it has to be generated, and minutes when its CPU cluster has to be.

    subprocess.CalledProcessError, after the generator's last words on stderr, if it cannot be generated."""
    parameters = dataclasses.asdict(config)

    def build(folder: Path):
        command = [sys.executable, "-m", "soc.generate", str(folder)]
        command += [f"--{name.replace('_', '-')}={value}" for name, value in parameters.items()]
        # LiteX goes through sets: a fixed hash seed keeps their order.
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        done = subprocess.run(command, cwd=REPO, env=environment, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)
        if done.returncode:
            print("".join(done.stdout.splitlines(keepends=True)[-20:]), file=sys.stderr, end="")
            raise subprocess.CalledProcessError(done.returncode, command, done.stdout)

    return SoCArtifacts(cached("soc", {"parameters": repr(parameters), "fingerprint": f"{config.fingerprint():016x}"},
                               build))


def main():
    parser = argparse.ArgumentParser(prog="python -m soc.build", description="Generate a SoC and print its folder.")
    add_options(parser)
    try:
        config = config_of(parser.parse_args())
    except ValueError as error:
        parser.error(str(error))
    print(generate_soc(config).dir)


if __name__ == "__main__":
    sys.exit(main())
