"""TCP between two machines on one wire: programs with sockets, every byte checked, under each kernel of the network.

TCP_BYTES=65536 sends more each way, TCP_RACES=20 has more connections closed while others use them, under each kernel,
more operations of threads that race for the same sockets, and more commands of the network."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.images import programs
from sim.images.disks import ext2_image
from sim.images.kernel import OPTIONS, SCHEMES
from sim.images.programs import USER, build_program
from sim.wires import frames
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, command, ended
from tests.kernel.tap_ping import namespace

BYTES = int(os.environ.get("TCP_BYTES", "12000"))
RACES = int(os.environ.get("TCP_RACES", "1"))
# Every kernel once, every scheme, and the numbers of harts, one, two or four, at which a kernel differs most.
HARTS = {"connection": 4, "serial": 2, "global": 4, "connection-rw": 1, "krp-classic": 2, "krp": 1, "krp-many": 4}
CASES = [(SCHEMES[n % len(SCHEMES)], kernel, HARTS[kernel]) for n, kernel in enumerate(OPTIONS["tcpip"].choices)]
RACED = ("connection", "serial", "krp-classic", "krp-many")     # whose connections race in the short form
WIRES = ["--wire", "0.ether:1.ether:600", "--wire", "1.ether:0.ether:600"]
PROGRAMS = Path(__file__).parent / "programs"
SERVER, PORT = "10.0.0.2", 7
FIN, SYN, RST = 1, 2, 4


def files():
    return {name: build_program([USER / f"commands/{name}.c"]) for name in ("tcptest", "sockrace")}


def transfer(folder, sync, kernel, harts, size, *options, of_bytes=BYTES, connections=1, max_cycles=90_000_000):
    """`tcptest` on two nodes: what each printed as @tcptest, and the segments of each, (us, flags, seq, bytes)."""
    both = f"run=user hz=1000 program=tcptest console.baud={CONSOLE_BAUD} args="
    words = command(folder, harts, sync, both, "file", CONSOLE_BAUD, 0, max_cycles,
                    DISK_BUILDS[sync] | {"tcpip": kernel}, None, DEVICES, files(), hang_cycles=100_000_000)
    done = subprocess.run([*words, "--nodes", "2", *WIRES, "--node", f"0:bootargs={both}serve,{PORT},{connections}",
                           "--node", f"1:bootargs={both}call,{SERVER},{PORT},{of_bytes},{size}", *map(str, options)],
                          capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = "\n".join((folder / f"node-{node}/console.txt").read_text() for node in (0, 1))
    assert done.returncode == 0, done.stdout + done.stderr + said
    record = json.loads((folder / "run.json").read_text())
    return ([node["results"]["tcptest"][0] for node in record["nodes"]],
            [segments(folder / f"node-{node}/ether.pcap") for node in (0, 1)])


def segments(path):
    found = []
    for at, frame in frames.read_pcap(path):
        if frame[12:14] == b"\x08\x00" and frame[23] == 6:
            ip = frame[14:14 + int.from_bytes(frame[16:18], "big")]
            tcp = ip[20:]
            assert not frames.checksum(ip[:20])
            assert not frames.checksum(ip[12:20] + bytes([0, 6]) + len(tcp).to_bytes(2, "big") + tcp)
            found.append((at, tcp[13], int.from_bytes(tcp[4:8], "big"), len(tcp) - (tcp[12] >> 4) * 4))
    return found


def booted(folder, sync, kernel, harts, program, more, *options, bootargs=""):
    """How a program alone on the machine ended."""
    bootargs = f"run=user program={program} hz=1000 console.baud={CONSOLE_BAUD} {bootargs}".strip()
    words = command(folder, harts, sync, bootargs, "file",
                    CONSOLE_BAUD, 0, 400_000_000, DISK_BUILDS[sync] | {"tcpip": kernel}, None, DEVICES, more,
                    hang_cycles=100_000_000)
    done = subprocess.run([*words, *options], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return ended(folder, done.returncode, done.stdout + done.stderr)


@pytest.mark.parametrize("sync, kernel, harts", [("cli-optim", "connection", 1), ("spl-pessim", "krp", 1)][:RACES])
def test_calls_answer_odd_arguments(tmp_path, sync, kernel, harts):
    run = booted(tmp_path, sync, kernel, harts, "sockets",
                 {"sockets": build_program([Path(__file__).parent / "programs/sockets.c"])})
    assert run.status == 0 and run.result("sockets")["wrong"] == 0, run.report()


def test_connections_go_on_while_packets_have_no_memory(tmp_path):
    run = booted(tmp_path, "spl-optim", "connection", 2, "buffers",
                 {"buffers": build_program([Path(__file__).parent / "programs/buffers.c"])},
                 bootargs="net.clusters=700")
    assert run.status == 0 and run.result("buffers")["wrong"] == 0, run.report()


NAMES = {
    "etc/hosts": b"# hosts\n10.0.0.9 printer.office printer # upstairs\n",
    "etc/services": b"cvspserver 2401/tcp\nhttp 80/tcp www # the web\n",
    "etc/resolv.conf": b"nameserver 127.0.0.1\nsearch test\noptions timeout:1 attempts:3\n",
}


def test_names_are_found_in_files_and_by_a_server_that_may_be_late_wrong_or_dead(tmp_path):
    program = build_program([Path(__file__).parent / "programs/resolver.c"])
    run = booted(tmp_path, "cli-optim", "connection", 1, "resolver root=disk0", {"resolver": program}, "--disk",
                 f"{ext2_image(NAMES, 512, 32)},profile=fast")
    assert run.status == 0 and run.result("resolver")["wrong"] == 0, run.report()


@pytest.mark.parametrize("sync, kernel, harts", [("cli-optim", "connection", 1)])
def test_the_networks_commands_say_what_is_there(tmp_path, sync, kernel, harts):
    """A shell on node 1 beside a node that answers echoes, and is the next hop to other networks."""
    net = f"run=net hz=100 ms=100000 echoes={7 if RACES > 1 else 3} console.baud={CONSOLE_BAUD}"
    words = command(tmp_path, harts, sync, net, "file", CONSOLE_BAUD, 0, 4_000_000_000,
                    DISK_BUILDS[sync] | {"tcpip": kernel}, ("net", "user"), DEVICES, shell("network.sh"),
                    hang_cycles=200_000_000)
    script = f"run=user program=sh args=network.sh{',all' * (RACES > 1)} hz=100 console.baud={CONSOLE_BAUD}"
    done = subprocess.run([*words, "--nodes", "2", *WIRES, "--node", f"1:bootargs={script}"], capture_output=True,
                          text=True, stdin=subprocess.DEVNULL)
    said = done.stdout + done.stderr + (tmp_path / "node-1/console.txt").read_text()
    record = json.loads((tmp_path / "run.json").read_text())
    (result,) = record["nodes"][1]["results"]["network"]
    assert not result["failed"] and result["checks"] == (29 if RACES > 1 else 12), said
    gone = [frame for _, frame in frames.read_pcap(tmp_path / "node-1/ether.pcap")
            if frame[12:14] == b"\x08\x00" and frame[30:33] == bytes([192, 168, 7])]
    assert {frame[:6] for frame in gone} == {bytes([2, *b"ILK", 0, 2])} and {frame[33] for frame in gone} == {7}


def shell(script):
    return programs.commands() | {script: PROGRAMS / script}


@pytest.mark.skipif(namespace() is None, reason="no TAP device can be made here, not even with `unshare -Urn`")
def test_linux_routes_and_redirects(tmp_path):
    sync = "cli-optim"
    words = command(tmp_path, 1, sync, f"run=user program=sh args=routes.sh hz=100 console.baud={CONSOLE_BAUD}",
                    "file", CONSOLE_BAUD, 0, 10_000_000_000, DISK_BUILDS[sync] | {"tcpip": "connection"},
                    ("net", "user"), DEVICES, shell("routes.sh"), hang_cycles=2_000_000_000)
    script = [sys.executable, str(Path(__file__).with_name("tap_routes.py"))]
    done = subprocess.run([*namespace(), *script, *words, "--ether", "tap:tap0"], capture_output=True, text=True)
    run = ended(tmp_path, done.returncode, done.stdout + done.stderr)
    assert run.status == 0 and run.result("routes")["failed"] == 0, run.report()


@pytest.mark.parametrize("sync, kernel, harts", CASES)
def test_bytes_arrive_as_they_were_sent_both_ways(tmp_path, sync, kernel, harts):
    (server, client), sent = transfer(tmp_path, sync, kernel, harts, 1000)
    assert server["bytes"] == client["bytes"] == BYTES
    for of_node in sent:
        assert sum(bool(flags & FIN) for _, flags, _, _ in of_node) == 1
        # Nothing was lost, so nothing was sent twice, and resets were sent only before the server listened.
        data = [seq for _, _, seq, length in of_node if length]
        assert len(data) == len(set(data)) and sum(length for _, _, _, length in of_node) == BYTES
    assert sum(bool(flags & RST) for _, flags, _, _ in sent[0]) == client["tries"]
    assert not any(flags & RST for _, flags, _, _ in sent[1])


@pytest.mark.parametrize("sync, kernel, harts", [case for case in CASES if RACES > 1 or case[1] in RACED])
def test_connections_close_whoever_uses_them(tmp_path, sync, kernel, harts):
    """Over the loop-back: ends close, shut down and reset while others send, receive and connect; nothing wrong is
    delivered, and all packets' buffers are free at the end."""
    boot = booted(tmp_path, sync, kernel, harts, f"netrace args={RACES},3", files())
    raced = boot.result("netrace")
    assert boot.status == 0 and not raced["lost"] and raced["connections"] >= RACES, boot.report()


