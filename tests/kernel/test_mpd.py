"""MPD programs in user mode of the machine: a sample of the verification suite (`MPD_SUITE=all`: all of it), and what
switches cost."""

import os
import subprocess

from sim.images import mpd, vsuite
from support.cache import REPO
from tests.kernel.machine import boot

SLICE = REPO / "docs/examples/slice.mpd"
TIMINGS = REPO / "user/mpd/programs/timings.mpd"
SAMPLE = ("hello", "reals", "string-escapes", "overlapping-slices", "bag-of-tasks", "in-by-and-such-that",
          "reply-copies-back", "destroy-ends-processes", "globals-have-final-code", "deadlock",
          "stack-overflow-in-a-process", "nap")
TOGETHER = 60       # programs of one archive


def run_program(folder, built, harts=1, sync="spl-optim"):
    return boot(folder, harts, sync, f"run=user program={built.name} hz=1000", files={built.name: built})


def test_a_program_prints_on_the_machine_what_it_prints_on_the_host(tmp_path):
    host = subprocess.run([mpd.build_mpd(SLICE, host=True)], capture_output=True, text=True, check=True).stdout
    run = run_program(tmp_path / "run", mpd.build_mpd(SLICE))
    assert run.status == 0 and host in run.console.replace("\r", ""), run.report()


def test_the_verification_suite_on_the_machine(tmp_path):
    chosen = vsuite.cases(() if os.environ.get("MPD_SUITE") else SAMPLE)
    chosen = [case for case in chosen if case.refused is None and len(case.name) < 32]
    wrong = []
    for at in range(0, len(chosen), TOGETHER):
        part = chosen[at:at + TOGETHER]
        run = boot(tmp_path / str(at), 1, "spl-optim", "run=user program=suite hz=1000", files=vsuite.on_machine(part))
        assert run.status == 0, run.report()
        told = vsuite.told(run.console)
        for case in part:
            outcome = told.get(case.name, vsuite.Outcome("nothing"))
            if (outcome.prints, outcome.status) != (case.prints + case.expected(case.says), case.status):
                wrong.append(f"{case.topic}/{case.name}: {outcome}")
    assert not wrong, "\n".join(wrong)


def test_the_context_switch_primitives_and_the_rows_of_table_3(tmp_path):
    switches = {}
    for back_end in mpd.BACK_ENDS:
        primitives = run_program(tmp_path / back_end, mpd.build_primitives("cstest", back_end=back_end))
        result = primitives.result("cstest")
        assert primitives.status == 0 and result["failed"] == 0 and result["checks"] > 600, primitives.report()
        raw = run_program(tmp_path / f"{back_end}-raw", mpd.build_primitives("csloop", back_end=back_end))
        switches[back_end] = raw.result("csloop")["switch"] / 100
    print(switches)
    # The library keeps all registers, not only those that C keeps across calls; the kernel is entered and left besides.
    assert 1.5 * switches["assembler"] < switches["library"] < switches["system-calls"] / 2
    result = {"switch": switches["assembler"]}
    rows = run_program(tmp_path / "rows", mpd.build_mpd(TIMINGS))
    cost = rows.result("mpd")
    each = {name: total / cost["n"] for name, total in cost.items() if name != "n"}
    print(f"raw switch {result['switch']}, cycles of the rows {each}")
    # A semaphore that nobody waits for is code inline; one that makes its process wait costs a switch more.
    assert each["p"] < 25 and each["v"] < 25 and each["pair"] < 40, rows.report()
    assert each["pair"] + result["switch"] < each["switching_pair"] < each["pair"] + 6 * result["switch"], rows.report()
    assert each["create"] > each["switching_pair"] and each["call_new"] > each["call"], rows.report()
    assert each["rendezvous"] > each["message"] > each["pair"], rows.report()
