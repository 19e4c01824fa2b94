"""Every parameter, from its declaration: what `./interlock parameters` shows, and a page of the manuals, which
`python -m support.parameters.reference` writes (build/docs/parameters.md)."""

from collections.abc import Iterable
from dataclasses import dataclass

from support.cache import build_root
from support.parameters import boot, build, drive, machine, simulator
from support.parameters.declared import Parameter

INTRODUCTION = """\
# Parameters

Made from `support/parameters`. Each parameter is declared once; checks, completion, experiment files and the generated
headers of kernel and simulator follow it. An impossible value is refused in one line before anything is built.

`./interlock parameters WORD` shows those in whose name or description WORD is; `./interlock --install-completion` lets
the shell complete names.

| way | given by | takes effect |
|---|---|---|
| machine | `--machine`, `[machine]` of an experiment | when the SoC is generated; of a register, its reset value |
| poke | `--poke NAME=VALUE[@CYCLE]`, `poke` of runs | in the register, before that cycle or the first one |
| boot | `--set`, `bootargs` of runs | when the kernel boots |
| build | `--sync`, `--option`, `sync` and `build` of runs | when the kernel is built |
| disk | `--disk IMAGE,NAME=VALUE`, `disk` of runs | in the drive |
| nodes | `[nodes]` of an experiment | in the simulator |
| simulator | options of `interlock-sim`; most are options of `./interlock sim` | in the simulator |
"""


@dataclass(frozen=True)
class Section:
    """A table of parameters, with the text before and after it. Cells are Markdown."""

    title: str
    heads: tuple[str, ...]
    rows: list[tuple[str, ...]]
    before: str = ""
    after: str = ""

    def markdown(self) -> str:
        lines = (f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |" for row in self.rows)
        table = "\n".join((f"| {' | '.join(self.heads)} |", f"|{'---|' * len(self.heads)}", *lines))
        return "\n\n".join(filter(None, (f"## {self.title}", self.before, table, self.after)))


HEADS = ("name", "values", "default", "what")


def _default(parameter: Parameter) -> str:
    return "" if parameter.default in (None, "") else f"`{parameter.default}`"


def _values(parameter: Parameter) -> str:
    """Its values, with their unit."""
    if parameter.range:
        low, high = parameter.range
        found = f"{'powers of two, ' * parameter.power}{low} to {high}"
    else:
        found = ", ".join(f"`{choice}`" for choice in parameter.choices)
    return f"{found} {parameter.unit}".strip()


def _rows(parameters: Iterable[Parameter]) -> list[tuple[str, ...]]:
    return [(f"`{one.name}`", _values(one), _default(one), one.help) for one in parameters]


def _simulated(option: simulator.Option) -> str:
    """Its values; a number without an upper end has 64 bits."""
    if option.range and option.range[1] == simulator.MOST:
        return f"{option.range[0]} or more {option.unit}".strip()
    return _values(option)


def sections() -> list[Section]:
    plain = [one for name, one in machine.MACHINE.items() if name not in machine.REGISTERS]
    registers = machine.REGISTERS.values()
    kernels = "; ".join(f"`{unix}` has " + ", ".join(f"`{name}={value}`" for name, value in of.items())
                        for unix, of in build.KERNELS.items())
    of = {simulator.RUN: "the run", simulator.NODE: "a node", simulator.FILE: "one node"}
    return [
        Section("Machine", HEADS, _rows([*plain, *machine.DEVICES.values()])),
        Section("Registers", (*HEADS, "ways"),
                [(*row, ", ".join(one.ways)) for one, row in zip(registers, _rows(registers), strict=True)],
                "A register has one name: its CSR's (`link_read_latency_read()` in C), that of `--machine`, `--poke` "
                "and the boot argument. The kernel leaves it alone unless a boot argument sets it."),
        Section("Nodes", HEADS, _rows(machine.NODES.values())),
        Section("Schemes", ("scheme", "file", "a section costs", "and more when it is interrupted"),
                [(f"`{one.name}`", f"`kernel/sync/{one.id}.h`", one.primitive, one.fall_back)
                 for one in build.SCHEME_LIST], f"`--sync`, `{build.SYNC.default}` if not given."),
        Section("Build options of the kernel", HEADS, _rows(build.OPTIONS.values()),
                after=f"Other values of `unix` have other defaults: {kernels}."),
        Section("Boot arguments of every image", HEADS,
                _rows(one for one in boot.KERNEL if one.name not in machine.REGISTERS),
                after="The registers above are boot arguments, too."),
        Section("Boot arguments of runs", ("file", *HEADS),
                [(f"`{file}.c`", *row) for file, parameters in boot.OF_FILES.items() for row in _rows(parameters)],
                "By the file below `kernel/` that reads them; `run=` names one of its runs."),
        Section("Drives", ("name", "what", "value"),
                [(f"`{name}`", what, values) for name, (values, what) in drive.OTHER.items()],
                "`--disk IMAGE[,NAME=VALUE...]`."),
        Section("Profiles of drives", HEADS, _rows(drive.FIELDS.values()),
                "A profile (hw/disk/README.md) has, and each can be given by itself:"),
        Section("Simulator", ("option", "values", "default", "what", "of"),
                [(f"`--{one.name}{f' {one.value}' if one.value else ''}`", _simulated(one), _default(one), one.help,
                  of[one.of]) for one in simulator.OPTION_LIST],
                "Options of `interlock-sim`, which `./interlock sim` and experiments start. Of several nodes an option "
                "is of the run, of each node (`--node K:NAME=VALUE` gives one of them another value), or of one node "
                "alone, whose file it names."),
    ]


def page() -> str:
    """The whole page."""
    return "\n\n".join((INTRODUCTION.rstrip("\n"), *(one.markdown() for one in sections()))) + "\n"


def main() -> None:
    path = build_root() / "docs" / "parameters.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page())


if __name__ == "__main__":
    main()
