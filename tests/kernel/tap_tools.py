"""Well-known programs of this machine's Linux against the kernel's network, by a TAP device in a namespace of its own:

    python -m tests.kernel.tap_tools --out build/tools [--tcpip krp] [--harts 2] [--sync cli-optim]

curl fetches files, which are compared; wrk asks for as many as it can for some seconds; nuttcp, a port of which is the
other end, sends both ways by TCP and to the machine by UDP; tshark looks at all frames of the kernel: none may be
malformed or have a bad checksum. It prints a line each. Where no TAP device can be made it says so, and exits with 0;
what is not installed (Debian: curl, wrk, nuttcp, tshark) is named, and the exit status is 1."""

import argparse
import os
import random
import re
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

from sim.images.programs import build_port, ports
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, command
from tests.kernel.tap_ping import PATIENCE, TARGET, answered, make_tap, namespace, wait_for_the_far_end

TOOLS = ("curl", "wrk", "nuttcp", "tshark")
FILES = {"empty": 0, "one": 1, "segment": 1460, "page": 4096, "large": 50_000}
SECONDS = 20            # of this machine, in which the target's clock goes a second at best
SENT_KB = 100           # by nuttcp, each way
MOST_LOST = 10          # per cent of datagrams


class Wrong(Exception):
    """An error, in a line."""


def said(*words, limit=PATIENCE):
    """A tool's output; Wrong if it fails or takes too long."""
    try:
        done = subprocess.run([*map(str, words)], capture_output=True, text=True, stdin=subprocess.DEVNULL,
                              timeout=limit)
    except subprocess.TimeoutExpired as error:
        raise Wrong(f"{words[0]} has not ended after {limit} s") from error
    if done.returncode:
        raise Wrong(f"{words[0]} ends with {done.returncode}: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def contents():
    """The files that the target serves, name -> bytes."""
    return {name: random.Random(name).randbytes(size) for name, size in FILES.items()}


def web():
    """curl and wrk against httpd."""
    ready()
    for name, content in contents().items():
        got = Path(f"got-{name}")
        said("curl", "-sS", "--fail", "--retry", "5", "--retry-connrefused", "-o", got, f"http://{TARGET}/{name}")
        if got.read_bytes() != content:
            raise Wrong(f"curl got other bytes of {name}")
    print(f"curl: files of {', '.join(f'{size:,}' for size in FILES.values())} bytes are right", flush=True)
    told = said("wrk", "-t", 1, "-c", 4, "-d", f"{SECONDS}s", "--timeout", "60s", f"http://{TARGET}/segment")
    requests = re.search(r"(\d+) requests in", told)
    if not requests or not int(requests[1]) or "Socket errors" in told or "Non-2xx" in told:
        raise Wrong(f"wrk: {' '.join(told.split())}")
    print(f"wrk: {requests[1]} requests by 4 connections in {SECONDS} s, no error", flush=True)


def throughput():
    """nuttcp of this machine against the port: to the target and from it, TCP, then UDP."""
    ready()
    for way, what in ((["-t"], "TCP to the kernel"), (["-r"], "TCP from it"), (["-t", "-u", "-R100k"], "UDP to it")):
        told = measured(*way, "-v", "-l1024", f"-n{SENT_KB}", TARGET)
        lost = re.search(r"([\d.]+)% data loss", told)
        if not re.search(r"[\d.]+ MB", told) or ("-u" in way and (not lost or float(lost[1]) > MOST_LOST)):
            raise Wrong(f"nuttcp: {' '.join(told.split())[-300:]}")
        print(f"nuttcp: {SENT_KB} KB, {what}{f', {lost[1]} % lost' if lost else ''}", flush=True)


def measured(*words):
    """What nuttcp says, as soon as the server listens: the interface answers before, and between two clients."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return said("nuttcp", *words)
        except Wrong as error:
            if "Connection refused" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(1)


def ready():
    """Waits until the target's interface answers."""
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    if not answered(line, 1, bytes(56), time.monotonic() + PATIENCE):
        raise Wrong(f"{TARGET} does not answer")


STAGES = {"web": web, "throughput": throughput}


def inside(stage, words):
    """In the namespace: the simulator, and the tools against it."""
    make_tap()
    simulator = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    try:
        wait_for_the_far_end(simulator, time.monotonic() + PATIENCE)
        STAGES[stage]()
    except (Wrong, OSError) as error:
        sys.exit(f"tap_tools: {error}")
    finally:
        simulator.terminate()
        simulator.wait(30)


def frames_of(path):
    """How many frames tshark finds in a capture; Wrong if one is malformed or has a bad checksum."""
    checks = [word for name in ("ip", "tcp", "udp") for word in ("-o", f"{name}.check_checksum:TRUE")]
    bad = said("tshark", "-r", path, *checks, "-Y", "_ws.malformed || ip.checksum.status == Bad || "
               "tcp.checksum.status == Bad || udp.checksum.status == Bad || icmp.checksum.status == Bad")
    if bad.strip():
        raise Wrong(f"tshark: {bad.splitlines()[0]}")
    return len(said("tshark", "-r", path).splitlines())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--tcpip", default="connection")
    parser.add_argument("--harts", type=int, default=1)
    parser.add_argument("--sync", default="cli-optim")
    options = parser.parse_args()
    if missing := [name for name in TOOLS if not shutil.which(name)]:
        sys.exit(f"tap_tools: install {', '.join(missing)}: apt-get install {' '.join(missing)}")
    way = namespace()
    if way is None:
        print("tap_tools: no TAP device can be made here, not even with `unshare -Urn`")
        return
    served = options.out.resolve() / "served"
    served.mkdir(parents=True, exist_ok=True)
    for name, content in contents().items():
        (served / name).write_bytes(content)
    httpd, nuttcp = (build_port(ports()[name]) for name in ("httpd", "nuttcp"))
    runs = {"web": ("httpd args=-w,4,-t,600,/", {"httpd": httpd} | {name: served / name for name in FILES}),
            "throughput": ("nuttcp args=-S,--nofork", {"nuttcp": nuttcp})}
    for stage, (program, files) in runs.items():
        folder = options.out.resolve() / stage
        words = command(folder, options.harts, options.sync, f"run=user program={program} hz=100", "file",
                        CONSOLE_BAUD, 0, 100_000_000_000, DISK_BUILDS[options.sync] | {"tcpip": options.tcpip}, None,
                        DEVICES, files, hang_cycles=100_000_000_000)
        done = subprocess.run([*way, sys.executable, "-m", "tests.kernel.tap_tools", "inside", stage, *words, "--ether",
                               "tap:tap0"], cwd=folder, env=os.environ | {"PYTHONPATH": str(Path.cwd())})
        if done.returncode:
            sys.exit(f"tap_tools: {stage} failed: see {folder}")
        try:
            print(f"tshark: {frames_of(folder / 'ether.pcap')} frames of the kernel, none malformed or with a bad "
                  "checksum")
        except Wrong as error:
            sys.exit(f"tap_tools: {error}")


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(sys.argv[2], sys.argv[3:])
    else:
        main()
