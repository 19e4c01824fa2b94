"""Place and route by nextpnr, and the timing gate: a design that misses a clock leaves nothing to flash."""

import json
import re
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

from soc.fpga.design import Design
from soc.fpga.tools import ToolError, run, version
from support.cache import Input, cached

SYSTEM_CLOCK_SLACK = 0.01   # by how much a PLL's rate may differ from its target
USE = re.compile(r"Info:\s+(\w+):\s+(\d+)/\s*(\d+)\s+\d+%")
# The routers' output for each round: wires in conflict, connections still to be made. And the number of rounds after
# which there have to be fewer, while there are more than a few, which may take many rounds and still succeed.
ROUTERS = {
    "router1": (re.compile(r"Info:\s+\d+ \|[^|]*\|[^|]*\|\s*(\d+)\|"), 100, 0),
    "router2": (re.compile(r"iter=\d+ wires=\d+ overused=(\d+)"), 8, 1000),
}
STAGES = (
    (re.compile(r"Packing"), "packing"),
    (re.compile(r"Creating initial analytic placement|Running Static placer"), "placing"),
    (re.compile(r"Running simulated annealing"), "refining the placement"),
    (re.compile(r"Setting up routing queue|Running router2"), "routing"),
    (re.compile(r"Routing globals"), "routing clocks"),
)


class GateError(RuntimeError):
    """A clock is missed, or the chip has no room; the text is one line that says by how much."""


@dataclass(frozen=True)
class PlacementOptions:
    """nextpnr's options. Each seed gives another placement, and always the same one."""

    seed: int = 1
    placer: str = "static"     # places connected cells nearer to each other than "heap", nextpnr's own default
    router: str = "router1"    # makes a faster circuit than router2, and routes nearly full chips


class Watch:
    """Follows nextpnr's log: the stage that begins, how much of the chip is used, and the remaining work after each
    round of the router. A design that does not fit is not tried, routing without progress is ended."""
    def __init__(self, router: str):
        self.use: dict[str, dict] = {}
        self.conflicts: list[int] = []
        self.round, self.patience, self.few = ROUTERS[router]

    @property
    def stuck(self) -> bool:
        """Whether there are many wires in conflict, and no fewer than some rounds before."""
        return (len(self.conflicts) > self.patience and self.conflicts[-1] > self.few
                and self.conflicts[-1] >= self.conflicts[-1 - self.patience])

    def __call__(self, line: str) -> str | None:
        found, routed = USE.match(line), self.round.search(line)
        if found:
            self.use[found[1]] = {"used": int(found[2]), "available": int(found[3])}
        elif not fits(self.use):
            raise StopIteration
        if routed:
            self.conflicts.append(int(routed[1]))
            if self.stuck:
                raise StopIteration
        return next((text for pattern, text in STAGES if pattern.search(line)), None)


def fits(use: dict[str, dict[str, int]]) -> bool:
    """Whether the chip has as many cells of each kind as are used."""
    return all(count["used"] <= count["available"] for count in use.values())


def missed(report: dict) -> bool:
    """Whether a report of nextpnr has a missed clock."""
    return any(clock["achieved"] < clock["constraint"] for clock in report["fmax"].values())


def is_system(mhz: float, clock_hz: int) -> bool:
    """Whether `mhz`, a clock's required rate, is that of the system clock."""
    return abs(mhz - clock_hz / 1e6) <= clock_hz / 1e6 * SYSTEM_CLOCK_SLACK


def check_constraints(report: dict, clock_hz: int):
    """ToolError if the gate checks nothing: if no clock of a report is required to reach the system clock's rate."""
    if not any(is_system(clock["constraint"], clock_hz) for clock in report["fmax"].values()):
        raise ToolError(f"no clock of the design is held to {clock_hz / 1e6:g} MHz: its .lpf has to give the rate of "
                        "the oscillator that the PLL starts from")


