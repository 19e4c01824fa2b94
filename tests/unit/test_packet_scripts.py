"""Packet scripts, and packets of a test's own, against the kernel's TCP/IP as a library (kernel/test/host/library)."""

import struct
import subprocess

import pytest

from tests import packet_scripts
from tests.host_stack import KERNELS
from tests.packet_scripts import FOLDER, LOCAL, REMOTE, Net, Script, Segment, Wrong, checksum, in_child, ip_packet

SCRIPTS = sorted(FOLDER.glob("*.pkt"))
MORE = 0x2000                                                       # of an IP header: more fragments follow


@pytest.mark.parametrize("kernel", KERNELS)
def test_scripts(kernel):
    assert SCRIPTS and packet_scripts.run_all(kernel, SCRIPTS) == []


@pytest.mark.parametrize("script, line, other, said", [
    ("order", "ack 1001\n", "ack 1002\n", "ack: > . 1:1(0) ack 1002, but sent at 0.200 s: . 1:1(0) ack 1001 win "),
    ("order", "> . 1:1(0) ack 1901", "> . 2:2(0) ack 1901", "seq: "),
    ("order", "> . 1:1(0) ack 1901", "> P. 1:1(0) ack 1901", "flags: "),
    ("order", "win 4000 <mss 1460>", "win 4001 <mss 1460>", "win: "),
    ("order", "ack 1 win 4000 <mss 1460>", "ack 1 win 4000 <mss 1461>", "options: "),
    ("order", "= 2200", "= 2199", "but it returns 2200"),
    ("order", "-1 EAGAIN", "-1 EPIPE", "but it returns -1 EAGAIN"),
    ("windows", "+1~+2 ", "+1.7~+2 ", "time: "),
    ("windows", "+1~+2 ", "+.1~+.2 ", "not sent: > . 501:502(1) ack 1"),
    ("windows", "+1~+2 > . 501:502(1) ack 1\n", "+3 read(4, ..., 1) = 0\n", "sent, and not in the script, at 1.5"),
    ("windows", "+0  > . 502:1502(1000) ack 1\n", "+0  > . 502:1501(999) ack 1\n", "length: "),
    ("urgent", "[1]) = 0", "[0]) = 0", "its value is 1, not 0"),
    ("urgent", "revents=POLLIN|POLLPRI", "revents=POLLIN", "its value is 3, not 1"),
    ("urgent", "win 65535 urg 3", "win 65535 urg 4", "but it returns 3"),
    ("urgent", "ack 6 urg 500", "ack 6 urg 501", "urg: "),
    ("mtu", "[1:1461(1460)]", "[1 to 1461]", "not understood: < icmp"),
    ("mtu", "+0  listen(3, 1) = 0", "+0  listens(3, 1) = 0", "no such call: listens"),
])
def test_what_is_not_as_the_script_says_is_told(tmp_path, script, line, other, said):
    text = (FOLDER / f"{script}.pkt").read_text()
    assert line in text
    path = tmp_path / "changed.pkt"
    path.write_text(text.replace(line, other, 1))
    wrong, = packet_scripts.run_all("connection", [path])
    assert wrong.startswith("changed.pkt: line ") and said in wrong, wrong


