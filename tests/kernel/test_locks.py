"""Locks of every kind: under stress over seeds, and each rule of their use shown by a program that breaks it. The
programs are kernel code: kernel/test/locks.c and kernel/test/wrong_locks.c."""

import re

import pytest

from sim.images.kernel import SCHEMES
from tests.kernel.machine import CHECKED, COUNTED, DEVICES, DISK_BUILDS, boot, converse

DEBUG = CHECKED["spl-optim"]

# What a seed perturbs with it: memory and the link to the PIC, even and uneven.
CONDITIONS = (
    "ram_jitter=7",
    "link_read_latency=20 link_write_latency=10 link_delivery_delay=40 link_jitter=30 ram_jitter=31",
    "ram_read_latency=20 ram_jitter=63 link_jitter=90",
)
# By harts: seeds, rounds of each thread. Simulating more harts takes longer.
STRESS = {1: ((1, 2, 3), 40), 2: ((1, 2, 3), 25), 4: ((1, 2), 12), 8: ((1,), 6)}


def stress(folder, harts, seed, rounds, sync, options):
    bootargs = f"run=test-locks hz=1000 rounds={rounds} {CONDITIONS[seed % len(CONDITIONS)]}"
    run = boot(folder, harts, sync, bootargs, seed, options=options)
    assert run.status == 0, f"seed {seed}: {run.report()}"
    return run.result("test")


@pytest.mark.parametrize("harts", STRESS)
def test_stress(tmp_path, harts):
    """Over the seeds every case occurred: readers shared, upgrades succeeded and failed, attempts failed."""
    seeds, rounds = STRESS[harts]
    results = [stress(tmp_path / str(seed), harts, seed, rounds, sync, CHECKED[sync])
               for seed, sync in ((seed, SCHEMES[seed % len(SCHEMES)]) for seed in seeds)]
    for what in ("simple", "mutex", "read", "write", "upgraded", "downgraded", "pairs", "refused", "freed", "lost"):
        assert sum(result[what] for result in results) > 0, f"{what}: {results}"
    assert max(result["most_readers"] for result in results) > 1


@pytest.mark.parametrize("harts, sync", [(1, "spl-optim"), (2, "cli-pessim"), (4, "spl-optim")])
def test_strict_order_and_nobody_is_passed_over(tmp_path, harts, sync):
    run = boot(tmp_path, harts, sync, "run=test-locks-fair hz=0 rounds=15 ram_jitter=7", harts)
    assert run.status == 0, run.report()
    result = run.result("test")
    assert 0 < result["most_passed"] <= 2 * result["threads"]


@pytest.mark.parametrize("harts, sync", [(2, "spl-optim"), (4, "cli-pessim")])
def test_last_user_destroys_the_lock(tmp_path, harts, sync):
    """As soon as it has released it, whatever those that released it before still do."""
    run = boot(tmp_path, harts, sync, f"run=test-locks-destroy hz=0 rounds={160 // harts}", 1)
    assert run.status == 0, run.report()
    assert run.result("test")["generations"] == 160 // harts + 1


@pytest.mark.parametrize("harts, sync, spinlock", [(1, "spl-pessim", "tas"), (2, "cli-spl-pessim", "clh"),
                                                    (4, "cli-pessim", "mcs")])
def test_a_lock_ends_with_its_last_user(tmp_path, harts, sync, spinlock):
    run = boot(tmp_path, harts, sync, "run=test-last-user hz=0 rounds=60 ram_jitter=7", harts,
               options={"spinlock": spinlock})
    assert run.status == 0, run.report()


