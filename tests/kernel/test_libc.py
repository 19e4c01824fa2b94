"""The C library of programs against the host's: the short form of libc_sweep.py, which has the long one."""

import pytest

from tests.kernel.libc_sweep import FAMILIES, Both, listed

CALLS = 300


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    return Both(tmp_path_factory.mktemp("libc"))


@pytest.mark.parametrize("family", FAMILIES)
def test_calls_give_what_they_give_on_the_host(both, family):
    found = both.differing(family, 0, CALLS)
    assert not [pair for pair in found if not listed(family, pair[0])]
