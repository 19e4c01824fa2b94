"""How fast waiting is simulated: `python -m sim.bench.sleeping`. All harts are in WFI but for one interrupt in 10,000
cycles, whose handler takes fewer than 100 (sleeping.S): our simulator, which leaves idle cycles out, beside LiteX's."""

import argparse
import json
import re
import statistics
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from firmware.build import MACHINE, TOOLS, run
from sim.bench import litex_sim
from sim.bench.image import main_ram
from sim.bench.run import measure as timed
from sim.model.build import build_simulator
from sim.model.toolchain import tool_versions
from soc.build import generate_soc
from soc.config import SoCConfig

PERIOD = 10_000
HANDLER = 100            # cycles that the handler may take, from the wire on
CYCLES = 200_000_000     # of our run: start-up is at most a hundredth of it
BOOT = 100_000


def ours(simulator: Path, image: Path, cycles: int, *options: str) -> list:
    """The command of a run of ours. No input is typed: a user's time would run away."""
    return [simulator, "--image", image, "--max-cycles", cycles, "--console", "none", "--hang-cycles", "0", "--quiet",
            *options]


def build_image(config: SoCConfig, folder: Path) -> Path:
    """sleeping.S as an image of the machine."""
    header = (generate_soc(config).include / "generated" / "mem.h").read_text()
    base = re.search(r"#define CLINT_BASE (0x[0-9a-f]+)", header)
    assert base, "the memory map has a CLINT"
    image = folder / "sleeping.elf"
    run(TOOLS + "gcc", *MACHINE, f"-DPERIOD={PERIOD}", f"-DCLINT_BASE={base[1]}", "-Wl,-n,-Ttext=0x40000000",
        "-Wl,--build-id=none", Path(__file__).parent / "sleeping.S", "-o", image)
    return image


def busy_cycles(simulator: Path, image: Path, folder: Path) -> float:
    """Cycles for each interrupt in which hart 0 was not waiting, with none left out."""
    spent = []
    for cycles in (BOOT, BOOT + 10 * PERIOD):
        timed([*ours(simulator, image, cycles, "--no-skip"), "--out", folder / "run"], folder, cycles)
        harts = json.loads((folder / "run" / "run.json").read_text())["harts"]
        spent.append(cycles - harts[0]["statistics"]["wfi_cycles"])
    return (spent[1] - spent[0]) / 10


def measure(harts: int, rounds: int) -> dict:
    """Measures both simulators in turn, by processor time of whole runs."""
    config = SoCConfig(harts=harts)
    simulator, litex = build_simulator(config), litex_sim.build(config, litex_sim.CYCLES, tool_versions())
    nanoseconds: dict[str, list[float]] = {"litex": [], "ours": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        image = build_image(config, folder)
        handler = busy_cycles(simulator, image, folder)
        if not 0 < handler <= HANDLER:
            raise SystemExit(f"error: an interrupt takes {handler:.0f} cycles: no measure of waiting")
        command = litex_sim.prepare(litex, folder / "litex", main_ram(image, ""))
        for _ in range(rounds):
            nanoseconds["litex"].append(timed(command, folder / "litex", litex_sim.CYCLES).nanoseconds)
            nanoseconds["ours"].append(timed(ours(simulator, image, CYCLES), folder, CYCLES).nanoseconds)
    ratios = [a / b for a, b in zip(*nanoseconds.values(), strict=True)]
    return {"harts": harts, "handler": handler, "ratio": statistics.median(ratios), "ratios": ratios,
            **{f"{who}_mcycles_per_second": 1e3 / statistics.median(values) for who, values in nanoseconds.items()}}


def show(results: list[dict], console: Console):
    table = Table(title=f"All harts in WFI, one interrupt in {PERIOD:,} cycles: million cycles per second of processor "
                        "time, medians")
    for name in ("harts", "LiteX", "ours", "ratio", "least to greatest", "cycles of an interrupt"):
        table.add_column(name, justify="right")
    for r in results:
        table.add_row(str(r["harts"]), f"{r['litex_mcycles_per_second']:.2f}", f"{r['ours_mcycles_per_second']:.1f}",
                      f"{r['ratio']:.0f}", f"{min(r['ratios']):.0f} to {max(r['ratios']):.0f}", f"{r['handler']:.0f}")
    console.print(table)


def main():
    parser = argparse.ArgumentParser(prog="python -m sim.bench.sleeping", description=__doc__.split(":")[0])
    parser.add_argument("--harts", default="1,2,4", help="machines, with commas between (1,2,4)")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each simulator, in turn (3)")
    options = parser.parse_args()
    show([measure(int(harts), options.rounds) for harts in options.harts.split(",")], Console())


if __name__ == "__main__":
    main()
