"""docs/parameters.md: every parameter, from its declaration. `python -m support.parameters.reference` writes it."""

from collections.abc import Iterable

from support.cache import REPO
from support.parameters import boot, build, drive, machine, simulator
from support.parameters.declared import Parameter

PAGE = REPO / "docs/parameters.md"
INTRODUCTION = """\
# Parameters

Made from `support/parameters` by `python -m support.parameters.reference`; a test compares. Each parameter is declared
once; checks, completion, experiment files and the generated headers of kernel and simulator follow it. An impossible
value is refused in one line before anything is built.

`./interlock --install-completion` lets the shell complete names.

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
REGISTERS = """
A register has one name: its CSR's (`link_read_latency_read()` in C), that of `--machine`, of `--poke` and of the boot
argument. The kernel leaves it alone unless a boot argument sets it.
"""


SIMULATOR = """
## Simulator

Options of `interlock-sim`, which `./interlock sim` and experiments start. Of several nodes an option is of the run,
of each node (`--node K:NAME=VALUE` gives one of them another value), or of one node alone, whose file it names.

"""


def _default(parameter: Parameter) -> str:
    return "" if parameter.default in (None, "") else f"`{parameter.default}`"


def _values(parameter: Parameter) -> str:
    """What it may be, with its unit."""
    if parameter.range:
        low, high = parameter.range
        found = f"{'powers of two, ' * parameter.power}{low} to {high}"
    else:
        found = ", ".join(f"`{choice}`" for choice in parameter.choices)
    return f"{found} {parameter.unit}".strip()


def _lines(*rows: Iterable[str]) -> str:
    """A table whose first row is its heading."""
    heads, *others = map(tuple, rows)
    return "".join((f"| {' | '.join(heads)} |\n", f"|{'---|' * len(heads)}\n",
                    *(f"| {' | '.join(row)} |\n" for row in others)))


def _table(parameters: Iterable[Parameter], ways: bool = False) -> str:
    return _lines(("name", "values", "default", "what", *(["ways"] if ways else [])),
                  *((f"`{one.name}`", _values(one), _default(one), one.help, *([", ".join(one.ways)] if ways else []))
                    for one in parameters))


def _of_files() -> str:
    """Those of runs; a file's name stands at its first one."""
    return _lines(("file", "name", "values", "default", "what"),
                  *((f"`{file}.c`" if one is parameters[0] else "", f"`{one.name}`", _values(one), _default(one),
                     one.help) for file, parameters in boot.OF_FILES.items() for one in parameters))


def _simulator() -> str:
    of = {simulator.RUN: "the run", simulator.NODE: "a node", simulator.FILE: "one node"}
    return _lines(("option", "values", "default", "what", "of"),
                  *((f"`--{one.name}{f' {one.value}' if one.value else ''}`".replace("|", "\\|"), _simulated(one),
                     _default(one), one.help, of[one.of]) for one in simulator.OPTION_LIST))


def _simulated(option: simulator.Option) -> str:
    """Its values; a number without an upper end has 64 bits."""
    if option.range and option.range[1] == simulator.MOST:
        return f"{option.range[0]} or more {option.unit}".strip()
    return _values(option)


def page() -> str:
    """The whole page."""
    others = "".join(f"| `{name}` | {what} | {values} |\n" for name, (values, what) in drive.OTHER.items())
    schemes = "".join(f"| `{one.name}` | `kernel/sync/{one.id}.h` | {one.primitive} | {one.fall_back} |\n"
                      for one in build.SCHEME_LIST)
    plain = [one for name, one in machine.MACHINE.items() if name not in machine.REGISTERS]
    return "".join((
        INTRODUCTION,
        "\n## Machine\n\n", _table([*plain, *machine.DEVICES.values()]),
        "\n## Registers\n", REGISTERS, "\n", _table(machine.REGISTERS.values(), ways=True),
        "\n## Nodes\n\n", _table(machine.NODES.values()),
        "\n## Schemes\n\n`--sync`, `", str(build.SYNC.default), "` if not given.\n\n"
        "| scheme | file | a section costs | and more when it is interrupted |\n|---|---|---|---|\n", schemes,
        "\n## Build options of the kernel\n\n", _table(build.OPTIONS.values()),
        "\nOther values of `unix` have other defaults: ",
        "; ".join(f"`{unix}` has " + ", ".join(f"`{name}={value}`" for name, value in of.items())
                  for unix, of in build.KERNELS.items()), ".\n",
        "\n## Boot arguments of every image\n\n",
        _table(one for one in boot.KERNEL if one.name not in machine.REGISTERS),
        "\nThe registers above are boot arguments, too.\n",
        "\n## Boot arguments of runs\n\nBy the file below `kernel/` that reads them; `run=` names one of its runs.\n\n",
        _of_files(),
        "\n## Drives\n\n`--disk IMAGE[,NAME=VALUE...]`.\n\n| name | what | value |\n|---|---|---|\n", others,
        "\nA [profile](../hw/disk/README.md#profiles) has, and each can be given by itself:\n\n",
        _table(drive.FIELDS.values()),
        SIMULATOR, _simulator()))


def main():
    PAGE.write_text(page())


if __name__ == "__main__":
    main()
