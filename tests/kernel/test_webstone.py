"""The web server and WebStone's clients on two machines: the programs' output, and the traffic on the wire.

WEBSTONE=8,8,100 is a longer run: workers, clients, requests."""

import os
import re
import subprocess
from collections import Counter

import pytest

from sim.images.disks import WEBSTONE_SIZES, webstone, webstone_file
from sim.images.kernel import SCHEMES
from sim.wires import frames
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, command

WORKERS, CLIENTS, REQUESTS = map(int, os.environ.get("WEBSTONE", "2,3,4").split(","))
# Kernels as in the tests of TCP.
CASES = [("cli-optim", "connection", 1), *([(sync, "connection", 1) for sync in SCHEMES if sync != "cli-optim"]
                                           if "WEBSTONE" in os.environ else [])]


def sent_from(path, port):
    """The host's bytes from `port`, by the other side's port: those of each connection in order."""
    segments = {}
    for _, frame in frames.read_pcap(path):
        if frame[12:14] == b"\x08\x00" and frame[23] == 6:
            tcp = frame[34:14 + int.from_bytes(frame[16:18], "big")]
            source, to = (int.from_bytes(tcp[at:at + 2], "big") for at in (0, 2))
            data = tcp[(tcp[12] >> 4) * 4:]
            if source == port and data:
                segments.setdefault(to, {})[int.from_bytes(tcp[4:8], "big")] = data
    streams = []
    for of_port in segments.values():
        first = min(of_port, key=lambda seq: (seq - next(iter(of_port)) + (1 << 31)) & 0xffff_ffff)
        stream = b""
        for seq in sorted(of_port, key=lambda seq: (seq - first) & 0xffff_ffff):
            at = (seq - first) & 0xffff_ffff
            assert at <= len(stream), "a piece is missing"
            stream = stream[:at] + of_port[seq]
        streams.append(stream)
    return streams


@pytest.mark.parametrize("sync, kernel, harts", CASES)
def test_each_file_comes_whole(tmp_path, sync, kernel, harts):
    cycles = 20_000_000 + 4_000_000 * REQUESTS
    words = command(tmp_path, harts, sync, f"run=webstone hz=1000 root=disk0 console.baud={CONSOLE_BAUD} "
                    f"net.mbits=100 args={WORKERS},{CLIENTS},{REQUESTS}", "file", CONSOLE_BAUD, 0, cycles,
                    DISK_BUILDS[sync] | {"tcpip": kernel}, None, DEVICES, hang_cycles=cycles)
    done = subprocess.run([*words, "--nodes", "2", "--wire", "0.ether:1.ether:600", "--wire", "1.ether:0.ether:600",
                           "--ether-mbits", "100", "--disk", f"{webstone()},profile=fast"], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    said = "\n".join(path.read_text() for path in sorted(tmp_path.glob("node-*/console.txt")))
    assert done.returncode == 0, done.stdout + done.stderr + said
    found = {kind: {name: int(value) for name, value in re.findall(r"(\w+)=(\d+)", rest)}
             for kind, rest in re.findall(r"^@(\w+) (.*)$", said, re.M)}
    assert found["httpd"] | {"bytes": 0} == {"workers": WORKERS, "connections": REQUESTS, "requests": REQUESTS,
                                             "bytes": 0, "refused": 0, "died": 0}, said
    assert (found["webstone"]["requests"], found["webstone"]["bytes"]) == (REQUESTS, found["httpd"]["bytes"]), said

    files = {size: webstone_file(size) for size in WEBSTONE_SIZES.values()}
    answers = sent_from(tmp_path / "node-0/ether.pcap", 80)
    came = Counter()
    for answer in answers:
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n") and f"\r\nContent-Length: {len(body)}\r\n".encode() in head
        assert body == files[len(body)]
        came[len(body)] += 1
    assert sum(came.values()) == REQUESTS and sum(size * n for size, n in came.items()) == found["httpd"]["bytes"]
