"""MPD programs in user mode of the machine, with the assembler back end of context switching; what switches cost."""

import subprocess

from sim.images import mpd
from support.cache import REPO
from tests.kernel.machine import boot

SLICE = REPO / "docs/examples/slice.mpd"
TIMINGS = REPO / "user/mpd/programs/timings.mpd"


def run_program(folder, built, harts=1, sync="spl-optim"):
    return boot(folder, harts, sync, f"run=user program={built.name} hz=1000", files={built.name: built})


def test_a_program_prints_on_the_machine_what_it_prints_on_the_host(tmp_path):
    host = subprocess.run([mpd.build_mpd(SLICE, host=True)], capture_output=True, text=True, check=True).stdout
    run = run_program(tmp_path / "run", mpd.build_mpd(SLICE))
    assert run.status == 0 and host in run.console.replace("\r", ""), run.report()


def test_the_context_switch_primitives_and_the_rows_of_table_3(tmp_path):
    primitives = run_program(tmp_path / "cstest", mpd.build_cstest())
    result = primitives.result("cstest")
    assert primitives.status == 0 and result["failed"] == 0 and result["checks"] > 600, primitives.report()
    rows = run_program(tmp_path / "rows", mpd.build_mpd(TIMINGS))
    cost = rows.result("mpd")
    each = {name: total / cost["n"] for name, total in cost.items() if name != "n"}
    print(f"raw switch {result['switch']}, cycles of the rows {each}")
    # A semaphore that nobody waits for is code inline; one that makes its process wait costs a switch more.
    assert each["p"] < 25 and each["v"] < 25 and each["pair"] < 40, rows.report()
    assert each["pair"] + result["switch"] < each["switching_pair"] < each["pair"] + 4 * result["switch"], rows.report()
    assert each["create"] > each["switching_pair"], rows.report()