def ends(timings: list[dict]) -> dict[str, dict[str, float]]:
    """The longest path to each cell within each clock, in nanoseconds, of nextpnr's timings of nets."""
    longest: dict[str, dict[str, float]] = {}
    for net in timings:
        for end in net["endpoints"]:
            if end["event"] == net["event"]:
                cells = longest.setdefault(end["event"].removeprefix("posedge "), {})
                cells[end["cell"]] = max(cells.get(end["cell"], 0), round(end["delay"][1], 2))
    return longest


def place(design: Design, netlist: Path, options: PlacementOptions = PlacementOptions()) -> Path:
    """A folder with nextpnr's `report.json`, the longest path to each cell, `ends.json` (nanoseconds by clock and
    cell), its cost `placement.json`, and, if every clock is met, the routed chip `chip.config`; minutes when it has to
    be made. A miss is a result too, and cached; so is a design for which the chip has no room, or that cannot be
    routed: its report has no clocks, and the latter's has the wires still in conflict, `conflicts`.

    ToolError if nextpnr is missing or fails."""
    arguments = [f"--{design.size}", "--package", design.package, "--speed", design.speed, "--seed", str(options.seed),
                 "--placer", options.placer, "--router", options.router, "--freq", f"{design.clock_hz / 1e6:g}"]

    def build(folder: Path):
        shutil.copy(netlist / "netlist.json", folder / "netlist.json")
        shutil.copy(design.lpf, folder / "pins.lpf")
        files = ["--json", "netlist.json", "--lpf", "pins.lpf", "--textcfg", "chip.config", "--report", "report.json",
                 "--detailed-timing-report"]
        watch = Watch(options.router)
        cost, error = run("nextpnr-ecp5", [*files, *arguments], folder, f"{design.name}-nextpnr.log", watch)
        path = folder / "report.json"
        if fits(watch.use) and not watch.stuck:
            report = json.loads(path.read_text()) if path.exists() else {"fmax": {}}
            if error and not missed(report):
                raise ToolError(error)
            check_constraints(report, design.clock_hz)
        else:
            report = {"fmax": {}, "critical_paths": [], "detailed_net_timings": [], "utilization": watch.use,
                      "conflicts": watch.conflicts[-1] if watch.stuck else 0}
        if error:
            (folder / "chip.config").unlink(missing_ok=True)   # nextpnr writes it even if it misses a clock
        (folder / "ends.json").write_text(json.dumps(ends(report.pop("detailed_net_timings"))))
        path.write_text(json.dumps(report))
        (folder / "netlist.json").unlink()
        (folder / "placement.json").write_text(json.dumps({"tool": version("nextpnr-ecp5"), **asdict(cost)}))

    inputs: dict[str, Input] = {"netlist": netlist / "netlist.json", "lpf": design.lpf, "arguments": repr(arguments),
                                "tool": version("nextpnr-ecp5")}
    return cached("fpga-placement", inputs, build)


def count(design: Design, netlist: Path) -> Path:
    """A folder as from `place`, for a design that is only packed, in seconds: its report says how much of the chip it
    uses, and has no clocks. ToolError as from `place`."""
    arguments = [f"--{design.size}", "--package", design.package, "--speed", design.speed, "--pack-only"]

    def build(folder: Path):
        shutil.copy(netlist / "netlist.json", folder / "netlist.json")
        shutil.copy(design.lpf, folder / "pins.lpf")
        watch = Watch(PlacementOptions.router)
        cost, error = run("nextpnr-ecp5", ["--json", "netlist.json", "--lpf", "pins.lpf", *arguments], folder,
                          f"{design.name}-nextpnr-pack.log", watch)
        if error and fits(watch.use):
            raise ToolError(error)
        report: dict[str, object] = {"fmax": {}, "critical_paths": [], "utilization": watch.use}
        (folder / "report.json").write_text(json.dumps(report))
        (folder / "ends.json").write_text("{}")
        (folder / "netlist.json").unlink()
        (folder / "placement.json").write_text(json.dumps({"tool": version("nextpnr-ecp5"), **asdict(cost)}))

    inputs: dict[str, Input] = {"netlist": netlist / "netlist.json", "lpf": design.lpf, "arguments": repr(arguments),
                                "tool": version("nextpnr-ecp5")}
    return cached("fpga-count", inputs, build)
