"""Programs for the player (harness_player.v), which replaces the SoC: the value of each pin in each cycle."""

import functools
import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

from sim.model.build import build_model
from tests.limited import run_limited

CLOCK_HZ = 60_000_000
SCRIPT = 0x40010000
BOOTARGS = 0x40000800
BOOTARGS_SIZE = 64

# Code that never runs; retired addresses point into it. Each label `pN` carries the probe points of a test.
CODE = """
    .section .text
_start: j _start
    .word {magic}, _end, {bootargs}, {bootargs_size}
    .globl alpha, beta, spin, storing, handler
alpha: {labels}
beta: nop
spin: nop
    j spin
storing: sw a0, 0(a0)
    j storing
handler: nop
back: mret
first_lock: .word simple_class, first_name
second_lock: .word simple_class, second_name
mutex: .word mutex_class, first_name
simple_class: .word red, 0
mutex_class: .word green, 1
strange_class: .word 0x90000000, 77
strange_lock: .word strange_class, 0
red: .asciz "red"
green: .asciz "green"
first_name: .asciz "first"
second_name: .asciz "second"
    .balign 4
    .section .script, "a"
{script}
    .section .interlock.probes, "", @progbits
{probes}
    .section .bss
_end:
"""
LABELS = 20
LINK = f"""SECTIONS {{
    . = 0x40000000; .text : {{ *(.text) }}
    . = {BOOTARGS:#x}; .args : {{ LONG(0) }}
    . = {SCRIPT:#x}; .script : {{ *(.script) }} .bss : {{ *(.bss) }}
    .interlock.probes 0 (INFO) : {{ *(.interlock.probes) }}
}}"""


@dataclass
class Script:
    """A script under construction: each method plays one step, which takes one cycle, and returns that cycle."""

    words: list = field(default_factory=list)
    cycle: int = 0
    probes: list = field(default_factory=list)     # (label, kind and register), in the order of the section

    def _step(self, op, data, hart=0, extra=None, cycles=1):
        self.words.append((data, op << 24 | hart << 16))
        if extra is not None:
            self.words.append(extra)
        at = self.cycle
        self.cycle += cycles
        return at

    def wait_until(self, cycle):
        """The next step takes place in `cycle`."""
        if cycle > self.cycle:
            self._step(1, cycle - self.cycle, cycles=cycle - self.cycle)
        assert self.cycle == cycle

    def retire(self, label, hart=0):
        return self._step(2, label, hart)

    def trap(self, cause, hart=0, pc="beta"):
        return self._step(3, cause, hart, (pc, 0))

    def trap_return(self, hart=0):
        return self.retire("back", hart)

    def wires(self, mask):
        return self._step(4, mask)

    def sources(self, mask):
        return self._step(5, mask)

    def trace(self, event, argument, hart=0):
        return self._step(6, argument, hart, (event, 0))

    def exit(self, code=0):
        return self._step(7, code)

    def blob(self, kind, address, length):
        return self._step(8, kind, 0, (address, length))

    def wfi(self, on, hart=0):
        return self._step(9, int(on), hart)

    def privilege(self, level, hart=0):
        return self._step(10, level, hart)

    def jump(self, word):
        return self._step(11, word)

    def register(self, number, value, hart=0):
        """A register of a hart gets `value`, a number or a label."""
        return self._step(12, value, hart, (number, 0))

    def lines(self, mask):
        """A bit for each serial port, 0 holds what it sends low."""
        return self._step(13, mask)

    def mark(self, label, *kinds, register=None):
        """Probe points at a label p0 .. p19, with their value in `register`."""
        value = 0 if register is None else register + 1 << 8
        self.probes += [(label, kind | value) for kind in kinds]

    def image(self, folder: Path, magic=0x314B4C49) -> Path:
        """Links the script into an image."""
        source, link, image = folder / "player.S", folder / "player.ld", folder / "player.elf"
        source.write_text(CODE.format(
            magic=magic, bootargs=BOOTARGS, bootargs_size=BOOTARGS_SIZE,
            labels=" ".join(f"p{i}: nop;" for i in range(LABELS)),
            script="\n".join(f"    .word {low}, {high}" for low, high in self.words),
            probes="\n".join(f"    .word {label}, {kind}" for label, kind in self.probes)))
        link.write_text(LINK)
        subprocess.run(["riscv64-unknown-elf-gcc", "-march=rv32ima_zicsr", "-mabi=ilp32", "-nostdlib", "-static",
                        "-Wl,--no-warn-rwx-segments", "-T", link, "-o", image, source], check=True)
        return image


def at(script, cycle, label, hart=0):
    script.wait_until(cycle)
    script.retire(label, hart)


def spread(*values):
    """The record of a Spread of `values`."""
    histogram = [0] * (max(values, default=0).bit_length() or 1)
    for value in values:
        histogram[max(value.bit_length() - 1, 0)] += 1
    return {"count": len(values), "total": sum(values), "min": min(values, default=0), "max": max(values, default=0),
            "log2": histogram if values else []}


@dataclass(frozen=True)
class Run:
    """A run's results."""

    status: int
    stdout: str
    stderr: str
    out: Path

    @property
    def record(self) -> dict:
        return json.loads((self.out / "run.json").read_text())

    def statistics(self, hart=0) -> dict:
        return self.record["harts"][hart]["statistics"]


@functools.cache
def simulator(waves=False, skips=False) -> Path:
    """The harness around the player, looked up once; with `skips`, or waves, cycles in which a script waits are left
    out: then nothing takes long."""
    folder = Path(__file__).parent
    return build_model([folder / "harness_player.v", folder / "harness_player.vlt"], CLOCK_HZ, waves,
                       idle=folder / "harness_player.json" if waves or skips else None)


def run(binary, image, out, *options, stdin="", cpu_s=60) -> Run:
    """One run to its end, quiet; its files go to `out`."""
    command = [binary, "--image", image, "--out", out, "--quiet", *options]
    done = run_limited(command, cpu_s, input=stdin, capture_output=True, text=True, errors="replace")
    return Run(done.returncode, done.stdout, done.stderr, Path(out))
