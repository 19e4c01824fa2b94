"""Input to the console from a pipe, or by --input after --expect, arrives whole; how such runs end; and the message
for a line with another bit rate."""

import os
import re
import subprocess

import pytest

from support.cache import REPO

FAST = "--set=console.baud=6000000"
LIMITS = "--max-cycles=60000000", "--hang-cycles=20000000"


def sim(*words, typed=None, **how):
    how |= {"input": typed} if typed is not None else {"stdin": subprocess.DEVNULL}
    return subprocess.run([REPO / "interlock", "sim", *LIMITS, *words], capture_output=True, encoding="utf-8",
                          errors="replace", timeout=900, **how)


def lines(done):
    return [line.removeprefix("# ") for line in done.stdout.splitlines()]


def test_a_pipe_is_read_whole_by_a_shell_that_is_slower():
    """Far more than all queues of the console hold; its end ends the shell."""
    words = [f"word{n}" for n in range(250)]
    done = sim("--program", "sh", FAST, typed="".join(f"echo wo''{word[2:]}\n" for word in words))     # echoed so
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.findall(r"word\d+$", done.stdout, re.MULTILINE) == words


@pytest.mark.parametrize("typed, status", [("exit 7\n", 7), ("", 0), ("true\n", 0)])
def test_the_status_is_the_shells(typed, status):
    assert sim("--program", "sh", FAST, typed=typed).returncode == status


def test_paths_may_have_letters_beyond_ascii(tmp_path):
    """The working directory, and files read, built and written in it, in any locale."""
    folder = tmp_path / "Prüfstand λ"
    folder.mkdir()
    (folder / "größe.c").write_text("""#include <stdio.h>
int main(void)
{
    char line[32] = "";
    FILE *file = fopen("/naïve.txt", "r");
    return !(file && fgets(line, sizeof line, file) && printf("read: %s", line) > 0);
}
""")
    (folder / "ß.txt").write_text("straße\n")
    done = sim("--program", "größe.c", "--file", "naïve.txt=ß.txt", "--out", "ergebnis ö", "--flame", "ü.folded", FAST,
               cwd=folder, env=os.environ | {"LC_ALL": "C"})
    assert done.returncode == 0 and "read: straße" in done.stdout, done.stdout + done.stderr
    assert "größe;program_start;main;" in (folder / "ü.folded").read_text()
    assert (folder / "ergebnis ö/run.json").is_file()
    graph = subprocess.run([REPO / "interlock", "flame", "ü.folded"], cwd=folder, capture_output=True, text=True,
                           env=os.environ | {"LC_ALL": "C"})
    assert graph.returncode == 0 and (folder / "ü-flame.html").is_file(), graph.stderr


def test_a_text_is_typed_behind_the_one_that_is_waited_for():
    """The run ends with the last, though the shell waits for more."""
    done = sim("--program", "sh", FAST, "--expect", "# ", "--input", r"echo one\n", "--expect", r"one\r\none\r\n# ",
               "--input", r"echo t\x77o\n", "--expect", r"\ntwo\r\n")
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines(done)[1:] == ["echo one", "one", "echo two", "two"]
    again = sim("--program", "sh", FAST, "--input", r"echo three; exit 4\n")
    assert again.returncode == 4 and "three" in lines(again)


def test_what_has_not_been_printed_is_named():
    ended = sim("--program", "sh", FAST, "--expect", "# ", "--input", r"exit 0\n", "--expect", "never")
    assert ended.returncode == 1 and "the console has not printed 'never'" in ended.stderr
    limit = sim("--program", "sh", FAST, "--expect", "never", "--max-cycles", "2000000")
    assert limit.returncode == 3 and "the console has not printed 'never'" in limit.stderr


def test_a_line_of_another_bit_rate_is_said(tmp_path):
    folder = tmp_path / "mine"
    for command in ([REPO / "interlock", "new", "kernel", folder], ["make", "-s", "-C", folder, "kernel-1.elf"]):
        subprocess.run(command, check=True, capture_output=True)
    wrong = sim("--image", folder / "kernel-1.elf", "--set", "console.baud=57600")
    assert "had no stop bit: the target does not send 8N1 at 57600 bit/s" in wrong.stderr
    right = sim("--image", folder / "kernel-1.elf")
    assert "stop bit" not in right.stderr and "hart 0 runs" in right.stdout


@pytest.mark.parametrize("words, text", [
    (("--expect", "a", "--input", "b", "--input", "c"), "--input: more than there are --expect"),
    (("--expect", ""), "--expect: give some text"),
    (("--nodes", "2", "--input", "b"), "--expect and --input want one machine"),
    (("--input", r"\q"), r"'\q': behind \ comes n, r, t, \ or x and two hexadecimal digits"),
])
def test_what_cannot_be_typed_is_refused(words, text):
    refused = sim(*words, "--set", "run=hello")
    assert refused.returncode == 2 and text in refused.stderr
