import pytest

from tests.unit.stub import Bench


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)