@pytest.mark.parametrize("sync, kernel", [case[:2] for case in CASES if "lock_debug" in DISK_BUILDS[case[0]]][:1])
def test_threads_race_for_the_same_sockets(tmp_path, sync, kernel):
    """Over the loop-back, with the locks checked: threads open, write, read, poll, shut down and close sockets of one
    table; every error is one of a socket's states, and all packets' buffers and connections are free at the end."""
    boot = booted(tmp_path, sync, kernel, 2, f"sockrace args={RACES * 40},4,reset", files())
    raced = boot.result("sockrace")
    assert boot.status == 0 and raced["accepted"] and raced["bytes"], boot.report()
    assert not raced["lost"] and not raced["left"], boot.report()


def test_what_a_pulled_cable_loses_is_sent_again(tmp_path):
    """The first time after a second at least (RFC 6298, 2.4)."""
    _, whole = transfer(tmp_path / "whole", "cli-optim", "connection", 1, 1000)
    begin = int([at for at, _, _, length in whole[1] if length][2] * 60)      # cycles: with the third segment under way
    (server, client), sent = transfer(tmp_path / "cut", "cli-optim", "connection", 1, 1000, "--node",
                                      f"1:ether-unplug={begin}:{begin + 1_600_000}", max_cycles=200_000_000)
    assert server["bytes"] == client["bytes"] == BYTES
    again = [[seq for _, _, seq, length in of_node if length] for of_node in sent]
    assert any(len(data) > len(set(data)) for data in again), "nothing was lost: the cable was pulled too late"
    assert max(server["us"], client["us"] + client["back_us"]) > 900_000


@pytest.mark.parametrize("size", (1, 4096))
def test_writes_of_any_size(tmp_path, size):
    """Small writes share segments: no small segment is sent while another is under way (RFC 1122, 4.2.3.4)."""
    of_bytes = 1500 if size == 1 else BYTES
    _, sent = transfer(tmp_path, "cli-optim", "connection", 1, size, of_bytes=of_bytes)
    lengths = [length for _, _, _, length in sent[1] if length]
    assert sum(lengths) == of_bytes and len(lengths) < of_bytes / 8
