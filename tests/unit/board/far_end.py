"""A board to test the host's tools against: the loader as a program (far_end.c), behind a line that can be made bad."""

import contextlib
import functools
import os
import random
import select
import signal
import subprocess
import tempfile
import termios
import threading
import time
import tty
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
FIRMWARE = HERE.parents[2] / "firmware"
FLAGS = ["-std=gnu11", "-O1", "-g", "-fno-omit-frame-pointer", "-fno-common", "-Wall", "-Wextra", "-Werror",
         "-fsanitize=address,undefined", "-fno-sanitize-recover=all", f"-I{HERE}", f"-I{FIRMWARE}",
         "-include", f"{HERE}/io.h"]


@functools.cache
def far_end():
    """The program, built once per process."""
    folder = Path(tempfile.mkdtemp(prefix="far_end-"))
    sources = [HERE / "far_end.c", *(FIRMWARE / f"{name}.c" for name in ("loader", "frame", "unpack"))]
    subprocess.run(["gcc", *FLAGS, *sources, "-o", folder / "far_end"], check=True)
    return folder / "far_end"


@dataclass
class Faults:
    """A line's effect on bytes: the chance that one is lost or has a bit changed, and the delay of all, seconds."""

    lost: float = 0.0
    changed: float = 0.0
    late: float = 0.0
    seed: int = 1


class BadLine(threading.Thread):
    """Carries bytes between a pseudo-terminal, whose other end is `device`, and the program's pipes.

    At different bit rates both ends get garbage, as on a real line. `cut` unplugs the cable, `mend` plugs it in again.
    """

    def __init__(self, folder, faults):
        super().__init__(daemon=True)
        self.device = folder / "ttyBOARD"
        self.faults = faults
        self.random = random.Random(faults.seed)
        self.baud = None            # the program's
        self.carried = 0            # bytes to the program
        self.cut_at = None          # unplug the cable when so many were carried
        self.ending = False
        self.queue = []             # (time, descriptor, bytes) that are late
        baud_read, baud_write = os.pipe()
        self.bauds = baud_read
        self.errors = folder / "far_end.txt"
        with open(self.errors, "wb") as errors:
            self.program = subprocess.Popen([far_end(), str(baud_write)], pass_fds=(baud_write,), bufsize=0,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
        os.close(baud_write)
        self.master = None
        self.mend()
        self.start()

    def mend(self):
        """Makes the pseudo-terminal anew, under the same name."""
        master, slave = os.openpty()
        tty.setraw(slave)
        self.device.unlink(missing_ok=True)
        self.device.symlink_to(os.ttyname(slave))
        self.slave, self.master = slave, master

    def cut(self):
        """Unplugs the cable: the device is gone."""
        self.device.unlink()
        master, self.master = self.master, None
        os.close(self.slave)
        os.close(master)

    def reset(self):
        """The board's reset button."""
        self.program.send_signal(signal.SIGUSR1)

    def run(self):
        source, sink = self.program.stdout.fileno(), self.program.stdin.fileno()
        while not self.ending:
            master = self.master
            ends = [fd for fd in (master, source, self.bauds) if fd is not None]
            with contextlib.suppress(OSError, ValueError, termios.error):     # it is being cut
                for ready in select.select(ends, [], [], 0.002)[0]:
                    taken = os.read(ready, 4096)
                    if ready == self.bauds:
                        self.baud = int(taken.split()[-1])
                    elif taken:
                        self._carry(taken, sink if ready == master else None)
            self._deliver()
            if self.cut_at is not None and self.carried >= self.cut_at and self.master is not None:
                self.cut_at = None
                self.cut()

    def _carry(self, taken, sink):
        host = termios.tcgetattr(self.slave)[5]
        if getattr(termios, f"B{self.baud}", None) != host:
            taken = bytes(self.random.getrandbits(8) for _ in taken[::2])
        faults = self.faults
        kept = bytearray()
        for byte in taken:
            if self.random.random() < faults.lost:
                continue
            changed = self.random.random() < faults.changed
            kept.append(byte ^ 1 << self.random.randrange(8) if changed else byte)
        self.queue.append((time.monotonic() + faults.late, sink, bytes(kept)))

    def _deliver(self):
        while self.queue and self.queue[0][0] <= time.monotonic():
            _, sink, kept = self.queue.pop(0)
            with contextlib.suppress(OSError):
                if sink is not None:
                    os.write(sink, kept)
                    self.carried += len(kept)
                elif self.master is not None:
                    os.write(self.master, kept)

    def end(self):
        """Ends program and line; the output of the program's sanitizers."""
        self.ending = True
        self.join()
        self.program.stdin.close()
        self.program.kill()
        self.program.wait()
        return self.errors.read_text()


@contextlib.contextmanager
def bad_line(folder, **faults):
    """A board behind a line with `faults`. Fails if its sanitizers have found an error."""
    line = BadLine(Path(folder), Faults(**faults))
    try:
        yield line
    finally:
        said = line.end()
    assert not said, said
