"""A timeline of tasks that are created on other nodes, for https://ui.perfetto.dev: what each node's harts do, and the
messages between the nodes, with arrows.

    python -m tests.kernel.remote_timeline OUT.pftrace [--nodes N] [--transport norma|window] [--args ARGS]

runs the program `remote` (user/programs/remote.c) with ARGS. A message is on the row of its sender from its first frame
to its last one, with the bytes of its data; the arrow leads to the other node's acknowledgement. Repeated frames are
marked.
"""

import argparse
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackDescriptor, TrackEvent

from sim.wires.frames import read_pcap
from sim.wires.nodes import options
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, command
from tests.kernel.remote_model import ACK, DATA, ETHERTYPE, HEAD, HEADER

REPO = Path(__file__).parents[2]
NAMED_IN = ("kernel/ipc/message.h", "kernel/xmm/xmm.h", "kernel/task/task.h", "user/abi.h")
REPLY, BY_ONCE, UID_HOST = 0x100, 1 << 31, 1    # kernel/ipc/message.h, transport.c, port.h
STRIDE = 1 << 32        # the tracks of a node's own trace are moved by so much, times its number and 1
SEQUENCE = 1 << 16      # of the messages; each node has one below


def names() -> dict[int, str]:
    """The names of messages, by their numbers."""
    found: dict[int, str] = {}
    for path in NAMED_IN:
        for name, number in re.findall(r"^#define ((?:MESSAGE|XMM|HOST|TASK|USER_TASK|USER_THREAD|USER_VM)_\w+) "
                                       r"(0x\w+|\d+)\b", (REPO / path).read_text(), re.MULTILINE):
            if name not in ("MESSAGE_BODY", "MESSAGE_RIGHTS", "MESSAGE_PAGES"):
                found.setdefault(int(number, 0), name.removeprefix("USER_"))
    return found


def messages(frames: Iterable[tuple[float, bytes]], transport: str) -> list[dict]:
    """The messages between nodes, from frames (us, bytes) of all of them by time.

    Of each message `name`, `source`, `to`, `bytes` of data, `begin`, `end`, `there` (us; None: not acknowledged)
    and `again`, frames sent again.
    """
    known = names()
    found: list[dict] = []
    under_way: dict[tuple, list[dict]] = {}
    for time, frame in frames:
        if struct.unpack(">H", frame[12:14])[0] != ETHERTYPE:
            continue
        kind, source, number, index, size, to_epoch, epoch = HEADER.unpack_from(frame, 14)
        to = frame[5] - 2
        if kind == DATA:
            first = number - index if transport == "window" else None
            sent = under_way.setdefault((source, to, epoch), [])
            if index == 0 and not any(number == one["number"] for one in sent):
                uid, what, released, *_ = HEAD.unpack_from(frame, 14 + HEADER.size)
                answers = released & BY_ONCE and what >= REPLY      # by a send-once right
                name = known.get(what - REPLY * bool(answers), f"{what:#x}") + (" reply" if answers else "")
                if what in range(2, REPLY) and uid != UID_HOST:     # a program's
                    name = f"message {what}"
                sent.append({"name": name, "source": source, "to": to, "bytes": size, "begin": time, "end": time,
                             "there": None, "again": 0, "number": number, "seen": {(number, index)}})
                found.append(sent[-1])
                continue
            one = next((one for one in reversed(sent) if (one["number"] == first if transport == "window" else
                                                          one["number"] <= number)), None)
            if one:
                one["again"] += (number, index) in one["seen"]
                one["seen"].add((number, index))
                one["end"] = time
        elif kind == ACK:
            for one in under_way.get((to, source, to_epoch), ()):
                last = max(seen for seen, _ in one["seen"])
                if one["there"] is None and (number >= last if transport == "norma" else number > last):
                    one["there"] = time
    return found


