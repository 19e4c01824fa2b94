"""setup.sh: what it installs, and what it says when it may not. Everything it would change is a stub."""

import os
import shutil
import subprocess

import pytest

from support.cache import REPO

PACKAGES = [line for line in (REPO / "setup/apt.txt").read_text().splitlines() if line and not line.startswith("#")]
NEEDED = ("bash", "cat", "cut", "dirname", "env", "grep", "ln", "readlink", "rm", "sha256sum")


class Machine:
    """A copy of setup/ and a PATH of its own."""

    def __init__(self, folder):
        self.root = folder / "tree"
        self.bin = folder / "bin"
        self.log = folder / "log"
        shutil.copytree(REPO / "setup", self.root / "setup")
        self.bin.mkdir()
        self.log.touch()
        for name in NEEDED:
            (self.bin / name).symlink_to(shutil.which(name))
        self.user(0)
        self.installed(PACKAGES)
        self.stub("apt-get", f'echo "apt-get $*" >>{self.log}')

    def stub(self, name, script):
        (self.bin / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.bin / name).chmod(0o755)

    def without_python(self):
        """An absolute path is tried first: the copy looks for a stub that fails."""
        self.stub("python3", "exit 1")
        script = self.root / "setup/setup.sh"
        script.write_text(script.read_text().replace("/usr/bin/python3", str(self.bin / "python3")))

    def user(self, number):
        self.stub("id", f"echo {number}")

    def installed(self, names):
        lines = "\n".join(f"{name} installed" for name in names)
        self.stub("dpkg-query", f"cat <<'END'\n{lines}\nold-package config-files\nEND")

    def setup(self, *arguments, **environment):
        return subprocess.run([self.root / "setup/setup.sh", *arguments], text=True, capture_output=True,
                              stdin=subprocess.DEVNULL, env={"PATH": str(self.bin)} | environment, timeout=60)


@pytest.fixture
def machine(tmp_path):
    return Machine(tmp_path)


def test_nothing_missing_says_and_does_nothing(machine):
    result = machine.setup("packages")
    assert (result.returncode, result.stdout, result.stderr, machine.log.read_text()) == (0, "", "", "")


def test_root_installs_exactly_what_is_missing(machine):
    machine.installed(set(PACKAGES) - {"ccache", "maven"})
    assert machine.setup("packages").returncode == 0
    update, install = machine.log.read_text().splitlines()
    assert update.startswith("apt-get update")
    assert install.split("--no-install-recommends ")[1] == "ccache maven"


def test_a_package_removed_but_configured_is_missing(machine):
    machine.installed(set(PACKAGES) - {"maven"})
    machine.stub("dpkg-query", "echo maven config-files")
    assert machine.setup("packages").returncode == 0
    assert " maven" in machine.log.read_text()


def test_without_root_the_missing_packages_are_named(machine):
    machine.installed(set(PACKAGES) - {"ccache", "maven"})
    machine.user(1000)
    result = machine.setup("packages")
    assert result.returncode == 1
    assert result.stderr.splitlines() == [
        "setup: missing Debian packages: ccache maven",
        "setup: install them as root: apt-get update && apt-get install -y --no-install-recommends ccache maven"]
    assert machine.log.read_text() == ""


def test_sudo_that_asks_no_password_is_used(machine):
    machine.installed(set(PACKAGES) - {"maven"})
    machine.user(1000)
    machine.stub("sudo", f'[ "$1" = -n ] && exit 0; echo "sudo $*" >>{machine.log}; "$@"')
    assert machine.setup("packages").returncode == 0
    assert "sudo apt-get update" in machine.log.read_text()


def test_sudo_that_would_ask_without_a_terminal_is_not(machine):
    machine.installed(set(PACKAGES) - {"maven"})
    machine.user(1000)
    machine.stub("sudo", "exit 1")
    result = machine.setup("packages")
    assert result.returncode == 1 and "missing Debian packages: maven" in result.stderr


@pytest.mark.parametrize("failing, said",
                         [("update", "apt-get update failed"), ("install", "could not install: maven")])
def test_a_failing_apt_gets_one_line(machine, failing, said):
    machine.installed(set(PACKAGES) - {"maven"})
    machine.stub("apt-get", f'case "$*" in *{failing}*) exit 100;; esac')
    result = machine.setup("packages")
    assert result.returncode == 1 and said in result.stderr.splitlines()[-1]


def test_another_system_gets_one_line(machine):
    (machine.bin / "dpkg-query").unlink()
    result = machine.setup("packages")
    assert result.returncode == 1 and result.stderr.startswith("setup: this is not Debian")


def test_no_python_gets_one_line(machine):
    machine.without_python()
    result = machine.setup()
    assert result.returncode == 1 and "no Python >= 3.11" in result.stderr


def test_an_environment_made_from_these_locks_is_left_alone(machine):
    machine.without_python()
    environment = machine.root / ".venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin/python").write_text("#!/bin/bash\nexit 1\n")
    (environment / "bin/python").chmod(0o755)
    locks = [machine.root / "setup" / name for name in ("requirements.lock", "verilator.lock", "setup.sh")]
    script = f'{{ echo {machine.root}; cat {" ".join(map(str, locks))}; }} | sha256sum | cut -d" " -f1'
    stamp = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    (environment / "interlock-stamp").write_text(stamp)
    assert machine.setup().returncode == 0
    with open(locks[0], "a") as lock:
        lock.write("# changed\n")
    assert "no Python" in machine.setup().stderr    # it wants to make a new one


def test_every_requirement_is_pinned_with_hashes():
    for name in ("requirements.lock", "verilator.lock"):
        lines = [line for line in (REPO / "setup" / name).read_text().splitlines() if line and line[0] not in "# "]
        assert lines
        for line in lines:
            assert "==" in line and line.endswith("\\"), line


def test_the_launcher_without_an_environment_says_what_to_do(tmp_path):
    shutil.copy(REPO / "interlock", tmp_path)
    result = subprocess.run([tmp_path / "interlock", "list"], text=True, capture_output=True, env=os.environ)
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1 and f"make -C {tmp_path} setup" in result.stderr
