"""Programs of user mode, as far as the host can tell: the archive's contents; the library's; messages for bad
input."""

import os
import re
import subprocess

import pytest
from typer.testing import CliRunner

from sim.cli import app
from sim.commands.common import Failed
from sim.images import programs
from user.archive import LINK, archive, entry


def test_an_archive_is_read_by_cpio_s_rules(tmp_path):
    """A name that occurs twice is found first where it was added, and there is one end."""
    made = archive({"b": b"new", "a": b"12345"}, behind=archive({"b": b"old", "c": b""}))
    wanted = (("a", b"12345"), ("b", b"new"), ("b", b"old"), ("c", b""), ("TRAILER!!!", b""))
    assert made == b"".join(entry(name, data) for name, data in wanted)
    assert len(made) % 4 == 0


def test_a_file_of_several_names_is_in_an_archive_once():
    """The other names have the first one's contents: cpio makes links of them."""
    made = archive({"b": b"12345", "a": b"12345", "c": b"", "d": b"", "e": b"other"}, behind=archive({"f": b"12345"}))
    wanted = (entry("a", b"12345"), entry("b", b"a\0", LINK), entry("c", b""), entry("d", b""), entry("e", b"other"),
              entry("f", b"12345"), entry("TRAILER!!!", b""))
    assert made == b"".join(wanted)


def test_every_port_says_what_it_is_made_of():
    for port in programs.ports().values():
        assert port.what and len(port.sha256) == 64 and int(port.sha256, 16)
        assert sum(map(bool, (port.configure is not None, port.sources, port.commands))) == 1, port.name
    assert {"lua", "lua-checked", "bzip2", "zstd", "sh"} <= set(programs.ports())


@pytest.mark.parametrize("words, told", [
    (["sim", "--program", "nonsense"], "--program nonsense: give a C file, an MPD program, an ELF file, or one of lua"),
    (["sim", "--program", "none.c"], "none.c: there is no such file"),
    (["sim", "--program", "none.elf"], "none.elf: there is no such file"),
    (["sim", "--file", "none"], "--file none: there is no such file"),
    (["sim", "--file", f"={__file__}"], "a file needs a name"),
    (["sim", "--file", f"a/b={__file__}"], "without a slash"),
    (["sim", "--program", "hello", "--set", "run=hello"], "--program and --set run=: give one of them"),
    (["sim", "--image", "x", "--program", "hello"], "leave out --program and --file"),
    (["program", "none.c"], "none.c: there is no such file"),
    (["program", __file__, "--out", "x" * 32], "a program's name has at most 31 characters"),
])
def test_bad_input_is_told_in_one_line(words, told):
    result = CliRunner().invoke(app, words)
    assert isinstance(result.exception, Failed), result.exception
    assert told in str(result.exception) and "\n" not in str(result.exception)


def test_a_program_that_does_not_compile_is_told_in_the_compiler_s_words(tmp_path):
    (tmp_path / "wrong.c").write_text("int main(void) { return nothing; }\n")
    with pytest.raises(programs.ProgramError, match="(?s)wrong.c does not compile.*nothing"):
        programs.build_program([tmp_path / "wrong.c"])


def test_a_program_is_built_again_when_its_header_changes(tmp_path):
    (tmp_path / "two.c").write_text('#include "two.h"\nint main(void) { return N; }\n')
    (tmp_path / "two.h").write_text("#define N 2\n")
    first = programs.build_program([tmp_path / "two.c"])
    assert programs.build_program([tmp_path / "two.c"]) == first and os.access(first, os.X_OK)
    (tmp_path / "two.h").write_text("#define N 3\n")
    assert programs.build_program([tmp_path / "two.c"]) != first


def test_programs_multiply_by_hardware(tmp_path):
    """Debian's library for -march=rv32ima multiplies by software: strtol would call __mulsi3."""
    (tmp_path / "times.c").write_text("#include <stdlib.h>\nint main(int n, char **v) { return n * atoi(*v); }\n")
    built = programs.build_program([tmp_path / "times.c"])
    shown = subprocess.run(["riscv64-unknown-elf-objdump", "-d", built.with_suffix(".elf")], capture_output=True,
                           text=True, check=True).stdout
    assert "\tmul\t" in shown and "__mulsi3" not in shown


