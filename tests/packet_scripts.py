"""python -m tests.packet_scripts [--kernel K]... [FILE.pkt...]: runs packet scripts in packetdrill's syntax against the
kernel's TCP/IP as a shared library; by default all of kernel/test/host/library, under all seven network kernels.
--packetdrill PROGRAM: the same by packetdrill.
--library FOLDER --kernel K: puts libinterlock-net.so and interlock_net.h there."""

import argparse
import ctypes
import errno
import fcntl
import os
import re
import select
import shutil
import socket
import struct
import subprocess
import sys
import termios
import traceback
from collections.abc import Callable
from pathlib import Path

from tests.host_stack import HOST, KERNELS, StackError, build, checked_kernel

FOLDER = HOST / "library"
LOCAL, REMOTE = "192.168.0.1", "192.0.2.1"
PORT, REMOTE_PORT = 8080, 40000
TOLERANCE_US = 4000
FLAGS = "FSRP.U"
ICMP = {"unreachable": 3, "source_quench": 4, "time_exceeded": 11, "parameter_problem": 12, "net_unreachable": 0,
        "host_unreachable": 1, "protocol_unreachable": 2, "port_unreachable": 3, "frag_needed": 4}
NAMES = {"SIOCINQ": termios.FIONREAD, "SIOCATMARK": 0x8905} | {
    name: value for module in (termios, fcntl, select, os, errno, socket) for name, value in vars(module).items()
    if name.isupper() and isinstance(value, int)}
ANY = object()                                                      # `...`


class Wrong(Exception):
    """Something else happened than the script says."""


def library(kernel: str) -> Path:
    return build(kernel, FOLDER / "library.c", "libinterlock-net.so",
                 ["-shared", "-Wl,-Bsymbolic", f"-Wl,--version-script={FOLDER / 'exported'}"])


class Net:
    """A stack: interlock_net.h's calls, with OSError for errors."""

    def __init__(self, path: Path, options: str = ""):
        self.lib = ctypes.CDLL(str(path), use_errno=True)
        self.lib.ilk_open.restype = ctypes.c_void_p
        self.lib.ilk_open.argtypes = [ctypes.c_char_p]
        self.net = ctypes.c_void_p(self.lib.ilk_open(options.encode()))
        if not self.net:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def call(self, name: str, *args) -> int:
        done = getattr(self.lib, f"ilk_{name}")(self.net, *args)
        if done < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return done

    def now(self) -> int:
        """Microseconds."""
        time = (ctypes.c_long * 2)()
        self.call("gettimeofday", time, None)
        return time[0] * 1000000 + time[1]

    def send(self, packet: bytes):
        self.call("netdev_send", packet, ctypes.c_size_t(len(packet)))

    def receive(self, wait_us: int) -> tuple[int, bytes]:
        """When the next packet was sent, and the packet; empty if none was sent by then."""
        packet, n, at = ctypes.create_string_buffer(1500), ctypes.c_size_t(1500), ctypes.c_longlong()
        self.call("netdev_receive", packet, ctypes.byref(n), ctypes.byref(at), ctypes.c_longlong(wait_us))
        return at.value, packet.raw[:n.value]

    def left(self) -> int:
        return self.call("left")


# Packets -------------------------------------------------------------------------------------------------------------

def checksum(data: bytes) -> int:
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return ~total & 0xffff


def ip_packet(protocol: int, data: bytes, number: int = 0, fragment: int = 0, source: str = REMOTE) -> bytes:
    header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(data), number, fragment, 64, protocol, 0,
                         socket.inet_aton(source), socket.inet_aton(LOCAL))
    return header[:10] + checksum(header).to_bytes(2, "big") + header[12:] + data


def tcp_sum(ip: bytes, tcp: bytes) -> int:
    return checksum(ip[12:20] + struct.pack(">HH", 6, len(tcp)) + tcp)


