"""The Andrew benchmark's commands, on the host, compared with the host's own, and its script."""

import os
import subprocess
from pathlib import Path

import pytest

from support.cache import REPO

COMMANDS = REPO / "user/andrew"
ANDREW = REPO / "user/andrew/andrew.sh"


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bin")
    for name in ("find", "du", "grep", "wc", "ls", "cp", "mkdir"):
        subprocess.run(["gcc", "-O1", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-Wno-format-truncation", "-Werror",
                        "-fsanitize=address,undefined", COMMANDS / f"{name}.c", "-o", folder / name], check=True)
    return folder


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tree")
    (folder / "a/b/c").mkdir(parents=True)
    (folder / "empty").mkdir()
    (folder / "a/one.c").write_text("first kangaroo\nsecond\n\nlast without an end: kangaroo")
    (folder / "a/b/two.c").write_text("".join(f"word{n} {n}\tx\n" for n in range(3000)))
    (folder / "a/b/c/none").write_bytes(b"")
    (folder / "a/b/three.h").write_text("a.c kangaroos are kangaroo.\n[kangaroo\n")
    (folder / "way").symlink_to("a/one.c")
    return folder


def run(folder, *words, **how):
    done = subprocess.run(list(map(str, words)), cwd=folder, capture_output=True, text=True,
                          env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "ASAN_OPTIONS": "detect_leaks=0"}, **how)
    return done.returncode, done.stdout


@pytest.mark.parametrize("words", [
    ["a/one.c"], ["a/one.c", "a/b/two.c", "a/b/c/none"], ["a/none", "a/one.c"], [],
])
def test_wc_counts_as_the_hosts(built, tree, words):
    given = {"input": "x yy\n z"} if not words else {}
    ours, theirs = run(tree, built / "wc", *words, **given), run(tree, "wc", *words, **given)
    assert ours[0] == theirs[0]
    assert [line.split() for line in ours[1].splitlines()] == [line.split() for line in theirs[1].splitlines()]


@pytest.mark.parametrize("words", [
    ["kangaroo", "a/one.c"], ["kangaroo", "a/one.c", "a/b/three.h", "a/b/two.c"], ["-c", "kangaroo", "a/one.c"],
    ["-c", "word1.*9", "a/b/two.c", "a/one.c"], ["-n", "^word29[0-9]* ", "a/b/two.c"], ["-v", "kangaroo", "a/one.c"],
    ["-l", "kangaroo", "a/one.c", "a/b/two.c", "a/b/three.h"], ["-q", "nowhere", "a/one.c"], ["a\\.c", "a/b/three.h"],
    ["-c", "", "a/b/c/none"], ["x$", "a/b/two.c"], ["kangaroo", "a/none", "a/one.c"], ["[", "a/b/three.h"],
    ["-c", "word"],
])
def test_grep_finds_what_the_hosts_finds(built, tree, words):
    given = {"input": "word\nno\nword word\n"} if len(words) < 3 and words[-1] == "word" else {}
    assert run(tree, built / "grep", *words, **given) == run(tree, "grep", *words, **given)


@pytest.mark.parametrize("words", [
    ["."], ["a", "way"], [".", "-type", "f"], [".", "-type", "d"], [".", "-type", "l"], ["a", "-name", "*.c"],
    [".", "-type", "f", "-name", "t*", "-print"], ["a", "-exec", "echo", "is", "{}", ";"], ["nowhere", "a/b/c"],
    ["a", "-type", "f", "-exec", "grep", "-q", "kangaroo", "{}", ";", "-print"],
])
def test_find_finds_what_the_hosts_finds(built, tree, words):
    ours, theirs = run(tree, built / "find", *words), run(tree, "find", *words)
    assert (ours[0], sorted(ours[1].splitlines())) == (theirs[0], sorted(theirs[1].splitlines()))


