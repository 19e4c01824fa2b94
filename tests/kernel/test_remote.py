"""Tasks on other nodes (paper `crtc`): ports, messages, memory that is faulted over the wire, and what is left."""

import json
import subprocess
from pathlib import Path

import pytest

from sim.images.programs import build_program
from sim.wires.nodes import options
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, command

PROGRAMS = Path(__file__).parent / "programs"
STEPS = {"ntc": 0, "hierarchical": 15}


def run(folder, harts, sync, nodes, bootargs, build=None, files=None, latency=600, max_cycles=60_000_000):
    """The result lines of each node, all of which end well."""
    words = command(folder, harts, sync, f"run=remote hz=1000 {bootargs}", "file", CONSOLE_BAUD, 0, max_cycles,
                    {"ipc": "norma"} | (build or {}), None, DEVICES, files, hang_cycles=100_000_000)
    done = subprocess.run([*words, *options(nodes, "ether", latency)], capture_output=True, text=True,
                          stdin=subprocess.DEVNULL)
    said = "\n".join((folder / f"node-{node}/console.txt").read_text() for node in range(nodes))
    assert done.returncode == 0, done.stdout + done.stderr + said
    return [node["results"] for node in json.loads((folder / "run.json").read_text())["nodes"]]


@pytest.mark.parametrize("sync, harts, build, steps, nodes, more", [
    ("spl-optim", 1, {"lock_debug": "1"}, "ntc", 2, "ipc.lose=100 ipc.repeat=100 ipc.retry=5 seed=3"),
    ("cli-optim", 2, {"ipc": "window"}, "hierarchical", 3, ""),
])
def test_a_task_runs_on_each_other_node(tmp_path, sync, harts, build, steps, nodes, more):
    """It computes over memory that it has from its parent, page by page over the wire, and tells what it has got."""
    pages = 4
    results = run(tmp_path, harts, sync, nodes, f"program=remote args={STEPS[steps]},1,{pages} {more}", build)
    made = results[0]["remote"]
    assert [line["node"] for line in made] == list(range(1, nodes))
    assert all(line["regions"] >= 4 and line["objects"] >= 4 for line in made)
    for node in results[1:]:
        xmm, ipc = node["xmm"][0], node["ipc"][0]
        assert xmm["requests"] == xmm["supplied"] + xmm["unavailable"] >= pages
        assert xmm["errors"] == xmm["exports"] == xmm["proxies"] == ipc["in_use"] == 0
        assert bool(ipc["resent"]) == bool(more)
    assert sum(node["ipc"][0]["messages"] for node in results) == sum(node["ipc"][0]["arrived"] for node in results)


def test_tasks_on_all_nodes_at_once(tmp_path):
    """By a tree, from a task with ancestors: the last node's pages come through another one."""
    nodes, depth, regions = 4, 2, 5
    args = f"{STEPS['hierarchical']},1,4,2,{depth},{regions}"
    results = run(tmp_path, 1, "cli-optim", nodes, f"program=remote args={args}", {"ipc": "window"})
    (line,) = results[0]["spread"]
    assert line["nodes"] == nodes - 1 and line["regions"] >= regions + 4 and line["objects"] >= regions + 4
    served = [node["xmm"][0]["served"] for node in results]
    assert served[1] == served[3] == 0 < served[2] < served[0]
    assert all(node["xmm"][0]["exports"] == node["xmm"][0]["proxies"] == 0 for node in results)


def test_ports_of_a_task(tmp_path):
    run(tmp_path, 1, "spl-optim", 1, "program=ports", {"lock_debug": "1"},
        {"ports": build_program([PROGRAMS / "ports.c"])})
