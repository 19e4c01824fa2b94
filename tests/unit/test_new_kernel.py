"""What `./interlock new kernel` refuses, and its folder's contents; tests/system runs docs/your-own-kernel.md."""

import subprocess

import pytest

from support.cache import REPO

INTERLOCK = REPO / "interlock"


def new_kernel(folder, **how):
    return subprocess.run([INTERLOCK, "new", "kernel", folder], capture_output=True, text=True, **how)


def test_an_empty_folder_gets_all_files_and_the_command_that_made_it(tmp_path):
    (tmp_path / "mine").mkdir()
    made = new_kernel("mine", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert {path.name for path in (tmp_path / "mine").iterdir()} == {
        path.name for path in (REPO / "sim/templates/kernel").iterdir()}
    assert f"INTERLOCK ?= {INTERLOCK}\n" in (tmp_path / "mine/Makefile").read_text()


@pytest.mark.parametrize("name", ["with a blank", "a:b", "50%", "#1", "a$b"])
def test_a_path_that_make_cannot_take_is_refused(tmp_path, name):
    refused = new_kernel(tmp_path / name)
    assert refused.returncode == 2 and refused.stderr.count("\n") == 1 and not (tmp_path / name).exists()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "main.c").write_text("mine\n")
    for folder in (tmp_path, tmp_path / "main.c"):
        refused = new_kernel(folder)
        assert refused.returncode == 2 and refused.stderr.count("\n") == 1, refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["main.c"]
    assert (tmp_path / "main.c").read_text() == "mine\n"
