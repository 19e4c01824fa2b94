"""Reads an experiment's TOML file, checks the settings a user gives, and lays out the runs they ask for.

An experiment file has a `description`, the `report` that renders its records, the bit rate of the console, its
`[keys.*]` (what `--set` may change) and its `[[runs]]`: kinds of runs, each `vary`-ing over list keys. `{name}` in
`bootargs`, in the values of `build` (the kernel's build options, sim/kernel.py), and names in `cycles` (the estimate
that orders runs and bounds them) stand for the run's parameters and all keys, a list's values with commas between.
Its `[quick]` table has values of keys with which all of it, every kind of run once at least, takes some seconds.
"""

import ast
import difflib
import functools
import hashlib
import itertools
import operator
import tomllib
import zlib
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).parent
FILE_BYTES = 65536      # the file that paper `sync` sends down its serial line


class SettingError(ValueError):
    """A name or a value that the user gave is not possible; the text is one line that says what is."""


def unknown(what, name, valid):
    """The error for a `name` that is not among `valid`, with a close match if there is one."""
    close = difflib.get_close_matches(str(name), [str(v) for v in valid], n=1)
    hint = f", did you mean '{close[0]}'?" if close else ""
    return SettingError(f"unknown {what} '{name}'{hint} (valid: {', '.join(str(v) for v in valid)})")


@dataclass(frozen=True)
class Key:
    """A setting. A list as default makes it a list: comma-separated, every element checked on its own."""

    name: str
    help: str
    default: object
    choices: tuple = ()
    range: tuple = ()
    names: dict = field(default_factory=dict)

    @property
    def is_list(self):
        return isinstance(self.default, list)

    def parse(self, text):
        """The value that `text` stands for; SettingError if it is none."""
        if not self.is_list:
            return self._parse_one(text.strip())
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise SettingError(f"{self.name}: empty, give at least one value ({self.domain()})")
        return list(dict.fromkeys(self._parse_one(part) for part in parts))

    def _parse_one(self, text):
        if self.choices:
            if text not in self.choices:
                raise unknown(f"value in {self.name}:", text, self.choices)
            return text
        if text in self.names:
            return self.names[text]
        try:
            value = int(text, 0)
        except ValueError:
            raise SettingError(f"{self.name}: '{text}' is not one of {self.domain()}") from None
        low, high = self.range
        if not low <= value <= high:
            raise SettingError(f"{self.name}: {text} is out of range, give {self.domain()}")
        return value

    def domain(self):
        """The valid values, in words."""
        if self.choices:
            return ", ".join(self.choices)
        named = "".join(f"'{name}' ({value}), " for name, value in self.names.items())
        return f"{named}{self.range[0]} to {self.range[1]}"

    def default_text(self):
        if self.is_list:
            return ",".join(str(v) for v in self.default)
        return next((name for name, value in self.names.items() if value == self.default), str(self.default))


@dataclass(frozen=True)
class Run:
    """One run of the simulator: everything that determines its result."""

    id: str
    kind: str
    harts: int
    sync: str
    parameters: dict        # single-valued keys and this run's value of each varied one
    bootargs: str
    cycles: int             # estimate
    result: str             # the kind of result line that the target must print
    console_baud: int
    input_bytes: int | None = None
    options: tuple = ()     # the kernel's build options, (name, value) in order of name

    @property
    def seed(self):
        return self.parameters["seed"]

    @property
    def target(self):
        """What it needs built: harts, scheme, build options."""
        return self.harts, self.sync, self.options


