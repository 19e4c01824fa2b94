"""`python tap_ping.py COMMAND...` in a network namespace of its own: makes tap0, runs the simulator's command,
and has this machine's own IP send echoes to 10.0.0.2. Exits with 0 if each came back unchanged."""

import os
import socket
import struct
import subprocess
import sys
import time
from pathlib import Path

TARGET, NUMBER, PATIENCE = "10.0.0.2", 0x494c, 240
SIZES = (56, 1016, 1400)


def checksum(data):
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def request(number, content):
    message = struct.pack(">BBHHH", 8, 0, 0, NUMBER, number) + content
    return message[:2] + struct.pack(">H", checksum(message)) + message[4:]


def answered(line, number, content, until):
    """Asks again each half minute: the target may still boot."""
    while time.monotonic() < until:
        line.sendto(request(number, content), (TARGET, 0))
        again = time.monotonic() + 30
        while (left := again - time.monotonic()) > 0:
            line.settimeout(left)
            try:
                packet = line.recv(65536)
            except TimeoutError:
                break
            message = packet[(packet[0] & 15) * 4:]
            kind, code, _, identity, sequence = struct.unpack(">BBHHH", message[:8])
            if (kind, code, identity, sequence) == (0, 0, NUMBER, number):
                return message[8:] == content and checksum(message) == 0
    return False


def wait_for_the_far_end(simulator, until):
    """Packets sent before the simulator has opened the device are lost; a request is repeated half a minute later."""
    def opened():
        told = subprocess.run(["ip", "link", "show", "tap0"], check=True, capture_output=True, text=True).stdout
        return "LOWER_UP" in told

    while not opened() and simulator.poll() is None and time.monotonic() < until:
        time.sleep(0.05)


def namespace():
    """The words that run a command in a network namespace with TAP devices, or None where that is not allowed."""
    for words in (["unshare", "-n"], ["unshare", "-Urn"]):
        trial = subprocess.run([*words, "ip", "tuntap", "add", "mode", "tap", "tap0"], capture_output=True)
        if trial.returncode == 0:
            return words
    return None


def make_tap():
    for words in ("link set lo up", "tuntap add mode tap tap0", "addr add 10.0.0.1/24 dev tap0", "link set tap0 up"):
        subprocess.run(["ip", *words.split()], check=True)
    # The target may still boot: ARP repeats its request soon, and for long, before an echo is given up.
    for name, value in (("retrans_time_ms", 100), ("mcast_solicit", 10 * PATIENCE)):
        Path("/proc/sys/net/ipv4/neigh/tap0", name).write_text(str(value))


def main():
    make_tap()
    simulator = subprocess.Popen(sys.argv[1:], stdin=subprocess.DEVNULL)
    line = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
    until = time.monotonic() + PATIENCE
    wait_for_the_far_end(simulator, until)
    right = [answered(line, number, os.urandom(size), until) for number, size in enumerate(SIZES)]
    if not all(right):
        simulator.kill()
        sys.exit(f"answers: {right}")
    sys.exit(simulator.wait(PATIENCE))     # it knows the number of echoes


if __name__ == "__main__":
    main()
