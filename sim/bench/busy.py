"""The load of the benchmarks: harts that are all busy, and how our simulator runs it."""

from pathlib import Path

from sim.bench import litex_sim

# Harts that contend for a lock and work while they hold it: no thread sleeps. The longest windows that there are.
BUSY = f"run=spinlocks hz=0 console.baud={litex_sim.CONSOLE_BAUD} section=0,100,400 pause=100 window=300000"
SYNC = "cli-spl-pessim"


def ours(simulator: Path, image: Path, bootargs: str, cycles: int, *options: str) -> list:
    """The command line of a run of our simulator, its console on standard output."""
    return [simulator, "--image", image, "--bootargs", bootargs, "--max-cycles", cycles, "--console", "tty",
            "--uart0-baud", litex_sim.CONSOLE_BAUD, "--quiet", *options]