def fragments(data: bytes, *ends: int, number: int) -> list[bytes]:
    """The data of a packet of TCP, cut at these places."""
    starts = [0, *ends]
    return [ip_packet(6, data[start:end], number, start // 8 | (MORE if end != len(data) else 0))
            for start, end in zip(starts, [*ends, len(data)], strict=True)]


def fragments_of_segments(lib):
    """In any order, twice, over each other, and with one that is missing."""
    net = Net(lib)
    script = Script(net, """0 socket(..., SOCK_STREAM, 0) = 3
        +0 bind(3, ..., ...) = 0
        +0 listen(3, 1) = 0
        +0 < S 0:0(0) win 65535 <mss 1000>
        +0 > S. 0:0(0) ack 1 <mss 1460>
        +.1 < . 1:1(0) ack 1
        +0 accept(3, ..., ...) = 4""")
    for line in script.text.splitlines():
        script.event(line.strip())

    def segment(seq: int) -> bytes:
        data = bytes(packet_scripts.stream(seq + i, 7) for i in range(1000))
        return packet_scripts.tcp_segment((script.port, script.local_port), script.irs + seq, script.iss + 1, 16, 65535,
                                          0, b"", data)

    def acknowledged(*packets: bytes) -> int:
        for packet in packets:
            net.send(packet)
        _, packet = net.receive(300000)
        return Segment(packet).ack - script.irs if packet else 0

    first, second, last = fragments(segment(1), 400, 800, number=1)
    assert acknowledged(first, second, last) == 1001
    first, second, last = fragments(segment(1001), 8, 1016, number=2)
    assert acknowledged(last, second) == 0 and acknowledged(second, first) == 2001
    # The second says something else about 8 bytes that are there: none of the datagram is taken.
    first, second, last = fragments(segment(2001), 400, 800, number=3)
    other = ip_packet(6, bytes(8) + segment(2001)[400:800], 3, 392 // 8 | MORE)
    assert acknowledged(first, other, last) == 0 and acknowledged(second) == 0
    first, second, last = fragments(segment(2001), 400, 800, number=7)
    assert acknowledged(second, ip_packet(6, bytes(400), 7, 400 // 8 | MORE), first, last) == 0
    # Of another datagram: they do not complete each other. After 30 s all are forgotten, and the two of which the first
    # fragment is there are told of (RFC 792).
    first, second, last = fragments(segment(2001), 400, 800, number=4)
    assert acknowledged(first, *fragments(segment(2001), 400, 800, number=5)[1:]) == 0
    net.call("usleep", 40_000_000)
    assert [net.receive(0)[1][20:22] for _ in range(3)] == [bytes([11, 1])] * 2 + [b""]
    assert acknowledged(second, last) == 0
    assert acknowledged(*fragments(segment(2001), 8, number=6)) == 3001
    script.calls("read(4, ..., 5000) = 3000")
    assert Segment(net.receive(0)[1]).window == 16384
    script.ends()


@pytest.mark.parametrize("kernel", KERNELS)
def test_fragments_of_segments(kernel):
    lib = packet_scripts.library(kernel)
    assert not in_child(lambda: fragments_of_segments(lib))


def echoes_and_errors(lib):
    """An echo of several fragments comes back in fragments of at most the MTU; a datagram that no one wants is told."""
    net = Net(lib)
    echo = struct.pack(">BBHHH", 8, 0, 0, 1, 1) + bytes(i % 251 for i in range(3000))
    echo = echo[:2] + checksum(echo).to_bytes(2, "big") + echo[4:]
    for at in (1480, 2960, 0):
        net.send(ip_packet(1, echo[at:at + 1480], 9, at // 8 | (MORE if at + 1480 < len(echo) else 0)))
    answer = b""
    while packet := net.receive(0)[1]:
        assert len(packet) <= 1500 and packet[9] == 1 and not checksum(packet[:20])
        place = int.from_bytes(packet[6:8], "big")
        assert (place & 0x1fff) * 8 == len(answer) and bool(place & MORE) == (len(packet) == 1500)
        answer += packet[20:]
    assert answer[:2] == b"\0\0" and not checksum(answer) and answer[4:] == echo[4:]
    datagram = ip_packet(17, struct.pack(">HHHH", 5000, 6000, 12, 0) + b"none")
    net.send(datagram)
    told = net.receive(0)[1][20:]
    assert told[:2] == bytes([3, 3]) and not checksum(told) and told[8:36] == datagram[:28]
    net.send(told)                                                  # about nothing that was sent: not answered
    assert not net.receive(2_000_000)[1] and not net.left()


@pytest.mark.parametrize("kernel", ["serial", "krp-many"])
def test_echoes_and_errors(kernel):
    lib = packet_scripts.library(kernel)
    assert not in_child(lambda: echoes_and_errors(lib))


def test_a_program_in_c_uses_it(tmp_path):
    assert packet_scripts.main(["--library", str(tmp_path), "--kernel", "krp"]) is None
    subprocess.run(["gcc", "-Wall", "-Werror", FOLDER / "example.c", "-L.", "-linterlock-net", "-Wl,-rpath,.", "-o",
                    "example"], cwd=tmp_path, check=True)
    done = subprocess.run(["./example"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "1 1 10.1.2.3:80 at 1000000, 2501\n0 left\n1 1\n", done.stdout + done.stderr
    names = subprocess.run(["nm", "-D", "--defined-only", "libinterlock-net.so"], cwd=tmp_path, capture_output=True,
                           text=True).stdout.splitlines()
    assert {name.split()[2].split("_")[0] for name in names} == {"ilk", "packetdrill"}


def holds_a_socket(lib):
    net = Net(lib)
    net.call("socket", 2, 1, 0)
    assert net.left() == 2                                          # with its connection


def test_what_is_left_is_told():
    lib = packet_scripts.library("connection")
    assert not in_child(lambda: holds_a_socket(lib))


def test_wrong_words_are_told(tmp_path):
    assert packet_scripts.main(["--kernel", "krp-few"]).startswith("there is no network kernel 'krp-few' (kernels: ")
    assert "No such file" in packet_scripts.main(["--kernel", "connection", str(tmp_path / "none.pkt")])
    with pytest.raises(OSError, match="Invalid argument"):
        Net(packet_scripts.library("connection"), "first=x")


def test_what_is_no_segment_is_told():
    for packet in (ip_packet(1, bytes(20)), ip_packet(6, bytes(20)), ip_packet(6, bytes(20))[:-1]):
        with pytest.raises(Wrong):
            Segment(packet)
    assert LOCAL != REMOTE
