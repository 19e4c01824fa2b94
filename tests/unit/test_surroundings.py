"""Commands of `./interlock` wherever they are called from: anything odd, missing or small in the environment
changes nothing, or is reported in one line."""

import os
import shutil
import subprocess
import tempfile

import pytest

from support.cache import REPO

# Each with its expected message and status; none simulates.
COMMANDS = {("list", "pic-latency"): (0, "pic-latency: "),
            ("query", "select 1"): (1, "interlock: there are no results"),
            ("report", "nowhere"): (1, "interlock: nowhere/experiment.json cannot be read"),
            ("run", "pic-latency", "--out", "/proc/x"): (2, "interlock: --out /proc/x: nothing can be written"),
            ("run", "pic-latency", "--set", "harts=1,,2"): (2, "interlock: harts: '1,,2' has an empty value")}
# Of the environment, None: not there. `umask`: what a shell calls first; `<&-` and `>&-` behind the command.
SURROUNDINGS = [
    ({"TERM": None, "HOME": None, "LANG": None, "LC_ALL": None, "USER": None}, "", ""),
    ({"TERM": "dumb", "LC_ALL": "C", "HOME": "/nonexistent", "TMPDIR": "/nonexistent"}, "umask 0", "<&-"),
    ({"TERM": "nonsense", "LC_ALL": "xx_YY.nonsense", "HOME": "/proc", "TMPDIR": "/proc"}, "umask 0777", ""),
    ({"LC_ALL": "POSIX", "COLUMNS": "1", "LINES": "no number", "TMPDIR": "/dev/full"}, "ulimit -f 100", "<&- 2>&1"),
    ({"PYTHONIOENCODING": "nonsense", "PYTHONHOME": "/nonexistent", "PYTHONPATH": "/nonexistent"}, "", "</dev/full"),
]


@pytest.mark.parametrize("which", range(len(SURROUNDINGS)))
def test_odd_surroundings(tmp_path, which):
    """Each with a command of its own: all commands occur."""
    changes, first, behind = SURROUNDINGS[which]
    command, (status, said) = list(COMMANDS.items())[which % len(COMMANDS)]
    environment = os.environ | {"INTERLOCK_BUILD": f"{tmp_path}/build"} | changes
    environment = {name: value for name, value in environment.items() if value is not None}
    done = subprocess.run(["sh", "-c", f'{first or ":"} && "$0" "$@" {behind}', REPO / "interlock", *command],
                          env=environment, capture_output=True, text=True, cwd=tmp_path, timeout=100)
    text = done.stdout if not status or "2>&1" in behind else done.stderr
    text = "".join(line for line in text.splitlines(True) if "warning: setlocale" not in line)      # bash's own
    assert (done.returncode, text.startswith(said)) == (status, True), done.stdout + done.stderr
    assert "Traceback" not in done.stderr and (status == 0 or len(text.splitlines()) == 1), done.stderr


@pytest.mark.parametrize("blank", [" ", "\t"])
@pytest.mark.parametrize("command", [["./interlock", "list"], ["make", "help"], ["make", "run"], ["make", "clean"]])
def test_a_blank_in_the_path_is_told_at_once(tmp_path, command, blank):
    """In the tree's path, and in that of what is built."""
    tree = tmp_path / f"a{blank}tree"
    tree.mkdir()
    for name in ("interlock", "Makefile"):
        shutil.copy(REPO / name, tree)
    for folder, built in ((tree, "build"), (REPO, str(tree))):
        done = subprocess.run(command, cwd=folder, env=os.environ | {"INTERLOCK_BUILD": built}, capture_output=True,
                              text=True)
        assert done.returncode and not done.stdout and len(done.stderr.splitlines()) == 1, done.stdout + done.stderr
        assert "has a blank in its path, where make cannot build: rename it" in done.stderr


def test_what_is_made_its_owner_can_use():
    """As an ordinary user, for whom file modes hold, twice: with a umask that masks all, and with a usual one."""
    user = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"] if os.geteuid() == 0 else []
    with tempfile.TemporaryDirectory() as folder:       # pytest's own are closed to others
        os.chmod(folder, 0o777)
        for mask in ("0777", "022"):
            done = subprocess.run([*user, "sh", "-c", f'umask {mask} && "$0" certificates', REPO / "interlock"],
                                  env=os.environ | {"INTERLOCK_BUILD": f"{folder}/build"}, capture_output=True,
                                  text=True)
            assert done.returncode == 0, done.stdout + done.stderr
