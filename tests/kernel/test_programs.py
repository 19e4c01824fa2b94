"""Programs written without this kernel in mind: what they expect of the C library, of a shell and of its commands, and
other projects' programs, built unchanged."""

import base64
import bz2
import os
import re
import subprocess
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.machine import boot
from tests.limited import run_limited

OURS = Path(__file__).parent / "programs"
LINES = 20
# How much: in `make test` little; docs/programs.md has the commands for 256 KB and all of Lua's tests.
INPUT_BYTES = int(os.environ.get("BZIP2_BYTES", 1000))
ZSTD_BYTES = int(os.environ.get("ZSTD_BYTES", 1000))
LUA_TESTS = os.environ.get("LUA_TESTS", "goto,vararg").split(",")
# Those need a shell and writable files, or hours; `all` is all the others.
LUA_CANNOT = ("all", "files", "heavy", "main")
MAX_CYCLES = 150_000_000
HANG_CYCLES = 50_000_000  # they may be silent for long


def text_file(path, lines):
    path.write_text("".join(f"line {n}\n" for n in range(lines)))
    return path


def run_programs(folder, harts, sync, program, args, files, times=1):
    """Allows `times` as many cycles as usual."""
    bootargs = f"run=user program={program} args={','.join(args)} hz=1000"
    run = boot(folder, harts, sync, bootargs, files=files, max_cycles=times * MAX_CYCLES,
               hang_cycles=times * HANG_CYCLES)
    assert "panic" not in run.console, run.report()
    return run


def posix(folder):
    return text_file(folder / "lines", 200)


def test_what_the_c_library_is_checked_for_holds_on_the_host(tmp_path):
    """The program checks the library of programs: its checks must be right themselves."""
    lines = posix(tmp_path)
    subprocess.run(["gcc", "-g", "-O1", "-Wall", "-Wextra", "-Werror", "-fsanitize=address,undefined", OURS / "posix.c",
                    "-o", tmp_path / "posix", "-lm", "-lpthread"], check=True)
    done = run_limited([tmp_path / "posix", lines, tmp_path, "sh"], 100, capture_output=True, text=True,
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


def test_lua_runs_a_script_with_its_own_checks_on(tmp_path):
    files = {"lua": programs.build_port(programs.ports()["lua-checked"]), "few": text_file(tmp_path / "few", LINES),
             "check.lua": OURS / "check.lua"}
    run = run_programs(tmp_path / "run", 1, "cli-pessim", "lua", ["check.lua", "few"], files)
    assert run.status == 0, run.report()
    result = run.result("lua")
    assert result["failed"] == 0 and result["checks"] > 40 and result["lines"] == LINES, run.report()


def test_lua_passes_its_own_tests(tmp_path):
    """Its authors' tests, in their portable mode."""
    port = programs.ports()["lua-tests"]
    suite = programs.sources(port) / "testes"
    files = {"lua": programs.build_port(port), "tests.lua": OURS / "tests.lua"}
    files |= {path.name: path for path in suite.glob("*.lua")}
    every = sorted(path.stem for path in suite.glob("*.lua") if path.stem not in LUA_CANNOT)
    names = every if LUA_TESTS == ["all"] else LUA_TESTS
    (tmp_path / "names").write_text("".join(f"{name}\n" for name in names))
    files["names"] = tmp_path / "names"
    times = len(names) * (20 if "LUA_TESTS" in os.environ else 1)   # some take 100 million cycles and say nothing
    run = run_programs(tmp_path / "run", 1, "cli-pessim", "lua", ["tests.lua", "names"], files, times)
    assert run.status == 0, run.report()
    assert [(line["file"], line["failed"]) for line in run.record["results"]["lua_test"]] == [
        (name, 0) for name in names], run.report()


def repository_text(size):
    """So many bytes of the repository's own text: the same in every copy of a version."""
    paths = [programs.REPO / "LICENSE", *sorted((programs.REPO / "kernel").rglob("*.c"))]
    text = b"".join(path.read_bytes() for path in (paths[:1] if size <= paths[0].stat().st_size else paths))
    assert len(text) >= size
    return text[:size]


def test_bzip2_compresses_as_on_the_host_and_restores(tmp_path):
    data = repository_text(INPUT_BYTES)
    compressed = bz2.compress(data, 1)
    (tmp_path / "input").write_bytes(data)
    (tmp_path / "compressed").write_bytes(compressed)
    files = programs.commands() | {"bzip2": programs.build_port(programs.ports()["bzip2"]),
                                   "input": tmp_path / "input", "compressed": tmp_path / "compressed",
                                   "bzip2.sh": OURS / "bzip2.sh"}
    run = run_programs(tmp_path / "run", 1, "spl-pessim", "sh", ["bzip2.sh"], files, times=1 + INPUT_BYTES // 10000)
    assert run.status == 0, run.report()
    sent = re.search(r"((?:^[A-Za-z0-9+/=]+\n)+)@bzip2", run.console.replace("\r", ""), re.MULTILINE)
    assert sent and base64.b64decode(sent[1]) == compressed, run.report()
    wanted = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.split()[0]
    assert run.result("bzip2") == {"restored": int(wanted)}, run.report()


@pytest.mark.skipif("ZSTD_BYTES" not in os.environ, reason="half a minute, most of it to build it: ZSTD_BYTES=1000")
def test_zstd_compresses_with_threads_and_restores(tmp_path):
    """Its workers are threads of this kernel, with pools, conditions and much memory; it checks its own checksum."""
    data = repository_text(ZSTD_BYTES)
    (tmp_path / "input").write_bytes(data)
    files = programs.commands() | {"zstd": programs.build_port(programs.ports()["zstd"]), "input": tmp_path / "input",
                                   "zstd.sh": OURS / "zstd.sh"}
    run = run_programs(tmp_path / "run", 2, "spl-optim", "sh", ["zstd.sh"], files, times=1 + ZSTD_BYTES // 100000)
    assert run.status == 0, run.report()
    wanted = subprocess.run(["cksum"], input=data, capture_output=True, check=True).stdout.split()[0]
    assert run.result("zstd") == {"restored": int(wanted)}, run.report()
