"""The figures of a build: area by core, each clock's rate and its longest path. A record is plain JSON."""

import json
from collections import Counter
from pathlib import Path

from soc.fpga.cores import CLUSTER, core_of
from soc.fpga.design import Design
from soc.fpga.placement import fits

# Look-up tables that nextpnr makes of each of yosys's cells, and the columns for the other kinds.
LUTS = {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}
COLUMNS = {"TRELLIS_FF": "ff", "DP16KD": "ebr", "MULT18X18D": "mult"}
# A core's parts, as LiteX names them, are counted as one.
PARTS = (("sdcard", "sdcard"), ("disk", "disk"), ("sdram", "dram"), ("sdrphy", "dram"), ("ddrphy", "dram"),
         ("ram", "dram"), ("eth", "ethernet"), ("cpu", "interconnect"), ("csr", "csr"), ("dma", "dma"), ("bus", "bus"),
         ("hart_io", "bus"))
CHIP = {"lut": "TRELLIS_COMB", "ff": "TRELLIS_FF", "ebr": "DP16KD", "mult": "MULT18X18D"}


def whole(core: str) -> str:
    """The core that `core` is a part of, or itself."""
    return next((name for start, name in PARTS if core.startswith(start)), core)


def by_core(design: Design, module: dict) -> dict[str, dict[str, int]]:
    """Look-up tables (`lut`), registers (`ff`), block RAMs (`ebr`) and multipliers (`mult`) of each core of a netlist's
    module, the largest core first."""
    total: dict[str, Counter] = {}
    for name, cell in module["cells"].items():
        counts = total.setdefault(whole(core_of(name, design.cores)), Counter())
        counts["lut"] += LUTS.get(cell["type"], 0)
        if cell["type"] in COLUMNS:
            counts[COLUMNS[cell["type"]]] += 1
    rows = {core: {column: counts[column] for column in CHIP} for core, counts in total.items() if counts.total()}
    return dict(sorted(rows.items(), key=lambda row: (-row[1]["lut"], row[0])))


def cluster_clock(module: dict) -> set[str]:
    """The name of the net that clocks the CPU cluster in a netlist's module, if there is one."""
    clocks = (cell["connections"]["CLK"] for name, cell in module["cells"].items()
              if cell["type"] == "TRELLIS_FF" and CLUSTER.match(name))
    net = next(clocks, None)
    return {name for name, signal in module["netnames"].items() if signal["bits"] == net}


def plain(name: str, system: set[str]) -> str:
    """A clock's name without nextpnr's additions. `sys` is any of `system`."""
    name = name.removeprefix("$glbnet$").removesuffix("$TRELLIS_IO_IN")
    return "sys" if name in system else name


def longest_path(design: Design, path: list[dict]) -> dict:
    """A critical path of nextpnr's report: its first and last core and cell, its nanoseconds, those of them on wires,
    and its number of logic cells."""
    def end(cell: str) -> dict:
        return {"core": whole(core_of(cell, design.cores)), "cell": cell}

    return {"from": end(path[0]["from"]["cell"]), "to": end(path[-1]["to"]["cell"]),
            "ns": round(sum(step["delay"] for step in path), 2),
            "wires_ns": round(sum(step["delay"] for step in path if step["type"] == "routing"), 2),
            "logic": sum(step["type"] == "logic" for step in path)}


def clocks(design: Design, report: dict, system: set[str]) -> dict[str, dict]:
    """Each clock: its rate in MHz as reached and as required, and its longest path. Names as from `plain`."""
    paths = {(path["from"], path["to"]): path["path"] for path in report["critical_paths"]}
    return {plain(name, system): {"mhz": round(rate["achieved"], 2), "wanted_mhz": round(rate["constraint"], 2),
                          "path": longest_path(design, paths[f"posedge {name}", f"posedge {name}"])}
            for name, rate in report["fmax"].items()}


def longest_by_core(design: Design, ends: dict[str, dict[str, float]]) -> dict[str, float]:
    """The longest path that ends in each core, in nanoseconds, whatever its clock."""
    longest: dict[str, float] = {}
    for cells in ends.values():
        for cell, ns in cells.items():
            core = whole(core_of(cell, design.cores))
            longest[core] = max(longest.get(core, 0), ns)
    return longest


def figures(design: Design, netlist: Path, placement: Path) -> dict:
    """The record of a build: its chip's use and that of each core, its clocks, the cost of the tools, whether ABC9
    did its last step (`mfs`), whether the chip has room for it (`fits`), whether it has been routed, the wires in
    conflict if not, whether every clock is met (`met`), and the least ratio of a clock's rate to the required one
    (`margin`)."""
    report, ends = (json.loads((placement / name).read_text()) for name in ("report.json", "ends.json"))
    module = json.loads((netlist / "netlist.json").read_text())["modules"][design.top]
    rates = clocks(design, report, cluster_clock(module))
    return {
        "name": design.name, "device": design.device, "clock_hz": design.clock_hz,
        "mfs": design.mfs,
        "fits": fits(report["utilization"]),
        "routed": bool(rates),
        "conflicts": report.get("conflicts", 0),
        "met": bool(rates) and all(clock["mhz"] >= clock["wanted_mhz"] for clock in rates.values()),
        "margin": min((clock["mhz"] / clock["wanted_mhz"] for clock in rates.values()), default=0),
        "use": {column: report["utilization"][cell] for column, cell in CHIP.items()},
        "cores": by_core(design, module),
        "clocks": rates,
        "longest_ns": longest_by_core(design, ends),
        "synthesis": json.loads((netlist / "synthesis.json").read_text()),
        "placement": json.loads((placement / "placement.json").read_text()),
    }


def summary(record: dict) -> str:
    """The clocks of a record in one line: those missed, each with its longest path, else all of them. Or what the chip
    lacks, or that it could not be routed."""
    if not record["fits"]:
        return ", ".join(f"{count['used']} {column.upper()} of {count['available']}"
                         for column, count in record["use"].items() if count["used"] > count["available"])
    if record["conflicts"]:
        return f"{record['conflicts']} wires stay in conflict"

    def told(name: str, clock: dict) -> str:
        text = f"{name} {clock['mhz']:.1f} MHz of {clock['wanted_mhz']:.4g}"
        path = clock["path"]
        if clock["mhz"] >= clock["wanted_mhz"]:
            return text
        return f"{text}, from {path['from']['core']} to {path['to']['core']} ({path['ns']:.1f} ns)"

    missed = {name: clock for name, clock in record["clocks"].items() if clock["mhz"] < clock["wanted_mhz"]}
    return "; ".join(told(name, clock) for name, clock in (missed or record["clocks"]).items())
