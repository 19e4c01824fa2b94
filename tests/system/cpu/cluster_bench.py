"""Builds the bare cluster's bench for a number of harts, and runs bare-metal programs on it."""

import functools
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

from hw.cpu.generate import generate_cluster
from support.cache import REPO, cached
from tests.limited import run_limited

HERE = Path(__file__).parent
PROGRAMS = HERE / "programs"
CC = ["riscv64-unknown-elf-gcc", "-march=rv32ima_zicsr_zifencei", "-mabi=ilp32", "-O2", "-g", "-ffreestanding",
      "-nostdlib", "-msmall-data-limit=0", "-Wall", "-Wextra", "-Werror", "-Wl,--no-relax",
      "-Wl,--no-warn-rwx-segments", "-Wl,--build-id=none"]

WAYS = {4: 4}       # of the caches, by harts, where a test does not say; else 1. Each pair costs a bench.


@dataclass(frozen=True)
class Run:
    """A program's results: its exit code, all it printed, and its `key=value` lines."""

    status: int
    text: str

    @property
    def values(self) -> dict[str, int]:
        return {key: int(value) for key, value in re.findall(r"^(\w+)=(\d+)$", self.text, re.MULTILINE)}


@functools.cache
def build_bench(harts: int, ways: int = 1) -> Path:
    """The simulator of the bare cluster, a program that takes an image. Its caches have `ways` ways of 4 KiB."""
    caches = {"icache_bytes": 4096 * ways, "icache_ways": ways, "dcache_bytes": 4096 * ways, "dcache_ways": ways}
    netlist = generate_cluster(harts, **caches)
    source = HERE / "bench/bench.cpp"

    def build(folder: Path) -> None:
        environment = {**os.environ, "OBJCACHE": os.environ.get("OBJCACHE", "ccache")}
        environment.pop("VERILATOR_ROOT", None)
        command = ["verilator", "--cc", "--exe", "--build", "-j", "2", "--top-module", "InterlockCluster", "-O3",
                   "--x-assign", "fast", "--x-initial", "unique", "-Wno-fatal", "-Wno-lint", "--Mdir", str(folder),
                   "-CFLAGS", f"-O1 -std=c++20 -DHARTS={harts}", "-o", "bench", str(netlist), str(source)]
        path = f"{REPO / '.venv/bin'}:{environment.get('PATH', '')}"
        done = subprocess.run(["nice", *command], capture_output=True, text=True, env={**environment, "PATH": path})
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
        for path in folder.iterdir():
            if path.name != "bench":
                path.unlink()

    inputs = {"netlist": netlist, "bench": HERE / "bench", "recipe": Path(__file__)}
    return cached("cluster-bench", inputs, build) / "bench"


@functools.cache
def build_program(name: str, harts: int, **defines: int) -> Path:
    """The binary image of programs/<name>.c, compiled for `harts` harts."""
    flags = [f"-DHARTS={harts}", *(f"-D{key}={value}" for key, value in defines.items())]

    def build(folder: Path) -> None:
        sources = [PROGRAMS / "start.S", PROGRAMS / f"{name}.c", PROGRAMS / "runtime.c"]
        elf = folder / "program.elf"
        for command in ([*CC, *flags, "-T", PROGRAMS / "program.ld", *sources, "-o", elf],
                        ["riscv64-unknown-elf-objcopy", "-O", "binary", elf, folder / "program.bin"]):
            done = subprocess.run(command, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    return cached("cluster-program", {"programs": PROGRAMS, "name": name, "flags": " ".join([*CC, *flags])},
                  build) / "program.bin"


def run(name: str, harts: int, latency: int = 8, jitter: int = 0, seed: int = 1, max_cycles: int = 5_000_000,
        ways: int = 0, fault: int = 0, **defines: int) -> Run:
    """Run a program to its end and return its results, whatever its exit code. Caches have `ways` ways, 0: those of
    WAYS; `fault` is a planted fault (bench/device.h)."""
    ways = ways or WAYS.get(harts, 1)
    command = [build_bench(harts, ways), build_program(name, harts, **defines), "--latency", latency,
               "--jitter", jitter, "--seed", seed, "--max-cycles", max_cycles, "--fault", fault]
    done = run_limited(command, 300, capture_output=True, text=True)
    return Run(done.returncode, done.stdout + done.stderr)


def passes(name: str, harts: int, **options: int) -> dict[str, int]:
    """Run a program that must succeed; its `key=value` lines."""
    result = run(name, harts, **options)
    assert result.status == 0, f"{name} on {harts} harts, {options}: exit {result.status}\n{result.text}"
    return result.values