def test_sources_with_another_content_are_refused(tmp_path, monkeypatch):
    class Scratch:
        name = str(tmp_path)

    def apt(what, command, **how):
        (programs.Path(how["cwd"]) / "thing_1.orig.tar.gz").write_bytes(b"other")
        return ""

    monkeypatch.setattr(programs, "_apt", lambda: (Scratch, ["apt-get"]))
    monkeypatch.setattr(programs, "_run", apt)
    with pytest.raises(programs.ProgramError, match=r"thing comes with other sources now \(thing_1.orig.tar.gz\)"):
        programs._fetch("thing", "0" * 64, tmp_path / "out")


def test_source_packages_come_from_where_the_machine_s_packages_come(tmp_path, monkeypatch):
    etc, out = tmp_path / "etc", tmp_path / "out"
    (etc / "sources.list.d").mkdir(parents=True)
    out.mkdir()
    (etc / "sources.list").write_text("# comment\ndeb http://a stable main\ndeb-src http://a stable main\n")
    (etc / "sources.list.d/b.sources").write_text("Types: deb\nURIs: http://b\nSigned-By: /k\n")
    (etc / "sources.list.d/c.disabled").write_text("deb http://c stable main\n")
    monkeypatch.setattr(programs, "APT_SOURCES", etc)
    programs._deb_src(out)
    assert sorted(path.read_text() for path in out.iterdir() if path.read_text().strip()) == [
        "Types: deb-src\nURIs: http://b\nSigned-By: /k\n", "deb-src http://a stable main\n"]


def test_our_functions_go_before_the_c_library_s(tmp_path):
    """A program that opens a file links, and malloc takes locks that lock: the C library has some that do not."""
    (tmp_path / "open.c").write_text('#include <stdio.h>\n#include <stdlib.h>\n'
                                     'int main(void) { return !fopen("x", "r") && malloc(3) ? 0 : 1; }\n')
    elf = programs.build_program([tmp_path / "open.c"]).with_suffix(".elf")
    named = "--disassemble=__retarget_lock_acquire_recursive"
    shown = subprocess.run(["riscv64-unknown-elf-objdump", "-d", named, elf],
                           capture_output=True, text=True, check=True).stdout
    assert "tp" in shown and "futex_lock" in shown


def test_a_program_that_a_command_has_built_is_known_by_its_contents(tmp_path):
    """`interlock program` and `interlock mpd` print paths without an ending."""
    (tmp_path / "end.c").write_text("int main(void) { return 0; }\n")
    built = programs.build_program([tmp_path / "end.c"])
    assert not built.suffix and programs.program(str(built)) == ("end", {"end": built})
    (tmp_path / "text").write_text("not an ELF file")
    for path in (tmp_path / "text", tmp_path):
        with pytest.raises(programs.ProgramError, match="an ELF file"):
            programs.program(str(path))


# What only a linked program has: its own main, and the symbols of user/lib/user.ld.
OF_THE_PROGRAM = {"main", "_init_begin", "_init_end", "_thread_local_begin", "_thread_local_data", "_thread_local_size"}


def test_the_library_lacks_nothing_that_it_calls():
    """Any of its functions links in a program: two libraries are joined here, each without a part."""
    from sim.images.kernel import CROSS
    library = programs.library()
    gcc = subprocess.run([f"{CROSS}gcc", "-march=rv32ima", "-mabi=ilp32", "-print-libgcc-file-name"], text=True,
                         capture_output=True, check=True).stdout.strip()
    listed = subprocess.run([f"{CROSS}nm", "-A", library / "libuser.a", library / "libc.a", gcc], text=True,
                            capture_output=True).stdout
    wanted, there = {}, set()
    for line in listed.splitlines():
        symbol = re.fullmatch(r"(\S+):\s*[0-9a-f]* ([A-Za-z]) (\S+)", line)
        if symbol and symbol[2] == "U":
            wanted.setdefault(symbol[3], symbol[1])
        elif symbol and symbol[2] in "TDBRVWCA":
            there.add(symbol[3])
    assert len(there) > 1000
    missing = {name: where for name, where in wanted.items() if name not in there | OF_THE_PROGRAM}
    assert not missing


def test_the_compiler_takes_sources_from_its_input(tmp_path):
    """As a configuration's probes are compiled: the named language is only that of the sources."""
    made = subprocess.run([programs.library() / "cc", "-xc", "-", "-o", tmp_path / "a"], text=True, timeout=60,
                          input="int main(void) { return 0; }", capture_output=True)
    assert made.returncode == 0, made.stderr
