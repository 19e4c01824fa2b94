"""The simulator's evaluation of marks with values: lock statistics, time accounting, interrupt latency."""

import pytest

from tests.system import harness_player as player
from tests.system.harness_player import Script, at, spread

ATTEMPT, MISS, BLOCK, ACQUIRED, RELEASED, FAILED, HANDLER, DONE, ITHREAD, IDLE_BEGIN, IDLE_END, SWITCH_BEGIN = \
    range(9, 21)
REPLAY_BEGIN, REPLAY_END, PREEMPT_BEGIN, PREEMPT_END = range(21, 25)
WINDOW_BEGIN, WINDOW_END, THREAD_SWITCH = 5, 6, 8
LABEL = {ATTEMPT: "p1", MISS: "p2", BLOCK: "p3", ACQUIRED: "p4", RELEASED: "p5", FAILED: "p6"}
OTHER_SITE = "p7"
A0 = 10
INTERRUPT, ECALL = 0x8000000B, 8


@pytest.fixture
def play(tmp_path):
    binary = player.simulator()
    return lambda script, *options: player.run(binary, script.image(tmp_path), tmp_path / "out", *options)


class Locks(Script):
    """A script whose marks carry the steps of an acquisition, with the lock in a0."""

    def __init__(self):
        super().__init__()
        for kind, label in LABEL.items():
            self.mark(label, kind, register=A0)
        self.mark(OTHER_SITE, ATTEMPT, register=A0)
        self.mark("p8", THREAD_SWITCH)
        self.mark("p9", SWITCH_BEGIN)
        self.mark("p10", WINDOW_BEGIN)
        self.mark("p11", WINDOW_END)
        self.mark("p12", IDLE_BEGIN)
        self.mark("p13", IDLE_END)
        self.mark("p14", HANDLER, register=A0)
        self.mark("p15", ITHREAD, register=A0)
        self.mark("p16", REPLAY_BEGIN)
        self.mark("p17", REPLAY_END)
        self.mark("p18", PREEMPT_BEGIN)
        self.mark("p19", PREEMPT_END)

    def step(self, cycle, kind, lock="first_lock", hart=0):
        self.wait_until(cycle - 1)
        self.register(A0, lock, hart)
        self.retire(LABEL[kind], hart)

    def switch(self, cycle, thread, hart=0):
        """The hart runs another thread from `cycle` on."""
        self.wait_until(cycle - 1)
        self.trace(1, thread, hart)
        at(self, cycle, "p8", hart)

    def end(self, cycle):
        self.wait_until(cycle)
        self.exit()


def figures(attempts=0, misses=0, blocks=0, failures=0, wait=(), hold=()):
    return {"attempts": attempts, "misses": misses, "blocks": blocks, "failures": failures,
            "wait_cycles": spread(*wait), "hold_cycles": spread(*hold)}


def classes(run):
    locks = run.record["locks"]
    assert locks["stray_marks"] == 0
    return {entry.pop("class"): entry for entry in locks["classes"]}


def test_free_and_taken(play):
    """Hart 1 waits for a lock that hart 0 holds; each mark's lock is read from its own hart's registers."""
    s = Locks()
    s.step(10, ATTEMPT)
    s.step(15, ACQUIRED)
    s.step(20, ATTEMPT, hart=1)
    s.step(23, MISS, hart=1)
    s.step(40, RELEASED)
    s.step(52, ACQUIRED, hart=1)
    s.step(60, RELEASED, hart=1)
    s.end(100)
    assert classes(play(s)) == {"red": {"kind": "simple"} | figures(2, 1, wait=[52 - 23], hold=[40 - 15, 60 - 52])}


