"""A kernel in the simulator with a real gdb-multiarch on its data line, controlled through GDB's machine interface."""

import ast
import os
import re
import select
import subprocess
import time
from pathlib import Path

from tests.kernel.machine import CONSOLE_BAUD, command, ended

GDB = "gdb-multiarch"
LINE_BAUD = 6_000_000
PATIENCE_S = 240            # for any one answer: the machine may be busy
MAX_CYCLES = 2_000_000_000  # while GDB thinks, the target runs on


class Stopped(dict):
    """A record `*stopped`: its fields as text, as far as the tests ask for them."""

    @classmethod
    def of(cls, line):
        return cls(re.findall(r'([\w-]+)="((?:[^"\\]|\\.)*)"', line))


class Session:
    """The simulator and GDB, connected. `say` gives GDB a command and returns what it prints."""

    def __init__(self, folder, harts, sync, bootargs, options=None, files=None):
        arguments = command(folder, harts, sync, f"{bootargs} gdb.baud={LINE_BAUD}", "file", CONSOLE_BAUD,
                            max_cycles=MAX_CYCLES, options=options, debugging=True, files=files)
        at = arguments.index("--hang-cycles")
        arguments[at:at + 2] = ["--uart1", "pty", "--uart1-baud", str(LINE_BAUD)]
        self.folder = folder
        self.arguments = arguments
        self.image = Path(arguments[arguments.index("--image") + 1])
        self.pending = b""
        self.log = []

    def __enter__(self):
        self.gdb = subprocess.Popen([GDB, "-nx", "-q", "--interpreter=mi2", str(self.image)], stdin=subprocess.PIPE,
                                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, bufsize=0, cwd=self.folder)
        # Stopping all harts may take DEBUG_STOP_CYCLES (kernel/debug/debug.h), which is long on a busy machine.
        for setting in ("confirm off", "width 0", f"remotetimeout {PATIENCE_S // 2}", "trust-readonly-sections on",
                        "mi-async on", "print thread-events off"):
            self.say(f"set {setting}")
        self.simulator = subprocess.Popen(self.arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                          stderr=subprocess.PIPE, text=True)
        line = self.simulator.stderr.readline()
        assert line.startswith("data line on /dev/"), line
        self.device = line.split()[-1]
        return self

    def __exit__(self, *_):
        for process in (self.gdb, self.simulator):
            if process.poll() is None:
                process.kill()
            process.wait()
        self.gdb.stdin.close()
        self.gdb.stdout.close()
        self.simulator.stderr.close()

    def attach(self):
        self.say(f"target remote {self.device}")

    def line(self):
        """The next line of GDB's output."""
        end = time.monotonic() + PATIENCE_S
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.gdb.stdout], [], [], max(0, end - time.monotonic()))
            more = os.read(self.gdb.stdout.fileno(), 65536) if ready else b""
            assert more, "GDB says no more:\n" + "\n".join(self.log[-40:])
            self.pending += more
        line, _, self.pending = self.pending.partition(b"\n")
        self.log.append(line.decode(errors="replace"))
        return self.log[-1]

    def say(self, text, error=False):
        """Execute a GDB command, and return its output; with `error` it has to fail."""
        self.log.append(f">>> {text}")
        self.gdb.stdin.write(text.encode() + b"\n")
        shown = []
        while True:
            line = self.line()
            if line.startswith("~"):
                shown.append(ast.literal_eval(line[1:]))
            elif line.startswith("^"):
                break
        assert line.startswith("^error") == error, "\n".join(self.log[-40:])
        return "".join(shown) + (line if error else "")

    def wait(self):
        """Wait until the target stops."""
        while True:
            line = self.line()
            if line.startswith("*stopped"):
                return Stopped.of(line)

    def run(self, text="-exec-continue"):
        """A command that lets the target run; gives how it stops."""
        self.say(text)
        return self.wait()

    def interrupt(self):
        self.say("-exec-interrupt --all")
        return self.wait()

    def value(self, expression):
        """A number."""
        return int(self.say(f"output/d {expression}"))

    def threads(self):
        """What "info threads" shows, by hart."""
        lines = re.findall(r'"hart (\d+)" \((.*?)\) +(.*)', self.say("info threads"))
        return {int(hart): (text, place) for hart, text, place in lines}

    def end(self):
        """How the target ended by itself."""
        status = self.simulator.wait(PATIENCE_S)
        return ended(self.folder, status, self.simulator.stderr.read())
