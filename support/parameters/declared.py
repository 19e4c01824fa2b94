"""What a parameter is: a name, a unit, a range, a default, a line of help, and the ways in which it is set."""

import dataclasses
import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

LISTED = 40     # names that are listed after a wrong one
DEFINED = "parameter"       # in the metadata of a dataclass's field


class ParameterError(ValueError):
    """A given name or value is invalid; the text is one line with the valid ones."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: a whole number in `range`, one of `choices`, or, with neither, a text.

    `default` None: the default follows from something else, which `help` says.
    """

    name: str
    help: str
    default: Any = None
    unit: str = ""
    range: tuple[int, int] | None = None
    choices: tuple[str, ...] = ()
    power: bool = False     # of two
    why: str = ""           # of the range
    ways: tuple[str, ...] = ()  # the ways to set it, of WAYS

    @property
    def is_number(self) -> bool:
        return self.range is not None

    def domain(self) -> str:
        """The valid values, in words."""
        if self.range:
            low, high = self.range
            return f"a power of two from {low} to {high}" if self.power else f"a whole number from {low} to {high}"
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        return "a text"

    def line(self) -> str:
        """Its description, for --help: its meaning, its values, its default."""
        domain = self.domain() if self.range or self.choices else ""
        default = "" if self.default in (None, "") else f"{'; ' if domain else ''}{self.default} if not given"
        return f"{self.help}{f' ({domain}{default})' if domain or default else ''}"

    def checked(self, value: Any) -> Any:
        """`value`, if the parameter may have it; ParameterError."""
        if self.range:
            low, high = self.range
            right = type(value) is int and low <= value <= high and not (self.power and value & (value - 1))
        else:
            right = type(value) is str and (not self.choices or value in self.choices)
        if not right:
            raise ParameterError(f"{self.name}={value}: give {self.domain()}{f' ({self.why})' if self.why else ''}")
        return value

    def parse(self, text: str) -> Any:
        """The value of `text`, decimal or 0x; ParameterError."""
        if not self.range:
            return self.checked(text)
        try:
            value = int(text, 0)
        except ValueError:
            value = text  # type: ignore[assignment]
        return self.checked(value)


def number(default: int | None, low: int, high: int, unit: str, help: str, **more) -> Any:
    """A field of a dataclass: a whole number."""
    return dataclasses.field(default=default, metadata={
        DEFINED: Parameter("", help, default, unit, (low, high), **more)})


def word(default: str, choices: Iterable[str], help: str, **more) -> Any:
    """A field of a dataclass: one of some words."""
    return dataclasses.field(default=default, metadata={
        DEFINED: Parameter("", help, default, choices=tuple(choices), **more)})


def fields_of(cls) -> dict[str, Parameter]:
    """The parameters that the fields of a dataclass declare, by name."""
    return {field.name: dataclasses.replace(field.metadata[DEFINED], name=field.name)
            for field in dataclasses.fields(cls) if DEFINED in field.metadata}


def close_match(name: str, valid: Iterable[str]) -> str:
    """The message for a wrong name: a similar name, if there is one, and all valid ones."""
    names = list(valid)
    close = difflib.get_close_matches(str(name), names, n=1)
    there = f"valid: {', '.join(names)}" if len(names) <= LISTED else "'./interlock parameters' lists all"
    return f"{f', did you mean {close[0]!r}?' if close else ''} ({there})"
