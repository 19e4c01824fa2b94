"""The machine that a run is carried out on: parameters of its SoC, what is attached to it, how many nodes there are.

An experiment file says it in three tables, the command line with `--machine NAME=VALUE`. Each entry is a setting like
those of `[keys]`; several values are varied over.

    [machine]   parameters of the SoC by their names, all but `harts`
    [devices]   what stands at a connection of the chip: DEVICES
    [nodes]     how many machines there are, and what joins them: NODES

support/parameters/machine.py declares all of them, with what they are if they are not given.
"""

from dataclasses import dataclass

from sim.experiments.schema import SettingError, unknown
from soc.config import SoCConfig
from support.parameters.declared import Parameter, ParameterError
from support.parameters.machine import DEVICES, MACHINE, NODES

OWN = "harts"       # a parameter that each kind of runs has for itself


@dataclass(frozen=True)
class Entry:
    """What may be said of a machine: a parameter, which a file's `table` calls `entry`."""

    parameter: Parameter
    table: str
    entry: str

    @property
    def name(self):
        """Of the setting."""
        return self.parameter.name

    @property
    def default(self):
        return self.parameter.default

    @property
    def choices(self):
        return self.parameter.choices

    @property
    def help(self):
        return self.parameter.help

    @property
    def type(self):
        return int if self.parameter.is_number else str

    def parse(self, text):
        """The value that `text` stands for; SettingError if it is none."""
        if self.type is str:
            return self.checked(text)
        try:
            return self.checked(int(text, 0))
        except ValueError as error:
            if isinstance(error, SettingError):
                raise
            raise SettingError(f"{self.where}: '{text}' is not a whole number") from None

    def checked(self, value):
        """The value, if the entry may have it. What belongs together is asked of Machine.config."""
        if type(value) is not self.type:
            raise SettingError(f"{self.where}: {value!r} is not {'a whole number' if self.type is int else 'a word'}")
        try:
            return self.parameter.checked(value)
        except ParameterError as error:
            if self.table == "machine":
                raise SettingError(str(error)) from error
            if self.choices:
                raise unknown(f"value of {self.where}:", value, self.choices) from error
            raise SettingError(f"{self.where}: {value} is out of range, give {self.domain()}") from error

    @property
    def where(self):
        return f"{self.table} {self.entry}"

    def domain(self):
        if self.parameter.range and not self.parameter.power:
            return "{} to {}".format(*self.parameter.range)
        return ", ".join(self.choices) or self.parameter.domain()


ENTRIES = {entry.name: entry for entry in (
    *(Entry(parameter, "machine", name) for name, parameter in MACHINE.items() if name != OWN),
    *(Entry(parameter, "devices", name) for name, parameter in DEVICES.items()),
    *(Entry(parameter, "nodes", name) for name, parameter in NODES.items()))}


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
