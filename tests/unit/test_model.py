"""The model of paper `sync`'s Table 2 against the paper's own numbers."""

import pytest

from sim.experiments import paper_sync as paper


def printed_overhead(scheme, load):
    """Table 6 recomputed from tables 3, 4 and 5, as the paper says it was."""
    entered = (paper.OPTIMISTIC_ENTERED if scheme in paper.FALL_BACK else paper.PESSIMISTIC_ENTERED)[load]
    return paper.overhead_percent(scheme, entered, paper.OPTIMISTIC_INTERRUPTED[load], paper.PAIR_US)


@pytest.mark.parametrize("load", paper.LOADS)
@pytest.mark.parametrize("scheme", paper.OVERHEAD)
def test_the_papers_table_6_comes_out(scheme, load):
    # Two of the sixteen are printed 0.05 off their own inputs (0.24 as 0.3, 0.65 as 0.7): the rest agree when rounded.
    assert printed_overhead(scheme, load) == pytest.approx(paper.OVERHEAD[scheme][load], abs=0.06)


def test_all_but_two_of_table_6_agree_to_the_last_digit():
    wrong = [(scheme, load) for scheme in paper.OVERHEAD for load in paper.LOADS
             if round(printed_overhead(scheme, load), 1) != paper.OVERHEAD[scheme][load]]
    assert wrong == [("spl-optim", "WebStone"), ("cli-pessim", "Andrew local")]


def test_papers_cycles_and_microseconds_agree():
    for primitive, cycles in paper.PAIR_CYCLES.items():
        assert 1e6 * cycles / paper.CLOCK_HZ == pytest.approx(paper.PAIR_US[primitive], rel=0.04)


def test_each_scheme_pays_its_own_primitive():
    costs = {"off-chip": 100.0, "on-chip": 10.0, "flag": 1.0}
    overheads = {scheme: paper.overhead_percent(scheme, 1000, 50, costs) for scheme in paper.SCHEMES}
    assert overheads == pytest.approx({"spl-pessim": 10.0, "spl-optim": 0.1 + 0.5, "cli-pessim": 1.0,
                                       "cli-optim": 0.1 + 0.05, "cli-spl-pessim": 1.0})