def tcp_segment(ports: tuple[int, int], seq: int, ack: int, flags: int, window: int, urgent: int, options: bytes,
                data: bytes) -> bytes:
    """From the remote host; the data of an IP packet."""
    options += b"\0" * (-len(options) % 4)
    tcp = struct.pack(">HHIIBBHHH", *ports, seq % 2**32, ack % 2**32, (5 + len(options) // 4) << 4, flags, window, 0,
                      urgent) + options + data
    return tcp[:16] + tcp_sum(ip_packet(6, tcp), tcp).to_bytes(2, "big") + tcp[18:]


class Segment:
    """A segment that the stack has sent."""

    def __init__(self, packet: bytes):
        length, = struct.unpack_from(">H", packet, 2)
        if len(packet) != length or packet[0] != 0x45 or checksum(packet[:20]) or packet[9] != 6:
            raise Wrong(f"not a segment, or with a wrong header: {packet[:28].hex()}")
        self.tcp = packet[20:]
        if tcp_sum(packet, self.tcp):
            raise Wrong("a segment's checksum is wrong")
        (self.port, self.to, self.seq, self.ack, header, self.flags, self.window, _,
         self.urgent) = struct.unpack_from(">HHIIBBHHH", self.tcp)
        self.options, self.data = self.tcp[20:(header >> 4) * 4], self.tcp[(header >> 4) * 4:]

    def shown(self, offset: int) -> str:
        letters = "".join(letter for bit, letter in enumerate(FLAGS) if self.flags >> bit & 1)
        seq = (self.seq - offset) % 2**32
        return (f"{letters} {seq}:{seq + len(self.data)}({len(self.data)}) ack {self.ack} win {self.window} "
                f"urg {self.urgent} <{self.options.hex(' ')}>")


# Scripts -------------------------------------------------------------------------------------------------------------

EVENT = re.compile(r"(\+?)(\d*\.?\d+)(?:\s*~\s*(\+?)(\d*\.?\d+))?\s+(.*)")
SEGMENT = re.compile(r"([<>])\s*([FSRPU.]+)\s+(\d+):(\d+)\((\d+)\)(?:\s+ack\s+(\d+))?(?:\s+win\s+(\d+))?"
                     r"(?:\s+urg\s+(\d+))?(?:\s*<(.*)>)?")
ERROR = re.compile(r"<\s*icmp\s+(\w+)(?:\s+(\w+))?(?:\s+mtu\s+(\d+))?\s+\[(\d+):(\d+)\((\d+)\)\]")
CALL = re.compile(r"(\w+)\s*\((.*)\)\s*=\s*(-?\w+)(?:\s+(E\w+))?(?:\s*\(.*\))?")
OPTION = re.compile(r"(mss|wscale)\s+(\d+)|sackOK|nop|eol|(TS)\s+val\s+(\d+)\s+ecr\s+(\d+)|(sack)((?:\s+\d+:\d+)+)")


def parts(text: str) -> list[str]:
    """What is between commas outside brackets."""
    found, depth = [""], 0
    for character in text:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            found.append("")
        else:
            found[-1] += character
    return [part.strip() for part in found if part.strip()]


def value(text: str):
    if text == "...":
        return ANY
    if text[0] == "[":
        return [value(part) for part in parts(text[1:-1])]
    if text[0] == "{":
        return {name.strip(): value(of.strip()) for name, of in (part.split("=", 1) for part in parts(text[1:-1]))}
    total = 0
    for word in text.split("|"):
        total |= NAMES[word.strip()] if word.strip() in NAMES else int(word, 0)
    return total


def stream(at: int, of: int) -> int:
    """The byte of a stream at a position, counted from 1: 7 of the remote host's, 3 of the stack's."""
    return at * of & 0xff


class Script:
    """Runs one script. As with packetdrill, numbers of sequence count from each side's SYN, but those of the remote
    host's SYN, and of what acknowledges it in a SYN, are real ones."""

    def __init__(self, net: Net, text: str):
        self.net, self.port, self.text = net, REMOTE_PORT, text
        self.began = self.before = net.now()
        self.local_port, self.iss, self.irs = PORT, 0, 0            # the real first numbers
        self.has_iss = self.has_irs = False
        self.fd: dict[int, int] = {}
        self.wrote = self.has_read = 0
        self.urgent: set[int] = set()                               # positions that reads skip
        self.times: dict[int, int] = {}                             # timestamps: the script's to the stack's

    def run(self):
        for number, line in enumerate(self.text.splitlines(), 1):
            line = line.split("//")[0].strip()
            if not line or line.startswith("--"):
                continue
            try:
                self.event(line)
            except Wrong as wrong:
                raise Wrong(f"line {number}, at {(self.net.now() - self.began) / 1e6:.3f} s: {wrong}") from None
            except Exception as error:
                raise Wrong(f"line {number}: {line}: {error!r}") from error
        try:
            self.ends()
        except Wrong as wrong:
            raise Wrong(f"at the end: {wrong}") from None

    def event(self, line: str):
        found = EVENT.fullmatch(line)
        if not found:
            raise Wrong(f"not understood: {line}")
        base = self.before if found[1] else self.began
        start = base + round(float(found[2]) * 1e6)
        end = base + round(float(found[4]) * 1e6) if found[4] else start
        what = found[5]
        if what[0] == ">":
            self.expects(what, start, end)
            return
        self.nothing_until(start)
        self.before = self.net.now()
        if what[0] == "<":
            (self.error_comes if what[1:].split()[0] == "icmp" else self.segment_comes)(what)
        else:
            self.calls(what)

    def nothing_until(self, when: int):
        at, packet = self.net.receive(max(0, when - self.net.now()))
        if packet:
            raise Wrong(f"sent, and not in the script, at {(at - self.began) / 1e6:.3f} s: "
                        f"{Segment(packet).shown(self.iss)}")
        if self.net.now() > when + TOLERANCE_US:
            raise Wrong("that time is over")

    def match(self, pattern: re.Pattern, what: str) -> re.Match:
        found = pattern.fullmatch(what)
        if not found:
            raise Wrong(f"not understood: {what}")
        return found

    def options(self, text: str | None, sent: bool) -> bytes:
        out = b""
        for part in parts(text or ""):
            found = self.match(OPTION, part)
            if found[1]:
                out += struct.pack(">BBH", 2, 4, int(found[2])) if found[1] == "mss" else bytes([3, 3, int(found[2])])
            elif found[3]:
                val, ecr = int(found[4]), int(found[5])
                out += struct.pack(">BBII", 8, 10, val, ecr if sent else self.times.get(ecr, ecr))
            elif found[6]:
                edges = [int(edge) + (self.irs if sent else self.iss) for edge in re.findall(r"\d+", found[7])]
                out += bytes([5, 2 + 4 * len(edges)]) + b"".join((edge % 2**32).to_bytes(4, "big") for edge in edges)
            else:
                out += {"sackOK": b"\4\2", "nop": b"\1", "eol": b"\0"}[part]
        return out

    def segment_comes(self, what: str):
        _, letters, seq, _, length, ack, window, urgent, options = self.match(SEGMENT, what).groups()
        flags, seq = sum(1 << FLAGS.index(letter) for letter in letters), int(seq)
        if flags & 2 and not self.has_irs:
            self.irs, self.has_irs = seq, True
        data = bytes(stream(seq + i, 7) for i in range(int(length)))
        if urgent and flags & 32:
            self.urgent.add(seq + int(urgent) - 1)
        self.net.send(ip_packet(6, tcp_segment(
            (self.port, self.local_port), seq + (0 if flags & 2 else self.irs), int(ack) + self.iss if ack else 0,
            flags, int(window) if window else 65535, int(urgent or 0), self.options(options, False), data)))

    def error_comes(self, what: str):
        kind, code, mtu, seq, _, length = self.match(ERROR, what).groups()
        quoted = struct.pack(">BBHHHBBH4s4sHHI", 0x45, 0, 40 + int(length), 0, 0, 64, 6, 0, socket.inet_aton(LOCAL),
                             socket.inet_aton(REMOTE), self.local_port, self.port, (int(seq) + self.iss) % 2**32)
        icmp = struct.pack(">BBHHH", ICMP[kind], ICMP[code] if code else 0, 0, 0, int(mtu or 0)) + quoted
        self.net.send(ip_packet(1, icmp[:2] + checksum(icmp).to_bytes(2, "big") + icmp[4:]))

    def expects(self, what: str, start: int, end: int):
        _, letters, seq, _, length, ack, window, urgent, options = self.match(SEGMENT, what).groups()
        at, packet = self.net.receive(max(0, end + TOLERANCE_US - self.net.now()))
        if not packet:
            raise Wrong(f"not sent: {what}")
        s = Segment(packet)
        if s.flags & 2 and not self.has_iss:
            self.iss, self.has_iss, self.local_port = s.seq - int(seq), True, s.port
        flags = sum(1 << FLAGS.index(letter) for letter in letters)
        differs = [name for name, is_, should in (
            ("time", not start - TOLERANCE_US <= at <= end + TOLERANCE_US, False), ("ports", (s.port, s.to),
             (self.local_port, self.port)), ("flags", s.flags, flags),
            ("seq", s.seq, (int(seq) + self.iss) % 2**32),
            ("length", len(s.data), int(length)),
            ("ack", s.ack, ack and (int(ack) + (0 if s.flags & 2 else self.irs)) % 2**32 or 0),
            ("win", s.window, int(window) if window else s.window), ("urg", s.urgent, int(urgent or 0)),
            ("options", options == "..." or self.same_options(s.options, self.options(options, True)), True),
        ) if is_ != should]
        if differs:
            raise Wrong(f"{', '.join(differs)}: {what}, but sent at {(at - self.began) / 1e6:.3f} s: "
                        f"{s.shown(self.iss)}; the first number is {self.iss}")
        if s.data != bytes(stream(int(seq) + i, 3) for i in range(len(s.data))):
            raise Wrong(f"other bytes than were written: {what}")
        self.before = at

    def same_options(self, are: bytes, should: bytes) -> bool:
        """The stack's own timestamps are not compared, but remembered."""
        if len(are) != len(should):
            return False
        at = 0
        while at < len(are):
            if are[at] == 8 and should[at] == 8:
                self.times[int.from_bytes(should[at + 2:at + 6], "big")] = int.from_bytes(are[at + 2:at + 6], "big")
                are = are[:at + 2] + should[at + 2:at + 6] + are[at + 6:]
            at += 1 if are[at] < 2 else max(are[at + 1], 1)
        return are == should

    # Calls

    def calls(self, what: str):
        name, text, should, error = self.match(CALL, what).groups()
        args = [value(part) for part in parts(text)]
        try:
            is_, failed = self.call(name, args), None
        except OSError as problem:
            is_, failed = -1, problem.errno
        opened = name in ("socket", "accept") and is_ >= 0 and int(should) >= 0
        if opened:
            self.fd[int(should)] = is_
        elif is_ != int(should, 0) or failed != (NAMES[error] if error else None):
            raise Wrong(f"{what}, but it returns {is_}{f' {errno.errorcode[failed]}' if failed else ''}")

    def call(self, name: str, args: list) -> int:
        call, many = self.net.call, ctypes.c_size_t
        if name == "socket":
            return call("socket", socket.AF_INET, args[1], args[2])
        if name == "poll":
            return self.polls(*args)
        fd = self.fd[args[0]]
        if name in ("bind", "connect"):
            ip, port = ("0.0.0.0", PORT) if name == "bind" else (REMOTE, self.port)
            address = struct.pack("=HH4s8x", socket.AF_INET, socket.htons(port), socket.inet_aton(ip))
            return call(name, fd, address, len(address))
        if name == "accept":
            return call("accept", fd, None, None)
        if name in ("read", "recv"):
            data = ctypes.create_string_buffer(args[2])
            n = call(name, fd, data, many(args[2]), *args[3:])
            self.check_read(data.raw[:n], args[3] if name == "recv" else 0)
            return n
        if name in ("write", "send"):
            data = bytes(stream(self.wrote + 1 + i, 3) for i in range(args[2]))
            n = call(name, fd, data, many(len(data)), *args[3:])
            self.wrote += n
            return n
        if name == "close":
            del self.fd[args[0]]
            return call("close_fd", fd)
        if name in ("setsockopt", "getsockopt"):
            return self.option(name, fd, *args[1:])
        if name == "ioctl":
            is_ = ctypes.c_int()
            done = call("ioctl", fd, ctypes.c_ulong(args[1]), ctypes.byref(is_))
            return self.same(done, is_.value, args[2][0])
        if name in ("listen", "shutdown", "fcntl"):
            return call(name, fd, *args[1:])
        raise Wrong(f"no such call: {name}")

    def same(self, done: int, is_: int, should) -> int:
        if should is not ANY and is_ != should:
            raise Wrong(f"its value is {is_}, not {should}")
        return done

    def option(self, name: str, fd: int, level: int, option: int, content, length) -> int:
        if name == "getsockopt":
            is_, room = ctypes.c_int(), ctypes.c_uint(length[0])
            done = self.net.call(name, fd, level, option, ctypes.byref(is_), ctypes.byref(room))
            return self.same(done, is_.value, content[0])
        numbers = [content["onoff"], content["linger"]] if isinstance(content, dict) else content
        return self.net.call(name, fd, level, option, struct.pack(f"={len(numbers)}i", *numbers), length)

    def polls(self, of: list, count: int, ms: int) -> int:
        fds = ctypes.create_string_buffer(b"".join(
            struct.pack("=ihh", self.fd[one["fd"]], one["events"], 0) for one in of), 8 * count)
        done = self.net.call("poll", fds, ctypes.c_ulong(count), ms)
        for number, one in enumerate(of):
            self.same(done, struct.unpack_from("=ihh", fds.raw, 8 * number)[2], one.get("revents", 0))
        return done

    def check_read(self, data: bytes, flags: int):
        """Each byte is the next of the remote host's stream. An urgent byte is received by itself."""
        if flags & socket.MSG_OOB:
            if data and data[0] not in {stream(at, 7) for at in self.urgent}:
                raise Wrong("the urgent byte is wrong")
            return
        at = self.has_read
        for byte in data:
            at += 1
            while at in self.urgent:
                at += 1
            if byte != stream(at, 7):
                raise Wrong(f"byte {at} of what is read is wrong")
        if not flags & socket.MSG_PEEK:
            self.has_read = at

    def ends(self):
        """The sockets are closed; the remote host resets what is sent. Then nothing is left."""
        self.nothing_until(self.net.now())
        for fd in list(self.fd.values()):
            self.net.call("close_fd", fd)
        for _ in range(2 * 3600):
            if not self.net.left():
                return
            _, packet = self.net.receive(1000000)
            if packet and (s := Segment(packet)).flags & 20 == 16:
                self.net.send(ip_packet(6, tcp_segment((s.to, s.port), s.ack, 0, 4, 0, 0, b"", b"")))
        raise Wrong(f"two hours later {self.net.left()} objects are in use")


def in_child(run: Callable[[], None]) -> str:
    """What was wrong, or nothing. In a process of its own, which the kernel ends when it panics."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if not child:
        status = 1
        try:
            os.dup2(write_end, 1)
            os.dup2(write_end, 2)
            run()
            status = 0
        except Wrong as wrong:
            os.write(1, str(wrong).encode())
        except BaseException:
            os.write(1, traceback.format_exc().encode())
        finally:
            os._exit(status)
    os.close(write_end)
    with os.fdopen(read_end, "rb") as said:
        message = said.read().decode(errors="replace").strip()
    status = os.waitpid(child, 0)[1]
    return status and (message or f"ended with {status}") or ""


def run_script(lib: Path, path: Path) -> str:
    text = path.read_text()
    flags = re.search(r"^--so_flags=\"?([^\"\s]*)", text, re.MULTILINE)
    return in_child(lambda: Script(Net(lib, flags[1] if flags else ""), text).run())


def run_packetdrill(program: Path, lib: Path, path: Path) -> str:
    done = subprocess.run([program, f"--local_ip={LOCAL}", f"--so_filename={lib}", path], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=60)
    return done.returncode and (done.stdout.strip() or f"ended with {done.returncode}") or ""


def run_all(kernel: str, scripts: list[Path], packetdrill: Path | None = None) -> list[str]:
    """What was wrong with each of them, in order."""
    lib = library(kernel)
    said = [(path, run_packetdrill(packetdrill, lib, path) if packetdrill else run_script(lib, path))
            for path in scripts]
    return [f"{path.name}: {wrong}" for path, wrong in said if wrong]


def main(words: list[str]) -> str | None:
    parser = argparse.ArgumentParser(prog="python -m tests.packet_scripts", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", action="append")
    parser.add_argument("--packetdrill", type=Path, metavar="PROGRAM")
    parser.add_argument("--library", type=Path, metavar="FOLDER")
    parser.add_argument("scripts", nargs="*", type=Path)
    args = parser.parse_args(words)
    scripts = args.scripts or sorted(FOLDER.glob("*.pkt"))
    try:
        kernels = [checked_kernel(name) for name in args.kernel or KERNELS]
        if args.library:
            args.library.mkdir(parents=True, exist_ok=True)
            shutil.copy(library(kernels[0]), args.library)
            shutil.copy(FOLDER / "interlock_net.h", args.library)
            return None
        failed = []
        for kernel in kernels:
            wrong = run_all(kernel, scripts, args.packetdrill)
            print(f"{kernel}: {len(scripts)} scripts, {len(wrong)} failed", flush=True)
            failed += [f"{kernel}: {of}" for of in wrong]
        return "\n".join(failed) or None
    except (StackError, OSError) as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
