"""Ethernet frames and files of them: those sent to the kernel, and its expected answers."""

import random
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

US, PEER, BROADCAST = bytes.fromhex("02494c4b0002"), bytes.fromhex("020000000001"), b"\xff" * 6
OUR_IP, PEER_IP = 0x0a000002, 0x0a000001
IP, ARP = 0x0800, 0x0806
NANOSECONDS = 0xa1b23c4d
FCS = 1 << 26 | 2 << 28     # in the header's link type: frames have an FCS, of two 16-bit words


def checksum(data: bytes) -> int:
    """RFC 1071."""
    data += b"\0" * (len(data) % 2)
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ethernet(payload: bytes, kind: int = IP, to: bytes = US, source: bytes = PEER) -> bytes:
    return to + source + struct.pack(">H", kind) + payload


def ipv4(payload: bytes, protocol: int = 1, source: int = PEER_IP, to: int = OUR_IP, number: int = 0, fragment: int = 0,
         options: bytes = b"", length: int | None = None, wrong: int = 0) -> bytes:
    """An IP packet; `length` a false total length, `wrong` added to its checksum."""
    words = 5 + len(options) // 4
    header = struct.pack(">BBHHHBBHII", 0x40 | words, 0, length if length is not None else 4 * words + len(payload),
                         number, fragment, 64, protocol, 0, source, to) + options
    return header[:10] + struct.pack(">H", checksum(header) + wrong & 0xffff) + header[12:] + payload


def icmp(kind: int, number: int, content: bytes, code: int = 0, wrong: int = 0) -> bytes:
    message = struct.pack(">BBHHH", kind, code, 0, 7, number) + content
    return message[:2] + struct.pack(">H", checksum(message) + wrong & 0xffff) + message[4:]


def echo(number: int, size: int = 56, **ip) -> bytes:
    """A frame with an echo request of `size` bytes."""
    return ethernet(ipv4(icmp(8, number, random.Random(number).randbytes(size)), number=number, **ip))


def answer(request: bytes) -> bytes:
    """The expected answer."""
    header = 4 * (request[14] & 15)
    length = struct.unpack(">H", request[16:18])[0]
    message = request[14 + header:14 + length]
    number, content = struct.unpack(">H", message[6:8])[0], message[8:]
    packet = ipv4(icmp(0, number, content), number=struct.unpack(">H", request[18:20])[0], source=OUR_IP, to=PEER_IP)
    return ethernet(packet, to=PEER, source=US).ljust(60, b"\0")


def arp(operation: int = 1, source: bytes = PEER, source_ip: int = PEER_IP, to_ip: int = OUR_IP) -> bytes:
    payload = struct.pack(">HHBBH", 1, IP, 6, 4, operation) + source + struct.pack(">I", source_ip) + bytes(6)
    return ethernet(payload + struct.pack(">I", to_ip), ARP, to=BROADCAST, source=source)


def arp_answer() -> bytes:
    payload = struct.pack(">HHBBH", 1, IP, 6, 4, 2) + US + struct.pack(">I", OUR_IP) + PEER + struct.pack(">I", PEER_IP)
    return ethernet(payload, ARP, to=PEER, source=US).ljust(60, b"\0")


def udp(port: int, content: bytes, number: int = 0) -> bytes:
    return ethernet(ipv4(struct.pack(">HHHH", 4000, port, 8 + len(content), 0) + content, protocol=17, number=number))