# A rule that is broken, and what the panic says. These are caught in any image ...
ALWAYS = {
    "simple-again": "simple lock simple A: hart 0 takes it again",
    "simple-not-held": "simple lock simple A: released by hart 0, owner is -1",
    "simple-destroyed": "simple lock simple A: destroyed while hart 0 holds it",
    "mutex-again": "mutex mutex A: thread main takes it again",
    "mutex-of-another": "mutex mutex A: thread main lets go of it, but the owner is other",
    "done-by-nobody": "rw lock rw A: thread main lets go of it, but the owner is nobody",
    "upgrade-unheld": "rw lock rw A: thread main upgrades it, but the owner is nobody",
    "downgrade-unheld": "rw lock rw A: thread main downgrades it, but the owner is readers",
    "destroyed": "rw lock rw A: destroyed while readers has it",
    "in-handler": "mutex mutex A: used at interrupt level",
    "in-soft-interrupt": "mutex mutex A: used at interrupt level",
    "refcount-below-zero": "reference count falls below 0 under lock mutex A",
}
# ... and these in one that is built with LOCK_DEBUG. The text in brackets is a place, with the function's name.
WRONG = {
    "simple-again": "lock simple A: the hart takes it again (last locked at simple_again+",
    "mutex-again": "lock mutex A: the thread takes it again (last locked at mutex_again+",
    "read-again": "lock rw A: the thread takes it again (last locked at read_again+",
    "done-by-another-reader": "lock rw A: let go by a thread that has it not (last locked at done_by_another_reader+",
    "upgrade-by-another": "lock rw A: upgraded by a thread that has it not (last locked at upgrade_by_another+",
    "simple-outside-section": "simple lock simple A: taken outside a section of level 15",
    "mutex-under-simple": "lock mutex A may block, but the hart holds simple lock simple A (last locked at mutex_",
    "yield-under-simple": "thread main gives up the hart, which holds simple lock simple A (last locked at yield_",
    "sleep-under-simple": "thread main gives up the hart, which holds simple lock simple A (last locked at sleep_",
    "exit-with-lock": "thread other ends, but holds lock mutex A (last locked at locks_a+",
    "order-of-two": "mutex A (class mutex A) is wanted while mutex B (class mutex B) is held, against the order",
    "order-of-three": "mutex A (class mutex A) is wanted while mutex C (class mutex C) is held, against the order",
    "order-of-simple": "simple A (class simple A) is wanted while simple B (class simple B) is held, against the order",
    "order-in-handler": "simple B (class simple B) is wanted while simple low (class simple low) is held, against the",
    "handler-above-lock": "handler of level 8 takes simple lock simple bio of level 6",
    "soft-interrupt-above-lock": "handler of level 4 takes simple lock simple soft of level 2",
    "order-of-upgrade": "rw A (class rw A) is wanted while mutex A (class mutex A) is held, against the order",
    "pair-against-addresses": "lower is wanted while higher is held, both of class pair, against the order of their",
    "assert-held": "lock mutex A: assertion that it is held",
    "assert-not-held": "lock rw A: assertion that it is not held (last locked at assert_not_held+",
    "assert-write-held": "lock rw A: assertion that it is held alone (last locked at assert_write_held+",
    "assert-simple-held": "lock simple A: assertion that it is held (last locked at assert_simple_held+",
    "refcount-unguarded": "lock mutex A: assertion that it is held",
}
# The functions of the call path that breaks the order, and of the earlier paths.
PATHS = {
    "order-of-two": (["b_then_a"], ["a_then_b", "order_of_two"]),
    "order-of-three": (["c_then_a"], ["a_then_b", "order_of_three", "b_then_c", "order_of_three"]),
    "order-of-simple": (["simple_b_then_a"], ["order_of_simple"]),
    "order-in-handler": (["takes_simple_b"], ["order_in_handler"]),
    "order-of-upgrade": (["order_of_upgrade"], ["order_of_upgrade"]),
}


def break_rule(folder, rule, sync="spl-optim", options=None, machine=None):
    run = boot(folder, 1, sync, f"run=wrong-lock hz=0 rule={rule}", options=options, machine=machine)
    assert run.status == 1 and run.record["exit"]["code"] == 0xdead, run.report()
    return run.console


def break_rule_checked(folder, rule, sync):
    """With LOCK_DEBUG under any scheme: on the disks' machine, where that has such a kernel."""
    assert sync in CHECKED or DISK_BUILDS[sync]["lock_debug"] == "1"
    return break_rule(folder, rule, sync, CHECKED.get(sync, DISK_BUILDS[sync]), None if sync in CHECKED else DEVICES)


