"""The call graph by which layout `profile` orders a kernel's functions: calls, and the cycles spent in each.

The kernel, in the link's own order, runs the experiments' measurements while the simulator counts every cycle by call
stack (`sim --flame`). ld.lld places callers next to callees by that graph (--call-graph-ordering-file, cdsort).
"""

import subprocess
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from sim.images import kernel
from sim.wires.frames import Flood
from soc.config import SoCConfig
from support.cache import Input, cached

CALLS = "calls.txt"
BAUD = 6_000_000
MOST_CYCLES = 60_000_000
# Boot arguments, for each kind of machine.
LOADS = ("run=intr-latency hz=0 samples=4 section=200", "run=switch-floor hz=0 iterations=100", "run=syscall-cost hz=0",
         "run=vm-cost hz=0 pages=4")
DISK_LOADS = ("run=file-cost hz=0 bufs=256 iterations=50 reads=50",)
ETHER_LOADS = ("run=net hz=100 echoes=16 ms=100000 net.mbits=10",)
FRAMES = "16,us=2400,bytes=64,mbits=10"
DISK_BYTES = 1 << 20


def loads(config: SoCConfig):
    """The runs of this machine's kernel for its profile."""
    return LOADS + DISK_LOADS * bool(config.disks) + ETHER_LOADS * bool(config.ethers)


def calls_of(stacks: Iterable[str]) -> Counter:
    """(caller, callee) -> cycles in the callee, from the lines of a `--flame` file."""
    calls: Counter = Counter()
    for line in stacks:
        names, _, cycles = line.rpartition(" ")
        for caller, callee in [names.split(";")[-2:]] if ";" in names else []:
            if caller != callee and " " not in caller + callee:
                calls[caller, callee] += int(cycles)
    return calls


def calls(config: SoCConfig, sync: str, options: dict) -> Path:
    """The file with a line `caller callee weight` for each pair that was seen; made if it is not in the cache."""
    from sim.model.build import build_simulator
    if not isinstance(config, SoCConfig):
        raise kernel.KernelError("layout=profile: a profile is made in the simulator, give a simulated machine or "
                                 "another layout")
    config = replace(config, harts=1)
    linked = dict(options) | {"layout": "0"}
    objects = kernel.kernel_objects(config, sync, linked)
    simulator = build_simulator(config)

    def build(out: Path):
        seen: Counter = Counter()
        (out / "drive").write_bytes(bytes(DISK_BYTES))
        (out / "frames").write_bytes(Flood.of(FRAMES).pcap())
        devices = ["--disk", f"{out / 'drive'},profile=fast"] * config.disks
        if config.ethers:
            devices += ["--ether-in", str(out / "frames"), "--ether-mbits", str(Flood.of(FRAMES).mbits)]
        for number, bootargs in enumerate(loads(config)):
            image = kernel.build_kernel(config, sync, options=linked, runs=kernel.runs_of(bootargs))
            folder = out / str(number)
            folder.mkdir()
            done = subprocess.run([
                simulator, "--image", image, "--out", folder, "--flame", folder / "stacks.folded", "--uart0-baud",
                str(BAUD), "--bootargs", f"{bootargs} console.baud={BAUD}", "--max-cycles", str(MOST_CYCLES), "--quiet",
                *devices], capture_output=True, text=True, stdin=subprocess.DEVNULL)
            if done.returncode:
                raise kernel.KernelError(f"layout=profile: {bootargs}: {done.stderr.strip().splitlines()[-1:]}")
            seen += calls_of((folder / "stacks.folded").read_text().splitlines())
        text = "".join(f"{caller} {callee} {weight}\n" for (caller, callee), weight in sorted(seen.items()))
        (out / CALLS).write_text(text)
        kernel._keep(out, lambda path: path.name == CALLS)

    inputs: dict[str, Input] = {"objects": objects.resolve().name, "simulator": simulator.resolve().parent.name,
                                "loads": repr((loads(config), FRAMES, DISK_BYTES)), "how": Path(__file__)}
    return cached(f"kernel-profile-{sync}", inputs, build) / CALLS
