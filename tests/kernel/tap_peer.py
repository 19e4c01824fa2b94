"""This machine's Linux as the other end of the network, by a TAP device in a network namespace of its own:

    python -m tests.kernel.tap_peer --out build/tap [--bytes 1000000] [--tcpip krp] [--harts 2] [--sync cli-optim]

Echoes and datagrams of sizes around a frame's and around the greatest, in fragments both ways; a connection
that carries so many bytes both ways at once; every byte is checked, and the checksums of each frame of the kernel.
Where no TAP device can be made it says so, and exits with 0."""

import argparse
import os
import random
import socket
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

from sim.images.programs import build_program
from sim.wires import frames
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, command
from tests.kernel.tap_ping import PATIENCE, TARGET, answered, make_tap, namespace, wait_for_the_far_end

PORT = 7
SIZES = (0, 1, 1472, 1473, 2953, 8192, 65507)
DISTURBED = "loss 2% duplicate 2% delay 20ms reorder 10%"


class Wrong(Exception):
    """An error, in a line."""


def datagram_comes_back(content, until):
    line = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    line.connect((TARGET, PORT))
    while time.monotonic() < until:
        line.settimeout(max(1, min(60, until - time.monotonic())))
        line.send(content)
        try:
            return line.recv(65536) == content
        except TimeoutError:
            continue
    return False


def bytes_come_back(count, until):
    """Receives through a connection, while more bytes are sent: seconds."""
    content = random.Random(count).randbytes(count)
    began = time.monotonic()
    line = socket.create_connection((TARGET, PORT), until - began)
    line.settimeout(until - began)

    def send():
        line.sendall(content)
        line.shutdown(socket.SHUT_WR)

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    got = bytearray()
    while some := line.recv(65536):
        if content[len(got):len(got) + len(some)] != some:
            raise Wrong(f"of {count} bytes some differ, of {len(some)} behind {len(got)}")
        got += some
    if len(got) != count:
        raise Wrong(f"{len(got)} bytes came back of {count}")
    return time.monotonic() - began


def talk(count, until):
    """Inside the namespace, the simulator runs."""
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    for number, size in enumerate(SIZES):
        if not answered(line, number, os.urandom(size), until):
            raise Wrong(f"an echo of {size} bytes does not come back")
    print(f"echoes of {', '.join(map(str, SIZES))} bytes came back", flush=True)
    for size in SIZES:
        if not datagram_comes_back(os.urandom(size), until):
            raise Wrong(f"a datagram of {size} bytes does not come back")
    print("datagrams of the same sizes came back", flush=True)
    print(f"{count} bytes came back through a connection in {bytes_come_back(count, until):.1f} s", flush=True)
    tc = subprocess.run(["tc", "qdisc", "add", "dev", "tap0", "root", "netem", *DISTURBED.split()], capture_output=True,
                        text=True)
    if tc.returncode:
        print(f"nothing is lost on the way: this machine has no netem ({tc.stderr.strip()})", flush=True)
        return
    seconds = bytes_come_back(count // 10, until)
    print(f"{count // 10} bytes came back with {DISTURBED} in {seconds:.1f} s", flush=True)


def inside(count, words):
    make_tap()
    simulator = subprocess.Popen(words, stdin=subprocess.DEVNULL)
    until = time.monotonic() + PATIENCE + count / 2000
    try:
        wait_for_the_far_end(simulator, until)
        talk(count, until)
    except (Wrong, OSError) as error:
        simulator.kill()
        sys.exit(f"tap_peer: {error}")
    subprocess.run(["tc", "qdisc", "del", "dev", "tap0", "root"], capture_output=True)
    ends = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    while simulator.poll() is None and time.monotonic() < until:
        ends.sendto(b"end", (TARGET, PORT))
        time.sleep(1)
    sys.exit(simulator.wait(10))


def check_frames(path):
    """Counts what the kernel has sent: frames, fragments and bytes of TCP that were sent more than once."""
    seen, fragments, again, data = 0, 0, 0, set()
    for _, frame in frames.read_pcap(path):
        seen += 1
        if frame[12:14] != b"\x08\x00":
            continue
        ip = frame[14:14 + int.from_bytes(frame[16:18], "big")]
        if len(ip) > 1500 or frames.checksum(ip[:20]):
            raise Wrong(f"frame {seen} has a bad IP header")
        if int.from_bytes(ip[6:8], "big") & 0x3fff:
            fragments += 1
            continue
        behind = ip[20:]
        pseudo = b"" if ip[9] == 1 else ip[12:20] + struct.pack(">HH", ip[9], len(behind))
        if frames.checksum(pseudo + behind):
            raise Wrong(f"frame {seen} has a bad checksum")
        if ip[9] == 6 and len(behind) > (behind[12] >> 4) * 4:
            key = behind[:8]
            again += key in data
            data.add(key)
    return seen, fragments, again


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--bytes", type=int, default=1_000_000, help="each way through a connection")
    parser.add_argument("--tcpip", default="connection")
    parser.add_argument("--harts", type=int, default=1)
    parser.add_argument("--sync", default="cli-optim")
    options = parser.parse_args()
    way = namespace()
    if way is None:
        print("tap_peer: no TAP device can be made here, not even with `unshare -Urn`")
        return
    program = build_program([Path(__file__).parent / "programs/echoes.c"])
    words = command(options.out.resolve(), options.harts, options.sync, "run=user program=echoes hz=100", "file",
                    CONSOLE_BAUD, 0, 100_000_000_000, DISK_BUILDS[options.sync] | {"tcpip": options.tcpip}, None,
                    DEVICES, {"echoes": program}, hang_cycles=100_000_000_000)
    done = subprocess.run([*way, sys.executable, "-m", "tests.kernel.tap_peer", "inside", str(options.bytes), *words,
                           "--ether", "tap:tap0"], cwd=Path(__file__).parents[2])
    if done.returncode:
        sys.exit(f"tap_peer: the simulator ended with {done.returncode}: see {options.out}")
    try:
        seen, fragments, again = check_frames(options.out / "ether.pcap")
    except Wrong as error:
        sys.exit(f"tap_peer: {error}")
    print(f"the kernel sent {seen} frames with right checksums: {fragments} fragments, {again} segments again")


if __name__ == "__main__":
    if sys.argv[1:2] == ["inside"]:
        inside(int(sys.argv[2]), sys.argv[3:])
    else:
        main()
