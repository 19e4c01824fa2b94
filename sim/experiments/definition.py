"""Reads an experiment's TOML file, checks the settings a user gives, and lays out the runs they ask for.

An experiment file has a `description`, the `question` that its report answers, the bit rate of the console, its
`[keys.*]` (what `--set` may change; every experiment has the key `layout`, whose default is a list beside them) and its
`[[runs]]`: kinds of runs, each `vary`-ing over list keys. `[machine]`,
`[devices]` and `[nodes]` say what they run on (machine.py): keys as well, and runs vary over those that have several
values. Its report is made by its `[[collect]]`
queries, or by the module beside the file that `report` names. schema.py has every entry. `{name}` in `bootargs`, in
the values of `build` (the kernel's build options, sim/images/kernel.py), and names in `cycles` (the estimate that
orders runs and bounds them), in `input` (how many bytes go down the data line), in `disk` (the drive at each disk
controller: how many bytes of seeded content it has, or @ and the name of an image of sim/images/disks.py, then options
of the simulator's --disk), in `frames` (those on the Ethernet wire, sim/wires/frames.py) and in `flow` (the
simulator's --uart1-flow) stand for the run's parameters and all keys, a list's values with commas between.
Its `[quick]` table has values of keys with which all of it, every kind of run once at least, takes some seconds.
"""

import ast
import dataclasses
import functools
import hashlib
import itertools
import operator
import re
import string
import tomllib
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from sim.experiments import machine, meaning
from sim.experiments.machine import Entry, Machine
from sim.experiments.schema import SettingError, check, unknown
from sim.images.kernel import checked_bootargs
from sim.results.sampling import AXES
from soc.config import SoCConfig
from support.parameters.build import LAYOUT, LAYOUT_DOMAIN, OPTIONS, PROFILE, SCHEMES, SYNC
from support.parameters.machine import REGISTERS

FOLDER = Path(__file__).parent
ALL = ["*"]             # as the default of a key with choices: all of them
FULL = "full"           # of layouts: as many as an interval of quantiles wants
FULL_LAYOUTS = tuple(map(str, range(1, 21)))
IMAGE = "@"             # before the name of an image of sim/images/disks.py
ANY = (-(1 << 63), 1 << 63)
FILE_BYTES = 65536      # the file that paper `sync` sends down its serial line


@dataclass(frozen=True)
class Key:
    """A setting. A list as default makes it a list: comma-separated, every element checked on its own."""

    name: str
    help: str
    default: object
    choices: tuple = ()
    range: tuple = ()
    names: dict = field(default_factory=dict)
    none: bool = False      # a list that may be `none`, and is empty then

    @property
    def is_list(self):
        return isinstance(self.default, list)

    def parse(self, text):
        """The value that `text` stands for; SettingError if it is none."""
        if not self.is_list:
            several = self.name in AXES and "," in text
            return _one_or_list([self._parse_one(part) for part in self._parts(text)]) if several else (
                self._parse_one(text.strip()))
        if self.none and text.strip() == "none":
            return []
        return list(dict.fromkeys(self._parse_one(part) for part in self._parts(text)))

    def _parts(self, text):
        return _parts(self.name, text, self.domain())

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
        named = "'none', " * self.none + named
        return f"{named}{self.range[0]} to {self.range[1]}"

    def default_text(self):
        if self.is_list:
            return ",".join(str(v) for v in self.default)
        return next((name for name, value in self.names.items() if value == self.default), str(self.default))


@dataclass(frozen=True)
class MachineKey:
    """A setting of the machine: one value, or a list of several, whatever the default."""

    entry: Entry
    default: object

    is_list = False

    @property
    def name(self):
        return self.entry.name

    @property
    def help(self):
        return f"{self.entry.where}: {self.entry.help}"

    def parse(self, text):
        """As of Key."""
        return _one_or_list([self.entry.parse(part) for part in _parts(self.entry.where, text, self.domain())])

    def domain(self):
        return self.entry.domain()

    def default_text(self):
        return written(self.default)