@pytest.mark.parametrize("rule", ALWAYS)
def test_broken_rule_is_caught_in_any_image(tmp_path, rule):
    assert ALWAYS[rule] in break_rule(tmp_path, rule)


@pytest.mark.sampled
@pytest.mark.parametrize("sync", [sync for sync in SCHEMES if sync != "spl-optim"])
@pytest.mark.parametrize("rule", ("handler-above-lock", "soft-interrupt-above-lock"))
def test_lock_below_its_handler_is_caught_under_each_scheme(tmp_path, rule, sync):
    assert WRONG[rule] in break_rule_checked(tmp_path, rule, sync)


@pytest.mark.parametrize("rule", WRONG)
def test_broken_rule_is_caught_with_lock_debug(tmp_path, rule):
    console = break_rule(tmp_path, rule, options=DEBUG)
    assert WRONG[rule] in console
    if rule in PATHS:
        now, before = re.split("above: the call path", console.partition("panic:")[2])
        for part, names in zip((now, before), PATHS[rule], strict=True):
            places = [line.split()[-1].partition("+")[0] for line in part.splitlines() if re.search(r"\+0x\w+$", line)]
            rest = iter(places)
            assert all(name in rest for name in names), f"{names} not in this order among {places}"


@pytest.mark.parametrize("sync", SCHEMES)
def test_section_of_a_simple_lock_is_checked_under_each_scheme(tmp_path, sync):
    assert WRONG["simple-outside-section"] in break_rule_checked(tmp_path, "simple-outside-section", sync)


def test_lockstat_shows_and_clears_in_a_running_system(tmp_path):
    run = converse(tmp_path, 1, "spl-optim", "run=monitor rounds=4 lockstat=none", [
        "run test-locks-fair", "lockstat", "lockstat sites", "lockstat clear", "lockstat", "lockstat nonsense", "locks",
        "exit"], options=COUNTED, runs=("test-locks-fair",))
    assert run.status == 0, run.report()
    shown = run.console.split("> lockstat")
    assert re.search(r"^test fair +[1-9]\d* ", shown[1], re.MULTILINE), run.report()
    assert re.search(r"^asks_in_turn\+0x\w+ +[1-9]\d* ", shown[2], re.MULTILINE), run.report()
    assert re.search(r"^class +attempts", shown[4], re.MULTILINE) and "test fair" not in shown[4], run.report()
    assert "lockstat [sites | clear]" in shown[5]


def test_runner_collects_lock_statistics(tmp_path):
    run = boot(tmp_path, 1, "cli-optim", "run=test-locks hz=1000 rounds=6 ram_jitter=7 lockstat=sites", 1,
               options=CHECKED["cli-optim"])
    assert run.status == 0, run.report()
    of = {line["class"]: line for line in run.record["results"]["lockstat"]}
    rw, simple = of["test_rw"], of["test_simple"]
    assert (rw["kind"], of["test_account"]["kind"], simple["kind"]) == ("rw", "mutex", "simple")
    assert simple["blocks"] == 0 and rw["blocks"] > 0
    for line in of.values():
        assert line["attempts"] >= line["misses"] >= line["blocks"]
        assert line["wait_min"] * line["waits"] <= line["wait_total"] <= line["wait_max"] * line["waits"]
        assert line["hold_min"] * line["holds"] <= line["hold_total"] <= line["hold_max"] * line["holds"]
    for line in (rw, simple):
        assert line["holds"] == line["attempts"] - line["fails"]
        sites = [site for site in run.record["results"]["lockstat_site"] if site["class"] == line["class"]]
        for what in ("attempts", "misses", "blocks", "fails", "wait_total", "hold_total"):
            assert sum(site[what] for site in sites) == line[what]
    places = {site["site"].partition("+")[0] for site in run.record["results"]["lockstat_site"]}
    assert places > {"do_read", "do_simple"}


def test_bad_lockstat_argument_is_named(tmp_path):
    run = boot(tmp_path, 1, "spl-optim", "run=hello lockstat=all", options=COUNTED)
    assert run.status == 1 and "boot argument lockstat=all: give classes, sites or none" in run.console, run.report()
