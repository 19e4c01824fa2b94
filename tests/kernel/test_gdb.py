"""Remote debugging with a real gdb-multiarch, as in paper `mach`, section 5: it stops and continues all harts, sees
each as a thread, sets breakpoints, steps, and reads and writes memory and registers while the machine stands still.

Under two schemes: each more costs a kernel with debugging information."""

import re
import time
from pathlib import Path

import pytest

from sim.images import programs
from tests.kernel.gdb import Session

WATCHED = Path(__file__).parent / "programs/watched.c"


def counts(gdb, harts):
    return [gdb.value(f"debug_test.count[{h}]") for h in range(harts)]


@pytest.mark.parametrize(("harts", "sync"), [(1, "cli-optim"), (4, "spl-optim")])
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

        # Step by step, instructions and lines: only this hart runs, and it computes the right result.
        before = counts(gdb, harts)
        gdb.say("set scheduler-locking on")
        assert gdb.run("stepi 12")["reason"] == "end-stepping-range"
        time.sleep(0.2)
        assert counts(gdb, harts) == before
        gdb.say("set scheduler-locking off")
        gdb.say("frame function debug_test_walk")  # the steps may have led into what it calls
        # All run for this: a clock interrupt on the way may need a lock that a stopped hart holds.
        assert gdb.run("finish")["reason"] == "function-finished"
        assert gdb.value("$a0") == 5 + 2 * 2 * 3

        # All run, all stop.
        now = before
        for _ in range(40):
            gdb.say("-exec-continue")
            time.sleep(0.2)
            stop = gdb.interrupt()
            assert stop["signal-name"] == "SIGINT", stop
            now = counts(gdb, harts)
            if all(b > a for a, b in zip(before, now, strict=True)):
                break
        else:
            pytest.fail(f"not every hart went on: {before}, {now}")
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
        stop = gdb.run("finish")
        assert stop["reason"] == "function-finished", stop
        assert gdb.value("$a0") == 2000
        assert "Cannot access memory" in gdb.say("x/xw 0x30000000", error=True)
        assert "Cannot access memory" in gdb.say("set var *(int *)0 = 1", error=True)
        for function, answer in (("trap_entry", "E01"), ("trap", "E01"), ("interrupt", "OK")):
            packet = f"0,{gdb.value(f'(unsigned)&{function}'):x},4"
            assert f'received: "{answer}"' in gdb.say(f"maint packet Z{packet}")
            gdb.say(f"maint packet z{packet}")

        gdb.say("set var debug_test.done = 1")
        assert gdb.run()["reason"] == "exited-normally"
        end = gdb.end()
        assert end.status == 0 and end.result("test")["name"] == "debug", end.report()


def test_a_running_kernel_is_attached_to_and_left(tmp_path):
    with Session(tmp_path, 2, "spl-optim", "run=test-debug gdb=1 hz=1000") as gdb:
        time.sleep(1)
        gdb.attach()
        assert set(gdb.threads()) == {0, 1}
        before = counts(gdb, 2)
        gdb.say("detach")
        time.sleep(0.5)
        gdb.attach()
        assert sum(counts(gdb, 2)) > sum(before)
        gdb.say("set var debug_test.done = 1")
        gdb.say("detach")
        assert gdb.end().status == 0


def test_deadlock_is_looked_into(tmp_path):
    """Both harts spin with interrupts off on chip."""
    with Session(tmp_path, 2, "cli-optim", "run=test-debug-deadlock gdb=wait hz=1000") as gdb:
        gdb.attach()
        gdb.say("-exec-continue")
        time.sleep(1)
        gdb.interrupt()
        for h, (mine, other) in enumerate((("lock_a", "lock_b"), ("lock_b", "lock_a"))):
            gdb.say(f"thread {h + 1}")
            places = gdb.say("backtrace")
            assert re.search(rf"simple_lock_contended \(l=.*<{other}>", places), places
            assert re.search(rf"locks_both \(mine=.*<{mine}>", places), places