@dataclass(frozen=True)
class LayoutKey:
    """Where code and data lie (build option `layout`): every experiment has it. One value, or a list of several."""

    default: object = 0

    name = "layout"
    is_list = False
    help = "where code, data, stacks and pages lie: 0 in the link's order, N in an order drawn from N, or profile"

    def parse(self, text):
        """As of Key."""
        parts = [one for part in _parts(self.name, text, self.domain())
                 for one in (FULL_LAYOUTS if part == FULL else (part,))]
        wrong = [part for part in parts if not LAYOUT.fullmatch(part)]
        if wrong:
            raise SettingError(f"{self.name}: '{text}' is not one of {self.domain()}")
        return _one_or_list([part if part == PROFILE else int(part) for part in parts])

    def domain(self):
        return f"{LAYOUT_DOMAIN}, or {FULL}, which is 1 to {len(FULL_LAYOUTS)}"

    def default_text(self):
        return written(self.default)


def _parts(name, text, domain):
    """What stands between commas; SettingError if any of it is empty."""
    parts = [part.strip() for part in text.split(",")]
    if parts == [""]:
        raise SettingError(f"{name}: empty, give at least one value ({domain})")
    if "" in parts:
        raise SettingError(f"{name}: '{text}' has an empty value between commas, give one of {domain}")
    return parts


def _one_or_list(values):
    values = list(dict.fromkeys(values))
    return values if len(values) > 1 else values[0]


def written(value):
    """A setting's value as `--set` takes it."""
    if isinstance(value, list):
        return ",".join(map(written, value))
    return str(value).lower() if isinstance(value, bool) else str(value)


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
    checkpoint: str = ""    # the moment up to which runs of the same boot share it (sim/sweep/boot.py); empty: its own
    pokes: tuple = ()       # registers that it writes there, (name, value) in order of name
    disk: str = ""          # the drive: bytes, and options of --disk, with commas between
    frames: str = ""        # on the Ethernet wire (sim/wires/frames.py, Flood)
    flow: str = ""          # whether the data line's far end looks at RTS: rts or none
    program: str = ""       # of user/commands, that its image holds beside the others
    on: tuple = ()          # what is said of the machine beside its harts, (name, value) in order of name

    @property
    def machine(self):
        return Machine(self.harts, self.on)

    @property
    def seed(self):
        return self.parameters["seed"]

    @property
    def target(self):
        """What it needs built: machine, scheme, build options, runs that the image holds, perhaps a program."""
        from sim.images.kernel import runs_of
        return (self.machine.alone, self.sync, self.options, runs_of(self.bootargs),
                *([self.program] if self.program else []))