def timeline(said: list[dict], nodes: int, own: Iterable[bytes] = ()) -> bytes:
    """The trace: messages, and the traces of the nodes, in their order."""
    trace = Trace()
    for node in range(nodes):
        track(trace, node + 1, f"node {node}", rank=node)
        for to in range(nodes):
            if to != node:
                track(trace, messages_to(node, to), f"to node {to}", node + 1, to)
                track(trace, messages_from(node, to), f"from node {to}", node + 1, nodes + to)
    for number, bytes_of in enumerate(own):
        add_own(trace, number, bytes_of)
    events = []
    for flow, one in enumerate(said, 1):
        name = one["name"] + (" again" if one["again"] else "")
        row = messages_to(one["source"], one["to"])
        events += [(one["begin"], TrackEvent.TYPE_SLICE_BEGIN, row, name, flow, one["bytes"]),
                   (max(one["end"], one["begin"] + 1), TrackEvent.TYPE_SLICE_END, row, None, 0, 0)]
        if one["there"] is not None:
            events.append((one["there"], TrackEvent.TYPE_INSTANT, messages_from(one["to"], one["source"]), name, flow,
                           one["bytes"]))
    for time, kind, row, name, flow, size in sorted(events, key=lambda event: event[0]):
        packet = trace.packet.add(timestamp=round(time * 1000), trusted_packet_sequence_id=SEQUENCE)
        event = packet.track_event
        event.type, event.track_uuid = kind, row
        if name:
            event.name = name
            event.flow_ids.append(flow)
            if size:
                event.debug_annotations.add(name="bytes", uint_value=size)
    return trace.SerializeToString()


def messages_to(node: int, to: int) -> int:
    return 1 << 16 | node << 8 | to


def messages_from(node: int, source: int) -> int:
    return 1 << 17 | node << 8 | source


def track(trace, uuid: int, name: str, parent: int = 0, rank: int = 0):
    descriptor = trace.packet.add(trusted_packet_sequence_id=SEQUENCE).track_descriptor
    descriptor.uuid, descriptor.name, descriptor.sibling_order_rank = uuid, name, rank
    descriptor.child_ordering = TrackDescriptor.EXPLICIT
    if parent:
        descriptor.parent_uuid = parent


def add_own(trace, node: int, bytes_of: bytes):
    """A node's trace below its row: its tracks and its sequence get numbers of their own."""
    own = Trace()
    own.ParseFromString(bytes_of)
    for packet in own.packet:
        packet.trusted_packet_sequence_id = node + 1
        if packet.HasField("track_descriptor"):
            packet.track_descriptor.uuid += STRIDE * (node + 1)
            above = packet.track_descriptor.parent_uuid
            packet.track_descriptor.parent_uuid = above + STRIDE * (node + 1) if above else node + 1
        if packet.HasField("track_event"):
            packet.track_event.track_uuid += STRIDE * (node + 1)
    trace.packet.extend(own.packet)


def sent(folder: Path, nodes: int) -> list[tuple[float, bytes]]:
    """The frames that all nodes have put on the wire, by time, from their files."""
    return sorted((frame for node in range(nodes) for frame in read_pcap(folder / f"{node}.pcap")),
                  key=lambda frame: frame[0])


def run(folder: Path, nodes: int, transport: str, args: str, harts: int = 1, sync: str = "spl-optim"):
    words = command(folder, harts, sync, f"run=remote hz=1000 program=remote args={args}", "file", CONSOLE_BAUD, 0,
                    100_000_000, {"ipc": transport}, None, DEVICES, hang_cycles=100_000_000)
    each = [f"{node}:{what}={folder}/{node}.{suffix}" for node in range(nodes)
            for what, suffix in (("ether-out", "pcap"), ("timeline", "pftrace"))]
    done = subprocess.run([*words, *options(nodes, "ether", 600, each)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    if done.returncode:
        sys.exit(f"remote_timeline: the run fails:\n{done.stdout}{done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--nodes", type=int, default=3)
    parser.add_argument("--transport", choices=("norma", "window"), default="norma")
    parser.add_argument("--args", default="0,1,2", help="of the program: steps, rounds, pages, ...")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, given.nodes, given.transport, given.args)
        said = messages(sent(folder, given.nodes), given.transport)
        own = [(folder / f"{node}.pftrace").read_bytes() for node in range(given.nodes)]
        given.out.write_bytes(timeline(said, given.nodes, own))
    for one in said:
        there = f"{one['there'] - one['begin']:9.1f} us" if one["there"] is not None else "never there"
        print(f"{one['begin']:12.1f} us  {one['source']} to {one['to']}  {one['name']:28} {one['bytes']:6} bytes "
              f"{there}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
