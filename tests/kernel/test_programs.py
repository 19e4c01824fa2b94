"""Programs that know nothing of this kernel: what they expect of the C library, of a shell and of its commands, and
programs of others, built as they are."""

import base64
import bz2
import re
import subprocess
from pathlib import Path

from sim import programs
from tests.kernel.machine import boot

OURS = Path(__file__).parent / "programs"
LINES = 20
INPUT_BYTES = 4096      # for bzip2; docs/programs.md has the command for 256 KB
MAX_CYCLES = 150_000_000
HANG_CYCLES = 50_000_000  # they may be silent for long


def text_file(path, lines):
    path.write_text("".join(f"line {n}\n" for n in range(lines)))
    return path


def run_programs(folder, harts, sync, program, args, files):
    bootargs = f"run=user program={program} args={','.join(args)} hz=1000"
    run = boot(folder, harts, sync, bootargs, files=files, max_cycles=MAX_CYCLES, hang_cycles=HANG_CYCLES)
    assert "panic" not in run.console, run.report()
    return run


def posix(folder):
    return text_file(folder / "lines", 200)


def test_what_the_c_library_is_checked_for_holds_on_the_host(tmp_path):
    """The program checks the library of programs: its checks must be right themselves."""
    lines = posix(tmp_path)
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", OURS / "posix.c",
                    "-o", tmp_path / "posix", "-lm", "-lpthread"], check=True)
    done = subprocess.run([tmp_path / "posix", lines, tmp_path, "sh"], capture_output=True, text=True,
                          env={"ASAN_OPTIONS": "handle_segv=0:detect_leaks=0", "PATH": "/usr/bin:/bin"})
    assert done.returncode == 0 and done.stdout.endswith("failed=0\nlast words"), done.stdout + done.stderr


def test_the_c_library_of_programs(tmp_path):
    built = programs.build_program([OURS / "posix.c"])
    files = programs.commands() | {"posix": built, "lines": posix(tmp_path)}
    run = run_programs(tmp_path / "run", 2, "spl-optim", "posix", ["/lines", "/", "sh"], files)
    assert run.status == 0 and "last words" in run.console, run.report()
    result = run.result("posix")
    assert result["failed"] == 0 and result["checks"] > 90, run.report()


def test_a_shell_runs_a_script(tmp_path):
    files = programs.commands() | {"script.sh": OURS / "script.sh", "few": text_file(tmp_path / "few", LINES)}
    run = run_programs(tmp_path / "run", 2, "cli-optim", "sh", ["script.sh"], files)
    assert run.status == 0, run.report()
    assert run.result("sh") == {"checks": 17, "failed": 0}, run.report()


def test_programs_of_others(tmp_path):
    """Lua with its own checks, and bzip2: it compresses as the host's library does, byte for byte, and restores."""
    data = (programs.REPO / "README.md").read_bytes()[:INPUT_BYTES]
    (tmp_path / "input").write_bytes(data)
    ports = {name: programs.build_port(programs.ports()[name]) for name in ("lua-checked", "bzip2")}
    files = programs.commands() | ports | {
        "input": tmp_path / "input", "few": text_file(tmp_path / "few", LINES), "check.lua": OURS / "check.lua",
        "ports.sh": OURS / "ports.sh"}
    run = run_programs(tmp_path / "run", 2, "spl-optim", "sh", ["ports.sh"], files)
    assert run.status == 0, run.report()
    result = run.result("lua")
    assert result["failed"] == 0 and result["lines"] == LINES, run.report()
    shown = run.console.replace("\r", "")
    sent = re.search(r"@lua .*\n((?:[A-Za-z0-9+/=]+\n)+)@sum", shown)
    assert sent, run.report()
    assert base64.b64decode(sent[1]) == bz2.compress(data, 1)
    wanted = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.decode()
    assert wanted in shown, run.report()
