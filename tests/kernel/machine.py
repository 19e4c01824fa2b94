"""Boots kernel images in the simulator, for the kernel's tests."""

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sim.build import build_simulator
from sim.kernel import build_kernel
from soc.config import SoCConfig

CONSOLE_BAUD = 6_000_000     # ten cycles a bit, so that printing costs little time
MAX_CYCLES = 30_000_000
HANG_CYCLES = 3_000_000


@dataclass(frozen=True)
class Boot:
    """How one run ended: the simulator's exit status, its record, what the console showed."""

    status: int
    record: dict
    console: str
    messages: str
    folder: Path

    def result(self, kind):
        """The one `@kind` line that the kernel printed, as a dictionary."""
        lines = self.record["results"].get(kind, [])
        assert len(lines) == 1, f"{len(lines)} @{kind} lines:\n{self.report()}"
        return lines[0]

    def report(self):
        return f"status {self.status}, {self.record.get('cycles')} cycles\n{self.console}\n{self.messages}"


def boot(folder, harts, sync, bootargs, seed=0, serial_in=None, typed=None, max_cycles=MAX_CYCLES):
    """Run the kernel with scheme `sync` on `harts` harts in the directory `folder`; `typed` is what the console hears."""
    config = SoCConfig(harts=harts)
    command = [build_simulator(config), "--image", build_kernel(config, sync), "--out", folder,
               "--console", "file" if typed is None else "tty",
               "--uart0-baud", CONSOLE_BAUD, "--bootargs", f"{bootargs} console.baud={CONSOLE_BAUD}", "--seed", seed,
               "--max-cycles", max_cycles, "--hang-cycles", HANG_CYCLES, "--quiet"]
    if serial_in:
        command += ["--uart1-in", serial_in]
    folder.mkdir(parents=True, exist_ok=True)
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, input=typed or "")
    run = folder / "run.json"
    return Boot(done.returncode, json.loads(run.read_text()) if run.exists() else {},
                (folder / "console.txt").read_text(errors="replace") if run.exists() else "",
                done.stdout + done.stderr, folder)