def test_classes_and_sites(play):
    """Locks of one class count together, and by the place where the acquisition began, hold time too."""
    s = Locks()
    for cycle, lock in ((10, "first_lock"), (20, "second_lock"), (30, "mutex")):
        s.step(cycle, ATTEMPT, lock)
        s.step(cycle + 2, ACQUIRED, lock)
    s.step(50, RELEASED, "second_lock")
    s.step(53, RELEASED, "first_lock")
    s.step(57, RELEASED, "mutex")
    s.wait_until(60)
    s.register(A0, "first_lock")
    s.retire(OTHER_SITE)
    s.step(65, ACQUIRED)
    s.step(75, RELEASED)
    s.end(100)
    run = play(s)
    red, green = figures(3, hold=[50 - 22, 53 - 12, 10]), figures(1, hold=[25])
    assert classes(run) == {"red": {"kind": "simple"} | red, "green": {"kind": "mutex"} | green}
    sites = run.record["locks"]["sites"]
    addresses = [int(site.pop("site"), 16) for site in sites]
    assert addresses[0] == addresses[1] and addresses[2] == addresses[0] + 4 * 6
    assert [site.pop("function") for site in sites] == ["p1", "p1", "p7"]
    assert sites == [{"class": "green", "kind": "mutex"} | green,
                     {"class": "red", "kind": "simple"} | figures(2, hold=[28, 41]),
                     {"class": "red", "kind": "simple"} | figures(1, hold=[10])]


def test_conditional_attempt(play):
    """A failed attempt is no miss; marks that two paths of compiled code share count once."""
    s = Locks()
    s.step(10, ATTEMPT)
    s.step(12, FAILED)
    s.step(14, ACQUIRED)        # code behind the failure runs over the success's mark
    s.step(20, ATTEMPT)
    s.step(23, ACQUIRED)
    s.step(25, FAILED)
    s.step(30, RELEASED)
    s.end(100)
    locks = play(s).record["locks"]
    assert locks["classes"] == [{"class": "red", "kind": "simple"} | figures(2, failures=1, hold=[7])]
    assert locks["stray_marks"] == 2


def test_sleeping_lock(play):
    """The wait of a thread that sleeps lasts over the switch, until it has the lock, on any hart."""
    s = Locks()
    s.switch(5, 1)
    s.switch(5 + 2, 2, hart=1)
    s.step(10, ATTEMPT, "mutex")
    s.step(12, ACQUIRED, "mutex")
    s.step(20, ATTEMPT, "mutex", hart=1)
    s.step(22, ATTEMPT, "first_lock", hart=1)       # the mutex's own lock
    s.step(24, ACQUIRED, "first_lock", hart=1)
    s.step(26, MISS, "mutex", hart=1)
    s.step(28, BLOCK, "mutex", hart=1)
    s.step(30, RELEASED, "first_lock", hart=1)
    s.switch(34, 3, hart=1)
    s.step(40, RELEASED, "mutex")
    s.switch(45, 2)
    s.step(50, MISS, "mutex")                       # another thread was quicker: it sleeps again
    s.step(52, BLOCK, "mutex")
    s.switch(55, 3)
    s.switch(61, 2)
    s.step(70, ACQUIRED, "mutex")
    s.step(77, RELEASED, "mutex")
    s.end(100)
    run = play(s)
    assert classes(run) == {"green": {"kind": "mutex"} | figures(2, 1, 2, wait=[70 - 26], hold=[40 - 12, 7]),
                            "red": {"kind": "simple"} | figures(1, hold=[6])}
    assert run.statistics(0)["accounting"]["spinning"] == run.statistics(1)["accounting"]["spinning"] == 0


def test_lock_handed_over_by_a_thread_switch(play):
    """The scheduler's own lock: acquired by the thread that yields the hart, released by the one that gets it."""
    s = Locks()
    s.switch(5, 1)
    s.step(10, ATTEMPT)
    s.step(12, ACQUIRED)
    s.switch(20, 2)
    s.step(30, RELEASED)
    s.end(100)
    assert classes(play(s)) == {"red": {"kind": "simple"} | figures(1, hold=[18])}


def test_readers_hold_together(play):
    s = Locks()
    s.switch(5, 1)
    s.switch(7, 2, hart=1)
    s.step(10, ATTEMPT)
    s.step(12, ACQUIRED)
    s.step(14, ATTEMPT, hart=1)
    s.step(16, ACQUIRED, hart=1)
    s.step(20, RELEASED, hart=1)
    s.step(33, RELEASED)
    s.end(100)
    assert classes(play(s)) == {"red": {"kind": "simple"} | figures(2, hold=[4, 21])}


