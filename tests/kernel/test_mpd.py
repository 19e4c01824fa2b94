"""MPD programs in user mode of the machine: a sample of the verification suite (`MPD_SUITE=all`: all of it), and what
switches cost."""

import itertools
import json
import os
import subprocess

import pytest
from elftools.elf.elffile import ELFFile

from sim.images import disks, mpd, vsuite
from support.cache import REPO
from tests.kernel.machine import CONSOLE_BAUD, DEVICES, DISK_BUILDS, boot, command
from tests.kernel.test_tcp import WIRES
from tests.unit.test_mpd import SERVED_PRINTS, SERVED_THERE

SLICE = REPO / "docs/examples/slice.mpd"
TIMINGS = REPO / "user/mpd/programs/timings.mpd"
SAMPLE = ("hello", "reals", "string-escapes", "formats", "scanf-of-a-string", "overlapping-slices", "bag-of-tasks",
          "in-by-and-such-that", "reply-copies-back", "destroy-ends-processes", "globals-have-final-code", "deadlock",
          "stack-overflow-in-a-process", "nap", "files", "destroyed-operations-are-destroyed-once")
OF_THREADS = ("bag-of-tasks", "barrier", "co-tree", "in-such-that", "nap")
OF_SWITCHES = ("reals", "co-tree", "deadlock", "reply-copies-back", "stack-overflow-in-a-process", "read-nothing")
# What switches contexts, harts, and the programs without MPD_SUITE.
WAYS = [("assembler", 1, SAMPLE), ("assembler", 2, OF_THREADS), ("assembler", 4, OF_THREADS),
        ("library", 1, OF_SWITCHES), ("system-calls", 1, OF_SWITCHES)]
LINE_FETCH = 42     # cycles at most to bring a line from memory (hw/cpu/README.md)
TOGETHER = 60       # programs of one archive


def run_program(folder, built, harts=1, sync="spl-optim", args=""):
    return boot(folder, harts, sync, f"run=user program={built.name} hz=1000 {args}".strip(),
                files={built.name: built}, hang_cycles=20_000_000)


def test_a_program_prints_on_the_machine_what_it_prints_on_the_host(tmp_path):
    host = subprocess.run([mpd.build_mpd(SLICE, host=True)], capture_output=True, text=True, check=True).stdout
    run = run_program(tmp_path / "run", mpd.build_mpd(SLICE))
    assert run.status == 0 and host in run.console.replace("\r", ""), run.report()


@pytest.mark.parametrize("back_end, harts, sample", WAYS, ids=[f"{back_end}-{harts}" for back_end, harts, _ in WAYS])
def test_the_verification_suite_on_the_machine(tmp_path, back_end, harts, sample):
    """On several harts with four threads. The disk is the root: programs write below /tmp."""
    threads = 1 if harts == 1 else 4
    chosen = [case for case in vsuite.cases(() if os.environ.get("MPD_SUITE") else sample) if case.refused is None]
    sync = "spl-optim" if harts == 1 else "cli-optim"
    disk = disks.ext2_image({"tmp/": b"", "dev/": b"", "bin/": b""}, 1024, 64)
    wrong = []
    for at in range(0, len(chosen), TOGETHER):
        part = chosen[at:at + TOGETHER]
        run = boot(tmp_path / str(at), harts, sync, "run=user program=/bin/suite args=/bin/list root=disk0 hz=1000",
                   options=DISK_BUILDS[sync], machine=DEVICES, files=vsuite.on_machine(part, back_end, threads),
                   max_cycles=1_000_000_000, hang_cycles=100_000_000,
                   more=["--disk", f"{disk},write=copy,profile=fast"])
        wrong += vsuite.differences_on_machine(part, run.console, threads)
        if run.status:
            wrong.append(f"status {run.status}: {run.messages}")
    print(f"{back_end}, {harts} harts: {len(chosen) - len(wrong)} of {len(chosen)} programs passed")
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(not os.environ.get("MPD_SUITE"), reason="minutes: MPD_SUITE=all")
@pytest.mark.parametrize("scale, least", [(1, {"matrices": 2.5, "quadrature": 1.6, "bag": 1.7}),
                                          (4, {"matrices": 3, "quadrature": 2.5, "bag": 3})], ids=["1", "4"])
