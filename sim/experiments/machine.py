"""The machine that a run is carried out on: parameters of its SoC, what is attached to it, how many nodes there are.

An experiment file says it in three tables, the command line with `--machine NAME=VALUE`. Each entry is a setting like
those of `[keys]`; several values are varied over.

    [machine]   parameters of soc/config.py by their names, all but `harts`
    [devices]   what stands at a connection of the chip: DEVICES
    [nodes]     how many machines there are, and what joins them: NODES

What is not given is as soc/config.py and the first entries below have it.
"""

import dataclasses
from dataclasses import dataclass

from sim.experiments.schema import SettingError, unknown
from soc.config import SoCConfig

# Where each device may be, its default first, and in words.
DEVICES = {"pic": {"link": "the interrupt controller behind its link model, in one netlist with the SoC",
                   "pins": "the interrupt controller on a chip of its own, behind real wires (soc/pins.py)"}}
WIRES = {"serial": "a serial line from each node's data port to the next node's",
         "ether": "an Ethernet switch that joins all nodes, with machine ethers = 1"}
MOST_NODES = 64
MOST_WIRE_CYCLES = 1_000_000
OWN = "harts"       # a parameter that each kind of runs has for itself


@dataclass(frozen=True)
class Entry:
    """What may be said of a machine. `name` is that of the setting, `entry` what it is called in its `table`."""

    name: str
    table: str
    entry: str
    type: type
    default: object
    help: str
    choices: tuple = ()
    range: tuple = ()

    def parse(self, text):
        """The value that `text` stands for; SettingError if it is none."""
        if self.type is bool:
            if text not in ("true", "false"):
                raise SettingError(f"{self.where}: '{text}' is neither true nor false")
            return text == "true"
        try:
            return self.checked(int(text, 0) if self.type is int else text)
        except ValueError as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError(f"{self.where}: '{text}' is not a whole number") from None

    def checked(self, value):
        """The value, if the entry may have it. What a SoC can be built with is asked of Machine.config."""
        if type(value) is not self.type:
            raise SettingError(f"{self.where}: {value!r} is not {'a whole number' if self.type is int else 'a word'}")
        if self.choices and value not in self.choices:
            raise unknown(f"value of {self.where}:", value, self.choices)
        if self.range and not self.range[0] <= value <= self.range[1]:
            raise SettingError(f"{self.where}: {value} is out of range, give {self.domain()}")
        return value

    @property
    def where(self):
        return f"{self.table} {self.entry}"

    def domain(self):
        if self.range:
            return f"{self.range[0]} to {self.range[1]}"
        return ", ".join(self.choices) or "as soc/config.py allows"


def _entries():
    yield from (Entry(field.name, "machine", field.name, field.type, field.default, "of the SoC (soc/config.py)")
                for field in dataclasses.fields(SoCConfig) if field.name != OWN)
    yield from (Entry(f"device_{name}", "devices", name, str, next(iter(kinds)),
                      "; ".join(f"{kind}: {text}" for kind, text in kinds.items()), tuple(kinds))
                for name, kinds in DEVICES.items())
    yield Entry("nodes", "nodes", "count", int, 1, "machines that run side by side", range=(1, MOST_NODES))
    yield Entry("nodes_wire", "nodes", "wire", str, next(iter(WIRES)),
                "; ".join(f"{wire}: {text}" for wire, text in WIRES.items()), tuple(WIRES))
    yield Entry("nodes_latency", "nodes", "latency", int, 1000, "cycles that what is sent takes to the other node",
                range=(1, MOST_WIRE_CYCLES))


ENTRIES = {entry.name: entry for entry in _entries()}


def of_table(table, name):
    """The entry that a file's table calls `name`; SettingError names the nearest if there is none."""
    valid = {entry.entry: entry for entry in ENTRIES.values() if entry.table == table}
    if name == OWN and table == "machine":
        raise SettingError(f"machine {OWN}: each kind of runs says how many, give {OWN} there or in its vary")
    if name not in valid:
        raise unknown(f"entry in {table}", name, valid)
    return valid[name]


def of_option(text):
    """The entry and the text of its value that `--machine NAME=VALUE` gave; SettingError."""
    name, separator, value = text.partition("=")
    if not separator:
        raise SettingError(f"--machine {text}: give it as name=value (names: {', '.join(ENTRIES)})")
    if name.strip() == OWN:
        raise SettingError(f"--machine {OWN}: give --{OWN}, or --set {OWN}=N where an experiment has that key")
    if name.strip() not in ENTRIES:
        raise unknown("entry of --machine", name.strip(), ENTRIES)
    return ENTRIES[name.strip()], value.strip()


@dataclass(frozen=True, order=True)
class Machine:
    """One machine: its harts, and what was said of it, (name, value) in order of name."""

    harts: int
    said: tuple = ()

    @staticmethod
    def of(harts, values):
        """The machine that `values` (name -> value) make. SettingError in one line if it cannot be built."""
        machine = Machine(harts, tuple(sorted(values.items())))
        machine.config()
        return machine

    def value(self, name):
        """What the machine has for the entry `name`."""
        return dict(self.said).get(name, ENTRIES[name].default)

    @property
    def parameters(self):
        """What was said of the SoC."""
        return {name: value for name, value in self.said if ENTRIES[name].table == "machine"}

    @property
    def nodes(self):
        return self.value("nodes")

    @property
    def alone(self):
        """One such machine, whatever stands beside it: what a simulator is built for."""
        return Machine(self.harts, tuple((name, value) for name, value in self.said if ENTRIES[name].table != "nodes"))

    @property
    def two_chips(self):
        return self.value("device_pic") == "pins"

    def config(self):
        """What the SoC is built from; SettingError for what cannot be built."""
        try:
            return SoCConfig(harts=self.harts, **self.parameters)
        except ValueError as error:
            raise SettingError(str(error)) from error

    def attached(self):
        """Devices and nodes as a record has them; nothing if there is nothing but what every machine has."""
        return {name: value for name, value in self.said if ENTRIES[name].table != "machine"}

    @property
    def label(self):
        """What tells it apart in a record: harts, and all that was said."""
        return " ".join([str(self.harts), *(f"{name}={value}" for name, value in self.said)])

    def __str__(self):
        return ", ".join([f"{self.harts} hart{'s' * (self.harts > 1)}", *(f"{n}={v}" for n, v in self.said)])