@dataclass(frozen=True)
class Flood:
    """Frames at an even rate for a run of an experiment: `count` of them, one every `us` microseconds after a request
    for the kernel's address, each with an ICMP or UDP message of `size` bytes, 8 of which are its header."""

    count: int
    us: int
    size: int
    protocol: str = "echo"      # or udp, to a port that no socket has
    mbits: int = 100            # of the wire

    @classmethod
    def of(cls, text: str) -> "Flood":
        """From "COUNT,us=N,bytes=N|frame=N[,protocol=echo|udp][,mbits=10|100|1000]", `bytes` of the message or `frame`
        of the frame without FCS; ValueError in one line."""
        count, *rest = text.split(",")
        given = dict(part.partition("=")[::2] for part in rest)
        protocol = given.pop("protocol", "echo")
        try:
            numbers = {name: int(value) for name, value in given.items()}
            if "frame" in numbers:
                numbers["bytes"] = numbers.pop("frame") - HEADERS
            made = cls(int(count), size=numbers.pop("bytes"), protocol=protocol, **numbers)
        except (KeyError, TypeError, ValueError):
            raise ValueError(f"frames '{text}': give COUNT,us=N,bytes=N (or frame=N), and protocol= or mbits= if you "
                             "like") from None
        if protocol not in ("echo", "udp") or not 8 <= made.size <= 1514 - HEADERS or made.count < 1:
            raise ValueError(f"frames '{text}': protocol is echo or udp, a frame has {HEADERS + 8} to 1514 bytes")
        return made

    def pcap(self) -> bytes:
        make = echo if self.protocol == "echo" else lambda number, size: udp(7, bytes(size), number)
        return pcap([(0, arp()), *((self.us * (n + 1), make(n, self.size - 8)) for n in range(self.count))])


def hostile(count: int, seed: int) -> list[bytes]:
    """Frames with FCS as no correct sender makes them: good ones with bytes changed, cut or added, and anything at
    all, of any length. In two of three the FCS is right, and in half the checksum of what would be an IP header, so
    that they come far."""
    chance = random.Random(seed)
    return [_hostile(chance, number) for number in range(count)]


def _hostile(chance: random.Random, number: int) -> bytes:
    size = chance.randrange(80) if chance.randrange(4) else chance.randrange(1600)
    frame = bytearray(chance.choice((
        lambda: echo(number, size % 1473), lambda: udp(7, chance.randbytes(size % 1473), number),
        lambda: arp(chance.randrange(4), source_ip=PEER_IP + chance.randrange(40)),
        lambda: echo(number, size % 1473, fragment=chance.randrange(1 << 16)),
        lambda: echo(number, size % 1473, options=chance.randbytes(4 * chance.randrange(11))),
        lambda: ethernet(chance.randbytes(size), chance.choice((IP, ARP))), lambda: chance.randbytes(size)))())
    for _ in range(chance.randrange(4)):
        if frame:
            frame[chance.randrange(min(len(frame), 60))] = chance.randrange(256)
    if not chance.randrange(6):
        del frame[chance.randrange(len(frame) + 1):]
    if not chance.randrange(6):
        frame += chance.randbytes(chance.randrange(100))
    if len(frame) >= HEADERS and chance.randrange(2):
        frame[24:26] = b"\0\0"
        frame[24:26] = struct.pack(">H", checksum(bytes(frame[14:14 + 4 * (frame[14] & 15)])))
    if not chance.randrange(4):
        return bytes(frame) or b"\0"
    return with_fcs(bytes(frame).ljust(60, b"\0") if chance.randrange(8) else bytes(frame))


HEADERS = 34    # bytes of Ethernet and IP


def with_fcs(frame: bytes) -> bytes:
    return frame + struct.pack("<I", zlib.crc32(frame))


def pcap(frames, fcs: bool = False) -> bytes:
    """A file of (microseconds, frame); with `fcs` the frames have an FCS, right or wrong."""
    content = struct.pack("<IHHIIII", NANOSECONDS, 2, 4, 0, 0, 65535, 1 | (FCS if fcs else 0))
    for microseconds, frame in frames:
        stamp = round(microseconds * 1000)
        content += struct.pack("<IIII", stamp // 10 ** 9, stamp % 10 ** 9, len(frame), len(frame)) + frame
    return content


def write_pcap(path: Path, frames, fcs: bool = False):
    path.write_bytes(pcap(frames, fcs))
    return path


def read_pcap(path: Path) -> list[tuple[float, bytes]]:
    """(microseconds, frame) of a file that the simulator has written."""
    content, at, frames = path.read_bytes(), 24, []
    assert struct.unpack("<I", content[:4])[0] == NANOSECONDS
    while at < len(content):
        seconds, nanoseconds, length, _ = struct.unpack("<IIII", content[at:at + 16])
        frames.append((seconds * 1e6 + nanoseconds / 1e3, content[at + 16:at + 16 + length]))
        at += 16 + length
    return frames
