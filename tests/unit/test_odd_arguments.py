"""Every option and argument of every command of `./interlock` with odd values, and every file that one reads with odd
content: it is accepted, or refused in one line with a status other than 0. Nothing is built and nothing simulated.

In `make test` each gets some of the values, so that all occur; ODD=all gives each of them to each."""

import contextlib
import copy
import itertools
import json
import os
import shutil
import sys
import tomllib

import pytest
import typer

from sim import start
from sim.cli import app
from sim.experiments import definition
from support.cache import REPO

COMMAND = typer.main.get_command(app)
ALL = os.environ.get("ODD") == "all"
SOME = 3                # values of each parameter in `make test`
WORDS = ["", " ", "=", "a=", "=1", "a=b=c", "-1", "0", "1.5", "1e999", "nan", "99999999999999999999999", "x" * 5000,
         "é\udcff", "a\nb", "[bold]", "%s {0}", "*", "1,,2", "../../x", "{missing}", "{folder}", "{empty}", "{binary}"]
CONTENTS = [b"", b"\0", b"\xff\xfe\n", b"{", b"[]", b"null\n", b"{}", b"1e999", b"[" * 2000, b"a;b c\n", b"a,b\n1\n",
            b"=\n", b"x" * 100_000, b"\x7fELF", b"\x7fELF\1\1\1" + bytes(200), b"\xd4\xc3\xb2\xa1" + bytes(20),
            "é = 1\n".encode(), b"[keys]\nx = 1\n", b"description = 1\n"]
# A command's other arguments: with them the command gets as far as it can without building.
BESIDES = {"run": ["pic-latency"], "resume": ["{missing}"], "report": ["{missing}"], "flame": ["{empty}"],
           "latency": ["{empty}"], "compare": ["{missing}", "{missing}"], "explore": ["test-race"],
           "program": ["{empty}"], "mpd": ["{empty}"], "cluster": ["local"], "new experiment": ["name"],
           "new kernel": ["{missing}"], "board boot": ["--port", "{missing}", "--image", "{empty}"],
           "board hello": ["--port", "{missing}"], "board self-test": ["--port", "{missing}"], "faults": ["--list"],
           "prune": ["--dry-run"], "results": ["no-block"], "query": ["select 1"]}
ALWAYS = {"cluster": ["--show"], "prune": ["--dry-run"], "faults": ["--list"], "new experiment": ["--in", "{folder}"]}
# Where a file is read: the words before its name.
FILES = [["flame"], ["latency"], ["run"], ["list"], ["report"], ["resume"], ["query", "select 1", "--directory"],
         ["compare", "{missing}"], ["sim", "--image"], ["sim", "--restore"], ["sim", "--send"], ["sim", "--disk"],
         ["sim", "--set", "run=hello", "--file"], ["sim", "--program"], ["sim", "--symbols"], ["program"], ["mpd"],
         ["sim", "--machine", "ethers=1", "--ether"], ["report", "{results}", "--into"], ["sim", "--out"],
         ["run", "pic-latency", "--out"], ["board", "boot", "--port", "{missing}", "--image"]]


class Reached(Exception):
    """All arguments have been accepted; building would begin."""


@pytest.fixture(autouse=True)
def nothing_is_built(monkeypatch, tmp_path):
    def reached(*_, **__):
        raise Reached
    for name, module in list(sys.modules.items()):
        if name == "sim.cli" or name.startswith("sim.commands."):
            for function in ("building", "check_tools"):
                if hasattr(module, function):
                    monkeypatch.setattr(module, function, reached)
    monkeypatch.setenv("INTERLOCK_BUILD", str(tmp_path / "build"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def names(tmp_path):
    """The text in braces."""
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 8)
    return {"missing": "missing", "folder": "folder", "empty": "empty", "binary": "binary", "results": "folder"}


def answer(words, names, monkeypatch, capsys):
    """The command's output and status; None if it would build."""
    given = [word.format_map(names) if word.startswith("{") and word.endswith("}") else word for word in words]
    monkeypatch.setattr(sys, "argv", ["interlock", *given])
    try:
        with contextlib.suppress(SystemExit):
            return start.command()
    except Reached:
        return None
    except OSError as error:
        if not error.strerror:
            raise
        return start.one_line(error), 1
    return "", 0


def check(words, names, monkeypatch, capsys):
    try:
        found = answer(words, names, monkeypatch, capsys)
    except Exception as error:
        raise AssertionError(f"{words}: {type(error).__name__}: {error}") from error
    said = capsys.readouterr().err
    if found and found[1]:
        if found[0]:
            start.say(found[0])
            said += capsys.readouterr().err
        assert len(said.splitlines()) == 1, (words, found, said)
    elif found:
        assert not found[0], (words, found)


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name), command


