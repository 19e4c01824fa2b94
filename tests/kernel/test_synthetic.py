"""The load of paper `sync` in the kernel: in-kernel timing against measurement from outside, the arrivals and their
losses, and serial characters beside a long handler."""

import re

import pytest

from sim.experiments.definition import input_file
from tests.kernel.machine import TIMED, boot

LOAD = "run=synthetic hz=0 sections=60 gap=800"


@pytest.mark.parametrize("harts, sync, options", [
    (1, "spl-pessim", TIMED), (2, "cli-optim", TIMED), (2, "cli-pessim", {"crit_timing": "1"})])
def test_sections_timed_inside_and_outside_agree(tmp_path, harts, sync, options):
    """Exactly: both methods read at the same marks. With a lock, and with interrupts in sections and their replay; with
    the accounts of time as well and without: test_skip.py has that kernel."""
    run = boot(tmp_path, harts, sync, f"{LOAD} interval=1500 lock=shared poll=30000", seed=3,
               options=options)
    assert run.status == 0, run.report()
    for line, hart in zip(run.record["results"]["crit_timing"], run.record["harts"], strict=True):
        statistics = hart["statistics"]
        assert 60 <= line["sections"] <= 80     # the bench's, and a few of threads that begin and end
        assert abs(statistics["outermost"] - line["sections"]) <= 1
        assert abs(statistics["body_cycles"]["total"] - line["cycles"]) <= statistics["body_cycles"]["max"]
        whole = statistics["outermost"] == line["sections"] == statistics["body_cycles"]["count"]
        if whole:       # no section was open when the window began or ended
            assert statistics["body_cycles"]["total"] == line["cycles"]
            assert statistics["body_cycles"]["max"] == line["longest"]
        assert statistics["unmatched_probes"] == 0
    assert any(hart["statistics"]["source_rises_in_section"] for hart in run.record["harts"])
    polls = run.record["results"]["crit_poll"]
    assert len(polls) >= 2 and sum(line["sections"] for line in polls) <= 80 * harts
    assert all(0 < line["section_cycles"] < line["cycles"] * harts for line in polls)


def test_arrivals_are_handled_or_counted_as_lost(tmp_path):
    """A mean as short as the handler: many arrivals find their wire up. Each other one is an interrupt of its hart."""
    run = boot(tmp_path, 2, "cli-pessim", f"{LOAD} interval=600 handler=400")
    assert run.status == 0, run.report()
    arrivals, = run.record["results"]["arrivals"]
    handled = sum(line["interrupts"] for line in run.record["results"]["synthetic"])
    assert arrivals["lost"] > 20
    # An arrival after a hart is done, and its source masked, may still find the wire down.
    assert 0 <= arrivals["arrivals"] - arrivals["lost"] - handled <= 2
    assert handled > 50


def test_the_same_seed_gives_every_scheme_the_same_work(tmp_path):
    lines = [boot(tmp_path / sync, 1, sync, f"{LOAD} interval=0", seed=5).record["results"]["synthetic"][0]
             for sync in ("cli-pessim", "spl-pessim")]
    assert lines[0]["section_draws"] == lines[1]["section_draws"]
    assert lines[0]["gap_draws"] == lines[1]["gap_draws"]
    assert lines[0]["cycles"] < lines[1]["cycles"]
    assert 0.6 * 60 * 276 < lines[0]["section_draws"] < 1.6 * 60 * 276


@pytest.mark.parametrize("arguments, message", [
    ("lock=mine", "boot argument lock=mine: give none, own or shared"),
    ("mask=0 lock=own", "mask=0 goes with lock=none only"),
    ("sections=0", "give sections=1 at least"),
    ("section=9000", "give a number from 0 to 8000"),
])
def test_wrong_arguments_are_named(tmp_path, arguments, message):
    run = boot(tmp_path, 1, "cli-pessim", f"run=synthetic hz=0 {arguments}")
    assert run.status == 1 and message in run.console, run.report()


def loss(tmp_path, sync, fifo, us=1500):
    """Characters lost at 230,400 bit/s while a handler of so many microseconds runs twice."""
    folder = tmp_path / f"{sync}-{fifo}"
    folder.mkdir()
    sent = folder / "sent.bin"
    sent.write_bytes(input_file(1, 200))
    run = boot(folder, 1, sync, f"run=serial hz=500 patience=8 bytes=200 baud=230400 fifo={fifo} busy.us={us} "
               "busy.rate=321 link_latency=138", serial_in=sent, line_baud=230400)
    line = run.result("serial")
    assert run.result("busy")["interrupts"] >= 1, run.report()
    assert line["bytes"] + line["overruns"] + line["dropped"] == 200, run.report()
    return line["overruns"]


def test_cli_pessim_loses_characters_where_cli_spl_pessim_loses_none(tmp_path):
    """Paper `sync`, section 6.4: 35 characters come during the handler, too many for a FIFO of 16, not of 128."""
    assert loss(tmp_path, "cli-pessim", 16) >= 10
    assert loss(tmp_path, "cli-spl-pessim", 16) == 0
    assert loss(tmp_path, "cli-pessim", 128) == 0


def test_a_depth_that_is_not_built_is_named(tmp_path):
    run = boot(tmp_path, 1, "cli-pessim", "run=serial fifo=129")
    assert run.status == 1, run.report()
    assert re.search(r"data port: the FIFOs have room for 1 to 128 characters, not 129", run.console)