def test_a_hart_that_does_not_answer_is_named(tmp_path):
    with Session(tmp_path, 2, "cli-optim", "run=test-debug-deaf gdb=wait hz=1000") as gdb:
        gdb.attach()
        gdb.say("-exec-continue")
        time.sleep(1)
        gdb.interrupt()
        threads = gdb.threads()
        assert "does not answer" in threads[1][0] and "thread idle" in threads[0][0], threads
        gdb.say("set var debug_test.done = 1")
        assert gdb.run()["reason"] == "exited-normally"
        assert gdb.end().status == 0


def test_harts_that_wait_for_each_others_calls_stop(tmp_path):
    harts, sync = 2, "cli-optim"
    with Session(tmp_path, harts, sync, "run=test-debug calls=1 gdb=wait hz=1000") as gdb:
        gdb.attach()
        before = counts(gdb, harts)
        for _ in range(5):
            gdb.say("-exec-continue")
            time.sleep(0.3)
            gdb.interrupt()
            assert not any("does not answer" in text for text, _ in gdb.threads().values()), gdb.threads()
        assert all(b > a for a, b in zip(before, counts(gdb, harts), strict=True))
        gdb.say("set var debug_test.done = 1")
        assert gdb.run()["reason"] == "exited-normally"
        assert gdb.end().status == 0


def test_panic_comes_into_the_debugger(tmp_path):
    with Session(tmp_path, 1, "cli-optim", "run=test-panic gdb=wait") as gdb:
        gdb.attach()
        stop = gdb.run()
        assert stop["signal-name"] == "SIGABRT", stop
        assert any("on purpose, 2" in line for line in gdb.log), gdb.log
        assert "panics_inside (n=2)" in gdb.say("backtrace")
        assert gdb.run()["reason"] == "exited"
        end = gdb.end()
        assert end.record["exit"]["code"] == 0xdead and "panic: hart 0: on purpose, 2" in end.console


def test_exception_comes_into_the_debugger(tmp_path):
    with Session(tmp_path, 1, "spl-optim", "run=test-exception gdb=wait") as gdb:
        gdb.attach()
        stop = gdb.run()
        assert stop["signal-name"] == "SIGBUS" and stop["func"] == "loads_from", stop
        gdb.say("set var $pc = $pc + 4")
        assert gdb.run()["reason"] == "exited"      # mended, and the sum is the exit code
        assert gdb.end().record["exit"]["kind"] == "target"


def test_the_process_of_a_hart_and_its_memory(tmp_path):
    """As in kernel/README.md: in user mode, and while the kernel works for the process."""
    program = programs.build_program([WATCHED])
    with Session(tmp_path, 2, "spl-optim", "run=user program=watched gdb=wait hz=1000",
                 files={"watched": program}) as gdb:
        gdb.attach()
        gdb.say("break sys_getppid")                        # the kernel's: the process is there by then
        stop = gdb.run()
        hart = int(stop["thread-id"]) - 1
        assert "thread watched, process 2 in the kernel" in gdb.threads()[hart][0], gdb.threads()
        gdb.say(f"add-symbol-file {program.with_suffix('.elf')}")
        assert gdb.say("print watched.text").endswith('"of user mode\\000\\000\\000"\n')
        assert gdb.value("watched.turns") == 999
        gdb.say("x/4xw 0x3fff0000", error=True)             # of the stack, and never used
        gdb.say("delete")

        gdb.say("break watched.c:step if n == 1003")
        stop = gdb.run()
        assert stop["func"] == "step", stop
        hart = int(stop["thread-id"]) - 1
        assert "thread watched, process 2 in user mode" in gdb.threads()[hart][0], gdb.threads()
        assert re.findall(r"(\w+) \(", gdb.say("backtrace"))[:2] == ["step", "main"]
        assert gdb.run("next")["func"] == "step" and gdb.run("next")["func"] == "step"
        assert gdb.say("print local").endswith('"a local"\n')
        gdb.say("delete")
        gdb.say("set var done = 1")
        assert gdb.run()["reason"] == "exited-normally"
        assert gdb.end().status == 0