def test_handler_in_the_middle_of_an_acquisition(play):
    """A handler's locks are its own, even if the thread that it interrupted waits."""
    s = Locks()
    s.step(10, ATTEMPT)
    s.step(12, MISS)
    s.wait_until(20)
    s.trap(INTERRUPT)
    s.step(25, ATTEMPT, "second_lock")
    s.step(30, ACQUIRED, "second_lock")
    s.step(34, RELEASED, "second_lock")
    at(s, 40, "back")
    s.step(50, ACQUIRED)
    s.step(55, RELEASED)
    s.end(100)
    run = play(s)
    assert classes(run) == {"red": {"kind": "simple"} | figures(2, 1, wait=[38], hold=[4, 5])}
    assert run.statistics(0)["accounting"] == {"user": 0, "system": 101 - 38, "interrupt": 20, "spinning": 18,
                                               "idle": 0}


def test_unmatched_release_is_stray(play):
    s = Locks()
    s.step(10, RELEASED)
    s.step(20, ACQUIRED)
    s.end(100)
    assert play(s).record["locks"] == {"classes": [], "sites": [], "stray_marks": 2}


def test_attempt_that_never_ends(play):
    s = Locks()
    s.step(10, ATTEMPT)
    s.step(12, MISS)
    s.end(100)
    assert classes(play(s)) == {"red": {"kind": "simple"} | figures(1, 1)}


@pytest.mark.parametrize("lock", ["0", "3", "0x7ffffffc", "strange_lock"])
def test_lock_that_is_none(play, lock):
    """A value that is no lock counts under no name; nothing outside RAM is read."""
    s = Locks()
    s.step(10, ATTEMPT, lock)
    s.step(12, ACQUIRED, lock)
    s.end(100)
    assert classes(play(s)) == {"?": {"kind": "?"} | figures(1)}


def test_window(play):
    """An acquisition counts if it began in the window, a duration if it began and ended there."""
    s = Locks()
    s.step(10, ATTEMPT)
    s.step(12, ACQUIRED)
    s.step(20, ATTEMPT, hart=1)
    s.step(22, MISS, hart=1)
    at(s, 30, "p10")
    s.step(40, RELEASED)
    s.step(45, ACQUIRED, hart=1)
    s.step(50, RELEASED, hart=1)
    s.step(60, ATTEMPT)
    s.step(62, ACQUIRED)
    at(s, 70, "p11")
    s.step(80, RELEASED)
    s.end(100)
    assert classes(play(s)) == {"red": {"kind": "simple"} | figures(1, hold=[5])}


# Time accounting

def accounting(run, hart=0):
    figures = run.statistics(hart)["accounting"]
    assert sum(figures.values()) == run.record["window"]["cycles"]
    return figures


def test_accounting_of_every_activity(play):
    s = Locks()
    s.wait_until(10)
    s.privilege(0)                  # cycles 10 to 29: user
    s.wait_until(29)
    s.trap(ECALL)
    s.privilege(3)
    s.wait_until(40)
    s.trap(INTERRUPT)               # 40 to 49, in a system call
    at(s, 50, "back")
    at(s, 60, "back")
    s.privilege(0)                  # 61 to 70
    s.wait_until(70)
    s.trap(INTERRUPT)
    s.privilege(3)                  # 71 to 79
    at(s, 80, "back")
    s.privilege(0)                  # 81 to 89, interrupt's end counted until the mode changes
    s.wait_until(90)
    s.privilege(3)
    at(s, 100, "p12")               # 100 to 119: idle
    s.wait_until(105)
    s.trap(INTERRUPT)               # 105 to 110 of it
    at(s, 111, "back")
    at(s, 120, "p13")
    s.end(199)
    assert accounting(play(s)) == {"user": 20 + 10 + 9, "interrupt": 10 + 9 + 6, "idle": 20 - 6, "spinning": 0,
                                   "system": 200 - (39 + 25 + 14)}