@dataclass(frozen=True)
class Experiment:
    name: str
    source: str             # what `load` takes: the name of one of ours, or a file's path
    description: str
    report: str | None      # a module of sim.experiments, or the path of one beside a file elsewhere
    console_baud: int
    keys: dict
    kinds: tuple            # the [[runs]] tables
    quick: dict             # values of keys that make it short
    collect: tuple          # the [[collect]] tables
    question: str = ""      # what it is to answer

    def settings(self, overrides, quick=False):
        """All keys with their values: defaults, the `quick` ones over them, then `overrides` ("key=value"). The whole
        size has all layouts, unless they are given.

        SettingError if there is no such key or value.
        """
        values = {name: key.default for name, key in self.keys.items()} | (self.quick if quick else {})
        given = {}
        for override in overrides:
            name, separator, text = override.partition("=")
            name = name.strip()
            if not separator:
                raise SettingError(f"--set {override}: give it as key=value (keys: {', '.join(self.keys)})")
            if name not in self.keys:
                raise unknown(f"key of {self.name}", name, self.keys)
            values[name] = self.keys[name].parse(text)
            given[name] = text.strip()
        if given.get("size") == FULL and "layout" not in given:
            values["layout"] = self.keys["layout"].parse(FULL)
        several = [name for name in self._machine(values) if isinstance(values[name], list)]
        if several and self.solvers():
            raise SettingError(f"{self.name}: {several[0]} has several values, and a run follows from the others' "
                               "results: give one")
        if "clock_hz" in several and self.report:
            raise SettingError(f"{self.name}: clock_hz has several values, and its report has one clock: give one")
        return values

    def on(self, given):
        """The experiment on another machine: `given` are "name=value" of `--machine`. SettingError in one line."""
        keys = dict(self.keys)
        for text in given:
            entry, value = machine.of_option(text)
            if not isinstance(keys.get(entry.name), MachineKey) and entry.name in keys:
                raise SettingError(f"--machine {entry.name}: {self.name} has a key of this name, give --set")
            keys[entry.name] = MachineKey(entry, MachineKey(entry, entry.default).parse(value))
            if self.report and entry.table == "nodes" and entry.name not in self.keys:
                raise SettingError(f"--machine {text}: the report of {self.name} reads runs of one machine, leave it "
                                   "out")
            before = self.keys.get(entry.name)
            if self.report and isinstance(keys[entry.name].default, list) and not (
                    before and isinstance(before.default, list)):
                raise SettingError(f"--machine {text}: the report of {self.name} takes all runs to be of one machine, "
                                   "give one value")
        return dataclasses.replace(self, keys=keys)

    def with_machine_of(self, settings):
        """The experiment with the keys of the machine that `settings` of a run begun before have."""
        more = {name: MachineKey(machine.ENTRIES[name], value) for name, value in settings.items()
                if name in machine.ENTRIES and name not in self.keys}
        return dataclasses.replace(self, keys=self.keys | more)

    def _machine(self, names):
        """Those of `names` that say something of the machine."""
        return [name for name in names if isinstance(self.keys.get(name), MachineKey)]

    def machines(self, settings):
        """All machines that runs with these settings want; SettingError in one line if one cannot be."""
        names = self._machine(settings)
        lists = [settings[name] if isinstance(settings[name], list) else [settings[name]] for name in names]
        harts = [n for kind in self.kinds
                 for n in ([kind["harts"]] if "harts" in kind else settings[kind["vary"]["harts"]])]
        return [Machine.of(n, dict(zip(names, values, strict=True)))
                for n in dict.fromkeys(harts) for values in itertools.product(*lists)]

    def runs(self, settings, clock_hz):
        """The runs that `settings` ask for, in the file's order, without those that follow from results (`solved`)."""
        self.machines(settings)
        return [run for kind in self.kinds if "solve" not in kind for run in self._expand(kind, settings, clock_hz)]

    def solvers(self):
        """The kinds of runs whose varied value has to be solved from other runs' results."""
        return [kind for kind in self.kinds if "solve" in kind]

    def solver_targets(self, kind, settings, clock_hz):
        """`Run.target` of a solver's runs, which are not known to the last parameter yet."""
        return {run.target for run in self.solved(kind, 0, settings, clock_hz)}

    def solved(self, kind, value, settings, clock_hz):
        """The runs of a solver `kind`, one a sample, now that its `value` is known."""
        fixed = dict(settings) | {kind["solve"]["for"]: value}
        given = {kind["solve"]["for"]: value}
        return [self._make(kind, given | varied, fixed, clock_hz) for varied in self._varied(kind, settings)]

    def _expand(self, kind, settings, clock_hz):
        return [self._make(kind, varied, settings, clock_hz) for varied in self._varied(kind, settings)]

    def _varied(self, kind, settings):
        """The values of what a kind of runs varies over, of each run."""
        vary = kind.get("vary", {})
        vary = vary | {name: name for name in (*self._machine(settings), *AXES)
                       if isinstance(settings.get(name), list) and name not in vary}
        return [dict(zip(vary, values, strict=True))
                for values in itertools.product(*(settings[key] for key in vary.values()))]

    def _make(self, kind, varied, settings, clock_hz):
        single = {name: value for name, value in settings.items() if name in self.keys and not self.keys[name].is_list
                  and not isinstance(value, list)}
        parameters = single | varied
        clock_hz = parameters.get("clock_hz", clock_hz)
        lists = {name: ",".join(map(str, values)) for name, values in settings.items() if isinstance(values, list)}
        names = lists | parameters | {"clock_hz": clock_hz}
        input_bytes = None
        if "input" in kind:
            if parameters.get("nodes", 1) > 1:
                raise SettingError(f"runs {kind['name']}: the data lines of several nodes are joined, leave out input "
                                   "or give count = 1")
            names["input_bytes"] = input_bytes = int(arithmetic(kind["input"], names))
            if not 0 < input_bytes <= FILE_BYTES:
                raise SettingError(f"runs {kind['name']}: the file for the data line has 1 to {FILE_BYTES} bytes, not "
                                   f"{input_bytes}")
            names["crc"] = f"{zlib.crc32(input_file(parameters['seed'], input_bytes)):08x}"
        words = [*kind["bootargs"].format_map(names).split(), f"console.baud={self.console_baud}"]
        pokes = tuple(sorted((name, value.format_map(names)) for name, value in kind.get("poke", {}).items()))
        try:
            checked_bootargs(words)
            for name, value in pokes:
                REGISTERS[name].parse(value)
        except ValueError as error:
            raise SettingError(f"runs {kind['name']}: {error}") from error
        suffix = "".join(f"-{SHORT.get(name, name)}{written(value)}" for name, value in varied.items())
        return Run(
            id=kind["name"] + suffix,
            kind=kind["name"],
            harts=varied.get("harts", kind.get("harts")),
            sync=varied.get("sync", kind.get("sync")),
            parameters=parameters,
            bootargs=" ".join(words),
            console_baud=self.console_baud,
            cycles=int(arithmetic(kind["cycles"], names)),
            result=kind["result"],
            input_bytes=input_bytes,
            disk=kind.get("disk", "").format_map(names),
            frames=kind.get("frames", "").format_map(names),
            flow=kind.get("flow", "").format_map(names),
            program=kind.get("program", ""),
            options=_options(kind, parameters["layout"], names),
            checkpoint=kind.get("checkpoint", ""),
            pokes=pokes,
            on=tuple(sorted((name, parameters[name]) for name in self._machine(parameters))),
        )


