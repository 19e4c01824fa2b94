"""The page on accuracy: every test that it cites exists."""

import re

from support.cache import REPO


def test_every_proof_is_there():
    named = re.findall(r"`(tests/[\w/]+\.py)(?:::(\w+))?`", (REPO / "docs" / "accuracy.md").read_text())
    assert len(named) > 10
    for path, test in named:
        text = (REPO / path).read_text()
        assert not test or f"def {test}(" in text, f"{path}::{test}"