@pytest.mark.parametrize("words", [["-exec", "echo"], ["-exec", ";"], ["-type", "x"], ["-type"], ["-size", "3"]])
def test_find_says_what_is_wrong(built, tree, words):
    assert run(tree, built / "find", ".", *words) == (2, "")


def test_du_counts_as_the_hosts(built, tree):
    for words in (["-s", "a"], ["a"], ["-s", "a/b/two.c"]):
        ours, theirs = run(tree, built / "du", *words), run(tree, "du", *words)
        assert sorted(ours[1].splitlines()) == sorted(theirs[1].splitlines())


def test_ls_lists_files_and_folders(built, tree):
    assert run(tree, built / "ls", "a/one.c") == (0, f"-{(tree / 'a/one.c').stat().st_size:9} a/one.c\n")
    assert run(tree, built / "ls", "nowhere", "empty") == (1, "")
    (tree / "a/one.c").chmod(0o640)
    assert run(tree, built / "ls", "-l", "a/one.c")[1].startswith("-rw-r-----   1 ")
    assert {line.split()[-1] for line in run(tree, built / "ls", "a/b")[1].splitlines()} == {"two.c", "c", "three.h"}


@pytest.mark.parametrize("jobs, each, compiled", [(1, "file", 2), (1, "folder", 1), (3, "file", 2), (2, "folder", 0)])
def test_the_andrew_benchmarks_script_does_all_of_it(built, tmp_path, jobs, each, compiled):
    """With a compiler that only prints its arguments."""
    held = {"x/one.c": "1", "x/two.c": "22 kangaroo\n", "x/y/three.h": "333\n", "z/four.c": "4\n"}
    for name, text in held.items():
        (tmp_path / "tree" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tree" / name).write_text(text)
    (tmp_path / "tree.files").write_text("".join(f"{name}\n" for name in held))
    (tmp_path / "tree.folders").write_text("x/y\nz\n")
    (tmp_path / "tree.compile").write_text("x/one\nx/two\nz/four\n" if each == "file" else "z/four\n")
    own = tmp_path / "bin"
    own.mkdir()
    (own / "phase").write_text("#!/bin/sh\necho phase $1\n")
    (own / "tcc").write_text('#!/bin/sh\necho "$@"; for out; do :; done; [ $1 = -ar ] || echo object >$out\n')
    for path in own.iterdir():
        path.chmod(0o755)
    work = tmp_path / "work"
    script = tmp_path / "andrew.sh"
    script.write_text(ANDREW.read_text().replace("PATH=/bin", f"PATH={own}:{built}:/usr/bin:/bin")
                      .replace("/work", str(work)).replace("[ $1 = whole ] ||", "true ||"))
    done = subprocess.run(["dash", script, f"{str(tmp_path)[1:]}/tree", str(jobs), each, str(compiled)],
                          capture_output=True, text=True, env=os.environ | {"ASAN_OPTIONS": "detect_leaks=0"})
    assert done.returncode == 0 and not done.stderr, done.stdout + done.stderr
    made = {str(path.relative_to(work)): path.read_text() for path in work.rglob("*")
            if path.is_file() and path.suffix != ".o"}
    assert made == {name: text for name, text in held.items() if each == "file" or Path(name).parts[-2] in ("y", "z")}
    names = (tmp_path / "tree.compile").read_text().split()[:compiled]
    assert {str(path.relative_to(work)) for path in work.rglob("*.o")} == {f"{name}.o" for name in names}
    said = done.stdout.splitlines()
    assert [line for line in said if line.startswith("phase")] == [
        f"phase {name}" for name in ("directories", "copy", "stat", "read", "compile", "end")]
    assert sorted(line for line in said if line.startswith("-w")) == sorted(f"-w -c {n}.c -o {n}.o" for n in names)
    assert said[-2:-1] == ([f"-ar all.a {' '.join(f'{name}.o' for name in names)}"] if names else ["phase compile"])