def test_accounting_follows_the_thread(play):
    """An idle thread that was preempted in its loop is idle again when it gets the hart back."""
    s = Locks()
    s.switch(5, 1)
    at(s, 10, "p12")
    s.wait_until(20)
    s.trap(INTERRUPT)
    s.switch(30, 2)
    s.switch(60, 1)
    at(s, 65, "back")
    s.end(79)
    assert accounting(play(s)) == {"user": 0, "spinning": 0, "idle": 10 + 80 - 65, "interrupt": 10 + 5,
                                   "system": 10 + 30}


def test_replay_is_interrupt_time(play):
    """Also where a handler's own section replays inside it."""
    s = Locks()
    at(s, 10, "p16")
    at(s, 20, "p16")
    at(s, 24, "p17")
    at(s, 40, "p17")
    s.end(99)
    assert accounting(play(s)) == {"user": 0, "system": 70, "interrupt": 30, "spinning": 0, "idle": 0}


def test_preemption_is_system_time(play):
    """Inside the trap, and again when the preempted thread gets the hart back."""
    s = Locks()
    s.switch(5, 1)
    s.wait_until(10)
    s.trap(INTERRUPT)
    at(s, 20, "p18")
    s.switch(30, 2)
    s.switch(60, 1)
    at(s, 70, "p19")
    at(s, 75, "back")
    s.end(99)
    assert accounting(play(s)) == {"user": 0, "system": 85, "interrupt": 10 + 5, "spinning": 0, "idle": 0}


def test_accounting_of_a_window(play):
    s = Locks()
    s.privilege(0)
    at(s, 30, "p10")
    s.wait_until(50)
    s.privilege(3)
    at(s, 55, "p11")
    s.end(100)
    assert accounting(play(s)) == {"user": 20, "system": 5, "interrupt": 0, "spinning": 0, "idle": 0}


def test_idle_loop_is_no_sign_of_life(play):
    """A hang is found even if clock interrupts keep the idle loop turning."""
    s = Locks()
    s.wfi(True, 1)
    begin = len(s.words)
    s.retire("p12")
    s.wfi(True)
    s.wait_until(s.cycle + 1000)
    s.wfi(False)
    s.trap(0x80000007)
    s.trap_return()
    s.retire("p13")
    s.jump(begin)
    assert play(s, "--hang-cycles", 80_000, "--max-cycles", 1_000_000).status == 4


# Interrupts and switches

def test_latency_from_the_wire(play):
    s = Locks()

    def reach(cycle, label, source):
        s.wait_until(cycle - 1)
        s.register(A0, source)
        s.retire(label)

    s.wait_until(10)
    s.sources(1 << 18)
    reach(25, "p14", 18)            # its handler
    s.wait_until(27)
    s.sources(0)
    s.wait_until(30)
    s.sources(1 << 18 | 1 << 2)     # both rise; 18 rises again before its handler: one interrupt
    s.sources(1 << 2)
    s.sources(1 << 18 | 1 << 2)
    reach(50, "p14", 18)
    reach(60, "p15", 18)            # its thread, for the first time since cycle 10
    reach(70, "p14", 2)
    reach(80, "p14", 5)             # raised by software: no wire
    reach(90, "p14", 400)
    s.end(100)
    assert play(s).record["interrupts"] == {
        "2": {"rises": 1, "wire_to_handler": spread(40), "wire_to_thread": spread()},
        "18": {"rises": 3, "wire_to_handler": spread(15, 20), "wire_to_thread": spread(50)}}


def test_thread_switch_is_timed(play):
    s = Locks()
    at(s, 10, "p9")
    s.switch(42, 1)
    s.switch(60, 2)                 # the first switch of a hart has no beginning
    s.end(100)
    assert play(s).statistics(0)["switch_cycles"] == spread(32)


def test_register_that_is_none(play):
    s = Locks()
    s.mark("p0", ATTEMPT, register=32)
    s.end(100)
    run = play(s)
    assert run.status == 2
    assert run.stderr.count("\n") == 1 and "value in register 32" in run.stderr