def test_four_harts_are_worth_it(tmp_path, scale, least):
    """The table of docs/mpd.md, section 6: of three places in memory the median, least and most."""
    program = REPO / "user/mpd/programs/speedup.mpd"
    results = {1: [], 4: []}
    for harts, placing in itertools.product(results, range(3)):
        built = mpd.build_mpd(program, threads=harts, placing=placing)
        run = run_program(tmp_path / f"{harts}-{placing}", built, harts, args=f"args={scale}")
        assert run.status == 0, run.report()
        results[harts].append(run.result("mpd_speedup"))
    speedups = {}
    for name in least:
        one, four = (sorted(each[name] for each in results[harts]) for harts in (1, 4))
        speedups[name] = one[1] / four[1]
        print(f"{name}: one hart {one[1]:,} ({one[0]:,} to {one[2]:,}), four {four[1]:,} ({four[0]:,} to {four[2]:,}), "
              f"{speedups[name]:.1f}")
    for name in ("corner", "area", "primes"):
        assert len({each[name] for each in results[1] + results[4]}) == 1
    assert all(speedups[name] > bound for name, bound in least.items()), speedups


def on_two_nodes(folder, name, args):
    """How the program ended, what each node said, and node 0's results."""
    both = f"run=user hz=1000 program={name} console.baud={CONSOLE_BAUD} args="
    words = command(folder, 1, "cli-optim", both, "file", CONSOLE_BAUD, 0, 60_000_000, DISK_BUILDS["cli-optim"], None,
                    DEVICES, {name: mpd.build_mpd(REPO / f"user/mpd/programs/{name}.mpd")}, hang_cycles=100_000_000)
    done = subprocess.run([*words, "--nodes", "2", *WIRES, "--node", f"0:bootargs={both}{args}", "--node",
                           f"1:bootargs={both}mpdx"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    said = [(folder / f"node-{node}/console.txt").read_text().replace("\r", "") for node in range(2)]
    return done, said, json.loads((folder / "run.json").read_text())["nodes"][0]["results"]


def test_virtual_machines_on_two_nodes(tmp_path):
    done, said, results = on_two_nodes(tmp_path, "nodes", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "sum 55 relayed 1\n1 3 from node 1\n" in said[0], said[0]
    result = results["mpd_nodes"][0]
    print(result)
    assert result["round_trip"] > 50 * result["switch"]


def test_receive_and_input_statements_on_two_nodes(tmp_path):
    """And one that ends while the other one waits for what it never sends."""
    done, said, _ = on_two_nodes(tmp_path, "served", "dies")
    assert f"{SERVED_PRINTS}mpd: virtual machine 2 on node 1 has ended, or is out of reach\n" in said[0], said[0]
    assert f"{SERVED_THERE}served.mpd:" in said[1] and "division by zero" in said[1], said[1]
    assert done.returncode == 1


def test_a_placing_moves_code_and_data():
    """It is what a timing is repeated over: all of the program lies elsewhere."""
    found = []
    for placing in range(3):
        with open(mpd.build_primitives("csloop", placing=placing), "rb") as file:
            elf = ELFFile(file)
            found.append([elf.get_section_by_name(name)["sh_size"] for name in (".text", ".data")])
    for n, (text, data) in enumerate(found):
        assert abs(text - found[0][0] - 668 * n) < 64 and abs(data - found[0][1] - 1356 * n) < 64, found


def test_the_context_switch_primitives_and_the_rows_of_table_3(tmp_path):
    switches = {}
    for back_end in mpd.BACK_ENDS:
        primitives = run_program(tmp_path / back_end, mpd.build_primitives("cstest", back_end=back_end))
        result = primitives.result("cstest")
        assert primitives.status == 0 and result["failed"] == 0 and result["checks"] > 600, primitives.report()
        raw = run_program(tmp_path / f"{back_end}-raw", mpd.build_primitives("csloop", back_end=back_end))
        switches[back_end] = raw.result("csloop")["switch"] / 100
    print(switches)
    # The library saves all registers, not only those that C keeps across calls; the kernel is entered and left besides.
    assert 1.5 * switches["assembler"] < switches["library"] < switches["system-calls"] / 2
    result = {"switch": switches["assembler"]}
    rows = run_program(tmp_path / "rows", mpd.build_mpd(TIMINGS))
    cost = rows.result("mpd")
    each = {name: total / cost["n"] for name, total in cost.items() if name != "n"}
    print(f"raw switch {result['switch']}, cycles of the rows {each}")
    # A semaphore without waiters is code inline; one that makes its process wait costs a switch more. As stacks
    # and data lie, some of the lines that a switch touches displace each other in the data cache, which has one way.
    assert each["p"] < 25 and each["v"] < 25 and each["pair"] < 40, rows.report()
    assert each["pair"] + result["switch"] < each["switching_pair"], rows.report()
    assert each["switching_pair"] < each["pair"] + 4 * result["switch"] + 4 * LINE_FETCH, rows.report()
    assert each["create"] > each["switching_pair"] and each["call_new"] > each["call"], rows.report()
    assert each["rendezvous"] > each["message"] > each["pair"], rows.report()
