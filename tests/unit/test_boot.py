"""Runs that go on from a checkpoint, over a stub simulator: one boot for all of them, and the case without one."""

import pytest

from sim.experiments import definition
from sim.results import record, tables
from sim.sweep.store import Store

ONCE = ("link_latency=0,30,75",)
BOOTED = ["booted-l0", "booted-l30", "booted-l75"]
RESTORED = ["restored-l0", "restored-l30", "restored-l75"]


def once(bench, *overrides, **options):
    return bench.run(*ONCE, *overrides, experiment="boot-once", **options)


def boots(bench):
    return [name for name in bench.order() if name.startswith("boot-")]


def test_one_boot_for_all(bench):
    runner = once(bench, jobs=3)
    assert not runner.failures
    order = bench.order()
    assert sorted(name for name in order if name not in boots(bench)) == BOOTED + RESTORED
    (boot,) = boots(bench)
    assert all(order.index(boot) < order.index(name) for name in RESTORED)
    context, records = tables.collect(runner.out)
    assert [made["id"] for made in records] == context["runs"] == BOOTED + RESTORED
    for made in records:        # the boot has no record of its own; it is in the restored runs'
        costs = {line["primitive"]: line["cycles_per_pair"] for line in made["run"]["results"]["table5"]}
        assert costs["off-chip"] == 10 + 2 * made["parameters"]["link_latency"]
        assert made["host"].get("boot") == (boot if made["kind"] == "restored" else None)


def test_another_boot_for_other_boot_arguments(bench):
    once(bench, out="a")
    once(bench, "iterations=50", out="b")
    once(bench, "seed=2", out="c")
    assert len(set(boots(bench))) == 3


def test_a_failed_boot_fails_the_runs_that_wait_for_it(bench):
    once(bench, out="a")
    (boot,) = boots(bench)
    bench.plan = {boot: {"status": 4, "reason": "no sign of life", "console": "last words"}}
    runner = once(bench, out="b")
    assert sorted(failure.id for failure in runner.failures) == RESTORED
    for failure in runner.failures:
        assert failure.reason == "its boot failed: the target hangs: no sign of life"
        assert failure.console[-1] == "last words" and boot in failure.command and "--restore" not in failure.command
    assert len(record.read(runner.out)[1]) == 6


def test_no_boot_when_all_of_its_runs_were_had_before(bench):
    store = Store(bench.folder / "kept")
    once(bench, out="a", store=store)
    again = once(bench, out="b", store=store)
    assert (again.reused, len(bench.order())) == (6, 7)
    more = bench.run("link_latency=0,30,75,100", experiment="boot-once", out="c", store=store)
    assert not more.failures and more.reused == 6
    assert len(boots(bench)) == 1               # the kept checkpoint serves the new run
    assert sorted(bench.order()[7:]) == ["booted-l100", "restored-l100"]


def test_a_stopped_experiment_goes_on(bench):
    once(bench)
    for lost in RESTORED[:2]:
        (bench.folder / "out/runs" / lost / "record.json").unlink()
    runner = once(bench)
    assert not runner.failures and runner.reused == 4 and len(record.read(runner.out)[1]) == 6


def test_a_kept_restored_run_is_not_one_of_another_boot(bench):
    store = Store(bench.folder / "kept")
    once(bench, out="a", store=store)
    bench.image = b"another"
    assert once(bench, out="b", store=store).reused == 0


@pytest.mark.parametrize(("entry", "words"), [
    ('checkpoint = "noon"', "'noon' is not cycle:N"),
    ('poke = { "link_read_latency" = "{link_latency}" }', "'poke' needs a 'checkpoint'"),
    ('checkpoint = "event:1"\npoke = { "link_raed_latency" = "1" }', "did you mean 'link_read_latency'?"),
    ('checkpoint = "event:1"\npoke = { "link_read_latency" = "{nothing}" }', "unknown name in runs restored 'nothing'"),
])
def test_a_wrong_entry_gets_one_line(tmp_path, entry, words):
    text = (definition.FOLDER / "boot-once.toml").read_text()
    begin = text.index('checkpoint = "event:1"')
    end = text.index("\n", text.index("poke = "))
    (tmp_path / "mine.toml").write_text(text[:begin] + entry + text[end:])
    with pytest.raises(definition.SettingError) as error:
        definition.load(str(tmp_path / "mine.toml"))
    assert words in str(error.value) and "\n" not in str(error.value)