PARAMETERS = [(path, parameter) for path, command in commands(COMMAND) for parameter in command.params
              if parameter.name not in ("help", "stale", "mark", "exact")]


@pytest.mark.parametrize("path", sorted({path for path, _ in PARAMETERS}), ids=" ".join)
def test_odd_values(path, names, monkeypatch, capsys):
    turn = itertools.cycle(WORDS)
    for of, parameter in PARAMETERS:
        for word in WORDS if ALL else list(itertools.islice(turn, SOME)):
            if of != path:
                continue
            besides = BESIDES.get(" ".join(path), [])
            if parameter.param_type_name == "argument":
                words = [*path, *ALWAYS.get(" ".join(path), []), "--", word, *besides[1:]]
            elif getattr(parameter, "is_flag", False):
                words = [*path, *besides, *ALWAYS.get(" ".join(path), []), f"{parameter.opts[0]}={word}"]
            else:
                words = [*path, *besides, *ALWAYS.get(" ".join(path), []), parameter.opts[0], word]
            check(words, names, monkeypatch, capsys)


@pytest.mark.parametrize("words", FILES, ids=" ".join)
def test_odd_files(words, names, tmp_path, monkeypatch, capsys):
    file = tmp_path / "odd.toml"
    given = f"in={file}" if words[-1] == "--ether" else f"a={file}" if words[-1] == "--symbols" else str(file)
    first = FILES.index(words)
    chosen = CONTENTS if ALL else [CONTENTS[(first + 5 * i) % len(CONTENTS)] for i in range(SOME)]
    for content in chosen:
        file.write_bytes(content)
        check([*words, given], names, monkeypatch, capsys)
    file.unlink()
    check([*words, given], names, monkeypatch, capsys)
    file.mkdir(exist_ok=True)
    check([*words, given], names, monkeypatch, capsys)
    shutil.rmtree(file, ignore_errors=True)
    file.symlink_to(file)
    check([*words, given], names, monkeypatch, capsys)


ODD = [0, -1, 1.5, True, "", "x", [], [[]], [1, "x"], {}, {"a": {}}, float("nan"), tomllib.loads("d = 1979-05-27")["d"]]


def places(value, path=()):
    """The paths to all entries of nested tables and lists."""
    if path:
        yield path
    for key, entry in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(entry, (*path, key))


def as_toml(value):
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(str(key))} = {as_toml(entry)}" for key, entry in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else str(value)


def other_shape(value):
    """One value for several, several for one."""
    return value[0] if isinstance(value, list) and value else [value]


@pytest.mark.parametrize("name", definition.names())
def test_an_entry_of_another_type_in_an_experiment(name, names, tmp_path, monkeypatch, capsys):
    """Any entry, in [quick] and elsewhere, replaced by a value of another type."""
    table = tomllib.loads((REPO / "sim" / "experiments" / f"{name}.toml").read_text())
    found = list(places(table))
    turn = itertools.cycle(ODD)
    next(itertools.islice(turn, definition.names().index(name) % len(ODD), None))
    quick = [path for path in found if path[0] == "quick"]
    others = [path for path in found if path[0] != "quick"]
    for path in [*quick, *others] if ALL else [*quick[:2], *others[::max(1, len(others) // 4)]]:
        shaped = [other_shape(table["quick"][path[1]])] if len(path) == 2 and path in quick else []
        for odd in [*shaped, *(ODD if ALL else [next(turn)])]:
            changed = copy.deepcopy(table)
            place = changed
            for key in path[:-1]:
                place = place[key]
            place[path[-1]] = odd
            file = tmp_path / "odd.toml"
            file.write_text("".join(f"{key} = {as_toml(value)}\n" for key, value in changed.items()))
            for words in (["run", "odd.toml", "--quick"], ["list", "odd.toml"]):
                check(words, names, monkeypatch, capsys)
