"""Files of another node (kernel/nfs): programs in a folder that a second node serves from its disk, which the host's
e2fsck and debugfs check afterwards. NFS=all has every scheme, the serial kernel and one with a designated hart;
NFS_OPERATIONS=100 does more."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from sim.images import programs
from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKS, CONSOLE_BAUD, DEVICES, DISK_BUILDS, command
from tests.kernel.power_cuts import host
from tests.kernel.test_fs import image

OURS = Path(__file__).parent / "programs"
WIRES = ["--wire", "0.ether:1.ether:600", "--wire", "1.ether:0.ether:600"]
SERVER = "10.0.0.2"
OPERATIONS = int(os.environ.get("NFS_OPERATIONS", "6"))
SERIAL = CHECKS | {"unix": "serial", "tcpip": "serial"}


def mounted(folder, sync, harts, program, files, more="", options="", build=None, max_cycles=150_000_000):
    """A program of node 1 with node 0's disk on /mnt: both consoles, the server's counts, and the image it left."""
    disk = image(folder)
    nodes = {0: "run=nfsd root=disk0", 1: f"run=user program={program} nfs={SERVER}:/{options} {more}"}
    both = f"hz=1000 console.baud={CONSOLE_BAUD}"
    out = folder / "out"
    words = command(out, harts, sync, f"run=user {both}", "file", CONSOLE_BAUD, 1, max_cycles,
                    (build if build == SERIAL else DISK_BUILDS[sync] | (build or {})) | {"nfs": "udp"}, None, DEVICES,
                    files, hang_cycles=100_000_000)
    words += ["--nodes", "2", *WIRES, "--node", f"0:disk={disk},write=copy,profile=fast"]
    for node, bootargs in nodes.items():
        words += ["--node", f"{node}:bootargs={bootargs} {both}"]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = [(out / f"node-{node}/console.txt").read_text(errors="replace") for node in nodes]
    assert done.returncode == 0, done.stdout + done.stderr + "".join(said)
    left = out / "node-0/disk0.img"
    host("e2fsck", "-fn", left)
    record = json.loads((out / "run.json").read_text())
    return said[1], record["nodes"][0]["results"]["nfsd"][0], left


CASES = [("cli-pessim", 1, "", {})]
if os.environ.get("NFS") == "all":
    CASES += [(sync, harts, options, build) for sync in SCHEMES for harts, options, build in (
        (1, "", SERIAL), (4, ",vers=2", {}), (2, "", {"tcpip": "krp"}))]


@pytest.mark.parametrize("sync, harts, options, build", CASES)
def test_names_are_those_of_a_model_on_a_bad_wire(tmp_path, sync, harts, options, build):
    """A twentieth of calls and answers is lost, a fifth of calls comes twice."""
    files = {"names": programs.build_program([OURS / "names.c"])}
    said, served, left = mounted(tmp_path, sync, harts, "names", files,
                                 f"args=/mnt/d,2,{OPERATIONS},1 nfs.lose=50 nfs.repeat=200 nfs.timeo=2", options, build)
    assert ", 0 failed" in said, said
    assert served["calls"] > 40 and served["repeated"] + served["dropped"] > 0 and not served["garbage"]
    assert b"all" in host("debugfs", "-R", "ls /d", left)