# How a varied name is written in a run's identity, which is also a directory's name.
SHORT = {"harts": "h", "link_latency": "l", "sync": ""}


def names():
    """The names of all experiments."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


def load(name):
    """The experiment `name`, or the one in the file `name` (anywhere, ends in `.toml`); SettingError in one line."""
    if str(name).endswith(".toml"):
        return read(Path(name).resolve())
    if name not in names():
        raise unknown("experiment", name, names())
    return read(FOLDER / f"{name}.toml")


def read(path):
    """The experiment in the file `path`; SettingError names what is wrong in it."""
    try:
        table = tomllib.loads(path.read_text())
        check(table)
        meant = meaning.parameters_of(table)
        keys = {name: _key(name, entry, meant.get(name, [])) for name, entry in table["keys"].items()}
        keys |= _machine_keys(table)
        if LayoutKey.name in keys:
            raise SettingError(f"keys {LayoutKey.name}: every experiment has this key, leave it out")
        layouts = LayoutKey().parse(written(table.get("layout", [0])))
        keys[LayoutKey.name] = LayoutKey(layouts)
        source = path.stem if path.parent == FOLDER else str(path)
        experiment = Experiment(path.stem, source, table["description"], _report(path, table), table["console_baud"],
                                keys, tuple(table["runs"]), table["quick"], tuple(table.get("collect", ())),
                                table.get("question", ""))
        _check_values(experiment)
        quick = {name: keys[name].parse(written(value)) for name, value in experiment.quick.items()}    # as of --set
        experiment = dataclasses.replace(experiment, quick=quick)
        for kind in experiment.kinds:
            _check_kind(experiment, kind)
        for quick in (False, True):
            experiment.runs(experiment.settings([], quick), SoCConfig.clock_hz)
        for name, entry in table["keys"].items():
            if not (entry.get("range") or entry.get("choices") or meaning.has_domain(meant.get(name, []))):
                raise SettingError(f"keys {name}: give a range or choices, as it is no declared parameter's value")
    except OSError as error:
        raise SettingError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise SettingError(f"{path}: {error}") from error
    return experiment


def _choices(name, entry):
    """The choices of a key: its own, or those of the scheme or the build option that it names."""
    choices = entry.get("choices", ())
    if not isinstance(choices, str):
        return tuple(choices)
    declared = {SYNC.name: SYNC} | OPTIONS
    if choices not in declared:
        raise unknown(f"parameter in keys {name} choices", choices, declared)
    return declared[choices].choices


def _key(name, entry, parameters):
    """A key of a file: the values that its `parameters` may have, or, of these, its own."""
    choices = meaning.choices_of(name, parameters, _choices(name, entry))
    numbers = meaning.range_of(name, parameters, tuple(entry.get("range", ())))
    if entry.get("choices") or entry.get("range"):      # the file says which of both it is
        choices, numbers = (choices if "choices" in entry else ()), (numbers if "range" in entry else ())
    default = list(choices) if entry["default"] == ALL else entry["default"]
    key = Key(name, entry["help"], default, choices, numbers, entry.get("names", {}), entry.get("none", False))
    if key.none and not key.is_list:
        raise SettingError(f"keys {name}: none is for lists")
    if key.choices and key.range:
        raise SettingError(f"keys {name}: give either a range or choices")
    if not key.choices and not key.range:       # perhaps because something else is wrong: `read` says so last
        values = default if key.is_list else [default]
        are_words = values and isinstance(values[0], str)
        key = dataclasses.replace(key, **({"choices": tuple(values)} if are_words else {"range": ANY}))
    return key


def _machine_keys(table):
    """The keys of [machine], [devices] and [nodes]."""
    keys = {}
    for where in ("machine", "devices", "nodes"):
        for name, value in table.get(where, {}).items():
            entry = machine.of_table(where, name)
            if entry.name in table["keys"]:
                raise SettingError(f"{where} {name}: there is a key '{entry.name}', too; give one of them")
            values = [entry.checked(one) for one in (value if isinstance(value, list) else [value])]
            keys[entry.name] = MachineKey(entry, _one_or_list(values))
    return keys


def _report(path, table):
    name = table.get("report")
    if bool(name) == bool(table.get("collect")):
        raise SettingError("report: give either [[collect]] tables or the name of a module that makes the report")
    if not name:
        return None
    module = path.with_name(f"{name}.py")
    if not module.is_file():
        raise SettingError(f"report: there is no {module}")
    return name if path.parent == FOLDER else str(module)


def _check_values(experiment):
    """Every default and quick value is one that `--set` would take."""
    if "seed" not in experiment.keys:
        raise SettingError("keys: there must be a 'seed'")
    for name, value in [*((key.name, key.default) for key in experiment.keys.values()), *experiment.quick.items()]:
        if name not in experiment.keys:
            raise unknown("key in quick", name, experiment.keys)
        experiment.keys[name].parse(written(value))


def _options(kind, layout, names=None):
    """The build options of a run of `kind`, (name, value) in order of name; without `names` as the file has them."""
    options = {name: value.format_map(names) if names else value for name, value in kind.get("build", {}).items()}
    return tuple(sorted((options | ({"layout": str(layout)} if layout else {})).items()))


def _check_kind(experiment, kind):
    """What a kind of runs refers to is there: keys, schemes, build options, other kinds."""
    where, keys, vary = f"runs {kind['name']}", experiment.keys, kind.get("vary", {})
    if [other["name"] for other in experiment.kinds].count(kind["name"]) > 1:
        raise SettingError(f"{where}: two kinds of runs have this name")
    lists = [key.name for key in keys.values() if key.is_list]
    for key in vary.values():
        if key not in lists:
            raise unknown(f"list key in {where} vary", key, lists)
    if keys["seed"].is_list and "seed" not in vary:
        raise SettingError(f"{where}: there are several seeds, give seed = 'seed' in vary")
    for need in ("harts", "sync"):
        if (need in vary) == (need in kind):
            raise SettingError(f"{where}: give '{need}' either for all its runs or in vary")
    if kind.get("sync", SCHEMES[0]) not in SCHEMES:
        raise unknown(f"scheme in {where}", kind["sync"], SCHEMES)
    image = kind.get("disk", "").partition(",")[0]
    if image.startswith(IMAGE):
        from sim.images.disks import IMAGES
        if image.removeprefix(IMAGE) not in IMAGES:
            raise unknown(f"image in {where} disk", image.removeprefix(IMAGE), IMAGES)
    if "program" in kind:
        from sim.images.programs import command_names
        if kind["program"] not in command_names():
            raise unknown(f"program in {where}", kind["program"], command_names())
    if LayoutKey.name in kind.get("build", {}):
        raise SettingError(f"{where}: build option layout follows from the key of this name, leave it out")
    for option in kind.get("build", {}):
        if option not in OPTIONS:
            raise unknown(f"build option in {where}", option, OPTIONS)
    if "input" in kind and "baud" not in [*keys, *vary]:
        raise SettingError(f"{where}: 'input' needs a key 'baud', or one that varies under that name")
    solve = kind.get("solve")
    if solve and not any(other["name"] == solve["run"] and solve["for"] in other.get("vary", {})
                         for other in experiment.kinds):
        raise SettingError(f"{where} solve: no kind of runs '{solve['run']}' varies '{solve['for']}'")
    known = [*keys, *vary, "clock_hz", *(["crc", "input_bytes"] if "input" in kind else []),
             *([solve["for"]] if solve else [])]
    _check_checkpoint(where, kind)
    for text in (kind["bootargs"], *(kind.get(name, "") for name in ("disk", "frames", "flow")),
                 *kind.get("build", {}).values(), *kind.get("poke", {}).values()):
        for _, name, _, _ in string.Formatter().parse(text):
            if name is not None and name not in known:
                raise unknown(f"name in {where}", name, known)
    for entry in ("cycles", "input"):
        for name in re.findall(r"[a-z]\w*", kind.get(entry, "")):
            if name not in known:
                raise unknown(f"name in {where} {entry}", name, known)
        arithmetic(kind.get(entry, "0"), dict.fromkeys(known, 1))


def _check_checkpoint(where, kind):
    moment = kind.get("checkpoint")
    if moment is not None and not re.fullmatch(r"(cycle|pc|event):\S+", moment):
        raise SettingError(f"{where}: checkpoint '{moment}' is not cycle:N, pc:SYMBOL[+OFFSET] or event:ID[:ARGUMENT]")
    for register in kind.get("poke", {}):
        if register not in REGISTERS:
            raise unknown(f"register in {where} poke", register, REGISTERS)
        if moment is None:
            raise SettingError(f"{where}: 'poke' needs a 'checkpoint', the moment at which the registers are written")


def disk_image(seed, size):
    """The content of a drive of `size` bytes: seeded, the same everywhere."""
    return hashlib.shake_128(f"disk {seed}".encode()).digest(size)


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
    try:
        return value(ast.parse(expression, mode="eval").body)
    except SyntaxError:
        raise ValueError(f"'{expression}' is not simple arithmetic") from None
