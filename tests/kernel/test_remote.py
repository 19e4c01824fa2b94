"""Tasks on other nodes (paper `crtc`): ports, messages, memory that is faulted over the wire, and what is left.
REMOTE=all has memory that is written on three nodes of two harts, copies over eight nodes, and a node that comes back,
too."""

import json
import os
import re
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace, TrackEvent

from sim.images.programs import build_program
from sim.wires.frames import read_pcap
from sim.wires.nodes import options
from tests.kernel import remote_faults, remote_model, remote_timeline
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, command

REPO = Path(__file__).parents[2]
ALL = os.environ.get("REMOTE") == "all"
PROGRAMS = REPO / "tests/kernel/programs"


def run(folder, harts, sync, nodes, bootargs, build=None, files=None, latency=600, max_cycles=60_000_000, each=(),
        what="remote"):
    """The result lines of each node, all of which must succeed."""
    words = command(folder, harts, sync, f"run={what} hz=1000 {bootargs}", "file", CONSOLE_BAUD, 0, max_cycles,
                    {"ipc": "norma"} | (build or {}), None, DEVICES, files, hang_cycles=100_000_000)
    done = subprocess.run([*words, *options(nodes, "ether", latency, each)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    said = "\n".join((folder / f"node-{node}/console.txt").read_text() for node in range(nodes))
    assert done.returncode == 0, done.stdout + done.stderr + said
    return [node["results"] for node in json.loads((folder / "run.json").read_text())["nodes"]]


def test_a_task_runs_on_the_other_node(tmp_path):
    """It computes over memory from its parent, page by page over the wire, and reports its result; the
    wire loses frames and repeats some. The messages between nodes follow the protocol (remote_model.py)."""
    pages, nodes = 4, 2
    more = "ipc.lose=100 ipc.repeat=100 ipc.retry=5 seed=3"
    wires = [tmp_path / f"{node}.pcap" for node in range(nodes)]
    results = run(tmp_path, 1, "spl-optim", nodes, f"program=remote args=0,1,{pages} {more}", {"lock_debug": "1"},
                  each=[f"{node}:ether-out={path}" for node, path in enumerate(wires)])
    (made,) = results[0]["remote"]
    assert made["node"] == 1 and made["regions"] >= 4 and made["objects"] >= 4
    for node in results:
        xmm, ipc = node["xmm"][0], node["ipc"][0]
        assert xmm["errors"] == xmm["exports"] == xmm["proxies"] == ipc["in_use"] == ipc["given_up"] == 0
        assert ipc["resent"]
    xmm = results[1]["xmm"][0]
    assert xmm["requests"] == xmm["supplied"] + xmm["unavailable"] >= pages
    assert sum(node["ipc"][0]["messages"] for node in results) == sum(node["ipc"][0]["arrived"] for node in results)
    counts = remote_model.check_frames(sent(wires), "norma")
    check_timeline(sent(wires), nodes)
    assert counts["again"] and counts["rights"] and not counts[remote_model.EPOCH]


def documented_messages(page: str):
    """(source, destination, name) of each message between nodes in the table of a creation, in order."""
    table = page[page.index("## One creation, message by message"):]
    rows: dict[int, tuple[int, int, str]] = {}
    for row in re.finditer(r"^\| (\d+) \| (\d) to (\d) \| ([^|]+) \|", table[:table.index("\n## ", 3)], re.MULTILINE):
        number, source, to, said = int(row[1]), int(row[2]), int(row[3]), row[4]
        answered, named = re.match(r"reply(?: to (\d+))?", said), re.search(r"`(\w+)`", said)
        if answered:
            name = rows[int(answered[1] or number - 1)][2] + " reply"
        elif named:
            name = named[1].removeprefix("USER_").replace("RELEASE", "MESSAGE_RELEASE")
        else:
            name = "message 7"      # the child's, of user/programs/remote.c
        rows[number] = source, to, name
    return list(rows.values())


def check_timeline(frames, nodes):
    """Messages are those of docs/remote-tasks.md, in that order; each is a slice, with an arrow to its
    arrival."""
    said = remote_timeline.messages(frames, "norma")
    sent_by = [(one["source"], one["to"], one["name"]) for one in said]
    steps = documented_messages((REPO / "docs/remote-tasks.md").read_text())
    assert len(steps) == 13 and not set(steps) - set(sent_by)
    assert [sent_by.index(step) for step in steps] == sorted(sent_by.index(step) for step in steps)
    assert all(one["begin"] <= one["end"] and (one["there"] is None or one["begin"] < one["there"]) for one in said)
    assert all(one["bytes"] == 4096 for one in said if one["name"] == "XMM_DATA_SUPPLY")
    trace = Trace()
    trace.ParseFromString(remote_timeline.timeline(said, nodes))
    kinds = [packet.track_event.type for packet in trace.packet if packet.HasField("track_event")]
    assert kinds.count(TrackEvent.TYPE_SLICE_BEGIN) == kinds.count(TrackEvent.TYPE_SLICE_END) == len(said)
    assert kinds.count(TrackEvent.TYPE_INSTANT) == sum(one["there"] is not None for one in said) > len(said) / 2


def sent(wires):
    """The frames of all nodes, by time."""
    return sorted((frame for path in wires for frame in read_pcap(path)), key=lambda frame: frame[0])


def test_tasks_on_all_nodes_at_once(tmp_path):
    """By a tree, from a task with ancestors. Node 0 gives its pages to 1 and 4, these to 2, 3 and 5, 6, and 6 to 7."""
    nodes, depth, regions = 8, 2, 5
    args = f"15,1,4,2,{depth},{regions}"
    results = run(tmp_path, 1, "cli-optim", nodes, f"program=remote args={args}", {"ipc": "window"})
    (line,) = results[0]["spread"]
    assert line["nodes"] == nodes - 1 and line["objects"] >= line["regions"] + depth * regions
    served = [node["xmm"][0]["served"] for node in results]
    assert [node for node in range(nodes) if served[node]] == [0, 1, 4, 6]
    assert all(node["xmm"][0]["exports"] == node["xmm"][0]["proxies"] == 0 for node in results)


@pytest.mark.parametrize("copied", [1, 2], ids=["by-reference", "distributed"])
def test_a_copy_whose_source_is_written(tmp_path, copied):
    """The parent writes some of the memory of which a child elsewhere has an asymmetric copy: the child keeps the old
    contents. For a distributed copy, an unwritten page is requested from it, and then from the source: the paper's
    Figure 10."""
    pages, rounds = 6, 1
    own = len(range(0, pages, 4))       # of the copy, as the parent writes them
    results = run(tmp_path, 1, "spl-optim", 2, f"program=remote args=7,{rounds},{pages},-,0,0,{copied}",
                  {"lock_debug": "1"})
    assert len(results[0]["remote"]) == rounds
    assert all(node["xmm"][0][name] == 0 for node in results for name in ("exports", "proxies", "errors"))
    asked = results[1]["xmm"][0]
    assert results[0]["xmm"][0]["supplied"] == 0 and asked["requests"] == asked["supplied"] + asked["unavailable"]
    beneath = rounds * (pages - own)
    assert asked["unavailable"] >= beneath if copied == 2 else asked["unavailable"] < beneath


@pytest.mark.parametrize("nodes", [3, 8] if ALL else [3])
def test_copies_of_memory_that_other_nodes_write(tmp_path, nodes):
    """Each copy has what was there at its moment (kernel/bench/remote_copy.c). The managing node alone asks only nodes
    that may write; as the original does it, all nodes that have the memory, which costs more with each."""
    rounds = 1
    results = run(tmp_path, 1, "spl-optim", nodes, f"user.pages=2000 rounds={rounds}", {"lock_debug": "1"},
                  what="remote-copy")
    lines = results[0]["remote_copy"]
    assert [line["nodes"] for line in lines] == {3: [1, 2], 8: [1, 3, 7]}[nodes]
    for line in lines:
        assert line["read"] < line["written"] < line["distributed"]
    assert all(one["distributed"] < more["distributed"] for one, more in pairwise(lines))
    assert results[0]["xmm"][0]["recalled"] >= 3 * rounds * sum(line["nodes"] for line in lines)
    assert all(node["xmm"][0][name] == 0 for node in results for name in ("exports", "proxies", "errors"))


SHARING = {"two": (1, "spl-optim", "norma", 2, 0, 2)}
if ALL:
    SHARING["three"] = (2, "cli-optim", "window", 3, 1, 2)


@pytest.mark.parametrize("harts, sync, transport, nodes, spread, rounds", SHARING.values(), ids=SHARING)
def test_memory_that_is_written_on_all_nodes(tmp_path, harts, sync, transport, nodes, spread, rounds):
    """Single writer, many readers by page, over a wire that loses frames: read values never go back, no addition is
    lost, and a copy is of one moment. Two nodes keep taking pages from each other."""
    results = run(tmp_path, harts, sync, nodes,
                  f"program=sharing args={rounds},{spread} ipc.lose=30 ipc.retry=5 seed=5",
                  {"ipc": transport} | ({"lock_debug": "1"} if harts == 1 else {}),
                  {"sharing": build_program([PROGRAMS / "sharing.c"])}, max_cycles=200_000_000)
    for node in results:
        assert node["xmm"][0]["exports"] == node["xmm"][0]["proxies"] == node["xmm"][0]["errors"] == 0
    assert results[0]["xmm"][0]["recalled"] >= rounds * (nodes - 1) and results[0]["xmm"][0]["returned"]


def test_nodes_that_create_tasks_on_each_other(tmp_path):
    """With one thread each for the other nodes' requests, which waits for the other node's meanwhile."""
    nodes = 2
    results = run(tmp_path, 1, "spl-optim", nodes, "program=mutual args=1,8 ipc.servers=1", {"lock_debug": "1"},
                  {"mutual": build_program([PROGRAMS / "mutual.c"])})
    assert all(node["xmm"][0]["served"] >= node["xmm"][0]["errors"] == 0 for node in results)


# Of remote_faults.py: a node that is cut for good while a child of the tree is made on it; one that comes back.
@pytest.mark.parametrize("of", [
    remote_faults.Case("spl-optim", 1, "norma", 2, "program=remote args=0,1,4,-,0,2 ipc.cut=18000 ipc.cut.node=1"),
    remote_faults.Case("cli-optim", 2, "window", 3, "program=remote args=15,1,4,1,0,2 ipc.cut=15000 ipc.cut.node=1 "
                                                   "ipc.heal=30000"),
][:1 + ALL], ids=["for-good", "healed"][:1 + ALL])
def test_a_node_that_is_cut_from_the_wire(tmp_path, of):
    said = remote_faults.check(of, remote_faults.run(tmp_path, of))
    assert said.startswith("fails" if of.nodes == 2 else "succeeds"), said


PARCEL = {"three": (1, "spl-optim", "window", 3, "0")}
if os.environ.get("REMOTE") == "all":
    PARCEL |= {"norma": (1, "spl-optim", "norma", 2, "1"), "harts": (2, "cli-optim", "window", 4, "1")}


@pytest.mark.parametrize("harts, sync, transport, nodes, checks", PARCEL.values(), ids=PARCEL)
def test_memory_in_messages_between_nodes(tmp_path, harts, sync, transport, nodes, checks):
    """It goes round all nodes by copy on write: as it was when it was sent, whatever a node writes afterwards, and only
    pages that are used travel. At the end nothing is left on any node."""
    results = run(tmp_path, harts, sync, nodes, "program=parcel ipc.lose=20 ipc.retry=5 seed=7",
                  {"ipc": transport, "lock_debug": checks},
                  {"parcel": build_program([PROGRAMS / "parcel.c"])}, max_cycles=200_000_000)
    for node in results:
        assert node["xmm"][0]["exports"] == node["xmm"][0]["proxies"] == node["xmm"][0]["errors"] == 0
        assert node["ipc"][0]["in_use"] == node["ipc"][0]["given_up"] == 0
    assert results[1]["xmm"][0]["supplied"] and results[2]["xmm"][0]["supplied"]


def test_ports_of_a_task(tmp_path):
    run(tmp_path, 1, "spl-optim", 1, "program=ports", {"lock_debug": "1"},
        {"ports": build_program([PROGRAMS / "ports.c"])})
