"""The benchmarks' reading of valgrind's counts."""

from sim.bench.__main__ import agree
from sim.bench.counts import Counts, totals_of

TEXT = """events: Ir Dr Dw I1mr D1mr D1mw ILmr DLmr DLmw
fn=(1) f
0 5
totals: 1000 300 200 40 6 2 1 1 1
"""


def test_the_totals_of_a_run_are_read():
    assert totals_of(TEXT) == Counts(1000, 40, 8)
    assert totals_of(TEXT.replace("totals:", "summary:")) == Counts(1000, 40, 8)
    assert totals_of("events: Ir\n") == Counts(0, 0, 0)


def test_start_up_drops_out():
    longer = Counts(21_000, 440, 18)
    assert (longer - totals_of(TEXT)).per(10) == Counts(2000, 40, 1)


def test_consoles_that_differ_do_not_agree():
    first = "noise Interlock kernel, " + "x" * 60
    assert agree(first, "Interlock kernel, " + "x" * 60 + "more")
    assert not agree(first, "Interlock kernel, " + "y" * 60)
    assert not agree(first, "")
