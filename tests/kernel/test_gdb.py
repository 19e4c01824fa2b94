"""Remote debugging with a real gdb-multiarch, as in paper `mach`, section 5: it stops and continues all harts, sees each
as a thread, sets breakpoints, steps, and reads and writes memory and registers while the machine stands still."""

import re
import time

import pytest

from tests.kernel.gdb import Session


def counts(gdb, harts):
    return [gdb.value(f"debug_test.count[{h}]") for h in range(harts)]


@pytest.mark.parametrize(("harts", "sync"), [(1, "cli-optim"), (2, "cli-pessim"), (4, "spl-optim")])
def test_gdb_controls_all_harts(tmp_path, harts, sync):
    with Session(tmp_path, harts, sync, "run=test-debug gdb=wait hz=1000") as gdb:
        gdb.attach()
        assert list(gdb.threads()) == list(range(harts))
        gdb.say("break debug_test_walk if n == 3")
        stop = gdb.run()
        assert stop["reason"] == "breakpoint-hit" and stop["func"] == "debug_test_walk", stop
        assert f'"hart {int(stop["thread-id"]) - 1}" (thread main' in gdb.say("info threads")
        places = re.findall(r"(\w+) \(", gdb.say("backtrace"))
        assert [at for at in places if at in ("debug_test_walk", "debug", "main_thread", "thread_begin")] == \
            ["debug_test_walk", "debug", "main_thread", "thread_begin"], places
        gdb.say("delete")

        # Step by step, instructions and lines: only this hart moves, and what it computes is right.
        before = counts(gdb, harts)
        gdb.say("set scheduler-locking on")
        assert gdb.run("stepi 12")["reason"] == "end-stepping-range"
        assert gdb.run("finish")["reason"] == "function-finished"
        assert gdb.value("$a0") == 5 + 2 * 2 * 3
        time.sleep(0.2)
        assert counts(gdb, harts) == before
        gdb.say("set scheduler-locking off")

        # All run, all stop.
        gdb.say("continue")
        time.sleep(0.2)
        stop = gdb.interrupt()
        assert stop["signal-name"] == "SIGINT", stop
        now = counts(gdb, harts)
        assert all(b > a for a, b in zip(before, now, strict=True)), (before, now)
        cycle = gdb.value("$mcycle")
        time.sleep(0.2)
        assert counts(gdb, harts) == now and gdb.value("$mcycle") == cycle

        # Registers and memory can be changed, of every hart.
        for h in range(harts):
            gdb.say(f"thread {h + 1}")
            assert gdb.value("$mhartid") == h and gdb.value("$priv") == 3
        gdb.say("break twice")
        assert gdb.run()["func"] == "twice"
        gdb.say("delete")
        gdb.say("set var $a0 = 1000")
        gdb.say("set scheduler-locking on")
        gdb.run("finish")
        gdb.say("set scheduler-locking off")
        assert gdb.value("$a0") == 2000
        assert "Cannot access memory" in gdb.say("x/xw 0x30000000", error=True)
        assert "Cannot access memory" in gdb.say("set var *(int *)0 = 1", error=True)
        gdb.say("break trap_entry")
        assert "Cannot insert breakpoint" in gdb.say("stepi", error=True)
        gdb.say("delete")

        gdb.say("set var debug_test.done = 1")
        assert gdb.run()["reason"] == "exited-normally"
        end = gdb.end()
        assert end.status == 0 and end.result("test")["name"] == "debug", end.report()
