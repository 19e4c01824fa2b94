"""Images of disks that experiments boot from (sim/images/disks.py)."""

import os
import subprocess

import pytest

from sim.experiments import definition
from sim.images import disks, programs

FILES = {"bin/run": b"#!", "a/b/c/text": b"some\n" * 1000, "a/empty": b"", "nothing/": b"", "top": b"x"}


def debugfs(image, command):
    environment = os.environ | {"PATH": os.environ["PATH"] + ":/usr/sbin:/sbin"}
    return subprocess.run(["debugfs", "-R", command, image], capture_output=True, check=True, env=environment).stdout


def test_an_image_holds_its_files_and_is_the_same_to_the_byte(tmp_path, monkeypatch):
    images = []
    for name in ("one", "two"):
        monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / name))
        images.append(disks.ext2_image(FILES, 512, 64))
    assert images[0] != images[1] and images[0].read_bytes() == images[1].read_bytes()
    written, made = (int.from_bytes(images[0].read_bytes()[at:at + 4], "little") for at in (1024 + 48, 1024 + 264))
    assert written == made == int(disks.EPOCH), "the image has the time of day in it"
    for name, content in FILES.items():
        if not name.endswith("/"):
            assert debugfs(images[0], f"cat {name}") == content
    assert b"Type: directory" in debugfs(images[0], "stat nothing") and b"Mode:  0755" in debugfs(
        images[0], "stat bin/run")
    assert b"Mode:  0644" in debugfs(images[0], "stat top")


def test_what_does_not_fit_is_told_in_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path))
    with pytest.raises(disks.DiskError) as error:
        disks.ext2_image({"large": b"x" * (300 << 10)}, 64, 16)
    assert len(str(error.value).splitlines()) == 1 and "debugfs" in str(error.value)


def test_without_a_tool_or_a_compiler_one_line_says_so(tmp_path, monkeypatch):
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path))
    monkeypatch.setitem(disks.ENVIRONMENT, "PATH", str(tmp_path))
    with pytest.raises(disks.DiskError, match="^mke2fs is not installed: run `make setup`"):
        disks.ext2_image(FILES, 512, 64)

    def nothing(*_):
        raise programs.ProgramError("the sources of Debian's package tcc cannot be had:\nno network")
    monkeypatch.setattr(programs, "_fetch", nothing)
    with pytest.raises(programs.ProgramError, match="package tcc cannot be had"):
        programs.sources(programs.ports()["tcc"])


def test_the_andrew_benchmarks_trees_fit_together():
    """Checks without the sources that the compiled files, and the slice, are from the tree's folders."""
    assert len(disks.BZIP2) + disks.PROGRAMS == 70
    assert len(disks.COMPILED) == 17 == definition.load("andrew").keys["compiled"].range[1]
    names = {name.rpartition("/")[2] for name in disks.SLICE}
    assert len(names) == len(disks.SLICE) and {f"{name}.c" for name in disks.SLICE_COMPILED} <= names


def test_an_experiment_names_an_image_that_there_is(tmp_path):
    text = (definition.FOLDER / "boot-once.toml").read_text()
    path = tmp_path / "wrong.toml"
    path.write_text(text.replace("\nresult =", '\ndisk = "@andreu,profile=fast"\nresult =', 1))
    with pytest.raises(definition.SettingError, match="unknown image in runs .* disk 'andreu', did you mean 'andrew'"):
        definition.read(path)
