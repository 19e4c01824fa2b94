"""Which core of a SoC a part of its netlist belongs to.

LiteX writes all cores as one Verilog module, so that the netlist has no hierarchy but the CPU cluster's. What is left
is names: yosys names a cell after the signal that it drives, or the nearest that has a name. So a signal's core is the
one that drives it, taken from LiteX's modules before they become one."""

import re
from collections.abc import Callable

from migen import Memory, Module, Signal
from migen.fhdl.tools import list_special_ios, list_targets

REST = "others"            # without a telling name
CLUSTER = re.compile(r"^InterlockCluster(?:_\d+)?\.(?:harts_(\d+)_)?")
MEMORY_PART = re.compile(r"\.\d+\.\d+.*")      # storage.0.3_DO_1 belongs to the memory `storage`


def cores_of(soc: Module, name_of: Callable[[Signal | Memory], str]) -> dict[str, str]:
    """The core, an attribute of the SoC such as `pic`, of each signal and memory that it drives, by its name in the
    Verilog. The SoC has to be finalised; `name_of` gives a signal's name there, and KeyError for those left out."""
    cores = {}
    for core, module in soc._submodules:
        fragment = module._fragment   # with those of its submodules
        driven = list_targets([fragment.comb, fragment.sync]) | list_special_ios(fragment, False, True, True)
        for item in [*driven, *(special for special in fragment.specials if isinstance(special, Memory))]:
            try:
                cores[name_of(item)] = core or REST
            except KeyError:
                pass   # lowering has dropped it
    return cores


def core_of(cell: str, cores: dict[str, str]) -> str:
    """The core that the cell of this name belongs to. A hart is a core, the rest of the cluster is another.

    A name that yosys made is a signal's with a suffix: the longest prefix that is a known name counts."""
    found = CLUSTER.match(cell)
    if found:
        return f"hart {found.group(1)}" if found.group(1) else "interconnect"
    name = MEMORY_PART.sub("", cell)
    while name not in cores:
        shorter = name.rpartition("_")[0]
        if not shorter:
            return name if name in cores.values() else REST   # the SoC's own signals of a core are named after it
        name = shorter
    return cores[name]