@dataclass(frozen=True)
class Experiment:
    name: str
    description: str
    report: str
    console_baud: int
    keys: dict
    kinds: tuple            # the [[runs]] tables
    quick: dict             # values of keys that make it short

    def settings(self, overrides, quick=False):
        """All keys with their values: defaults, the `quick` ones over them, then `overrides` ("key=value").

        SettingError if there is no such key or value.
        """
        values = {name: key.default for name, key in self.keys.items()} | (self.quick if quick else {})
        for override in overrides:
            name, separator, text = override.partition("=")
            name = name.strip()
            if not separator:
                raise SettingError(f"--set {override}: give it as key=value (keys: {', '.join(self.keys)})")
            if name not in self.keys:
                raise unknown(f"key of {self.name}", name, self.keys)
            values[name] = self.keys[name].parse(text)
        return values

    def runs(self, settings, clock_hz):
        """The runs that `settings` ask for, in the file's order, without those that follow from results (`solved`)."""
        return [run for kind in self.kinds if "solve" not in kind for run in self._expand(kind, settings, clock_hz)]

    def solvers(self):
        """The kinds of runs whose varied value has to be solved from other runs' results."""
        return [kind for kind in self.kinds if "solve" in kind]

    @staticmethod
    def solver_target(kind):
        """`Run.target` of a solver, which is not known to the last parameter yet."""
        return kind["harts"], kind["sync"], tuple(sorted(kind.get("build", {}).items()))

    def solved(self, kind, value, settings, clock_hz):
        """The run of a solver `kind`, now that its `value` is known."""
        fixed = dict(settings) | {kind["solve"]["for"]: value}
        return self._make(kind, {kind["solve"]["for"]: value}, fixed, clock_hz)

    def _expand(self, kind, settings, clock_hz):
        vary = kind.get("vary", {})
        for values in itertools.product(*(settings[key] for key in vary.values())):
            yield self._make(kind, dict(zip(vary, values, strict=True)), settings, clock_hz)

    def _make(self, kind, varied, settings, clock_hz):
        single = {name: value for name, value in settings.items() if name in self.keys and not self.keys[name].is_list}
        parameters = single | varied
        lists = {name: ",".join(map(str, values)) for name, values in settings.items() if isinstance(values, list)}
        names = lists | parameters | {"clock_hz": clock_hz}
        input_bytes = parameters[kind["input"]] if "input" in kind else None
        if input_bytes is not None:
            names["crc"] = f"{zlib.crc32(input_file(parameters['seed'], input_bytes)):08x}"
        suffix = "".join(f"-{SHORT.get(name, name)}{value}" for name, value in varied.items())
        return Run(
            id=kind["name"] + suffix,
            kind=kind["name"],
            harts=varied.get("harts", kind.get("harts")),
            sync=varied.get("sync", kind.get("sync")),
            parameters=parameters,
            bootargs=f"{kind['bootargs'].format_map(names)} console.baud={self.console_baud}",
            console_baud=self.console_baud,
            cycles=int(arithmetic(kind["cycles"], names)),
            result=kind["result"],
            input_bytes=input_bytes,
            options=tuple(sorted((name, value.format_map(names)) for name, value in kind.get("build", {}).items())),
        )


# How a varied name is written in a run's identity, which is also a directory's name.
SHORT = {"harts": "h", "latency": "l", "sync": ""}


def names():
    """The names of all experiments."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name):
    """The experiment `name`; SettingError if there is none."""
    if name not in names():
        raise unknown("experiment", name, names())
    table = tomllib.loads((FOLDER / f"{name}.toml").read_text())
    keys = {}
    for key, entry in table["keys"].items():
        keys[key] = Key(key, entry["help"], entry["default"], tuple(entry.get("choices", ())),
                        tuple(entry.get("range", ())), entry.get("names", {}))
    return Experiment(name, table["description"], table["report"], table["console_baud"], keys, tuple(table["runs"]),
                      table["quick"])


@functools.lru_cache(maxsize=4)
def input_file(seed, size):
    """The first `size` bytes of the 64 KB file that goes down the serial line.

    Each 256 bytes hold every value once, shuffled by SHA-256 of the seed: the same on every machine and Python.
    """
    assert 0 <= size <= FILE_BYTES
    blocks = -(-size // 256)
    return b"".join(_shuffled(seed, block) for block in range(blocks))[:size]


def _shuffled(seed, block):
    return bytes(sorted(range(256), key=lambda value: hashlib.sha256(f"{seed}/{block}/{value}".encode()).digest()))


_OPERATORS = {ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv}


def arithmetic(expression, names):
    """The value of a sum of products such as "500 + size * 10" over `names`; KeyError, ValueError."""
    def value(node):
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            return _OPERATORS[type(node.op)](value(node.left), value(node.right))
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return node.value
        if isinstance(node, ast.Name):
            return names[node.id]
        raise ValueError(f"'{expression}' is not simple arithmetic")
    return value(ast.parse(expression, mode="eval").body)
