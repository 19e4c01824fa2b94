"""The kernel's TCP/IP and smoltcp at the two ends of a bad wire; the long form is `python -m tests.smoltcp 0 999`."""

import functools

import pytest

from tests import smoltcp
from tests.host_stack import StackError

SEEDS = 4, 11       # each end opens and closes first; losses, repetitions, damage and delays of all sizes


@functools.cache
def lines(kernel):
    return smoltcp.transfers(kernel, *SEEDS)


@pytest.mark.parametrize("kernel", smoltcp.SOME)
def test_every_byte_arrives_and_every_connection_ends(kernel):
    assert [line.split()[1] for line in lines(kernel)] == [str(n) for n in range(SEEDS[0], SEEDS[1] + 1)]


def test_the_wires_of_the_short_form_do_all_that_a_wire_can():
    for number, what in enumerate(("loss", "twice", "damage", "late")):
        words = [line.split()[2 + 2 * number:4 + 2 * number] for line in lines("connection")]
        values = [int(value.rstrip(":")) for name, value in words if name == what]
        assert len(values) == len(words) and max(values) >= 10 > min(values), what


def test_the_same_seed_gives_the_same_packets_and_another_one_others():
    assert smoltcp.transfers("connection", SEEDS[0] + 1, SEEDS[0] + 2) == lines("connection")[1:3]
    assert len({line.split()[-1] for line in lines("connection")}) == SEEDS[1] - SEEDS[0] + 1


@pytest.mark.parametrize("words", [[], ["1"], ["5", "4"], ["-1", "4"], ["a", "b"]])
def test_wrong_words_get_the_usage(words):
    assert smoltcp.main(words) == smoltcp.__doc__


def test_an_unknown_kernel_is_one_line():
    assert smoltcp.main(["0", "0", "krp-few"]).startswith("there is no network kernel 'krp-few' (kernels: serial, ")


def test_without_cargo_one_line_says_what_brings_it(monkeypatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(StackError, match=r"^there is no cargo, which builds smoltcp: setup/setup.sh test$"):
        smoltcp.peer()
