"""The messages when a program that a build calls is missing, broken or too old."""

import re
import threading
import time

import pytest

from sim.model import toolchain
from support import cache, tools

GOOD = {
    "make": "GNU Make 4.3", "perl": "v5.36.0", "g++": "g++ (Debian 12.2.0-14+deb12u1) 12.2.0",
    "clang++-19": "Debian clang version 19.1.7 (3~deb12u1)",
    "ld.lld-19": "Debian LLD 19.1.7 (compatible with GNU linkers)",
    "llvm-ar-19": "Debian LLVM version 19.1.7", "llvm-profdata-19": "Debian LLVM version 19.1.7",
    "ccache": "ccache version 4.7.5",
    "riscv64-unknown-elf-gcc": "riscv64-unknown-elf-gcc (12.2.0-14+deb12u1+11+b2) 12.2.0",
    "java": 'openjdk version "17.0.15" 2025-04-15', "mvn": "Apache Maven 3.8.7",
    "verilator": "Verilator 5.052 2026-09-05 rev v5.052",
}


@pytest.fixture
def programs(tmp_path, monkeypatch):
    """Puts stubs on an otherwise empty PATH: say(name, text, status) sets one, None removes it."""
    def say(name, text, status=0):
        path = tmp_path / name
        path.unlink(missing_ok=True)
        if text is not None:
            path.write_text(f"#!/bin/sh\necho '{text}' >&{2 if name == 'java' else 1}\nexit {status}\n")
            path.chmod(0o755)
    for name, text in GOOD.items():
        say(name, text)
    monkeypatch.setenv("PATH", str(tmp_path))
    return say


def complaint():
    with pytest.raises(tools.ToolError) as caught:
        tools.check()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_versions_are_found_in_what_programs_print(programs):
    versions = tools.check()
    assert (versions["g++"], versions["java"], versions["verilator"]) == ("12.2.0", "17.0.15", "5.052")
    assert versions["litex"] == "2024.12"


@pytest.mark.parametrize("name", GOOD)
def test_a_missing_program(programs, name):
    programs(name, None)
    assert complaint() == f"missing tools: {name} ({tools.PROGRAMS[name][2]}); run 'make setup'"


def test_all_missing_programs_at_once(programs):
    programs("java", None)
    programs("g++", None)
    assert "g++ (Debian package g++), java (Debian package default-jdk-headless)" in complaint()


@pytest.mark.parametrize("name, text, said", [
    ("verilator", "Verilator 5.006 2023-01-22", "is version 5.006, 5.52 or newer is needed"),
    ("java", 'openjdk version "11.0.2"', "is version 11.0.2, 17 or newer is needed"),
    ("mvn", "Apache Maven 3.5.4", "is version 3.5.4, 3.6 or newer is needed"),
])
def test_an_old_program(programs, name, text, said):
    programs(name, text)
    assert said in complaint() and f"/{name} " in complaint()


def test_a_broken_program(programs):
    programs("g++", "", status=1)
    assert "g++ does not run" in complaint()


def test_a_program_that_is_slow_is_not_called_broken(programs, monkeypatch):
    programs("mvn", "Apache Maven 3.8.7'; exec /bin/sleep 60; '")
    monkeypatch.setattr(tools, "ANSWER_S", 0.2)
    assert "/mvn has not said its version within 0.2 s: try again" in complaint()


def test_a_version_is_remembered_as_long_as_the_program_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    program, calls = tmp_path / "tool", tmp_path / "calls"

    def install(says, status=0):
        program.unlink(missing_ok=True)
        program.write_text(f"#!/bin/sh\necho x >> {calls}\necho 'tool {says}'\nexit {status}\n")
        program.chmod(0o755)

    def asked():
        return toolchain._version(str(program), ["--version"]), len(calls.read_text().split())

    install("1.2")
    assert [asked(), asked()] == [("1.2", 1), ("1.2", 1)]
    install("1.3")
    assert [asked(), asked()] == [("1.3", 2), ("1.3", 2)]
    install("1.4", status=1)        # one that does not work is asked each time
    assert [asked(), asked()] == [(None, 3), (None, 4)]


def test_programs_are_asked_where_folders_have_other_letters(programs, tmp_path, monkeypatch):
    """Java does not start in such a folder under the locale C, whatever the user's is."""
    folder = tmp_path / "größe"
    folder.mkdir()
    (tmp_path / "java").write_text("""#!/bin/bash
[ "$LC_ALL" = C.UTF-8 ] || [ -z "$(printf %s "$PWD" | tr -d '\\0-\\177')" ] || exit 1
echo 'openjdk version "17.0.15"' >&2""".replace("tr ", "/usr/bin/tr "))
    (tmp_path / "java").chmod(0o755)
    monkeypatch.chdir(folder)
    for locale in ("C", "POSIX", "de_DE", None):
        monkeypatch.delenv("LC_ALL", raising=False)
        if locale:
            monkeypatch.setenv("LC_ALL", locale)
        assert tools.check()["java"] == "17.0.15"


@pytest.mark.parametrize("character", [" ", "\t", "#", "$", ":", "%", ";", "'", '"', "\\"])
def test_a_build_folder_in_which_make_does_not_work(programs, monkeypatch, tmp_path, character):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / f"a{character}b"))
    assert "the build folder, " in complaint() and "set INTERLOCK_BUILD" in complaint()
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "größe,=+@~-_.b"))
    tools.check()


@pytest.mark.parametrize("quiet", [False, True])
def test_who_waits_for_anothers_build_is_told(tmp_path, monkeypatch, capsys, quiet):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path))
    begun, end = threading.Event(), threading.Event()

    def slow(folder):
        begun.set()
        assert end.wait(60)

    def wanted(build):
        return threading.Thread(target=cache.cached, args=("thing", {"name": "a"}, build), kwargs={"quiet": quiet})

    first, second = wanted(slow), wanted(lambda folder: pytest.fail("it is there already"))
    first.start()
    assert begun.wait(60)
    capsys.readouterr()
    second.start()
    deadline = time.monotonic() + 60
    said = ""
    while not quiet and not said and time.monotonic() < deadline:
        said += capsys.readouterr().err
        time.sleep(0.01)
    end.set()
    first.join()
    second.join()
    said += capsys.readouterr().err
    assert not quiet or said == ""
    assert quiet or re.match(r"another process builds thing \w{16}: waiting for it\nbuilt thing", said)
